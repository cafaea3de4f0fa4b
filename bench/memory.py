"""Peak memory of writing wide tables, beside what the caller holds: 400 mixed columns of 200,000 rows, 10,000 of 2,000.

Every line is a process of its own, which writes the table three times over: whole, as batches that its caller
keeps, or as a stream of batches that its caller drops. Resident memory, code included (Linux).

python bench/memory.py
python bench/memory.py --columns 400 --rows 200000 --batch-rows 4096
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
from wide import mixed

import staffa

SHAPES = ((400, 200_000, 4096), (10_000, 2000, 250))
WAYS = ("whole", "batches", "stream")
TIMES = 3
DISTINCT = 40


def table(columns: int, rows: int) -> pa.Table:
    """Mixed columns, of which many have the same values in another order; each has memory of its own."""
    random = np.random.default_rng(7)
    base = list(islice(mixed(rows, random), DISTINCT))
    arrays = []
    for i in range(columns):
        array, cut = base[i % DISTINCT], int(random.integers(1, rows))
        arrays.append(pa.concat_arrays([array.slice(cut), array.slice(0, cut)]))
    return pa.table(arrays, [f"c{i}" for i in range(columns)])


def copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch with memory of its own."""
    columns = [pa.concat_arrays([column.slice(0, 1), column.slice(1)]) for column in batch.columns]
    return pa.record_batch(columns, schema=batch.schema)


def resident(key: str) -> float:
    """MiB by a line of the process's status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))


def measure(columns: int, rows: int, batch_rows: int, way: str) -> str:
    """Writes in one of the ways; MiB before, and of the peak beyond that."""
    held = table(columns, batch_rows if way == "stream" else rows)
    batches = held.to_batches(batch_rows)
    gc.collect()
    pa.default_memory_pool().release_unused()

    def data() -> Iterator[pa.RecordBatch | pa.Table]:
        if way == "stream":
            yield from (copied(batches[0]) for _ in range(0, rows * TIMES, batch_rows))
        else:
            for _ in range(TIMES):
                yield from [held] if way == "whole" else batches

    with tempfile.TemporaryDirectory() as folder:
        before = resident("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        with staffa.Writer(f"{folder}/t.staffa", held.schema) as writer:
            for some in data():
                writer.write_table(some)
        return f"{before:.0f} {resident('VmHWM') - before:.0f}"


def main() -> None:
    """Prints a line per shape and way."""
    parser = argparse.ArgumentParser(description="Peak memory of writing wide tables, beside what the caller holds.")
    parser.add_argument("--columns", type=int, help="columns of one shape, instead of both")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--batch-rows", type=int, default=250)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.way:
        print(measure(args.columns, args.rows, args.batch_rows, args.way))
        return
    for columns, rows, batch_rows in [(args.columns, args.rows, args.batch_rows)] if args.columns else SHAPES:
        for way in WAYS:
            options = [f"--columns={columns}", f"--rows={rows}", f"--batch-rows={batch_rows}", f"--way={way}"]
            command = [sys.executable, __file__, *options]
            before, peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            print(
                f"{columns} x {rows}, {way:7}: the caller holds {before} MiB, the writer {peak} MiB at most", flush=True
            )


if __name__ == "__main__":
    main()
