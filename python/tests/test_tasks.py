"""Every task of `docs/tasks.md` is done by the command or the line that stands beside it there."""

from __future__ import annotations

import ast
import datetime as dt
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import staffa

PAGE = Path(__file__).parents[2] / "docs" / "tasks.md"
ROWS = 1000
CITIES = ["Oban", "Mull", "Iona"]


@dataclass
class Done:
    """A task that was done: what it printed, or its value, and the folder."""

    text: str
    value: Any
    folder: Path

    def table(self, name: str = "out.staffa") -> pa.Table:
        return staffa.read_table(self.folder / name)


def tasks() -> list[tuple[str, str]]:
    """The tasks of the page and what does them."""
    rows = re.findall(r"^\| ([^|]+?) \| `((?:[^`])+)` \|.*\|$", PAGE.read_text(), re.MULTILINE)
    return [(task, command.replace("\\|", "|")) for task, command in rows]


def prints(*parts: str) -> Callable[[Done], None]:
    def check(done: Done) -> None:
        for part in parts:
            assert part in done.text, f"expected {part!r} in:\n{done.text}"

    return check


def gives(value: Any) -> Callable[[Done], None]:
    def check(done: Done) -> None:
        assert done.value == value

    return check


def holds(rows: int, columns: int = 5, name: str = "out.staffa") -> Callable[[Done], None]:
    def check(done: Done) -> None:
        table = done.table(name)
        assert (table.num_rows, table.num_columns) == (rows, columns)

    return check


def lines(count: int) -> Callable[[Done], None]:
    def check(done: Done) -> None:
        assert len(done.text.splitlines()) == count

    return check


def european(done: Done) -> None:
    assert done.table().to_pylist() == [
        {"ort": "Köln", "preis": 1.5, "tag": dt.date(2024, 1, 25)},
        {"ort": "Zürich", "preis": 2.0, "tag": dt.date(2024, 2, 1)},
    ]


def bad_rows(done: Done) -> None:
    assert done.table().num_rows == 2
    left = (done.folder / "left.csv").read_text().splitlines()
    assert left[0] == "file,line,reason,text" and "bad.csv" in left[1] and ",3," in left[1]


def merged(done: Done) -> None:
    assert done.table().sort_by("id").to_pydict() == {"id": [1, 2, 3, 4], "city": ["Oban", "Mull", "Iona", "Oban"]}


def parts(done: Done) -> None:
    found = {path.name: staffa.open(path).num_rows for path in (done.folder / "parts").iterdir()}
    assert found == {"part-00001.staffa": 400, "part-00002.staffa": 400, "part-00003.staffa": 200}


def cities(done: Done) -> None:
    table = staffa.dataset(done.folder / "cities").to_table()
    assert table.num_rows == ROWS and set(table["city"].to_pylist()) == set(CITIES)


def compressed(done: Done) -> None:
    text = gzip.decompress((done.folder / "out.csv.gz").read_bytes()).decode()
    assert text.splitlines()[:2] == ["id,city", "0,Oban"] and len(text.splitlines()) == ROWS + 1


def rounded(done: Done) -> None:
    before, after = staffa.read_table(done.folder / "trips.staffa")["price"], done.table()["price"]
    pairs = zip(before.to_pylist(), after.to_pylist(), strict=True)
    assert all((b is None and a is None) or abs(a - b) <= 0.01 for b, a in pairs)


def smaller(done: Done) -> None:
    assert done.table().equals(staffa.read_table(done.folder / "trips.staffa"))


CHECKS: dict[str, Callable[[Done], None]] = {
    "Print the first rows": prints("Oban", "2024-01-01"),
    "Print the last rows": prints("999"),
    "Print random rows": lines(8),
    "List columns and types": prints("Int64", "Date32", "floor"),
    "Count the rows": prints("1000"),
    "Count the rows that match": prints("334"),
    "Describe every column in figures": prints("1,000 rows", "Oban (334)", "499.5"),
    "Find the columns that take the space": prints("price", "header and footer"),
    "Show row groups, chunks and bounds": prints("row group", "stop.floor", "2024-04-09"),
    "Ask why a column is encoded so": prints("chosen:"),
    "Make a page about a file for others": lambda done: prints("<html", "stop")(
        Done((done.folder / "trips.html").read_text(), None, done.folder)
    ),
    "Check every byte": prints("trips.staffa: ok, 1,000 rows"),
    "Measure a table beside Parquet": prints("staffa balanced", "parquet zstd-3", "yes"),
    "Know the size before converting": prints("as Parquet", "as Staffa"),
    "Convert CSV": holds(ROWS, 4),
    "Convert Parquet": smaller,
    "Convert JSON lines": smaller,
    "Convert Arrow": smaller,
    "Convert to Parquet": lambda done: smaller(Done("", None, _as_staffa(done.folder))),
    "Write JSON lines": lambda done: gives({"zip": "00007", "floor": 3})(
        Done("", json.loads((done.folder / "out.jsonl").read_text().splitlines()[7])["stop"], done.folder)
    ),
    "Read compressed CSV": holds(ROWS, 4),
    "Write compressed CSV": compressed,
    "Convert what comes through a pipe": holds(ROWS, 4),
    "Read semicolons, Latin-1 and 25.01.2024": european,
    "Keep the zeros of post codes": lambda done: gives(["007", "12345"])(
        Done("", done.table()["code"].to_pylist(), Path())
    ),
    "Put bad rows aside, with their lines": bad_rows,
    "Convert some rows and columns": holds(400, 2),
    "Make the smallest file": smaller,
    "Round floats within a bound": rounded,
    "Declare the order of rows, and check it": lambda done: gives("id")(
        Done("", staffa.open(done.folder / "out.staffa").inspect()["sort_order"][0]["column"], Path())
    ),
    "Print rows that match": prints("24.25", "Mull"),
    "Filter by a field of a struct": lines(3 + 250),
    "Find text, whatever its case": prints("Oban"),
    "Sum up a column": prints("min(price)", "24.5", "12.25"),
    "Sum up by group, in SQL": prints("city,trips\nIona,333\nMull,333\nOban,334\n"),
    "Join two files": prints("n\n1000\n"),
    "Write the result of a query": lambda done: gives(10)(
        Done("", pq.read_table(done.folder / "out.parquet").num_rows, Path())
    ),
    "Hand rows to another program": prints("3"),
    "Make one file of several": merged,
    "Match columns in another order": prints("id,city\n1,Oban\n2,Mull\n3,Iona\n4,Oban\n"),
    "Split a table by rows": parts,
    "Split a table by the values of a column": cities,
    "Read a partitioned folder": prints("2"),
    "Compare two tables": prints("same: 1,000 rows"),
    "Store metadata with a table": lambda done: gives({"source": b"survey"})(
        Done("", staffa.open(done.folder / "out.staffa").metadata, Path())
    ),
    "Keep metadata in a copy": lambda done: gives({"made": b"here"})(
        Done("", staffa.open(done.folder / "out.staffa").metadata, Path())
    ),
    "Write a table": gives(ROWS),
    "Read a table": gives(ROWS),
    "Read some columns and rows": gives(20),
    "Filter as pyarrow and pandas do": gives(667),
    "Filter by a field of a struct in Python": gives(250),
    "Open a pandas frame": gives((ROWS, 5)),
    "Query lazily with Polars": gives(10),
    "Read batch by batch": gives(ROWS),
    "Read rows by number": gives({"id": [999, 0]}),
    "Write batch by batch": holds(ROWS),
    "Write a partitioned folder": gives(3),
    "Read a partitioned folder in Python": gives(2),
    "Sum up a column in Python": gives(24.5),
    "Ask in SQL": gives([(999,)]),
}


def _as_staffa(folder: Path) -> Path:
    """A folder with the Parquet file of a task as `out.staffa`, and the table beside it."""
    other = folder / "again"
    other.mkdir()
    shutil.copy(folder / "trips.staffa", other)
    staffa.write_table(pq.read_table(folder / "out.parquet"), other / "out.staffa")
    return other


@pytest.fixture(scope="module")
def table() -> pa.Table:
    ids = range(ROWS)
    zips, floors = [f"{i:05}" for i in ids], [i % 4 for i in ids]
    prices = [None if i % 50 == 49 else (i % 100) / 4 for i in ids]
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=i // 10) for i in ids]
    stops = pa.StructArray.from_arrays([pa.array(zips), pa.array(floors)], ["zip", "floor"])
    return pa.table({"id": ids, "city": [CITIES[i % 3] for i in ids], "price": prices, "day": days, "stop": stops})


@pytest.fixture(scope="module")
def inputs(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    staffa.write_table(table, folder / "trips.staffa", metadata={"made": "here"})
    pq.write_table(table, folder / "trips.parquet")
    with pa.ipc.new_file(folder / "trips.arrow", table.schema) as writer:
        writer.write_table(table)
    pa.csv.write_csv(table.drop_columns(["stop"]), folder / "trips.csv")
    (folder / "trips.csv.gz").write_bytes(gzip.compress((folder / "trips.csv").read_bytes()))
    rows = [json.dumps(row, default=str) for row in table.to_pylist()]
    (folder / "trips.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "europe.csv").write_bytes("ort;preis;tag\nKöln;1.5;25.01.2024\nZürich;2.0;01.02.2024\n".encode("latin-1"))
    (folder / "codes.csv").write_text("code\n007\n12345\n")
    (folder / "bad.csv").write_text("a,b\n1,x\n2\n3,y\n")
    (folder / "logs").mkdir()
    (folder / "logs" / "a.csv").write_text("id,city\n1,Oban\n2,Mull\n")
    (folder / "logs" / "b.csv").write_text("city,id\nIona,3\nOban,4\n")
    for year in (2023, 2024):
        (folder / "sales" / f"year={year}").mkdir(parents=True)
        staffa.write_table(pa.table({"price": [1.5, 2.5]}), folder / "sales" / f"year={year}" / "part.staffa")
    return folder


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with the program `staffa` of this package."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "staffa"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m staffa "$@"\n')
    program.chmod(0o755)
    return str(folder)


def test_the_page_has_sixty_tasks_and_each_its_check() -> None:
    found = [task for task, _ in tasks()]
    assert len(found) == 60 and sorted(found) == sorted(CHECKS)
    # Each row says something of all five others.
    rows = [line for line in PAGE.read_text().splitlines() if re.match(r"\| [A-Z]", line)]
    for row in rows:
        cells = re.sub(r"`[^`]*`", "code", row).strip("|").split("|")
        assert len(cells) == 7 and all(cell.strip() for cell in cells), row


@pytest.mark.parametrize(("task", "command"), tasks(), ids=[task for task, _ in tasks()])
def test_each_task_is_done(
    task: str,
    command: str,
    inputs: Path,
    table: pa.Table,
    programs: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "here"
    shutil.copytree(inputs, folder)
    if "staffa." in command.split(" ")[0] or "(" in command.split(" ")[0] or command.startswith("with "):
        monkeypatch.chdir(folder)
        done = Done("", _value(command, table), folder)
    else:
        environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
        ran = subprocess.run(
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        done = Done(ran.stdout, None, folder)
    CHECKS[task](done)


def _value(line: str, table: pa.Table) -> Any:
    """The value of a line of Python, if it is an expression."""
    names = {"staffa": staffa, "pa": pa, "table": table}
    if "pl." in line:
        names["pl"] = pytest.importorskip("polars")
    if isinstance(ast.parse(line).body[-1], ast.Expr):
        return eval(line, names)
    exec(line, names)
    return None
