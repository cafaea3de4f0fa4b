"""Filters that the library evaluates itself, block by block, with zone maps.

pyarrow has no interface to the parts of an expression, but pickles it: the metadata of the pickle are the steps of the
expression, the columns its literals and options. The parts with exactly the same meaning in the library are translated
to nested tuples:

    predicate = ("and" | "or", [predicate, ...]) | ("not", predicate) | ("is_null", column)
              | ("==" | "!=" | "<" | "<=" | ">" | ">=", (column, literal)) | ("in", (column, [literal, ...]))
              | ("starts_with" | "contains" | "like", (column, text))

pyarrow evaluates all else, in `_filter`.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from staffa import _staffa
from staffa.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pyarrow.compute as pc

Predicate = tuple[str, Any]

# pyarrow's names: the operator, and the operator with its sides exchanged.
_COMPARISONS = {
    "equal": ("==", "=="),
    "not_equal": ("!=", "!="),
    "less": ("<", ">"),
    "less_equal": ("<=", ">="),
    "greater": (">", "<"),
    "greater_equal": (">=", "<="),
}


# Calls within each other; the library has room for 256.
_DEEPEST = 200
#: Longer lists take longer to translate than pyarrow takes to hash them.
LONG_LIST = 5000


class _UnknownError(Exception):
    """A part that cannot be translated."""


def translate(expression: pc.Expression, schema: pa.Schema, columns: set[str]) -> tuple[Predicate | None, bool]:
    r"""The part of an expression that the library can evaluate on these columns, and whether that is the whole.

    >>> schema = pa.schema({"a": pa.int32(), "s": pa.large_string(), "t": pa.timestamp("ns")})
    >>> translate((pc.field("a") <= 5) & (pc.field("s") == "x"), schema, {"a", "s"})
    (('and', [('<=', ('a', 5)), ('==', ('s', 'x'))]), True)
    >>> translate((pc.field("a") <= 5) & (pc.field("a") * 2 == 4), schema, {"a", "s"})
    (('<=', ('a', 5)), False)
    >>> translate(pc.field("a") * 2 == 4, schema, {"a", "s"})
    (None, False)
    >>> translate(pc.starts_with(pc.field("s"), "x") & pc.ends_with(pc.field("s"), "50%"), schema, {"a", "s"})
    (('and', [('starts_with', ('s', 'x')), ('like', ('s', '%50\\%'))]), True)
    >>> translate(pc.field("t") < dt.datetime(2024, 2, 29), schema, {"t"})
    (('<', ('t', '2024-02-29T00:00:00.000000000Z')), True)
    """
    try:
        conjuncts = _Reader(schema, columns).conjuncts(_root(expression))
    except (_UnknownError, RecursionError):
        return None, False
    known = [predicate for predicate in conjuncts if predicate is not None]
    whole = len(known) == len(conjuncts)
    if len(known) < 2:
        return (known[0] if known else None), whole
    return ("and", known), whole


@dataclass(frozen=True)
class _Field:
    name: str


@dataclass(frozen=True)
class _Call:
    name: str
    arguments: list[_Part]
    options: dict[str, pa.Scalar]

    def options_are(self, **expected: Any) -> bool:
        """Whether these options have these values, so that the library does the same."""
        return all(name in self.options and self.options[name].as_py() == expected[name] for name in expected)


_Part: TypeAlias = _Field | _Call | pa.Scalar


def _root(expression: pc.Expression) -> _Part:
    try:
        pickled = expression.__reduce__()[1][0]
        with pa.ipc.open_file(pickled) as file:
            values = file.get_batch(0)
        steps = _staffa.expression_steps(pickled.to_pybytes())
        return _part(iter(steps), values)
    except (AttributeError, LookupError, StopIteration, TypeError, ValueError, pa.ArrowException, InvalidArgumentError):
        # Names that are no UTF-8, positions in place of names, and pickles of a pyarrow to come.
        raise _UnknownError from None


def _part(steps: Iterator[tuple[str, str]], values: pa.RecordBatch) -> _Part:
    """The part that the steps make: without recursion, as a chain of a thousand conditions is a thousand calls deep."""
    root = _Call("", [], {})
    open_calls: list[_Call] = [root]
    for kind, value in steps:
        call = open_calls[-1]
        if kind == "end":
            open_calls.pop()
        elif kind == "options":
            call.options.update(values.column(int(value))[0].items())
        elif kind == "call":
            inner = _Call(value, [], {})
            call.arguments.append(inner)
            open_calls.append(inner)
        elif kind == "field_ref":
            call.arguments.append(_Field(value))
        elif kind == "literal":
            call.arguments.append(values.column(int(value))[0])
        elif kind == "nested_field_ref":
            fields = [next(steps) for _ in range(int(value))]
            if any(step != "field_ref" for step, _ in fields):
                raise _UnknownError
            call.arguments.append(_Call(kind, [_Field(name) for _, name in fields], {}))
        else:
            raise _UnknownError
        if len(open_calls) == 1:
            (part,) = root.arguments
            return part
    raise _UnknownError


def _terms(part: _Part, name: str) -> list[_Part]:
    """What calls of this name within each other join, from left to right: the part itself where it is no such call."""
    terms: list[_Part] = []
    rest = [part]
    while rest:
        part = rest.pop()
        if isinstance(part, _Call) and part.name == name:
            rest += reversed(part.arguments)
        else:
            terms.append(part)
    return terms


class _Reader:
    """Translates the parts of expressions over some columns of a schema."""

    def __init__(self, schema: pa.Schema, columns: set[str]) -> None:
        self._schema = schema
        self._columns = columns

    def conjuncts(self, part: _Part) -> list[Predicate | None]:
        """The conjuncts, each translated, or None."""
        return [self._known(term) for term in _terms(part, "and_kleene")]

    def _known(self, part: _Part) -> Predicate | None:
        try:
            return self.predicate(part)
        except (_UnknownError, ArithmeticError, KeyError, ValueError):
            # Literals that Python or the library has no value for, and options of a pyarrow to come.
            return None

    def predicate(self, part: _Part, depth: int = 0) -> Predicate:
        """A boolean expression that has the same value in the library, NULL included."""
        if depth > _DEEPEST:
            raise _UnknownError
        if isinstance(part, _Field):
            return "==", (self._column(part, pa.types.is_boolean), True)
        if not isinstance(part, _Call):
            raise _UnknownError
        name, arguments = part.name, part.arguments
        if name in ("and_kleene", "or_kleene"):
            return name.removesuffix("_kleene"), [self.predicate(term, depth + 1) for term in _terms(part, name)]
        if name in _COMPARISONS and len(arguments) == 2:
            left, right = arguments
            operator, exchanged = _COMPARISONS[name]
            if not isinstance(left, _Field):
                left, right, operator = right, left, exchanged
            column = self._column(left)
            return _compare(operator, column, self._literal(right, column))
        if len(arguments) != 1:
            raise _UnknownError
        (argument,) = arguments
        if name == "invert":
            return "not", self.predicate(argument, depth + 1)
        if name == "is_null" and part.options_are(nan_is_null=False):
            return "is_null", self._column(argument)
        if name == "is_valid":
            return "not", ("is_null", self._column(argument))
        if name == "is_nan":
            column = self._column(argument, _is_float)
            return "or", [("<", (column, -math.inf)), (">", (column, math.inf))]
        if name in _TEXT_TESTS and part.options_are(ignore_case=False):
            test, read = _TEXT_TESTS[name]
            return test, (self._column(argument, is_text), read(part.options["pattern"].as_py()))
        # MATCH and SKIP, which do the same for a list without NULL.
        if name == "is_in" and any(part.options_are(null_matching_behavior=way) for way in (0, 1)):
            return self._is_in(self._column(argument), part.options["value_set"].values)
        raise _UnknownError

    def _is_in(self, column: str, values: pa.Array) -> Predicate:
        data_type = _compared(self._schema.field(column).type)
        if len(values) > LONG_LIST or values.null_count or _is_float(data_type):
            raise _UnknownError
        read = _reader(data_type, values.type)
        # At once: a scalar takes as long as the test of a hundred rows.
        literals = values.to_pylist() if read is _value else [read(value, data_type) for value in values]
        # `is_in` of NULL is false in pyarrow, and NULL in SQL and in the library.
        return "and", [("not", ("is_null", column)), ("in", (column, literals))]

    def _column(self, part: _Part, is_type: Callable[[pa.DataType], bool] | None = None) -> str:
        """A top-level column of a type, or of any that the library compares in the same way as pyarrow."""
        if not isinstance(part, _Field) or part.name not in self._columns:
            raise _UnknownError
        at = self._schema.get_field_index(part.name)
        if at < 0:
            raise _UnknownError
        data_type = self._schema.field(at).type
        # Of a dictionary's values pyarrow has comparisons alone.
        if not (is_type(data_type) if is_type else any(test(_compared(data_type)) for test in _LITERALS)):
            raise _UnknownError
        return part.name

    def _literal(self, part: _Part, column: str) -> Any:
        """A literal that pyarrow compares with the column by value; None for NULL."""
        if not isinstance(part, pa.Scalar):
            raise _UnknownError
        data_type = _compared(self._schema.field(column).type)
        read = _reader(data_type, part.type)
        return read(part, data_type) if part.is_valid else None


def _reader(data_type: pa.DataType, literal: pa.DataType) -> Callable[[Any, pa.DataType], Any]:
    """What makes a value of literals of a type, for columns of a type."""
    if pa.types.is_null(literal):
        return _value
    for is_type, (is_literal, read) in _LITERALS.items():
        if is_type(data_type) and is_literal(literal):
            return read
    raise _UnknownError


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


def is_text(data_type: pa.DataType) -> bool:
    """Whether the type is a string type, views aside."""
    return data_type in (pa.string(), pa.large_string())


def _ends_with(text: str) -> str:
    return "%" + re.sub(r"([\\%_])", r"\\\1", text)


def _like(pattern: str) -> str:
    # pyarrow and the library may treat a backslash differently.
    if "\\" in pattern:
        raise _UnknownError
    return pattern


# pyarrow's names: the predicate, and the conversion of the pattern.
_TEXT_TESTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "starts_with": ("starts_with", str),
    "match_substring": ("contains", str),
    "ends_with": ("like", _ends_with),
    "match_like": ("like", _like),
}


def _number(literal: pa.Scalar, data_type: pa.DataType) -> float:
    """A number that the floats of the column have: pyarrow compares others in a wider type, or not at all."""
    value = literal.as_py()
    number = float(value)
    if math.isfinite(number) and (number != value or pa.scalar(number, data_type).as_py() != number):
        raise ValueError
    return number


_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def _seconds(literal: pa.Scalar) -> tuple[int, int]:
    """The seconds of a time, and the nanoseconds beside them."""
    return divmod(int(literal.value) * _NANOSECONDS[literal.type.unit], 10**9)


def _date(literal: pa.Scalar, _: pa.DataType) -> str:
    return (dt.date(1970, 1, 1) + dt.timedelta(literal.value)).isoformat()


def _time(literal: pa.Scalar, _: pa.DataType) -> str:
    seconds, nanoseconds = _seconds(literal)
    if not 0 <= seconds < 24 * 3600:
        raise ValueError
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{nanoseconds:09}"


def _timestamp(literal: pa.Scalar, data_type: pa.DataType) -> str:
    if pa.types.is_date32(literal.type) and data_type.tz is None:
        return f"{_date(literal, data_type)}T00:00:00Z"
    # pyarrow does not compare times with a zone and without.
    if pa.types.is_date32(literal.type) or (literal.type.tz is None) != (data_type.tz is None):
        raise ValueError
    seconds, nanoseconds = _seconds(literal)
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)
    return f"{moment.isoformat()}.{nanoseconds:09}Z"


def _duration(literal: pa.Scalar, data_type: pa.DataType) -> int:
    """In the unit of the column, if it has the duration."""
    value, rest = divmod(int(literal.value) * _NANOSECONDS[literal.type.unit], _NANOSECONDS[data_type.unit])
    if rest:
        raise ValueError
    return value


def _value(literal: pa.Scalar, _: pa.DataType) -> Any:
    return literal.as_py()


def _compared(data_type: pa.DataType) -> pa.DataType:
    """The type of the values that pyarrow compares."""
    return data_type.value_type if pa.types.is_dictionary(data_type) else data_type


def _any(*tests: Callable[[pa.DataType], bool]) -> Callable[[pa.DataType], bool]:
    return lambda data_type: any(test(data_type) for test in tests)


_is_float = _any(pa.types.is_float32, pa.types.is_float64)
_is_binary = _any(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
#: The types of columns that the library compares in the same way as pyarrow: the types of literals, and the literal.
_LITERALS: dict[
    Callable[[pa.DataType], bool], tuple[Callable[[pa.DataType], bool], Callable[[Any, pa.DataType], Any]]
] = {
    pa.types.is_boolean: (pa.types.is_boolean, _value),
    pa.types.is_integer: (pa.types.is_integer, _value),
    _is_float: (_any(pa.types.is_integer, pa.types.is_floating), _number),
    pa.types.is_decimal: (pa.types.is_decimal, lambda literal, _: f"{literal.as_py():f}"),
    is_text: (_any(is_text, pa.types.is_string_view), _value),
    _is_binary: (_any(_is_binary, pa.types.is_binary_view), lambda literal, _: literal.as_py().decode()),
    pa.types.is_date: (pa.types.is_date32, _date),
    pa.types.is_time: (pa.types.is_time, _time),
    pa.types.is_timestamp: (_any(pa.types.is_timestamp, pa.types.is_date32), _timestamp),
    pa.types.is_duration: (pa.types.is_duration, _duration),
}
