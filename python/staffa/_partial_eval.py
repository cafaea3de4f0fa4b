"""Partial evaluation of a predicate for a file with constant columns: partition columns and missing columns."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from staffa import _staffa
from staffa._pushdown import Predicate


def comparable(constant: pa.Scalar) -> bool:
    """Whether the library compares the constant with the literals of a predicate in the same way as pyarrow."""
    kinds = (
        pa.types.is_boolean,
        pa.types.is_date32,
        pa.types.is_integer,
        pa.types.is_large_string,
        pa.types.is_string,
    )
    return not constant.is_valid or any(is_kind(constant.type) for is_kind in kinds)


def partial_eval(predicate: Predicate, constants: Mapping[str, pa.Scalar]) -> Predicate | bool:
    """The predicate of the other columns that matches the same rows, or True or False if it does not depend on them.

    >>> constants = {"year": pa.scalar(2024), "gone": pa.scalar(None, pa.int64())}
    >>> partial_eval(("and", [(">", ("year", 2020)), ("==", ("x", 1))]), constants)
    ('==', ('x', 1))
    >>> partial_eval(("and", [("<", ("year", 2020)), ("==", ("x", 1))]), constants)
    False
    >>> partial_eval(("not", ("or", [("==", ("gone", 1)), ("==", ("x", 1))])), constants)
    False
    """
    if not constants:
        return predicate
    columns = [pa.nulls(1, value.type) if not value.is_valid else pa.repeat(value, 1) for value in constants.values()]
    return _staffa.fold(predicate, pa.record_batch(columns, list(constants)))
