"""`Split`: a share of a scan of many files, for engines that read with processes of their own.

A planner opens the files, excludes what statistics exclude, and hands out splits. Whoever has one needs the file and
nothing else: it is opened there, once for all splits of a process, and must be the file that was planned.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from staffa._arguments import column_names, whole_number
from staffa._discover import PartitionedFile
from staffa._fragment import Keys, OpenFragment, Part
from staffa._projection import Projection
from staffa._source import absolute
from staffa.errors import ChangedFileError, InvalidArgumentError

# Files that stay open in a process.
_OPEN_FILES = 32


@dataclass(frozen=True)
class SplitScan:
    """What the splits of a scan have in common: the columns to read and to test, with the types of the dataset."""

    schema: pa.Schema
    columns: list[str]
    filter: pc.Expression | None

    @staticmethod
    def of(projection: Projection, filter: pc.Expression | None) -> SplitScan:
        """A scan of columns, not of expressions."""
        return SplitScan(projection.bound.remove_metadata(), projection.schema.names, filter)

    @cached_property
    def projection(self) -> Projection:
        """The scan, bound to the schema."""
        return Projection(self.schema, self.columns, self.filter)

    def splits(self, file: PartitionedFile, fragment: OpenFragment, rows: int | None) -> Iterator[Split]:
        """The splits of a file, which is open."""
        keys = {name: key for name, key in file.keys.items() if name in self.schema.names}
        for part, nbytes in fragment.splits(self.projection, keys, rows):
            yield Split(
                absolute(file.path), part.row_group, part.end - part.start, nbytes, part, keys, fragment.version, self
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return SplitScan, (self.schema, self.columns, self.filter)


@dataclass(frozen=True)
class Split:
    """A share of a dataset's scan, made by `Dataset.splits`: some rows of one row group of one file.

    >>> staffa.write_table(pa.table({"x": range(1000), "y": range(1000)}), "xy.staffa").rows
    1000
    >>> split, = staffa.dataset("xy.staffa").splits(columns=["y"], filter="x < 3")
    >>> import pickle
    >>> there = pickle.loads(pickle.dumps(split))
    >>> there.read().read_all().to_pydict()
    {'y': [0, 1, 2]}
    """

    path: str
    """The path or URL of the file."""
    row_group: int
    """The position of the row group in the file."""
    rows: int
    """The number of rows, before the filter."""
    nbytes: int
    """About the bytes of the columns in memory, before the filter."""
    _part: Part = field(repr=False)
    _keys: Keys = field(repr=False)
    _version: bytes = field(repr=False)
    _scan: SplitScan = field(repr=False)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the batches."""
        return self._scan.projection.schema

    def select(self, columns: Sequence[str]) -> Split:
        """The same rows with some of the columns."""
        names = column_names(columns) or []
        for name in names:
            if name not in self._scan.columns:
                raise InvalidArgumentError(f"unknown column {name!r}; there are {self._scan.columns}")
        return replace(self, _scan=SplitScan(self._scan.schema, names, self._scan.filter))

    def read(self, batch_size: int | None = None) -> pa.RecordBatchReader:
        """The matching rows as a stream of batches, decoded by the thread that reads it.

        Args:
            batch_size: The maximum number of rows in a batch.

        Raises:
            ChangedFileError: The file is another one than when the splits were made.
            FileNotFoundError: The file is gone.
            CorruptError: A block is damaged.
        """
        batch_rows = whole_number("batch_size", batch_size, 1)
        fragment, projection = _opened(os.getpid(), self.path, self._version), self._scan.projection
        # Not a stream of the library's: its errors would have lost their types.
        batches = fragment.batches(projection, self._keys, batch_rows, part=self._part)
        return pa.RecordBatchReader.from_batches(projection.schema, batches)

    def to_table(self) -> pa.Table:
        """The matching rows as a table. Errors as of `read`."""
        return self.read(1 << 20).read_all()


# By process too: another thread of the parent may have been using a file during a fork.
@lru_cache(_OPEN_FILES)
def _opened(process: int, path: str, version: bytes) -> OpenFragment:
    """The file of a split, which must be the one that was planned."""
    fragment = OpenFragment(PartitionedFile(path))
    if fragment.version != version:
        error = ChangedFileError(f"{path}: the file was replaced after the splits were made; make them again")
        error.path = path
        raise error
    return fragment


def grouped(splits: Iterable[Split], nbytes: int) -> Iterator[list[Split]]:
    """Neighbouring splits together, up to so many bytes: a task of an engine costs more than a small split."""
    group: list[Split] = []
    total = 0
    for split in splits:
        if group and total + split.nbytes > nbytes:
            yield group
            group, total = [], 0
        group.append(split)
        total += split.nbytes
    if group:
        yield group
