"""PyTorch datasets: rows by number, and rows in shuffled order, as tensors.

Numbers, booleans, dates and times (as Arrow's integers) become one tensor per batch, without copies; fixed-size lists,
such as embeddings, a tensor with one more dimension. Other lists of these types become a list of tensors, and all else
a list of Python values. NULL is NaN for floats; for other columns `fill_null` gives a value.

Both datasets can be pickled, forked and spawned: each worker of a DataLoader opens the files itself.

>>> rows = {"id": range(1000), "embedding": pa.array([[i, 0.5] for i in range(1000)], pa.list_(pa.float32(), 2))}
>>> staffa.write_table(pa.table(rows), "train.staffa", access="random").rows
1000
>>> from torch.utils.data import DataLoader
>>> rows = staffa.torch.MapDataset("train.staffa")
>>> loader = DataLoader(rows, batch_size=256, shuffle=True, collate_fn=staffa.torch.collate)
>>> [tuple(batch["embedding"].shape) for batch in loader]
[(256, 2), (256, 2), (256, 2), (232, 2)]
>>> stream = staffa.torch.IterableDataset("train.staffa", batch_size=256, shuffle=True, seed=7)
>>> sum(len(batch["id"]) for batch in DataLoader(stream, batch_size=None))
1000
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from staffa._arguments import whole_number
from staffa._dataset import Dataset, as_dataset
from staffa._extras import require
from staffa._projection import Projection
from staffa._tensors import Columns, Tensors, concat, slice_rows, take
from staffa.errors import InvalidArgumentError

torch = require("torch", "torch")
data = require("torch.utils.data", "torch")
_MapBase: Any = data.Dataset
_IterableBase: Any = data.IterableDataset

__all__ = ["Batch", "IterableDataset", "MapDataset", "collate"]

# From this number of rows on, a scan is faster than a take.
_MIN_SCAN_ROWS = 16_384
# Seeds are multiplied by 2**64 divided by the golden ratio, so that the next seed is not the next epoch.
_SEED_FACTOR = 0x9E3779B97F4A7C15


class Batch(Sequence[Columns]):
    """Rows that were read together: a sequence of rows, each a dictionary; `columns` has the columns, for `collate`."""

    def __init__(self, columns: Columns, rows: int) -> None:
        self.columns = columns
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise TypeError("the index of a row must be an integer")
        if not -self._rows <= index < self._rows:
            raise IndexError(f"index {index} is out of range: the batch has {self._rows} rows")
        return {name: column[index] for name, column in self.columns.items()}


def collate(batch: Batch) -> Columns:
    """The columns of a batch: for `DataLoader(..., collate_fn=staffa.torch.collate)`, which otherwise splits the batch
    into rows and stacks them again.
    """
    if not isinstance(batch, Batch):
        raise InvalidArgumentError(f"collate is for batches of staffa.torch.MapDataset, found {type(batch).__name__}")
    return batch.columns


class MapDataset(_MapBase):  # type: ignore[misc] # PyTorch may not be installed
    """Rows by number. One call reads a batch; the file should be written with `access="random"`."""

    def __init__(
        self,
        source: Any,
        columns: Sequence[str] | None = None,
        *,
        fill_null: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """Opens the files.

        Args:
            source: As in `staffa.dataset`: a path, a pattern, a folder, a list of these; or a `Dataset`.
            columns: Names of the columns to read; by default all.
            fill_null: The values in place of NULL, by column.
            options: As in `staffa.dataset`.
        """
        self._rows = _dataset_of("MapDataset", source, options)
        self._scanner = self._rows.scanner(columns)
        self._tensors = Tensors(self._scanner.projected_schema, fill_null)
        self._count = self._scanner.count_rows()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Columns:
        row = operator.index(index)
        if not -self._count <= row < self._count:
            raise IndexError(f"index {row} is out of range: there are {self._count} rows")
        found: Columns = self.__getitems__([row % self._count])[0]
        return found

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Several rows with one call; DataLoader uses this."""
        table = self._scanner.take(indices).combine_chunks()
        (batch,) = table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
        return Batch(self._tensors.of(batch), batch.num_rows)


class IterableDataset(_IterableBase):  # type: ignore[misc] # PyTorch may not be installed
    """Batches of rows in order or shuffled by blocks, divided among ranks and workers.

    With `shuffle`, blocks of rows come in random order, and the rows of several blocks are mixed in memory. The order
    depends only on seed and epoch. Every row comes once per epoch, except a remainder smaller than the number of ranks.
    All ranks have the same number of rows and batches.
    """

    def __init__(
        self,
        source: Any,
        columns: Sequence[str] | None = None,
        *,
        batch_size: int = 256,
        shuffle: bool = False,
        seed: int = 0,
        block_rows: int = 65_536,
        mixed_blocks: int = 4,
        drop_last: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
        fill_null: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """Opens the files.

        Args:
            source: As in `MapDataset`.
            columns: As in `MapDataset`.
            batch_size: Rows of a batch. DataLoader gets whole batches, so give it `batch_size=None`.
            shuffle: Whether the order is random.
            seed: The seed of the random order.
            block_rows: Rows that are read and shuffled together. Smaller blocks shuffle better and read more slowly.
            mixed_blocks: Blocks whose rows are mixed in memory.
            drop_last: Leave out a last batch that is not full.
            rank: The rank of this process; by default that of `torch.distributed`, if it is initialised.
            world_size: The number of ranks.
            fill_null: As in `MapDataset`.
            options: As in `staffa.dataset`.
        """
        super().__init__()
        self._rows = _dataset_of("IterableDataset", source, options)
        self._projection = Projection(self._rows.schema, columns, None)
        self._tensors = Tensors(self._projection.schema, fill_null)
        self._batch_rows = whole_number("batch_size", batch_size, 1) or 1
        self._block_rows = whole_number("block_rows", block_rows, 1) or 1
        self._mixed_blocks = whole_number("mixed_blocks", mixed_blocks, 1) or 1
        self._shuffle, self._drop_last = bool(shuffle), bool(drop_last)
        self._seed = operator.index(seed)
        self._rank, self._world_size = _rank_of(rank, world_size)
        # In shared memory: persistent workers see changes.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, which changes the random order from the next iteration on."""
        self._epoch.fill_(operator.index(epoch))

    def __iter__(self) -> Iterator[Columns]:
        order = torch.Generator().manual_seed((self._seed * _SEED_FACTOR + int(self._epoch)) % 2**63)
        blocks = self._blocks()
        if self._shuffle:
            blocks = [blocks[i] for i in torch.randperm(len(blocks), generator=order).tolist()]
        start, stop = self._share(sum(rows for _, _, rows in blocks))
        pending: list[Columns] = []
        waiting = 0
        for several in _grouped(_clipped(blocks, start, stop), self._mixed_blocks if self._shuffle else 1):
            pending += [self._tensors.of(batch) for block in several for batch in self._read(*block)]
            waiting += sum(rows for _, _, rows in several)
            columns = concat(pending)
            if self._shuffle:
                columns = take(columns, torch.randperm(waiting, generator=order))
            full = waiting - waiting % self._batch_rows
            for at in range(0, full, self._batch_rows):
                yield slice_rows(columns, at, at + self._batch_rows)
            pending, waiting = [slice_rows(columns, full, waiting)], waiting - full
        if waiting and not self._drop_last:
            yield pending[0]

    def _blocks(self) -> list[tuple[int, int, int]]:
        """All blocks: the number of the file, the first row, and the number of rows."""
        return [
            (file, start, min(self._block_rows, rows - start))
            for file, rows in enumerate(self._rows.rows_by_file)
            for start in range(0, rows, self._block_rows)
        ]

    def _share(self, rows: int) -> tuple[int, int]:
        """The range of rows, in the order of the blocks, of this rank and worker."""
        own = rows // self._world_size
        worker = data.get_worker_info()
        number, workers = (worker.id, worker.num_workers) if worker else (0, 1)
        # Whole batches, so that their number does not depend on the number of workers.
        batches = -(-own // self._batch_rows)
        first, last = (min(i * batches // workers * self._batch_rows, own) for i in (number, number + 1))
        return self._rank * own + first, self._rank * own + last

    def _read(self, file: int, start: int, rows: int) -> Iterator[pa.RecordBatch]:
        fragment, keys = self._rows.open_file(file)
        if rows < _MIN_SCAN_ROWS:
            yield fragment.take(self._projection, keys, pa.array(range(start, start + rows), pa.int64()))
        else:
            yield from fragment.batches(self._projection, keys, None, rows, start)


def _dataset_of(function: str, source: Any, options: dict[str, Any]) -> Dataset:
    rows = as_dataset(function, source, options)
    if rows.filtered:
        raise InvalidArgumentError("a filtered dataset has no row numbers: write the filtered rows to a file")
    return rows


def _rank_of(rank: int | None, world_size: int | None) -> tuple[int, int]:
    if (rank is None) != (world_size is None):
        raise InvalidArgumentError("rank and world_size must be given together, or not at all")
    distributed = torch.distributed
    if rank is None and distributed.is_available() and distributed.is_initialized():
        rank, world_size = distributed.get_rank(), distributed.get_world_size()
    own, ranks = whole_number("rank", rank, 0) or 0, whole_number("world_size", world_size, 1) or 1
    if own >= ranks:
        raise InvalidArgumentError(f"rank must be less than world_size, found {own} of {ranks}")
    return own, ranks


def _clipped(blocks: list[tuple[int, int, int]], start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """The parts of blocks that hold the rows `start..stop` of all blocks."""
    end = 0
    for file, row, rows in blocks:
        begin, end = end, end + rows
        first, last = max(start, begin), min(stop, end)
        if first < last:
            yield file, row + first - begin, last - first


def _grouped(blocks: Iterator[tuple[int, int, int]], size: int) -> Iterator[list[tuple[int, int, int]]]:
    group = []
    for block in blocks:
        group.append(block)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
