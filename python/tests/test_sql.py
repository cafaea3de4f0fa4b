"""`staffa.sql`, the command `staffa sql`, relations of DuckDB as input, and the examples of the guide."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import staffa
import staffa.duckdb
from processes import rows_and_peak

if staffa.duckdb.RELEASE is None:
    pytest.skip("the extension has not been built: make extension", allow_module_level=True)
if duckdb.__version__ != staffa.duckdb.RELEASE:
    pytest.skip(f"built for DuckDB {staffa.duckdb.RELEASE}, not {duckdb.__version__}", allow_module_level=True)


def test_sql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    staffa.write_table(pa.table({"a": range(10), "s": list("abcdefghij")}), "t.staffa")
    relation = staffa.sql("SELECT s FROM 't.staffa' WHERE a > $1", params=[7])
    assert relation.fetchall() == [("i",), ("j",)]
    assert staffa.write_table(staffa.sql("SELECT a * 2 AS b FROM 't.staffa'"), "u.staffa").rows == 10
    assert staffa.sql("SELECT sum(b) FROM '*u.staffa'").fetchall() == [(90,)]
    # Where the extension cannot be had the rows come by Arrow.
    monkeypatch.setattr(staffa.duckdb, "RELEASE", "1.0.0")
    with duckdb.connect() as con, pytest.warns(RuntimeWarning, match=r"Arrow"):
        assert staffa.sql("SELECT 'x', sum(a) FROM 't.staffa' -- 'y", connection=con).fetchall() == [("x", 45)]


def test_a_relation_is_written_as_it_comes(tmp_path: Path) -> None:
    """In a process of its own, whose memory is measured: 80 million numbers are 640 MB."""
    program = """
import sys, duckdb, staffa
con = duckdb.connect(config={"threads": "1", "memory_limit": "200MB"})
con.execute("SET enable_progress_bar = false")
rows = con.sql("SELECT i, i % 1000 AS k FROM range(40000000) t(i)")
print(staffa.write_table(rows, sys.argv[1], profile="fast").rows)
"""
    rows, peak = rows_and_peak(program, tmp_path / "long.staffa")
    assert rows == 40_000_000
    assert peak < 350_000_000


def test_the_program(tmp_path: Path) -> None:
    path = tmp_path / "t.staffa"
    staffa.write_table(pa.table({"a": range(10)}), path)

    def program(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "staffa", *arguments], capture_output=True, text=True, check=False)

    assert "10" in program("count", str(path)).stdout
    assert program("nonsense").returncode == 2
    assert program("sql", "--csv", f"SELECT sum(a) AS s FROM '{path}'").stdout == "s\n45\n"
    assert program("sql", "--json", f"SELECT 1 AS s FROM '{path}' LIMIT 1").stdout == '{"s":1}\n'
    assert "READ_STAFFA" in program("sql", "--explain", f"SELECT sum(a) FROM '{path}' WHERE a > 3").stdout
    assert program("sql", f"FROM '{path}' LIMIT 2", "-o", str(tmp_path / "u.staffa")).returncode == 0
    assert staffa.open(tmp_path / "u.staffa").num_rows == 2
    wrong = program("sql", "FROM 'nothing.staffa'")
    assert wrong.returncode == 3
    assert "nothing.staffa" in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_the_program_prints_through_the_standard_output(tmp_path: Path) -> None:
    staffa.write_table(pa.table({"a": ["", None]}), tmp_path / "t.staffa")

    def program(query: str, *options: str, out: Any = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "staffa", "sql", query, *options]
        return subprocess.run(
            command, stdout=out, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path, timeout=100
        )

    log = tmp_path / "log"
    log.write_text("kept\n")
    with log.open("a") as appended:
        assert program("FROM 't.staffa'", "--csv", out=appended).returncode == 0
    assert log.read_text() == 'kept\na\n""\n\n'
    # A reader that closes the pipe has what it wanted.
    pipe = subprocess.Popen(
        [sys.executable, "-m", "staffa", "sql", "FROM range(10000000)", "--csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert pipe.stdout is not None
    assert pipe.stdout.readline() == b"range\n"
    pipe.stdout.close()
    assert pipe.stderr is not None
    assert pipe.stderr.read() == b""
    pipe.stderr.close()
    assert pipe.wait(timeout=100) == 0
    for query, code in [
        ("SELEC 1", 2),
        ("SELECT nope FROM 't.staffa'", 2),
        ("SELECT 'x'::INT", 1),
        ("FROM 'none.staffa'", 3),
    ]:
        assert program(query, "--csv").returncode == code, query


def test_the_program_writes_any_format_and_keeps_what_exists(tmp_path: Path) -> None:
    staffa.write_table(pa.table({"a": ["", None, "x"]}), tmp_path / "t.staffa")

    def program(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "staffa", "sql", "FROM 't.staffa'", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    for ending in ["staffa", "parquet", "csv", "jsonl", "arrow", "arrows"]:
        target = tmp_path / f"out.{ending}"
        assert program("-o", target.name).returncode == 0, ending
        refused = program("-o", target.name)
        assert refused.returncode == 3
        assert "--force" in refused.stderr
        assert program("-o", target.name, "--force").returncode == 0, ending
    assert (tmp_path / "out.csv").read_text() == 'a\n""\n\nx\n'
    assert pq.read_table(tmp_path / "out.parquet")["a"].to_pylist() == ["", None, "x"]
    assert program("-o", "out.txt").returncode == 2


def test_the_examples_of_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = Path(__file__).parents[1].joinpath("README.md").read_text()
    section = guide.split("## SQL with DuckDB")[1].split("\n## ")[0]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"pa": pa, "staffa": staffa}
    for example in section.split("```python\n")[1:]:
        exec(compile(example.split("```")[0], "python/README.md", "exec"), names)
    assert staffa.open("sorted.staffa").num_rows == 3
    names["con"].close()


def run_sql(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "staffa", "sql", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_comments_and_several_statements() -> None:
    for query in (
        "select 1 as a; -- one",
        "select 1 as a /* ; */; /* two */ ;",
        "create table t as select 1 as a; from t;",
    ):
        done = run_sql("--csv", query)
        assert (done.returncode, done.stdout, done.stderr) == (0, "a\n1\n", "")
    quoted = run_sql("--csv", "select 'ü; -- x' as a; -- ü")
    assert quoted.stdout == "a\nü; -- x\n"
    assert "1" in run_sql("--explain", "select 1; -- plan").stdout


def test_json_has_no_nan() -> None:
    values = "'nan'::double a, [1.5, 'inf'::double] b, {'x': '-inf'::float} c, map {'k': 'nan'::double} d, 2.5 e"
    done = run_sql("--json", f"select {values}")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout, parse_constant=pytest.fail) == {
        "a": None,
        "b": [1.5, None],
        "c": {"x": None},
        "d": {"k": None},
        "e": 2.5,
    }


def test_json_of_tuples_and_unions_has_no_nan() -> None:
    values = (
        "row('nan'::double, 2, row('inf'::float)) t, [row('nan'::double)] l, "
        'union_value("x y" := \'nan\'::double)::union("x y" double, b varchar) u, '
        "union_value(b := 'k')::union(a double, b varchar) v, null::union(a double) w, "
        "[union_value(a := {'x': ['nan'::double]})] z"
    )
    done = run_sql("--json", f"select {values}")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout, parse_constant=pytest.fail) == {
        "t": [None, 2, [None]],
        "l": [[None]],
        "u": {"x y": None},
        "v": {"b": "k"},
        "w": None,
        "z": [{"a": {"x": [None]}}],
    }


def test_json_of_columns_of_one_name() -> None:
    done = run_sql("--json", "select a.x, b.x from (select 1.5::double as x) a, (select 20.5::double as x) b")
    assert list(json.loads(done.stdout).values()) == [1.5, 20.5]


def test_results_are_written_compressed(tmp_path: Path) -> None:
    done = run_sql("select 1 as a", "-o", str(tmp_path / "a.csv.gz"))
    assert done.returncode == 0, done.stderr
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == b"a\n1\n"
    assert run_sql("select 1 as a", "-o", str(tmp_path / "a.parquet.gz")).returncode == 2


def test_a_closed_output_is_no_mistake() -> None:
    command = f'"{sys.executable}" -m staffa sql "select 1"'
    for closed in (">&-", ">&- 2>&-", "--csv >&-", "<&-"):
        done = subprocess.run(f"{command} {closed}", shell=True, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), closed
