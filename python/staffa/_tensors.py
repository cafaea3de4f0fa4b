"""Columns as PyTorch tensors, without copies if there are no NULLs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from staffa._extras import require
from staffa.errors import InvalidArgumentError

torch = require("torch", "torch")

#: By name: a tensor with an entry for each row, or a list if tensors cannot hold the values.
Columns = dict[str, Any]


class Tensors:
    """Converts the columns of a table to tensors."""

    def __init__(self, schema: pa.Schema, fill_null: Mapping[str, Any] | None) -> None:
        self._fill = dict(fill_null or {})
        for name in self._fill:
            if name not in schema.names:
                raise InvalidArgumentError(f"fill_null: column {name!r} is not among the columns read")

    def of(self, batch: pa.RecordBatch) -> Columns:
        """The columns of a batch."""
        return {name: self._column(name, batch.column(name)) for name in batch.schema.names}

    def _column(self, name: str, array: pa.Array) -> Any:
        if name in self._fill:
            try:
                array = array.fill_null(self._fill[name])
            except pa.ArrowException as error:
                raise InvalidArgumentError(f"fill_null of column {name!r}: {error}") from error
        shape = _shape(array.type)
        if shape is not None:
            return _flat(name, array).reshape(len(array), *shape)
        if _is_list(array.type) and _shape(array.type.value_type) is not None and not array.null_count:
            items = self._column(name, array.flatten())
            return list(torch.split(items, array.value_lengths().to_pylist()))
        return array.to_pylist()


def concat(parts: Sequence[Columns]) -> Columns:
    """The rows of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    columns = {name: [part[name] for part in parts] for name in parts[0]}
    return {
        name: list(chain(*several)) if isinstance(several[0], list) else torch.cat(several)
        for name, several in columns.items()
    }


def take(columns: Columns, rows: Any) -> Columns:
    """The rows with these numbers, given as a tensor."""
    numbers = rows.tolist()
    return {
        name: [column[i] for i in numbers] if isinstance(column, list) else column[rows]
        for name, column in columns.items()
    }


def slice_rows(columns: Columns, start: int, stop: int) -> Columns:
    """The rows of a range."""
    return {name: column[start:stop] for name, column in columns.items()}


def _is_list(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_list(data_type) or pa.types.is_large_list(data_type))


def _shape(data_type: pa.DataType) -> tuple[int, ...] | None:
    """The shape of one value as a tensor; None if it cannot be one."""
    if isinstance(data_type, pa.FixedShapeTensorType):
        return tuple(data_type.shape)
    if isinstance(data_type, pa.BaseExtensionType):
        return _shape(data_type.storage_type)
    if pa.types.is_dictionary(data_type):
        return _shape(data_type.value_type)
    if pa.types.is_fixed_size_list(data_type):
        inner = _shape(data_type.value_type)
        return None if inner is None else (data_type.list_size, *inner)
    kinds = (pa.types.is_boolean, pa.types.is_floating, pa.types.is_integer)
    return () if any(is_kind(data_type) for is_kind in kinds) or _counted_as(data_type) else None


def _counted_as(data_type: pa.DataType) -> pa.DataType | None:
    """The integer type in which Arrow stores dates and times."""
    if pa.types.is_date32(data_type) or pa.types.is_time32(data_type):
        return pa.int32()
    kinds = (pa.types.is_date64, pa.types.is_time64, pa.types.is_timestamp, pa.types.is_duration)
    return pa.int64() if any(is_kind(data_type) for is_kind in kinds) else None


def _flat(name: str, array: pa.Array) -> Any:
    """All numbers of an array as one tensor; NULL is NaN for floats."""
    if isinstance(array, pa.ExtensionArray):
        return _flat(name, array.storage)
    if pa.types.is_dictionary(array.type):
        return _flat(name, array.dictionary_decode())
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        numbers = _flat(name, array.values.slice(array.offset * size, len(array) * size))
        if array.null_count:
            _expect_floats(name, array.type, numbers.is_floating_point())
            numbers = numbers.reshape(len(array), -1).clone()
            numbers[_flat(name, array.is_null())] = float("nan")
        return numbers.reshape(-1)
    if array.null_count:
        _expect_floats(name, array.type, pa.types.is_floating(array.type))
        array = array.fill_null(pa.scalar(float("nan"), array.type))
    if pa.types.is_boolean(array.type):
        return torch.from_dlpack(array.cast(pa.uint8())).view(torch.bool)
    counted_as = _counted_as(array.type)
    return torch.from_dlpack(array if counted_as is None else array.view(counted_as))


def _expect_floats(name: str, data_type: pa.DataType, floating: bool) -> None:
    if not floating:
        raise InvalidArgumentError(
            f"column {name!r} holds NULL, and a tensor of {data_type} cannot; "
            f"give fill_null={{{name!r}: ...}}, or leave the column out with columns="
        )
