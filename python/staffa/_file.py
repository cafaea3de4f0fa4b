"""Reading: `File`, and `Reader` for reading as it goes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from staffa import _staffa
from staffa._arguments import aggregate_names, column_names, path_text, row_indices, row_range, whole_number
from staffa._explain import Explain, Why, count_text, size_text
from staffa._filter import Filter, bind
from staffa._html import of_file
from staffa.errors import InvalidArgumentError

if TYPE_CHECKING:
    import pyarrow.compute as pc


def open(path: str | os.PathLike[str], *, cache_bytes: int | None = None, cache_decoded: bool = False) -> File:
    """Opens a file. Its footer is read and checked; the data is read, and checked, when it is asked for.

    Args:
        path: The file.
        cache_bytes: Memory for opened blocks, kept for the next `take`; by default 64 MiB.
        cache_decoded: Keep them decoded: fewer fit, and a row out of one that is kept costs next to nothing.

    Raises:
        FileNotFoundError: There is no such file; another `OSError` where the system refuses for another reason.
        CorruptError: It is no Staffa file, or a damaged one.
        TruncatedError: It ends too early.
        UnsupportedError: It is of a version that this release cannot read.

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
    """Reads a table from a file: `open(path).to_table(...)`, which see.

    >>> staffa.write_table(pa.table({"x": range(1000)}), "x.staffa").rows
    1000
    >>> staffa.read_table("x.staffa", filter=pc.field("x") > 997).to_pydict()
    {'x': [998, 999]}
    """
    return open(path).to_table(columns, filter, limit, string_views, dictionaries, run_ends)


class File:
    """An open file. Several threads may use it, and anything that reads Arrow streams reads it.

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
        """Closes the file and forgets what is kept of it. To ask anything of it then is an `InvalidArgumentError`; what
        reads already goes on. A file that nobody holds closes itself; `with` does it at the end of a block.

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

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._opened is None

    def __enter__(self) -> File:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def path(self) -> str:
        """The path it was opened by."""
        return self._path

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema, as it was given to the writer."""
        return pa.schema(self._file)

    @property
    def num_rows(self) -> int:
        """The number of rows; `len(file)` is the same."""
        return self._file.num_rows

    @property
    def num_row_groups(self) -> int:
        """The number of row groups."""
        return self._file.num_row_groups

    @property
    def nbytes(self) -> int:
        """The size of the file in bytes."""
        return self._file.nbytes

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
            columns: Names of the columns to read, in the order wanted; by default all.
            filter: Which rows to keep: those for which the expression is true. It may name columns that are not read.
            limit: At most so many rows, the first ones. No more than needed is read.
            string_views: Give strings and binaries as views, which need not be copied out of dictionaries.
            dictionaries: Give these columns of strings or binaries as dictionaries: as they are stored, where they are
                stored so. Each chunk has its own; `unify_dictionaries` makes them one.
            run_ends: Give these columns, of any type that is not nested, as runs: as they are stored, where they are
                stored so, else made of their values.

        Raises:
            InvalidArgumentError: An unknown column, a filter that does not suit the columns.
            CorruptError: A block is damaged. A table that is returned is right.

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
        coded, runs = column_names(dictionaries) or [], column_names(run_ends) or []
        pushed, rest = (None, None) if filter is None else bind(filter, self._file, names)
        if rest:
            return self._filtered(rest, None, limit, string_views, coded, runs).read_all()
        return self._file.read(names, pushed, limit, string_views, coded, runs)

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
        """Reads batch by batch, in memory that does not grow with the file.

        Args:
            columns: As of `to_table`.
            filter: As of `to_table`.
            batch_rows: At most so many rows in a batch.
            limit: As of `to_table`.
            string_views: As of `to_table`.
            dictionaries: As of `to_table`.
            run_ends: As of `to_table`.

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
        coded, runs = column_names(dictionaries) or [], column_names(run_ends) or []
        pushed, rest = (None, None) if filter is None else bind(filter, self._file, names)
        if rest:
            return self._filtered(rest, batch_rows, limit, string_views, coded, runs)
        return Reader(self._file.scan(names, pushed, batch_rows, limit, string_views, coded, runs))

    def _filtered(
        self,
        rest: Filter,
        batch_rows: int | None,
        limit: int | None,
        string_views: bool,
        dictionaries: list[str] | None = None,
        run_ends: list[str] | None = None,
    ) -> Reader:
        """What the library cannot filter alone; a limit counts what is left at the end."""
        reader = self._file.scan(rest.columns, rest.pushed, batch_rows, None, string_views, dictionaries, run_ends)
        return Reader(reader, rest, limit)

    def take(
        self,
        indices: Any,
        columns: Sequence[str] | None = None,
        string_views: bool = False,
    ) -> pa.Table:
        """Reads single rows, by number.

        Args:
            indices: Row numbers from 0, in any order, repeats allowed: a list, a NumPy or pyarrow array, a Series. A
                `range` of them, or a `slice`, as of a list. A mask: a boolean for each row, those that are true.
            columns: As of `to_table`.
            string_views: As of `to_table`.

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
        self,
        aggregates: Mapping[str, str | Sequence[str]],
        filter: pc.Expression | None = None,
    ) -> dict[str, dict[str, pa.Scalar]]:
        """Counts, smallest and largest values, sums: out of the file's statistics where they know, without decoding.

        Args:
            aggregates: For a column, one or several of `rows`, `count` (of values that are not NULL), `nulls`, `min`,
                `max`, `sum`, `distinct` (how many different values) and `sorted` (whether they ascend).
            filter: As of `to_table`: over the rows that it keeps.

        Returns:
            By column and aggregate, as pyarrow's scalars. Without values min, max and sum are NULL. Floats stand in a
            total order: -0.0 is less than 0.0, NaN greater than everything (pyarrow leaves NaN out). Sums of integers
            have 64 bits; one that does not fit is an error. Floats are added up as doubles, in the order of the rows.

        Raises:
            InvalidArgumentError: An unknown column or aggregate, a nested column, a type that has no such aggregate.

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
        """How each column is stored. `print` it to see the trees of encodings.

        >>> staffa.write_table(pa.table({"x": [7] * 1000}), "x.staffa").rows
        1000
        >>> "constant" in str(staffa.open("x.staffa").explain())
        True
        """
        return Explain(self._path, self.num_rows, self.nbytes, json.loads(self._file.explain()))

    def why(self, column: str | None = None) -> Why:
        """Why the columns are stored as they are: what was considered for each, and why it lost. `print` it.

        That is the writer's work done again for the first row group, with the profile "balanced", and takes as long.

        Args:
            column: Only this one: a name, or the path of a part of a nested column.

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
        columns = json.loads(self._file.why())
        if column is not None:
            known = [each["path"] for each in columns] + self.schema.names
            if column not in known:
                names = ", ".join(map(repr, self.schema.names[:20]))
                raise InvalidArgumentError(f"no column is called {column!r}; there are {names}")
            columns = [each for each in columns if column in (each["path"], each["column"])]
        return Why(self._path, columns)

    def inspect(self) -> dict[str, Any]:
        """Places, sizes and statistics: of the file, its row groups, columns, chunks and blocks.

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
            CorruptError: The first defect found; `TruncatedError` or another where it is of that kind.

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
            return of_file(self._path, ["closed"], pa.schema([]), [])
        facts = [
            count_text(self.num_rows, "row"),
            count_text(len(self.schema), "column"),
            count_text(self.num_row_groups, "row group"),
            size_text(self.nbytes),
        ]
        return of_file(self._path, facts, self.schema, self.inspect()["columns"])

    def __reduce__(self) -> tuple[Any, ...]:
        again = partial(open, cache_bytes=self._cache_bytes, cache_decoded=self._cache_decoded)
        return again, (self._path,)

    def __arrow_c_schema__(self) -> object:
        return self._file.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._file.scan().__arrow_c_stream__(requested_schema)


class Reader:
    """Batches of a file, to be read once: an iterator of pyarrow's RecordBatch, a context manager, and an Arrow stream
    that pyarrow, Polars and DuckDB take over.

    >>> staffa.write_table(pa.table({"x": range(5)}), "x.staffa").rows
    5
    >>> reader = staffa.open("x.staffa").scan()
    >>> next(reader).num_rows
    5
    >>> pa.RecordBatchReader.from_stream(staffa.open("x.staffa").scan(limit=2)).read_all().to_pydict()
    {'x': [0, 1]}
    """

    def __init__(self, reader: _staffa.Reader, filter: Filter | None = None, limit: int | None = None) -> None:
        self._reader = reader
        self._filter = filter
        self._left = limit
        schema = pa.schema(reader)
        if filter is not None:
            fields = [schema.field(i) for i in range(filter.num_wanted)]
            schema = pa.schema(fields, schema.metadata)
        self._schema = schema

    @property
    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        return self._schema

    @property
    def closed(self) -> bool:
        """Whether it was closed, or handed over as a stream."""
        return self._reader.closed

    def read_all(self) -> pa.Table:
        """What is left, as a table."""
        return pa.Table.from_batches(self, self._schema)

    def close(self) -> None:
        """Ends the reading; calling it again does nothing."""
        self._reader.close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        while self._left != 0:
            batch = self._reader.next()
            if batch is None:
                break
            if self._filter is None:
                return batch.to_pyarrow()
            kept = self._filter.apply(batch)
            if self._left is not None:
                kept = kept.slice(0, self._left)
                self._left -= kept.num_rows
            if kept.num_rows:
                return kept
        raise StopIteration

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __arrow_c_schema__(self) -> object:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        if self._filter is None:
            return self._reader.__arrow_c_stream__(requested_schema)
        return pa.RecordBatchReader.from_batches(self._schema, self).__arrow_c_stream__(requested_schema)
