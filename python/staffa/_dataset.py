"""`dataset`: many files as one table, for whatever reads pyarrow's datasets: DuckDB, Polars, DataFusion, pandas.

pyarrow has no place for other formats, but the engines ask little of a dataset and of its scanner. Both are subclasses
here in which every method is replaced: none reaches pyarrow's own, which would look for a dataset in C++.

What the engines push is trusted, they do not test again. So each file is asked what the library can test exactly
(`_pushdown`), with what its folders tell already decided (`_fold`), and pyarrow tests the rest (`_filter`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from staffa._discover import Piece, discover
from staffa._filter import check_expression
from staffa._piece import OpenPiece
from staffa._projection import Projection
from staffa._scanner import Readable, Scanner
from staffa._unify import unify
from staffa.errors import InvalidArgumentError

# Files that stay open after they were read.
_OPEN_FILES = 128
# Options of pyarrow's scans that change nothing here: the library reads with the threads it has.
_WITHOUT_MEANING = {
    "batch_readahead",
    "fragment_readahead",
    "fragment_scan_options",
    "use_threads",
    "cache_metadata",
    "memory_pool",
}


def dataset(source: Any, *, schema: pa.Schema | None = None, partitioning: Any = "hive") -> Dataset:
    """Many files as one table, as a `pyarrow.dataset.Dataset`.

    DuckDB finds it by the name of its variable, Polars takes it by `scan_pyarrow_dataset` (`staffa.scan_polars` is
    better), DataFusion by `register_dataset`. They push columns and filters into it.

    Args:
        source: A path, a pattern such as `"sales/**/*.staffa"`, a folder, or a list of these. Of a folder all files
            that end in `.staffa` are taken, but for what begins with a dot or an underscore.
        schema: Columns and types to read all files as; by default those of all files together: a column that a file
            lacks is NULL there, numbers, times and texts widen. With a schema no file is opened before it is read.
        partitioning: What folders tell. "hive": `year=2024/` is a column, of whole numbers or text, percent-encoded,
            with `__HIVE_DEFAULT_PARTITION__` for NULL. A schema: the same with these types. A list of names: for
            folders by level. A `pyarrow.dataset.Partitioning`, or None.

    Raises:
        FileNotFoundError: There is no such file, or none that matches.
        InvalidArgumentError: The types of a column have nothing in common; it names the column and two files.
        UnsupportedError: A URL.

    >>> for year in (2023, 2024):
    ...     pathlib.Path(f"sales/year={year}").mkdir(parents=True)
    ...     _ = staffa.write_table(pa.table({"price": [1.5, float(year)]}), f"sales/year={year}/a.staffa")
    >>> sales = staffa.dataset("sales")
    >>> sales.to_table(filter=pc.field("price") > 2).to_pylist()
    [{'price': 2023.0, 'year': 2023}, {'price': 2024.0, 'year': 2024}]
    >>> duckdb.sql("SELECT max(price) FROM sales WHERE year < 2024").fetchall()
    [(2023.0,)]
    """
    pieces = discover(source, partitioning)
    files = _Files()
    told = [pa.field(name, key.type) for name, key in pieces[0].keys.items()]
    if schema is None:
        schema = unify((piece.path, files.open(piece).schema) for piece in pieces)
        for field in told:
            if field.name in schema.names:
                schema = schema.set(schema.get_field_index(field.name), field)
    elif not isinstance(schema, pa.Schema):
        raise InvalidArgumentError(f"schema must be a pyarrow.Schema, found {type(schema).__name__}")
    for field in told:
        if field.name not in schema.names:
            schema = schema.append(field)
    return Dataset(pieces, schema, None, files)


class _Files:
    """Open files, the last ones used. A dataset that goes to another process opens them anew."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._open = lru_cache(_OPEN_FILES)(OpenPiece)

    def open(self, piece: Piece) -> OpenPiece:
        # A fork may have come while another thread of the parent was busy with a file.
        if self._process != os.getpid():
            self.__init__()  # type: ignore[misc]
        return self._open(piece.path)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Files, ()


class Dataset(Readable, ds.Dataset):  # type: ignore[misc] # pyarrow has no types
    """Many files as one table: see `dataset`, which makes it."""

    def __init__(self, pieces: Sequence[Piece], schema: pa.Schema, filter: pc.Expression | None, files: _Files) -> None:
        self._pieces = pieces
        self._schema = schema
        self._filter = filter
        self._files = files

    @property
    def schema(self) -> pa.Schema:
        """The columns of all files, in types that every engine knows, then those that folders tell."""
        return self._schema

    @property
    def files(self) -> list[str]:
        """The paths of the files."""
        return [piece.path for piece in self._pieces]

    @property
    def filtered(self) -> bool:
        """Whether it is what `filter` has left of another."""
        return self._filter is not None

    @property
    def partition_expression(self) -> pc.Expression:
        """What is true for all rows."""
        return pc.scalar(True)

    def scanner(self, columns: Any = None, filter: Any = None, batch_size: Any = None, **options: Any) -> Scanner:
        """What to read.

        Args:
            columns: Names of columns, or a dictionary of names and expressions; by default all.
            filter: Which rows to keep.
            batch_size: At most so many rows in a batch.
            options: pyarrow's other options are taken and change nothing.
        """
        unknown = options.keys() - _WITHOUT_MEANING
        if unknown:
            raise TypeError(f"scanner() got an unexpected keyword argument {min(unknown)!r}")
        return Scanner(self, Projection(self._schema, columns, self._and(filter)), batch_size)

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[Fragment]:
        """The files, but for those that what their folders tell excludes."""
        filter = self._and(filter)
        projection = Projection(self._schema, [], filter)
        for piece in self._pieces:
            if not projection.excludes(piece.keys):
                yield Fragment(Dataset([piece], self._schema, self._filter, self._files))

    def filter(self, expression: pc.Expression) -> Dataset:
        """The dataset of the rows for which this is true as well."""
        check_expression("filter", expression)
        return Dataset(self._pieces, self._schema, self._and(expression), self._files)

    def replace_schema(self, schema: pa.Schema) -> Dataset:
        """The same files read as other columns and types."""
        return Dataset(self._pieces, schema, self._filter, self._files)

    def sort_by(self, sorting: Any, **kwargs: Any) -> ds.Dataset:
        """The rows in order, in memory."""
        return ds.InMemoryDataset(self.to_table().sort_by(sorting, **kwargs))

    def join(self, right_dataset: Any, *args: Any, **kwargs: Any) -> ds.Dataset:
        """A join with another dataset, in memory; arguments as of `pyarrow.Table.join`."""
        return ds.InMemoryDataset(self.to_table().join(right_dataset.to_table(), *args, **kwargs))

    def join_asof(self, right_dataset: Any, *args: Any, **kwargs: Any) -> ds.Dataset:
        """A join by the nearest key, in memory; arguments as of `pyarrow.Table.join_asof`."""
        return ds.InMemoryDataset(self.to_table().join_asof(right_dataset.to_table(), *args, **kwargs))

    @cached_property
    def rows_by_file(self) -> list[int]:
        """The number of rows of each file, before any filter."""
        return [self._files.open(piece).rows for piece in self._pieces]

    def open_file(self, number: int) -> tuple[OpenPiece, dict[str, pa.Scalar]]:
        """A file by its number, and what its folders tell."""
        piece = self._pieces[number]
        return self._files.open(piece), piece.keys

    def _and(self, filter: Any) -> Any:
        return filter if self._filter is None else self._filter if filter is None else self._filter & filter

    def _opened(self, projection: Projection) -> Iterator[tuple[OpenPiece, dict[str, pa.Scalar]]]:
        """The files in which rows may be kept. What only folders tell needs no file to be opened."""
        for piece in self._pieces:
            if not projection.excludes(piece.keys):
                yield self._files.open(piece), piece.keys

    def __repr__(self) -> str:
        files = f"{len(self._pieces):,} files" if len(self._pieces) != 1 else repr(self._pieces[0].path)
        return f"<staffa.Dataset of {files}: {len(self._schema)} columns>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Dataset, (self._pieces, self._schema, self._filter, self._files)


class Fragment(Readable, ds.Fragment):  # type: ignore[misc] # pyarrow has no types
    """One file of a dataset."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._piece = dataset._pieces[0]

    @property
    def path(self) -> str:
        """The path of the file."""
        return self._piece.path

    @property
    def physical_schema(self) -> pa.Schema:
        """The columns of the file itself."""
        return self._dataset._files.open(self._piece).schema

    @property
    def partition_expression(self) -> pc.Expression:
        """What its folders tell of all its rows."""
        told = pc.scalar(True)
        for i, (name, key) in enumerate(self._piece.keys.items()):
            field = pc.field(name)
            this = field == key if key.is_valid else field.is_null()
            told = told & this if i else this
        return told

    def scanner(
        self,
        schema: pa.Schema | None = None,
        columns: Any = None,
        filter: Any = None,
        batch_size: Any = None,
        **options: Any,
    ) -> Scanner:
        """What to read of this file; `schema` says as which columns and types, by default as the dataset's."""
        dataset = self._dataset if schema is None else self._dataset.replace_schema(schema)
        return dataset.scanner(columns, filter, batch_size, **options)

    def __repr__(self) -> str:
        return f"<staffa.Fragment {self.path!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Fragment, (self._dataset,)
