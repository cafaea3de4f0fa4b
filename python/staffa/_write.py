"""Writing, and what can be chosen for it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from staffa import _staffa
from staffa._arguments import path_text, whole_number
from staffa._input import as_reader
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
    """What was written."""

    rows: int
    row_groups: int
    arrow_bytes: int
    """The table's size in memory, as Arrow."""
    file_bytes: int


@dataclass(frozen=True)
class Encoding:
    """An encoding that a column can be told to use."""

    name: str
    about: str


def write_table(
    data: ArrowStream | ArrowArray,
    path: str | os.PathLike[str],
    *,
    profile: Literal["fast", "balanced", "small"] = "balanced",
    encodings: Mapping[str, str] | None = None,
    without: Iterable[str] = (),
    row_group_rows: int | None = None,
    threads: int | None = None,
    relate: bool = True,
    verify: bool = True,
) -> WriteSummary:
    """Writes a table to a file.

    The file appears whole or not at all: a file that is there is replaced at the end, in one step. Until then the
    data goes to a temporary file beside it. A stream is written as it is read, a row group at a time.

    Args:
        data: Anything that speaks `__arrow_c_stream__` or `__arrow_c_array__`: a pyarrow Table, RecordBatch or
            RecordBatchReader, a Polars or pandas DataFrame, a DuckDB result, a `staffa.File`.
        path: Where to.
        profile: "fast" to write, "balanced", or "small".
        encodings: Column path to the name of an encoding (see `encodings()`), for columns that shall not choose for
            themselves.
        without: Names of encodings that are never chosen, to keep reading cheap, say; by name a column can still have
            them.
        row_group_rows: Rows of a row group; by default 1,048,576, fewer where rows are wide.
        threads: Threads to encode with; by default all that the process may use.
        relate: Encode columns in terms of others where that is smaller: such a column costs reading the other as well.
            Not with "fast".
        verify: Decode each block again and compare it with the data before it is written.

    Raises:
        InvalidArgumentError: No table, an unknown column, profile or encoding, an encoding that does not suit.
        UnsupportedError: A column of a type that the format cannot hold; nothing is written.
        OSError: What the system refused.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"day": [1, 2, 3], "rain": [0.0, 3.5, 1.2]})
    >>> summary = staffa.write_table(frame, "rain.staffa", profile="small")
    >>> summary.rows, summary.row_groups
    (3, 1)
    """
    if not isinstance(profile, str):
        raise InvalidArgumentError(f"profile must be 'fast', 'balanced' or 'small', found {profile!r}")
    counts = _staffa.write_table(
        as_reader(data),
        path_text(path),
        profile=profile,
        encodings=_pairs(encodings),
        without=_names(without),
        row_group_rows=whole_number("row_group_rows", row_group_rows, 1),
        threads=whole_number("threads", threads, 1),
        relate=bool(relate),
        verify=bool(verify),
    )
    return WriteSummary(*counts)


def encodings() -> list[Encoding]:
    """All encodings, each with one line about it.

    >>> "dictionary" in [encoding.name for encoding in staffa.encodings()]
    True
    """
    return [Encoding(name, about) for name, about in _staffa.encodings()]


def _names(without: Any) -> list[str]:
    names = None if isinstance(without, str) or not isinstance(without, Iterable) else list(without)
    if names is None or not all(isinstance(name, str) for name in names):
        raise InvalidArgumentError(f"without must list names of encodings, found {without!r}")
    return names


def _pairs(encodings: Any) -> list[tuple[str, str]]:
    if encodings is None:
        return []
    if not isinstance(encodings, Mapping):
        raise InvalidArgumentError(f"encodings must map columns to encodings, found {type(encodings).__name__}")
    for column, encoding in encodings.items():
        if not isinstance(column, str) or not isinstance(encoding, str):
            raise InvalidArgumentError(f"encodings must map names to names, found {column!r}: {encoding!r}")
    return list(encodings.items())
