"""Filters by pyarrow expressions, exact for every expression that pyarrow can evaluate.

The library evaluates the part that it supports (`_pushdown`). If that is not the whole expression, pyarrow evaluates it
for the remaining rows, batch by batch.
"""

from __future__ import annotations

import functools
from typing import Any

import pyarrow as pa

from staffa import _staffa
from staffa._evaluate import evaluate, no_rows, searched, text_of
from staffa._filters import as_expression
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
    if isinstance(expression, (str, list, tuple)):
        expression = as_expression(expression, file.empty().flattened().to_pyarrow().schema)
    check_expression("filter", expression)
    # Only with the columns that it may need: every other column costs time.
    text = text_of(expression)
    comparable, pushed, whole = _Translation(expression, text, file).result()
    return pushed, None if whole else Filter(expression, comparable, pushed, file.names, columns)


class Filter:
    """An expression that pyarrow evaluates over batches of a file.

    The extension module filters the rows, because pyarrow cannot filter views and run-ends.
    """

    def __init__(
        self,
        expression: Any,
        comparable: pa.Schema,
        pushed: Predicate | None,
        names: list[str],
        columns: list[str] | None,
    ) -> None:
        """Binds the expression to the schema `comparable`; `pushed` is the predicate that the library evaluates."""
        wanted = names if columns is None else columns
        self.num_wanted = len(wanted)
        self.pushed = pushed
        #: The columns to read: the wanted ones, then those that only the filter needs.
        self.columns = [*wanted, *(name for name in comparable.names if name not in wanted)]
        self._positions = [self.columns.index(name) for name in comparable.names]
        self._comparable = comparable
        self._condition = Condition(expression, comparable, names)
        self._condition.check()

    def apply(self, batch: _staffa.Batch) -> pa.RecordBatch:
        """The wanted columns of the matching rows."""
        columns = batch.comparable(self._positions).to_pyarrow()
        # Columns that are returned as dictionaries have another type than the bound expression.
        if columns.schema.types != self._comparable.types:
            columns = columns.cast(self._comparable)
        keep = self._condition.holds(columns)
        return batch.filter(keep, self.num_wanted).to_pyarrow()


class _Translation:
    """An expression to translate for the columns of a file: the key of a cache.

    A translation takes as long as a scan of a small file: the expression is pickled, and the pickle read.
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

    def result(self) -> tuple[pa.Schema, Predicate | None, bool]:
        """The schema that pyarrow compares, the predicate for the library, and whether that is the whole expression."""
        # Expressions with long lists are not cached.
        return _translated(self) if len(self._key[0]) < _LONG_TEXT else _translated.__wrapped__(self)


_LONG_TEXT = 10_000


@functools.lru_cache(maxsize=64)
def _translated(translation: _Translation) -> tuple[pa.Schema, Predicate | None, bool]:
    file, translation._file = translation._file, None
    if file is None:
        raise InternalError("an expression is translated twice")
    columns = file.empty(searched(translation._key[0]))
    stored = columns.to_pyarrow().schema
    comparable = columns.comparable(list(range(len(stored)))).to_pyarrow().schema
    return comparable, *translate(translation._expression, comparable, set(comparable.names))


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
