"""Filters as text and as lists keep what the expressions keep, of files and of datasets."""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import operator
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import staffa

F = pc.field
DAY = dt.date(2024, 2, 29)
TABLE = pa.table(
    {
        "i": [1, 2, None, 4, 5],
        "f": [0.5, None, float("nan"), 2.0, -1.0],
        "s": ["Oban", "Mull", None, "Iona", "O"],
        "odd name": [True, False, None, True, False],
        "d": pa.array([DAY, None, dt.date(2020, 1, 1), DAY, DAY]),
        "t": pa.array([dt.datetime(2024, 2, 29, 12)] * 4 + [None], pa.timestamp("ms")),
        "z": pa.array([dt.datetime(2024, 7, 1, 12)] * 4 + [None], pa.timestamp("us", "Europe/London")),
        "m": pa.array([Decimal("0.10"), Decimal("2.00"), None, None, Decimal("9.99")], pa.decimal128(9, 2)),
        "b": [b"\x9d\xff", b"a", None, b"ab", b""],
        "c": pa.array(["u", "v", "u", None, "w"]).dictionary_encode(),
    }
)
TEXTS = {
    "i > 3": F("i") > 3,
    "not (i > 3)": ~(F("i") > 3),
    "3 <= i and s <> 'O'": (F("i") >= 3) & (F("s") != "O"),
    "i = 1 or f = 2.0": (F("i") == 1) | (F("f") == 2.0),
    "i in (1, 5, 9)": F("i").isin([1, 5, 9]),
    "s starts with 'O'": pc.starts_with(F("s"), "O"),
    "s contains 'an'": pc.match_substring(F("s"), "an"),
    "s like '%n_'": pc.match_like(F("s"), "%n_"),
    "s ilike 'N%'": pc.match_like(F("s"), "N%", ignore_case=True),
    "s is null": F("s").is_null(),
    "s is not null": ~F("s").is_null(),
    '"odd name" = true': F("odd name") == True,  # noqa: E712
    "d = '2024-02-29'": F("d") == pa.scalar(DAY),
    "d between '2019-01-01' and '2021-01-01'": (F("d") > dt.date(2019, 1, 1)) & (F("d") < dt.date(2021, 1, 1)),
    "t >= '2024-02-29T12:00:00'": F("t") >= dt.datetime(2024, 2, 29, 12),
    "z = '2024-07-01T13:00:00'": F("z") == pa.scalar(dt.datetime(2024, 7, 1, 12, tzinfo=dt.timezone.utc)),
    "z = '2024-07-01T12:00:00Z'": F("z") == pa.scalar(dt.datetime(2024, 7, 1, 12, tzinfo=dt.timezone.utc)),
    "m = 0.1": F("m") == Decimal("0.10"),
    "m >= 2": F("m") >= Decimal(2),
    "m in (2, 9.99)": F("m").isin([Decimal("2.00"), Decimal("9.99")]),
    "m > '1.5'": F("m") > Decimal("1.5"),
    "b = 'ab'": F("b") == b"ab",
    "b starts with 'a'": pc.starts_with(F("b"), b"a"),
    "c = 'u'": F("c") == "u",
    "c in ('u', 'w')": F("c").isin(["u", "w"]),
    "c like 'u%'": pc.match_like(F("c").cast(pa.string()), "u%"),
    "t >= '2024-02-29T12:00:00Z'": F("t") >= dt.datetime(2024, 2, 29, 12),
}
LISTS: list[tuple[Any, Any]] = [
    ([("m", "<", np.int64(9))], F("m") < Decimal(9)),
    ([("i", ">", 3)], F("i") > 3),
    ([("i", ">=", 2), ("s", "!=", "Mull")], (F("i") >= 2) & (F("s") != "Mull")),
    ([[("i", "=", 1)], [("s", "==", "O"), ("i", "<", 9)]], (F("i") == 1) | ((F("s") == "O") & (F("i") < 9))),
    ([("s", "in", {"O", "Oban"})], F("s").isin(["O", "Oban"])),
    ([("s", "not in", ["O", "Oban"])], ~F("s").isin(["O", "Oban"])),
    ([("d", "==", DAY)], F("d") == pa.scalar(DAY)),
    ([("b", "==", b"\x9d\xff")], F("b") == b"\x9d\xff"),
]
WAYS: dict[str, Callable[[Path, Any], pa.Table]] = {
    "file": lambda path, rows: staffa.open(path).to_table(filter=rows),
    "scan": lambda path, rows: staffa.open(path).scan(filter=rows).read_all(),
    "dataset": lambda path, rows: staffa.dataset(path).to_table(filter=rows),
    "filter": lambda path, rows: staffa.dataset(path).filter(rows).to_table(),
    "read_table": lambda path, rows: staffa.read_table([path], filters=rows),
}


@pytest.mark.parametrize("way", WAYS)
def test_text_and_lists(way: str, path: Path) -> None:
    staffa.write_table(TABLE, path)
    for filter, expression in [*TEXTS.items(), *LISTS]:
        expected = TABLE.filter(expression)["i"].to_pylist()
        assert WAYS[way](path, filter)["i"].to_pylist() == expected, filter
        assert WAYS[way](path, expression)["i"].to_pylist() == expected, expression
        assert staffa.open(path).count_rows(filter) == len(expected)


def test_decimals_compare_exactly(path: Path) -> None:
    """Literals at the edges of 64 bits, those that the library compares and those that pyarrow does."""
    edges = [0, 1, -1, 99, 10**17, 10**18 - 1, 1 - 10**18, 2**63, -(2**63), 10**20]
    literals = [Decimal(word).scaleb(-scale) for word in edges for scale in (0, 2, 3, 9)]
    compared = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
    for digits, scale in [(18, 2), (15, 0), (38, 9)]:
        words = [Decimal(word).scaleb(-scale) for word in edges if abs(word) < 10**digits]
        values = [*words, None] * 50
        table = pa.table({"m": pa.array(values, pa.decimal128(digits, scale)), "i": range(len(values))})
        staffa.write_table(table, path)
        file = staffa.open(path)
        for literal, compare in itertools.product(literals, compared):
            filter = compare(F("m"), literal)
            try:
                table.filter(filter)
            except pa.ArrowInvalid:
                continue  # No decimal of pyarrow holds both.
            expected = [row for row, value in enumerate(values) if value is not None and compare(value, literal)]
            assert file.to_table(filter=filter)["i"].to_pylist() == expected, (filter, digits, scale)


BINARY = {
    "match_substring": pc.match_substring(F("b"), b"\x9d"),
    "starts_with": pc.starts_with(F("b"), b"\x9d"),
    "match_like": pc.match_like(F("b"), b"\x9d%"),
    "regex": pc.match_substring_regex(F("b"), b"^a"),
}


@pytest.mark.parametrize("name", BINARY)
def test_expressions_of_bytes_that_are_no_text(name: str, path: Path) -> None:
    staffa.write_table(TABLE, path)
    expected = TABLE.filter(BINARY[name])["i"].to_pylist()
    assert expected
    for way in ("file", "dataset"):
        assert WAYS[way](path, BINARY[name])["i"].to_pylist() == expected


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ("i >", r"a literal \(5, 'text', true, null\) expected, found the end, after \"i >\""),
        ("nope = 1", "unknown column 'nope'; there are 'i', 'f'"),
        ("d = 'soon'", "column 'd' of type date32.* cannot be compared with 'soon'"),
        ("m = 'much'", "column 'm' of type decimal128.* cannot be compared with 'much'"),
        ([("i", "~", 1)], "unknown operator '~'"),
        ([("i", 1)], r"conditions \(column, operator, value\)"),
        ([("i", "in", 5)], "in a list of values, found 5"),
        ([("i", "in", ["x"])], "column 'i' of type int64 cannot be compared with 'x': a number expected"),
        ([("s", "in", ["\ud800"])], "column 's' of type string cannot be compared with '.ud800'"),
        ("s in (1)", "column 's' of type string cannot be compared with 1: a text expected"),
        ("s > 5", "column 's' of type string cannot be compared with 5: a text expected"),
        ([("t", ">", np.datetime64("2013-12-31"))], "column 't' of type timestamp.* cannot be compared with"),
        ([("i", "=", 2**64)], "column 'i' of type int64 cannot be compared with 18446744073709551616"),
        ([["i", "=", 1]], "conditions"),
    ],
)
def test_wrong_filters(filter: Any, message: str, path: Path) -> None:
    staffa.write_table(TABLE, path)
    for way in ("file", "dataset"):
        with pytest.raises(staffa.InvalidArgumentError, match=message):
            WAYS[way](path, filter)


NESTED = pa.table(
    {
        "i": [1, 2, 3, 4],
        "st": pa.array([{"a": 1, "in": {"b": "x"}}, None, {"a": 5, "in": None}, {"a": 7, "in": {"b": "y"}}]),
        "st.a": [9, 0, 0, 0],
        "x.y": pa.array([{"z": 1}, {"z": 2}, None, {"z": 2}]),
    }
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        # A column of that name goes first; quotes say otherwise.
        ("st.a > 3", [1]),
        ('"st"."a" > 3', [3, 4]),
        ("st.in.b = 'y'", [4]),
        ("st.in.b is null", [2, 3]),
        ("x.y.z = 2 and i > 2", [4]),
        ("st.in.b in ('x', 'y')", [1, 4]),
        ([("st.in.b", "==", "x")], [1]),
    ],
)
def test_fields_of_structs(way: str, filter: Any, expected: list[int], path: Path) -> None:
    staffa.write_table(NESTED, path)
    assert WAYS[way](path, filter)["i"].to_pylist() == expected


MOMENT = dt.datetime(2024, 2, 29, 5, 0, 0, 500_000)
# Values of a column, and others of which each equals one of them or none.
LISTED: dict[pa.DataType, tuple[list[Any], list[Any]]] = {
    pa.int8(): ([1, -1, 0], [1.0, 1.5, 300, -(2**40), 2**63 - 1, Decimal("1.0"), 1e300, float("nan")]),
    pa.int64(): ([1, 2**53], [2**53, 2**53 + 1, 1.999, 1.0, np.uint64(2**63)]),
    pa.uint64(): ([0, 1, 2**64 - 1], [-1, 2**64 - 1, 1.0, 1.5]),
    pa.float32(): ([0.5, 0.1, -0.0], [0.5, 0.1, 0, 0.0, -0.0, 1]),
    pa.float64(): ([0.5, 2.0, 0.0], [2, 0.5, -0.0, Decimal("0.5")]),
    pa.decimal128(5, 2): ([Decimal("1.50"), Decimal(2)], [1.505, "1.5", 2, 2.0, 10**12, Decimal("1.500")]),
    pa.date32(): ([DAY], [MOMENT, dt.datetime(2024, 2, 29), DAY, "2024-02-29"]),
    pa.timestamp("s"): ([MOMENT.replace(microsecond=0)], [MOMENT, "2024-02-29T05:00:00", "2024-02-29T05:00:00Z", DAY]),
    pa.time32("s"): ([dt.time(1)], [dt.time(1), dt.time(1, 0, 0, 1), "01:00:00", "01:00", "01:00:00.5"]),
    pa.time64("ns"): ([dt.time(1)], [dt.time(1), "01:00", "01:00:00.000000001"]),
    pa.duration("s"): ([dt.timedelta(seconds=1)], [dt.timedelta(seconds=1), dt.timedelta(seconds=1, microseconds=1)]),
    pa.large_string(): (["a", ""], ["a", "", "b"]),
    pa.dictionary(pa.int8(), pa.string()): (["a", ""], ["a", "b"]),
}


@pytest.mark.parametrize("data_type", LISTED, ids=str)
def test_a_list_holds_the_values_that_are_equal(data_type: pa.DataType, path: Path) -> None:
    values, literals = LISTED[data_type]
    table = pa.table({"x": pa.array([*values, None], data_type)})
    staffa.write_table(table, path)
    for way in ("file", "dataset"):
        for literal in literals:
            equal = WAYS[way](path, [("x", "==", literal)])
            assert WAYS[way](path, [("x", "in", [literal])]).equals(equal), literal
            others = WAYS[way](path, [("x", "not in", [literal])]).num_rows
            assert others == len(values) + 1 - equal.num_rows, literal
        own = table["x"].to_pylist()[:-1]
        assert WAYS[way](path, [("x", "in", [*literals, *own])]).num_rows == len(values)


def test_times_with_a_zone_and_without_are_not_compared(path: Path) -> None:
    """As in pyarrow, whether the library or pyarrow tests the filter."""
    naive, aware = dt.datetime(2024, 7, 1, 12), dt.datetime(2024, 7, 1, 12, tzinfo=dt.timezone.utc)
    moments = pa.array([naive, None], pa.timestamp("us"))
    staffa.write_table(pa.table({"t": moments, "z": moments.cast(pa.timestamp("us", "UTC"))}), path)
    for way in ("file", "dataset"):
        for filter in (F("z") <= naive, F("t") <= aware):
            with pytest.raises(staffa.InvalidArgumentError, match="timezone"):
                WAYS[way](path, filter)
        assert WAYS[way](path, (F("z") <= aware) & (F("t") <= naive)).num_rows == 1


def test_a_column_without_a_name_is_unknown(path: Path) -> None:
    staffa.write_table(TABLE, path)
    for way in ("file", "dataset"):
        with pytest.raises(staffa.InvalidArgumentError, match="unknown column ''"):
            WAYS[way](path, F("").is_null())


def test_numbers_below_those_without_a_sign(path: Path) -> None:
    staffa.write_table(pa.table({"u": pa.array([0, 2**64 - 1, None], pa.uint64())}), path)
    for operator_, rows in {"=": 0, "<>": 2, "<": 0, "<=": 0, ">": 2, ">=": 2}.items():
        for way in ("file", "dataset"):
            assert WAYS[way](path, f"u {operator_} -1").num_rows == rows, operator_
            assert WAYS[way](path, f"not (u {operator_} -1)").num_rows == 2 - rows, operator_


def test_no_null_is_in_a_list_or_not_in_it(stored: Callable[..., staffa.File]) -> None:
    file = stored(pa.table({"a": [1, None, 2, 3]}))
    texts = {"a in (1, 3)": 2, "a not in (1, 3)": 1, "not (a in (1, 3))": 1}
    texts |= {"a in (1, null)": 1, "a not in (1, null)": 0, "a in (null)": 0, "a = 2 or a in (1, null)": 2}
    for text, rows in texts.items():
        assert file.to_table(filter=text).num_rows == rows


def test_unknown_fields_are_named(path: Path) -> None:
    staffa.write_table(NESTED, path)
    for filter, message in {
        "st.nope = 1": "unknown field 'nope' of column 'st.nope'; there are 'a', 'in'",
        "i.a = 1": "a field 'a' of a value of type int64, a struct expected",
    }.items():
        for way in ("file", "dataset"):
            with pytest.raises(staffa.InvalidArgumentError, match=message):
                WAYS[way](path, filter)


def test_filters_is_another_name_everywhere(path: Path) -> None:
    staffa.write_table(TABLE, path)
    rows = [("i", ">", 3)]
    file, dataset = staffa.open(path), staffa.dataset(path)
    numbers = [
        file.to_table(filters=rows).num_rows,
        file.scan(filters=rows).read_all().num_rows,
        sum(batch.num_rows for batch in file.iter_batches(filters=rows)),
        sum(batch.num_rows for batch in file.to_batches(filters=rows)),
        file.head(filters=rows).num_rows,
        file.count_rows(filters=rows),
        len(file.to_pandas(filters=rows)),
        file.to_polars(filters=rows).height,
        file.aggregate({"i": "rows"}, filters=rows)["i"]["rows"].as_py(),
        dataset.to_table(filters=rows).num_rows,
        dataset.scanner(filters=rows).count_rows(),
        dataset.head(5, filters=rows).num_rows,
        dataset.count_rows(filters=rows),
        sum(batch.num_rows for batch in dataset.to_batches(filters=rows)),
        dataset.to_reader(filters=rows).read_all().num_rows,
        dataset.take([0, 1], filters=rows).num_rows,
        staffa.read_table(path, filters=rows).num_rows,
        staffa.read_pandas(path, filters=rows).shape[0],
    ]
    assert numbers == [2] * len(numbers)
    for both in (file.head, dataset.count_rows, file.to_table):
        with pytest.raises(staffa.InvalidArgumentError, match="two names of one argument"):
            both(filter="i = 1", filters=rows)


ODD_NAMES = ['a"b', '"', "a.b", "a", "ab", "\u00e4 b", "not", ""]


@pytest.mark.parametrize("name", [name for name in ODD_NAMES if name])
def test_text_names_columns_of_any_name(name: str, stored: Callable[..., staffa.File]) -> None:
    file = stored(pa.table({other: [1, 2, 3 if other == name else 0] for other in ODD_NAMES}))
    quoted = '"' + name.replace('"', '""') + '"'
    for filter in (f"{quoted} = 3", [(quoted, "=", 3)], [(name, "=", 3)] if '"' not in name else [(quoted, "=", 3)]):
        assert file.to_table(filter=filter).column(name).to_pylist() == [3], filter


def test_text_is_bound_to_the_columns_of_each_file(tmp_path: Path) -> None:
    """One text for files whose column has other types, and for one that lacks it."""
    columns: dict[str, list[Any]] = {
        "int": [1, 2],
        "text": ["1", "2"],
        "day": [dt.date(2024, 1, 1), dt.date(2024, 1, 2)],
    }
    for name, values in columns.items():
        staffa.write_table(pa.table({"c": values, "other": [1, 2]}), tmp_path / name)
    staffa.write_table(pa.table({"other": [1]}), tmp_path / "none")
    filters = {"int": "c = 2", "text": "c = '2'", "day": "c = '2024-01-02'"}
    for _ in range(2):
        for name, filter in filters.items():
            assert staffa.open(tmp_path / name).to_table(filter=filter).to_pylist() == [
                {"c": columns[name][1], "other": 2}
            ]
            with pytest.raises(staffa.InvalidArgumentError, match="unknown column 'c'; there are 'other'"):
                staffa.open(tmp_path / "none").to_table(filter=filter)
        with pytest.raises(staffa.InvalidArgumentError, match="column 'c' of type string cannot be compared with 2"):
            staffa.open(tmp_path / "text").to_table(filter=filters["int"])


def test_ten_thousand_conditions(stored: Callable[..., staffa.File]) -> None:
    """In pyarrow's own expressions a chain of so many overflows the stack."""
    file = stored(pa.table({"a": range(20_000)}))
    for join, operator_, rows in (("or", "=", 10_000), ("and", "<>", 10_000)):
        text = f" {join} ".join(f"a {operator_} {number}" for number in range(10_000))
        conditions = [("a", operator_, number) for number in range(10_000)]
        lists = conditions if join == "and" else [[condition] for condition in conditions]
        for filter in (text, lists):
            assert file.count_rows(filter) == rows


def test_half_of_a_pair_of_surrogates_names_no_column(stored: Callable[..., staffa.File]) -> None:
    with pytest.raises(staffa.InvalidArgumentError, match="unknown column"):
        stored(pa.table({"a": [1]})).to_table(filter=[("a\ud800", "=", 1)])


def test_a_text_for_files_with_other_columns(tmp_path: Path) -> None:
    """Columns whose names pyarrow prints in an expression (`cast`, `to_type`, `allow_time_overflow`) are none of it."""
    symbols = pa.array(["A", "B"]).dictionary_encode()
    tables = [
        {"symbol": symbols, "time": [1, 2], "low": [1.0, 2.0]},
        {"symbol": symbols, "price": [1.0, 2.0]},
        {"symbol": symbols, "time": ["x", "y"], "low": [1.5, 2.5]},
    ]
    for i, columns in enumerate(tables):
        staffa.write_table(pa.table(columns), tmp_path / f"{i}.staffa")
    for filter, rows in (("symbol = 'A'", 1), ("symbol ilike 'a'", 1), ("symbol ilike 'FieldPath('", 0)):
        for i in range(len(tables)):
            assert staffa.open(tmp_path / f"{i}.staffa").count_rows(filter) == rows


@pytest.mark.parametrize(
    "filter",
    [
        "b in (1)",
        "a = '\ud800'",
        [("a", "like", 1)],
        [("a", "ilike", None)],
        [("s", "like", "\ud800")],
        [("a", ["="], 1)],
        [(1, "=", 1)],
        [(b"a", "=", 1)],
        [("a", "in", [[1]])],
    ],
)
def test_odd_filters_are_invalid_arguments(filter: Any, stored: Callable[..., staffa.File], path: Path) -> None:
    file = stored(pa.table({"a": [1], "b": [b"x"], "s": ["x"]}))
    for read in (file.to_table, staffa.dataset(path).to_table):
        with pytest.raises(staffa.InvalidArgumentError):
            read(filter=filter)


@pytest.mark.parametrize("operator_", ["in", "not in"])
def test_iterators_of_values_are_read_once(operator_: str, stored: Callable[..., staffa.File]) -> None:
    file = stored(pa.table({"a": [1, 2, 3]}))
    assert file.count_rows([("a", operator_, iter([1, 2]))]) == (2 if operator_ == "in" else 1)
    for values in (iter(["x"]), ([1] for _ in range(2))):
        with pytest.raises(staffa.InvalidArgumentError):
            file.to_table(filter=[("a", operator_, values)])
    with pytest.raises(staffa.InvalidArgumentError, match="unknown column 'b'"):
        file.to_table(filter=[("a", operator_, iter([1])), ("b", "=", 1)])


def test_the_first_of_days_and_patterns_of_bytes(stored: Callable[..., staffa.File]) -> None:
    moments = pa.array([0, 1], pa.timestamp("us", "Europe/Berlin"))
    file = stored(pa.table({"t": moments, "b": [b"xy", b"y"]}))
    assert file.count_rows("t in ('0001-01-01')") == 0
    assert file.count_rows([("b", "like", b"x%")]) == file.count_rows([("b", "like", "x%")]) == 1


def test_an_aggregate_tells_why_its_filter_fails(stored: Callable[..., staffa.File]) -> None:
    file = stored(pa.table({"e": [2**53 + 1, 1], "g": pa.array([1.0, 2.0], pa.float32())}))
    for read in (file.to_table, functools.partial(file.aggregate, {"e": "max"})):
        with pytest.raises(staffa.InvalidArgumentError, match="filter"):
            read(filter=F("e") == F("g"))
