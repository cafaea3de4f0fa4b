"""What a scan out of an object store costs: requests and bytes as the store counts them, CPU time of the reader.

Readers are those that people use: Staffa by its URL, Parquet by pyarrow's dataset, which reads columns ahead in joined
ranges. One core for the reader, the store in another process.
"""

from __future__ import annotations

import os

# Before the libraries ask.
os.environ["RAYON_NUM_THREADS"] = "1"

import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import fs
from store import Store

import staffa

ROUNDS = 3
CODECS = {"Parquet": "none", "Parquet Snappy": "snappy", "Parquet Zstd": "zstd"}
KINDS = ["Staffa", *CODECS]
# By the prefix of their columns.
TABLES = {"l": "lineitem", "o": "orders", "c": "customer", "p": "part", "ps": "partsupp"}
TABLES.update(s="supplier", n="nation", r="region")
# What the figures ask of a slow link.
LATENCY, BITS = 0.002, 1e9

Batches = Callable[[Store, str, list[str] | None], Iterator[pa.RecordBatch]]


def read_staffa(store: Store, name: str, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
    """By its URL."""
    yield from staffa.open(f"{store.url}/{name}").iter_batches(columns=columns)


def read_parquet(store: Store, name: str, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
    """By pyarrow's dataset, one thread to decode."""
    host = fs.S3FileSystem(anonymous=True, endpoint_override=store.address, scheme="http", region="us-east-1")
    dataset = ds.dataset(f"bucket/{name}", filesystem=host, format="parquet")
    yield from dataset.to_batches(columns=columns, use_threads=False)


def file_name(table: str, kind: str) -> str:
    """Of a table in the store."""
    return f"{table}.staffa" if kind == "Staffa" else f"{table}.{CODECS[kind]}.parquet"


def write(source: Path, folder: Path) -> None:
    """A table in every format, by row groups of 1,048,576 rows: the default of Staffa and of pyarrow."""
    file = pq.ParquetFile(source)
    writers = [
        pq.ParquetWriter(
            folder / file_name(source.stem, kind),
            file.schema_arrow,
            compression=codec,
            **({"compression_level": 3} if codec == "zstd" else {}),
        )
        for kind, codec in CODECS.items()
    ]
    with staffa.Writer(folder / file_name(source.stem, "Staffa"), file.schema_arrow) as ours:
        held: list[pa.RecordBatch] = []
        for batch in file.iter_batches(1 << 17):
            held.append(batch)
            if sum(b.num_rows for b in held) >= 1 << 20:
                put(held, [*writers, ours])
                held = []
        put(held, [*writers, ours])
    for writer in writers:
        writer.close()


def put(batches: list[pa.RecordBatch], writers: list[Any]) -> None:
    """Some rows to all."""
    if not batches:
        return
    table = pa.Table.from_batches(batches)
    for writer in writers:
        writer.write_table(table)


def scan(store: Store, kind: str, table: str, columns: list[str] | None) -> dict[str, float]:
    """One scan: requests, bytes, CPU seconds, and the bytes of Arrow that came out."""
    read: Batches = read_staffa if kind == "Staffa" else read_parquet
    store.counts()
    start = time.process_time()
    arrow = rows = 0
    for batch in read(store, file_name(table, kind), columns):
        arrow += batch.nbytes
        rows += batch.num_rows
    seconds = time.process_time() - start
    counts = store.counts()
    return {"requests": counts.requests, "bytes": counts.bytes, "cpu": seconds, "arrow": arrow, "rows": rows}


def scans(store: Store, wanted: dict[str, list[str] | None], rounds: int) -> dict[str, dict[str, float]]:
    """Every table's scan by every format in turn, the medians added up."""
    total = {kind: dict.fromkeys(("requests", "bytes", "cpu", "arrow"), 0.0) for kind in KINDS}
    for table, columns in wanted.items():
        found: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
        for _ in range(rounds):
            for kind in KINDS:
                found[kind].append(scan(store, kind, table, columns))
        if len({runs[0]["rows"] for runs in found.values()}) > 1:
            raise SystemExit(f"{table}: {[(kind, runs[0]['rows']) for kind, runs in found.items()]} rows")
        for kind, runs in found.items():
            for key in total[kind]:
                total[kind][key] += statistics.median(run[key] for run in runs)
        # What comes out is the same, whatever each library counts of it.
        for kind in KINDS:
            total[kind]["arrow"] = total["Parquet"]["arrow"]
    return total


def columns_of(query: str, schemas: dict[str, list[str]]) -> dict[str, list[str] | None]:
    """The columns of each table that a query names."""
    named = set(re.findall(r"\b[a-z]{1,2}_[a-z]+\b", query.lower()))
    wanted = {table: [column for column in schema if column in named] for table, schema in schemas.items()}
    return {table: columns for table, columns in wanted.items() if columns}


def slow_link(folder: Path, table: str) -> dict[str, float]:
    """Seconds for all of a table over a slow link, and the memory of the process that reads."""
    done = subprocess.run(
        [sys.executable, __file__, "slow", str(folder), table], stdout=subprocess.PIPE, check=True, text=True
    )
    return dict(json.loads(done.stdout))


def slow(folder: Path, table: str) -> None:
    """In a process of its own: prints seconds, bytes and the most memory held, beyond that of the libraries."""
    with Store(folder, LATENCY, BITS) as store:
        next(read_staffa(store, file_name(table, "Staffa"), None))
        store.counts()
        before = most_held()
        start = time.monotonic()
        for batch in read_staffa(store, file_name(table, "Staffa"), None):
            del batch
        seconds = time.monotonic() - start
        found = {"seconds": seconds, "bytes": store.counts().bytes, "link": BITS / 8, "before": before}
        print(json.dumps({**found, "resident": most_held()}))


def most_held() -> int:
    """Most memory that this process has held; `getrusage` would count its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024


def s3_cost(data: Path, tpch: Path | None, queries: Path | None) -> Any:
    """BtrBlocks, section 6.7: whole tables, and the columns of TPC-H's queries."""
    import engines

    pa.set_cpu_count(1)
    out: dict[str, Any] = {"whole": {}, "files": {}, "queries": {}, "slow": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        real = [path.stem for path in sorted(data.glob("*.parquet"))]
        of_tpch = [path for path in sorted(tpch.glob("*.parquet")) if path.stem in TABLES.values()] if tpch else []
        for path in [*sorted(data.glob("*.parquet")), *of_tpch]:
            write(path, folder)
        sizes = {kind: lambda table, kind=kind: (folder / file_name(table, kind)).stat().st_size for kind in KINDS}
        groups = {"open tables": real, "lineitem": ["lineitem"] if of_tpch else []}
        with Store(folder) as store:
            for label, tables in groups.items():
                if tables:
                    out["whole"][label] = scans(store, dict.fromkeys(tables), ROUNDS)
                    out["files"][label] = {kind: sum(map(size, tables)) for kind, size in sizes.items()}
            schemas = {path.stem: pq.read_schema(path).names for path in of_tpch}
            for number, text in engines.tpch_queries(queries).items() if of_tpch else ():
                if wanted := columns_of(text, schemas):
                    out["queries"][number] = scans(store, wanted, 1)
        if of_tpch:
            out["slow"] = slow_link(folder, "lineitem")
    return out


if __name__ == "__main__" and sys.argv[1:2] == ["slow"]:
    slow(Path(sys.argv[2]), sys.argv[3])
