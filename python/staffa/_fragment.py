"""One file of a dataset, read with the columns and types of the dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa

from staffa import _staffa
from staffa._discover import PartitionedFile
from staffa._metrics import Reads
from staffa._partial_eval import comparable, partial_eval
from staffa._projection import Projection
from staffa._pushdown import Predicate
from staffa.errors import InvalidArgumentError

Keys = Mapping[str, pa.Scalar]


class Part(NamedTuple):
    """Rows of one row group: the row group, the first row of the file and the row behind the last."""

    row_group: int
    start: int
    end: int


@dataclass(frozen=True)
class _ScanPlan:
    """The scan of the file."""

    #: The columns to return, with the types of the dataset; the file may lack some.
    schema: pa.Schema
    #: The columns to read.
    stored: list[str]
    pushed: Predicate | None
    #: Whether the library evaluates the whole filter.
    whole: bool


class OpenFragment:
    """An open file of a dataset. Partition columns come from `keys`, even if the file has a column of that name."""

    def __init__(self, file: PartitionedFile) -> None:
        self.path = file.path
        self._file = file.open()

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self._file.num_rows

    @property
    def version(self) -> bytes:
        """What tells the file from another one of the same path: its hash, or its sizes where it has none."""
        return self._file.id or f"{self._file.nbytes} bytes, {self.rows} rows".encode()

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns, in types that all engines support."""
        return self._file.empty().flattened().to_pyarrow().schema

    @cached_property
    def _names(self) -> set[str]:
        return set(self.schema.names)

    @cached_property
    def _flattened(self) -> set[str]:
        """The columns that flattening changes, views aside."""
        pairs = zip(pa.schema(self._file), self.schema, strict=True)
        return {flat.name for stored, flat in pairs if stored.type not in (flat.type, _view_type(flat.type))}

    def splits(self, projection: Projection, keys: Keys, rows: int | None) -> Iterator[tuple[Part, int]]:
        """The parts that may have rows of the projection, at most `rows` rows each, with their bytes once decoded."""
        plan = self._plan(projection, keys)
        if plan is None:
            return
        for row_group, start, end, nbytes in self._file.splits(plan.stored, plan.pushed, rows):
            yield Part(row_group, start, end), nbytes

    def stream(
        self, projection: Projection, keys: Keys, batch_rows: int | None, reads: Reads | None = None
    ) -> _staffa.Reader | None:
        """The rows as a stream of the library, without Python in between; None if the rows need adapting."""
        plan = self._plan(projection, keys)
        if plan is None or not plan.whole or not projection.columns_only or plan.stored != projection.schema.names:
            return None
        reader = self._scan(plan, batch_rows, reads=reads)
        return reader if pa.schema(reader).equals(projection.schema, check_metadata=True) else None

    def batches(
        self,
        projection: Projection,
        keys: Keys,
        batch_rows: int | None,
        limit: int | None = None,
        offset: int = 0,
        views: bool = False,
        part: Part | None = None,
        reads: Reads | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows batch by batch: at most `limit` matching rows; without a filter after the first `offset` rows.

        With `views` strings may be views, which are not copied out of dictionaries. The rows of a `part` are decoded by
        the thread that asks for them.
        """
        plan = self._plan(projection, keys)
        if plan is None:
            return
        # Few functions of pyarrow support views.
        views = views and plan.whole and projection.columns_only and not self._flattened.intersection(plan.stored)
        reader = self._scan(plan, batch_rows, limit if plan.whole else None, offset, views, part, reads)
        left = limit
        while left != 0 and (raw := reader.next()) is not None:
            batch = projection.finish(self._adapted(raw, plan, projection.constants(keys)), plan.whole)
            if left is not None:
                batch = batch.slice(0, left)
                left -= batch.num_rows
            if batch.num_rows:
                yield batch

    def count(self, projection: Projection, keys: Keys, reads: Reads | None = None) -> int:
        """The number of matching rows; without a filter nothing is read."""
        plan = self._plan(projection, keys)
        if plan is None:
            return 0
        if not plan.whole:
            return sum(batch.num_rows for batch in self.batches(projection, keys, None, reads=reads))
        if plan.pushed is None:
            return self.rows
        reader = self._file.scan([], plan.pushed, reads=reads)
        return sum(raw.num_rows for raw in iter(reader.next, None))

    def take(self, projection: Projection, keys: Keys, rows: pa.Array) -> pa.RecordBatch:
        """Rows by number, without a filter."""
        plan = self._scan_plan(projection.part(projection.columns), keys, None, True)
        raw = self._file.take_flattened(rows, plan.stored)
        return projection.finish(self._adapted(raw, plan, projection.constants(keys)), True)

    def _plan(self, projection: Projection, keys: Keys) -> _ScanPlan | None:
        """The scan plan; None if no row can match."""
        if not projection.filtered:
            return self._scan_plan(projection.part(projection.columns), keys, None, True)
        everything = projection.part(projection.all_columns)
        constants = projection.constants(keys)
        missing = [field for field in everything if field.name not in self._names]
        constants = {field.name: pa.scalar(None, field.type) for field in missing} | constants
        known = {name for name, constant in constants.items() if comparable(constant)}
        same = {field.name for field in everything if field.name not in constants and self._has(field)}
        predicate, whole = projection.pushed(known | same)
        rest = True if predicate is None else partial_eval(predicate, constants)
        if rest is False:
            return None
        wanted = projection.part(projection.columns) if whole else everything
        return self._scan_plan(wanted, keys, None if rest is True else rest, whole)

    def _scan_plan(self, schema: pa.Schema, keys: Keys, pushed: Predicate | None, whole: bool) -> _ScanPlan:
        stored = [name for name in schema.names if name in self._names and name not in keys]
        return _ScanPlan(schema, stored, pushed, whole)

    def _has(self, field: pa.Field) -> bool:
        return bool(self.schema.field(field.name).type == field.type)

    def _scan(
        self,
        plan: _ScanPlan,
        batch_rows: int | None,
        limit: int | None = None,
        offset: int = 0,
        views: bool = False,
        part: Part | None = None,
        reads: Reads | None = None,
    ) -> _staffa.Reader:
        return self._file.scan(
            plan.stored,
            plan.pushed,
            batch_rows,
            limit,
            string_views=views,
            offset=offset,
            flattened=not views,
            split=part and (part.start, part.end),
            threads=None if part is None else 1,
            reads=reads,
        )

    def _adapted(self, raw: _staffa.Batch, plan: _ScanPlan, constants: Keys) -> pa.RecordBatch:
        """A batch of the file with the columns and types of the dataset."""
        batch, rows = raw.to_pyarrow(), raw.num_rows
        if not plan.schema.names:
            return pa.record_batch({"": pa.nulls(rows)}).select([])
        if batch.schema.equals(plan.schema, check_metadata=True):
            return batch
        arrays = [self._column(batch, field, constants, rows) for field in plan.schema]
        fields = [field.with_type(array.type) for field, array in zip(plan.schema, arrays, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, plan.schema.metadata))

    def _column(self, batch: pa.RecordBatch, field: pa.Field, keys: Keys, rows: int) -> pa.Array:
        if field.name in keys:
            return pa.repeat(keys[field.name], rows)
        if batch.schema.get_field_index(field.name) < 0:
            return pa.nulls(rows, field.type)
        column = batch.column(field.name)
        if column.type in (field.type, _view_type(field.type)):
            return column
        try:
            return column.cast(field.type)
        except pa.ArrowException as error:
            raise InvalidArgumentError(
                f"{self.path}: column {field.name!r} is {column.type} and cannot be read as {field.type}: {error}"
            ) from error


def _view_type(data_type: pa.DataType) -> pa.DataType:
    """The view type of a string or binary type."""
    if data_type in (pa.string(), pa.large_string()):
        return pa.string_view()
    return pa.binary_view() if data_type in (pa.binary(), pa.large_binary()) else data_type
