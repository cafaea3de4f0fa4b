"""Filters by pyarrow expressions, exact for every expression that pyarrow can evaluate.

The library evaluates the part that it supports (`_pushdown`). If that is not the whole expression, pyarrow evaluates it
for the remaining rows, batch by batch.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from staffa import _staffa
from staffa._evaluate import evaluate, no_rows, searched, text_of
from staffa._filters import UnknownColumnError, as_expression, checked_text
from staffa._pushdown import Predicate, translate
from staffa.errors import InternalError, InvalidArgumentError


class Condition:
    """An expression, bound to columns of types that pyarrow can compare."""

    def __init__(self, expression: Any, schema: pa.Schema, names: list[str]) -> None:
        """Binds the expression to `schema`: the columns, of all `names`, that it may need."""
        self._expression = expression
        self._schema = schema
        self._names = names

    def pushed(self, columns: set[str]) -> tuple[Predicate | None, bool]:
        """The part that the library can evaluate on these columns, and whether that is the whole expression."""
        return translate(self._expression, self._schema, columns)

    def check(self) -> None:
        """Raises an error for an invalid expression, before anything is read."""
        self.holds(no_rows(self._schema))

    def holds(self, batch: pa.RecordBatch) -> pa.Array:
        """The value of the expression for each row of a batch: true, false or NULL."""
        what = f"filter {text_of(self._expression)}"
        keep = evaluate({"keep": self._expression}, batch, what, self._names).column(0)
        if not pa.types.is_boolean(keep.type):
            raise InvalidArgumentError(f"{what}: must be boolean, found {keep.type}")
        return pa.concat_arrays(keep.chunks) if keep.num_chunks else pa.array([], pa.bool_())


def bind(expression: Any, file: _staffa.File, columns: list[str] | None) -> tuple[Predicate | None, Filter | None]:
    """Binds an expression to the schema of a file; an invalid expression is an error.

    Returns the predicate that the library evaluates, and the filter that pyarrow applies after it, or None if the
    library evaluates the whole expression. `columns` are the columns to read.
    """
    if isinstance(expression, str):
        names = _with_names(checked_text(expression))
        made = _of_text if len(expression) < _LONG_TEXT else _of_text.__wrapped__
        expression = made(expression, file.described(names), _Beside((names, file)))
    elif isinstance(expression, (list, tuple)):
        expression = _made(expression, "\n".join(_paths(expression)), file)
    check_expression("filter", expression)
    bound = _Translation(expression, text_of(expression), file).result()
    return bound.pushed, None if bound.whole else Filter(bound, file.names, columns)


class Filter:
    """An expression that pyarrow evaluates over batches of a file.

    The extension module filters the rows, because pyarrow cannot filter views and run-ends.
    """

    def __init__(self, bound: _Bound, names: list[str], columns: list[str] | None) -> None:
        """Of a file with columns of these names, of which `columns` are wanted."""
        wanted = names if columns is None else columns
        self.num_wanted = len(wanted)
        self.pushed = bound.pushed
        #: The columns to read: the wanted ones, then those that only the filter needs.
        known = set(wanted)
        self.columns = [*wanted, *(name for name in bound.comparable.names if name not in known)]
        places = {name: place for place, name in enumerate(self.columns)}
        self._positions = [places[name] for name in bound.comparable.names]
        self._comparable = bound.comparable
        self._condition = Condition(bound.expression, bound.comparable, names)
        self._condition.check()

    def apply(self, batch: _staffa.Batch) -> pa.RecordBatch:
        """The wanted columns of the matching rows."""
        columns = batch.comparable(self._positions).to_pyarrow()
        # Columns that are returned as dictionaries have another type than the bound expression.
        if columns.schema.types != self._comparable.types:
            columns = columns.cast(self._comparable)
        keep = self._condition.holds(columns)
        return batch.filter(keep, self.num_wanted).to_pyarrow()


@dataclass(frozen=True)
class _Bound:
    """An expression, translated for the columns of a file."""

    expression: Any
    #: The columns that it may need, as pyarrow compares them.
    comparable: pa.Schema
    #: The predicate that the library evaluates.
    pushed: Predicate | None
    #: Whether that is the whole expression.
    whole: bool


class _Translation:
    """An expression to translate for the columns of a file: the key of a cache.

    A translation takes as long as a scan of a small file: the expression is pickled, and the pickle read. It is bound
    to the columns that it may need alone: every other column costs time.
    """

    def __init__(self, expression: Any, text: str, file: _staffa.File) -> None:
        self._expression = expression
        self._key = (text, file.described(searched(text)))
        #: Until it is translated: the cache keeps no file open.
        self._file: _staffa.File | None = file

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Translation):
            return NotImplemented
        # Expressions with the same text may differ in the type of a literal.
        return self._key == other._key and bool(self._expression.equals(other._expression))

    def result(self) -> _Bound:
        """The expression, and what the library evaluates of it."""
        # Expressions with long lists are not cached.
        return _translated(self) if len(self._key[0]) < _LONG_TEXT else _translated.__wrapped__(self)


_LONG_TEXT = 10_000


@functools.lru_cache(maxsize=64)
def _translated(translation: _Translation) -> _Bound:
    file, translation._file = translation._file, None
    if file is None:
        raise InternalError("an expression is translated twice")
    columns = file.empty(searched(translation._key[0]))
    stored = columns.to_pyarrow().schema
    comparable = columns.comparable(list(range(len(stored)))).to_pyarrow().schema
    expression = translation._expression
    return _Bound(expression, comparable, *translate(expression, comparable, set(comparable.names)))


class _Beside:
    """An argument beside the key of a cache, which does not keep it: it is taken once."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def take(self) -> Any:
        value, self._value = self._value, None
        return value

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Beside)


@functools.lru_cache(maxsize=64)
def _of_text(text: str, _described: str, names_and_file: _Beside) -> Any:
    """The expression of a text, for columns that are described so."""
    return _made(text, *names_and_file.take())


def _made(filter: Any, text: str, file: _staffa.File) -> Any:
    """The expression of text or of lists, for the columns of a file whose names occur in `text`."""
    try:
        return as_expression(filter, file.empty(text).flattened().to_pyarrow().schema)
    except UnknownColumnError:
        # The message lists all columns. Not of other errors: an iterator of values is at its end now.
        as_expression(filter, file.empty().flattened().to_pyarrow().schema)
        raise


def _with_names(text: str) -> str:
    """The text of a filter, and again with a quote for each doubled one, as names have them."""
    return text if '""' not in text else text + "\n" + text.replace('""', '"')


def _paths(filter: Any) -> Iterator[str]:
    """The first of each condition in a list, or in lists in it: the path of a column."""
    for group in filter:
        for condition in group if isinstance(group, list) else [group]:
            if isinstance(condition, tuple) and condition and isinstance(condition[0], str):
                # No name has half of a pair of surrogates.
                yield _with_names(condition[0].encode(errors="ignore").decode())


def check_expression(argument: str, expression: Any) -> None:
    """Raises an error for anything but an expression."""
    if not isinstance(expression, _expression_class()):
        raise InvalidArgumentError(
            f"{argument} must be a pyarrow.compute.Expression, as in pyarrow.compute.field('x') > 1, a text such as "
            f"'x > 1', or a list such as [('x', '>', 1)], "
            f"found {type(expression).__name__}"
        )


@functools.cache
def _expression_class() -> type:
    """Looked up once: an import statement costs as much as looking an expression up."""
    import pyarrow.compute as pc

    expression: type = pc.Expression
    return expression
