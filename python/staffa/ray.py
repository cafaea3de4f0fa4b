"""Ray Data: tables of Staffa files as datasets, read and written by Ray's tasks.

>>> rows = staffa.ray.read("sales", columns=["price"])  # doctest: +SKIP
>>> staffa.ray.write(rows, "copy")  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from staffa._dataset import OPTIONS, Dataset, as_dataset
from staffa._extras import require
from staffa._splits import Split
from staffa._staged import Existing, StagedFiles, StagedWrite
from staffa._write_dataset import DatasetSummary

require("ray", "ray")
data = require("ray.data", "ray")
block = require("ray.data.block", "ray")
datasource = require("ray.data.datasource", "ray")
_Datasource: Any = datasource.Datasource
_Datasink: Any = datasource.Datasink

__all__ = ["read", "write"]

#: Ray counts the rows of a table without columns by a column of this name.
_STUB = "__bsp_stub"
_BATCH_ROWS = 1 << 18


def read(
    source: Any, columns: Sequence[str] | None = None, filter: Any = None, *, rows: int | None = None, **options: Any
) -> Any:
    """A `ray.data.Dataset`. Ray's own `select_columns` and `filter(expr=...)` are pushed into it as well.

    Args:
        source: As in `staffa.dataset`; or a `Dataset`.
        columns: Names of the columns to read; by default all.
        filter: The condition that selects rows, as in `File.to_table`.
        rows: About the most rows of a read task; by default those of a row group.
        options: As in `staffa.dataset`; others as in `ray.data.read_datasource`, such as `concurrency`.
    """
    table = as_dataset("read", source, {name: options.pop(name) for name in OPTIONS & options.keys()})
    table = table if filter is None else table.filter(filter)
    # Columns and filter are checked now, not in a task.
    table.scanner(columns)
    return data.read_datasource(_Source(table, None if columns is None else list(columns), rows), **options)


def write(
    rows: Any,
    folder: str | os.PathLike[str],
    *,
    partition_by: Sequence[str] = (),
    existing: Existing = "error",
    **options: Any,
) -> DatasetSummary:
    """Writes a `ray.data.Dataset` to the files of a folder, which must be the same for all tasks.

    No file is visible before all tasks are done, nor after a write that failed.

    Args:
        rows: The dataset.
        folder: The folder, or the URL of one.
        partition_by: As in `staffa.write_dataset`, like `existing`.
        existing: What becomes of files that are there.
        options: As in `staffa.write_dataset`; `concurrency` and `ray_remote_args` as in Ray's `write_datasink`.
    """
    of_ray = {name: options.pop(name) for name in ("concurrency", "ray_remote_args") if name in options}
    sink = _StaffaDatasink(StagedWrite(folder, None, partition_by=partition_by, existing=existing, **options))
    rows.write_datasink(sink, **of_ray)
    assert sink.summary is not None
    return sink.summary


class _Source(_Datasource):  # type: ignore[misc]
    """Splits as read tasks."""

    def __init__(self, table: Dataset, columns: list[str] | None, rows: int | None) -> None:
        super().__init__()
        self._table = table
        self._rows = rows
        self._projection_map = None if columns is None else {name: name for name in columns}

    def get_name(self) -> str:
        return "Staffa"

    def supports_projection_pushdown(self) -> bool:
        return True

    def supports_predicate_pushdown(self) -> bool:
        return True

    def estimate_inmemory_data_size(self) -> int:
        return sum(split.nbytes for split in self._splits())

    def get_read_tasks(self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None) -> Any:
        """A task for some neighbouring splits: as many tasks as Ray wants, or as there are splits."""
        splits = self._splits()
        schema = self._table.scanner(self._get_data_columns()).projected_schema
        groups = np.array_split(np.arange(len(splits)), max(1, min(parallelism, len(splits))))
        return [_task([splits[at] for at in group], schema, per_task_row_limit) for group in groups if len(group)]

    def _splits(self) -> list[Split]:
        filter = None if self._predicate_expr is None else self._predicate_expr.to_pyarrow()
        return self._table.splits(self._get_data_columns(), filter, rows=self._rows)


def _task(splits: list[Split], schema: pa.Schema, limit: int | None) -> Any:
    nbytes, files = sum(split.nbytes for split in splits), sorted({split.path for split in splits})
    metadata = block.BlockMetadata(num_rows=None, size_bytes=nbytes, input_files=files, exec_stats=None)
    return datasource.ReadTask(lambda: _read(splits), metadata, schema=schema, per_task_row_limit=limit)


def _read(splits: list[Split]) -> Iterator[pa.Table]:
    for split in splits:
        for batch in split.read(_BATCH_ROWS):
            yield pa.Table.from_batches([batch]) if batch.num_columns else pa.table({_STUB: pa.nulls(batch.num_rows)})


class _StaffaDatasink(_Datasink):  # type: ignore[misc]
    """A write by Ray's tasks, which Ray pickles to them; the first and the last methods run on the driver."""

    def __init__(self, write: StagedWrite) -> None:
        self._write = write
        self.summary: DatasetSummary | None = None

    def on_write_start(self, schema: Any = None) -> None:
        # The columns of the first rows are those of all files.
        if isinstance(schema, pa.Schema):
            self._write.schema = schema

    def write(self, blocks: Iterable[Any], ctx: Any) -> StagedFiles:
        tables = (block.BlockAccessor.for_block(each).to_arrow() for each in blocks)
        return self._write.write(batch for table in tables for batch in table.to_batches())

    def on_write_complete(self, write_result: Any) -> None:
        self.summary = self._write.commit(write_result.write_returns)

    def on_write_failed(self, error: Exception) -> None:
        self._write.abort()
