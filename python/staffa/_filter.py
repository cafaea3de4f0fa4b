"""Filters by pyarrow expressions, exact for every expression that pyarrow can evaluate.

What the library can test itself it tests (`_pushdown`). Where that is not all, pyarrow evaluates the whole expression
over what is left, and the extension module selects the rows, because pyarrow has no selection for views and run-ends.
One batch is in memory at a time.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.acero as acero
import pyarrow.compute as pc

from staffa import _staffa
from staffa._pushdown import translate
from staffa.errors import InvalidArgumentError


class Filter:
    """An expression bound to the schema of a file."""

    def __init__(self, expression: Any, empty: _staffa.Batch, columns: list[str] | None) -> None:
        """Binds to the columns of `empty`: what cannot work is refused before anything is read."""
        if not isinstance(expression, pc.Expression):
            raise InvalidArgumentError(
                "filter must be a pyarrow.compute.Expression, as in pyarrow.compute.field('x') > 1, "
                f"found {type(expression).__name__}"
            )
        self._expression = expression
        schema = pa.record_batch(empty).schema
        self._names = schema.names
        text = str(expression)
        # A name that occurs in the text may stand for something else: then a column too many is read, never one too
        # few. A position counts from the first column of the file, so all must be there.
        names = self._names
        needed = names if "FieldPath(" in text else [name for name in names if name in text]
        wanted = names if columns is None else columns
        self.num_wanted = len(wanted)
        #: What must be read: the columns wanted, then those that only the filter needs.
        self.columns = [*wanted, *(name for name in needed if name not in wanted)]
        self._positions = [self.columns.index(name) for name in needed]
        bound = empty.plain([names.index(name) for name in needed])
        plain = pa.record_batch(bound).schema
        self._plain = plain
        same = {field.name for field in plain if field.type == schema.field(field.name).type}
        #: What the library tests, and whether that is all.
        self.pushed, self.whole = translate(expression, plain, same)
        if not self.whole:
            self._evaluate(bound)

    def apply(self, batch: _staffa.Batch) -> pa.RecordBatch:
        """The wanted columns of the rows for which the expression is true."""
        plain = pa.record_batch(batch.plain(self._positions))
        # Columns that are handed out as dictionaries are not what the expression was bound to.
        keep = self._evaluate(plain if plain.schema.types == self._plain.types else plain.cast(self._plain))
        return pa.record_batch(batch.filter(keep, self.num_wanted))

    def _evaluate(self, plain: Any) -> pa.Array:
        batch = pa.record_batch(plain)
        if batch.num_columns == 0:
            # The expression names no column. A table without columns does not keep its number of rows everywhere.
            batch = pa.record_batch({"": pa.nulls(batch.num_rows)})
        source = acero.TableSourceNodeOptions(pa.Table.from_batches([batch]))
        project = acero.ProjectNodeOptions([self._expression], ["keep"])
        plan = acero.Declaration.from_sequence(
            [acero.Declaration("table_source", source), acero.Declaration("project", project)]
        )
        try:
            keep = plan.to_table(use_threads=False).column(0)
        except pa.ArrowException as error:
            raise InvalidArgumentError(f"filter {self._expression}: {self._explain(error)}") from error
        if not pa.types.is_boolean(keep.type):
            raise InvalidArgumentError(f"filter {self._expression}: must give true or false, gives {keep.type}")
        return pa.concat_arrays(keep.chunks) if keep.num_chunks else pa.array([], pa.bool_())

    def _explain(self, error: Exception) -> str:
        lines = str(error).splitlines() or [type(error).__name__]
        unknown = re.match(r"No match for FieldRef\.Name\((.*)\) in ", lines[0])
        if unknown:
            return f"unknown column {unknown[1]!r}; the file has {', '.join(map(repr, self._names)) or 'no columns'}"
        return lines[0]
