"""Predicates of Polars as pyarrow expressions, if both have the same meaning.

Polars serializes an expression as JSON. In the predicate of a scan, literals have the type of their column; casts of
columns are not translated. Polars evaluates the rest itself.

Floats differ: in Polars NaN equals itself and is greater than all else, in pyarrow comparisons with NaN are false.
"""

from __future__ import annotations

import io
import json
import operator
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from staffa._pushdown import LONG_LIST, is_text

if TYPE_CHECKING:
    import polars as pl


class _UnknownError(Exception):
    """A part that cannot be translated."""


def translate(predicate: pl.Expr, schema: pa.Schema) -> tuple[pc.Expression | None, pl.Expr | None]:
    """The conjuncts that pyarrow evaluates in the same way, and the predicate that Polars must still apply.

    >>> schema = pa.schema({"a": pa.int32(), "x": pa.float64()})
    >>> expression, left = translate((pl.col("a") > pl.lit(1, pl.Int32)) & (pl.col("x") <= 0.5), schema)
    >>> str(expression), left
    ('((a > 1) and (x <= 0.5))', None)
    >>> expression, left = translate((pl.col("a") > pl.lit(1, pl.Int32)) & (pl.col("x").sqrt() <= 0.5), schema)
    >>> str(expression), left is None
    ('(a > 1)', False)
    """
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
    except Exception:  # Polars raises many kinds of exceptions, for Python functions among others.
        return None, predicate
    reader = _Reader(schema)
    conjuncts = _conjuncts(tree)
    parts = [part for part in conjuncts if not _is_hint(part)]
    read = [(part, reader.conjunct(part)) for part in parts]
    known = [expression for _, expression in read if expression is not None]
    unknown = [part for part, expression in read if expression is None]
    left = predicate if unknown else None
    if unknown and len(parts) < len(conjuncts):
        left = reduce(operator.and_, map(_expression, unknown))
    return (reduce(operator.and_, known) if known else None), left


def _is_hint(tree: Any) -> bool:
    """Whether a conjunct is a dynamic predicate of a join or a limit: only for display."""
    return "Display" in tree and "dynamic_pred" in json.dumps(tree)


def _expression(tree: Any) -> pl.Expr:
    import polars

    return polars.Expr.deserialize(io.StringIO(json.dumps(tree)), format="json")


def _conjuncts(tree: Any) -> list[Any]:
    kind, of = _only(tree)
    if kind == "BinaryExpr" and of["op"] == "And":
        return [*_conjuncts(of["left"]), *_conjuncts(of["right"])]
    return [tree]


class _Reader:
    """Translates expressions over the columns of a schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def conjunct(self, tree: Any) -> pc.Expression | None:
        """A conjunct, or None if it cannot be translated."""
        try:
            return self._predicate(tree)
        except (_UnknownError, KeyError, IndexError, TypeError, ValueError, OverflowError, pa.ArrowException):
            return None

    def _predicate(self, tree: Any) -> pc.Expression:
        """A boolean expression that has the same value in pyarrow, NULL included."""
        kind, of = _only(tree)
        if kind == "Column":
            field = self._field(tree)
            _expect(pa.types.is_boolean(field.type))
            return pc.field(field.name)
        if kind == "BinaryExpr":
            if of["op"] in _CONNECTIVES:
                return _CONNECTIVES[of["op"]](self._predicate(of["left"]), self._predicate(of["right"]))
            return self._compare(of["op"], of["left"], of["right"])
        _expect(kind == "Function")
        inputs, (group, which) = of["input"], _only(of["function"])
        name, options = _only(which)
        if group == "Boolean":
            return self._boolean(name, options, inputs)
        _expect(group == "StringExpr" and name in _TEXT_TESTS and options in (None, {"literal": True, "strict": False}))
        field = self._field(inputs[0])
        _expect(_is_text(field.type))
        return _TEXT_TESTS[name](pc.field(field.name), self._literal(inputs[1], field).as_py())

    def _boolean(self, name: str, options: Any, inputs: list[Any]) -> pc.Expression:
        if name == "Not":
            return ~self._predicate(inputs[0])
        field = self._field(inputs[0])
        column = pc.field(field.name)
        if name in ("IsNull", "IsNotNull"):
            return column.is_null() if name == "IsNull" else column.is_valid()
        if name in ("IsNan", "IsNotNan"):
            _expect(pa.types.is_floating(field.type))
            return column.is_nan() if name == "IsNan" else ~column.is_nan()
        if name == "IsBetween":
            above, below = _BOUNDS[options["closed"]]
            return self._compare(above, inputs[0], inputs[1]) & self._compare(below, inputs[0], inputs[2])
        _expect(name == "IsIn" and options == {"nulls_equal": False})
        # Polars compares floats by its own order, and decimals with those of other scales, which are no values here.
        _expect(not pa.types.is_floating(field.type) and not pa.types.is_decimal(field.type))
        values = _listed(inputs[1]).drop_null().cast(_compared(field.type)).combine_chunks()
        # Longer ones Polars itself hashes sooner.
        _expect(0 < len(values) <= LONG_LIST)
        # `isin` is false for NULL; Polars returns NULL.
        return column.isin(values) | (column.is_null() & (column == values[0]))

    def _compare(self, name: str, left: Any, right: Any) -> pc.Expression:
        if "Literal" in left:
            left, right, name = right, left, _EXCHANGED.get(name, name)
        field = self._field(left)
        column, literal = pc.field(field.name), self._literal(right, field)
        comparison = _COMPARISONS[name](column, literal)
        if pa.types.is_floating(field.type) and name in ("Gt", "GtEq"):
            return comparison | column.is_nan()
        return comparison

    def _field(self, tree: Any) -> pa.Field:
        field = self._schema.field(tree["Column"])
        _expect(any(is_type(field.type) for is_type in _TYPES))
        return field

    def _literal(self, tree: Any, field: pa.Field) -> pa.Scalar:
        """A literal of the type of the column; others are left to Polars."""
        kind, value = _only(tree["Literal"])
        _expect(kind in ("Scalar", "Dyn"))
        kind, value = _only(value)
        is_type, read = _LITERALS[kind]
        # JSON has no NaN and no infinities.
        _expect(value is not None and is_type(field.type))
        return read(value, field.type)


def _only(tree: Any) -> tuple[str, Any]:
    """The kind and the content of a node."""
    if isinstance(tree, str):
        return tree, None
    ((kind, of),) = tree.items()
    return kind, of


def _listed(tree: Any) -> pa.ChunkedArray:
    """The values of a list, which Polars serializes as an Arrow stream."""
    kind, of = _only(tree)
    if kind == "Alias":
        return _listed(of[0])
    kind, written = _only(tree["Literal"])
    written = written["List"] if kind == "Scalar" else tree["Literal"]["Series"]
    return pa.ipc.open_stream(bytes(written)).read_all().column(0)


def _expect(known: bool) -> None:
    if not known:
        raise _UnknownError


def _of_type(value: Any, data_type: pa.DataType) -> pa.Scalar:
    return pa.scalar(value, _compared(data_type))


def _date(days: int, data_type: pa.DataType) -> pa.Scalar:
    return pa.scalar(days, pa.int32()).cast(data_type)


def _moment(written: list[Any], data_type: pa.DataType) -> pa.Scalar:
    value, unit, zone = written
    _expect(_UNITS[unit] == data_type.unit and (zone and zone["inner"]) == data_type.tz)
    return pa.scalar(value, pa.int64()).cast(data_type)


def _integers() -> dict[str, tuple[Callable[[pa.DataType], bool], Callable[[Any, pa.DataType], pa.Scalar]]]:
    types = {f"{sign}Int{bits}": f"{sign}int{bits}".lower() for sign in ("", "U") for bits in (8, 16, 32, 64)}
    return {name: (pa.type_for_alias(alias).equals, _of_type) for name, alias in types.items()}


def _is_text(data_type: pa.DataType) -> bool:
    return is_text(data_type) or pa.types.is_string_view(data_type)


def _compared(data_type: pa.DataType) -> pa.DataType:
    """The type that pyarrow compares: it compares no views."""
    return pa.string() if pa.types.is_string_view(data_type) else data_type


# The types that pyarrow and Polars compare in the same way.
_TYPES = (
    pa.types.is_boolean,
    pa.types.is_date32,
    pa.types.is_decimal128,
    pa.types.is_float32,
    pa.types.is_float64,
    pa.types.is_integer,
    pa.types.is_timestamp,
    _is_text,
)
_UNITS = {"Milliseconds": "ms", "Microseconds": "us", "Nanoseconds": "ns"}
_CONNECTIVES = {"And": operator.and_, "Or": operator.or_}
_COMPARISONS = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtEq": operator.le,
    "Gt": operator.gt,
    "GtEq": operator.ge,
}
_EXCHANGED = {"Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}
_BOUNDS = {"Both": ("GtEq", "LtEq"), "Left": ("GtEq", "Lt"), "Right": ("Gt", "LtEq"), "None": ("Gt", "Lt")}
_TEXT_TESTS: dict[str, Callable[[pc.Expression, str], pc.Expression]] = {
    "StartsWith": pc.starts_with,
    "EndsWith": pc.ends_with,
    "Contains": pc.match_substring,
}
_LITERALS: dict[str, tuple[Callable[[pa.DataType], bool], Callable[[Any, pa.DataType], pa.Scalar]]] = {
    **_integers(),
    "Boolean": (pa.types.is_boolean, _of_type),
    "Date": (pa.types.is_date32, _date),
    "Datetime": (pa.types.is_timestamp, _moment),
    "Float32": (pa.types.is_float32, _of_type),
    "Float64": (pa.types.is_float64, _of_type),
    "Float": (pa.types.is_float64, _of_type),
    "Int": (pa.types.is_integer, _of_type),
    "String": (_is_text, _of_type),
}
