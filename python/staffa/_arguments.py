"""Checks of arguments; the messages name the argument, what was expected and what was found."""

from __future__ import annotations

import contextlib
import operator
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from staffa.errors import InvalidArgumentError


def path_text(path: str | os.PathLike[str]) -> str:
    """The path as text."""
    if type(path) is str:
        return path
    try:
        text = os.fspath(path)
    except TypeError:
        own = getattr(path, "path", None)
        hint = f": its .path is {own!r}" if isinstance(own, str) else ""
        raise InvalidArgumentError(f"path must be a path, found {kind(path)}{hint}") from None
    return os.fsdecode(text)


def whole_number(name: str, value: Any, least: int) -> int | None:
    """A number of rows or threads, or None."""
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidArgumentError(f"{name} must be a whole number, found {value!r}") from None
    if isinstance(value, bool) or not least <= number < 2**63:
        raise InvalidArgumentError(f"{name} must be a whole number of at least {least}, found {value!r}")
    return number


def column_names(columns: Any, argument: str = "columns") -> list[str] | None:
    """The names of columns, or None for all columns."""
    if columns is None:
        return None
    if isinstance(columns, str):
        raise InvalidArgumentError(f"{argument} must be a list of names: [{columns!r}], not {columns!r}")
    try:
        names = list(columns)
    except TypeError:
        raise InvalidArgumentError(f"{argument} must be a list of names, found {kind(columns)}") from None
    for name in names:
        if not isinstance(name, str):
            raise InvalidArgumentError(f"{argument} must be a list of names, found {name!r} in it")
    return names


def check_known(names: Iterable[str], known: list[str], what: str = "") -> None:
    """Refuses the name of a column that is not among those known; the message begins with `what`."""
    there = set(known)
    for name in names:
        if name not in there:
            raise InvalidArgumentError(
                f"{what}unknown column {name!r}; there are {', '.join(map(repr, known[:20])) or 'none'}"
            )


def one_filter(filter: Any, filters: Any) -> Any:
    """The filter, by either of its two names; `filters` is that of pyarrow and pandas."""
    if filter is not None and filters is not None:
        raise InvalidArgumentError("filter and filters are two names of one argument, found both")
    return filter if filters is None else filters


def aggregate_names(aggregates: Any) -> list[tuple[str, str]]:
    """Pairs of columns and aggregates."""
    if not isinstance(aggregates, Mapping):
        raise InvalidArgumentError(
            f'aggregates must map columns to aggregates, as in {{"price": ["min", "max"]}}, found {kind(aggregates)}'
        )
    pairs = []
    for name, wanted in aggregates.items():
        several = [wanted] if isinstance(wanted, str) or not isinstance(wanted, Iterable) else list(wanted)
        for which in several:
            if not isinstance(name, str) or not isinstance(which, str):
                raise InvalidArgumentError(
                    f"aggregates must be names of columns and aggregates, found {name!r}: {which!r}"
                )
            pairs.append((name, which))
    return pairs


def check_options(function: str, options: Iterable[str], known: Iterable[str]) -> None:
    """Refuses options that a function does not know, as Python does."""
    unknown = set(options).difference(known)
    if unknown:
        raise TypeError(f"{function}() got an unexpected keyword argument {min(unknown)!r}")


def check_index(index: int, rows: int, what_has: str = "the file has") -> None:
    """Refuses a row number that is out of range."""
    if not 0 <= index < rows:
        raise InvalidArgumentError(f"index {index} is out of range: {what_has} {rows} rows")


def row_range(indices: Any, rows: int, what_has: str = "the file has") -> range | None:
    """The row numbers of a range or a slice, or None for other indices."""
    if isinstance(indices, slice):
        try:
            return range(*indices.indices(rows))
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(f"indices must be whole numbers: {error}") from error
    if not isinstance(indices, range):
        return None
    for index in (indices[0], indices[-1]) if indices else ():
        check_index(index, rows, what_has)
    return indices if indices else range(0)


def row_numbers(indices: Any) -> bytes | pa.Array:
    """Row numbers, or a mask, for the extension: a few as words of 64 bits, which cost less than an Arrow array."""
    if type(indices) is list and len(indices) <= _FEW_INTS and all(type(index) is int for index in indices):
        with contextlib.suppress(struct.error):
            return struct.pack(f"{len(indices)}q", *indices)
    of_numpy = type(indices).__module__ == "numpy" and getattr(indices, "ndim", None) == 1
    # NumPy has iterators with dimensions, but without a type.
    if of_numpy and getattr(indices, "dtype", None) == "int64" and len(indices) <= _FEW_WORDS:
        return bytes(indices.tobytes())
    return row_indices(indices)


# Beyond, looking at each int costs more than an Arrow array, and a copy as much as it saves.
_FEW_INTS, _FEW_WORDS = 16, 1 << 16


def row_indices(indices: Any) -> pa.Array:
    """Row numbers as an Arrow array of int64 or uint64, or a mask. The caller checks the range."""
    array = indices if isinstance(indices, pa.Array) else _as_array(indices)
    if array.type in _ROW_NUMBERS and not array.null_count:
        return array
    if pa.types.is_boolean(array.type):
        return array
    # An empty list has no type in Arrow, and is one of floats in NumPy.
    if len(array) == 0 and (pa.types.is_null(array.type) or pa.types.is_floating(array.type)):
        return pa.array([], pa.int64())
    if not pa.types.is_integer(array.type):
        raise InvalidArgumentError(f"indices must be whole numbers, found {array.type}")
    if array.null_count:
        raise InvalidArgumentError(f"indices must not be NULL, found {array.null_count} NULLs")
    return array.cast(pa.int64())


_ROW_NUMBERS = (pa.int64(), pa.uint64())


def _as_array(indices: Any) -> pa.Array:
    if not hasattr(indices, "__iter__") and not hasattr(indices, "__arrow_c_array__"):
        raise InvalidArgumentError(
            f"indices must be a list or an array of row numbers, as in [0, 5], a range or a slice, found {indices!r}"
        )
    dimensions = getattr(indices, "ndim", 1)
    if dimensions != 1:
        raise InvalidArgumentError(f"indices must have one dimension, found {dimensions}")
    try:
        if type(indices).__module__ == "numpy":
            return pa.array(indices)
        if not isinstance(indices, (pa.Array, Sequence)) and hasattr(indices, "__arrow_c_stream__"):
            indices = pa.chunked_array(indices)
        if isinstance(indices, pa.ChunkedArray):
            return pa.concat_arrays(indices.chunks) if indices.num_chunks else pa.array([], indices.type)
        return pa.array(indices)
    except OverflowError:
        beyond = (index for index in indices if isinstance(index, int) and not -(2**63) <= index < 2**63)
        large = next(beyond, "of more than 64 bits")
        raise InvalidArgumentError(f"index {large} is out of range: row numbers are less than 2**63") from None
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidArgumentError(f"indices cannot be read as an Arrow array: {error}") from error


def kind(value: Any) -> str:
    """The type of a value, and the library that it is from.

    >>> kind(1), kind(pa.table({}))
    ('int', 'pyarrow Table')
    """
    library, name = type(value).__module__.partition(".")[0], type(value).__name__
    return name if library == "builtins" else f"{library} {name}"
