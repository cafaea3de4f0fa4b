"""`write_table` and its options."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from staffa import _staffa
from staffa._arguments import path_text, whole_number
from staffa._input import as_reader
from staffa._sort_key import SortKey
from staffa.errors import InvalidArgumentError


class ArrowStream(Protocol):
    """Several batches: pyarrow's Table and RecordBatchReader, Polars, pandas, DuckDB's results."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow C stream."""


class ArrowArray(Protocol):
    """One batch: pyarrow's RecordBatch or StructArray."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """The Arrow C schema and array."""


@dataclass(frozen=True)
class WriteSummary:
    """The size of a written file."""

    rows: int
    row_groups: int
    arrow_bytes: int
    """The table's size in memory, as Arrow."""
    file_bytes: int


@dataclass(frozen=True)
class Encoding:
    """An encoding that can be requested for a column."""

    name: str
    about: str


Profile = Literal["fast", "balanced", "small"]


def write_table(
    data: ArrowStream | ArrowArray,
    path: str | os.PathLike[str],
    *,
    profile: Profile = "balanced",
    column_profiles: Mapping[str, Profile] | None = None,
    access: Literal["scan", "random"] = "scan",
    encodings: Mapping[str, str] | None = None,
    max_error: Mapping[str, float] | None = None,
    without: Iterable[str] = (),
    edition: Literal["core-1"] | None = None,
    metadata: Mapping[str, str | bytes] | None = None,
    sort_order: Iterable[str | SortKey] = (),
    chunk_statistics: bool = False,
    row_group_rows: int | None = None,
    threads: int | None = None,
    relate: bool = True,
    verify: bool = True,
) -> WriteSummary:
    """Writes a table to a file.

    The file appears whole or not at all: the data goes to a temporary file beside it, which replaces an existing file
    at the end, in one step. A stream is written row group by row group.

    Args:
        data: Any object with `__arrow_c_stream__` or `__arrow_c_array__`: a pyarrow Table, RecordBatch or
            RecordBatchReader, a Polars or pandas DataFrame, a DuckDB result, a `staffa.File`.
        path: The file to write.
        profile: The goal of the encodings: "fast" to write, "balanced", or "small".
        column_profiles: The profiles of single columns, by name.
        access: The expected access: "scan", or "random" for rows by number; then an encoding that must decode a whole
            block for one value is chosen only if it is half as large as any other.
        encodings: The encodings of single columns, by the path of the column (see `encodings()`).
        max_error: The maximum error of rounded floats, by column: for embeddings and measurements whose last bits do
            not matter. The metadata `staffa.max_error` of the field has the bound. NaN, infinities and -0.0 are not
            rounded, and all other columns are exact.
        without: Names of encodings that are never chosen, for example to keep reads cheap; `encodings` can still
            request them.
        edition: Only encodings of this edition, for readers that have no others: "core-1" leaves out compression
            codecs. By default all.
        metadata: Keys and values to store with the table, which `File.metadata` returns; strings are stored as UTF-8.
        sort_order: The columns by which the rows are sorted, as in `["day", "city desc nulls first"]`: the file says
            so, and a row that breaks the order is an error. Numbers, booleans, times, strings and binaries; -0.0 and
            0.0 are equal, NaN is above all numbers, strings are compared by their bytes.
        chunk_statistics: Store NULLs, bounds, the sum of integers and decimals, and decoded bytes of every column and
            row group, which `File.chunk_statistics` returns.
        row_group_rows: Maximum number of rows per row group; by default 1,048,576, fewer for wide rows.
        threads: Threads to encode with; by default all that the process may use.
        relate: Derive columns from reference columns if that is smaller; a read of a derived column also reads its
            reference columns. Not with "fast".
        verify: Decode each block and compare it with the data before it is written.

    Raises:
        InvalidArgumentError: The data is no table; a column, profile or encoding is unknown; an encoding cannot hold a
            value, or a value is out of the range of its type, which the message names; a row breaks the order in
            `sort_order`; a maximum error is not positive or for a column without floats.
        UnsupportedError: The format cannot hold the type of a column; nothing is written.
        OSError: An error of the system.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"day": [1, 2, 3], "rain": [0.0, 3.5, 1.2]})
    >>> summary = staffa.write_table(frame, "rain.staffa", profile="small")
    >>> summary.rows, summary.row_groups
    (3, 1)
    >>> staffa.write_table(frame, "rain.staffa", max_error={"rain": 0.1}).rows
    3
    >>> staffa.read_table("rain.staffa")["rain"].to_pylist()
    [0.0, 3.5, 1.25]
    """
    if not isinstance(profile, str):
        raise InvalidArgumentError(f"profile must be 'fast', 'balanced' or 'small', found {profile!r}")
    if not isinstance(access, str):
        raise InvalidArgumentError(f"access must be 'scan' or 'random', found {access!r}")
    if edition is not None and not isinstance(edition, str):
        raise InvalidArgumentError(f"edition must be 'core-1', found {edition!r}")
    counts = _staffa.write_table(
        as_reader(data),
        path_text(path),
        profile=profile,
        column_profiles=_names("column_profiles", column_profiles, "profiles"),
        access=access,
        encodings=_names("encodings", encodings, "encodings"),
        max_error=_bounds(max_error),
        without=_listed(without),
        edition=edition,
        metadata=_metadata(metadata),
        sort_order=_sort_keys(sort_order),
        chunk_statistics=bool(chunk_statistics),
        row_group_rows=whole_number("row_group_rows", row_group_rows, 1),
        threads=whole_number("threads", threads, 1),
        relate=bool(relate),
        verify=bool(verify),
    )
    return WriteSummary(*counts)


def encodings() -> list[Encoding]:
    """All encodings, each with a one-line description.

    >>> "dictionary" in [encoding.name for encoding in staffa.encodings()]
    True
    """
    return [Encoding(name, about) for name, about in _staffa.encodings()]


def _listed(without: Any) -> list[str]:
    names = None if isinstance(without, str) or not isinstance(without, Iterable) else list(without)
    if names is None or not all(isinstance(name, str) for name in names):
        raise InvalidArgumentError(f"without must list names of encodings, found {without!r}")
    return names


def _sort_keys(given: Any) -> list[str]:
    keys = None if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if keys is None or not all(isinstance(key, (str, SortKey)) for key in keys):
        raise InvalidArgumentError(f"sort_order must list columns, as in ['day', 'city desc'], found {given!r}")
    return [str(key) for key in keys]


def _names(argument: str, given: Any, what: str) -> list[tuple[str, str]]:
    for column, name in _pairs(argument, given, what):
        if not isinstance(column, str) or not isinstance(name, str):
            raise InvalidArgumentError(f"{argument} must map names to names, found {column!r}: {name!r}")
    return _pairs(argument, given, what)


def _metadata(metadata: Any) -> list[tuple[str, bytes]]:
    pairs = []
    for key, value in _pairs("metadata", metadata, "strings or bytes"):
        if not isinstance(key, str) or not isinstance(value, (str, bytes)):
            raise InvalidArgumentError(f"metadata must map names to strings or bytes, found {key!r}: {value!r}")
        pairs.append((key, value.encode() if isinstance(value, str) else value))
    return pairs


def _bounds(max_error: Any) -> list[tuple[str, float]]:
    bounds = []
    for column, bound in _pairs("max_error", max_error, "numbers"):
        if not isinstance(column, str) or isinstance(bound, (bool, str)):
            raise InvalidArgumentError(f"max_error must map names to numbers, found {column!r}: {bound!r}")
        try:
            bounds.append((column, float(bound)))
        except (TypeError, ValueError, OverflowError):
            raise InvalidArgumentError(f"max_error must map names to numbers, found {column!r}: {bound!r}") from None
    return bounds


def _pairs(argument: str, given: Any, what: str) -> list[tuple[Any, Any]]:
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise InvalidArgumentError(f"{argument} must map columns to {what}, found {type(given).__name__}")
    return list(given.items())
