"""Arrow data of other libraries as a stream for the extension module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from staffa.errors import InvalidArgumentError


def as_reader(data: Any) -> pa.RecordBatchReader:
    """The data as a stream of batches."""
    try:
        if isinstance(data, pa.Table):
            reader = data.to_reader()
        elif isinstance(data, pa.RecordBatchReader):
            reader = data
        elif hasattr(data, "__arrow_c_stream__"):
            reader = pa.RecordBatchReader.from_stream(data)
        elif hasattr(data, "__arrow_c_array__"):
            batch = pa.record_batch(data)
            reader = pa.RecordBatchReader.from_batches(batch.schema, [batch])
        else:
            raise InvalidArgumentError(
                "data must be a table that speaks the Arrow PyCapsule protocol (__arrow_c_stream__), as pyarrow, "
                f"Polars, pandas and DuckDB do; found {type(data).__name__}"
            )
    except (pa.ArrowException, TypeError) as error:
        raise InvalidArgumentError(f"data cannot be read as an Arrow table: {error}") from error
    for field in reader.schema:
        _check_names(field)
    rebased = [_needs_rebasing(data_type) for data_type in reader.schema.types]
    return pa.RecordBatchReader.from_batches(reader.schema, _rebase(reader, rebased)) if any(rebased) else reader


def _check_names(field: pa.Field) -> None:
    if "\0" in field.name:
        raise InvalidArgumentError(f"the name of a column cannot hold a NUL byte: {field.name!r}")
    for i in range(field.type.num_fields):
        _check_names(field.type.field(i))


def _needs_rebasing(data_type: pa.DataType) -> bool:
    """Whether a slice of this type must be copied: the import of arrow-rs 59 applies the offset of a struct or of a
    fixed-size list twice to structs directly inside it, and panics.
    """
    if isinstance(data_type, pa.ExtensionType):
        return _needs_rebasing(data_type.storage_type)
    children = [data_type.field(i).type for i in range(data_type.num_fields)]
    offset_applies = pa.types.is_struct(data_type) or pa.types.is_fixed_size_list(data_type)
    sliced_again = (pa.types.is_struct, pa.types.is_fixed_size_list)
    return any(
        _needs_rebasing(child) or (offset_applies and any(is_kind(child) for is_kind in sliced_again))
        for child in children
    )


def _rebase(reader: pa.RecordBatchReader, rebased: list[bool]) -> Iterator[pa.RecordBatch]:
    for batch in reader:
        # The concatenation copies, and the copy has offset 0 at all levels.
        columns = [
            pa.concat_arrays([column.slice(0, 0), column]) if copy else column
            for copy, column in zip(rebased, batch.columns, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)
