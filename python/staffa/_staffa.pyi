"""The extension module. Use the package `staffa`, which returns pyarrow's types."""

import os
from typing import Any

import pyarrow as pa

__version__: str

class Batch:
    """A record batch."""

    @property
    def num_rows(self) -> int: ...
    def to_pyarrow(self) -> pa.RecordBatch:
        """As a `pyarrow.RecordBatch`, without copying."""

    def flattened(self) -> Batch:
        """All columns in types that all engines support: no views, no run-ends, dictionaries only at the top level."""

    def comparable(self, columns: list[int]) -> Batch:
        """The columns at these positions, flattened, without metadata and extension types: pyarrow can compare them."""

    def filter(self, mask: Any, columns: int) -> Batch:
        """The first `columns` columns of the rows where `mask`, a boolean Arrow array, is true."""

class Reader:
    """A stream of record batches that can be read once."""

    @property
    def closed(self) -> bool: ...
    def next(self) -> Batch | None:
        """The next batch, or None at the end."""

    def close(self) -> None: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class ScanMetrics:
    """Counters of the scans that have them."""

    def counts(self) -> tuple[int, int, float, float, int, int]:
        """Bytes and requests, seconds of reading and of decoding, blocks and those of the cache."""

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
        """The names of the columns."""

    def empty(self, text: str | None = None) -> Batch:
        """A batch without rows, of the columns whose names occur in `text`, or of all: filters are bound to it."""

    def described(self, text: str | None = None) -> str:
        """Names, types and metadata of these columns as text: equal for equal columns."""

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
        flattened: bool = False,
        split: tuple[int, int] | None = None,
        threads: int | None = None,
        reads: tuple[bool, bool | None, ScanMetrics | None] | None = None,
    ) -> Reader:
        """Reads batch by batch, without the first `offset` rows; `flattened` as in `Batch`, `split` as of `splits`,
        `reads` as in `_metrics.Reads`.
        """

    def splits(
        self, columns: list[str] | None = None, filter: tuple[str, Any] | None = None, rows: int | None = None
    ) -> list[tuple[int, int, int, int]]:
        """Shares of a scan that the filter does not exclude, at most `rows` rows of a row group each: row group, first
        row of the file, row behind the last, bytes once decoded.
        """

    def read(
        self,
        columns: list[str] | None = None,
        filter: tuple[str, Any] | None = None,
        limit: int | None = None,
        string_views: bool = False,
        dictionaries: list[str] | None = None,
        run_ends: list[str] | None = None,
        reads: tuple[bool, bool | None, ScanMetrics | None] | None = None,
    ) -> pa.Table:
        """Reads everything."""

    def take(self, indices: Any, columns: list[str] | None = None, string_views: bool = False) -> pa.Table:
        """The rows at these positions, an Arrow array of int64 or uint64 without NULLs or the bytes of int64.

        Or the true rows of a mask.
        """

    def take_range(
        self, start: int, end: int, columns: list[str] | None = None, string_views: bool = False
    ) -> pa.Table:
        """The rows from `start` up to `end`."""

    def take_flattened(self, indices: Any, columns: list[str]) -> Batch:
        """The rows of `take`, flattened."""

    def aggregate(self, wanted: list[tuple[str, str]], filter: tuple[str, Any] | None = None) -> Batch:
        """Aggregates, each a column and a name, of the rows that match the filter: one row."""

    @staticmethod
    def aggregate_batches(batches: Any, wanted: list[tuple[str, str]]) -> Batch:
        """Aggregates of an Arrow stream with columns of this file."""

    def explain(self) -> str:
        """The encoding trees, as JSON."""

    def why(self) -> str:
        """The estimates of the chooser, as JSON."""

    def inspect(self) -> str:
        """Offsets, sizes and statistics, as JSON."""

    @property
    def metadata(self) -> list[tuple[str, bytes]]:
        """The keys and values of the user."""

    @property
    def id(self) -> bytes | None:
        """A hash of the file, of 16 bytes."""

    def sort_order(self) -> str:
        """The columns by which the rows are sorted, as JSON."""

    @property
    def unknown_columns(self) -> list[str]:
        """The names of columns whose type this release does not know."""

    def chunk_statistics(self) -> str:
        """The statistics of every chunk, as JSON."""

    def statistics(self) -> str:
        """The statistics of every leaf column, as JSON."""

    def verify(self) -> str:
        """Checks and decodes everything; returns what was checked, as JSON."""

def open(path: str | os.PathLike[str], cache_bytes: int | None = None, cache_decoded: bool = False) -> File:
    """Opens a file: reads and checks its footer."""

class TableFile:
    """A file that was found."""

    @property
    def path(self) -> str: ...
    @property
    def folders(self) -> list[str]:
        """The names of all folders of the path."""

    @property
    def folders_below(self) -> list[str]:
        """The names of the folders below the one that was searched."""

    def remove(self) -> None:
        """Removes the file."""

    def open(self) -> File:
        """Opens the file: without a request where the index of its folder knows it."""

def find(path: str) -> list[TableFile]:
    """The Staffa files that a path, a folder, a pattern or a URL names, in order."""

def publish(hidden: str, table: str, files: list[str]) -> list[str]:
    """Moves files out of a hidden folder to the same places below a table's folder; returns their paths."""

def discard(hidden: str) -> None:
    """Removes a hidden folder and all that is in it."""

def hive_keys(files: list[list[str]], text: bool = False) -> Batch:
    """The keys in the names of folders, a row for each file: integers where all are, else text, or all text."""

def unify(schemas: list[pa.Schema]) -> Batch | tuple[str, int, int]:
    """The union of schemas as a batch without rows; or a column without a type in common, and where it is."""

def fold(filter: tuple[str, Any], constants: pa.RecordBatch) -> tuple[str, Any] | bool:
    """What is left of a predicate for a file with constant columns, a batch of one row."""

def open_bytes(data: bytes | bytearray, cache_bytes: int | None = None, cache_decoded: bool = False) -> File:
    """Opens a file that is in memory."""

def expression_steps(pickled: bytes) -> list[tuple[str, str]]:
    """The steps of a pickled expression, in order: (`call` | `field_ref` | `literal` | `options` | `end`, value)."""

def parse_filter(text: str) -> tuple[str, Any]:
    """Parses a filter to the nested tuples of `_pushdown`."""

class Writer:
    """A file in the making. Dropped before it is finished, it leaves nothing behind."""

    def __init__(self, path: str | os.PathLike[str], schema: Any, options: dict[str, Any]) -> None: ...
    def write(self, batches: pa.RecordBatchReader) -> None:
        """Adds the rows of a stream, which is read whole before."""

    def finish(self, metadata: list[tuple[str, bytes]]) -> tuple[int, int, int, int]:
        """Finishes the file; returns rows, row groups, bytes as Arrow and bytes of the file."""

    def abort(self) -> None:
        """Gives the file up; nothing stays of it."""

    @property
    def nbytes(self) -> int: ...

class TableWriter:
    """Files of a folder in the making. Dropped before they are finished, they leave nothing behind."""

    def __init__(
        self,
        folder: str,
        schema: Any,
        partition_by: list[str],
        rows_per_file: int | None,
        max_open_files: int,
        options: dict[str, Any],
        metadata: list[tuple[str, bytes]],
    ) -> None: ...
    def write(self, batches: pa.RecordBatchReader) -> None:
        """Adds the rows of a stream, which is read whole before."""

    def finish(self) -> tuple[list[str], int, int, list[str]]:
        """Makes the files visible; returns their paths, rows, bytes, and the names of their folders."""

    def abort(self) -> None:
        """Gives the files up; nothing stays of them."""

def encodings() -> list[tuple[str, str]]:
    """The names of all encodings, each with a one-line description."""

def set_retained_memory(bytes: int) -> int:
    """Sets the limit of retained memory in bytes; returns the previous limit."""

def retained_memory() -> int:
    """The bytes of retained memory now."""

def set_cache_bytes(bytes: int) -> int:
    """Sets the budget of the process's cache in bytes; returns the previous budget."""

def cache_info() -> tuple[int, int, int, int, int]:
    """Hits, misses, entries, bytes and budget of the process's cache."""

def set_disk_cache(folder: str | None, bytes: int | None) -> None:
    """Keeps what is read from object stores in a folder; without one nothing is kept."""

def disk_cache_info() -> list[int] | None:
    """Hits, misses, bytes of each, bytes of the folder and budget; None without a cache."""

def flush_disk_cache() -> None:
    """Waits until what was read is written."""

def cli(arguments: list[str]) -> int: ...
