"""The extension module: the library's doors. Use the package `staffa`, which gives pyarrow's types."""

import os
from typing import Any

import pyarrow as pa

__version__: str

class Batch:
    """A record batch."""

    @property
    def num_rows(self) -> int: ...
    def described(self) -> str:
        """Names, types and metadata of the columns, as text to tell them from others."""

    def to_pyarrow(self) -> pa.RecordBatch:
        """The same, without copying."""

    def unfolded(self) -> Batch:
        """All columns in types that every engine knows: no views, no run-ends, dictionaries at the top only."""

    def plain(self, columns: list[int]) -> Batch:
        """The columns at these positions, each in a type that pyarrow can compare: views and run-ends unfolded."""

    def filter(self, mask: Any, columns: int) -> Batch:
        """The first `columns` columns of the rows where `mask`, a boolean Arrow array, is true."""

class Reader:
    """A stream of record batches, to be read once."""

    @property
    def closed(self) -> bool: ...
    def next(self) -> Batch | None:
        """The next batch, or None at the end."""

    def close(self) -> None: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class File:
    """An open file."""

    @property
    def num_rows(self) -> int: ...
    @property
    def num_row_groups(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    @property
    def names(self) -> list[str]:
        """Of the columns."""

    def empty(self, text: str | None = None) -> Batch:
        """No rows of the columns whose names are in `text`, of all without one: what a filter is bound to."""

    def scan(
        self,
        columns: list[str] | None = None,
        filter: tuple[str, Any] | None = None,
        batch_rows: int | None = None,
        limit: int | None = None,
        string_views: bool = False,
        dictionaries: list[str] | None = None,
        run_ends: list[str] | None = None,
        offset: int = 0,
        unfolded: bool = False,
    ) -> Reader:
        """Reads as it goes, without the first `offset` rows; `unfolded` as of `Batch`."""

    def read(
        self,
        columns: list[str] | None = None,
        filter: tuple[str, Any] | None = None,
        limit: int | None = None,
        string_views: bool = False,
        dictionaries: list[str] | None = None,
        run_ends: list[str] | None = None,
    ) -> pa.Table:
        """Reads everything now."""

    def take(
        self,
        indices: Any,
        columns: list[str] | None = None,
        string_views: bool = False,
        unfolded: bool = False,
    ) -> Batch:
        """The rows at these positions, an Arrow array of int64 or uint64 without NULLs, or those that a mask marks."""

    def take_range(self, start: int, end: int, columns: list[str] | None = None, string_views: bool = False) -> Batch:
        """The rows from `start` up to `end`."""

    def aggregate(self, wanted: list[tuple[str, str]], filter: tuple[str, Any] | None = None) -> Batch:
        """Aggregates of columns by name, over the rows that the filter keeps: one row."""

    @staticmethod
    def aggregate_batches(batches: Any, wanted: list[tuple[str, str]]) -> Batch:
        """The same over an Arrow stream of columns of this file."""

    def explain(self) -> str:
        """The trees of encodings, as JSON."""

    def why(self) -> str:
        """Why the columns are encoded as they are, as JSON."""

    def inspect(self) -> str:
        """Places, sizes and statistics, as JSON."""

    def verify(self) -> str:
        """Checks and decodes everything; what was checked, as JSON."""

def open(path: str | os.PathLike[str], cache_bytes: int | None = None, cache_decoded: bool = False) -> File:
    """Opens a file: reads and checks its footer."""

def write_table(
    data: Any,
    path: str | os.PathLike[str],
    profile: str,
    column_profiles: list[tuple[str, str]],
    access: str,
    encodings: list[tuple[str, str]],
    max_error: list[tuple[str, float]],
    without: list[str],
    row_group_rows: int | None,
    threads: int | None,
    relate: bool,
    verify: bool,
) -> tuple[int, int, int, int]:
    """Writes `data`, an Arrow stream, to `path`; gives rows, row groups, bytes as Arrow and bytes in the file."""

def encodings() -> list[tuple[str, str]]:
    """The names of all encodings, each with one line about it."""

def set_retained_memory(bytes: int) -> int:
    """Sets how many bytes of freed output memory are kept; gives the limit before."""

def retained_memory() -> int:
    """The bytes of freed output memory that are kept now."""

def cli(arguments: list[str]) -> int: ...
