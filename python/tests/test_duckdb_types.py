"""What DuckDB's importer of Arrow cannot read: dictionaries and run-ends inside other types, and times out of range."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import staffa
import staffa.duckdb

if staffa.duckdb.RELEASE is None:
    pytest.skip("the extension has not been built: make extension", allow_module_level=True)
if duckdb.__version__ != staffa.duckdb.RELEASE:
    pytest.skip(f"built for DuckDB {staffa.duckdb.RELEASE}, not {duckdb.__version__}", allow_module_level=True)

WORDS = pa.array(["a", "b", "a", None]).dictionary_encode()
NOTHING = pa.DictionaryArray.from_arrays(pa.array([None] * 4, pa.int8()), pa.array([], pa.string()))
NULL_VALUES = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1], pa.int8()), pa.array(["x", None]))
RUNS = pc.run_end_encode(pa.array([True, True, False, None]))
RUN_WORDS = pa.RunEndEncodedArray.from_arrays([1, 4], pa.array(["one", "more"]).dictionary_encode())
HALVES = pa.array([0.5, None, 2.0, -0.0], pa.float16())
DECIMALS = pa.array([Decimal("1.50"), Decimal("1.50"), None, Decimal("-9.99")], pa.decimal128(18, 2))
INNER = {
    "words": WORDS,
    "nothing": NOTHING,
    "null values": NULL_VALUES,
    "runs": RUNS,
    "runs of words": RUN_WORDS,
    "halves": HALVES,
    "numbers": pa.array([1, 2, None, 4]).dictionary_encode(),
    "decimals": pa.array(
        [Decimal("1.50"), None, Decimal("-9.99"), Decimal("1.50")], pa.decimal128(9, 2)
    ).dictionary_encode(),
    "runs of decimals": pc.run_end_encode(pa.array([Decimal(7), Decimal(7), None, Decimal(-7)], pa.decimal128(18, 0))),
}


def nested(values: pa.Array) -> dict[str, pa.Array]:
    """The values, four of them, at the top and inside of other types."""
    keys = pa.array(["k", "l", "m", "n"])
    mapped = pa.MapArray.from_arrays(pa.array([0, 1, 2, 4]), keys, values)
    listed = pa.ListArray.from_arrays(pa.array([0, 2, 2, 4]), values)
    return {
        "flat": values,
        "list": listed,
        "large list": pa.LargeListArray.from_arrays(pa.array([0, 2, 4]), values),
        "list view": pa.ListViewArray.from_arrays(pa.array([2, 0]), pa.array([2, 1]), values),
        "fixed-size list": pa.FixedSizeListArray.from_arrays(values, 2),
        "struct": pa.StructArray.from_arrays([values, values], ["d", "e"]),
        "map": mapped,
        "list of structs": pa.ListArray.from_arrays(pa.array([0, 4]), pa.StructArray.from_arrays([values], ["d"])),
        "struct of lists": pa.StructArray.from_arrays([listed], ["d"]),
        "empty lists": pa.ListArray.from_arrays(pa.array([0, 0, 0]), values.slice(0, 0)),
        "a long column": pa.ListArray.from_arrays(pa.array([0] * 3000 + [2, 4]), values),
    }


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with staffa.duckdb.connect() as con:
        con.execute("CREATE TABLE precious AS SELECT 42 AS x")
        yield con
        assert con.execute("FROM precious").fetchall() == [(42,)], "the database is gone"


@pytest.mark.parametrize("name", INNER)
def test_dictionaries_and_run_ends_at_all_levels(name: str, con: duckdb.DuckDBPyConnection, path: Path) -> None:
    for place, column in nested(INNER[name]).items():
        staffa.write_table(pa.table({"i": range(len(column)), "c": column}), path)
        found = con.execute(f"SELECT c FROM '{path}' ORDER BY i").fetchall()
        expected = column.to_pylist()
        if place == "map":
            expected = [dict(pairs) for pairs in expected]
        assert [list(row[0]) if isinstance(row[0], tuple) else row[0] for row in found] == expected, place
        assert con.execute(f"SELECT count(*), count(c) FROM '{path}' WHERE i >= 0").fetchall() == [
            (len(column), len(column) - expected.count(None))
        ], place


@pytest.mark.parametrize("digits", [1, 4, 5, 9, 10, 18, 19, 38])
def test_decimals_of_every_width(digits: int, con: duckdb.DuckDBPyConnection, path: Path) -> None:
    most, least = Decimal("9" * digits), Decimal("-" + "9" * digits)
    values = [most, least, None, Decimal(0), Decimal(-1)] * 900
    staffa.write_table(pa.table({"i": range(len(values)), "d": pa.array(values, pa.decimal128(digits, 0))}), path)
    assert [value for (value,) in con.execute(f"SELECT d FROM '{path}' ORDER BY i").fetchall()] == values
    assert con.execute(f"SELECT DISTINCT typeof(d) FROM '{path}'").fetchall() == [(f"DECIMAL({digits},0)",)]
    for literal in (most, least, Decimal(0)):
        expected = [sum(value is not None and value < literal for value in values), values.count(literal)]
        found = [con.execute(f"SELECT count(*) FROM '{path}' WHERE d {op} {literal}").fetchone() for op in ("<", "=")]
        assert found == [(count,) for count in expected], literal


DAY = 86_400
TIMES = {
    pa.time32("s"): ([0, DAY - 1], []),
    pa.time32("ms"): ([0, DAY * 1000 - 1], []),
    pa.time64("us"): ([0, DAY * 10**6 - 1], []),
    pa.time64("ns"): ([0, DAY * 10**9 - 1], []),
    pa.date32(): ([0, 2**31 - 2, -(2**31) + 2, 2**31 - 1, -(2**31) + 1], [-(2**31)]),
    pa.date64(): ([0, DAY * 1000 * 20_000], []),
    pa.timestamp("s"): ([0, 9_223_372_036_854, 2**63 - 1], [9_223_372_036_855, -(2**63)]),
    pa.timestamp("ms"): ([0, 9_223_372_036_854_775], [2**62, -9_223_372_022_400_001]),
    pa.timestamp("us"): ([0, 2**63 - 2, 2**63 - 1, -(2**63) + 1], [-(2**63), -(2**63) + 2]),
    pa.timestamp("ns"): ([0, 2**63 - 2, -(2**63) + 2], []),
    pa.timestamp("s", "UTC"): ([0, 9_223_372_036_854], [2**63 - 1, -(2**63)]),
    pa.timestamp("us", "UTC"): ([0, 2**63 - 2], [-(2**63)]),
    pa.duration("s"): ([0, 10**12], [2**63 - 1]),
}


@pytest.mark.parametrize("data_type", TIMES, ids=str)
def test_times_out_of_range(data_type: pa.DataType, con: duckdb.DuckDBPyConnection, path: Path) -> None:
    words = pa.int32() if data_type.bit_width == 32 else pa.int64()
    held, refused = TIMES[data_type]
    for i, value in enumerate([*held, *refused]):
        times = pa.array([None, value], words).view(data_type)
        columns = {
            "flat": times,
            "list": pa.ListArray.from_arrays(pa.array([0, 0, 2]), times),
            "struct": pa.StructArray.from_arrays([times], ["d"]),
            "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), times),
        }
        for place, column in columns.items():
            staffa.write_table(pa.table({"moment": column}), path)
            query = f"SELECT moment::VARCHAR FROM '{path}'"
            if i < len(held):
                assert len(con.execute(query).fetchall()) == 2, (place, value)
            else:
                with pytest.raises(duckdb.InvalidInputException, match=rf"column \"moment\": .* found {value}"):
                    con.execute(query).fetchall()


def test_what_is_under_null_is_not_looked_at(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    numbers = pa.array([2**31 - 1, 60], pa.int32()).buffers()[1]
    times = pa.Array.from_buffers(pa.time32("s"), 2, [pa.py_buffer(b"\x02"), numbers])
    staffa.write_table(pa.table({"t": times}), path)
    assert con.execute(f"SELECT t::VARCHAR FROM '{path}'").fetchall() == [(None,), ("00:01:00",)]
