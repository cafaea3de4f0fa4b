"""Splits read by engines with processes of their own: Spark's Python source, Ray and Daft beside Parquet.

Each engine runs in a process of its own, Staffa and Parquet in turn. CPU time is that of the process and of all below.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import staffa

ROUNDS = 5
ROW_GROUP_ROWS = 1 << 20
ENGINES = {"Spark": "pyspark", "Ray": "ray", "Daft": "daft"}
COLUMNS = ["l_orderkey", "l_partkey", "l_suppkey", "l_quantity", "l_extendedprice", "l_discount", "l_shipdate"]
COLUMNS += ["l_shipmode"]
FROM, TO = dt.date(1994, 1, 1), dt.date(1995, 1, 1)
CONDITION = (pc.field("l_shipdate") >= pa.scalar(FROM)) & (pc.field("l_shipdate") < pa.scalar(TO))
#: Kinds of files, each with what reads it and returns the number of rows.
Readers = dict[str, Callable[[], int]]
TICKS = os.sysconf("SC_CLK_TCK")


def distributed(data: Path, rounds: int = ROUNDS) -> Any:
    """Seconds and CPU seconds by engine, query and format."""
    with tempfile.TemporaryDirectory() as folder:
        write(data / "lineitem.parquet", Path(folder))
        sizes = {path.suffix[1:]: path.stat().st_size for path in Path(folder).iterdir()}
        out: dict[str, Any] = {"bytes": sizes, "rounds": rounds, "engines": {}}
        for name, library in ENGINES.items():
            if not find_spec(library):
                print(f"{library} is not installed", file=sys.stderr)
                continue
            command = [sys.executable, __file__, name, folder, str(rounds)]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
            out["engines"][name] = json.loads(done.stdout.splitlines()[-1])
        return out


def write(source: Path, folder: Path) -> None:
    """The table in both formats, by row groups of as many rows."""
    table = pq.read_table(source)
    # Daft does not read views.
    fields = [field.with_type(pa.string()) if field.type == pa.string_view() else field for field in table.schema]
    table = table.cast(pa.schema(fields))
    pq.write_table(table, folder / "lineitem.parquet", compression="zstd", row_group_size=ROW_GROUP_ROWS)
    staffa.write_table(table, folder / "lineitem.staffa", row_group_rows=ROW_GROUP_ROWS)


def measure(queries: dict[str, Readers], rounds: int) -> Any:
    """Medians of wall and CPU seconds. All formats must find as many rows."""
    out: dict[str, Any] = {}
    for query, readers in queries.items():
        found = {kind: read() for kind, read in readers.items()}
        if len(set(found.values())) > 1:
            raise SystemExit(f"{query}: {found} rows")
        times: dict[str, list[tuple[float, float]]] = {kind: [] for kind in readers}
        for _ in range(rounds):
            for kind, read in readers.items():
                wall, cpu = time.perf_counter(), cpu_seconds()
                read()
                times[kind].append((time.perf_counter() - wall, cpu_seconds() - cpu))
        out[query] = {
            kind: {"wall": statistics.median(w for w, _ in each), "cpu": statistics.median(c for _, c in each)}
            for kind, each in times.items()
        }
        print(query, json.dumps(out[query]), file=sys.stderr, flush=True)
    return out


def cpu_seconds() -> float:
    """CPU seconds of this process and of all below it, those that ended among them."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            # It ended.
            continue
        process = int(path.parent.name)
        parents[process], ticks[process] = int(fields[1]), sum(map(int, fields[11:15]))
    below = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in below} - below:
        below |= more
    return sum(ticks[process] for process in below) / TICKS


def queries(read: Callable[[str, list[str] | None, bool], int]) -> dict[str, Readers]:
    """What is asked of every engine: `read` gets the format, the columns, and whether rows are filtered."""

    def of(columns: list[str] | None, filtered: bool) -> Readers:
        return {kind: lambda kind=kind: read(kind, columns, filtered) for kind in ("Staffa", "Parquet")}  # type: ignore[misc]

    return {"8 columns, 15% of rows": of(COLUMNS, True), "8 columns": of(COLUMNS, False), "all 16": of(None, False)}


def spark(folder: Path) -> dict[str, Readers]:
    """Spark, two threads: the source of Staffa, and the same source over pyarrow and Parquet."""
    from parquet_source import ParquetDataSource
    from pyspark.sql import DataFrame, SparkSession

    from staffa.spark_source import StaffaDataSource

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.sql.python.filterPushdown.enabled": "true",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    for source in (StaffaDataSource, ParquetDataSource):
        session.dataSource.register(source)

    def read(kind: str, columns: list[str] | None, filtered: bool) -> int:
        reader = session.read.format("staffa" if kind == "Staffa" else "parquet_by_pyarrow")
        if columns:
            reader = reader.option("columns", ",".join(columns))
        frame: DataFrame = reader.load(str(folder / f"lineitem.{kind.lower()}"))
        if filtered:
            frame = frame.where(f"l_shipdate >= date '{FROM}' and l_shipdate < date '{TO}'")
        # All columns come to the JVM, which only counts.
        return int(frame.count())

    return queries(read)


def ray(folder: Path) -> dict[str, Readers]:
    """Ray, two workers."""
    import ray
    import ray.data.expressions

    here = os.pathsep.join(sys.path)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": here}})
    ray.data.DataContext.get_current().enable_progress_bars = False

    def read(kind: str, columns: list[str] | None, filtered: bool) -> int:
        path, day = str(folder / f"lineitem.{kind.lower()}"), ray.data.expressions.col("l_shipdate")
        read_table = staffa.ray.read if kind == "Staffa" else ray.data.read_parquet
        rows = read_table(path, columns=columns)
        if filtered:
            rows = rows.filter(expr=(day >= FROM) & (day < TO))
        return int(rows.materialize().count())

    return queries(read)


def daft(folder: Path) -> dict[str, Readers]:
    """Daft on this machine, with threads of its own."""
    import daft

    def read(kind: str, columns: list[str] | None, filtered: bool) -> int:
        path = str(folder / f"lineitem.{kind.lower()}")
        frame = staffa.daft.read(path) if kind == "Staffa" else daft.read_parquet(path)
        if filtered:
            day = daft.col("l_shipdate")
            frame = frame.where((day >= FROM) & (day < TO))
        return len((frame.select(*columns) if columns else frame).collect())

    return queries(read)


if __name__ == "__main__":
    engine, folder, rounds = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    made = {"Spark": spark, "Ray": ray, "Daft": daft}[engine](folder)
    print(json.dumps(measure(made, rounds)))
