"""Filters as text and as lists of conditions, made to pyarrow's expressions.

The text is that of the program's `--filter`: `price < 10 and (name = 'x' or "odd name" is not null)`. The lists are
pyarrow's and pandas' `filters`: `[("a", ">", 3), ("b", "in", ["x", "y"])]` is a conjunction, and a list of such lists a
disjunction of them. A field of a struct stands behind a point: `address.city = 'Oban'`.
"""

from __future__ import annotations

import contextlib
import math
import operator
import re
from collections.abc import Iterable
from decimal import Decimal
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from staffa import _staffa
from staffa._pushdown import Predicate, is_text
from staffa.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pyarrow.compute as pc

    Filters: TypeAlias = pc.Expression | str | Iterable[Any]

_OPERATORS = {"=": "==", "<>": "!="}
# "a name" at the start of a path, with the point behind it; a doubled quote is one of the name.
_QUOTED_NAME = re.compile(r'"((?:[^"]|"")*)"(?:\.|$)')


class UnknownColumnError(InvalidArgumentError):
    """A filter names a column that is not there."""


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
        return _Columns(schema).expression(_staffa.parse_filter(checked_text(filter)))
    if isinstance(filter, (list, tuple)):
        return _of_lists(filter, _Columns(schema))
    return filter


def checked_text(text: str, what: str = "filter") -> str:
    """A text of whole characters; half of a pair of surrogates is an error, which begins with `what`."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"{what}: {error}") from None
    return text


class _Columns:
    """The columns of a schema, with which literals are compared in the types of the columns."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def expression(self, predicate: Predicate) -> pc.Expression:
        """The expression of nested tuples, as in `_pushdown`."""
        import pyarrow.compute as pc

        kind, parts = predicate
        if kind in ("and", "or"):
            return _joined(kind, [self.expression(part) for part in parts])
        if kind == "not":
            return ~self.expression(parts)
        if kind == "is_null":
            return self._field(parts)[1].is_null()
        name, value = parts
        if kind == "in" and value:
            # As in SQL a NULL is neither in a list nor not in it, and no value is surely not in a list with a NULL:
            # pyarrow's `~isin` would keep both.
            known = [each for each in value if each is not None]
            if len(known) < len(value):
                return self.condition(name, kind, known) | pc.scalar(pa.scalar(None, pa.bool_()))
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
            found = field.isin(self._list(name, data_type, list(value)))
            return ~found if operator == "not in" else found
        if pa.types.is_dictionary(data_type):
            field = field.cast(data_type.value_type)
        if operator in ("starts_with", "contains", "like"):
            pattern = self._pattern(name, data_type, value)
            call = {"starts_with": pc.starts_with, "contains": pc.match_substring, "like": pc.match_like}[operator]
            return call(field, pattern)
        if operator == "ilike":
            return pc.match_like(field, self._pattern(name, data_type, value), ignore_case=True)
        literal = self._literal(name, data_type, value)
        operator = _OPERATORS.get(operator, operator)
        comparisons = {
            "==": field.__eq__,
            "!=": field.__ne__,
            "<": field.__lt__,
            "<=": field.__le__,
            ">": field.__gt__,
            ">=": field.__ge__,
        }
        sides = _sides(field, _value_type(data_type), literal)
        if sides is not None and operator in comparisons:
            below, above = sides
            whole = {"==": below & above, "!=": below | above, "<": below, "<=": below}
            return whole.get(operator, above)
        compare = comparisons.get(operator)
        if compare is None:
            known = ", ".join([*comparisons, "in", "not in", "like", "ilike"])
            raise InvalidArgumentError(f"filter: unknown operator {operator!r}; there are {known}")
        return compare(literal)

    def _list(self, name: str, data_type: pa.DataType, values: list[Any]) -> pa.Array:
        """The values of a list, in the type of the column."""
        own = _value_type(data_type)
        plain = _plain(values, own)
        if plain is not None:
            return plain
        literals = [self._literal(name, data_type, each) for each in values]
        try:
            return _equals(literals, own)
        except pa.ArrowNotImplementedError as error:
            raise InvalidArgumentError(
                f"filter: column {name!r} of type {data_type} cannot be compared with {values!r}: {error}"
            ) from error

    def _pattern(self, name: str, data_type: pa.DataType, value: Any) -> str | bytes:
        """A pattern for columns of text or of bytes."""
        if isinstance(value, bytes) and _is_binary(data_type):
            return value
        if not isinstance(value, str):
            raise InvalidArgumentError(f"filter: column {name!r}: a text as pattern expected, found {value!r}")
        text = checked_text(value, f"filter: column {name!r}")
        return text.encode() if _is_binary(data_type) else text

    def _field(self, path: str) -> tuple[pa.DataType, pc.Expression]:
        """The type of a column, or of a field of a struct behind a point, and its expression."""
        import pyarrow.compute as pc

        # Of many columns, listing all takes longer than a scan of one.
        whole = -1
        with contextlib.suppress(UnicodeEncodeError):
            whole = self._schema.get_field_index(path)
        if whole >= 0:
            return self._schema.field(whole).type, pc.field(path)
        names: list[str] = []
        fields, rest = list(self._schema), path
        while True:
            name, after = _first_name(rest, [field.name for field in fields])
            found = next((field for field in fields if field.name == name), None)
            if found is None:
                known = ", ".join(repr(field.name) for field in fields[:20]) or "none"
                what = "column" if not names else f"field {rest!r} of column"
                raise UnknownColumnError(f"filter: unknown {what} {path!r}; there are {known}")
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
            literal = _converted(data_type, value)
        except (pa.ArrowException, ArithmeticError, TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"filter: column {name!r} of type {data_type} cannot be compared with {value!r}: {error}"
            ) from error
        expected, found = _kind(data_type), _kind(literal.type)
        if expected and found and expected != found:
            raise InvalidArgumentError(
                f"filter: column {name!r} of type {data_type} cannot be compared with {value!r}: a {expected} expected"
            )
        return literal


def _sides(
    field: pc.Expression, data_type: pa.DataType, literal: pa.Scalar
) -> tuple[pc.Expression, pc.Expression] | None:
    """Whether whole numbers are below, or above, a number that is none of them; `None` for another literal.

    pyarrow compares in floating point, and refuses large whole numbers; of 64 bits without a sign it refuses large ones
    beside a negative literal.
    """
    number = literal.as_py() if pa.types.is_integer(data_type) else None
    is_unsigned = pa.types.is_uint64(data_type)
    if isinstance(number, (float, Decimal)) and -(2**63) <= number < 2**63:
        number = math.floor(number)
    elif not isinstance(number, int) or (number >= 0 if is_unsigned else number < 2**63):
        return None
    zero = pa.scalar(0, data_type)
    if is_unsigned and number < 0:
        return field < zero, field >= zero
    if number >= 2**63:
        return (field < zero) | (field >= zero), (field < zero) & (field >= zero)
    below = pa.scalar(number, data_type if is_unsigned else pa.int64())
    return field <= below, field > below


def _converted(data_type: pa.DataType, value: Any) -> pa.Scalar:
    """A value to compare with a column of this type; errors are those of pyarrow and Python."""
    if value is None:
        return pa.scalar(None, data_type)
    if isinstance(value, float) and pa.types.is_decimal(data_type):
        # The shortest decimal that reads as the float: 0.1 means a tenth.
        return pa.scalar(Decimal(repr(value)))
    if isinstance(value, (float, Decimal)) and pa.types.is_integer(data_type) and -(2**63) <= value < 2**64:
        value = int(value) if value == int(value) else value
    if isinstance(value, Integral) and not isinstance(value, bool):
        if pa.types.is_decimal(data_type):
            # pyarrow gives a whole number 19 digits, and then has no room for the scale of the column.
            return pa.scalar(Decimal(int(value)))
        if pa.types.is_uint64(data_type) and int(value) >= 0:
            return pa.scalar(int(value), data_type)
    if isinstance(value, str) and _is_binary(data_type):
        return pa.scalar(value.encode(), data_type)
    if isinstance(value, str) and pa.types.is_decimal(data_type):
        return pa.scalar(Decimal(value))
    if isinstance(value, str) and pa.types.is_temporal(data_type):
        return _time(value, data_type)
    return pa.scalar(value)


def _plain(values: list[Any], data_type: pa.DataType) -> pa.Array | None:
    """Values of Python that need no conversion but that to the type, all at once; None for others."""
    python_type = int if pa.types.is_integer(data_type) else str if is_text(data_type) else None
    # Not a subclass: a bool is an int.
    if python_type is None or any(type(value) is not python_type for value in values):
        return None
    try:
        return pa.array(values, data_type)
    except (OverflowError, ValueError):
        # Such as half of a pair of surrogates.
        return None


def _equals(literals: list[pa.Scalar], data_type: pa.DataType) -> pa.Array:
    """The values of a type that equal one of the literals: none for 1.5 among whole numbers.

    >>> _equals([pa.scalar(1.5), pa.scalar(2.0), pa.scalar(2**40)], pa.int32()).to_pylist()
    [2]
    """
    import pyarrow.compute as pc

    by_type: dict[pa.DataType, list[pa.Scalar]] = {}
    for literal in literals:
        by_type.setdefault(literal.type, []).append(literal)
    found = [_exact(pa.array(values, own), data_type) for own, values in by_type.items()]
    equal = pa.concat_arrays(found) if found else pa.array([], data_type)
    if pa.types.is_floating(data_type):
        # Both zeros equal a zero.
        zeros = equal.filter(pc.equal(equal, pa.scalar(0.0, data_type)))
        equal = pa.concat_arrays([equal, pc.negate(zeros)])
    return equal


def _exact(values: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Those of the values that a type has, in the type."""
    import pyarrow.compute as pc

    if values.type == data_type:
        return values
    try:
        near = values.cast(data_type)
        # pyarrow rounds doubles to floats, and cuts the time off a date.
        return near.filter(pc.fill_null(pc.equal(near.cast(values.type), values), True))
    except pa.ArrowInvalid:
        if len(values) == 1:
            return pa.array([], data_type)
        return pa.concat_arrays([_exact(values[at : at + 1], data_type) for at in range(len(values))])


def _kind(data_type: pa.DataType) -> str | None:
    """What values of a type are, where they are compared with others of their kind alone."""
    kinds = {
        "number": (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal),
        "text": (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
        "true or false": (pa.types.is_boolean,),
        "date or timestamp": (pa.types.is_date, pa.types.is_timestamp),
        "time": (pa.types.is_time,),
        "duration": (pa.types.is_duration,),
    }
    return next((kind for kind, tests in kinds.items() if any(test(data_type) for test in tests)), None)


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
    groups = filters if filters and all(isinstance(group, list) for group in filters) else [filters]
    joined = []
    for group in groups:
        parts = []
        for condition in group:
            is_condition = isinstance(condition, tuple) and len(condition) == 3
            if not is_condition or not all(isinstance(part, str) for part in condition[:2]):
                raise InvalidArgumentError(
                    "filters must be conditions (column, operator, value) in a list, or lists of them, "
                    f"found {condition!r}"
                )
            parts.append(columns.condition(*condition))
        joined.append(_joined("and", parts))
    return _joined("or", joined)


def _joined(kind: str, parts: list[pc.Expression]) -> pc.Expression:
    """The conjunction or disjunction, as a tree of little depth: a chain of ten thousand overflows pyarrow's stack."""
    import pyarrow.compute as pc

    if not parts:
        return pc.scalar(kind == "and")
    join = operator.and_ if kind == "and" else operator.or_
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        last = parts[-1:] if len(parts) % 2 else []
        parts = [*(join(left, right) for left, right in pairs), *last]
    return parts[0]


def _time(text: str, data_type: pa.DataType) -> pa.Scalar:
    """A date, time or timestamp from text; a timestamp without an offset is one in the zone of the column."""
    if pa.types.is_timestamp(data_type) and data_type.tz is not None:
        import pyarrow.compute as pc

        plain = pa.timestamp(data_type.unit)
        try:
            return pc.assume_timezone(pa.scalar(text).cast(plain), data_type.tz)
        except pa.ArrowInvalid:
            pass
    if pa.types.is_time(data_type):
        nanoseconds = pa.scalar(f"1970-01-01T{text}").cast(pa.timestamp("ns")).cast(pa.time64("ns"))
        exact = _equals([nanoseconds], data_type)
        return exact[0] if len(exact) else nanoseconds
    if pa.types.is_timestamp(data_type) and data_type.tz is None:
        # Without a zone in the column, an offset is one from UTC.
        try:
            return pa.scalar(text).cast(data_type)
        except pa.ArrowInvalid:
            return pa.scalar(text).cast(pa.timestamp(data_type.unit, "UTC")).cast(data_type)
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
