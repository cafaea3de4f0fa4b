"""Splits: shares of a scan that other processes read."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import staffa
from tables import write_columns

ROWS = pa.table(
    {
        "n": range(200_000),
        "name": [f"name {i * 7919 % 1000}" for i in range(200_000)],
        "list": [[i] * (i % 3) for i in range(200_000)],
    }
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    staffa.write_table(ROWS, tmp_path / "t.staffa", row_group_rows=80_000)
    return tmp_path / "t.staffa"


def read(splits: list[staffa.Split]) -> pa.Table:
    return pa.concat_tables(split.to_table() for split in splits)


def test_filters_by_position(table: Path) -> None:
    rows = staffa.dataset(table)
    for columns in (["name"], ["list", "name"], ["name", "n"], None):
        expected = rows.to_table(columns, filter=pc.field(0) >= 199_000)
        assert expected.num_rows == 1000
        assert read(rows.splits(columns, pc.field(0) >= 199_000)) == expected


def test_splits_are_the_scan(table: Path) -> None:
    rows = staffa.dataset(table)
    splits = rows.splits()
    assert [(split.row_group, split.rows) for split in splits] == [(0, 80_000), (1, 80_000), (2, 40_000)]
    assert all(split.path == str(table) for split in splits)
    assert read(splits) == ROWS
    assert splits[0].schema == ROWS.schema
    assert next(iter(splits[1].read(batch_size=10))).to_pydict()["n"] == list(range(80_000, 80_010))
    assert [split.rows for split in rows.splits(["n"], rows=1)] == [65_536, 14_464, 65_536, 14_464, 40_000]
    assert read(rows.splits(["name", "n"], rows=1)) == ROWS.select(["name", "n"])
    # Nested columns are read by row group.
    assert len(rows.splits(["list"], rows=1)) == 3
    assert sum(split.nbytes for split in rows.splits(["n"])) == 1_600_000
    with pytest.raises(staffa.InvalidArgumentError, match="unknown column 'nope'"):
        rows.splits(["nope"])
    with pytest.raises(staffa.InvalidArgumentError, match="rows must be a whole number"):
        rows.splits(rows=0)


@pytest.mark.parametrize(
    "condition",
    [
        pc.field("n") >= 150_000,
        (pc.field("n") > 79_990) & (pc.field("n") < 80_010),
        pc.field("n") * 2 > 300_000,
        (pc.field("n") > 1000) & (pc.utf8_length(pc.field("name")) == 6),
        pc.field("n") < 0,
    ],
)
def test_each_split_applies_the_filter(table: Path, condition: pc.Expression) -> None:
    splits = staffa.dataset(table).splits(["name"], condition)
    found = pa.concat_tables([ROWS.select(["name"]).slice(0, 0), *(split.to_table() for split in splits)])
    assert found == ROWS.filter(condition).select(["name"])


def test_statistics_and_keys_exclude_splits(sales: staffa.Dataset, table: Path) -> None:
    assert [split.row_group for split in staffa.dataset(table).splits(filter="n >= 150000")] == [1, 2]
    assert staffa.dataset(table).filter(pc.field("n") < 0).splits() == []
    splits = sales.splits(filter="year = 2024")
    assert [Path(split.path).parent.name for split in splits] == ["city=%C3%BC"]
    assert read(sales.splits()) == sales.to_table()
    assert read(sales.splits(["year", "discount"], "price > 4")) == sales.to_table(["year", "discount"], "price > 4")
    narrowed = [split.select(["discount"]) for split in sales.splits(["discount", "price"], "price > 4")]
    assert read(narrowed) == sales.to_table(["discount"], "price > 4")
    with pytest.raises(staffa.InvalidArgumentError, match="unknown column 'price'"):
        narrowed[0].select(["price"])


def test_rows_are_counted_without_columns(table: Path) -> None:
    splits = staffa.dataset(table).splits([], "n >= 100000")
    assert sum(batch.num_rows for split in splits for batch in split.read()) == 100_000


def test_splits_are_small(tmp_path: Path) -> None:
    columns = {f"column_{i}": [i] for i in range(1000)}
    staffa.write_table(pa.table(columns), tmp_path / "wide.staffa")
    split = staffa.dataset(tmp_path).splits(["column_7"], "column_8 > 1")[0]
    assert len(pickle.dumps(split)) < 2000
    assert split.to_table().to_pydict() == {"column_7": [7]}


def total(split: staffa.Split) -> tuple[int, int]:
    return os.getpid(), pc.sum(split.to_table()["n"]).as_py()


def test_spawned_processes_read_splits(table: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    splits = staffa.dataset("t.staffa").splits(["n"], pc.bit_wise_and(pc.field("n"), pc.scalar(1)) == 1)
    monkeypatch.chdir("/")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(total, splits, chunksize=1)
    assert sum(part for _, part in found) == 100_000**2
    assert os.getpid() not in {process for process, _ in found}


def test_another_file_of_that_name_is_refused(table: Path) -> None:
    planned = staffa.dataset(table).splits(["n"])
    staffa.write_table(ROWS.slice(1), table, row_group_rows=80_000)
    with pytest.raises(staffa.ChangedFileError, match=r"t\.staffa: the file was replaced") as caught:
        planned[0].read()
    assert caught.value.path == str(table)
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), staffa.ChangedFileError)
    # The same bytes are the same file.
    staffa.write_table(ROWS, table, row_group_rows=80_000)
    assert read(planned) == ROWS.select(["n"])


def test_a_file_that_is_gone_is_named(table: Path) -> None:
    planned = staffa.dataset(table).splits()
    table.unlink()
    with pytest.raises(FileNotFoundError) as caught:
        planned[0].read()
    assert caught.value.filename == str(table)


def test_a_damaged_block_is_named(table: Path) -> None:
    planned = staffa.dataset(table).splits(["name"])
    damaged = bytearray(table.read_bytes())
    for at in range(16, len(damaged) // 2, 64):
        damaged[at] ^= 255
    table.write_bytes(damaged)
    with pytest.raises(staffa.CorruptError) as caught:
        read(planned)
    assert str(table) in str(caught.value)
    assert caught.value.column == "name"


def test_types_that_do_not_fit_are_named(tmp_path: Path) -> None:
    write_columns(tmp_path / "a.staffa", x=["1", "two"])
    rows = staffa.dataset(tmp_path, schema=pa.schema({"x": pa.int64()}))
    with pytest.raises(
        staffa.InvalidArgumentError, match=r"a\.staffa: column 'x' is string and cannot be read as int64"
    ):
        read(rows.splits())


def test_damaged_files_are_left_out(tmp_path: Path) -> None:
    write_columns(tmp_path / "a.staffa", x=[1])
    write_columns(tmp_path / "c.staffa", x=[3])
    whole = (tmp_path / "a.staffa").read_bytes()
    (tmp_path / "b.staffa").write_bytes(whole[:-8] + b"\0" * 8)
    (tmp_path / "d.staffa").write_bytes(whole[:5])
    with pytest.raises(staffa.StaffaError, match=r"b\.staffa"):
        staffa.dataset(tmp_path)
    options: dict[str, Any]
    for options in ({}, {"schema": pa.schema({"x": pa.int64()})}):
        with pytest.warns(staffa.DamagedFileWarning) as warned:
            rows = staffa.dataset(tmp_path, on_damaged="skip", **options)
        assert [Path(str(each.message).split(":")[0]).name for each in warned] == ["b.staffa", "d.staffa"]
        assert all("left out" in str(each.message) and each.filename == __file__ for each in warned)
        assert rows.to_table().to_pydict() == {"x": [1, 3]}
        assert [Path(path).name for path in rows.files] == ["a.staffa", "c.staffa"]
    # No other error is passed over.
    (tmp_path / "e.staffa").symlink_to(tmp_path / "nowhere.staffa")
    with pytest.raises(FileNotFoundError), pytest.warns(staffa.DamagedFileWarning):
        staffa.dataset(tmp_path, on_damaged="skip")
    with pytest.raises(staffa.CorruptError, match="all files are damaged"), pytest.warns(staffa.DamagedFileWarning):
        staffa.dataset(tmp_path / "b.staffa", on_damaged="skip")
    with pytest.raises(staffa.InvalidArgumentError, match="on_damaged must be 'error' or 'skip', found 'ignore'"):
        staffa.dataset(tmp_path, on_damaged="ignore")  # type: ignore[arg-type]


def test_damage_in_the_rows_is_an_error_either_way(table: Path) -> None:
    damaged = bytearray(table.read_bytes())
    for at in range(16, len(damaged) // 2, 64):
        damaged[at] ^= 255
    table.write_bytes(damaged)
    rows = staffa.dataset(table, on_damaged="skip")
    with pytest.raises(staffa.CorruptError):
        list(rows.to_batches())
