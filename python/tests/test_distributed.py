"""Ray, Daft and Dask read splits; Ray writes. Each part runs where its library is installed."""

from __future__ import annotations

import datetime as dt
import importlib.util
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import staffa

LIBRARIES = [name for name in ("ray", "daft", "dask") if importlib.util.find_spec(name)]
pytestmark = pytest.mark.skipif(not LIBRARIES, reason="neither Ray nor Daft nor Dask is installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("distributed") / "t"
    staffa.write_dataset(table(), folder, partition_by=["year"], row_group_rows=200)
    return folder


def table() -> pa.Table:
    numbers = range(2000)
    return pa.table(
        {
            "n": pa.array(numbers, pa.int32()),
            "s": [f"name {i % 7}" if i % 5 else None for i in numbers],
            "x": [(0.0, -0.0, math.nan, None, 1.5, -2.0, math.inf)[i % 7] for i in numbers],
            "day": [dt.date(2024, 1, 1) + dt.timedelta(i % 90) for i in numbers],
            "year": pa.array([2023 + i // 1000 for i in numbers], pa.int32()),
        }
    )


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    found = pytest.importorskip("ray")
    path = os.pathsep.join([str(Path(staffa.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    found.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": path}})
    found.data.DataContext.get_current().enable_progress_bars = False
    yield found
    found.shutdown()


def numbers(rows: Any) -> list[int]:
    return sorted(row["n"] for row in rows.take_all())


def test_ray_reads(ray: Any, folder: Path) -> None:
    from ray.data.expressions import col

    rows = staffa.ray.read(folder)
    assert rows.schema().names == ["n", "s", "x", "day", "year"]
    assert rows.count() == 2000
    assert numbers(rows) == list(range(2000))
    early = rows.filter(expr=(col("n") < 10) & (col("year") == 2023)).select_columns(["s", "n"])
    assert numbers(early) == list(range(10))
    assert sorted(early.take_all()[0]) == ["n", "s"]
    assert early.count() == 10
    assert numbers(staffa.ray.read(folder, ["n"], "n >= 1990", rows=100, concurrency=1)) == list(range(1990, 2000))
    assert numbers(rows.limit(3)) == [0, 1, 2]
    assert staffa.ray.read(folder, filter="n < 0").count() == 0
    assert rows.select_columns(["n"]).sum("n") == sum(range(2000))
    with pytest.raises(staffa.InvalidArgumentError, match="unknown column 'nope'"):
        staffa.ray.read(folder, ["nope"])


def test_ray_plans_by_splits(ray: Any, folder: Path) -> None:
    source = staffa.ray._Source(staffa.dataset(folder), ["n"], None)
    assert len(source.get_read_tasks(200)) == 10
    assert len(source.get_read_tasks(3)) == 3
    assert source.estimate_inmemory_data_size() == 8000
    task = source.get_read_tasks(1, per_task_row_limit=7)[0]
    assert sum(part.num_rows for part in task()) == 7


def test_ray_names_what_is_wrong(ray: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        staffa.ray.read(tmp_path / "nowhere")
    staffa.write_table(table(), tmp_path / "t.staffa")
    rows = staffa.ray.read(tmp_path)
    damaged = bytearray((tmp_path / "t.staffa").read_bytes())
    for at in range(16, len(damaged) // 2, 16):
        damaged[at] ^= 255
    (tmp_path / "t.staffa").write_bytes(damaged)
    with pytest.raises(Exception, match=r"CorruptError[^$]*t\.staffa"):
        rows.take_all()


def test_ray_writes(ray: Any, folder: Path, tmp_path: Path) -> None:
    rows = staffa.ray.read(folder)
    summary = staffa.ray.write(rows, tmp_path / "copy", partition_by=["year"], profile="fast")
    assert summary.rows == 2000
    assert sorted(summary.files) == sorted(map(str, (tmp_path / "copy").rglob("*.staffa")))
    copy = staffa.dataset(tmp_path / "copy").to_table().sort_by("n")
    assert copy.drop_columns(["x"]) == table().drop_columns(["x"])
    with pytest.raises(FileExistsError, match="existing='append'"):
        staffa.ray.write(rows, tmp_path / "copy")
    staffa.ray.write(ray.data.from_items([{"n": 7}]), tmp_path / "copy", existing="overwrite")
    assert staffa.dataset(tmp_path / "copy").to_table().to_pydict() == {"n": [7]}


def test_of_a_write_of_ray_that_fails_nothing_stays(ray: Any, folder: Path, tmp_path: Path) -> None:
    def fail(batch: pa.Table) -> pa.Table:
        if 1700 in batch["n"].to_pylist():
            raise RuntimeError("no more rows")
        return batch

    rows = staffa.ray.read(folder).map_batches(fail, batch_format="pyarrow")
    with pytest.raises(Exception, match="no more rows"):
        staffa.ray.write(rows, tmp_path / "t")
    assert not (tmp_path / "t").exists()


CONDITIONS = [
    *["n < 10", "10 > n", "n = 7", "n <> 7", "n between 5 and 8", "n in (1, 5)", "n not in (1, 5)", "n is null"],
    *[
        "s = 'name 3'",
        "s <> 'name 3'",
        "s in ('name 1', 'name 2')",
        "s not in ('name 1')",
        "s is null",
        "s is not null",
    ],
    *["x > 1", "x >= 0", "x < 0", "x <= 0", "x = 0", "x <> 0", "not (x > 1)", "x in (0.0, 1.5)", "x is null"],
    *["year = 2024", "year = 2024 and n < 1500", "n < 10 or year = 2024", "not (n < 10)", "n % 2 = 1 and n < 50"],
    *["day > date '2024-02-01'", "not (n in (1, 5) or s = 'name 3')", "x > 1 and n < 100", "n + 1 < 10", "n < 3.5"],
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_filters_pushed_by_daft_match_what_daft_matches(folder: Path, condition: str) -> None:
    daft = pytest.importorskip("daft")
    where = daft.sql_expr(condition)
    pushed = staffa.daft.read(folder).where(where).select("n").to_pydict()["n"]
    assert sorted(pushed) == sorted(daft.from_arrow(table()).where(where).select("n").to_pydict()["n"])


def test_daft_reads(folder: Path) -> None:
    daft = pytest.importorskip("daft")
    frame = staffa.daft.read(folder)
    assert frame.column_names == ["n", "s", "x", "day", "year"]
    assert frame.count_rows() == 2000
    assert sorted(frame.select("year", "n").to_pydict()) == ["n", "year"]
    assert len(frame.where(daft.col("s").startswith("name 3")).limit(5).to_pydict()["n"]) == 5
    assert frame.where(daft.col("n") < 0).count_rows() == 0
    assert staffa.daft.read(folder, rows=100).sum("n").to_pydict() == {"n": [sum(range(2000))]}
    assert staffa.daft.read(staffa.dataset(folder).filter(pc.field("n") < 3)).count_rows() == 3


def test_daft_pushes_columns_and_filters(folder: Path) -> None:
    daft = pytest.importorskip("daft")
    tree = staffa.daft._Tree().visit(daft.sql_expr("n < 10 and x > 1 and hash(s) = 3 and day > date '2024-02-01'"))
    pushed = staffa.daft.pushed(tree, table().schema)
    assert str(pushed) == "((n < 10) and (((x > 1) or is_nan(x)) or (x == 0)))"
    assert staffa.daft.pushed(staffa.daft._Tree().visit(daft.sql_expr("hash(s) = 3")), table().schema) is None


def test_daft_names_what_is_wrong(tmp_path: Path) -> None:
    pytest.importorskip("daft")
    staffa.write_table(table(), tmp_path / "t.staffa")
    frame = staffa.daft.read(tmp_path)
    (tmp_path / "t.staffa").unlink()
    with pytest.raises(Exception, match=r"t\.staffa"):
        frame.where("n < 5").to_pydict()


def test_dask_reads(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("dask")
    frame = staffa.dask.read(folder)
    assert frame.npartitions == 10
    assert list(frame.columns) == ["n", "s", "x", "day", "year"]
    assert len(frame) == 2000
    assert frame["n"].sum().compute(scheduler="synchronous") == sum(range(2000))
    some = staffa.dask.read(folder, ["n", "s"], "year = 2024", rows=100)
    assert some.npartitions == 5
    pandas = some.compute(scheduler="synchronous").reset_index(drop=True)
    expected = staffa.dataset(folder).to_table(["n", "s"], "year = 2024").to_pandas()
    assert pandas["n"].tolist() == expected["n"].tolist()
    assert pandas["s"].isna().tolist() == expected["s"].isna().tolist()
    assert len(staffa.dask.read(folder, filter="n < 0")) == 0
    # Tasks run in other processes, too.
    assert some["n"].max().compute(scheduler="processes") == 1999
    staffa.write_table(table(), tmp_path / "t.staffa")
    gone = staffa.dask.read(tmp_path)
    (tmp_path / "t.staffa").unlink()
    with pytest.raises(FileNotFoundError, match=r"t\.staffa"):
        gone.compute(scheduler="synchronous")


def test_dask_pushes_columns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dask")
    from staffa._splits import Split

    read: list[list[str]] = []
    to_table = Split.to_table
    monkeypatch.setattr(Split, "to_table", lambda split: read.append(split.schema.names) or to_table(split))
    staffa.dask.read(folder)["year"].max().compute(scheduler="synchronous")
    assert read == [["year"]] * 10
