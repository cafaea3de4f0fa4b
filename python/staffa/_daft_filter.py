"""Filters of Daft as expressions of pyarrow.

A filter is a tree of tuples: the name of Daft's function, and its arguments. `("column", name)` and
`("literal", value)` are its leaves.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from staffa._evaluate import exact_literal, exact_literals


def pushed(tree: Any, schema: pa.Schema) -> pc.Expression | None:
    """What pyarrow can evaluate of a filter: true for all rows for which the filter is.

    For Daft NaN is above all else and -0.0 below 0.0; pyarrow has neither. Such values always match.

    >>> schema = pa.schema({"n": pa.int32(), "x": pa.float64()})
    >>> pushed(("and", ("less_than", ("column", "n"), ("literal", 3)), ("hash", ("column", "n"))), schema)
    <pyarrow.compute.Expression (n < 3)>
    >>> pushed(("less_than", ("literal", 3), ("column", "x")), schema)
    <pyarrow.compute.Expression (((x > 3) or is_nan(x)) or (x == 0))>
    """
    out = None
    for conjunct in _conjuncts(tree):
        used: set[str] = set()
        try:
            expression = _expression(conjunct, schema, used)
        except (_UnknownError, pa.ArrowException, TypeError, ValueError, OverflowError):
            continue
        for name in used:
            if pa.types.is_floating(schema.field(name).type):
                expression = expression | pc.is_nan(pc.field(name)) | (pc.field(name) == 0.0)
        out = expression if out is None else out & expression
    return out


class _UnknownError(Exception):
    """A part that cannot be translated."""


def _conjuncts(tree: Any) -> Iterator[Any]:
    if tree[0] == "and":
        for part in tree[1:]:
            yield from _conjuncts(part)
    else:
        yield tree


def _expression(tree: Any, schema: pa.Schema, used: set[str]) -> pc.Expression:
    kind, *arguments = tree
    if kind in ("and", "or"):
        left, right = (_expression(each, schema, used) for each in arguments)
        return left & right if kind == "and" else left | right
    if kind == "not":
        return ~_expression(arguments[0], schema, used)
    if kind in _SWAPPED and arguments[0][0] == "literal":
        kind, arguments = _SWAPPED[kind], arguments[::-1]
    if kind not in _TESTS or arguments[0][0] != "column":
        raise _UnknownError
    name = arguments[0][1]
    data_type = schema.field(name).type
    used.add(name)
    return _TESTS[kind](pc.field(name), *[_literal(each, data_type) for each in arguments[1:]])


def _literal(tree: Any, data_type: pa.DataType) -> Any:
    if isinstance(tree, list):
        return exact_literals(tree, data_type)
    if tree[0] != "literal" or tree[1] is None:
        raise _UnknownError
    return exact_literal(tree[1], data_type)


_SWAPPED = {"equal": "equal", "not_equal": "not_equal", "less_than": "greater_than", "greater_than": "less_than"}
_SWAPPED |= {"less_than_or_equal": "greater_than_or_equal", "greater_than_or_equal": "less_than_or_equal"}
_TESTS: dict[str, Callable[..., pc.Expression]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less_than": operator.lt,
    "less_than_or_equal": operator.le,
    "greater_than": operator.gt,
    "greater_than_or_equal": operator.ge,
    "between": lambda column, low, high: (column >= low) & (column <= high),
    "is_in": lambda column, values: column.isin(values),
    "is_null": lambda column: column.is_null(),
    "not_null": lambda column: column.is_valid(),
    "starts_with": lambda column, text: pc.starts_with(column, text.as_py()),
    "ends_with": lambda column, text: pc.ends_with(column, text.as_py()),
    "contains": lambda column, text: pc.match_substring(column, text.as_py()),
}
