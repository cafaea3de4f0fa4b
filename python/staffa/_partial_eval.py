"""Partial evaluation of a predicate for a file with constant columns: partition columns and missing columns.

A row matches if the predicate is true, not if it is NULL. So NULL counts as false, after NOT is pushed down to the
comparisons.
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
    """Whether Python compares the constant with the literals of a predicate in the same way as Arrow."""
    kinds = (
        pa.types.is_boolean,
        pa.types.is_date32,
        pa.types.is_integer,
        pa.types.is_large_string,
        pa.types.is_string,
    )
    return not constant.is_valid or any(is_kind(constant.type) for is_kind in kinds)


def partial_eval(predicate: Predicate, constants: Mapping[str, pa.Scalar], negated: bool = False) -> Predicate | bool:
    """The predicate of the other columns that matches the same rows, or True or False if it does not depend on them.

    >>> constants = {"year": pa.scalar(2024), "gone": pa.scalar(None, pa.int64())}
    >>> partial_eval(("and", [(">", ("year", 2020)), ("==", ("x", 1))]), constants)
    ('==', ('x', 1))
    >>> partial_eval(("and", [("<", ("year", 2020)), ("==", ("x", 1))]), constants)
    False
    >>> partial_eval(("not", ("or", [("==", ("gone", 1)), ("==", ("x", 1))])), constants)
    False
    """
    kind, parts = predicate
    if kind == "not":
        return partial_eval(parts, constants, not negated)
    if kind in ("and", "or"):
        return _join(
            kind if not negated else "or" if kind == "and" else "and",
            [partial_eval(part, constants, negated) for part in parts],
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
    """Joins the parts of an AND or OR: False decides an AND, True an OR."""
    deciding = kind == "or"
    rest = [part for part in parts if not isinstance(part, bool)]
    if any(part is deciding for part in parts):
        return deciding
    if not rest:
        return not deciding
    return rest[0] if len(rest) == 1 else (kind, rest)
