"""Types and filters of Spark: what its rows can hold, and pushed filters as expressions with the same meaning."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from staffa._evaluate import exact_literal, exact_literals
from staffa.errors import UnsupportedError

_PLAIN: dict[pa.DataType, pa.DataType] = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}
_SAME = (
    *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    *(pa.string(), pa.binary(), pa.date32(), pa.null()),
)
_MOST_DIGITS = 38


def spark_schema(schema: pa.Schema) -> pa.Schema:
    """The columns in the types that Spark has: unsigned integers and half floats are widened, times in microseconds.

    >>> spark_schema(pa.schema({"n": pa.uint32(), "at": pa.timestamp("s")}))
    n: int64
    at: timestamp[us]
    >>> spark_schema(pa.schema({"n": pa.decimal256(76, 0)}))
    Traceback (most recent call last):
        ...
    staffa.errors.UnsupportedError: column 'n': Spark has no type for decimal256(76, 0)
    """
    return pa.schema([pa.field(field.name, _spark_type(field.type, field.name)) for field in schema])


def _spark_type(data_type: pa.DataType, column: str) -> pa.DataType:
    def inner(data_type: pa.DataType) -> pa.DataType:
        return _spark_type(data_type, column)

    types = pa.types
    if data_type in _SAME:
        return data_type
    if data_type in _PLAIN:
        return _PLAIN[data_type]
    if isinstance(data_type, pa.BaseExtensionType):
        return inner(data_type.storage_type)
    if types.is_dictionary(data_type) or types.is_run_end_encoded(data_type):
        return inner(data_type.value_type)
    if types.is_decimal(data_type) and data_type.precision <= _MOST_DIGITS and data_type.scale >= 0:
        return pa.decimal128(data_type.precision, data_type.scale)
    if types.is_timestamp(data_type):
        return pa.timestamp("us", None if data_type.tz is None else "UTC")
    if types.is_duration(data_type):
        return pa.duration("us")
    if types.is_time(data_type):
        return pa.time64("ns")
    if types.is_fixed_size_binary(data_type):
        return pa.binary()
    if types.is_map(data_type):
        return pa.map_(inner(data_type.key_type), inner(data_type.item_type))
    if types.is_struct(data_type):
        return pa.struct([pa.field(field.name, inner(field.type)) for field in data_type])
    if hasattr(data_type, "value_field"):
        return pa.list_(pa.field("element", inner(data_type.value_type)))
    raise UnsupportedError(f"column {column!r}: Spark has no type for {data_type}")


def as_expression(filter: Any, schema: pa.Schema) -> pc.Expression | None:
    """A pushed filter as an expression that is true for the same rows; None where there is none.

    Spark orders NaN above all else and equal to itself, for pyarrow it equals nothing.
    """
    name = type(filter).__name__
    if name == "Not":
        # NULL in, NULL out: a row without a value matches neither a filter nor its opposite.
        within = as_expression(filter.child, schema)
        return None if within is None else ~within
    path: tuple[str, ...] = filter.attribute
    if len(path) != 1 or path[0] not in schema.names:
        return None
    column, data_type = pc.field(path[0]), schema.field(path[0]).type
    if name == "IsNull":
        return column.is_null()
    if name == "IsNotNull":
        return column.is_valid()
    try:
        return _compared(name, column, data_type, filter.value)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _compared(name: str, column: pc.Expression, data_type: pa.DataType, value: Any) -> pc.Expression | None:
    if name == "In":
        if not value or any(each is None or _is_nan(each) for each in value):
            return None
        if pa.types.is_floating(data_type):
            # For `isin` 0.0 and -0.0 differ.
            return functools.reduce(operator.or_, [column == exact_literal(each, data_type) for each in value])
        listed = column.isin(exact_literals(value, data_type))
        # `isin` of NULL is false.
        return listed | (column.is_null() & (column == exact_literal(value[0], data_type)))
    if name == "EqualNullSafe":
        equal = None if value is None else _compared("EqualTo", column, data_type, value)
        return column.is_null() if value is None else None if equal is None else equal & column.is_valid()
    if value is None:
        return None
    if name in _TEXT:
        return _TEXT[name](column, value) if pa.types.is_string(data_type) else None
    if name not in _COMPARISONS:
        return None
    if _is_nan(value):
        return pc.is_nan(column) if name == "EqualTo" else None
    compared = _COMPARISONS[name](column, exact_literal(value, data_type))
    if not pa.types.is_floating(data_type):
        return compared
    return compared | pc.is_nan(column) if name.startswith("GreaterThan") else compared


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


_COMPARISONS: dict[str, Callable[[pc.Expression, pa.Scalar], pc.Expression]] = {
    "EqualTo": lambda column, value: column == value,
    "GreaterThan": lambda column, value: column > value,
    "GreaterThanOrEqual": lambda column, value: column >= value,
    "LessThan": lambda column, value: column < value,
    "LessThanOrEqual": lambda column, value: column <= value,
}
_TEXT: dict[str, Callable[[pc.Expression, str], pc.Expression]] = {
    "StringStartsWith": pc.starts_with,
    "StringEndsWith": pc.ends_with,
    "StringContains": pc.match_substring,
}
