"""What is left of a predicate for a file in which some columns are constant: all one value, or not there at all.

A row is kept where a predicate is true, not where it is NULL: once NOT has been brought down to the comparisons, NULL
can be taken for false.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from staffa._pushdown import Predicate


def _like(text: str, pattern: str) -> bool:
    import pyarrow.compute as pc

    return bool(pc.match_like(text, pattern).as_py())


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "starts_with": str.startswith,
    "contains": operator.contains,
    "like": _like,
}


def comparable(constant: pa.Scalar) -> bool:
    """Whether Python compares such a constant with the literals of a predicate as Arrow does."""
    kinds = (
        pa.types.is_boolean,
        pa.types.is_date32,
        pa.types.is_integer,
        pa.types.is_large_string,
        pa.types.is_string,
    )
    return not constant.is_valid or any(is_kind(constant.type) for is_kind in kinds)


def fold(predicate: Predicate, constants: Mapping[str, pa.Scalar], negated: bool = False) -> Predicate | bool:
    """A predicate of the other columns that is true for the same rows, or True or False for all of them.

    >>> constants = {"year": pa.scalar(2024), "gone": pa.scalar(None, pa.int64())}
    >>> fold(("and", [(">", ("year", 2020)), ("==", ("x", 1))]), constants)
    ('==', ('x', 1))
    >>> fold(("and", [("<", ("year", 2020)), ("==", ("x", 1))]), constants)
    False
    >>> fold(("not", ("or", [("==", ("gone", 1)), ("==", ("x", 1))])), constants)
    False
    """
    kind, parts = predicate
    if kind == "not":
        return fold(parts, constants, not negated)
    if kind in ("and", "or"):
        return _join(
            kind if not negated else "or" if kind == "and" else "and",
            [fold(part, constants, negated) for part in parts],
        )
    column = parts if kind == "is_null" else parts[0]
    if column not in constants:
        return ("not", predicate) if negated else predicate
    value = constants[column].as_py()
    if kind == "is_null":
        return (value is None) != negated
    if value is None:
        return False
    if isinstance(value, dt.date):
        value = value.isoformat()
    literal = parts[1]
    found = value in literal if kind == "in" else _COMPARISONS[kind](value, literal)
    return found != negated


def _join(kind: str, parts: list[Predicate | bool]) -> Predicate | bool:
    """False decides an AND, and True says nothing there; for an OR it is the other way round."""
    decides = kind == "or"
    left = [part for part in parts if not isinstance(part, bool)]
    if any(part is decides for part in parts):
        return decides
    if not left:
        return not decides
    return left[0] if len(left) == 1 else (kind, left)
