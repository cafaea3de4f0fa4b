"""What caches bring to scans that come again.

    python bench/caches.py blocks TABLE.parquet...
    python bench/caches.py disk lineitem.parquet

`blocks`: scans of tables of the local disk without the cache of blocks, with blocks that stay encoded, and decoded.
`disk`: queries over an object store on loopback (`pip install 'moto[s3,server]'`) without and with the disk cache,
and over the same file of the local disk. What is compared takes turns; medians; tables are printed as Markdown.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pyarrow.parquet as pq

import staffa

_ROUNDS = 11
# In a process of its own: Python runs one thread at a time.
_SERVER = """
import sys, moto.server
server = moto.server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""
_QUERIES: dict[str, dict[str, Any]] = {
    "one column": {"columns": ["l_extendedprice"]},
    "four columns, one filter": {
        "columns": ["l_quantity", "l_extendedprice", "l_discount"],
        "filter": "l_shipdate >= '1994-01-01' and l_shipdate < '1995-01-01'",
    },
    "all columns": {},
}


class Time(NamedTuple):
    """Seconds of the clock and of the processors."""

    wall: float
    cpu: float


def scan(file: staffa.File, **options: Any) -> Time:
    """Scans a file and drops its rows."""
    wall, cpu = time.perf_counter(), time.process_time()
    with file.scan(**options) as reader:
        for _ in reader:
            pass
    return Time(time.perf_counter() - wall, time.process_time() - cpu)


def blocks(path: str, folder: Path) -> str:
    """A line about a table: memory and CPU time by what the cache keeps."""
    table = pq.read_table(path)
    stored = folder / "t.staffa"
    staffa.write_table(table, stored, overwrite=True)
    files = {cached: staffa.open(stored) for cached in (False, "encoded", "decoded")}
    held = []
    for cached, file in files.items():
        before = staffa.cache_info().nbytes
        once = scan(file, cached=cached)
        held.append((staffa.cache_info().nbytes - before) / 1e6)
    repeats = max(1, int(0.05 / once.wall))
    times: dict[Any, list[float]] = {cached: [] for cached in files}
    for _ in range(_ROUNDS):
        for cached, file in files.items():
            times[cached].append(sum(scan(file, cached=cached).cpu for _ in range(repeats)) / repeats)
    shares = [median(a / b for a, b in zip(times[kept], times[False], strict=True)) for kept in ("encoded", "decoded")]
    name = f"{Path(path).stem}, {table.num_rows:,} x {table.num_columns}"
    kept = " | ".join(f"{size:.1f} MB, {share:.2f}" for size, share in zip(held[1:], shares, strict=True))
    return f"| {name} | {stored.stat().st_size / 1e6:.1f} MB | {median(times[False]) * 1e3:.1f} ms | {kept} |"


def disk(path: str, url: str, folder: Path) -> None:
    """Prints a line about each query."""
    print("| ms to open + scan | local | disk cache | store | scans, cache / local: wall, CPU |\n|---|---|---|---|---|")
    for name, options in _QUERIES.items():
        times: dict[str, list[tuple[float, Time]]] = {"local": [], "disk cache": [], "store": []}
        for turn in range(_ROUNDS + 1):
            staffa.set_disk_cache(None)
            local = query(path, options)
            store = query(url, options)
            staffa.set_disk_cache(folder, 10 << 30)
            before = staffa.disk_cache_info()
            cached = query(url, options)
            after = staffa.disk_cache_info()
            if turn == 0:
                continue
            assert before is not None and after is not None and after.miss_bytes == before.miss_bytes
            for to, found in zip(times, (local, cached, store), strict=True):
                times[to].append(found)
        pairs = [(cached, local) for (_, cached), (_, local) in zip(times["disk cache"], times["local"], strict=True)]
        shares = median(a.wall / b.wall for a, b in pairs), median(a.cpu / b.cpu for a, b in pairs)
        cells = [
            f"{median(o for o, _ in f) * 1e3:.1f} + {median(s.wall for _, s in f) * 1e3:.1f}" for f in times.values()
        ]
        print(f"| {name} | {' | '.join(cells)} | {shares[0]:.2f}, {shares[1]:.2f} |", flush=True)


def query(source: str, options: dict[str, Any]) -> tuple[float, Time]:
    """Opens a file and scans it: seconds of each."""
    start = time.perf_counter()
    file = staffa.open(source)
    return time.perf_counter() - start, scan(file, **options)


def main(command: str, *paths: str) -> None:
    """Runs a command."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if command == "blocks":
            staffa.set_cache_bytes(4 << 30)
            print("| table | file | CPU time without | encoded: memory, share | decoded |\n|---|---|---|---|---|")
            for path in paths:
                print(blocks(path, folder), flush=True)
            return
        stored = str(folder / "lineitem.staffa")
        staffa.write_table(pq.read_table(paths[0]), stored)
        with subprocess.Popen(
            [sys.executable, "-c", _SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as server:
            assert server.stdout is not None
            port = server.stdout.readline().strip()
            settings = {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "REGION": "us-east-1"}
            settings["ENDPOINT_URL"] = f"http://127.0.0.1:{port}"
            os.environ.update({f"AWS_{key}": value for key, value in settings.items()})
            import boto3

            client = boto3.client("s3", endpoint_url=settings["ENDPOINT_URL"])
            client.create_bucket(Bucket="bucket")
            client.upload_file(stored, "bucket", "t.staffa")
            disk(stored, "s3://bucket/t.staffa", folder / "cache")
            server.communicate()


if __name__ == "__main__":
    if sys.argv[1:2] not in (["blocks"], ["disk"]) or len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
