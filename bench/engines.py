"""Queries by DuckDB over the same tables as Parquet, as Staffa (extension and dataset), and in its own file."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
TPCH = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"]
SSB = ["lineorder", "customer", "supplier", "part", "date"]
KINDS = ["parquet", "staffa", "dataset", "duckdb"]


def tpch_queries(given: Path | None) -> dict[str, str]:
    """The texts are DuckDB's: from its extension `tpch`, or from a file, {"1": "SELECT ..."}."""
    import duckdb

    if given:
        return {f"Q{number}": text for number, text in json.loads(given.read_text()).items()}
    con = duckdb.connect()
    try:
        con.execute("INSTALL tpch; LOAD tpch")
    except duckdb.Error as error:
        raise SystemExit(f"the queries come from DuckDB's extension tpch, or by --queries FILE: {error}") from error
    return {f"Q{number}": text for number, text in con.execute("SELECT query_nr, query FROM tpch_queries()").fetchall()}


def same_rows(found: list[list[str | None]], expected: list[tuple[Any, ...]]) -> bool:
    """Whether rows as text are those of DuckDB, in any order: numbers to nine digits, or to the last decimal printed.

    DataFusion's averages of decimals have four decimals more than the column, DuckDB's are doubles.
    """

    def number(value: Any) -> float | None:
        try:
            return float(value)
        except (TypeError, ValueError):
            return None

    def key(row: Any) -> list[str]:
        numbers = map(number, row)
        return [str(value) if n is None else f"{n:.4e}" for value, n in zip(row, numbers, strict=True)]

    def same(text: str | None, value: Any) -> bool:
        ours, theirs = number(text), number(value)
        if ours is None or theirs is None:
            return (text is None) == (value is None) and (text is None or text == str(value))
        last = 10.0 ** -len(text.partition(".")[2]) if text and "." in text else 0
        return abs(ours - theirs) <= max(1e-9 * abs(theirs), last)

    pairs = zip(sorted(found, key=key), sorted(expected, key=key), strict=False)
    return len(found) == len(expected) and all(len(a) == len(b) and all(map(same, a, b)) for a, b in pairs)


def ssb_queries() -> dict[str, str]:
    """Those of the Star Schema Benchmark."""
    text = (BENCH / "ssb_queries.sql").read_text()
    parts = re.findall(r"^-- (Q\d\.\d) ff=[^\n]*\n(.*?);", text, re.DOTALL | re.MULTILINE)
    return dict(parts)


def make_ssb(folder: Path, data: Path, scale: float = 1) -> None:
    """The tables of the Star Schema Benchmark as Parquet, out of TPC-H of a scale factor."""
    import duckdb

    con = duckdb.connect(config={"memory_limit": "8GB", "temp_directory": str(folder / "spill")})
    con.execute(f"SET VARIABLE sf = {scale}; SET VARIABLE src = '{data}'")
    con.execute((BENCH / "ssb.sql").read_text())
    for table in SSB:
        options = "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 1048576"
        con.execute(f"COPY (FROM \"{table}\") TO '{folder}/{table}.parquet' ({options})")


def by_datafusion(data: Path, texts: dict[str, str], rounds: int, kinds: list[str] | None = None) -> dict[str, Any]:
    """CPU seconds of each query by each kind, and whether the answers are DuckDB's."""
    import duckdb

    crate = ["--manifest-path", str(BENCH.parent / "crates/staffa-datafusion/Cargo.toml"), "--features", "parquet"]
    command = ["cargo", "run", "--quiet", "--profile", "sql", *crate, "--example", "tpch", "--", str(data)]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(texts, file)
        file.flush()
        more = [",".join(kinds)] if kinds else []
        done = subprocess.run([*command, file.name, str(rounds), *more], stdout=subprocess.PIPE, check=True)
    measured: dict[str, Any] = json.loads(done.stdout)
    con = duckdb.connect()
    for path in data.glob("*.parquet"):
        con.execute(f"CREATE VIEW \"{path.stem}\" AS FROM '{path}'")
    for number, query in measured["queries"].items():
        query["as_duckdb"] = same_rows(query.pop("rows"), con.execute(texts[number]).fetchall())
    return measured


def make(tables: list[str], folder: Path, data: Path | None, scale: float) -> None:
    """The tables of a benchmark as Parquet (Zstandard, 1,048,576 rows a group), as Staffa and as one DuckDB file."""
    import duckdb

    import staffa

    con = duckdb.connect(config={"memory_limit": "8GB", "temp_directory": str(folder / "spill")})
    if "lineorder" in tables:
        con.execute(f"SET VARIABLE sf = {scale}; SET VARIABLE src = '{data}'")
        con.execute((BENCH / "ssb.sql").read_text())
    con.execute(f"ATTACH '{folder}/tables.duckdb' AS file")
    for table in tables:
        source = f'"{table}"' if "lineorder" in tables else f"'{data}/{table}.parquet'"
        out = folder / table
        con.execute(
            f"COPY (FROM {source}) TO '{out}.parquet' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 1048576)"
        )
        staffa.write_table(con.sql(f"FROM '{out}.parquet'"), f"{out}.staffa")
        con.execute(f"CREATE TABLE file.\"{table}\" AS FROM '{out}.parquet'")


def measure(tables: list[str], queries: dict[str, str], folder: Path, rounds: int) -> dict[str, Any]:
    """CPU seconds of each query by each kind, on one core, in turn, the median; and whether the answers agree."""
    import duckdb

    import staffa
    import staffa.duckdb

    cons = {}
    for kind in KINDS:
        con = staffa.duckdb.connect(config={"threads": "1", "memory_limit": "8GB"})
        if kind == "duckdb":
            con.execute(f"ATTACH '{folder}/tables.duckdb' AS file (READ_ONLY); USE file")
        elif kind == "dataset":
            for table in tables:
                con.register(table, staffa.dataset(str(folder / f"{table}.staffa")))
        else:
            for table in tables:
                con.execute(f"CREATE VIEW \"{table}\" AS FROM '{folder}/{table}.{kind}'")
        cons[kind] = con
    out: dict[str, Any] = {"duckdb": duckdb.__version__, "rounds": rounds, "queries": {}}
    times: dict[str, dict[str, list[float]]] = {name: {kind: [] for kind in KINDS} for name in queries}
    same = {}
    # The first round, which warms files and memory, does not count.
    for turn in range(rounds + 1):
        for name, query in queries.items():
            answers = {}
            for kind in KINDS if turn % 2 else reversed(KINDS):
                begun = time.process_time()
                answers[kind] = cons[kind].execute(query).fetchall()
                times[name][kind].append(time.process_time() - begun)
            agree = [equal(answers["parquet"], answers[kind]) for kind in KINDS]
            same[name] = same.get(name, True) and all(agree)
    for name, of_kind in times.items():
        out["queries"][name] = {kind: statistics.median(seconds[1:]) for kind, seconds in of_kind.items()}
        out["queries"][name]["same"] = same[name]
    files = ("parquet", "staffa")
    sizes = {kind: sum((folder / f"{table}.{kind}").stat().st_size for table in tables) for kind in files}
    out["bytes"] = {**sizes, "duckdb": (folder / "tables.duckdb").stat().st_size}
    return out


def equal(left: Any, right: Any) -> bool:
    """Sums of doubles depend on the order in which they are added."""
    if isinstance(left, float) and isinstance(right, float):
        return abs(left - right) <= 1e-9 * max(abs(left), abs(right))
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(equal, left, right))
    return bool(left == right)
