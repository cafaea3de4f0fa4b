"""A dataset: which files, which columns, which rows; and that it is what pyarrow calls one."""

from __future__ import annotations

import datetime as dt
import pickle
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

import staffa
from staffa._unify import unify
from tables import TYPES, assert_same, write_columns


def test_hive_folders(sales: staffa.Dataset) -> None:
    assert sales.schema == pa.schema(
        {"price": pa.int64(), "discount": pa.string(), "year": pa.int32(), "city": pa.string()}
    )
    assert sales.to_table().to_pylist() == [
        {"price": 1, "discount": None, "year": 2023, "city": "a/b"},
        {"price": 2, "discount": None, "year": 2023, "city": "a/b"},
        {"price": None, "discount": None, "year": 2023, "city": "a/b"},
        {"price": 2**40, "discount": "no", "year": 2024, "city": "ü"},
        {"price": 5, "discount": "10%", "year": 2024, "city": "ü"},
        {"price": 7, "discount": None, "year": None, "city": "a/b"},
    ]


FILTERS: dict[str, tuple[pc.Expression, list[int | None]]] = {
    "by folder": (pc.field("year") == 2023, [1, 2, None]),
    "by folder, not": (pc.field("year") != 2023, [2**40, 5]),
    "by two folders": ((pc.field("city") == "a/b") & pc.field("year").is_null(), [7]),
    "by a list of folders": (pc.field("year").isin([2024, 2025]), [2**40, 5]),
    "not in a list": (~pc.field("year").isin([2024]), [1, 2, None, 7]),
    "by folder or value": ((pc.field("year") == 2024) | (pc.field("price") == 7), [2**40, 5, 7]),
    "by folder and value": ((pc.field("year") > 2000) & (pc.field("price") < 6), [1, 2, 5]),
    "by a pattern": (pc.match_like(pc.field("city"), "a%"), [1, 2, None, 7]),
    "by a part": (pc.match_substring(pc.field("city"), "/") & (pc.field("price") > 1), [2, 7]),
    "what only one file has": (pc.field("discount") == "no", [2**40]),
    "what most files lack": (pc.field("discount").is_null() & pc.field("price").is_valid(), [1, 2, 7]),
    "arithmetic with a folder": (pc.field("price") + pc.field("year") == 2025, [2]),
    "nothing": (pc.scalar(False), []),
}


@pytest.mark.parametrize("name", FILTERS)
def test_filters_over_folders(name: str, sales: staffa.Dataset) -> None:
    expression, prices = FILTERS[name]
    everything = sales.to_table()
    assert everything.filter(expression)["price"].to_pylist() == prices, "the test itself"
    assert sales.to_table(["price"], expression)["price"].to_pylist() == prices
    assert sales.filter(expression).to_table().equals(everything.filter(expression))
    assert sales.count_rows(expression) == len(prices)
    assert sales.head(1, filter=expression).num_rows == min(1, len(prices))
    by_fragment = [f.to_table(filter=expression) for f in sales.get_fragments(expression)]
    assert pa.concat_tables([everything.slice(0, 0), *by_fragment])["price"].to_pylist() == prices


def test_files_that_folders_exclude_are_not_opened(tmp_path: Path) -> None:
    write_columns(tmp_path / "day=2024-01-01/a.staffa", x=[1])
    (tmp_path / "day=2024-01-02").mkdir()
    (tmp_path / "day=2024-01-02/b.staffa").write_bytes(b"no table")
    days = pa.schema({"day": pa.date32()})
    rows = staffa.dataset(tmp_path, schema=pa.schema({"x": pa.int64()}), partitioning=days)
    first = pc.field("day") < dt.date(2024, 1, 2)
    assert rows.to_table(filter=first).to_pylist() == [{"x": 1, "day": dt.date(2024, 1, 1)}]
    (fragment,) = rows.get_fragments(first)
    assert fragment.path.endswith("a.staffa")
    with pytest.raises((staffa.CorruptError, staffa.TruncatedError), match=r"b\.staffa"):
        rows.to_table()


def test_what_a_path_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = write_columns(tmp_path / "in/1/a.staffa", x=[1]), write_columns(tmp_path / "in/2/b.staffa", x=[2])
    write_columns(tmp_path / "in/_temporary/c.staffa", x=[3])
    write_columns(tmp_path / "in/.hidden.staffa", x=[4])
    (tmp_path / "in/notes.txt").write_text("not of the dataset")
    monkeypatch.chdir(tmp_path)

    def held(source: Any, **options: Any) -> list[dict[str, Any]]:
        return staffa.dataset(source, **options).to_table().to_pylist()

    assert held(first) == held(Path(first)) == held([first]) == [{"x": 1}]
    assert held("in") == held("in/[12]/*.staffa") == held([first, second]) == [{"x": 1}, {"x": 2}]
    assert held("**/b.staffa") == held(p for p in [second]) == [{"x": 2}]
    assert held(["in/2", first]) == [{"x": 2}, {"x": 1}]
    assert held("in", partitioning=["n"]) == held("in/[12]/*.staffa", partitioning=["n"])
    assert held("in", partitioning=["n"]) == [{"x": 1, "n": 1}, {"x": 2, "n": 2}]
    assert held("in", partitioning=ds.partitioning(pa.schema({"n": pa.string()}))) == [
        {"x": 1, "n": "1"},
        {"x": 2, "n": "2"},
    ]
    assert held("in/2", partitioning=None) == [{"x": 2}]
    odd = write_columns(tmp_path / "what [1]?.staffa", x=[5])
    assert held(odd) == [{"x": 5}]


PARTITIONS = {
    "whole numbers": (["1", "-5", "012"], pa.array([1, -5, 12], pa.int32())),
    "with a gap": (["1", "__HIVE_DEFAULT_PARTITION__", "3"], pa.array([1, None, 3], pa.int32())),
    "too large for int32": (["1", "99999999999", "3"], pa.array(["1", "99999999999", "3"])),
    "text": (["1", "x", "3"], pa.array(["1", "x", "3"])),
    "nothing known": (["__HIVE_DEFAULT_PARTITION__"] * 3, pa.nulls(3, pa.string())),
    "encoded": (["a%20b", "%", "a=b"], pa.array(["a b", "%", "a=b"])),
}


@pytest.mark.parametrize("name", PARTITIONS)
def test_types_of_partitions(name: str, tmp_path: Path) -> None:
    """As pyarrow infers them."""
    folders, expected = PARTITIONS[name]
    paths = [write_columns(tmp_path / f"{i}/k={folder}/x.staffa", x=[i]) for i, folder in enumerate(folders)]
    assert staffa.dataset(paths).to_table()["k"].combine_chunks() == expected


def test_partition_columns_are_not_read_from_the_file(tmp_path: Path) -> None:
    path = write_columns(tmp_path / "x=7/a.staffa", x=["stored"], y=[1])
    assert staffa.dataset(path).to_table().to_pylist() == [{"x": 7, "y": 1}]


WIDENED: dict[str, tuple[pa.DataType, pa.DataType, pa.DataType]] = {
    "integers": (pa.int8(), pa.int64(), pa.int64()),
    "signs": (pa.uint8(), pa.int16(), pa.int16()),
    "floats": (pa.float32(), pa.float64(), pa.float64()),
    "integers and floats": (pa.int32(), pa.float64(), pa.float64()),
    "nothing known": (pa.null(), pa.int64(), pa.int64()),
    "decimals": (pa.decimal128(5, 2), pa.decimal128(9, 4), pa.decimal128(9, 4)),
    "texts": (pa.string(), pa.large_string(), pa.large_string()),
    "views": (pa.string_view(), pa.string(), pa.string()),
    "dictionaries": (pa.dictionary(pa.int8(), pa.string()), pa.string(), pa.string()),
}


@pytest.mark.parametrize("name", WIDENED)
def test_types_widen(name: str, tmp_path: Path) -> None:
    narrow, wide, common = WIDENED[name]
    values = ["1", "2"] if "string" in str(narrow) else [Decimal(1), Decimal(2)] if "dec" in str(narrow) else [1, 2]
    old = pa.array([None, None] if narrow == pa.null() else values, narrow)
    for order in ((0, 1), (1, 0)):
        columns = [old, pa.array(values, wide)]
        paths = [write_columns(tmp_path / f"{i}.staffa", c=columns[at]) for i, at in enumerate(order)]
        rows = staffa.dataset(paths)
        assert rows.schema.field("c").type == common
        together = pa.concat_arrays([columns[at].cast(common) for at in order])
        assert rows.to_table()["c"].combine_chunks().equals(together)
        one = pc.field("c") == pa.scalar(values[0]).cast(common)
        assert rows.to_table(filter=one).equals(rows.to_table().filter(one))


DIFFERENT: list[tuple[pa.Array, pa.Array]] = [
    (pa.array([1]), pa.array(["1"])),
    (pa.array([1.5]), pa.array([Decimal("1.5")])),
    (pa.array([[1]]), pa.array([1])),
    (pa.array([0], pa.timestamp("us")), pa.array([0], pa.timestamp("us", "UTC"))),
]


@pytest.mark.parametrize("which", range(len(DIFFERENT)))
def test_types_that_have_nothing_in_common(which: int, tmp_path: Path) -> None:
    left, right = DIFFERENT[which]
    paths = [write_columns(tmp_path / "left.staffa", c=left), write_columns(tmp_path / "right.staffa", c=right)]
    with pytest.raises(staffa.InvalidArgumentError, match=r"'c'.*left\.staffa.*right\.staffa.*schema=") as caught:
        staffa.dataset(paths)
    assert str(left.type) in str(caught.value)
    assert str(right.type) in str(caught.value)


def test_a_value_that_does_not_fit_the_wider_type(tmp_path: Path) -> None:
    paths = [write_columns(tmp_path / "a.staffa", c=[2**60 + 1]), write_columns(tmp_path / "b.staffa", c=[0.5])]
    with pytest.raises(staffa.InvalidArgumentError, match=r"a\.staffa: column 'c' is int64.*double"):
        staffa.dataset(paths).to_table()


def test_a_schema_gives_the_types_of_partition_columns(tmp_path: Path) -> None:
    for year in ("2023", "2024"):
        write_columns(tmp_path / f"year={year}/a.staffa", x=[int(year)])
    schema = pa.schema({"year": pa.string(), "x": pa.int64()})
    for rows in (staffa.dataset(tmp_path, schema=schema), staffa.dataset(tmp_path).replace_schema(schema)):
        assert rows.to_table(filter=pc.field("year") == "2024").to_pylist() == [{"year": "2024", "x": 2024}]
        assert len(list(rows.get_fragments(pc.field("year") > "2023"))) == 1
    without = staffa.dataset(tmp_path).replace_schema(pa.schema({"x": pa.int64()}))
    assert without.to_table(filter=pc.field("x") > 2023).to_pylist() == [{"x": 2024}]
    wrong = staffa.dataset(tmp_path).replace_schema(pa.schema({"year": pa.list_(pa.int8())}))
    with pytest.raises(staffa.InvalidArgumentError, match="partition column 'year' cannot be list"):
        wrong.to_table()


def test_a_schema_of_ones_own(tmp_path: Path) -> None:
    path = write_columns(tmp_path / "a.staffa", a=pa.array([1, 2], pa.int8()), b=["x", "y"])
    schema = pa.schema({"b": pa.large_string(), "new": pa.float64(), "a": pa.int64()})
    rows = staffa.dataset(path, schema=schema)
    expected = pa.table({"b": ["x", "y"], "new": [None, None], "a": [1, 2]}, schema=schema)
    assert rows.to_table().equals(expected)
    assert rows.to_table(filter=pc.field("a") == 2).equals(expected.slice(1))
    assert staffa.dataset(path).replace_schema(schema).to_table().equals(expected)


@pytest.mark.parametrize("name", TYPES)
def test_every_type(name: str, tmp_path: Path) -> None:
    """As it is, but for views, run-ends and dictionaries within others."""
    table = pa.table({"c": TYPES[name], "i": range(len(TYPES[name]))})
    staffa.write_table(table, tmp_path / "t.staffa")
    rows = staffa.dataset(tmp_path / "t.staffa")
    got = rows.to_table()
    text = str(got.schema.field("c").type)
    assert not re.search("view|run_end|<.*dictionary<values", text)
    if got.schema == table.schema:
        assert_same(got, table)
    else:
        assert got["c"].to_pylist() == table["c"].to_pylist()
    third = pc.field("i") * 1 == 3
    assert rows.to_table(["c"], third)["c"].to_pylist()[0] == got["c"][3].as_py() or "odd" in name or "NaN" in name
    assert rows.take([3, 3, 0], ["i"])["i"].to_pylist() == [3, 3, 0]
    assert rows.to_table(["i"], pc.field("c").is_null()).num_rows == sum(v is None for v in got["c"].to_pylist())


def test_it_is_a_dataset_of_pyarrow(sales: staffa.Dataset) -> None:
    assert isinstance(sales, ds.Dataset)
    scanner = sales.scanner(
        ["year", "price"], pc.field("price") > 1, batch_size=1, use_threads=False, batch_readahead=4
    )
    assert isinstance(scanner, ds.Scanner)
    assert scanner.dataset_schema == sales.schema
    assert scanner.projected_schema.names == ["year", "price"]
    expected = [(2023, 2), (2024, 2**40), (2024, 5), (None, 7)]
    assert [(row["year"], row["price"]) for row in scanner.to_table().to_pylist()] == expected
    assert [batch.num_rows for batch in scanner.to_batches()] == [1, 1, 1, 1]
    assert scanner.to_reader().read_all() == scanner.to_table() == pa.table(scanner.to_reader())
    assert scanner.count_rows() == 4
    assert scanner.head(3).num_rows == 3
    assert scanner.take([3, 0])["price"].to_pylist() == [7, 2]
    tagged = list(scanner.scan_batches())
    assert [batch.record_batch["price"][0].as_py() for batch in tagged] == [2, 2**40, 5, 7]
    assert "year=2024" in tagged[1].fragment.path
    fragment = list(sales.get_fragments())[1]
    assert isinstance(fragment, ds.Fragment)
    assert fragment.physical_schema.names == ["price", "discount"]
    assert fragment.to_table(columns=["city"]).to_pydict() == {"city": ["ü", "ü"]}
    assert fragment.count_rows() == 2
    assert fragment.take([1])["price"].to_pylist() == [5]
    partition = ds.get_partition_keys(fragment.partition_expression)
    assert partition == {"year": 2024, "city": "ü"}
    assert [str(f.partition_expression) for f in sales.get_fragments()][2].startswith("(is_null(year")
    assert sales.partition_expression.equals(pc.scalar(True))
    assert sales.sort_by([("price", "descending")]).head(1)["price"].to_pylist() == [2**40]
    years = sales.filter(pc.field("price") == 5)
    assert sales.join(years, "year", join_type="inner", right_suffix="_r").count_rows() == 2
    marks = ds.dataset(pa.table({"price": [4, 5], "mark": ["x", "y"]}))
    assert years.join_asof(marks, "price", [], 0).to_table()["mark"].to_pylist() == ["y"]
    assert repr(sales) == "<staffa.Dataset of 3 files: 4 columns>"
    assert len(sales.files) == 3


def test_no_method_of_pyarrow_is_left(sales: staffa.Dataset) -> None:
    """They would look for an object in C++ that is not there."""
    fragment = next(sales.get_fragments())
    for ours, theirs in ((sales, ds.Dataset), (fragment, ds.Fragment), (sales.scanner(), ds.Scanner)):
        for name in dir(theirs):
            if not name.startswith(("_", "from_")):
                assert getattr(type(ours), name) is not getattr(theirs, name), f"{theirs.__name__}.{name}"


def test_columns(sales: staffa.Dataset) -> None:
    doubled = {"twice": pc.field("price") * 2, "when": pc.field("year"), "one": pc.scalar(1)}
    got = sales.to_table(doubled, filter=pc.field("price") < 6)
    assert got.to_pydict() == {"twice": [2, 4, 10], "when": [2023, 2023, 2024], "one": [1, 1, 1]}
    assert sales.scanner(doubled).projected_schema == got.schema
    assert sales.to_table(["year", "price", "year"]).column_names == ["year", "price", "year"]
    assert [batch.num_rows for batch in sales.to_batches([])] == [3, 2, 1]
    assert [batch.num_rows for batch in sales.to_batches({})] == [3, 2, 1]
    assert sales.scanner([]).count_rows() == 6
    assert sales.scanner([], pc.field("price") + 1 > 3).count_rows() == 3


def test_take_of_no_columns_counts_the_rows(sales: staffa.Dataset) -> None:
    assert sales.take([0, 2], columns=[]).num_rows == 2
    assert sales.take([0], columns=[], filter=~pc.field(sales.schema.names[0]).is_null()).num_rows == 1


def test_take(sales: staffa.Dataset) -> None:
    prices = sales.to_table()["price"].to_pylist()
    for indices in ([5, 0, 3, 3, 1], [], [2], range(6)):
        got = sales.take(indices, columns=["price"])
        assert got["price"].to_pylist() == [prices[i] for i in indices]
    for part in (slice(0, 3), slice(None, None, -2), slice(9, 20)):
        assert sales.take(part)["price"].to_pylist() == prices[part]
        assert sales.take(part, filter=pc.field("city").is_valid())["price"].to_pylist() == prices[part]
    for mask in ([True, None, False, True, False, True], pa.chunked_array([[True, False], [False, True, False, True]])):
        assert sales.take(mask)["price"].to_pylist() == [prices[i] for i in (0, 3, 5)]
    assert sales.take([1], filter=pc.field("price") > 2)["price"].to_pylist() == [5]


def test_a_pickled_dataset_reads_the_same(sales: staffa.Dataset) -> None:
    kept = sales.filter(pc.field("price") > 1)
    for again in (pickle.loads(pickle.dumps(kept)), pickle.loads(pickle.dumps(kept.scanner()))):
        assert again.to_table() == kept.to_table()
    fragment = pickle.loads(pickle.dumps(next(kept.get_fragments())))
    assert fragment.to_table()["price"].to_pylist() == [2]


def test_more_files_than_stay_open(tmp_path: Path) -> None:
    paths = [write_columns(tmp_path / f"{i}.staffa", x=[i]) for i in range(150)]
    rows = staffa.dataset(paths)
    assert rows.to_table()["x"].to_pylist() == list(range(150))
    assert rows.take([149, 0])["x"].to_pylist() == [149, 0]


def test_a_dataset_keeps_what_pandas_noted(tmp_path: Path) -> None:
    table = pa.table({"a": [1]}).replace_schema_metadata({"who": "we"})
    staffa.write_table(table, tmp_path / "t.staffa")
    rows = staffa.dataset(tmp_path / "t.staffa")
    assert rows.schema.metadata == {b"who": b"we"}
    assert rows.scanner().to_reader().schema.metadata == {b"who": b"we"}


def test_views_and_run_ends_are_compared(tmp_path: Path) -> None:
    ends = pa.array([2, 4, 5], pa.int32())
    table = pa.table(
        {
            "r": pa.RunEndEncodedArray.from_arrays(ends, pa.array(["left", None, "right"])),
            "n": pa.RunEndEncodedArray.from_arrays(ends, pa.array([1, None, 3])),
            "v": pa.array(["a", "b", None, "d", "a value that is not inlined"], pa.string_view()),
        }
    )
    staffa.write_table(table, tmp_path / "t.staffa")
    rows = staffa.dataset(tmp_path / "t.staffa")
    everything = rows.to_table()
    for expression in (
        pc.field("r") == "right",
        ~(pc.field("n") > 1) | (pc.field("r") != "left"),
        pc.starts_with(pc.field("r"), "l") & pc.field("n").isin([1]),
        pc.match_like(pc.field("v"), "a%"),
        pc.field("v") > "a",
    ):
        assert rows.to_table(filter=expression).equals(everything.filter(expression)), expression


def test_types_widen_as_in_pyarrow() -> None:
    """Integers beside decimals apart, for which pyarrow has one digit too few, and decimals beside floats."""
    types = [
        *[pa.null(), pa.bool_(), pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()],
        *[pa.float16(), pa.float32(), pa.float64(), pa.decimal64(12, 3), pa.decimal128(5, 2), pa.decimal256(50, 3)],
        *[
            pa.date32(),
            pa.date64(),
            pa.time32("s"),
            pa.time64("us"),
            pa.time64("ns"),
            pa.duration("s"),
            pa.duration("us"),
        ],
        *[pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.string(), pa.large_string()],
        *[pa.binary(), pa.large_binary(), pa.binary(3), pa.binary(4), pa.list_(pa.int8()), pa.large_list(pa.int32())],
        *[
            pa.list_(pa.int8(), 2),
            pa.list_(pa.int8(), 3),
            pa.map_(pa.string(), pa.int8()),
            pa.map_(pa.string(), pa.int32()),
        ],
        *[pa.struct({"a": pa.int8()}), pa.struct({"a": pa.int32(), "b": pa.string()})],
    ]
    for left in types:
        for right in types:
            kinds = [pa.types.is_decimal(each) for each in (left, right)]
            if any(kinds) and not all(kinds) and pa.null() not in (left, right):
                continue
            schemas = [pa.schema({"c": each}) for each in (left, right)]
            try:
                expected = pa.unify_schemas(schemas, promote_options="permissive").field("c").type
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                expected = None
            try:
                found = unify((str(i), schema) for i, schema in enumerate(schemas)).field("c").type
            except staffa.InvalidArgumentError:
                found = None
            assert found == expected, (left, right)
