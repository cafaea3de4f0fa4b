"""The DuckDB extension: the same rows as DuckDB has from Arrow and Parquet."""

from __future__ import annotations

import math
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import staffa
import staffa.duckdb
from tables import TYPES

if staffa.duckdb.RELEASE is None:
    pytest.skip("the extension has not been built: make extension", allow_module_level=True)
if duckdb.__version__ != staffa.duckdb.RELEASE:
    pytest.skip(f"built for DuckDB {staffa.duckdb.RELEASE}, not {duckdb.__version__}", allow_module_level=True)


ROWS = 30_000


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with staffa.duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'")
        yield con


def equal(left: Any, right: Any) -> bool:
    """NaN equals NaN here, and -0.0 is not 0.0."""
    if isinstance(left, float) and isinstance(right, float):
        return repr(left) == repr(right)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return equal(list(left.items()), list(right.items()))
    return bool(left == right)


def by_arrow(con: duckdb.DuckDBPyConnection, table: pa.Table) -> tuple[list[str], list[Any]] | None:
    """Types and rows as DuckDB has them from Arrow."""
    try:
        con.register("arrow", table)
        described = con.execute("DESCRIBE arrow").fetchall()
        return [row[1] for row in described], con.execute("SELECT COLUMNS(*)::VARCHAR FROM arrow").fetchall()
    except (duckdb.Error, pa.ArrowException):
        return None


@pytest.mark.parametrize("name", TYPES)
def test_every_type_is_as_from_arrow(name: str, con: duckdb.DuckDBPyConnection, path: Path) -> None:
    table = pa.table({"v": TYPES[name], "i": range(len(TYPES[name]))})
    staffa.write_table(table, path)
    expected = by_arrow(con, table)
    if expected is None and not name.startswith("float16"):
        with pytest.raises(duckdb.Error) as error:
            con.execute(f"FROM '{path}'").fetchall()
        assert "Internal" not in type(error.value).__name__
        return
    types = [row[1] for row in con.execute(f"DESCRIBE FROM '{path}'").fetchall()]
    rows = con.execute(f"SELECT COLUMNS(*)::VARCHAR FROM '{path}'").fetchall()
    if expected is None:
        expected = by_arrow(con, table.set_column(0, "v", TYPES[name].cast(pa.float32())))
    assert expected is not None
    assert types == expected[0]
    assert equal(rows, expected[1])
    # The database is still sound.
    assert con.execute("SELECT 1").fetchall() == [(1,)]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One table of several row groups as Staffa and as Parquet."""
    rng, n = np.random.default_rng(7), ROWS
    floats = np.where(rng.random(n) < 0.1, np.nan, np.round(rng.normal(0, 5, n), 1))
    floats[rng.random(n) < 0.05] = -0.0
    floats[rng.random(n) < 0.01] = np.inf

    def nulls(array: pa.Array, share: float = 0.1) -> pa.Array:
        return pa.compute.if_else(pa.array(rng.random(n) < share), pa.scalar(None, array.type), array)

    cities = ["Oban", "Mull", "", "Iona", "Ulva", "a somewhat longer name, number one", "Oban 2"]
    days = pa.array(rng.integers(8000, 12000, n).astype(np.int32)).cast(pa.date32())
    moments = pa.array(rng.integers(0, 10**15, n) // 10**9 * 10**9)
    table = pa.table(
        {
            "i": nulls(pa.array(rng.integers(-100, 100, n))),
            "sorted": pa.array(np.arange(n)),
            "tiny": nulls(pa.array(rng.integers(0, 255, n).astype(np.uint8))),
            "f": nulls(pa.array(floats)),
            "f32": pa.array(floats.astype(np.float32)),
            "s": nulls(pa.array([cities[k] for k in rng.integers(0, len(cities), n)])),
            "many": pa.array([f"name {k}" for k in rng.integers(0, 8_000, n)]),
            "flag": nulls(pa.array(rng.random(n) < 0.3)),
            "day": nulls(days),
            "at": nulls(moments.cast(pa.timestamp("us"))),
            "atz": nulls(moments.cast(pa.timestamp("us", "Europe/Zurich"))),
            "ns": moments.cast(pa.timestamp("ns")),
            "dec": nulls(pa.array(rng.integers(-(10**6), 10**6, n)).cast(pa.decimal128(22, 2))),
            "money": pa.array(rng.integers(0, 5000, n)).cast(pa.decimal128(21, 2)).cast(pa.decimal128(15, 2)),
            "code": pa.array([cities[k] for k in rng.integers(0, 3, n)]).dictionary_encode(),
            "list": pa.array([[int(k)] * (int(k) % 3) for k in rng.integers(0, 9, n)]),
        }
    )
    folder = tmp_path_factory.mktemp("both")
    staffa.write_table(table, folder / "t.staffa", row_group_rows=8192)
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.staffa", folder / "t.parquet"


def constant(rng: random.Random, column: str) -> str:
    """A value that such a column may have, or nearly."""
    if column in ("i", "tiny"):
        return str(rng.choice([rng.randrange(-110, 300), "NULL", 0.5, 7]))
    if column == "sorted":
        return str(rng.randrange(-10, 32_000))
    if column in ("f", "f32"):
        type_name = "FLOAT" if column == "f32" else "DOUBLE"
        value = rng.choice(["nan", "inf", "-inf", "-0.0", "0.0", str(round(rng.gauss(0, 5), 1))])
        return f"'{value}'::{type_name}"
    if column in ("s", "many", "code"):
        return rng.choice(
            ["''", "'Oban'", "'Mull'", "'P'", "'a somewhat longer name, number one'", "'name 17'", "'Oban 2'"]
        )
    if column == "day":
        return f"DATE '{rng.randrange(1990, 2004)}-0{rng.randrange(1, 9)}-11'"
    if column in ("at", "ns"):
        return f"TIMESTAMP '19{rng.randrange(69, 99)}-03-0{rng.randrange(1, 9)} 12:00:00'"
    if column == "atz":
        return f"TIMESTAMPTZ '19{rng.randrange(69, 99)}-03-0{rng.randrange(1, 9)} 12:00:00+02'"
    return rng.choice([str(rng.randrange(-10_000, 10_000)), f"{rng.randrange(0, 9999)}.25", "17.00"])


def predicate(rng: random.Random, depth: int = 2) -> str:
    """A filter in SQL."""
    if depth and rng.random() < 0.5:
        joint = rng.choice([" AND ", " OR "])
        parts = [predicate(rng, depth - 1) for _ in range(rng.randrange(2, 4))]
        return f"{rng.choice(['', '', 'NOT '])}({joint.join(parts)})"
    columns = ["i", "sorted", "tiny", "f", "f32", "s", "many", "day", "at", "atz", "ns", "dec", "money", "code"]
    column, kind = rng.choice(columns), rng.randrange(9)
    if kind == 0:
        return f"{column} IS {rng.choice(['', 'NOT '])}NULL"
    if kind == 1:
        values = ", ".join(constant(rng, column) for _ in range(rng.randrange(1, 5)))
        return f"{column} {rng.choice(['', 'NOT '])}IN ({values})"
    if kind == 2:
        return f"{column} BETWEEN {constant(rng, column)} AND {constant(rng, column)}"
    if kind == 3:
        text = rng.choice(["s", "many", "code"])
        pattern = rng.choice(["Ob%", "%an", "%a%", "n_me 1%", "name 17", "%_2", "%", "", "a\\%", "%1%2%"])
        return f"{text} {rng.choice(['', 'NOT '])}LIKE '{pattern}'"
    if kind == 4:
        return rng.choice(["flag", "NOT flag", "flag IS NULL", "flag = true", "flag <> true", "list IS NOT NULL"])
    if kind == 5:
        return rng.choice(
            [
                "i + 1 > tiny",
                "length(s) = 4",
                "len(list) > 1",
                "starts_with(many, 'name 1')",
                "s = code",
                "contains(s, 'an')",
                "s IS DISTINCT FROM 'Oban'",
                "i % 7 = 3",
                "suffix(s, ' 2')",
            ]
        )
    operator = rng.choice(["=", "<>", "<", "<=", ">", ">="])
    left, right = column, constant(rng, column)
    return f"{left} {operator} {right}" if rng.random() < 0.8 else f"{right} {operator} {left}"


@pytest.mark.parametrize("seed", range(40))
def test_random_filters_keep_what_they_keep_over_parquet(
    seed: int, both: tuple[Path, Path], con: duckdb.DuckDBPyConnection
) -> None:
    rng = random.Random(seed)
    ours, theirs = both
    what = "count(*), sum(sorted), min(many), sum(tiny), count(flag), sum(hash(list)), max(money)"
    for _ in range(50):
        where = predicate(rng)
        query = f"SELECT {what} FROM '{{}}' WHERE {where}"
        try:
            expected: Any = con.execute(query.format(theirs)).fetchall()
        except duckdb.Error as error:
            with pytest.raises(type(error)):
                con.execute(query.format(ours)).fetchall()
            continue
        assert con.execute(query.format(ours)).fetchall() == expected, where


def test_a_filter_of_one_reference_is_not_that_of_another(
    both: tuple[Path, Path], con: duckdb.DuckDBPyConnection
) -> None:
    queries = [
        "WITH t AS NOT MATERIALIZED (FROM '{}' WHERE sorted < 1000) SELECT (SELECT count(*) FROM t WHERE sorted < 10), "
        "(SELECT count(*) FROM t WHERE sorted >= 10), (SELECT count(*) FROM t)",
        "WITH t AS (FROM '{}') SELECT count(*) FROM t a JOIN t b ON a.sorted = b.sorted + 5 "
        "WHERE a.sorted < 100 AND b.i > 3",
        "SELECT count(*) FROM '{0}' a WHERE sorted < 50 UNION ALL SELECT count(*) FROM '{0}' WHERE sorted > 70",
        "SELECT sum(sorted) FROM '{0}' WHERE sorted IN (SELECT i FROM '{0}' WHERE sorted < 500)",
        "WITH t AS (SELECT * FROM '{}' WHERE i = 5) SELECT count(*), sum(a.sorted) FROM t a, t b "
        "WHERE a.sorted = b.sorted AND b.tiny < 100",
    ]
    for query in queries:
        ours, theirs = (con.execute(query.format(path)).fetchall() for path in both)
        assert ours == theirs, query


@pytest.mark.parametrize("count", [3, 65, 4096, 4097])
def test_long_lists(count: int, both: tuple[Path, Path], con: duckdb.DuckDBPyConnection) -> None:
    listed = ", ".join(str(3 * i) for i in range(count))
    counts = "SELECT count(*) FILTER (sorted IN ({0})), count(*) FROM '{1}' WHERE sorted {2} IN ({0})"
    for word, expected in (("", (count, count)), ("NOT", (0, ROWS - count))):
        assert con.execute(counts.format(listed, both[0], word)).fetchall() == [expected]


def test_a_prepared_filter_is_bound_anew(both: tuple[Path, Path], con: duckdb.DuckDBPyConnection) -> None:
    con.execute(f"PREPARE q AS SELECT count(*) FROM '{both[0]}' WHERE sorted < $1")
    for most in (10, 20_000, 5, 200_000):
        assert con.execute(f"EXECUTE q({most})").fetchall() == [(min(most, ROWS),)]


def test_columns_filters_and_rows_are_known_to_the_plan(
    both: tuple[Path, Path], con: duckdb.DuckDBPyConnection
) -> None:
    plan = con.execute(f"EXPLAIN SELECT max(s) FROM '{both[0]}'").fetchall()[-1][1]
    assert "30,000 rows" in plan
    assert "sorted" not in plan


def test_order_limit_count_and_several_threads(both: tuple[Path, Path]) -> None:
    ours, theirs = both
    for threads in (1, 2, 8):
        with staffa.duckdb.connect(config={"threads": str(threads)}) as con:
            rows = con.execute(f"SELECT sorted FROM '{ours}' WHERE i > 20 LIMIT 5 OFFSET 8000").fetchall()
            assert rows == con.execute(f"SELECT sorted FROM '{theirs}' WHERE i > 20 LIMIT 5 OFFSET 8000").fetchall()
            assert con.execute(f"SELECT sorted FROM '{ours}'").fetchnumpy()["sorted"].tolist() == list(range(ROWS))
            assert con.execute(f"SELECT count(*) FROM '{ours}'").fetchall() == [(ROWS,)]
            what = "s, code, count(*), sum(f32), min(atz)::VARCHAR"
            grouped = f"SELECT {what} FROM '{{}}' WHERE f32 < 9 GROUP BY ALL ORDER BY ALL"
            left, right = (con.execute(grouped.format(path)).fetchall() for path in both)
            assert [row[:3] + row[4:] for row in left] == [row[:3] + row[4:] for row in right]


def test_globs_lists_and_names(con: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for k in range(3):
        table = pa.table({"n": range(k * 10, k * 10 + 10), "k": [k] * 10})
        staffa.write_table(table.select(["k", "n"] if k == 1 else ["n", "k"]), f"it's {k}.staffa")
    assert con.execute("SELECT count(*), sum(n), sum(k) FROM 'it''s ?.staffa'").fetchall() == [(30, 435, 30)]
    assert con.execute("SELECT sum(n) FROM read_staffa(['it''s 2.staffa', 'it''s 0*'])").fetchall() == [(290,)]
    assert con.execute('SELECT "it\'s 1".n FROM "it\'s 1.staffa" WHERE n = 13').fetchall() == [(13,)]
    assert con.execute("SELECT n FROM '*.STAFFA' LIMIT 1" if sys.platform == "win32" else "SELECT 1").fetchall()
    staffa.write_table(pa.table({"n": ["text"], "k": [1]}), "it's 3.staffa")
    with pytest.raises(duckdb.Error, match=r"it's 3.staffa: column \"n\" is Utf8, but Int64 in .*0.staffa"):
        con.execute("FROM 'it''s ?.staffa'")
    staffa.write_table(pa.table({"n": [1]}), "it's 3.staffa")
    with pytest.raises(duckdb.Error, match=r"it's 3.staffa: the column \"k\" is missing"):
        con.execute("FROM 'it''s ?.staffa'")


def test_no_rows_no_columns_wide(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    staffa.write_table(pa.table({"a": pa.array([], pa.int64()), "s": pa.array([], pa.string())}), path)
    assert con.execute(f"SELECT count(*), max(s) FROM '{path}'").fetchall() == [(0, None)]
    assert con.execute(f"SELECT * FROM '{path}' WHERE a > 3").fetchall() == []
    staffa.write_table(pa.table({f"c{i}": [i, None] for i in range(2000)}), path)
    assert con.execute(f"SELECT c7, c1999 FROM '{path}' WHERE c1000 IS NOT NULL").fetchall() == [(7, 1999)]
    staffa.write_table(pa.table({}), path)
    with pytest.raises(duckdb.Error):
        con.execute(f"FROM '{path}'")


def test_wrong_names_and_files_are_errors_that_say_so(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (tmp_path / "text.staffa").write_text("no table at all")
    wrong = {
        "FROM 'nothing.staffa'": "nothing.staffa",
        f"FROM '{tmp_path}/text.staffa'": "not a Staffa file",
        f"FROM '{tmp_path}/text.staffa.staffa'": "no files found",
        f"FROM read_staffa('{tmp_path}')": ".",
        "FROM read_staffa(3)": "expected a path or a list of paths",
        "FROM read_staffa(NULL)": "expected",
        "FROM read_staffa(['a', NULL])": "expected",
        "FROM read_staffa([])": "expected|is empty",
        "FROM read_staffa()": "read_staffa",
        "FROM read_staffa('a', nonsense := 1)": "nonsense",
    }
    for query, message in wrong.items():
        with pytest.raises(duckdb.Error, match=message) as error:
            con.execute(query)
        assert "internal" not in str(error.value).lower(), query
    assert con.execute("SELECT 42").fetchall() == [(42,)]


def test_damaged_files_are_errors_or_the_right_rows(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    n = 3000
    table = pa.table({"n": range(n), "s": [f"name {i % 50}" for i in range(n)], "x": [math.sqrt(i) for i in range(n)]})
    staffa.write_table(table, path)
    good, right = path.read_bytes(), con.execute(f"FROM '{path}'").fetchall()
    refused = 0
    for seed in range(200):
        rng = random.Random(seed)
        bad = bytearray(good)
        bad[rng.randrange(len(bad))] ^= rng.randrange(1, 256)
        path.write_bytes(bad if seed % 5 else bad[: rng.randrange(len(bad))])
        try:
            assert con.execute(f"FROM '{path}'").fetchall() == right
        except duckdb.Error as error:
            refused += 1
            assert str(path.name) in str(error), error
            assert "internal error" not in str(error), error
    assert refused > 150
    assert con.execute("SELECT 42").fetchall() == [(42,)]


def test_copy_writes_what_it_is_given(con: duckdb.DuckDBPyConnection, both: tuple[Path, Path], path: Path) -> None:
    con.execute(f"COPY (FROM '{both[1]}') TO '{path}' (FORMAT staffa)")
    ours, theirs = (con.execute(f"SELECT COLUMNS(*)::VARCHAR FROM '{file}'").fetchall() for file in (path, both[1]))
    assert equal(ours, theirs)
    assert con.execute(f"DESCRIBE FROM '{path}'").fetchall() == con.execute(f"DESCRIBE FROM '{both[1]}'").fetchall()
    staffa.open(path).verify()
    with pytest.raises(duckdb.InvalidInputException, match="expected a number from 1, found 0"):
        con.execute(f"COPY (SELECT 42 AS a) TO '{path}' (FORMAT staffa, ROW_GROUP_ROWS 0)")
    con.execute(f"COPY (SELECT 42 AS a FROM range(5000)) TO '{path}' (FORMAT staffa, ROW_GROUP_ROWS 2000)")
    assert staffa.open(path).num_row_groups == 3
    con.execute(f"COPY (SELECT 42 AS a, 'x' AS b) TO '{path}' (FORMAT staffa, PROFILE small)")
    assert staffa.read_table(path).to_pylist() == [{"a": 42, "b": "x"}]
    wrong = {"PROFILE tiny": "tiny", "NONSENSE 1": "nonsense|NONSENSE"}
    for option, message in wrong.items():
        with pytest.raises(duckdb.Error, match=message):
            con.execute(f"COPY (SELECT 1 AS a) TO '{path}' (FORMAT staffa, {option})")
    with pytest.raises(duckdb.Error, match=r"zero|overflow|range|convert"):
        con.execute(f"COPY (SELECT (1000 - i)::UTINYINT AS a FROM range(2000) t(i)) TO '{path}' (FORMAT staffa)")
    assert staffa.read_table(path).num_rows == 1, "what was there stays"
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_every_type_of_duckdb_that_fits_comes_back(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    con.execute("CREATE TABLE t AS FROM test_all_types()")
    refused = []
    for (
        name,
        *_,
    ) in con.execute("DESCRIBE t").fetchall():
        try:
            con.execute(f"COPY (SELECT \"{name}\" FROM t) TO '{path}' (FORMAT staffa)")
            ours = con.execute(f"SELECT \"{name}\"::VARCHAR FROM '{path}'").fetchall()
            # Arrow has no tuples, but structs.
            assert name == "tuple" or ours == con.execute(f'SELECT "{name}"::VARCHAR FROM t').fetchall(), name
        except duckdb.Error as error:
            assert "nternal" not in str(error), f"{name}: {error}"
            refused.append(name)
    # Times of DuckDB go to 24:00:00, those of Arrow end before.
    assert sorted(refused) == ["bit", "hugeint", "time", "time_ns", "time_tz", "uhugeint", "union"]


def test_external_access_is_asked_for(path: Path) -> None:
    staffa.write_table(pa.table({"a": [1]}), path)
    with staffa.duckdb.connect() as con:
        con.execute("SET enable_external_access = false")
        with pytest.raises(duckdb.Error, match=r"disabled|access|permission"):
            con.execute(f"FROM '{path}'")
        with pytest.raises(duckdb.Error, match=r"disabled|access|permission"):
            con.execute(f"COPY (SELECT 1 AS a) TO '{path}' (FORMAT staffa)")


def test_an_interrupt_stops_a_scan(both: tuple[Path, Path], con: duckdb.DuckDBPyConnection) -> None:
    files = ", ".join([f"'{both[0]}'"] * 500)
    query = f"SELECT count(DISTINCT md5(many || sorted)) FROM read_staffa([{files}])"
    timer = threading.Timer(0.3, con.interrupt)
    timer.start()
    with pytest.raises(duckdb.InterruptException):
        con.execute(query).fetchall()
    timer.join()


def test_duckdb_loads_the_code_out_of_the_package(path: Path) -> None:
    # A process that has not imported the package.
    staffa.write_table(pa.table({"n": range(100_000)}), path)
    code = """
import sys, duckdb
con = duckdb.connect(config={"allow_unsigned_extensions": "true"})
con.execute(f"LOAD '{sys.argv[1]}'")
assert not any(name.startswith("staffa") for name in sys.modules)
print(con.sql(f"SELECT sum(n) FROM '{sys.argv[2]}'").fetchall()[0][0])
import staffa
print(staffa.open(sys.argv[2]).num_rows)
"""
    extension = staffa.duckdb.EXTENSION
    done = subprocess.run([sys.executable, "-c", code, extension, path], capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (["4999950000", "100000"], "")
    assert extension.stat().st_size < 100_000


def test_load_says_what_is_the_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    with duckdb.connect() as con, pytest.raises(staffa.duckdb.ExtensionError, match=r"allow_unsigned_extensions"):
        staffa.duckdb.load(con)
    monkeypatch.setattr(staffa.duckdb, "RELEASE", "1.0.0")
    with pytest.raises(staffa.duckdb.ExtensionError, match=r"pip install duckdb==1.0.0"):
        staffa.duckdb.connect()
    monkeypatch.setattr(staffa.duckdb, "RELEASE", None)
    with pytest.raises(staffa.duckdb.ExtensionError, match=r"has no DuckDB extension"):
        staffa.duckdb.connect()
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(staffa.MissingExtraError, match=r"the wheel with the extra duckdb"):
        staffa.duckdb.connect()
