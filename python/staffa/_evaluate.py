"""pyarrow evaluates expressions over a batch. Acero is imported when the first needs it, for it brings much with it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from staffa.errors import InvalidArgumentError


def needed(expressions: Sequence[Any], names: list[str]) -> list[str]:
    """The columns that expressions may need, out of those there are.

    A name that occurs in the text may stand for something else: then a column too many is read, never one too few. A
    position counts from the first column, so all must be there.
    """
    text = searched(expressions)
    return names if text is None else [name for name in names if name in text]


def searched(expressions: Sequence[Any]) -> str | None:
    """The text in which the names of columns are looked for, or None where all columns are needed."""
    text = "\n".join(map(str, expressions))
    return None if "FieldPath(" in text else text


def evaluate(expressions: Mapping[str, Any], batch: pa.RecordBatch, what: str, names: list[str]) -> pa.Table:
    """A table of what the expressions give for each row.

    Errors say that they are about `what`, and which columns there are: `names`.
    """
    import pyarrow.acero as acero

    if batch.num_columns == 0:
        # The expressions name no column. A table without columns does not keep its number of rows everywhere.
        batch = pa.record_batch({"": pa.nulls(batch.num_rows)})
    source = acero.TableSourceNodeOptions(pa.Table.from_batches([batch]))
    project = acero.ProjectNodeOptions(list(expressions.values()), list(expressions))
    plan = acero.Declaration.from_sequence(
        [acero.Declaration("table_source", source), acero.Declaration("project", project)]
    )
    try:
        return plan.to_table(use_threads=False)
    except pa.ArrowException as error:
        raise InvalidArgumentError(f"{what}: {_explain(error, names)}") from error


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """A batch without rows: what expressions are bound to."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, data_type) for data_type in schema.types], schema=schema)


def _explain(error: Exception, names: list[str]) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    unknown = re.match(r"No match for FieldRef\.Name\((.*)\) in ", lines[0])
    if unknown:
        return f"unknown column {unknown[1]!r}; there are {', '.join(map(repr, names)) or 'none'}"
    return lines[0]
