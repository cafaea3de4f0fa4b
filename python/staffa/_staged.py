"""`StagedWrite`: files of a folder, written by several processes and made visible by one.

Every process writes into a hidden folder beside the table's files. The one that began the write moves those that were
reported to it, and removes the hidden folder with what is left in it of processes that failed.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from staffa import _staffa
from staffa._input import as_batches
from staffa._options import checked
from staffa._source import absolute, is_url, local_path
from staffa._write_dataset import DatasetSummary, check_append, files_of, key_columns, write_files
from staffa.errors import InvalidArgumentError

if TYPE_CHECKING:
    import os

Existing = Literal["error", "append", "overwrite"]


@dataclass(frozen=True)
class StagedFiles:
    """What one process wrote: hidden until the write is committed."""

    files: list[str]
    rows: int
    file_bytes: int


class StagedWrite:
    """A write of one table by several processes, to which it is pickled.

    >>> numbers = pa.table({"n": [1, 2], "odd": [True, False]})
    >>> write = StagedWrite("numbers", numbers.schema, partition_by=["odd"])
    >>> written = [write.write(numbers.to_batches()), write.write([])]
    >>> write.commit(written).rows
    2
    >>> staffa.dataset("numbers").count_rows("odd = 'true'")
    1
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        schema: pa.Schema | None,
        *,
        partition_by: Sequence[str] = (),
        existing: Existing = "error",
        **options: Any,
    ) -> None:
        """Begins a write; nothing is written yet. Arguments as of `write_dataset`."""
        if existing not in ("error", "append", "overwrite"):
            raise InvalidArgumentError(f"existing must be 'error', 'append' or 'overwrite', found {existing!r}")
        checked({name: value for name, value in options.items() if name not in ("rows_per_file", "max_open_files")})  # type: ignore[arg-type]
        self.folder = absolute(local_path(folder))
        self.schema = schema
        before = files_of(self.folder)
        if schema is not None:
            keys = key_columns(schema, partition_by)
            if existing == "append":
                check_append(self.folder, before, schema, keys)
        self._hidden = f"{self.folder.rstrip('/')}/.staffa-{uuid.uuid4().hex}"
        self._before = [file.path for file in before]
        self._existing = existing
        self._options = {"partition_by": list(partition_by), **options}
        self._refuse_existing()
        self._is_new = not is_url(self.folder) and not Path(self.folder).exists()
        if not is_url(self.folder):
            Path(self._hidden).mkdir(parents=True)

    def write(self, batches: Iterable[pa.RecordBatch]) -> StagedFiles:
        """Writes the rows of one process, which are visible after the commit. An exception leaves no file of them."""
        if not is_url(self._hidden) and not Path(self._hidden).exists():
            # A task that outlives its job.
            raise FileNotFoundError(f"{self.folder}: this write was committed or given up")
        fitting = (self._cast(batch) for batch in batches if batch.num_rows)
        for first in fitting:
            return self._write(chain([first], fitting))
        return StagedFiles([], 0, 0)

    def commit(self, written: Iterable[StagedFiles]) -> DatasetSummary:
        """Makes the files of all processes visible, or none after an exception; removes those that are overwritten."""
        try:
            self._refuse_existing()
            staged = list(written)
            if not any(each.files for each in staged) and self.schema is not None:
                # The columns are known from a file without rows.
                staged.append(self._write(iter([self.schema.empty_table()])))
            files = _staffa.publish(self._hidden, self.folder, [file for each in staged for file in each.files])
        finally:
            self.abort()
        for path in self._before if self._existing == "overwrite" else ():
            for file in _staffa.find(path):
                file.remove()
        return DatasetSummary(files, sum(each.rows for each in staged), sum(each.file_bytes for each in staged))

    def abort(self) -> None:
        """Gives the write up: nothing of it stays."""
        _staffa.discard(self._hidden)
        if self._is_new:
            with contextlib.suppress(OSError):
                # Files are in it, after a commit.
                Path(self.folder).rmdir()

    def _cast(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with the columns of the schema: engines have layouts and orders of their own."""
        if self.schema is None or batch.schema.equals(self.schema):
            return batch
        if sorted(batch.schema.names) != sorted(self.schema.names):
            raise InvalidArgumentError(f"the columns {self.schema.names} expected, found {batch.schema.names}")
        try:
            return batch.select(self.schema.names).cast(self.schema)
        except (pa.ArrowException, ValueError) as error:
            raise InvalidArgumentError(f"the rows do not fit the schema: {error}") from error

    def _write(self, batches: Iterator[Any]) -> StagedFiles:
        summary = write_files(as_batches(batches, self.schema), self._hidden, **self._options)
        return StagedFiles(summary.files, summary.rows, summary.file_bytes)

    def _refuse_existing(self) -> None:
        """Refuses files that are there before the write, and those that another one put there meanwhile."""
        if self._existing == "error" and (found := files_of(self.folder)):
            raise FileExistsError(
                f"{self.folder}: the folder has {len(found)} .staffa files; existing='append' leaves them"
            )
