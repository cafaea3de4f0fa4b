"""`File`: an open file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from staffa import _staffa
from staffa._arguments import aggregate_names, column_names, one_filter, row_numbers, row_range, whole_number
from staffa._extras import require
from staffa._filter import Filter, bind
from staffa._metrics import Cached, Reads, ScanMetrics
from staffa._reader import Reader
from staffa._reports import Reports
from staffa._source import absolute, contents, local_path
from staffa._text import size_text
from staffa.errors import InvalidArgumentError, StaffaError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from staffa._filters import Filters


class File(Reports):
    """An open file. Several threads may use it, and it exports itself as an Arrow stream.

    >>> staffa.write_table(pa.table({"x": [1, 2, 3]}), "x.staffa").rows
    3
    >>> file = staffa.open("x.staffa")
    >>> import duckdb, polars
    >>> polars.DataFrame(file)["x"].sum()
    6
    >>> duckdb.sql("SELECT sum(x) FROM file").fetchall()
    [(6,)]
    """

    def __init__(self, source: Any, *, cache_bytes: int | None = None, cache_decoded: bool = False) -> None:
        self._cache_bytes = whole_number("cache_bytes", cache_bytes, 0)
        self._cache_decoded = bool(cache_decoded)
        data = contents(source)
        self._path = local_path(source) if data is None else "<memory>"
        #: What opens the file again, in another folder as well.
        self._source: str | bytes | bytearray = absolute(self._path) if data is None else data
        cache = self._cache_bytes, self._cache_decoded
        opened = _staffa.open(self._path, *cache) if data is None else _staffa.open_bytes(data, *cache)
        self._opened: _staffa.File | None = opened

    @property
    def _file(self) -> _staffa.File:
        if self._opened is None:
            raise InvalidArgumentError(f"{self._path}: this file is closed")
        return self._opened

    def close(self) -> None:
        """Closes the file and clears its cache. A closed file raises `InvalidArgumentError`; readers that were started
        before continue. A file also closes when it is garbage-collected, or at the end of a `with` block.

        >>> staffa.write_table(pa.table({"x": [1, 2, 3]}), "x.staffa").rows
        3
        >>> with staffa.open("x.staffa") as file:
        ...     len(file)
        3
        >>> file.closed
        True
        """
        self._opened = None
        self.__dict__.pop("schema", None)
        self.__dict__.pop("metadata", None)

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return self._opened is None

    def __enter__(self) -> File:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def path(self) -> str:
        """The path of the file; "<memory>" for one in memory."""
        return self._path

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema that the writer got."""
        return pa.schema(self._file)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return self._file.names

    @property
    def num_rows(self) -> int:
        """The number of rows, the same as `len(file)`."""
        return self._file.num_rows

    @property
    def num_row_groups(self) -> int:
        """The number of row groups."""
        return self._file.num_row_groups

    @property
    def nbytes(self) -> int:
        """The size of the file in bytes."""
        return self._file.nbytes

    @cached_property
    def metadata(self) -> dict[str, bytes]:
        """The keys and values that the writer stored with the table. The metadata of the schema is in `schema`.

        >>> staffa.write_table(pa.table({"x": [1]}), "x.staffa", metadata={"source": "survey 7"}).rows
        1
        >>> staffa.open("x.staffa").metadata
        {'source': b'survey 7'}
        """
        return dict(self._file.metadata)

    @property
    def id(self) -> bytes | None:
        """A hash of the file, of 16 bytes: files of other bytes have another one."""
        return self._file.id

    def to_table(
        self,
        columns: Sequence[str] | None = None,
        filter: Filters | None = None,
        limit: int | None = None,
        string_views: bool = False,
        dictionaries: Sequence[str] = (),
        run_ends: Sequence[str] = (),
        *,
        filters: Filters | None = None,
        cached: Cached = False,
        metrics: ScanMetrics | None = None,
    ) -> pa.Table:
        """Reads a table.

        Args:
            columns: Names of the columns to read, in this order; by default all.
            filter: The condition that selects rows: an expression of pyarrow, a text such as `"price < 10 and name is
                not null"`, or a list such as `[("price", "<", 10)]`. It may name columns that are not read.
            limit: The maximum number of rows. No more rows than needed are read.
            string_views: Return strings and binaries as views, which are not copied out of dictionaries.
            dictionaries: Return these columns of strings or binaries as dictionaries, without decoding if they are
                stored so. Each chunk has its own dictionary; `unify_dictionaries` merges them.
            run_ends: Return these columns, of any type that is not nested, as run-end encoded arrays, without decoding
                if they are stored so.
            filters: Another name of `filter`, that of pyarrow and pandas.
            cached: Whether blocks are taken from the cache (`set_cache_bytes`), and kept there for the next scan of the
                file while it is open: "encoded", "decoded", or True for what `cache_decoded` says.
            metrics: Counters of bytes, time and blocks of the cache.

        Raises:
            InvalidArgumentError: A column is unknown, or the filter does not fit the types.
            CorruptError: A block is damaged. Returned tables are always correct.

        >>> trees = pa.table({"name": ["oak", "ash", "elm"], "height": [21, 15, 30]})
        >>> staffa.write_table(trees, "trees.staffa").rows
        3
        >>> file = staffa.open("trees.staffa")
        >>> file.to_table(columns=["name"], filter=pc.field("height") > 20).to_pydict()
        {'name': ['oak', 'elm']}
        >>> file.to_table(dictionaries=["name"])["name"].type
        DictionaryType(dictionary<values=string, indices=int32, ordered=0>)
        >>> file.to_table(run_ends=["height"])["height"].type
        RunEndEncodedType(run_end_encoded<run_ends: int32, values: int64>)
        >>> file.to_table(limit=1).to_pylist()
        [{'name': 'oak', 'height': 21}]
        """
        names = column_names(columns)
        limit = whole_number("limit", limit, 0)
        string_views = bool(string_views)
        dictionary_names = column_names(dictionaries, "dictionaries") or []
        run_end_names = column_names(run_ends, "run_ends") or []
        filter, reads = one_filter(filter, filters), Reads.of(cached, metrics)
        pushed, rest = (None, None) if filter is None else bind(filter, self._file, names)
        if rest:
            return self._filtered(rest, None, limit, string_views, dictionary_names, run_end_names, reads).read_all()
        return self._file.read(names, pushed, limit, string_views, dictionary_names, run_end_names, reads)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: Filters | None = None,
        batch_rows: int | None = None,
        limit: int | None = None,
        string_views: bool = False,
        dictionaries: Sequence[str] = (),
        run_ends: Sequence[str] = (),
        *,
        filters: Filters | None = None,
        cached: Cached = False,
        metrics: ScanMetrics | None = None,
    ) -> Reader:
        """Reads batch by batch, in memory that is independent of the size of the file.

        Args:
            columns: As in `to_table`.
            filter: As in `to_table`.
            batch_rows: The maximum number of rows in a batch.
            limit: As in `to_table`.
            string_views: As in `to_table`.
            dictionaries: As in `to_table`.
            run_ends: As in `to_table`.
            filters: As in `to_table`.
            cached: As in `to_table`.
            metrics: As in `to_table`; complete once the last batch was read.

        >>> staffa.write_table(pa.table({"x": range(100_000)}), "x.staffa").rows
        100000
        >>> with staffa.open("x.staffa").scan(batch_rows=30_000) as reader:
        ...     sum(pc.sum(batch["x"]).as_py() for batch in reader)
        4999950000
        """
        names = column_names(columns)
        batch_rows = whole_number("batch_rows", batch_rows, 1)
        limit = whole_number("limit", limit, 0)
        string_views = bool(string_views)
        dictionary_names = column_names(dictionaries, "dictionaries") or []
        run_end_names = column_names(run_ends, "run_ends") or []
        filter, reads = one_filter(filter, filters), Reads.of(cached, metrics)
        pushed, rest = (None, None) if filter is None else bind(filter, self._file, names)
        if rest:
            return self._filtered(rest, batch_rows, limit, string_views, dictionary_names, run_end_names, reads)
        options = (names, pushed, batch_rows, limit, string_views, dictionary_names, run_end_names)
        return Reader(self._file.scan(*options, reads=reads))

    def iter_batches(
        self,
        batch_rows: int | None = None,
        columns: Sequence[str] | None = None,
        filter: Filters | None = None,
        *,
        filters: Filters | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows batch by batch; arguments as in `scan`, which has more of them.

        >>> staffa.write_table(pa.table({"x": range(5)}), "x.staffa").rows
        5
        >>> [batch.num_rows for batch in staffa.open("x.staffa").iter_batches(batch_rows=2)]
        [2, 2, 1]
        """
        return iter(self.scan(columns, filter, batch_rows, filters=filters))

    def to_batches(
        self,
        columns: Sequence[str] | None = None,
        filter: Filters | None = None,
        *,
        filters: Filters | None = None,
    ) -> list[pa.RecordBatch]:
        """All rows as a list of batches; arguments as in `to_table`."""
        return list(self.scan(columns, filter, filters=filters))

    def head(
        self,
        num_rows: int = 5,
        columns: Sequence[str] | None = None,
        filter: Filters | None = None,
        *,
        filters: Filters | None = None,
    ) -> pa.Table:
        """The first rows; no more than needed is read. Other arguments as in `to_table`.

        >>> staffa.write_table(pa.table({"x": range(1000)}), "x.staffa").rows
        1000
        >>> staffa.open("x.staffa").head(2, filter="x > 500").to_pydict()
        {'x': [501, 502]}
        """
        return self.to_table(columns, filter, whole_number("num_rows", num_rows, 0), filters=filters)

    def count_rows(self, filter: Filters | None = None, *, filters: Filters | None = None) -> int:
        """The number of rows that match the filter; without a filter nothing is read.

        >>> staffa.write_table(pa.table({"x": range(1000)}), "x.staffa").rows
        1000
        >>> staffa.open("x.staffa").count_rows("x >= 990")
        10
        """
        filter = one_filter(filter, filters)
        if filter is None:
            return self.num_rows
        return sum(batch.num_rows for batch in self.scan([], filter))

    def to_pandas(
        self,
        columns: Sequence[str] | None = None,
        filter: Filters | None = None,
        *,
        filters: Filters | None = None,
        **options: Any,
    ) -> pd.DataFrame:
        """A pandas DataFrame; `options` as in `pyarrow.Table.to_pandas`. `staffa.read_pandas` reads an index too."""
        require("pandas", "pandas")
        frame: pd.DataFrame = self.to_table(columns, filter, filters=filters).to_pandas(**options)
        return frame

    def to_polars(
        self,
        columns: Sequence[str] | None = None,
        filter: Filters | None = None,
        *,
        filters: Filters | None = None,
    ) -> pl.DataFrame:
        """A Polars DataFrame. `staffa.scan_polars` makes a LazyFrame."""
        polars = require("polars", "polars")
        frame: pl.DataFrame = polars.DataFrame(self.scan(columns, filter, string_views=True, filters=filters))
        return frame

    def _filtered(
        self,
        rest: Filter,
        batch_rows: int | None,
        limit: int | None,
        string_views: bool,
        dictionaries: list[str] | None = None,
        run_ends: list[str] | None = None,
        reads: Reads | None = None,
    ) -> Reader:
        """Batches that pyarrow filters after the library; the limit counts rows after both."""
        options = (rest.columns, rest.pushed, batch_rows, None, string_views, dictionaries, run_ends)
        return Reader(self._file.scan(*options, reads=reads), rest, limit)

    def take(self, indices: Any, columns: Sequence[str] | None = None, string_views: bool = False) -> pa.Table:
        """Reads rows by number.

        Args:
            indices: Row numbers from 0, in any order, duplicates allowed: a list, a NumPy or pyarrow array, a Series; a
                `range` or a `slice`; or a mask with a boolean for each row.
            columns: As in `to_table`.
            string_views: As in `to_table`.

        Raises:
            InvalidArgumentError: An index is negative or past the last row; a mask is shorter or longer than the file.

        >>> staffa.write_table(pa.table({"x": range(0, 1000, 10)}), "x.staffa").rows
        100
        >>> staffa.open("x.staffa").take([99, 0, 0]).to_pydict()
        {'x': [990, 0, 0]}
        >>> staffa.open("x.staffa").take(slice(-2, None)).to_pydict()
        {'x': [980, 990]}
        """
        names, string_views = column_names(columns), bool(string_views)
        rows = row_range(indices, self.num_rows) if isinstance(indices, (slice, range)) else None
        if rows is None:
            return self._file.take(row_numbers(indices), names, string_views)
        if rows.step == 1:
            return self._file.take_range(rows.start, max(rows.start, rows.stop), names, string_views)
        return self._file.take(pa.array(rows, pa.int64()), names, string_views)

    def aggregate(
        self,
        aggregates: Mapping[str, str | Sequence[str]],
        filter: Filters | None = None,
        *,
        filters: Filters | None = None,
    ) -> dict[str, dict[str, pa.Scalar]]:
        """Counts, minima, maxima, sums and means, from the statistics of the file where possible, without decoding.

        Args:
            aggregates: For each column one or several of `rows`, `count` (of non-NULL values), `nulls`, `min`, `max`,
                `sum`, `mean`, `distinct` (the number of distinct values) and `sorted` (whether the values ascend).
            filter: As in `to_table`: only matching rows are aggregated.
            filters: As in `to_table`.

        Returns:
            pyarrow scalars by column and aggregate. Without values min, max, sum and mean are NULL. Floats are in total
            order: -0.0 is less than 0.0, NaN greater than all else (pyarrow ignores NaN). Sums of integers have 64
            bits; an overflow is an error. Floats are added as doubles, in the order of the rows.

        Raises:
            InvalidArgumentError: An unknown column or aggregate, a nested column, a type without this aggregate.

        >>> trees = pa.table({"name": ["oak", "ash", "elm"], "height": [21, None, 30]})
        >>> staffa.write_table(trees, "trees.staffa").rows
        3
        >>> file = staffa.open("trees.staffa")
        >>> found = file.aggregate({"height": ["max", "sum", "nulls"], "name": "min"})
        >>> {which: value.as_py() for which, value in found["height"].items()}
        {'max': 30, 'sum': 51, 'nulls': 1}
        >>> file.aggregate({"height": "mean"})["height"]["mean"].as_py()
        25.5
        >>> file.aggregate({"height": "sum"}, filter=pc.starts_with(pc.field("name"), "e"))["height"]["sum"].as_py()
        30
        """
        wanted = aggregate_names(aggregates)
        names = list(aggregates)
        filter = one_filter(filter, filters)
        pushed, rest = (None, None) if filter is None else bind(filter, self._file, column_names(names))
        if rest:
            rows = self._filtered(rest, None, None, False)
            try:
                found = self._file.aggregate_batches(rows, wanted)
            except StaffaError:
                if rows.failure is None:
                    raise
                raise rows.failure from None
        else:
            found = self._file.aggregate(wanted, pushed)
        out: dict[str, dict[str, pa.Scalar]] = {name: {} for name in names}
        for (name, which), column in zip(wanted, found.to_pyarrow().columns, strict=True):
            out[name][which] = column[0]
        return out

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self.scan())

    def __len__(self) -> int:
        return self.num_rows

    def __repr__(self) -> str:
        if self.closed:
            return f"<staffa.File {self._path!r}: closed>"
        return (
            f"<staffa.File {self._path!r}: {self.num_rows:,} rows, {len(self.schema)} columns, "
            f"{size_text(self.nbytes)}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self._source, self._cache_bytes, self._cache_decoded)

    def __arrow_c_schema__(self) -> object:
        return self._file.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._file.scan().__arrow_c_stream__(requested_schema)


def _reopened(source: Any, cache_bytes: int | None, cache_decoded: bool) -> File:
    return File(source, cache_bytes=cache_bytes, cache_decoded=cache_decoded)
