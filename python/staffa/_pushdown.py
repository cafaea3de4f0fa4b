"""Filters that the library evaluates itself, block by block, with zone maps.

pyarrow has no interface to the parts of an expression, but serializes every bound expression as Substrait, a protocol
buffer. The parts with exactly the same meaning in the library are translated to nested tuples:

    predicate = ("and" | "or", [predicate, ...]) | ("not", predicate) | ("is_null", column)
              | ("==" | "!=" | "<" | "<=" | ">" | ">=", (column, literal)) | ("in", (column, [literal, ...]))
              | ("starts_with" | "contains" | "like", (column, text))

pyarrow evaluates all else, in `_filter`.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from staffa._evaluate import text_of

if TYPE_CHECKING:
    import pyarrow.compute as pc

Predicate = tuple[str, Any]
Message = dict[int, list[Any]]

_LONG_BYTES = 10_000

# Substrait's names: the operator, and the operator with its sides exchanged.
_COMPARISONS = {
    "equal": ("==", "=="),
    "not_equal": ("!=", "!="),
    "lt": ("<", ">"),
    "lte": ("<=", ">="),
    "gt": (">", "<"),
    "gte": (">=", "<="),
}

_CASE_SENSITIVE = (b"case_sensitivity", b"CASE_SENSITIVE")


class _UnknownError(Exception):
    """A part that cannot be translated."""


def translate(expression: pc.Expression, schema: pa.Schema, columns: set[str]) -> tuple[Predicate | None, bool]:
    r"""The part of an expression that the library can evaluate on these columns, and whether that is the whole.

    >>> schema = pa.schema({"a": pa.int32(), "s": pa.string()})
    >>> translate((pc.field("a") <= 5) & (pc.field("s") == "x"), schema, {"a", "s"})
    (('and', [('<=', ('a', 5)), ('==', ('s', 'x'))]), True)
    >>> translate((pc.field("a") <= 5) & (pc.field("a") * 2 == 4), schema, {"a", "s"})
    (('<=', ('a', 5)), False)
    >>> translate(pc.field("a") * 2 == 4, schema, {"a", "s"})
    (None, False)
    >>> translate(pc.starts_with(pc.field("s"), "x") & pc.ends_with(pc.field("s"), "50%"), schema, {"a", "s"})
    (('and', [('starts_with', ('s', 'x')), ('like', ('s', '%50\\%'))]), True)
    >>> translate(pc.match_like(pc.field("s"), "x_%"), schema, {"a", "s"})
    (('like', ('s', 'x_%')), True)
    >>> translate(pc.field("m") < Decimal("1.50"), pa.schema({"m": pa.decimal128(9, 2)}), {"m"})
    (('<', ('m', '1.50')), True)
    """
    text = text_of(expression)
    # Substrait has no such option.
    if "nan_is_null=true" in text:
        return None, False
    # Substrait has no such function.
    if text.startswith("match_like("):
        like = _like(expression, text, schema, columns)
        return like, like is not None
    try:
        written = memoryview(expression.to_substrait(schema)).cast("B")
    except (pa.ArrowException, NotImplementedError):
        return None, False
    # A long list: pyarrow hashes the values, the library compares them one by one.
    if len(written) > _LONG_BYTES:
        return None, False
    try:
        plan = _message(written)
        reader = _Reader(plan, schema, columns)
        root = _only(_message(_only(plan, 3)), 1)
        conjuncts = reader.conjuncts(root)
    except (_UnknownError, IndexError, struct.error):
        return None, False
    known = [predicate for predicate in conjuncts if predicate is not None]
    whole = len(known) == len(conjuncts)
    if len(known) < 2:
        return (known[0] if known else None), whole
    return ("and", known), whole


class _Reader:
    """Translates the expressions of one plan."""

    def __init__(self, plan: Message, schema: pa.Schema, columns: set[str]) -> None:
        self._schema = schema
        self._columns = columns
        # ExtendedExpression.extensions: SimpleExtensionDeclaration { extension_function: { anchor = 2, name = 3 } }
        functions = [_message(part) for extension in plan.get(2, []) for part in _message(extension).get(3, [])]
        self._functions = {function.get(2, [0])[0]: bytes(_only(function, 3)).decode() for function in functions}

    def conjuncts(self, data: memoryview) -> list[Predicate | None]:
        """The conjuncts, each translated, or None."""
        name, arguments = self._call(_message(data))
        if name == "and":
            return [conjunct for argument in arguments for conjunct in self.conjuncts(argument)]
        try:
            return [self.predicate(data)]
        except _UnknownError:
            return [None]

    def predicate(self, data: memoryview) -> Predicate:
        """A boolean expression that has the same value in the library, NULL included."""
        expression = _message(data)
        if 8 in expression:  # SingularOrList { value = 1, options = 2 }
            members = _message(expression[8][0])
            column = self._column(_only(members, 1))
            literals = [self._literal(option, column) for option in members.get(2, [])]
            if any(isinstance(literal, float) for literal in literals):
                raise _UnknownError
            # `is_in` of NULL is false in pyarrow, and NULL in SQL and in the library.
            return "and", [("not", ("is_null", column)), ("in", (column, literals))]
        if 2 in expression:
            column = self._column(data)
            if not pa.types.is_boolean(self._schema.field(column).type):
                raise _UnknownError
            return "==", (column, True)
        name, arguments = self._call(expression)
        if name in ("and", "or"):
            return name, [self.predicate(argument) for argument in arguments]
        if name == "not":
            return name, self.predicate(*arguments)
        if name == "is_null":
            return name, self._column(*arguments)
        if name == "is_not_null":
            return "not", ("is_null", self._column(*arguments))
        if name in _COMPARISONS:
            left, right = arguments
            operator, exchanged = _COMPARISONS[name]
            if 1 in _message(left):
                left, right, operator = right, left, exchanged
            column = self._column(left)
            return _compare(operator, column, self._literal(right, column))
        if name in _TEXT_TESTS:
            self._expect_case_sensitive(expression)
            test, read = _TEXT_TESTS[name]
            left, right = arguments
            column = self._column(left)
            return test, (column, read(self._literal(right, column)))
        if name == "is_nan":
            column = self._column(*arguments)
            return "or", [("<", (column, -math.inf)), (">", (column, math.inf))]
        raise _UnknownError

    def _call(self, expression: Message) -> tuple[str, list[memoryview]]:
        """ScalarFunction { function_reference = 1, arguments = 4: { value = 3 } }."""
        if 3 not in expression:
            return "", []
        call = _message(expression[3][0])
        arguments = [_only(_message(argument), 3) for argument in call.get(4, [])]
        return self._functions.get(call.get(1, [0])[0], ""), arguments

    def _expect_case_sensitive(self, expression: Message) -> None:
        """ScalarFunction { options = 5: FunctionOption { name = 1, preference = 2 } }."""
        options = [_message(option) for option in _message(expression[3][0]).get(5, [])]
        if [(bytes(_only(option, 1)), bytes(_only(option, 2))) for option in options] != [_CASE_SENSITIVE]:
            raise _UnknownError

    def _column(self, data: memoryview) -> str:
        """A top-level column. pyarrow does not serialize expressions with implicit casts."""
        expression = _message(data)
        # FieldReference { direct_reference = 1: ReferenceSegment { struct_field = 2: { field = 1, child = 2 } } }
        field = _message(_only(_message(_only(_message(_only(expression, 2)), 1)), 2))
        found = self._schema.field(field.get(1, [0])[0])
        if 2 in field or found.name not in self._columns or not any(is_type(found.type) for is_type in TYPES):
            raise _UnknownError
        return str(found.name)

    def _literal(self, data: memoryview, column: str) -> Any:
        """A literal that fits the type of the column."""
        literal = _message(_only(_message(data), 1))
        for kind, (is_type, wire, read) in _LITERALS.items():
            if kind in literal and is_type(self._schema.field(column).type) and isinstance(literal[kind][0], wire):
                return read(literal[kind][0])
        raise _UnknownError


def _like(expression: pc.Expression, text: str, schema: pa.Schema, columns: set[str]) -> Predicate | None:
    """A `match_like` of a column, from pyarrow's pickle: the calls are metadata of a table of their options."""
    try:
        written = pa.ipc.open_file(expression.__reduce__()[1][0])
        steps = dict(written.schema.metadata)
        column = steps[b"field_ref"].decode()
        options = written.get_batch(0).column(int(steps[b"options"]))[0].as_py()
        pattern = options["pattern"]
    except (pa.ArrowException, AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None
    known = steps.keys() == {b"call", b"field_ref", b"options", b"end"} and column in columns
    alone = text == f'match_like({column}, {{pattern="{pattern}", ignore_case=false}})'
    # The two may treat a backslash differently.
    if not known or not alone or "\\" in pattern or not is_text(schema.field(column).type):
        return None
    return "like", (column, pattern)


def _ends_with(text: str) -> str:
    return "%" + re.sub(r"([\\%_])", r"\\\1", text)


def _compare(operator: str, column: str, literal: Any) -> Predicate:
    """A comparison. For floats: in pyarrow -0.0 equals 0.0, and NaN equals nothing; the library orders -NaN, -infinity,
    ..., -0.0, 0.0, ..., infinity, NaN.
    """
    if not isinstance(literal, float):
        return operator, (column, literal)
    if math.isnan(literal):
        raise _UnknownError
    if literal == 0:
        if operator in ("==", "!="):
            zero = ("and", [(">=", (column, -0.0)), ("<=", (column, 0.0))])
            return zero if operator == "==" else ("not", zero)
        literal = 0.0 if operator in ("<=", ">") else -0.0
    if operator in ("<", "<="):
        return "and", [(">=", (column, -math.inf)), (operator, (column, literal))]
    if operator in (">", ">="):
        return "and", [("<=", (column, math.inf)), (operator, (column, literal))]
    return operator, (column, literal)


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


def is_text(data_type: pa.DataType) -> bool:
    """Whether the type is a string type, views aside."""
    return data_type in (pa.string(), pa.large_string())


def is_microseconds(data_type: pa.DataType) -> bool:
    """Whether the type is a timestamp that the library and pyarrow compare in the same way."""
    return isinstance(data_type, pa.TimestampType) and data_type.unit == "us"


def _date(days: int) -> str:
    try:
        return (dt.date(1970, 1, 1) + dt.timedelta(_signed(days))).isoformat()
    except OverflowError:
        raise _UnknownError from None


def _timestamp(microseconds: int) -> str:
    try:
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=_signed(microseconds))
    except OverflowError:
        raise _UnknownError from None
    return f"{moment.isoformat()}Z"


def _decimal(data: memoryview) -> str:
    """Literal.Decimal { value = 1: 16 bytes, precision = 2, scale = 3 }."""
    literal = _message(data)
    value = int.from_bytes(_only(literal, 1), "little", signed=True)
    digits = tuple(int(digit) for digit in str(abs(value)))
    return f"{Decimal((int(value < 0), digits, -_signed(literal.get(3, [0])[0]))):f}"


# Substrait's names: the predicate, and the conversion of the text.
_TEXT_TESTS: dict[str, tuple[str, Callable[[str], str]]] = {
    "starts_with": ("starts_with", str),
    "contains": ("contains", str),
    "ends_with": ("like", _ends_with),
}
#: The types of columns that the library compares in the same way as pyarrow.
TYPES = (
    pa.types.is_boolean,
    pa.types.is_date32,
    pa.types.is_decimal128,
    pa.types.is_float32,
    pa.types.is_float64,
    pa.types.is_integer,
    is_microseconds,
    is_text,
)
# Expression.Literal: boolean, i8, i16, i32, i64, fp32, fp64, string, timestamp, date, decimal, timestamp_tz.
_LITERALS: dict[int, tuple[Callable[[pa.DataType], bool], type, Callable[[Any], Any]]] = {
    1: (pa.types.is_boolean, int, bool),
    2: (pa.types.is_integer, int, _signed),
    3: (pa.types.is_integer, int, _signed),
    5: (pa.types.is_integer, int, _signed),
    7: (pa.types.is_integer, int, _signed),
    10: (pa.types.is_float32, memoryview, lambda data: struct.unpack("<f", data)[0]),
    11: (pa.types.is_float64, memoryview, lambda data: struct.unpack("<d", data)[0]),
    12: (is_text, memoryview, lambda data: bytes(data).decode()),
    14: (lambda data_type: is_microseconds(data_type) and data_type.tz is None, int, _timestamp),
    16: (pa.types.is_date32, int, _date),
    24: (pa.types.is_decimal128, memoryview, _decimal),
    27: (lambda data_type: is_microseconds(data_type) and data_type.tz is not None, int, _timestamp),
}


def _only(message: Message, number: int) -> memoryview:
    """A field of a message, which must be a message or text."""
    value = message.get(number, [None])[0]
    if not isinstance(value, memoryview):
        raise _UnknownError
    return value


def _message(data: memoryview) -> Message:
    """The fields of a protocol buffer by number: integers, or slices of the bytes."""
    out: Message = {}
    at, end = 0, len(data)
    while at < end:
        key, at = (data[at], at + 1) if data[at] < 0x80 else _varint(data, at)
        wire = key & 7
        value: int | memoryview
        if wire == 2:
            size, at = (data[at], at + 1) if data[at] < 0x80 else _varint(data, at)
            value, at = data[at : at + size], at + size
        elif wire == 0:
            value, at = _varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, at = data[at : at + size], at + size
        else:
            raise _UnknownError
        out.setdefault(key >> 3, []).append(value)
    return out


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
