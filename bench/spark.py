"""TPC-H by Spark on this machine, over Parquet with Zstandard and over Staffa, both written by Spark."""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import engines

KINDS = ["parquet", "staffa"]
WARMING = 2


def spark(data: Path, folder: Path, rounds: int, queries: Path | None, only: list[str] | None = None) -> Any:
    """CPU and wall seconds of each query by each kind, in turn; plans; whether the answers are DuckDB's."""
    import duckdb

    # In the repository it stands in a folder apart from the package `staffa`, which may be installed or not.
    own = engines.BENCH.parent / "jvm" / "python"
    sys.path.append(str(own))
    import staffa

    staffa.__path__.append(str(own / "staffa"))
    import staffa.spark

    builder = staffa.spark.builder().master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    builder = builder.config("spark.driver.memory", "4g").config("spark.sql.shuffle.partitions", "4")
    session = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        sizes = make(session, data, folder)
        texts = {n: text for n, text in engines.tpch_queries(queries).items() if not only or n in only}
        con = duckdb.connect()
        for table in engines.TPCH:
            con.execute(f"CREATE VIEW {table} AS FROM '{data}/{table}.parquet'")
        measured = {number: query(session, folder, text, rounds) for number, text in texts.items()}
        for number, one in measured.items():
            expected = con.execute(texts[number]).fetchall()
            one["as_duckdb"] = {kind: engines.same_rows(rows, expected) for kind, rows in one.pop("rows").items()}
    finally:
        session.stop()
    return {"bytes": sizes, "queries": measured, "rounds": rounds, "warming": WARMING}


def make(session: Any, data: Path, folder: Path) -> dict[str, int]:
    """The tables as both kinds, unless they are there; bytes of each."""
    for table in engines.TPCH:
        for kind in KINDS:
            target = folder / kind / table
            if not target.exists():
                source = session.read.parquet(str(data / f"{table}.parquet"))
                options = {"compression": "zstd"} if kind == "parquet" else {}
                source.write.format(kind).options(**options).save(str(target))
    files = {kind: (folder / kind).rglob(f"*.{kind}") for kind in KINDS}
    return {kind: sum(path.stat().st_size for path in paths) for kind, paths in files.items()}


def query(session: Any, folder: Path, text: str, rounds: int) -> dict[str, Any]:
    """One query: the kinds take turns in every round."""
    out: dict[str, Any] = {"cpu": {}, "wall": {}, "rows": {}, "joins": {}}
    times: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for at in range(WARMING + rounds):
        for kind in KINDS if at % 2 else KINDS[::-1]:
            for table in engines.TPCH:
                session.read.format(kind).load(str(folder / kind / table)).createOrReplaceTempView(table)
            gc.collect()
            cpu, wall = cpu_seconds(session), time.perf_counter()
            frame = session.sql(text)
            rows = frame.collect()
            if at >= WARMING:
                times[kind].append((cpu_seconds(session) - cpu, time.perf_counter() - wall))
            out["rows"][kind] = [[None if value is None else str(value) for value in row] for row in rows]
            out["joins"][kind] = joins(frame)
    for kind, pairs in times.items():
        out["cpu"][kind] = statistics.median(pair[0] for pair in pairs)
        out["wall"][kind] = statistics.median(pair[1] for pair in pairs)
    return out


def joins(frame: Any) -> dict[str, int]:
    """Joins of the plan that ran, by kind."""
    plan = frame._jdf.queryExecution().executedPlan().toString().partition("== Initial Plan ==")[0]
    return {name: plan.count(f"{name} ") for name in ("BroadcastHashJoin", "SortMergeJoin", "ShuffledHashJoin")}


def cpu_seconds(session: Any) -> float:
    """CPU time of the virtual machine so far."""
    pid = session._jvm.java.lang.ProcessHandle.current().pid()
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
