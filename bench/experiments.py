"""The experiments of the papers, again, on tables of yours.

python bench/experiments.py NAME --data FOLDER

Builds and runs the program in bench/experiments, and writes NAME.md and NAME.svg into bench/results. bench/README.md
says what each is about, and what data it needs.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
RESULTS = BENCH / "results"
NAMES = ["checksum", "codecs", "decode", "doubles", "inverted", "pool", "positions", "sampling", "selections", "simd"]
NAMES += ["distributed", "embeddings", "formats", "hyrise", "posdb", "s3_cost", "spark", "superscalar"]
NAMES += ["superscalar_tpch", "tpch", "tpch_datafusion", "types", "without"]
OF_TPCH = ["codecs", "distributed", "hyrise", "posdb", "selections", "spark", "superscalar", "superscalar_tpch"]
OF_TPCH += ["tpch", "tpch_datafusion"]
KINDS = {**dict.fromkeys(OF_TPCH, "TPCH_FOLDER"), "inverted": "TEXT", "formats": "TPCDS_FOLDER"}
WITH_TPCH = ["decode", "simd"]
# Measured by formats.py, not by the program.
BY_PYTHON = ["embeddings", "formats"]

# Lineorder of the Star Schema Benchmark (O'Neil, O'Neil, Chen) out of TPC-H: money in cents, dates as yyyymmdd.
LINEORDER = """
SELECT l_orderkey::INTEGER AS lo_orderkey, l_linenumber::INTEGER AS lo_linenumber,
       ((o_custkey - 1) % (30000 * {scale}) + 1)::INTEGER AS lo_custkey, l_partkey::INTEGER AS lo_partkey,
       ((l_suppkey - 1) % (2000 * {scale}) + 1)::INTEGER AS lo_suppkey,
       strftime(o_orderdate, '%Y%m%d')::INTEGER AS lo_orderdate,
       o_orderpriority AS lo_orderpriority, o_shippriority::VARCHAR AS lo_shippriority,
       l_quantity::INTEGER AS lo_quantity, (l_extendedprice * 100)::INTEGER AS lo_extendedprice,
       (o_totalprice * 100)::INTEGER AS lo_ordtotalprice, (l_discount * 100)::INTEGER AS lo_discount,
       ((l_extendedprice * (1 - l_discount)) * 100)::INTEGER AS lo_revenue,
       ((l_extendedprice / l_quantity) * 60)::INTEGER AS lo_supplycost, (l_tax * 100)::INTEGER AS lo_tax,
       strftime(l_commitdate, '%Y%m%d')::INTEGER AS lo_commitdate, l_shipmode AS lo_shipmode
FROM read_parquet('{folder}/lineitem.parquet') JOIN read_parquet('{folder}/orders.parquet') ON l_orderkey = o_orderkey
ORDER BY lo_orderkey, lo_linenumber
"""


def run(name: str, data: Path, *more: str) -> Any:
    """What the program measured."""
    command = ["cargo", "run", "--quiet", "--release", "--manifest-path", str(BENCH / "experiments/Cargo.toml")]
    done = subprocess.run([*command, "--", name, str(data), *more], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def parquet(data: Path) -> dict[str, dict[str, Any]]:
    """Bytes of every column of every table as Parquet, by codec: pyarrow's defaults."""
    import pyarrow.parquet as pq

    out: dict[str, dict[str, Any]] = {}
    codecs = {"Parquet": "none", "+LZ4": "lz4", "+Snappy": "snappy", "+Zstd": "zstd"}
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(data.glob("*.parquet")):
            table = pq.read_table(path)
            for label, codec in codecs.items():
                options = {"compression_level": 3} if codec == "zstd" else {}
                pq.write_table(table, f"{folder}/t.parquet", compression=codec, **options)
                metadata = pq.read_metadata(f"{folder}/t.parquet")
                for i in range(metadata.num_row_groups):
                    for j in range(metadata.num_columns):
                        column = metadata.row_group(i).column(j)
                        # Parts of nested columns stand under the column's name.
                        key = f"{path.stem}/{column.path_in_schema.split('.')[0]}"
                        if column.path_in_schema in table.schema.names:
                            key = f"{path.stem}/{column.path_in_schema}"
                        sizes = out.setdefault(key, {})
                        sizes[label] = sizes.get(label, 0) + column.total_compressed_size
    return out


def types(data: Path, tpch: Path | None) -> Any:
    """Bytes by column, of the tables and of TPC-H with its decimals as doubles, as the paper has them."""
    measured = {"open tables": {"staffa": run("types", data), "parquet": parquet(data)}}
    if tpch:
        import duckdb

        with tempfile.TemporaryDirectory() as folder:
            for path in sorted(tpch.glob("*.parquet")):
                connection = duckdb.connect()
                connection.execute(f"CREATE VIEW t AS SELECT * FROM read_parquet('{path}')")
                described = connection.execute("DESCRIBE t").fetchall()
                names = [f"{row[0]}::DOUBLE AS {row[0]}" if "DECIMAL" in row[1] else row[0] for row in described]
                # Two million rows say as much as six.
                query = f"SELECT {', '.join(names)} FROM t LIMIT 2000000"
                connection.execute(f"COPY ({query}) TO '{folder}/{path.name}' (FORMAT parquet)")
            measured["TPC-H"] = {"staffa": run("types", Path(folder)), "parquet": parquet(Path(folder))}
    return measured


def codecs(data: Path, scale: float) -> Any:
    """Integer columns of lineorder, which is derived from TPC-H where it is not there."""
    if (data / "lineorder.parquet").exists():
        return run("codecs", data / "lineorder.parquet")
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        query = LINEORDER.format(folder=data, scale=f"{scale:g}")
        path = Path(folder) / "lineorder.parquet"
        duckdb.connect().execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
        return run("codecs", path)


def tpch(data: Path, scale: float, rounds: int, queries: Path | None) -> Any:
    """By DuckDB, over Parquet and over Staffa: the package `staffa` with its extension."""
    import engines

    out = {}
    for name, tables in (("TPC-H", engines.TPCH), ("SSB, derived", engines.SSB)):
        texts = engines.tpch_queries(queries) if name == "TPC-H" else engines.ssb_queries()
        with tempfile.TemporaryDirectory() as folder:
            engines.make(tables, Path(folder), data, scale)
            out[f"{name}, scale factor {scale:g}"] = engines.measure(tables, texts, Path(folder), rounds)
    return out


def tpch_datafusion(data: Path, big: Path | None, rounds: int, queries: Path | None) -> Any:
    """By DataFusion: the example `tpch` of crates/staffa-datafusion; answers beside those of DuckDB."""
    import engines

    texts = {number.removeprefix("Q"): text for number, text in engines.tpch_queries(queries).items()}
    measured = {"TPC-H": engines.by_datafusion(data, texts, rounds)}
    with tempfile.TemporaryDirectory() as folder:
        engines.make_ssb(Path(folder), data)
        measured["SSB, derived"] = engines.by_datafusion(Path(folder), engines.ssb_queries(), rounds)
    if big:
        few = {number: texts[number] for number in ("1", "3", "6", "9", "18")}
        kinds = ["parquet", "parquet_pushdown", "staffa"]
        measured["TPC-H, the larger one"] = engines.by_datafusion(big, few, min(rounds, 3), kinds)
    return measured


def machine() -> str:
    """The processor, how many of them, and the day."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.processor()
    revision = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=BENCH, stdout=subprocess.PIPE, text=True)
    today = datetime.date.today().isoformat()
    return f"{model}, {os.cpu_count()} cores, {platform.system()}; {today}, revision {revision.stdout.strip()}"


def main() -> None:
    """Runs one experiment and writes its results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--data", type=Path, help="a folder of Parquet tables; TPC-H's for some; a text for inverted")
    parser.add_argument(
        "--tpch",
        type=Path,
        help="TPC-H's tables: types and s3_cost, to have them beside; decode and simd, for comments",
    )
    parser.add_argument("--big", type=Path, help="tpch_datafusion: TPC-H's tables of a larger scale, five queries")
    parser.add_argument("--tpcds", type=Path, help="hyrise: TPC-DS's tables, to have them beside")
    parser.add_argument("--tpcds-queries", type=Path, help="hyrise: texts of TPC-DS's queries as JSON")
    parser.add_argument("--scale", type=float, default=1, help="codecs, posdb, tpch: TPC-H's scale factor")
    parser.add_argument("--rounds", type=int, default=7, help="tpch: rounds that count")
    parser.add_argument(
        "--queries", type=Path, help="tpch: the queries' texts as JSON, where DuckDB's extension is not there"
    )
    parser.add_argument("--blocks", type=int, default=450, help="sampling: blocks, a third of each type at the most")
    parser.add_argument("--save", type=Path, help="keep what was measured, as JSON")
    parser.add_argument("--json", type=Path, help="what was kept: only the report is made anew")
    arguments = parser.parse_args()
    if not arguments.data and arguments.name != "positions":
        parser.error("--data is required")
    if arguments.name in WITH_TPCH and not arguments.tpch and not arguments.json:
        parser.error("--tpch is required")
    name, data = arguments.name, (arguments.data or Path()).resolve()
    if arguments.json:
        measured = json.loads(arguments.json.read_text())
    elif name == "types":
        measured = types(data, arguments.tpch and arguments.tpch.resolve())
    elif name == "codecs":
        measured = codecs(data, arguments.scale)
    elif name == "tpch":
        measured = tpch(data, arguments.scale, arguments.rounds, arguments.queries)
    elif name == "tpch_datafusion":
        measured = tpch_datafusion(data, arguments.big, arguments.rounds, arguments.queries)
    elif name == "distributed":
        measured = importlib.import_module("distributed").distributed(data)
    elif name == "spark":
        with tempfile.TemporaryDirectory() as folder:
            measured = importlib.import_module("spark").spark(data, Path(folder), arguments.rounds, arguments.queries)
    elif name == "posdb":
        measured = importlib.import_module("storage").posdb(data, arguments.scale, arguments.rounds)
    elif name == "superscalar_tpch":
        measured = importlib.import_module("storage").superscalar_tpch(data, arguments.scale, arguments.queries)
    elif name == "hyrise":
        of_tpcds = arguments.tpcds and arguments.tpcds.resolve(), arguments.tpcds_queries
        measured = importlib.import_module("storage").hyrise(data, arguments.rounds, arguments.queries, *of_tpcds)
    elif name == "s3_cost":
        measured = importlib.import_module("s3_cost").s3_cost(data, arguments.tpch, arguments.queries)
    elif name in BY_PYTHON:
        measured = getattr(importlib.import_module("formats"), name)(data)
    elif name in WITH_TPCH:
        measured = run(name, data, str(arguments.tpch.resolve()))
    elif name == "sampling":
        measured = run(name, data, str(arguments.blocks))
    else:
        measured = run(name, data)
    if arguments.save:
        arguments.save.write_text(json.dumps(measured))
    RESULTS.mkdir(exist_ok=True)
    report = importlib.import_module(f"reports.{name}").report
    text = report(measured, RESULTS / f"{name}.svg")
    more = " --tpch TPCH_FOLDER" if arguments.tpch else ""
    folder = f" --data {KINDS.get(name, 'FOLDER')}" if arguments.data else ""
    head, _, rest = text.partition("\n\n")
    how = f"`python bench/experiments.py {name}{folder}{more}`  \n{machine()}"
    (RESULTS / f"{name}.md").write_text(f"{head}\n\n{how}\n\n{rest}")
    print(RESULTS / f"{name}.md", file=sys.stderr)


if __name__ == "__main__":
    main()
