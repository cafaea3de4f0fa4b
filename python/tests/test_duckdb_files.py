"""Several files as one table of DuckDB: columns by name, keys of folders, names of files, types that widen."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import staffa
import staffa.duckdb

if staffa.duckdb.RELEASE is None:
    pytest.skip("the extension has not been built: make extension", allow_module_level=True)
if duckdb.__version__ != staffa.duckdb.RELEASE:
    pytest.skip(f"built for DuckDB {staffa.duckdb.RELEASE}, not {duckdb.__version__}", allow_module_level=True)


@pytest.fixture
def con(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[duckdb.DuckDBPyConnection]:
    monkeypatch.chdir(tmp_path)
    with staffa.duckdb.connect() as con:
        yield con


def write(path: str, **columns: Any) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    staffa.write_table(pa.table(columns), path)


def test_columns_by_name(con: duckdb.DuckDBPyConnection) -> None:
    write("a.staffa", x=pa.array([1, 2], pa.int16()), s=["u", None])
    write("b.staffa", t=pa.array(["v", "w"]).dictionary_encode(), x=[2**40, 4])
    union = "read_staffa('*.staffa', union_by_name = true)"
    assert con.execute(f"SELECT x, s, t FROM {union}").fetchall() == [
        (1, "u", None),
        (2, None, None),
        (2**40, None, "v"),
        (4, None, "w"),
    ]
    assert con.execute(f"SELECT x FROM {union} WHERE t = 'w'").fetchall() == [(4,)]
    assert con.execute(f"SELECT x FROM {union} WHERE t IS NULL AND x > 1").fetchall() == [(2,)]
    assert con.execute(f"SELECT count(*), count(s), count(t), sum(x) FROM {union}").fetchall() == [(4, 1, 2, 2**40 + 7)]
    assert con.execute(f"SELECT t FROM {union} WHERE s = 'u' OR x = 4").fetchall() == [(None,), ("w",)]
    with pytest.raises(duckdb.Error, match=r"b.staffa: the column \"s\" is missing.*union_by_name = true reads NULL"):
        con.execute("FROM read_staffa('*.staffa')")
    with pytest.raises(duckdb.Error, match=r"a.staffa: column \"t\" is not in b.staffa|the column \"t\" is missing"):
        con.execute("FROM read_staffa(['b.staffa', 'a.staffa'])")


WIDER: list[tuple[list[pa.Array], str, list[Any]]] = [
    ([pa.array([1], pa.int8()), pa.array([300], pa.int16())], "SMALLINT", [1, 300]),
    ([pa.array([200], pa.uint8()), pa.array([-1], pa.int8())], "SMALLINT", [200, -1]),
    ([pa.array([1], pa.uint32()), pa.array([-1], pa.int8())], "BIGINT", [1, -1]),
    ([pa.array([1], pa.int32()), pa.array([0.5], pa.float32())], "DOUBLE", [1.0, 0.5]),
    ([pa.array([1], pa.int16()), pa.array([0.5], pa.float32())], "FLOAT", [1.0, 0.5]),
    ([pa.array([1], pa.int64()), pa.array([0.5], pa.float32())], "DOUBLE", [1.0, 0.5]),
    (
        [pa.array([1], pa.int8()), pa.array([Decimal("0.25")], pa.decimal128(9, 2))],
        "DECIMAL(9,2)",
        [Decimal(1), Decimal("0.25")],
    ),
    ([pa.array([None], pa.null()), pa.array(["x"])], "VARCHAR", [None, "x"]),
    (
        [pa.array(["x"], pa.large_string()), pa.array(["a longer text than twelve"])],
        "VARCHAR",
        ["x", "a longer text than twelve"],
    ),
    ([pa.array([[1]], pa.list_(pa.int8())), pa.array([[300]], pa.list_(pa.int32()))], "INTEGER[]", [[1], [300]]),
]


@pytest.mark.parametrize(("columns", "data_type", "values"), WIDER, ids=lambda value: str(value)[:20])
def test_types_widen(
    columns: list[pa.Array], data_type: str, values: list[Any], con: duckdb.DuckDBPyConnection
) -> None:
    for i, column in enumerate(columns):
        write(f"{i}.staffa", v=column)
    assert con.execute("SELECT typeof(v), v FROM '*.staffa'").fetchall() == [(data_type, value) for value in values]
    assert con.execute("SELECT count(*) FROM '*.staffa' WHERE v IS NOT NULL").fetchall() == [
        (sum(value is not None for value in values),)
    ]
    assert staffa.read_table("*.staffa")["v"].to_pylist() == values


def test_times_widen(con: duckdb.DuckDBPyConnection) -> None:
    write("0.staffa", t=pa.array([1], pa.timestamp("s")))
    write("1.staffa", t=pa.array([1500], pa.timestamp("ms")))
    rows = con.execute("SELECT t::VARCHAR FROM '*.staffa' ORDER BY t").fetchall()
    assert rows == [("1970-01-01 00:00:01",), ("1970-01-01 00:00:01.5",)]
    write("2.staffa", t=["soon"])
    with pytest.raises(duckdb.Error, match=r"2.staffa: column \"t\" is Utf8, but Timestamp.* in [01].staffa"):
        con.execute("FROM '*.staffa'")


def test_a_value_that_does_not_fit_is_an_error(con: duckdb.DuckDBPyConnection) -> None:
    write("0.staffa", v=pa.array([2**64 - 1], pa.uint64()))
    write("1.staffa", v=pa.array([-1], pa.int64()))
    with pytest.raises(duckdb.Error, match=r"0.staffa: a value does not fit"):
        con.execute("FROM '*.staffa'").fetchall()
    assert con.execute("SELECT 42").fetchall() == [(42,)]


def test_keys_of_folders(con: duckdb.DuckDBPyConnection) -> None:
    for year in (2023, 2024, None):
        for city in ("a/b", "ü"):
            rows = pa.table({"x": [1, 2], "year": pa.array([year] * 2, pa.int32()), "city": [city] * 2})
            staffa.write_dataset(rows, "lake", partition_by=["year", "city"], existing="append")
    lake = "read_staffa('lake/**/*.staffa')"
    assert con.execute(f"DESCRIBE FROM {lake}").fetchall()[1][:2] == ("year", "BIGINT")
    query = f"SELECT year, city, sum(x) FROM {lake} WHERE {{}} GROUP BY ALL ORDER BY ALL"
    assert con.execute(query.format("year = 2024")).fetchall() == [(2024, "a/b", 3), (2024, "ü", 3)]
    assert con.execute(query.format("year <> 2024 AND city = 'ü'")).fetchall() == [(2023, "ü", 3)]
    assert con.execute(query.format("year IS NULL AND x > 1")).fetchall() == [(None, "a/b", 2), (None, "ü", 2)]
    assert con.execute(query.format("NOT (year = 2024 AND x = 1)")).fetchall() == [
        (2023, "a/b", 3),
        (2023, "ü", 3),
        (2024, "a/b", 2),
        (2024, "ü", 2),
        (None, "a/b", 2),
        (None, "ü", 2),
    ]
    assert con.execute(f"SELECT DISTINCT city FROM {lake} ORDER BY 1").fetchall() == [("a/b",), ("ü",)]
    assert con.execute(f"SELECT count(*) FROM {lake}").fetchall() == [(12,)]
    without = "read_staffa('lake/**/*.staffa', hive_partitioning = false)"
    assert [row[0] for row in con.execute(f"DESCRIBE FROM {without}").fetchall()] == ["x"]


def test_files_that_keys_exclude_are_not_read(con: duckdb.DuckDBPyConnection) -> None:
    write("y=1/t.staffa", x=list(range(5000)))
    write("y=2/t.staffa", x=list(range(5000)))
    damaged = bytearray(Path("y=1/t.staffa").read_bytes())
    damaged[20] ^= 1
    Path("y=1/t.staffa").write_bytes(damaged)
    for where in ("y = 2", "y > 1", "y IN (2, 3)", "y = 2 OR y = 3", "NOT y = 1"):
        assert con.execute(f"SELECT sum(x) FROM '*/t.staffa' WHERE {where}").fetchall() == [(12_497_500,)], where
    with pytest.raises(duckdb.Error, match=r"y=1/t.staffa"):
        con.execute("SELECT sum(x) FROM '*/t.staffa'").fetchall()


def test_keys_that_differ(con: duckdb.DuckDBPyConnection) -> None:
    write("y=1/t.staffa", x=[1])
    write("z=2/t.staffa", x=[2])
    assert con.execute("SELECT * FROM '*/t.staffa'").fetchall() == [(1,), (2,)]
    with pytest.raises(duckdb.Error, match=r"z=2/t.staffa: hive_partitioning needs the same keys"):
        con.execute("FROM read_staffa('*/t.staffa', hive_partitioning = true)")
    write("w=x/t.staffa", x=[1], w=["in the file"])
    assert con.execute("SELECT x, w FROM 'w=x/t.staffa'").fetchall() == [(1, "x")]


def test_names_of_files(con: duckdb.DuckDBPyConnection) -> None:
    write("a.staffa", x=[1, 2])
    write("b.staffa", x=[3])
    rows = con.execute("SELECT filename, x FROM read_staffa('*.staffa', filename = true)").fetchall()
    assert rows == [("a.staffa", 1), ("a.staffa", 2), ("b.staffa", 3)]
    rows = con.execute("SELECT x FROM read_staffa('*.staffa', filename = 'f') WHERE f = 'b.staffa'").fetchall()
    assert rows == [(3,)]
    assert con.execute("SELECT f FROM read_staffa('a.staffa', filename = 'f') LIMIT 1").fetchall() == [("a.staffa",)]
    for wrong in ("filename = 'x'", "filename = 3", "union_by_name = 'perhaps'", "hive_partitioning = [1]"):
        with pytest.raises(duckdb.Error):
            con.execute(f"FROM read_staffa('*.staffa', {wrong})")
