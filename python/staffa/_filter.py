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
        described = file.described(_with_names(checked_text(expression)))
        of_text = _of_text if len(expression) < _LONG_TEXT else _of_text.__wrapped__
        expression = of_text(expression, described, _Once(file))
    elif isinstance(expression, (list, tuple)):
        expression = _made(expression, "\n".join(_paths(expression)), file)
    check_expression("filter", expression)
    key = _Expression(expression)
    translated = _translated if len(key.text) < _LONG_TEXT else _translated.__wrapped__
    bound = translated(key, file.described(searched(key.text)), _Once(file))
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


class _Expression:
    """An expression as the key of a cache."""

    def __init__(self, expression: Any) -> None:
        self.expression = expression
        self.text = text_of(expression)

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Expression):
            return NotImplemented
        # Expressions with the same text may differ in the type of a literal.
        return self.text == other.text and bool(self.expression.equals(other.expression))


class _Once:
    """A file beside the key of a cache, which keeps no file open: it is taken once."""

    def __init__(self, file: _staffa.File) -> None:
        self._file: _staffa.File | None = file

    def take(self) -> _staffa.File:
        file, self._file = self._file, None
        if file is None:
            raise InternalError("a filter is made twice")
        return file

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Once)


# Longer filters, which have long lists, are not cached.
_LONG_TEXT = 10_000


@functools.lru_cache(maxsize=64)
def _translated(key: _Expression, _described: str, file: _Once) -> _Bound:
    """An expression, translated for the columns that are described so: those that it may need, as each costs time.

    A translation takes as long as a scan of a small file: the expression is pickled, and the pickle read.
    """
    columns = file.take().empty(searched(key.text))
    stored = columns.to_pyarrow().schema
    comparable = columns.comparable(list(range(len(stored)))).to_pyarrow().schema
    return _Bound(key.expression, comparable, *translate(key.expression, comparable, set(comparable.names)))


@functools.lru_cache(maxsize=64)
def _of_text(filter: str, _described: str, file: _Once) -> Any:
    """The expression of a text, for columns that are described so."""
    return _made(filter, _with_names(filter), file.take())


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
