"""Size, write and scan of whole tables beside Parquet by pyarrow.

CPU time of one core, medians of interleaved rounds.

python bench/tables.py FOLDER_OF_PARQUET_TABLES
python bench/tables.py FOLDER_OF_PARQUET_TABLES --profile fast --codec snappy
python bench/tables.py FOLDER_OF_PARQUET_TABLES --record      # in results/tables.json, which chart.py draws
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
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
    parser = argparse.ArgumentParser(description="Size, write and scan of whole tables beside Parquet by pyarrow.")
    parser.add_argument("folder", type=Path, help="Parquet tables")
    parser.add_argument("--profile", default="balanced", choices=["fast", "balanced", "small"])
    parser.add_argument("--no-derived-columns", action="store_true", help="every column by itself")
    parser.add_argument("--no-verify", action="store_true", help="blocks are not decoded again when written")
    parser.add_argument("--codec", default="zstd", choices=["zstd", "snappy"], help="of Parquet")
    parser.add_argument("--record", action="store_true", help="the means in results/tables.json")
    args = parser.parse_args()
    if args.record and (args.codec != "zstd" or args.no_derived_columns or args.no_verify):
        parser.error("--record is for profiles beside Zstandard")
    options = {"profile": args.profile, "derived_columns": not args.no_derived_columns, "verify": not args.no_verify}
    level = {"zstd": 3, "snappy": None}[args.codec]
    paths = sorted(args.folder.glob("*.parquet"))
    if not paths:
        parser.error(f"no Parquet tables in {args.folder}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        parquet, own = f"{folder}/t.parquet", f"{folder}/t.staffa"
        for path in paths:
            table = pq.read_table(path)
            writes: list[tuple[float, float]] = []
            for _ in range(3):
                theirs = seconds(pq.write_table, table, parquet, compression=args.codec, compression_level=level)
                writes.append((theirs, seconds(staffa.write_table, table, own, **options)))
            pq_write, write = (statistics.median(s) for s in zip(*writes, strict=True))
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
    if args.record:
        record(args.profile, *means)


def record(profile: str, size: float, scan: float, write: float, parquet_write: float) -> None:
    """Puts the means of a profile into results/tables.json; Parquet's are those of the run of `balanced`."""
    path = Path(__file__).parent / "results/tables.json"
    figures = json.loads(path.read_text())
    figures["staffa"][profile] = {"size": round(size, 3), "scan": round(scan, 1), "write": round(write)}
    if profile == "balanced":
        figures["parquet"]["write"] = round(parquet_write)
    path.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
