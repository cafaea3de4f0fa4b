"""Random batches of rows through PyTorch's DataLoader: Staffa beside Parquet and, where it is installed, Lance.

    python bench/batches.py TABLE.parquet ... [--rows 256] [--seconds 3]

One process, one map-style dataset for each format, the same random batches, tensors made by the same code. Parquet is
read by pyarrow's dataset (`take`), and by the row groups that hold the rows: the quicker one counts. The formats take
turns, the median of the rounds counts; a batch of each is compared with the table before.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import torch
from torch.utils.data import DataLoader, Dataset

import staffa
from staffa._tensors import Tensors

ROUNDS = 5


class Taken(Dataset):
    """A map-style dataset over anything that takes rows by number."""

    def __init__(self, count: int, take: Callable[[list[int]], pa.Table]) -> None:
        self.count, self.take = count, take

    def __len__(self) -> int:
        return self.count

    def __getitems__(self, rows: list[int]) -> dict[str, Any]:
        (batch,) = self.take(rows).combine_chunks().to_batches()
        return Tensors(batch.schema, None).of(batch)


def by_row_groups(path: Path) -> Callable[[list[int]], pa.Table]:
    """Decodes the row groups that hold the rows, and takes them out."""
    file = pq.ParquetFile(path)
    ends, end = [], 0
    for group in range(file.num_row_groups):
        end += file.metadata.row_group(group).num_rows
        ends.append(end)

    def take(rows: list[int]) -> pa.Table:
        groups = sorted({next(i for i, end in enumerate(ends) if row < end) for row in rows})
        starts, at = {}, 0
        for group in groups:
            first = ends[group - 1] if group else 0
            starts[group] = at - first
            at += ends[group] - first
        places = [row + starts[next(i for i, end in enumerate(ends) if row < end)] for row in rows]
        return file.read_row_groups(groups).take(places)

    return take


def formats(table: pa.Table, folder: Path) -> dict[str, Any]:
    """A dataset for each format."""
    count = table.num_rows
    pq.write_table(table, folder / "t.parquet", compression="zstd")
    found: dict[str, Any] = {
        "Parquet, take": Taken(count, ds.dataset(folder / "t.parquet").take),
        "Parquet, row groups": Taken(count, by_row_groups(folder / "t.parquet")),
    }
    for access in ("scan", "random"):
        staffa.write_table(table, folder / f"{access}.staffa", access=access)
        found[f"Staffa, {access}"] = staffa.torch.MapDataset(folder / f"{access}.staffa")
    try:
        import lance
    except ImportError:
        print("Lance is not installed")
    else:
        rows = lance.write_dataset(table, str(folder / "t.lance"))
        found["Lance"] = Taken(count, rows.take)
    return found


def columns(batch: Any) -> dict[str, Any]:
    """Of whatever `__getitems__` gives."""
    return batch.columns if isinstance(batch, staffa.torch.Batch) else batch


def _holds_null(data_type: pa.DataType) -> bool:
    return pa.types.is_floating(data_type) or pa.types.is_string(data_type) or pa.types.is_large_string(data_type)


def same(left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Whether two batches hold the same values."""
    return left.keys() == right.keys() and all(
        torch.equal(column.nan_to_num(-1.5), right[name].nan_to_num(-1.5))
        if isinstance(column, torch.Tensor)
        else column == right[name]
        for name, column in left.items()
    )


def batches_a_second(rows: Any, batch_rows: int, seconds: float, seed: int) -> float:
    """The rate at which a DataLoader without workers gives random batches."""
    rng = random.Random(seed)
    sampler = ([rng.randrange(len(rows)) for _ in range(batch_rows)] for _ in range(10**9))
    loader = iter(DataLoader(rows, batch_sampler=sampler, collate_fn=columns))
    next(loader)
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        next(loader)
        count += 1
    return count / (time.perf_counter() - start)


def main() -> None:
    """Measures the tables that were named."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("tables", nargs="+", type=Path)
    arguments.add_argument("--rows", type=int, default=256)
    arguments.add_argument("--seconds", type=float, default=3)
    given = arguments.parse_args()
    for path in given.tables:
        table = pq.read_table(path)
        # Numbers with NULL are no tensors, but for floats: left out of all.
        kept = [f.name for f in table.schema if not table[f.name].null_count or _holds_null(f.type)]
        table = table.select(kept).replace_schema_metadata(None)
        with tempfile.TemporaryDirectory() as folder:
            found = formats(table, Path(folder))
            some = [random.randrange(table.num_rows) for _ in range(1000)]
            expected = Taken(table.num_rows, table.take).__getitems__(some)
            for name, rows in found.items():
                assert same(columns(rows.__getitems__(some)), expected), name
            rates: dict[str, list[float]] = {name: [] for name in found}
            for turn in range(ROUNDS):
                for name, rows in found.items():
                    rates[name].append(batches_a_second(rows, given.rows, given.seconds / ROUNDS, turn))
            size = f"{table.num_rows:,} rows, {table.num_columns} columns"
            print(f"{path.stem}: {size}; batches of {given.rows} a second")
            parquet = max(statistics.median(rates[name]) for name in rates if name.startswith("Parquet"))
            for name, several in rates.items():
                rate = statistics.median(several)
                print(f"  {name:<20} {rate:9.1f}   {rate / parquet:6.1f} times Parquet")


if __name__ == "__main__":
    main()
