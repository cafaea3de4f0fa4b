"""`File`: an open file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from staffa import _staffa
from staffa._arguments import aggregate_names, column_names, path_text, row_indices, row_range, whole_number
from staffa._explain import Explain, Why
from staffa._filter import Filter, bind
from staffa._html import of_closed, of_file
from staffa._reader import Reader
from staffa._sort_key import SortKey
from staffa._text import size_text
from staffa.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pyarrow.compute as pc


def open(path: str | os.PathLike[str], *, cache_bytes: int | None = None, cache_decoded: bool = False) -> File:
    """Opens a file. The footer is read and checked now, the data when it is needed.

    Args:
        path: The file.
        cache_bytes: Memory for a cache of opened blocks, for the next `take`; by default 64 MiB.
        cache_decoded: Cache decoded blocks: fewer fit, but a row of a cached block costs next to nothing.

    Raises:
        FileNotFoundError: There is no such file; another `OSError` for other errors of the system.
        CorruptError: The file is damaged or no Staffa file.
        TruncatedError: The file ends too early.
        UnsupportedError: This release cannot read the format version of the file.

    >>> staffa.write_table(pa.table({"x": range(1000)}), "x.staffa").rows
    1000
    >>> staffa.open("x.staffa").num_rows
    1000
    """
    return File(path, cache_bytes=cache_bytes, cache_decoded=cache_decoded)


def read_table(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,
    limit: int | None = None,
    string_views: bool = False,
    dictionaries: Sequence[str] = (),
    run_ends: Sequence[str] = (),
) -> pa.Table:
    """Reads a table from a file: the same as `open(path).to_table(...)`.

    >>> staffa.write_table(pa.table({"x": range(1000)}), "x.staffa").rows
    1000
    >>> staffa.read_table("x.staffa", filter=pc.field("x") > 997).to_pydict()
    {'x': [998, 999]}
    """
    return open(path).to_table(columns, filter, limit, string_views, dictionaries, run_ends)


@dataclass(frozen=True)
class LeafStatistics:
    """What the end of a file says of a column, or of a leaf of a nested column."""

    path: str
    """The name of the column, or the path of the leaf."""
    nulls: int
    min: str | None
    """At most the smallest value, as text; None if unknown."""
    max: str | None
    """At least the largest value, as text; None if unknown."""
    distinct: int
    """An estimate of the number of distinct values without NULL; exact below 256."""
    decoded_bytes: int
    """The size of all values in memory, without offsets and validity."""
    ascending: bool
    """Whether the values without NULLs never decrease."""
    descending: bool
    """Whether they never increase."""
    sources: list[str]
    """The paths of the columns from which this one is derived."""


@dataclass(frozen=True)
class ChunkStatistics:
    """What the end of a file says of a chunk: a column, or a leaf of a nested column, of one row group."""

    path: str
    """The name of the column, or the path of the leaf."""
    row_group: int
    nulls: int
    min: str | None
    """At most the smallest value, as text; None if unknown."""
    max: str | None
    """At least the largest value, as text; None if unknown."""
    sum: str | None
    """The exact sum of the values without NULLs, as text, for integers, decimals and durations."""
    decoded_bytes: int
    """The size of all values in memory, without offsets and validity."""


class File:
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

    def __init__(
        self, path: str | os.PathLike[str], *, cache_bytes: int | None = None, cache_decoded: bool = False
    ) -> None:
        self._path = path_text(path)
        self._cache_bytes = whole_number("cache_bytes", cache_bytes, 0)
        self._cache_decoded = bool(cache_decoded)
        self._opened: _staffa.File | None = _staffa.open(self._path, self._cache_bytes, self._cache_decoded)

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
        """The path of the file."""
        return self._path

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema that the writer got."""
        return pa.schema(self._file)

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

    def statistics(self) -> list[LeafStatistics]:
        """Statistics of every column, or of every leaf of a nested column, from the end of the file alone.

        >>> staffa.write_table(pa.table({"x": [3, 1, None, 3]}), "x.staffa").rows
        4
        >>> (x,) = staffa.open("x.staffa").statistics()
        >>> x.path, x.nulls, x.min, x.max, x.distinct
        ('x', 1, '1', '3', 2)
        """
        return [LeafStatistics(**leaf) for leaf in json.loads(self._file.statistics())]

    def chunk_statistics(self) -> list[ChunkStatistics]:
        """Statistics of every column and row group, from the end of the file alone; empty if the writer was not asked
        for them.

        >>> staffa.write_table(pa.table({"x": range(6)}), "x.staffa", row_group_rows=3, chunk_statistics=True).rows
        6
        >>> [(chunk.row_group, chunk.max, chunk.sum) for chunk in staffa.open("x.staffa").chunk_statistics()]
        [(0, '2', '3'), (1, '5', '12')]
        """
        return [ChunkStatistics(**chunk) for chunk in json.loads(self._file.chunk_statistics())]

    @property
    def sort_order(self) -> list[SortKey]:
        """The columns by which the rows are sorted, if the writer was told; it has checked the order.

        >>> staffa.write_table(pa.table({"x": [3, 2, None]}), "x.staffa", sort_order=["x desc"]).rows
        3
        >>> staffa.open("x.staffa").sort_order
        [SortKey(column='x', descending=True, nulls_first=False)]
        """
        return [SortKey(**key) for key in json.loads(self._file.sort_order())]

    @property
    def unknown_columns(self) -> list[str]:
        """The names of columns whose type this release does not know, in a file of a later one. They have type null in
        `schema`; all other columns can be read.
        """
        return self._file.unknown_columns

    def to_table(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        limit: int | None = None,
        string_views: bool = False,
        dictionaries: Sequence[str] = (),
        run_ends: Sequence[str] = (),
    ) -> pa.Table:
        """Reads a table.

        Args:
            columns: Names of the columns to read, in this order; by default all.
            filter: The expression that selects rows. It may name columns that are not read.
            limit: The maximum number of rows. No more rows than needed are read.
            string_views: Return strings and binaries as views, which are not copied out of dictionaries.
            dictionaries: Return these columns of strings or binaries as dictionaries, without decoding if they are
                stored so. Each chunk has its own dictionary; `unify_dictionaries` merges them.
            run_ends: Return these columns, of any type that is not nested, as run-end encoded arrays, without decoding
                if they are stored so.

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
        dictionary_names, run_end_names = column_names(dictionaries) or [], column_names(run_ends) or []
        pushed, rest = (None, None) if filter is None else bind(filter, self._file, names)
        if rest:
            return self._filtered(rest, None, limit, string_views, dictionary_names, run_end_names).read_all()
        return self._file.read(names, pushed, limit, string_views, dictionary_names, run_end_names)

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: pc.Expression | None = None,
        batch_rows: int | None = None,
        limit: int | None = None,
        string_views: bool = False,
        dictionaries: Sequence[str] = (),
        run_ends: Sequence[str] = (),
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
        dictionary_names, run_end_names = column_names(dictionaries) or [], column_names(run_ends) or []
        pushed, rest = (None, None) if filter is None else bind(filter, self._file, names)
        if rest:
            return self._filtered(rest, batch_rows, limit, string_views, dictionary_names, run_end_names)
        return Reader(self._file.scan(names, pushed, batch_rows, limit, string_views, dictionary_names, run_end_names))

    def _filtered(
        self,
        rest: Filter,
        batch_rows: int | None,
        limit: int | None,
        string_views: bool,
        dictionaries: list[str] | None = None,
        run_ends: list[str] | None = None,
    ) -> Reader:
        """Batches that pyarrow filters after the library; the limit counts rows after both."""
        reader = self._file.scan(rest.columns, rest.pushed, batch_rows, None, string_views, dictionaries, run_ends)
        return Reader(reader, rest, limit)

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
        rows = row_range(indices, self.num_rows)
        if rows is None:
            batch = self._file.take(row_indices(indices, mask=True), names, string_views)
        elif rows.step == 1:
            batch = self._file.take_range(rows.start, max(rows.start, rows.stop), names, string_views)
        else:
            batch = self._file.take(pa.array(rows, pa.int64()), names, string_views)
        return pa.Table.from_batches([batch.to_pyarrow()])

    def aggregate(
        self, aggregates: Mapping[str, str | Sequence[str]], filter: pc.Expression | None = None
    ) -> dict[str, dict[str, pa.Scalar]]:
        """Counts, minima, maxima and sums, from the statistics of the file where possible, without decoding.

        Args:
            aggregates: For each column one or several of `rows`, `count` (of non-NULL values), `nulls`, `min`, `max`,
                `sum`, `distinct` (the number of distinct values) and `sorted` (whether the values ascend).
            filter: As in `to_table`: only matching rows are aggregated.

        Returns:
            pyarrow scalars by column and aggregate. Without values min, max and sum are NULL. Floats are in total
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
        >>> file.aggregate({"height": "sum"}, filter=pc.starts_with(pc.field("name"), "e"))["height"]["sum"].as_py()
        30
        """
        wanted = aggregate_names(aggregates)
        names = list(aggregates)
        pushed, rest = (None, None) if filter is None else bind(filter, self._file, column_names(names))
        if rest:
            found = self._file.aggregate_batches(self._filtered(rest, None, None, False), wanted)
        else:
            found = self._file.aggregate(wanted, pushed)
        out: dict[str, dict[str, pa.Scalar]] = {name: {} for name in names}
        for (name, which), column in zip(wanted, found.to_pyarrow().columns, strict=True):
            out[name][which] = column[0]
        return out

    def explain(self) -> Explain:
        """The encodings of each column. `print` shows the trees.

        >>> staffa.write_table(pa.table({"x": [7] * 1000}), "x.staffa").rows
        1000
        >>> "constant" in str(staffa.open("x.staffa").explain())
        True
        """
        return Explain(self._path, self.num_rows, self.nbytes, json.loads(self._file.explain()))

    def why(self, column: str | None = None) -> Why:
        """The reasons for the encodings of each column: all candidates and why they were rejected. `print` shows them.

        This repeats the work of the writer for the first row group, with the profile "balanced", and takes as long.

        Args:
            column: Only this column: a name, or the path of a leaf of a nested column.

        Raises:
            InvalidArgumentError: There is no such column.

        >>> sent = [i * i % 7919 for i in range(1000)]
        >>> arrived = [day + i % 3 for i, day in enumerate(sent)]
        >>> staffa.write_table(pa.table({"a": sent, "b": arrived}), "x.staffa").rows
        1000
        >>> why = staffa.open("x.staffa").why("a")
        >>> [(r["encoding"], r["by"]) for r in why.to_dict()["columns"][0]["relations"] if r["taken"]]
        [('difference', ['b'])]
        """
        if column is not None and not isinstance(column, str):
            raise InvalidArgumentError(f"column must be a name, found {column!r}")
        why = Why(self._path, json.loads(self._file.why()))
        return why if column is None else why.of_column(column, self.schema.names)

    def inspect(self) -> dict[str, Any]:
        """Offsets, sizes and statistics of the file, its row groups, columns, chunks and blocks.

        >>> staffa.write_table(pa.table({"x": [3, 1, None]}), "x.staffa").rows
        3
        >>> column = staffa.open("x.staffa").inspect()["columns"][0]
        >>> column["path"], column["min"], column["max"], column["nulls"]
        ('x', '1', '3', 1)
        """
        report: dict[str, Any] = json.loads(self._file.inspect())
        return report

    def verify(self) -> dict[str, int]:
        """Reads, checks and decodes everything; returns what was checked.

        Raises:
            CorruptError: The first error found, or `TruncatedError` or another, depending on its kind.

        >>> staffa.write_table(pa.table({"x": range(1000)}), "x.staffa").rows
        1000
        >>> staffa.open("x.staffa").verify()["rows"]
        1000
        """
        report: dict[str, int] = json.loads(self._file.verify())
        return report

    def __len__(self) -> int:
        return self.num_rows

    def __repr__(self) -> str:
        if self.closed:
            return f"<staffa.File {self._path!r}: closed>"
        return (
            f"<staffa.File {self._path!r}: {self.num_rows:,} rows, {len(self.schema)} columns, "
            f"{size_text(self.nbytes)}>"
        )

    def _repr_html_(self) -> str:
        if self.closed:
            return of_closed(self._path)
        return of_file(self._path, self.num_rows, self.num_row_groups, self.schema, self.inspect())

    def __reduce__(self) -> tuple[Any, ...]:
        reopen = partial(open, cache_bytes=self._cache_bytes, cache_decoded=self._cache_decoded)
        return reopen, (self._path,)

    def __arrow_c_schema__(self) -> object:
        return self._file.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._file.scan().__arrow_c_stream__(requested_schema)
