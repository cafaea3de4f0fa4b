"""PyTorch: rows by number, and rows in shuffled order, as tensors.

Numbers, booleans, dates and times (as the integers that Arrow counts them with) become one tensor for a batch, lists
fixed size, as embeddings are, one with a dimension more, over the memory into which they were decoded. Other lists of
such values become a list of tensors, and everything else a list of Python's values. NULL is NaN among floats; for other
columns say with `fill_null` what it shall be.

Both datasets can be pickled, forked and spawned: each worker of a DataLoader opens the files for itself.

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
from staffa._dataset import Dataset, dataset
from staffa._extras import require
from staffa._projection import Projection
from staffa._tensors import Columns, Tensors, concat, cut, pick
from staffa.errors import InvalidArgumentError

torch = require("torch", "torch")
data = require("torch.utils.data", "torch")
_MapBase: Any = data.Dataset
_IterableBase: Any = data.IterableDataset

__all__ = ["Batch", "IterableDataset", "MapDataset", "collate"]

# Rows of which whole blocks are decoded; fewer are taken out of them.
_WORTH_BLOCKS = 16_384
# What seeds are multiplied by, so that the next seed is not the next epoch: 2**64 divided by the golden ratio.
_ODD = 0x9E3779B97F4A7C15


class Batch(Sequence[Columns]):
    """Rows that were read together: a sequence of rows, each a dictionary, or `columns`, which `collate` gives."""

    def __init__(self, columns: Columns, rows: int) -> None:
        self.columns = columns
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise TypeError("a row of a batch is asked for by its number")
        if not -self._rows <= index < self._rows:
            raise IndexError(f"index {index} is out of range: the batch has {self._rows} rows")
        return {name: column[index] for name, column in self.columns.items()}


def collate(batch: Batch) -> Columns:
    """The columns of a batch as they are: for `DataLoader(..., collate_fn=staffa.torch.collate)`, which otherwise takes
    it apart into rows and stacks these again.
    """
    if not isinstance(batch, Batch):
        raise InvalidArgumentError(f"collate is for batches of staffa.torch.MapDataset, found {type(batch).__name__}")
    return batch.columns


class MapDataset(_MapBase):  # type: ignore[misc] # PyTorch may not be installed
    """Rows by number. A batch is read with one call, for which the file should be written with `access="random"`."""

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
            source: Whatever `staffa.dataset` takes: a path, a pattern, a folder, a list of these; or a `Dataset`.
            columns: Names of the columns to read; by default all.
            fill_null: Column to the value that it has in place of NULL.
            options: As of `staffa.dataset`.
        """
        self._rows = _dataset_of(source, options)
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
        """Many rows with one call, as DataLoader asks for them."""
        table = self._scanner.take(indices).combine_chunks()
        (batch,) = table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
        return Batch(self._tensors.of(batch), batch.num_rows)


class IterableDataset(_IterableBase):  # type: ignore[misc] # PyTorch may not be installed
    """Batches of rows in order, or shuffled by blocks, divided among ranks and workers.

    Shuffled, blocks of rows come in random order, and the rows of several are mixed in memory. The order depends on
    seed and epoch alone, and every row comes once in an epoch: only those that cannot be divided evenly among ranks are
    left out, fewer than there are ranks. Every rank has as many rows and batches as every other.
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
            source: As of `MapDataset`.
            columns: As of `MapDataset`.
            batch_size: Rows of a batch. DataLoader gets batches, so give it `batch_size=None`.
            shuffle: Whether the order is random.
            seed: Which random order.
            block_rows: Rows that are read and moved together. Fewer shuffle better and read more slowly.
            mixed_blocks: Blocks whose rows are mixed, and so held in memory.
            drop_last: Leave out a last batch that is not full.
            rank: Which part of the rows; by default that of `torch.distributed`, if it is initialised by now.
            world_size: How many parts there are.
            fill_null: As of `MapDataset`.
            options: As of `staffa.dataset`.
        """
        super().__init__()
        self._rows = _dataset_of(source, options)
        self._projection = Projection(self._rows.schema, columns, None)
        self._tensors = Tensors(self._projection.schema, fill_null)
        self._batch_rows = whole_number("batch_size", batch_size, 1) or 1
        self._block_rows = whole_number("block_rows", block_rows, 1) or 1
        self._mixed_blocks = whole_number("mixed_blocks", mixed_blocks, 1) or 1
        self._shuffle, self._drop_last = bool(shuffle), bool(drop_last)
        self._seed = operator.index(seed)
        self._rank, self._world_size = _place(rank, world_size)
        # In shared memory, where workers that go on living see it change.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()

    def set_epoch(self, epoch: int) -> None:
        """Another order, from the next pass over the rows on."""
        self._epoch.fill_(operator.index(epoch))

    def __iter__(self) -> Iterator[Columns]:
        order = torch.Generator().manual_seed((self._seed * _ODD + int(self._epoch)) % 2**63)
        blocks = self._blocks()
        if self._shuffle:
            blocks = [blocks[i] for i in torch.randperm(len(blocks), generator=order).tolist()]
        start, stop = self._share(sum(rows for _, _, rows in blocks))
        pending: list[Columns] = []
        waiting = 0
        for several in _grouped(_cut_out(blocks, start, stop), self._mixed_blocks if self._shuffle else 1):
            pending += [self._tensors.of(batch) for block in several for batch in self._read(*block)]
            waiting += sum(rows for _, _, rows in several)
            columns = concat(pending)
            if self._shuffle:
                columns = pick(columns, torch.randperm(waiting, generator=order))
            full = waiting - waiting % self._batch_rows
            for at in range(0, full, self._batch_rows):
                yield cut(columns, at, at + self._batch_rows)
            pending, waiting = [cut(columns, full, waiting)], waiting - full
        if waiting and not self._drop_last:
            yield pending[0]

    def _blocks(self) -> list[tuple[int, int, int]]:
        """All blocks: the number of the file, the first row in it, the rows."""
        return [
            (file, start, min(self._block_rows, rows - start))
            for file, rows in enumerate(self._rows.rows_by_file)
            for start in range(0, rows, self._block_rows)
        ]

    def _share(self, rows: int) -> tuple[int, int]:
        """Which of all rows, in the order of the blocks, are for this rank and worker."""
        own = rows // self._world_size
        worker = data.get_worker_info()
        number, workers = (worker.id, worker.num_workers) if worker else (0, 1)
        # Whole batches, so that there are as many of them with any number of workers.
        batches = -(-own // self._batch_rows)
        first, last = (min(i * batches // workers * self._batch_rows, own) for i in (number, number + 1))
        return self._rank * own + first, self._rank * own + last

    def _read(self, file: int, start: int, rows: int) -> Iterator[pa.RecordBatch]:
        piece, keys = self._rows.open_file(file)
        if rows < _WORTH_BLOCKS:
            yield piece.take(self._projection, keys, pa.array(range(start, start + rows), pa.int64()))
        else:
            yield from piece.batches(self._projection, keys, None, rows, start)


def _dataset_of(source: Any, options: dict[str, Any]) -> Dataset:
    rows = source if isinstance(source, Dataset) else dataset(source, **options)
    if rows.filtered:
        raise InvalidArgumentError("rows have numbers where there is no filter: write the rows that it keeps to a file")
    return rows


def _place(rank: int | None, world_size: int | None) -> tuple[int, int]:
    if (rank is None) != (world_size is None):
        raise InvalidArgumentError("rank and world_size are given together, or not at all")
    distributed = torch.distributed
    if rank is None and distributed.is_available() and distributed.is_initialized():
        rank, world_size = distributed.get_rank(), distributed.get_world_size()
    own, ranks = whole_number("rank", rank, 0) or 0, whole_number("world_size", world_size, 1) or 1
    if own >= ranks:
        raise InvalidArgumentError(f"rank must be less than world_size, found {own} of {ranks}")
    return own, ranks


def _cut_out(blocks: list[tuple[int, int, int]], start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """The parts of blocks that hold the rows `start..stop` of all of them together."""
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
