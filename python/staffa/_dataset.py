"""`dataset`: many files as one table, for all readers of pyarrow's datasets: DuckDB, Polars, DataFusion, pandas.

pyarrow has no interface for other formats, but the engines use few methods of a dataset and of its scanner. Both are
written here anew and look like pyarrow's (`_lookalike`). Scanners and fragments are Arrow streams as well, which is how
`pyarrow.dataset.write_dataset` reads them. A dataset is none: DuckDB would read all of the stream.

The engines do not apply the filters again that they push. So the library evaluates for each file what it can evaluate
exactly (`_pushdown`), after partial evaluation with the partition keys (`_partial_eval`); pyarrow evaluates the rest
(`_filter`).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from staffa._arguments import check_options, column_names, one_filter, whole_number
from staffa._discover import PartitionedFile, discover
from staffa._filter import check_expression
from staffa._filters import as_expression
from staffa._fragment import Keys, OpenFragment
from staffa._lookalike import Lookalike
from staffa._metrics import Cached, Reads, ScanMetrics
from staffa._projection import Projection
from staffa._scanner import Scannable, Scanner, ScanSource
from staffa._splits import Split, SplitScan
from staffa._unify import unify
from staffa.errors import CorruptError, DamagedFileWarning, InvalidArgumentError, TruncatedError

# Files that stay open after a read.
_OPEN_FILES = 128
# Options of pyarrow's scans without effect here: the library has its own threads.
_IGNORED_OPTIONS = {
    "batch_readahead",
    "fragment_readahead",
    "fragment_scan_options",
    "use_threads",
    "cache_metadata",
    "memory_pool",
}


def dataset(
    source: Any,
    *,
    schema: pa.Schema | None = None,
    partitioning: Any = "hive",
    on_damaged: Literal["error", "skip"] = "error",
) -> Dataset:
    """Many files as one table, as a `pyarrow.dataset.Dataset`.

    DuckDB reads it by the name of its variable, Polars with `scan_pyarrow_dataset` (`staffa.scan_polars` is better),
    DataFusion with `register_dataset`. They push columns and filters into it.

    Args:
        source: A path, a pattern such as `"sales/**/*.staffa"`, a folder, or a list of these. A folder stands for all
            its files that end in `.staffa`, except names that begin with a dot or an underscore.
        schema: The columns and types of the dataset; by default the union of all files: a column that a file lacks is
            NULL there; numbers, times and strings are widened. With a schema no file is opened before it is read.
        partitioning: The columns in the names of folders. "hive": `year=2024/` is a column of integers or strings,
            percent-encoded, with `__HIVE_DEFAULT_PARTITION__` for NULL. A schema: the same with these types. A list of
            names: one per level of folders. A `pyarrow.dataset.Partitioning`, or None.
        on_damaged: What becomes of a file that does not open, because it is damaged, cut off or of another kind:
            "error"; "skip" leaves it out, with a `DamagedFileWarning` that names it, and opens every file now. Damage
            that is found later, in the rows, is an error either way: half a file is no table.

    Raises:
        CorruptError: A file is damaged; all files are.
        FileNotFoundError: There is no such file, or no file matches.
        InvalidArgumentError: The types of a column cannot be unified; the message names the column and two files.
        OSError: An object store refused a request; the message says why.

    >>> for year in (2023, 2024):
    ...     pathlib.Path(f"sales/year={year}").mkdir(parents=True)
    ...     _ = staffa.write_table(pa.table({"price": [1.5, float(year)]}), f"sales/year={year}/a.staffa")
    >>> sales = staffa.dataset("sales")
    >>> sales.to_table(filter=pc.field("price") > 2).to_pylist()
    [{'price': 2023.0, 'year': 2023}, {'price': 2024.0, 'year': 2024}]
    >>> duckdb.sql("SELECT max(price) FROM sales WHERE year < 2024").fetchall()
    [(2023.0,)]
    """
    if on_damaged not in ("error", "skip"):
        raise InvalidArgumentError(f"on_damaged must be 'error' or 'skip', found {on_damaged!r}")
    files = discover(source, partitioning)
    cache = _OpenFiles()
    if on_damaged == "skip":
        files = _undamaged(files, cache)
    partition_fields = [pa.field(name, key.type) for name, key in files[0].keys.items()]
    if schema is None:
        schema = unify((file.path, cache.open(file).schema) for file in files)
        for field in partition_fields:
            if field.name in schema.names:
                schema = schema.set(schema.get_field_index(field.name), field)
    elif not isinstance(schema, pa.Schema):
        raise InvalidArgumentError(f"schema must be a pyarrow.Schema, found {type(schema).__name__}")
    for field in partition_fields:
        if field.name not in schema.names:
            schema = schema.append(field)
    return Dataset(files, schema, None, cache)


#: The names of the options of `dataset`.
OPTIONS = frozenset(dataset.__kwdefaults__ or ())


def as_dataset(function: str, source: Any, options: Mapping[str, Any]) -> Dataset:
    """The dataset that a function is given, or that of the files that it is given with options of `dataset`."""
    check_options(function, options, OPTIONS)
    return source if isinstance(source, Dataset) else dataset(source, **options)


def _undamaged(files: list[PartitionedFile], cache: _OpenFiles) -> list[PartitionedFile]:
    """The files that open; a warning names each other one."""
    found = []
    for file in files:
        try:
            cache.open(file)
        except (CorruptError, TruncatedError) as error:
            warnings.warn(f"{_named(error, file.path)}: the file is left out", DamagedFileWarning, stacklevel=3)
        else:
            found.append(file)
    if not found:
        raise CorruptError("all files are damaged: none is left to read")
    return found


def _named(error: Exception, path: str) -> str:
    """The message of an error, with the path of the file."""
    return str(error) if path in str(error) else f"{path}: {error}"


class _OpenFiles:
    """A cache of open files. A dataset that moves to another process opens them again."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._open = lru_cache(_OPEN_FILES)(OpenFragment)

    def open(self, file: PartitionedFile) -> OpenFragment:
        # Another thread of the parent may have been using a file during the fork.
        if self._process != os.getpid():
            self.__init__()  # type: ignore[misc]
        return self._open(file)

    def __reduce__(self) -> tuple[Any, ...]:
        return _OpenFiles, ()


class Dataset(Scannable, Lookalike, like=ds.Dataset):
    """Many files as one table; the function `dataset` makes it.

    `isinstance` takes it for a `pyarrow.dataset.Dataset`. The functions of pyarrow that read datasets in C++ (a union
    of datasets, `Scanner.from_dataset`, a scan node of Acero) refuse it with a `TypeError`: give them `to_reader()`
    or `to_table()`.
    """

    def __init__(
        self, files: Sequence[PartitionedFile], schema: pa.Schema, filter: pc.Expression | None, cache: _OpenFiles
    ) -> None:
        self._files = files
        self._schema = schema
        self._filter = filter
        self._cache = cache

    @property
    def schema(self) -> pa.Schema:
        """The columns of all files, in types that all engines support, then the partition columns."""
        return self._schema

    @property
    def files(self) -> list[str]:
        """The paths of the files."""
        return [file.path for file in self._files]

    @property
    def filtered(self) -> bool:
        """Whether the dataset has a filter."""
        return self._filter is not None

    @property
    def partition_expression(self) -> pc.Expression:
        """An expression that is true for all rows."""
        return pc.scalar(True)

    def scanner(self, columns: Any = None, filter: Any = None, batch_size: Any = None, **options: Any) -> Scanner:
        """A scanner of rows and columns.

        Args:
            columns: Names of columns, or a dictionary of names and expressions; by default all columns.
            filter: The condition that selects rows, as in `File.to_table`.
            batch_size: The maximum number of rows in a batch.
            options: `filters` is another name of `filter`; `cached` and `metrics` as in `File.to_table`: blocks stay in
                the cache while their file is open, the last 128 files of a dataset. pyarrow's other options are
                accepted without effect.
        """
        if columns is None and filter is None and batch_size is None and options.keys() == {"use_threads"}:
            # So does `pyarrow.dataset.write_dataset` ask, whose C++ needs a scanner of its own; that can be used once.
            return ds.Scanner.from_batches(self.to_reader())  # type: ignore[no-any-return]
        return self._scan("scanner", columns, filter, batch_size, **options)

    def _scan(
        self,
        method: str,
        /,
        columns: Any = None,
        filter: Any = None,
        batch_size: Any = None,
        filters: Any = None,
        cached: Cached = False,
        metrics: ScanMetrics | None = None,
        **options: Any,
    ) -> Scanner:
        filter = one_filter(filter, filters)
        check_options(method, options, _IGNORED_OPTIONS)
        projection = Projection(self._schema, columns, self._and(filter))
        return Scanner(self, projection, batch_size, Reads.of(cached, metrics))

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[Fragment]:
        """The files, except those that their partition keys exclude."""
        projection = Projection(self._schema, [], self._and(filter))
        for file in self._files:
            if not projection.excludes(file.keys):
                yield Fragment(Dataset([file], self._schema, self._filter, self._cache))

    def splits(
        self, columns: Sequence[str] | None = None, filter: Any = None, *, rows: int | None = None, filters: Any = None
    ) -> list[Split]:
        """The scan cut into shares that other threads, processes or machines read, each by itself.

        Splits are pickled into some hundred bytes, and open their file where they are read. Files that their partition
        keys or statistics exclude have none, nor have row groups that their statistics exclude.

        Args:
            columns: Names of the columns to read, in this order; by default all.
            filter: The condition that selects rows, as in `File.to_table`. Each split applies all of it.
            rows: About the most rows of a split, before the filter; by default those of a row group.
            filters: Another name of `filter`.

        >>> staffa.write_table(pa.table({"x": range(1000)}), "x.staffa", row_group_rows=400).rows
        1000
        >>> splits = staffa.dataset("x.staffa").splits(filter="x >= 500")
        >>> [(split.row_group, split.rows) for split in splits]
        [(1, 400), (2, 200)]
        >>> sum(split.to_table().num_rows for split in splits)
        500
        """
        filter = self._and(one_filter(filter, filters))
        projection = Projection(self._schema, column_names(columns), filter)
        scan = SplitScan.of(projection, filter)
        rows = whole_number("rows", rows, 1)
        out: list[Split] = []
        for file in self._files:
            if not projection.excludes(file.keys):
                out += scan.splits(file, self._cache.open(file), rows)
        return out

    def split(self) -> Iterator[tuple[ds.Fragment, ScanSource]]:
        """The fragments, each with the dataset of its file."""
        return ((fragment, fragment._dataset) for fragment in self.get_fragments())

    def filter(self, expression: pc.Expression) -> Dataset:
        """The dataset of the rows that also match this expression."""
        return Dataset(self._files, self._schema, self._and(expression), self._cache)

    def replace_schema(self, schema: pa.Schema) -> Dataset:
        """The same files with other columns and types."""
        return Dataset(self._files, schema, self._filter, self._cache)

    def sort_by(self, sorting: Any, **kwargs: Any) -> ds.Dataset:
        """The sorted rows, in memory."""
        return ds.InMemoryDataset(self.to_table().sort_by(sorting, **kwargs))

    def join(self, right_dataset: Any, *args: Any, **kwargs: Any) -> ds.Dataset:
        """A join with another dataset, in memory; arguments as in `pyarrow.Table.join`."""
        return ds.InMemoryDataset(self.to_table().join(right_dataset.to_table(), *args, **kwargs))

    def join_asof(self, right_dataset: Any, *args: Any, **kwargs: Any) -> ds.Dataset:
        """A join by the nearest key, in memory; arguments as in `pyarrow.Table.join_asof`."""
        return ds.InMemoryDataset(self.to_table().join_asof(right_dataset.to_table(), *args, **kwargs))

    @cached_property
    def rows_by_file(self) -> list[int]:
        """The number of rows of each file, before any filter."""
        return [self._cache.open(file).rows for file in self._files]

    def open_file(self, number: int) -> tuple[OpenFragment, Keys]:
        """Opens a file; returns it with its partition keys."""
        file = self._files[number]
        return self._cache.open(file), file.keys

    def open_matching(self, projection: Projection) -> Iterator[tuple[OpenFragment, Keys]]:
        """Opens the files that may have rows of the projection; files that their keys exclude stay closed."""
        for file in self._files:
            if not projection.excludes(file.keys):
                yield self._cache.open(file), file.keys

    def _and(self, filter: Any) -> Any:
        if filter is None:
            return self._filter
        filter = as_expression(filter, self._schema)
        check_expression("filter", filter)
        return filter if self._filter is None else self._filter & filter

    def __repr__(self) -> str:
        files = f"{len(self._files):,} files" if len(self._files) != 1 else repr(self._files[0].path)
        return f"<staffa.Dataset of {files}: {len(self._schema)} columns>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Dataset, (self._files, self._schema, self._filter, self._cache)


class Fragment(Scannable, Lookalike, like=ds.Fragment):
    """One file of a dataset."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._file = dataset._files[0]

    @property
    def path(self) -> str:
        """The path of the file."""
        return self._file.path

    @property
    def physical_schema(self) -> pa.Schema:
        """The columns of the file itself."""
        return self._dataset._cache.open(self._file).schema

    @property
    def partition_expression(self) -> pc.Expression:
        """The partition keys, as an expression that is true for all rows."""
        expression = pc.scalar(True)
        for i, (name, key) in enumerate(self._file.keys.items()):
            field = pc.field(name)
            equal = field == key if key.is_valid else field.is_null()
            expression = expression & equal if i else equal
        return expression

    def scanner(
        self,
        schema: pa.Schema | None = None,
        columns: Any = None,
        filter: Any = None,
        batch_size: Any = None,
        **options: Any,
    ) -> Scanner:
        """A scanner of this file; `schema` has the columns and types, by default those of the dataset."""
        return self._scan("scanner", schema, columns, filter, batch_size, **options)

    def _scan(self, method: str, /, schema: pa.Schema | None = None, *args: Any, **options: Any) -> Scanner:
        dataset = self._dataset if schema is None else self._dataset.replace_schema(schema)
        return dataset._scan(method, *args, **options)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<staffa.Fragment {self.path!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Fragment, (self._dataset,)
