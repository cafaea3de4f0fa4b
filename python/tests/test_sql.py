"""`staffa.sql`, the command `staffa sql`, relations of DuckDB as input, and the examples of the guide."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import staffa
import staffa.duckdb
from processes import rows_and_peak

if staffa.duckdb.RELEASE is None:
    pytest.skip("the extension has not been built: make duckdb", allow_module_level=True)
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
    assert wrong.returncode == 1
    assert "nothing.staffa" in wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_the_examples_of_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = Path(__file__).parents[1].joinpath("README.md").read_text()
    section = guide.split("## SQL with DuckDB")[1].split("\n## ")[0]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"pa": pa, "staffa": staffa}
    for example in section.split("```python\n")[1:]:
        exec(compile(example.split("```")[0], "python/README.md", "exec"), names)
    assert staffa.open("sorted.staffa").num_rows == 3
    names["con"].close()
