"""What is read of a dataset: pyarrow's scanner, in every method."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, pairwise
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from staffa._arguments import row_indices, whole_number
from staffa._projection import Projection
from staffa.errors import InvalidArgumentError

if TYPE_CHECKING:
    from staffa._dataset import Dataset


class Readable:
    """What a dataset and a fragment have in common: all is asked of a scanner, and takes its arguments."""

    def scanner(self, *args: Any, **options: Any) -> Scanner:
        """What to read."""
        raise NotImplementedError

    def to_reader(self, *args: Any, **options: Any) -> pa.RecordBatchReader:
        """The rows as a stream of batches; arguments as of `scanner`."""
        return self.scanner(*args, **options).to_reader()

    def to_batches(self, *args: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        """The rows batch by batch; arguments as of `scanner`."""
        return self.scanner(*args, **options).to_batches()

    def to_table(self, *args: Any, **options: Any) -> pa.Table:
        """The rows as a table; arguments as of `scanner`."""
        return self.scanner(*args, **options).to_table()

    def head(self, num_rows: int, columns: Any = None, filter: Any = None, **options: Any) -> pa.Table:
        """The first rows; the other arguments as of `scanner`."""
        return self.scanner(columns=columns, filter=filter, **options).head(num_rows)

    def take(self, indices: Any, columns: Any = None, filter: Any = None, **options: Any) -> pa.Table:
        """Rows by number, in any order, repeats allowed; the other arguments as of `scanner`."""
        return self.scanner(columns=columns, filter=filter, **options).take(indices)

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """The number of rows that the filter keeps; without one nothing is read."""
        return self.scanner(filter=filter, **options).count_rows()


class Scanner(ds.Scanner):  # type: ignore[misc] # pyarrow has no types
    """What to read of a dataset: nothing is read before it is asked for, and it can be asked again."""

    def __init__(self, dataset: Dataset, projection: Projection, batch_size: int | None) -> None:
        self._dataset = dataset
        self._projection = projection
        self._batch_rows = whole_number("batch_size", batch_size, 1)

    @property
    def dataset_schema(self) -> pa.Schema:
        """The columns of the dataset."""
        return self._dataset.schema

    @property
    def projected_schema(self) -> pa.Schema:
        """The columns of the batches."""
        return self._projection.schema

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a stream of batches."""
        pieces = self._dataset._pieces
        if len(pieces) == 1:
            stream = self._dataset._files.open(pieces[0]).stream(self._projection, pieces[0].keys, self._batch_rows)
            if stream is not None:
                return pa.RecordBatchReader.from_stream(stream)
        return pa.RecordBatchReader.from_batches(self.projected_schema, self.to_batches())

    def to_batches(self, limit: int | None = None, views: bool = False) -> Iterator[pa.RecordBatch]:
        """The rows batch by batch; the first `limit` of them. With `views` texts may come as views."""
        return self._batches(self._batch_rows, limit, views)

    def scan_batches(self) -> Iterator[ds.TaggedRecordBatch]:
        """The same, each with the fragment it is of."""
        for fragment in self._dataset.get_fragments():
            scanner = Scanner(fragment._dataset, self._projection, self._batch_rows)
            for batch in scanner.to_batches():
                yield ds.TaggedRecordBatch(batch, fragment)

    def to_table(self) -> pa.Table:
        """The rows as a table."""
        # A row group at a time goes into huge pages.
        return self._table(self._batches(self._batch_rows or 1 << 20, None))

    def head(self, num_rows: int) -> pa.Table:
        """The first rows; no more is read than they need."""
        return self._table(self._batches(self._batch_rows, whole_number("num_rows", num_rows, 0)))

    def count_rows(self) -> int:
        """The number of rows; without a filter nothing is read."""
        return sum(piece.count(self._projection, keys) for piece, keys in self._dataset._opened(self._projection))

    def take(self, indices: Any) -> pa.Table:
        """Rows by number, in any order, repeats allowed."""
        rows = row_indices(indices).cast(pa.int64())
        if self._projection.filtered:
            table = self.to_table()
            _check_range(rows, table.num_rows)
            return table.take(rows)
        ends = list(accumulate(self._dataset.rows_by_file, initial=0))
        _check_range(rows, ends[-1])
        if len(ends) == 2:
            return self._table([self._taken(0, rows)])
        order = pc.sort_indices(rows)
        ascending = rows.take(order)
        batches = []
        for file, (start, end) in enumerate(pairwise(ends)):
            first, last = (bisect_left(ascending, row, key=methodcaller("as_py")) for row in (start, end))
            if first < last:
                batches.append(self._taken(file, pc.subtract(ascending.slice(first, last - first), start)))
        return self._table(batches).take(pc.sort_indices(order))

    def __reduce__(self) -> tuple[Any, ...]:
        return Scanner, (self._dataset, self._projection, self._batch_rows)

    def _taken(self, file: int, rows: pa.Array) -> pa.RecordBatch:
        piece, keys = self._dataset.open_file(file)
        return piece.take(self._projection, keys, rows)

    def _table(self, batches: Any) -> pa.Table:
        return pa.Table.from_batches(batches, self.projected_schema)

    def _batches(self, batch_rows: int | None, limit: int | None, views: bool = False) -> Iterator[pa.RecordBatch]:
        left = limit
        for piece, keys in self._dataset._opened(self._projection):
            if left == 0:
                return
            for batch in piece.batches(self._projection, keys, batch_rows, left, views=views):
                yield batch
                left = None if left is None else left - batch.num_rows


def _check_range(rows: pa.Array, count: int) -> None:
    if not len(rows):
        return
    bounds = pc.min_max(rows)
    for index in (bounds["min"].as_py(), bounds["max"].as_py()):
        if not 0 <= index < count:
            raise InvalidArgumentError(f"index {index} is out of range: there are {count} rows")
