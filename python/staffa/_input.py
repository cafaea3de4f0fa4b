"""Arrow data of other libraries as batches for the extension module.

Batches are taken one by one on the caller's thread, so that a producer in Python stays on its thread, and its
exceptions keep their types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa

from staffa.errors import InvalidArgumentError

#: Rows, or values of all columns, of batches that are handed over at once.
_GROUP_ROWS = 1 << 14
_GROUP_VALUES = 1 << 20
#: Rows that a batch counts for at least.
_LEAST_ROWS = 64


@dataclass(frozen=True)
class Batches:
    """Batches of one schema, which can be read once."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches


def as_batches(data: Any, schema: pa.Schema | None = None) -> Batches:
    """The data as batches; `schema` is needed only for an iterator without a first batch."""
    if isinstance(data, pa.RecordBatchReader):
        return Batches(data.schema, _of_reader(data))
    if isinstance(data, Mapping):
        data = _converted(pa.table, dict(data))
    if isinstance(data, pa.Table):
        return Batches(data.schema, iter(data.to_batches()))
    if isinstance(data, pa.RecordBatch):
        # Not through its `__arrow_c_stream__`, which would export each array, and import it again.
        return Batches(data.schema, iter([data]))
    if type(data).__name__ == "LazyFrame" and hasattr(data, "collect_batches"):
        # Of Polars: the streaming engine computes it while it is written.
        data = iter(data.collect_batches(lazy=True, engine="streaming"))
    # The exceptions of an iterator keep their types, those of a stream do not; but a stream has a schema.
    if isinstance(data, Iterator) and (hasattr(data, "schema") or not hasattr(data, "__arrow_c_stream__")):
        return _of_items(data, getattr(data, "schema", None) if schema is None else schema)
    if hasattr(data, "scanner"):
        # A dataset of pyarrow, which makes scanners.
        data = data.scanner()
    if hasattr(data, "to_reader"):
        return as_batches(data.to_reader())
    if hasattr(data, "__arrow_c_stream__"):
        return as_batches(_converted(pa.RecordBatchReader.from_stream, data))
    if hasattr(data, "__arrow_c_array__"):
        batch = _converted(pa.record_batch, data)
        return Batches(batch.schema, iter([batch]))
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, bytearray)):
        return _of_items(iter(data), schema)
    raise InvalidArgumentError(
        "data must be a table that speaks the Arrow PyCapsule protocol (__arrow_c_stream__), as pyarrow, Polars, pandas"
        f" and DuckDB do, or a list or an iterator of such tables; found {type(data).__name__}"
    )


def _converted(convert: Any, data: Any) -> Any:
    try:
        return convert(data)
    except (pa.ArrowException, TypeError) as error:
        raise InvalidArgumentError(f"data cannot be read as an Arrow table: {error}") from error


def _of_reader(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The batches of a stream. Exceptions of a producer in Python pass; a stream in C has only messages."""
    try:
        yield from reader
    except pa.ArrowException as error:
        raise InvalidArgumentError(f"the input failed: {error}") from error


def _of_items(items: Iterator[Any], schema: pa.Schema | None) -> Batches:
    """The batches of several tables or batches, of which the first has the schema."""
    for item in items:
        first = _of_item(item, 0)
        rest = (batch for i, item in enumerate(items, 1) for batch in _of_item(item, i).batches)
        return Batches(first.schema if schema is None else schema, chain(first.batches, rest))
    if schema is None:
        raise InvalidArgumentError("data has no batch, and so no columns: give their names and types with schema=")
    return Batches(schema, iter([]))


def _of_item(item: Any, number: int) -> Batches:
    if hasattr(item, "__arrow_c_stream__") or hasattr(item, "__arrow_c_array__"):
        return as_batches(item)
    raise InvalidArgumentError(
        "data must be a list or an iterator of batches or tables of Arrow, found "
        f"{type(item).__name__} in it, at position {number}"
    )


def check_names(field: pa.Field) -> None:
    """Refuses names with a NUL byte, which ends a name in Arrow's C interface."""
    if "\0" in field.name:
        raise InvalidArgumentError(f"the name of a column cannot hold a NUL byte: {field.name!r}")
    for i in range(field.type.num_fields):
        check_names(field.type.field(i))


def _needs_rebasing(data_type: pa.DataType) -> bool:
    """Whether a slice of this type must be copied: the import of arrow-rs 59 applies the offset of a struct or of a
    fixed-size list twice to structs directly inside it, and panics.
    """
    if isinstance(data_type, pa.ExtensionType):
        return _needs_rebasing(data_type.storage_type)
    children = [data_type.field(i).type for i in range(data_type.num_fields)]
    return any(_needs_rebasing(child) or (_passes_offset(data_type) and _passes_offset(child)) for child in children)


def _passes_offset(data_type: pa.DataType) -> bool:
    """Whether the offset of a slice is that of the children."""
    if isinstance(data_type, pa.ExtensionType):
        return _passes_offset(data_type.storage_type)
    return bool(pa.types.is_struct(data_type) or pa.types.is_fixed_size_list(data_type))


def exportable(batch: pa.RecordBatch, flat: pa.Schema | None = None) -> pa.RecordBatch:
    """The batch as Arrow's C interface can hand it on; an error where its buffers are shorter than its offsets say.

    The interface does not tell the length of a buffer, so that the extension module cannot see that. `flat`: a schema
    without nested columns.
    """
    try:
        if batch.num_rows:
            batch.validate()
        return batch if flat is not None and batch.schema.equals(flat) else _rebased(batch)
    except pa.ArrowException as error:
        raise InvalidArgumentError(f"the input holds invalid data: {error}") from error


def batch_groups(batches: Iterable[pa.RecordBatch], flat: pa.Schema | None = None) -> Iterator[list[pa.RecordBatch]]:
    """Exportable batches of one schema, together so many that a call pays: one for each of many small batches would
    take longer than their rows. `flat`: a schema without nested columns.
    """
    group: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        most = min(_GROUP_ROWS, _GROUP_VALUES // max(batch.num_columns, 1))
        if group and (rows >= most or not batch.schema.equals(group[0].schema)):
            yield group
            group, rows = [], 0
        group.append(exportable(batch, flat))
        rows += max(batch.num_rows, _LEAST_ROWS)
    if group:
        yield group


def _rebased(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch without offsets in columns where the import would apply them twice."""
    copied = [_needs_rebasing(data_type) for data_type in batch.schema.types]
    if not any(copied):
        return batch
    # The concatenation copies, and the copy has offset 0 at all levels.
    columns = [
        pa.concat_arrays([column.slice(0, 0), column]) if copy else column
        for copy, column in zip(copied, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
