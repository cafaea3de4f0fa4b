"""`Scanner`: a scan of a dataset, which looks like pyarrow's scanner."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, pairwise
from operator import methodcaller
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from staffa._arguments import check_index, check_options, row_indices, row_range, whole_number
from staffa._fragment import Keys, OpenFragment
from staffa._lookalike import Lookalike
from staffa._metrics import Reads
from staffa._projection import Projection
from staffa.errors import InvalidArgumentError


class ScanSource(Protocol):
    """The files that a scanner reads: a dataset."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of all files."""

    @property
    def files(self) -> list[str]:
        """The paths of the files."""

    @property
    def rows_by_file(self) -> list[int]:
        """The number of rows of each file."""

    def open_file(self, number: int) -> tuple[OpenFragment, Keys]:
        """Opens a file; returns it with its partition keys."""

    def open_matching(self, projection: Projection) -> Iterator[tuple[OpenFragment, Keys]]:
        """Opens the files that may have rows of the projection, one after the other."""

    def split(self) -> Iterator[tuple[ds.Fragment, ScanSource]]:
        """The fragments, each with the source of its file."""


class Scannable:
    """The methods that a dataset and a fragment share: each makes a scanner with its arguments."""

    def _scan(self, method: str, /, *args: Any, **options: Any) -> Scanner:
        """A scanner of the rows and columns, for a method that errors name."""
        raise NotImplementedError

    def to_reader(self, *args: Any, **options: Any) -> pa.RecordBatchReader:
        """The rows as a stream of batches; arguments as in `scanner`."""
        return self._scan("to_reader", *args, **options).to_reader()

    def to_batches(self, *args: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        """The rows batch by batch; arguments as in `scanner`."""
        return self._scan("to_batches", *args, **options).to_batches()

    def to_table(self, *args: Any, **options: Any) -> pa.Table:
        """The rows as a table; arguments as in `scanner`."""
        return self._scan("to_table", *args, **options).to_table()

    def head(self, num_rows: int, columns: Any = None, filter: Any = None, **options: Any) -> pa.Table:
        """The first rows; other arguments as in `scanner`."""
        return self._scan("head", columns=columns, filter=filter, **options).head(num_rows)

    def take(self, indices: Any, columns: Any = None, filter: Any = None, **options: Any) -> pa.Table:
        """Rows by number, a range, a slice or a mask, as in `File.take`; other arguments as in `scanner`."""
        return self._scan("take", columns=columns, filter=filter, **options).take(indices)

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """The number of rows that match the filter; without a filter nothing is read."""
        check_options("count_rows", options.keys() & {"columns"}, ())
        return self._scan("count_rows", columns=[], filter=filter, **options).count_rows()


class Scanner(Lookalike, like=ds.Scanner):
    """A scan of a dataset. Nothing is read until a method asks for rows; a scanner can be used again."""

    def __init__(
        self, source: ScanSource, projection: Projection, batch_size: int | None, reads: Reads | None = None
    ) -> None:
        self._source = source
        self._projection = projection
        self._batch_rows = whole_number("batch_size", batch_size, 1)
        self._reads = reads

    @property
    def dataset_schema(self) -> pa.Schema:
        """The columns of the dataset."""
        return self._source.schema

    @property
    def projected_schema(self) -> pa.Schema:
        """The columns of the batches."""
        return self._projection.schema

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a stream of batches."""
        if len(self._source.files) == 1:
            fragment, keys = self._source.open_file(0)
            stream = fragment.stream(self._projection, keys, self._batch_rows, self._reads)
            if stream is not None:
                return pa.RecordBatchReader.from_stream(stream)
        return pa.RecordBatchReader.from_batches(self.projected_schema, self.to_batches())

    def to_batches(self, limit: int | None = None, views: bool = False) -> Iterator[pa.RecordBatch]:
        """The rows batch by batch, at most `limit` rows. With `views` strings may be views."""
        return self._batches(self._batch_rows, limit, views)

    def scan_batches(self) -> Iterator[ds.TaggedRecordBatch]:
        """The batches, each with its fragment."""
        for fragment, source in self._source.split():
            for batch in Scanner(source, self._projection, self._batch_rows, self._reads).to_batches():
                yield ds.TaggedRecordBatch(batch, fragment)

    def to_table(self) -> pa.Table:
        """The rows as a table."""
        # Whole row groups fill huge pages.
        return self._table(self._batches(self._batch_rows or 1 << 20, None))

    def head(self, num_rows: int) -> pa.Table:
        """The first rows; no more than needed is read."""
        return self._table(self._batches(self._batch_rows, whole_number("num_rows", num_rows, 0)))

    def count_rows(self) -> int:
        """The number of rows; without a filter nothing is read."""
        matching = self._source.open_matching(self._projection)
        return sum(fragment.count(self._projection, keys, self._reads) for fragment, keys in matching)

    def take(self, indices: Any) -> pa.Table:
        """Rows by number, a range, a slice or a mask, as in `File.take`; with a filter of the rows that match it."""
        if self._projection.filtered:
            table = self.to_table()
            return _taken(table, _row_numbers(indices, table.num_rows))
        ends = list(accumulate(self._source.rows_by_file, initial=0))
        rows = _row_numbers(indices, ends[-1])
        if len(ends) == 2:
            return self._table([self._take_from(0, rows)])
        order = pc.sort_indices(rows)
        ascending = rows.take(order)
        batches = []
        for file, (start, end) in enumerate(pairwise(ends)):
            first, last = (bisect_left(ascending, row, key=methodcaller("as_py")) for row in (start, end))
            if first < last:
                batches.append(self._take_from(file, pc.subtract(ascending.slice(first, last - first), start)))
        return _taken(self._table(batches), pc.sort_indices(order))

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process has a cache and counters of its own.
        reads = self._reads and self._reads._replace(metrics=None)
        return Scanner, (self._source, self._projection, self._batch_rows, reads)

    def _take_from(self, file: int, rows: pa.Array) -> pa.RecordBatch:
        fragment, keys = self._source.open_file(file)
        return fragment.take(self._projection, keys, rows)

    def _table(self, batches: Any) -> pa.Table:
        return pa.Table.from_batches(batches, self.projected_schema)

    def _batches(self, batch_rows: int | None, limit: int | None, views: bool = False) -> Iterator[pa.RecordBatch]:
        left = limit
        for fragment, keys in self._source.open_matching(self._projection):
            if left == 0:
                return
            batches = fragment.batches(self._projection, keys, batch_rows, left, views=views, reads=self._reads)
            for batch in batches:
                yield batch
                left = None if left is None else left - batch.num_rows


def _taken(table: pa.Table, rows: pa.Array) -> pa.Table:
    """Rows of a table by number: pyarrow has none of a table without columns."""
    return table.take(rows) if table.num_columns else pa.table({"": pa.nulls(len(rows))}).select([])


def _row_numbers(indices: Any, rows: int) -> pa.Array:
    """Row numbers in range, as int64."""
    of_range = row_range(indices, rows, "there are")
    if of_range is not None:
        return pa.array(of_range, pa.int64())
    found = row_indices(indices)
    if pa.types.is_boolean(found.type):
        if len(found) != rows:
            raise InvalidArgumentError(f"a mask of as many rows as there are, {rows}, expected, found {len(found)}")
        return pc.indices_nonzero(found).cast(pa.int64())
    bounds = pc.min_max(found)
    for index in (bounds["min"].as_py(), bounds["max"].as_py()) if len(found) else ():
        check_index(index, rows, "there are")
    return found.cast(pa.int64())
