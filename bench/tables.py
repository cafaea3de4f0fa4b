"""Size, write and scan of whole tables beside Parquet zstd-3 by pyarrow.

CPU time of one core, medians of interleaved rounds.

python bench/tables.py FOLDER_OF_PARQUET_TABLES
"""

from __future__ import annotations

import math
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

os.sched_setaffinity(0, {0})

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

import staffa  # noqa: E402

pa.set_cpu_count(1)


def seconds(run, *args, **options) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    run(*args, **options)
    return time.process_time() - start


def main() -> None:
    """Prints a line per table and the geometric means of those of 2 MB and more."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        parquet, own = f"{folder}/t.parquet", f"{folder}/t.staffa"
        for path in sorted(Path(sys.argv[1]).glob("*.parquet")):
            table = pq.read_table(path)
            pq_write = seconds(pq.write_table, table, parquet, compression="zstd", compression_level=3)
            write = seconds(staffa.write_table, table, own)
            if staffa.open(own).num_rows != table.num_rows:
                raise SystemExit(f"{path}: rows are missing")
            scans: list[tuple[float, float]] = []
            for _ in range(5):
                theirs = seconds(lambda: pq.ParquetFile(parquet, memory_map=True).read(use_threads=False))
                scans.append((theirs, seconds(lambda: staffa.open(own).to_table())))
            theirs, ours = (statistics.median(s) for s in zip(*scans, strict=True))
            size = Path(own).stat().st_size / Path(parquet).stat().st_size
            row = (size, theirs / ours, table.nbytes / write / 1e6, table.nbytes / pq_write / 1e6)
            line = "size {:.3f}  scan x{:.2f}  write {:.0f} ({:.0f}) MB/s".format(*row)
            print(f"{path.stem:26} {table.nbytes:>10}  {line}")
            if table.nbytes >= 2_000_000:
                rows.append(row)
    means = [math.exp(statistics.fmean(map(math.log, column))) for column in zip(*rows, strict=True)]
    print("geometric means: size {:.3f}, scan x{:.2f}, write {:.0f} ({:.0f}) MB/s".format(*means))


if __name__ == "__main__":
    main()
