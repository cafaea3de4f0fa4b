"""DuckDB, DataFusion and Polars find the same rows in a dataset as in their own tables, whatever they push into it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import datafusion
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

import predicates
import staffa

TABLES, PREDICATES = 21, 100


def one_file(table: pa.Table, folder: Path) -> pa.Table:
    staffa.write_table(table, folder / "table.staffa", row_group_rows=1024)
    return table


def several_files(table: pa.Table, folder: Path) -> pa.Table:
    """One file per partition folder; one lacks columns, another has narrower numbers. Returns their rows."""
    rows = table.num_rows // 4
    held = []
    for i, part in enumerate([*predicates.PARTS, None]):
        of_part = table.slice(i * rows, rows)
        stored = of_part.drop_columns(["part"])
        if i == 1:
            lacking = ["f64", "text", "at_utc", "word"]
            stored = stored.drop_columns(lacking)
            of_part = pa.table(
                [pa.nulls(rows, f.type) if f.name in lacking else of_part[f.name] for f in table.schema], table.schema
            )
        if i == 2:
            stored = stored.set_column(0, "i", stored["i"].cast(pa.int16()))
        name = "__HIVE_DEFAULT_PARTITION__" if part is None else quote(part, safe="")
        path = folder / f"part={name}"
        path.mkdir(parents=True)
        staffa.write_table(stored, path / "rows.staffa")
        held.append(of_part)
    return pa.concat_tables(held)


def rows_of(name: str, run: Callable[[], Any], question: object) -> list[int]:
    try:
        return sorted(run())
    except Exception as error:
        raise AssertionError(f"{name}: {question}") from error


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("seed", range(TABLES))
def test_the_same_rows(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    table = (one_file, several_files)[seed % 2](predicates.table(rng), tmp_path)
    dataset = staffa.dataset(tmp_path)
    in_memory = ds.dataset(table.cast(pa.schema([dataset.schema.field(name) for name in table.schema.names])))
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    con.register("staffa", dataset).register("source", in_memory)
    con.execute("CREATE TABLE own AS FROM source")
    context = datafusion.SessionContext()
    context.register_dataset("staffa", dataset)
    context.register_dataset("own", in_memory)
    lazy, frame = staffa.scan_polars(dataset), pl.from_arrow(table).lazy()  # type: ignore[union-attr]
    found = 0
    for _ in range(PREDICATES):
        asked = predicates.predicate(rng)
        engine: Any = rng.choice(["streaming", "in-memory"])

        def by_duckdb(name: str, where: str = asked.duckdb) -> list[int]:
            return [i for (i,) in con.execute(f"SELECT i FROM {name} WHERE {where}").fetchall()]

        def by_datafusion(name: str, where: str = asked.datafusion) -> list[int]:
            return context.sql(f"SELECT i FROM {name} WHERE {where}").to_pydict()["i"]

        def by_polars(rows: pl.LazyFrame, where: pl.Expr = asked.polars, engine: Any = engine) -> list[int]:
            return rows.filter(where).select("i").collect(engine=engine)["i"].to_list()

        for name, run, theirs, own in (
            ("DuckDB", by_duckdb, "staffa", "own"),
            ("DataFusion", by_datafusion, "staffa", "own"),
            ("Polars", by_polars, lazy, frame),
        ):
            got = rows_of(name, lambda run=run, theirs=theirs: run(theirs), asked)
            expected = rows_of(name, lambda run=run, own=own: run(own), asked)
            assert got == expected, f"{name} (seed {seed}): {asked}"
            found += bool(got) and len(got) < len(table)
    assert found > PREDICATES, "most predicates should keep some rows, not all"


class Recorded(ds.Dataset):  # type: ignore[misc]
    """Records the calls of a dataset."""

    def __init__(self, inner: staffa.Dataset) -> None:
        self.inner = inner
        self.asked: list[dict[str, Any]] = []

    @property
    def schema(self) -> pa.Schema:
        return self.inner.schema

    def scanner(self, **options: Any) -> Any:
        self.asked.append(options)
        return self.inner.scanner(**options)


@pytest.fixture
def trees(tmp_path: Path) -> staffa.Dataset:
    table = pa.table(
        {
            "name": pa.array(["oak", "ash", "elm", "", None], pa.string_view()),
            "height": [21, 15, 30, None, 7],
            "where": [{"x": 1}, {"x": 2}, {"x": 3}, None, {"x": 5}],
            "girth": [0.5, float("nan"), -0.0, None, 2.5],
        }
    )
    staffa.write_table(table, tmp_path / "trees.staffa")
    return staffa.dataset(tmp_path / "trees.staffa")


@pytest.mark.parametrize(
    ("where", "pushed"),
    [
        ("height > 15", True),
        ("height BETWEEN 8 AND 21", True),
        ("name IN ('oak', 'elm')", True),
        ("name = 'oak' OR height IS NULL", True),
        ("NOT name = 'ash'", True),
        ('"where".x = 3', True),
        ("girth <= 1.0", True),
        ("girth > 1.0", False),
        ("name LIKE '%k'", False),
        ("height % 2 = 1", False),
    ],
)
def test_duckdb_pushes_columns_and_filters(where: str, pushed: bool, trees: staffa.Dataset) -> None:
    """Strings are plain ones here, for views would turn it off."""
    recorded = Recorded(trees)
    con = duckdb.connect()
    con.register("trees", recorded)
    con.execute(f"SELECT height FROM trees WHERE {where}").fetchall()
    (asked,) = recorded.asked
    assert (asked.get("filter") is not None) == pushed, asked
    assert set(asked["columns"]) <= {"height", "name", "where", "girth"}
    assert "height" in asked["columns"]
    assert len(asked["columns"]) < 4


def test_duckdb_finds_a_dataset_by_name_and_by_registering(trees: staffa.Dataset) -> None:
    assert duckdb.sql("SELECT sum(height) FROM trees").fetchall() == [(73,)]
    con = duckdb.connect()
    con.register("forest", trees)
    assert con.sql("SELECT name FROM forest ORDER BY height DESC NULLS LAST LIMIT 1").fetchall() == [("elm",)]


def test_polars_and_pandas_take_a_dataset_for_one_of_pyarrow(trees: staffa.Dataset) -> None:
    frame = pl.scan_pyarrow_dataset(trees).filter(pl.col("height") > 16).select("name").collect()
    assert frame["name"].to_list() == ["oak", "elm"]
    assert pl.scan_pyarrow_dataset(trees).filter(pl.col("height") > 99).collect().height == 0
    assert trees.to_table().to_pandas()["height"].sum() == 73


def test_datafusion_counts_without_columns(trees: staffa.Dataset) -> None:
    context = datafusion.SessionContext()
    context.register_dataset("trees", trees)
    assert context.sql("SELECT count(*) AS n FROM trees").to_pydict() == {"n": [5]}
    assert context.sql("SELECT count(*) AS n FROM trees WHERE height > 15").to_pydict() == {"n": [2]}


def test_a_filter_through_an_engine_reads_no_block_that_cannot_match(tmp_path: Path) -> None:
    path = tmp_path / "x.staffa"
    staffa.write_table(pa.table({"a": range(300_000), "b": [i * 7919 % 10007 for i in range(300_000)]}), path)
    block = staffa.open(path).inspect()["columns"][1]["chunks"][-1]["blocks"][-1]
    with path.open("r+b") as damaged:
        damaged.seek(block["offset"] + block["bytes"] // 2)
        damaged.write(b"damaged!")
    rows = staffa.dataset(path)
    assert duckdb.sql("SELECT count(b) FROM rows WHERE a < 1000").fetchall() == [(1000,)]
    assert staffa.scan_polars(path).filter(pl.col("a") < 1000).collect().height == 1000
    assert rows.count_rows(pc.field("a") < 1000) == 1000
    with pytest.raises(staffa.CorruptError):
        rows.to_table()
