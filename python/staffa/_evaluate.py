"""Evaluation of pyarrow expressions over a batch. Acero, a large library, is imported on first use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from staffa.errors import InvalidArgumentError


def needed(expressions: Sequence[Any], names: list[str]) -> list[str]:
    """The columns in `names` that the expressions may need.

    A column counts as needed if its name occurs in the text of an expression, so that too many columns may be read but
    never too few. An expression with a position needs all columns.
    """
    text = searched_text(expressions)
    return names if text is None else [name for name in names if name in text]


def searched_text(expressions: Sequence[Any]) -> str | None:
    """The text that is searched for the names of columns, or None if all columns are needed."""
    return searched("\n".join(map(text_of, expressions)))


def searched(text: str) -> str | None:
    """The text of expressions, if it names all columns that they need."""
    return None if "FieldPath(" in text else text


def exact_literal(value: Any, data_type: pa.DataType) -> pa.Scalar:
    """A value in the type of a column; one that the type does not have is a `ValueError`: pyarrow would cut it.

    >>> exact_literal(3.0, pa.int32())
    <pyarrow.Int32Scalar: 3>
    >>> exact_literal(3.5, pa.int32())
    Traceback (most recent call last):
        ...
    ValueError: int32 does not have 3.5
    """
    literal = pa.scalar(value, data_type)
    if literal.as_py() != value:
        raise ValueError(f"{data_type} does not have {value!r}")
    return literal


def exact_literals(values: Sequence[Any], data_type: pa.DataType) -> pa.Array:
    """Values in the type of a column, as `exact_literal`."""
    return pa.array([exact_literal(value, data_type).as_py() for value in values], data_type)


def text_of(expression: Any) -> str:
    """The text of an expression; bytes in it that are no UTF-8 are replaced."""
    try:
        return str(expression)
    except UnicodeDecodeError as error:
        return error.object.decode(errors="backslashreplace")


def evaluate(expressions: Mapping[str, Any], batch: pa.RecordBatch, what: str, names: list[str]) -> pa.Table:
    """A table with the value of each expression for each row.

    Errors begin with `what` and list the columns in `names`.
    """
    import pyarrow.acero as acero

    if batch.num_columns == 0:
        # The expressions name no column. Not every kernel keeps the number of rows of a table without columns; no
        # expression has this name.
        batch = pa.record_batch({"\0": pa.nulls(batch.num_rows)})
    source = acero.TableSourceNodeOptions(pa.Table.from_batches([batch]))
    project = acero.ProjectNodeOptions(list(expressions.values()), list(expressions))
    plan = acero.Declaration.from_sequence(
        [acero.Declaration("table_source", source), acero.Declaration("project", project)]
    )
    try:
        return plan.to_table(use_threads=False)
    except pa.ArrowException as error:
        raise InvalidArgumentError(f"{what}: {_message(error, names)}") from error


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """A batch without rows: expressions are bound to it."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, data_type) for data_type in schema.types], schema=schema)


def _message(error: Exception, names: list[str]) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    unknown = re.match(r"No match for FieldRef\.Name\((.*)\) in ", lines[0])
    if unknown:
        return f"unknown column {unknown[1]!r}; there are {', '.join(map(repr, names)) or 'none'}"
    return lines[0]
