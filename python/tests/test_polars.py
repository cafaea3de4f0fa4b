"""Polars: pushdown, limits, both engines, and writing in bounded memory."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import staffa
from processes import rows_and_peak
from staffa._polars_predicate import translate

N = 3000
MOMENT = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
TABLE = pa.table(
    {
        "a": pa.array([i if i % 11 else None for i in range(N)], pa.int32()),
        "u": pa.array([2**64 - 1 - i for i in range(N)], pa.uint64()),
        "s": [f"x{i % 7}" if i % 13 else None for i in range(N)],
        "x": pa.array([i / 10 if i % 5 else float("nan") for i in range(N)]),
        "f": pa.array([None if i % 9 == 0 else -0.0 if i % 2 else i / 8 for i in range(N)], pa.float32()),
        "b": [None if i % 10 == 0 else i % 3 == 0 for i in range(N)],
        "d": pa.array([dt.date(2024, 1, 1) + dt.timedelta(i // 10) for i in range(N)]),
        "t": pa.array([MOMENT + dt.timedelta(hours=i) for i in range(N)], pa.timestamp("us", "UTC")),
        "n": pa.array([dt.datetime(2024, 1, 1) + dt.timedelta(hours=i) for i in range(N)], pa.timestamp("ns")),
        "v": pa.array([f"v{i % 7}" if i % 13 else None for i in range(N)], pa.string_view()),
        "l": [[i, None] for i in range(N)],
        "st": [{"q": i} for i in range(N)],
    }
)
FRAME = pl.DataFrame(TABLE)
# pyarrow compares no views.
COMPARABLE = TABLE.set_column(TABLE.schema.get_field_index("v"), "v", TABLE["v"].cast(pa.string()))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    staffa.write_table(TABLE, tmp_path / "t.staffa", row_group_rows=1024)
    return tmp_path / "t.staffa"


def typed(name: str, value: Any) -> pl.Expr:
    """A literal as the optimiser hands it over."""
    return pl.lit(value, dtype=FRAME.schema[name])


PUSHED: dict[str, pl.Expr] = {
    "comparison": pl.col("a") > typed("a", 5),
    "exchanged": typed("a", 5) >= pl.col("a"),
    "unsigned": pl.col("u") > typed("u", 2**64 - 100),
    "text": (pl.col("s") == "x1") | (pl.col("s") > "x5"),
    "floats below": pl.col("x") <= 12.5,
    "floats above": pl.col("x") > 12.5,
    "minus zero": pl.col("f") == typed("f", 0.0),
    "not equal": pl.col("f") != typed("f", 0.0),
    "NaN": pl.col("x").is_nan() | ~pl.col("x").is_not_nan(),
    "boolean": pl.col("b") & ~pl.col("b").is_null(),
    "boolean negated": ~pl.col("b"),
    "NULL": pl.col("s").is_null() | pl.col("a").is_not_null(),
    "between": pl.col("a").is_between(typed("a", 10), typed("a", 20), closed="left"),
    "list": pl.col("a").is_in([1, 2, 2999, None]),
    "list of thousands": pl.col("a").is_in([*range(0, 2000, 7), *range(5000, 9000)]),
    "not in a list of many": ~pl.col("s").is_in([f"x{number}" for number in range(0, 3000, 2)]),
    "not in a list": ~pl.col("s").is_in(["x1", "x2"]),
    "date": pl.col("d") < dt.date(2024, 2, 1),
    "moment": pl.col("t") >= pl.lit(MOMENT + dt.timedelta(hours=100)),
    "nanoseconds": pl.col("n") > typed("n", dt.datetime(2024, 2, 1)),
    "views": ((pl.col("v") > "v2") & pl.col("v").str.ends_with("5")) | pl.col("v").is_in(["v0"]),
    "prefix": pl.col("s").str.starts_with("x1"),
    "suffix": pl.col("s").str.ends_with("1"),
    "part": pl.col("s").str.contains("1", literal=True),
}
LEFT: dict[str, pl.Expr] = {
    "arithmetic": pl.col("a") * 2 == 10,
    "a cast": pl.col("a").cast(pl.Float64) > 1.5,
    "a regular expression": pl.col("s").str.contains("x[12]"),
    "a comparison with NaN": pl.col("x") == float("nan"),
    "a comparison of columns": pl.col("a") < pl.col("x"),
    "another unit": pl.col("n") > dt.datetime(2024, 2, 1),
    "views beside arithmetic": (pl.col("v") > "v2") | (pl.col("a") * 2 == 10),
    "a part of a struct": pl.col("st").struct.field("q") > 5,
    "a list": pl.col("l").list.first() == 7,
    "missing is equal": pl.col("a").eq_missing(None),
    "NULL in a list": pl.col("a").is_in([1, None], nulls_equal=True),
    "a long list": pl.col("a").is_in(list(range(0, 50_000, 7))),
    "a literal": pl.lit(True),
}


def same(got: pl.DataFrame, expected: pl.DataFrame) -> None:
    assert got.schema == expected.schema
    assert got.equals(expected), f"{got}\n{expected}"


@pytest.mark.parametrize("engine", ["streaming", "in-memory"])
@pytest.mark.parametrize("name", [*PUSHED, *LEFT])
def test_filters(name: str, engine: Any, path: Path) -> None:
    predicate = (PUSHED | LEFT)[name]
    for each in (predicate, ~predicate, predicate & (pl.col("a") > 100)):
        for columns in (FRAME.columns, ["s"]):
            got = staffa.scan_polars(path).filter(each).select(columns).collect(engine=engine)
            same(got, FRAME.filter(each).select(columns))


@pytest.mark.parametrize("name", PUSHED)
def test_what_is_pushed(name: str) -> None:
    expression, left = translate(PUSHED[name], TABLE.schema)
    assert expression is not None
    assert left is None
    assert COMPARABLE.filter(expression).num_rows == FRAME.filter(PUSHED[name]).height


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_to_polars(name: str) -> None:
    expression, left = translate(LEFT[name], TABLE.schema)
    assert expression is None
    assert left is not None
    expression, left = translate(LEFT[name] & (pl.col("a") > typed("a", 7)), TABLE.schema)
    assert str(expression) == "(a > 7)"
    assert left is not None


class Written:
    """A predicate that Polars would write so."""

    def __init__(self, tree: Any) -> None:
        self.meta, self.tree = self, tree

    def serialize(self, format: str) -> str:
        return json.dumps(self.tree)


def test_hints_of_polars_are_dropped() -> None:
    hint = {"Display": {"inputs": [{"Column": "a"}], "fmt_str": "dynamic_pred: 7"}}
    for predicate, rest in ((pl.col("a") > typed("a", 7), None), (pl.col("a") * 2 == 10, pl.col("a") * 2 == 10)):
        tree = json.loads(predicate.meta.serialize(format="json"))
        hinted: Any = Written({"BinaryExpr": {"left": hint, "op": "And", "right": tree}})
        expression, left = translate(hinted, TABLE.schema)
        assert (expression is None) == (rest is not None)
        assert str(left) == str(rest)


@pytest.mark.filterwarnings("ignore::polars.exceptions.PolarsInefficientMapWarning")
def test_a_function_in_python_is_left_to_polars(path: Path) -> None:
    odd = pl.col("a").map_elements(lambda value: value % 2 == 1, return_dtype=pl.Boolean)
    same(staffa.scan_polars(path).filter(odd).collect(), FRAME.filter(odd))


FRAMES: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "everything": lambda frame: frame,
    "head": lambda frame: frame.head(3),
    "slice": lambda frame: frame.slice(1500, 700),
    "slice past the end": lambda frame: frame.slice(N - 1, 10),
    "tail": lambda frame: frame.tail(3),
    "nothing": lambda frame: frame.head(0),
    "filter, then head": lambda frame: frame.filter(pl.col("a") > 2000).head(3),
    "head, then filter": lambda frame: frame.head(30).filter(pl.col("a") > 20),
    "no rows": lambda frame: frame.filter(pl.col("a") > 10**6).select("s", "l"),
    "count": lambda frame: frame.select(pl.len()),
    "count of few": lambda frame: frame.filter(pl.col("s") == "x1").select(pl.len()),
    "row numbers": lambda frame: frame.with_row_index().filter(pl.col("index") == 3),
    "groups": lambda frame: frame.group_by("s").agg(pl.col("a").sum()).sort("s"),
    "join": lambda frame: frame.join(frame.filter(pl.col("a") < 9).select("a"), on="a").sort("a").drop("l", "st"),
    "top": lambda frame: frame.top_k(3, by="u").select("u"),
    "renamed": lambda frame: frame.rename({"a": "z"}).filter(pl.col("z") == 5).select("z", "s"),
}


@pytest.mark.parametrize("engine", ["streaming", "in-memory"])
@pytest.mark.parametrize("name", FRAMES)
def test_lazy_frames(name: str, engine: Any, path: Path) -> None:
    got = FRAMES[name](staffa.scan_polars(path)).collect(engine=engine)
    same(got, FRAMES[name](FRAME.lazy()).collect(engine=engine))


def test_a_limit_reads_no_more_than_it_needs(path: Path) -> None:
    block = staffa.open(path).inspect()["columns"][0]["chunks"][-1]["blocks"][-1]
    with path.open("r+b") as damaged:
        damaged.seek(block["offset"] + block["bytes"] // 2)
        damaged.write(b"damaged!")
    assert staffa.scan_polars(path).head(1000).collect().height == 1000
    with pytest.raises(Exception, match='"a"'):
        staffa.scan_polars(path).collect()


def test_a_folder_and_a_dataset(tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        staffa.write_table(pa.table({"x": [year]}), tmp_path / f"year={year}/a.staffa")
    for source in (tmp_path, staffa.dataset(tmp_path)):
        frame = staffa.scan_polars(source).filter(pl.col("year") == 2024)
        assert frame.collect().to_dicts() == [{"x": 2024, "year": 2024}]
    assert "staffa.Dataset of 2 files" in frame.explain()


def test_texts_of_every_kind(tmp_path: Path) -> None:
    """They come as views where they can, and as another type where a schema asks for it."""
    words = ["a", None, "a text too long to be inlined"]
    table = pa.table({"s": words, "l": pa.array(words, pa.large_string()), "v": pa.array(words, pa.string_view())})
    table = table.append_column("r", pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int32()), words))
    table = table.append_column("b", pa.array([b"a", None, b""])).append_column("n", pa.array(["1", None, "3"]))
    staffa.write_table(table, tmp_path / "t.staffa")
    for columns in (["s", "l", "v", "b"], table.column_names):
        got = staffa.scan_polars(tmp_path / "t.staffa").select(columns).collect()
        assert got.to_dict(as_series=False) == table.select(columns).to_pydict()
    numbers = staffa.scan_polars(tmp_path / "t.staffa", schema=pa.schema({"n": pa.int64(), "s": pa.string()}))
    assert numbers.collect().to_dict(as_series=False) == {"n": [1, None, 3], "s": words}


def test_a_scan_goes_to_another_process(path: Path) -> None:
    plan = pickle.loads(pickle.dumps(staffa.scan_polars(path).filter(pl.col("a") == 5).select("s")))
    assert plan.collect()["s"].to_list() == ["x5"]


def test_writing(tmp_path: Path) -> None:
    path = tmp_path / "t.staffa"
    assert staffa.write_polars(FRAME, path).rows == N
    same(staffa.scan_polars(path).collect(), FRAME)
    # The file that is read is replaced at the end.
    assert (
        staffa.write_polars(staffa.scan_polars(path).filter(pl.col("a") > 100), path, profile="fast").rows
        == FRAME.filter(pl.col("a") > 100).height
    )
    same(staffa.scan_polars(path).collect(), FRAME.filter(pl.col("a") > 100))
    assert staffa.write_polars(FRAME.lazy().head(0), path).rows == 0
    assert staffa.scan_polars(path).collect().schema == FRAME.schema
    kinds = pl.DataFrame({"c": pl.Series(["a", "b", "a"], dtype=pl.Categorical)})
    staffa.write_polars(kinds.lazy(), path)
    assert staffa.scan_polars(path).collect()["c"].cast(pl.String).to_list() == ["a", "b", "a"]


def test_what_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "t.staffa"
    with pytest.raises(staffa.InvalidArgumentError, match="found list"):
        staffa.write_polars([1], path)  # type: ignore[arg-type]
    with pytest.raises(staffa.InvalidArgumentError, match="Polars LazyFrame or DataFrame, found pandas DataFrame"):
        staffa.write_polars(FRAME.to_pandas(), path)  # type: ignore[arg-type]
    failing = FRAME.lazy().select(pl.col("s").cast(pl.Int64))
    with pytest.raises(Exception, match="conversion"):
        staffa.write_polars(failing, path)
    assert list(tmp_path.iterdir()) == []


PROGRAM = """
import sys, polars as pl, staffa
rows = staffa.scan_polars(sys.argv[1:-1]).with_columns(z=pl.col("x") * 2)
print(staffa.write_polars(rows, sys.argv[-1], profile="fast").rows)
"""


def test_a_lazy_frame_is_written_in_bounded_memory(tmp_path: Path) -> None:
    """The same file once and forty times, in processes of their own."""
    million = pa.table({"x": pa.array(range(500_000)), "y": pa.array(range(500_000), pa.float64())})
    path = tmp_path / "x.staffa"
    staffa.write_table(million, path, profile="fast")
    peaks = []
    for times in (1, 40):
        rows, peak = rows_and_peak(PROGRAM, *[path] * times, tmp_path / "out.staffa")
        assert rows == times * 500_000
        peaks.append(peak)
    whole = 40 * 500_000 * 24
    assert peaks[1] - peaks[0] < whole / 3, f"{peaks}, {whole} bytes in all"
