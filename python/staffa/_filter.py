"""Filters by pyarrow expressions, exact for every expression that pyarrow can evaluate.

What the library can test itself it tests (`_pushdown`). Where that is not all, pyarrow evaluates the whole expression
over what is left. One batch is in memory at a time.
"""

from __future__ import annotations

import functools
from typing import Any

import pyarrow as pa

from staffa import _staffa
from staffa._evaluate import evaluate, no_rows, searched
from staffa._pushdown import Predicate, translate
from staffa.errors import InvalidArgumentError


class Condition:
    """An expression bound to columns of types that pyarrow can compare."""

    def __init__(self, expression: Any, schema: pa.Schema, names: list[str]) -> None:
        """Binds to the columns of `schema`, those of all `names` that `needed` finds in the expression."""
        self._expression = expression
        self._schema = schema
        self._names = names

    def pushed(self, columns: set[str]) -> tuple[Predicate | None, bool]:
        """What the library can test in these columns, and whether that is all of it."""
        return translate(self._expression, self._schema, columns)

    def check(self) -> None:
        """Refuses what cannot work, before anything is read."""
        self.holds(no_rows(self._schema))

    def holds(self, batch: pa.RecordBatch) -> pa.Array:
        """For each row of a batch of this schema whether the expression is true, false or NULL."""
        what = f"filter {self._expression}"
        keep = evaluate({"keep": self._expression}, batch, what, self._names).column(0)
        if not pa.types.is_boolean(keep.type):
            raise InvalidArgumentError(f"{what}: must give true or false, gives {keep.type}")
        return pa.concat_arrays(keep.chunks) if keep.num_chunks else pa.array([], pa.bool_())


def bind(expression: Any, file: _staffa.File, columns: list[str] | None) -> tuple[Predicate | None, Filter | None]:
    """Binds an expression to the schema of a file, to read these columns: what cannot work is refused.

    Gives what the library tests, and the filter that pyarrow applies after it: None where the library tests all.
    """
    check_expression("filter", expression)
    # Of the columns that it may need alone: every other one costs time as well.
    plain, pushed, whole = _Question(expression, file.empty(searched([expression]))).answer()
    return pushed, None if whole else Filter(expression, plain, pushed, file.names, columns)


class Filter:
    """An expression that pyarrow evaluates over batches of a file.

    The extension module selects the rows, because pyarrow has no selection for views and run-ends.
    """

    def __init__(
        self,
        expression: Any,
        plain: pa.Schema,
        pushed: Predicate | None,
        names: list[str],
        columns: list[str] | None,
    ) -> None:
        """Binds to the columns of `plain`, out of all `names`; `pushed` is what the library tests before."""
        wanted = names if columns is None else columns
        self.num_wanted = len(wanted)
        self.pushed = pushed
        #: What must be read: the columns wanted, then those that only the filter needs.
        self.columns = [*wanted, *(name for name in plain.names if name not in wanted)]
        self._positions = [self.columns.index(name) for name in plain.names]
        self._plain = plain
        self._condition = Condition(expression, plain, names)
        self._condition.check()

    def apply(self, batch: _staffa.Batch) -> pa.RecordBatch:
        """The wanted columns of the rows for which the expression is true."""
        plain = batch.plain(self._positions).to_pyarrow()
        # Columns that are handed out as dictionaries are not what the expression was bound to.
        keep = self._condition.holds(plain if plain.schema.types == self._plain.types else plain.cast(self._plain))
        return batch.filter(keep, self.num_wanted).to_pyarrow()


class _Question:
    """What of an expression the library can test in these columns: the same question has the same answer.

    To have pyarrow write an expression, and to read that, takes as long as to answer it from a small file.
    """

    def __init__(self, expression: Any, columns: _staffa.Batch) -> None:
        self._expression = expression
        self._columns = columns
        self._words = (str(expression), columns.described())

    def __hash__(self) -> int:
        return hash(self._words)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Question):
            return NotImplemented
        # What is written the same may differ, in the type of a literal.
        return self._words == other._words and bool(self._expression.equals(other._expression))

    def answer(self) -> tuple[pa.Schema, Predicate | None, bool]:
        """The columns as pyarrow compares them, what the library tests, and whether that is all."""
        # Long lists of values are not worth their memory.
        return _answer(self) if len(self._words[0]) < _LONG_TEXT else _answer.__wrapped__(self)


_LONG_TEXT = 10_000


@functools.lru_cache(maxsize=64)
def _answer(question: _Question) -> tuple[pa.Schema, Predicate | None, bool]:
    columns = question._columns
    stored = columns.to_pyarrow().schema
    plain = columns.plain(list(range(len(stored)))).to_pyarrow().schema
    same = {field.name for field, other in zip(plain, stored, strict=True) if field.type == other.type}
    return plain, *translate(question._expression, plain, same)


def check_expression(argument: str, expression: Any) -> None:
    """Refuses what is no expression."""
    import pyarrow.compute as pc

    if not isinstance(expression, pc.Expression):
        raise InvalidArgumentError(
            f"{argument} must be a pyarrow.compute.Expression, as in pyarrow.compute.field('x') > 1, "
            f"found {type(expression).__name__}"
        )
