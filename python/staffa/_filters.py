"""Filters as text and as lists of conditions, made to pyarrow's expressions.

The text is that of the program's `--filter`: `price < 10 and (name = 'x' or "odd name" is not null)`. The lists are
pyarrow's and pandas' `filters`: `[("a", ">", 3), ("b", "in", ["x", "y"])]` is a conjunction, and a list of such lists a
disjunction of them. A field of a struct stands behind a point: `address.city = 'Oban'`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from staffa import _staffa
from staffa._pushdown import Predicate
from staffa.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pyarrow.compute as pc

    Filters: TypeAlias = pc.Expression | str | Iterable[Any]

_OPERATORS = {"=": "==", "<>": "!="}
# "a name" at the start of a path, with the point behind it; a doubled quote is one of the name.
_QUOTED_NAME = re.compile(r'"((?:[^"]|"")*)"(?:\.|$)')


def as_expression(filter: Any, schema: pa.Schema) -> Any:
    """A filter as an expression for columns of this schema; an expression stays as it is.

    >>> schema = pa.schema({"a": pa.int64(), "day": pa.date32(), "s": pa.string()})
    >>> as_expression("a > 3 and day < '2024-01-31'", schema)
    <pyarrow.compute.Expression ((a > 3) and (day < 2024-01-31))>
    >>> as_expression([("a", ">", 3), ("s", "in", ["x", "y"])], schema).equals(
    ...     (pc.field("a") > 3) & pc.field("s").isin(pa.array(["x", "y"]))
    ... )
    True
    """
    if isinstance(filter, str):
        return _Columns(schema).expression(_staffa.parse_filter(filter))
    if isinstance(filter, (list, tuple)):
        return _of_lists(filter, _Columns(schema))
    return filter


class _Columns:
    """The columns of a schema, with which literals are compared in the types of the columns."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def expression(self, predicate: Predicate) -> pc.Expression:
        """The expression of nested tuples, as in `_pushdown`."""
        import pyarrow.compute as pc

        kind, parts = predicate
        if kind in ("and", "or"):
            joined = [self.expression(part) for part in parts]
            result = joined[0] if joined else pc.scalar(kind == "and")
            for part in joined[1:]:
                result = result & part if kind == "and" else result | part
            return result
        if kind == "not":
            return ~self.expression(parts)
        if kind == "is_null":
            return self._field(parts)[1].is_null()
        name, value = parts
        if kind == "in" and value:
            # As in SQL a NULL is neither in a list nor not in it: pyarrow's `~isin` would keep it.
            unknown = self._field(name)[1].is_null() & self.condition(name, "==", value[0])
            return self.condition(name, kind, value) | unknown
        return self.condition(name, kind, value)

    def condition(self, name: str, operator: str, value: Any) -> pc.Expression:
        """A column compared with a value."""
        import pyarrow.compute as pc

        data_type, field = self._field(name)
        if operator in ("in", "not in"):
            if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
                raise InvalidArgumentError(f"filter: column {name!r} is {operator} a list of values, found {value!r}")
            literals = [self._literal(name, data_type, each) for each in value]
            found = field.isin(pa.array([each.as_py() for each in literals], _value_type(data_type)))
            return ~found if operator == "not in" else found
        if operator in ("starts_with", "contains", "like"):
            pattern = value.encode() if _is_binary(data_type) else value
            call = {"starts_with": pc.starts_with, "contains": pc.match_substring, "like": pc.match_like}[operator]
            return call(field, pattern)
        if operator == "ilike":
            return pc.match_like(field, value, ignore_case=True)
        literal = self._literal(name, data_type, value)
        comparisons = {
            "==": field.__eq__,
            "!=": field.__ne__,
            "<": field.__lt__,
            "<=": field.__le__,
            ">": field.__gt__,
            ">=": field.__ge__,
        }
        compare = comparisons.get(_OPERATORS.get(operator, operator))
        if compare is None:
            known = ", ".join([*comparisons, "in", "not in"])
            raise InvalidArgumentError(f"filter: unknown operator {operator!r}; there are {known}")
        return compare(literal)

    def _field(self, path: str) -> tuple[pa.DataType, pc.Expression]:
        """The type of a column, or of a field of a struct behind a point, and its expression."""
        import pyarrow.compute as pc

        names: list[str] = []
        fields, rest = list(self._schema), path
        while True:
            name, after = _first_name(rest, [field.name for field in fields])
            found = next((field for field in fields if field.name == name), None)
            if found is None:
                known = ", ".join(repr(field.name) for field in fields[:20]) or "none"
                what = "column" if not names else f"field {rest!r} of column"
                raise InvalidArgumentError(f"filter: unknown {what} {path!r}; there are {known}")
            names.append(name)
            if after is None:
                return found.type, pc.field(*names)
            if not pa.types.is_struct(found.type):
                raise InvalidArgumentError(
                    f"filter: column {path!r}: a field {after!r} of a value of type {found.type}, a struct expected"
                )
            fields, rest = list(found.type), after

    def _literal(self, name: str, data_type: pa.DataType, value: Any) -> pa.Scalar:
        """The value in the type of the column, if it is text for a date, a time, a decimal or bytes."""
        if isinstance(value, pa.Scalar):
            return value
        data_type = _value_type(data_type)
        try:
            if value is None:
                return pa.scalar(None, data_type)
            if isinstance(value, float) and pa.types.is_decimal(data_type):
                # The shortest decimal that reads as the float: 0.1 means a tenth.
                return pa.scalar(Decimal(repr(value)))
            if isinstance(value, Integral) and not isinstance(value, bool) and pa.types.is_decimal(data_type):
                # pyarrow gives a whole number 19 digits, and then has no room for the scale of the column.
                return pa.scalar(Decimal(int(value)))
            if isinstance(value, str) and _is_binary(data_type):
                return pa.scalar(value.encode(), data_type)
            if isinstance(value, str) and pa.types.is_decimal(data_type):
                return pa.scalar(Decimal(value))
            if isinstance(value, str) and pa.types.is_temporal(data_type):
                return _time(value, data_type)
            return pa.scalar(value)
        except (pa.ArrowException, ArithmeticError, ValueError) as error:
            raise InvalidArgumentError(
                f"filter: column {name!r} of type {data_type} cannot be compared with {value!r}: {error}"
            ) from error


def _first_name(path: str, names: list[str]) -> tuple[str, str | None]:
    """The name at the start of a path, and the rest: the whole goes first, then the longest name, unless quoted.

    >>> _first_name("a.b.c", ["a", "a.b"]), _first_name('"a"."b"', ["a"]), _first_name("x", ["a"])
    (('a.b', 'c'), ('a', '"b"'), ('x', None))
    """
    if path in names:
        return path, None
    quoted = _QUOTED_NAME.match(path)
    if quoted:
        return quoted[1].replace('""', '"'), path[quoted.end() :] if quoted.end() < len(path) else None
    for at in range(len(path) - 1, -1, -1):
        if path[at] == "." and path[:at] in names:
            return path[:at], path[at + 1 :]
    return path, None


def _of_lists(filters: Any, columns: _Columns) -> pc.Expression:
    import pyarrow.compute as pc

    groups = filters if filters and all(isinstance(group, list) for group in filters) else [filters]
    result = None
    for group in groups:
        joined = None
        for condition in group:
            if not isinstance(condition, tuple) or len(condition) != 3:
                raise InvalidArgumentError(
                    "filters must be conditions (column, operator, value) in a list, or lists of them, "
                    f"found {condition!r}"
                )
            part = columns.condition(*condition)
            joined = part if joined is None else joined & part
        joined = pc.scalar(True) if joined is None else joined
        result = joined if result is None else result | joined
    return result


def _time(text: str, data_type: pa.DataType) -> pa.Scalar:
    """A date, time or timestamp from text; a timestamp without an offset is one in the zone of the column."""
    if pa.types.is_timestamp(data_type) and data_type.tz is not None:
        import pyarrow.compute as pc

        plain = pa.timestamp(data_type.unit)
        try:
            return pc.assume_timezone(pa.scalar(text).cast(plain), data_type.tz)
        except pa.ArrowInvalid:
            pass
    return pa.scalar(text).cast(data_type)


def _value_type(data_type: pa.DataType) -> pa.DataType:
    """The type of the values of a dictionary or of run-ends."""
    while pa.types.is_dictionary(data_type) or pa.types.is_run_end_encoded(data_type):
        data_type = data_type.value_type
    return data_type


def _is_binary(data_type: pa.DataType) -> bool:
    data_type = _value_type(data_type)
    kinds = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
    return any(is_kind(data_type) for is_kind in kinds)
