"""`Reader`: a file read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

import pyarrow as pa

from staffa import _staffa
from staffa._filter import Filter
from staffa.errors import InvalidArgumentError


class Reader:
    """The batches of a file, which can be read once: an iterator of pyarrow's RecordBatch, a context manager, and an
    Arrow stream for pyarrow, Polars and DuckDB.

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
        #: Why the filter failed: an Arrow stream hands on no exception.
        self.failure: InvalidArgumentError | None = None
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
        """Whether the reader was closed or exported as a stream."""
        return self._reader.closed

    def read_all(self) -> pa.Table:
        """The remaining batches as a table."""
        return pa.Table.from_batches(self, self._schema)

    def close(self) -> None:
        """Closes the reader; closing it again does nothing."""
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
            try:
                kept = self._filter.apply(batch)
            except InvalidArgumentError as error:
                self.failure = error
                raise
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
