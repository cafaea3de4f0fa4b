"""`write_table`: a table to a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import pyarrow as pa

from staffa import _staffa
from staffa._input import as_batches
from staffa._options import Profile, of_former_name
from staffa._sort_key import SortKey
from staffa._writer import Writer, WriteSummary


class ArrowStream(Protocol):
    """Several batches: pyarrow's Table and RecordBatchReader, Polars, pandas, DuckDB's results."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow C stream."""


class ArrowArray(Protocol):
    """One batch: pyarrow's RecordBatch or StructArray."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """The Arrow C schema and array."""


@dataclass(frozen=True)
class Encoding:
    """An encoding that can be requested for a column."""

    name: str
    about: str


def write_table(
    data: ArrowStream | ArrowArray | Iterable[Any],
    path: str | os.PathLike[str],
    *,
    schema: pa.Schema | None = None,
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
    derived_columns: bool = True,
    verify: bool = True,
    overwrite: bool = True,
    relate: bool | None = None,
) -> WriteSummary:
    """Writes a table to a file.

    The file appears whole or not at all: the data goes to a temporary file beside it, which replaces an existing file
    at the end, in one step. A stream is written row group by row group.

    Args:
        data: Any object with `__arrow_c_stream__` or `__arrow_c_array__`: a pyarrow Table, RecordBatch or
            RecordBatchReader, a Polars or pandas DataFrame, a DuckDB result, a `staffa.File`, a dataset or a scanner; a
            Polars LazyFrame; a dictionary of columns; or a list or an iterator of such tables, of which the first has
            the schema.
        path: The file to write.
        schema: The names and types of the columns, for an iterator that may be empty.
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
        derived_columns: Derive columns from reference columns if that is smaller; a read of a derived column also reads
            its reference columns. Not with "fast".
        verify: Decode each block and compare it with the data before it is written.
        overwrite: Replace an existing file; otherwise it is a `FileExistsError`.
        relate: The former name of `derived_columns`.

    An exception of an iterator in Python passes as it is. After an exception, Ctrl-C among them, nothing is left of the
    file, and one that was there before stays.

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
    >>> days = (pa.record_batch({"day": [day]}) for day in range(3))
    >>> staffa.write_table(days, "days.staffa").rows
    3
    """
    batches = as_batches(data, schema)
    with Writer(
        path,
        batches.schema,
        profile=profile,
        column_profiles=column_profiles,
        access=access,
        encodings=encodings,
        max_error=max_error,
        without=without,
        edition=edition,
        metadata=metadata,
        sort_order=sort_order,
        chunk_statistics=chunk_statistics,
        row_group_rows=row_group_rows,
        threads=threads,
        derived_columns=derived_columns if relate is None else of_former_name(relate),
        verify=verify,
        overwrite=overwrite,
    ) as writer:
        writer._write(batches)
    return writer.summary


def encodings() -> list[Encoding]:
    """All encodings, each with a one-line description.

    >>> "dictionary" in [encoding.name for encoding in staffa.encodings()]
    True
    """
    return [Encoding(name, about) for name, about in _staffa.encodings()]
