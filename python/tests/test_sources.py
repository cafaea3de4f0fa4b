"""What can be opened, and the ways to read it."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

import staffa
from tables import assert_same

TABLE = pa.table({"a": [1, 2, None, 4], "b": ["x", None, "y", "x"]})


@pytest.fixture
def written(path: Path) -> Path:
    staffa.write_table(TABLE, path)
    return path


SOURCES: dict[str, Callable[[Path], Any]] = {
    "a path": lambda path: path,
    "text": str,
    "a URL": lambda path: path.as_uri(),
    "a folder": lambda path: path.parent,
    "a pattern": lambda path: path.parent / "*.sta??a",
    "bytes": lambda path: path.read_bytes(),
    "a bytearray": lambda path: bytearray(path.read_bytes()),
    "a memoryview": lambda path: memoryview(path.read_bytes()),
    "a BytesIO": lambda path: io.BytesIO(path.read_bytes()),
    "a buffer": lambda path: pa.py_buffer(path.read_bytes()),
    "a file of Arrow": lambda path: pa.OSFile(str(path)),
}


@pytest.mark.parametrize("name", SOURCES)
def test_sources(name: str, written: Path) -> None:
    source = SOURCES[name](written)
    assert_same(staffa.open(source).to_table(), TABLE)
    assert_same(staffa.read_table(source, columns=["b"], filters=[("a", ">", 1)]), TABLE.select(["b"]).take([1, 3]))
    again = pickle.loads(pickle.dumps(staffa.open(source)))
    assert_same(again.take([3, 0]), TABLE.take([3, 0]))


def test_a_file_object_is_read_from_its_beginning(written: Path) -> None:
    with written.open("rb") as file:
        file.seek(10)
        assert staffa.open(file).num_rows == 4
    with written.open("r", encoding="latin-1") as text, pytest.raises(staffa.InvalidArgumentError, match="'rb'"):
        staffa.open(text)
    with pytest.raises(staffa.CorruptError, match="not a Staffa file"):
        staffa.open(b"PAR1" * 20)
    assert repr(staffa.open(written.read_bytes())).startswith("<staffa.File '<memory>': 4 rows")


def test_folders_and_lists(tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / f"d/year={year}").mkdir(parents=True)
        staffa.write_table(pa.table({"x": [year, 1]}), tmp_path / f"d/year={year}/t.staffa")
    expected = [{"x": 2023, "year": 2023}, {"x": 1, "year": 2023}, {"x": 2024, "year": 2024}, {"x": 1, "year": 2024}]
    for source in (tmp_path / "d", f"{tmp_path}/d/*/t.staffa", (tmp_path / "d").as_uri()):
        assert staffa.read_table(source).to_pylist() == expected
        assert staffa.read_table(source, ["x"], "year = 2024", 1).to_pylist() == [{"x": 2024}]
    files = sorted((tmp_path / "d").rglob("*.staffa"))
    assert staffa.read_table(files, filters=[[("x", "=", 2024)], [("year", "<", 2024)]]).num_rows == 3
    with pytest.raises(staffa.InvalidArgumentError, match=r"2 files: staffa.dataset reads them"):
        staffa.open(tmp_path / "d")
    with pytest.raises(staffa.InvalidArgumentError, match="are for single files"):
        staffa.read_table(tmp_path / "d", string_views=True)
    with pytest.raises(staffa.InvalidArgumentError, match='no store for "ftp"'):
        staffa.open("ftp://host/x.staffa")
    with pytest.raises(FileNotFoundError, match=r"\.staffa"):
        staffa.read_table(tmp_path / "*.staffa")


def test_relative_paths_are_pickled_whole(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(written.parent)
    pickled = [pickle.dumps(each) for each in (staffa.open(written.name), staffa.dataset(written.name))]
    monkeypatch.chdir("/")
    file, dataset = map(pickle.loads, pickled)
    assert_same(file.to_table(), TABLE)
    assert dataset.count_rows() == 4
    assert dataset.files == [os.path.realpath(written)] or dataset.files == [str(written)]


def test_methods_of_a_file(written: Path) -> None:
    file = staffa.open(written)
    assert file.column_names == ["a", "b"]
    assert_same(file.head(2), TABLE.slice(0, 2))
    assert_same(file.head(columns=["b"], filter="b = 'x'"), TABLE.select(["b"]).take([0, 3]))
    assert [batch.num_rows for batch in file.iter_batches(3)] == [3, 1]
    assert_same(pa.Table.from_batches(file.to_batches()), TABLE)
    assert_same(pa.Table.from_batches(file), TABLE)
    assert file.count_rows() == 4
    assert file.count_rows("a is null") == 1
    assert file.count_rows(pc.field("a") * 2 == 4) == 1
    assert isinstance(file.to_pandas(), pd.DataFrame)
    assert file.to_pandas(["b"], "b = 'x'")["b"].tolist() == ["x", "x"]
    assert file.to_polars(filter=[("b", "in", ["y"])]).equals(
        pl.DataFrame({"a": [None], "b": ["y"]}, {"a": pl.Int64, "b": pl.String})
    )


INPUTS: dict[str, Callable[[Path], Any]] = {
    "a dataset": lambda path: staffa.dataset(path),
    "a scanner": lambda path: staffa.dataset(path).scanner(),
    "a fragment": lambda path: next(staffa.dataset(path).get_fragments()),
    "a dataset of pyarrow": lambda _: ds.dataset(TABLE),
    "a scanner of pyarrow": lambda _: ds.dataset(TABLE).scanner(),
    "a file": lambda path: staffa.open(path),
    "a reader": lambda path: staffa.open(path).scan(),
    "a LazyFrame": lambda _: pl.LazyFrame({"a": [1, 2, None, 4], "b": ["x", None, "y", "x"]}),
    "a list of batches": lambda _: TABLE.to_batches(max_chunksize=1),
    "a list of tables": lambda _: [TABLE.slice(0, 1), TABLE.slice(1)],
    "a generator": lambda _: (batch for batch in TABLE.to_batches(max_chunksize=3)),
    "frames": lambda _: iter([pl.DataFrame(TABLE)]),
    "columns": lambda _: TABLE.to_pydict(),
}


@pytest.mark.parametrize("name", INPUTS)
def test_inputs(name: str, written: Path, tmp_path: Path) -> None:
    assert staffa.write_table(INPUTS[name](written), tmp_path / "again").rows == 4
    assert staffa.read_table(tmp_path / "again").to_pydict() == TABLE.to_pydict()


def test_inputs_without_batches(path: Path) -> None:
    schema = pa.schema({"a": pa.int8()})
    for data in ([], iter([])):
        with pytest.raises(staffa.InvalidArgumentError, match="schema="):
            staffa.write_table(data, path)
    staffa.write_table([], path, schema=schema)
    assert staffa.open(path).schema == schema
    staffa.write_table(staffa.open(path).scan(), path)
    staffa.write_table(pl.LazyFrame({"a": pl.Series([], dtype=pl.Int8)}), path)
    assert staffa.open(path).schema == schema
    staffa.write_table(TABLE, path)
    with pytest.raises(staffa.InvalidArgumentError, match="batches of 2 columns expected, found one of 1"):
        staffa.write_table([TABLE, TABLE.select(["a"])], path)
    assert staffa.read_table(path).num_rows == 4
