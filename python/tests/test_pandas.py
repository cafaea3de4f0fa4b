"""pandas: frames come back with their index and types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import staffa

DAYS = pd.date_range("2024-01-01", periods=3, tz="Europe/Zurich", name="day")
VALUES = {"rain": [0.0, 3.5, None], "n": [1, 2, 3], "place": ["Oban", None, "Mull"]}

FRAMES: dict[str, pd.DataFrame] = {
    "a range": pd.DataFrame(VALUES),
    "a range with steps": pd.DataFrame(VALUES, index=pd.RangeIndex(10, 40, 10)),
    "days": pd.DataFrame(VALUES, index=DAYS),
    "text without a name": pd.DataFrame(VALUES, index=["x", "y", "z"]),
    "two levels": pd.DataFrame(
        VALUES, index=pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a")], names=["k", None])
    ),
    "categories": pd.DataFrame({"c": pd.Categorical(["x", "y", "x"], ["y", "x"], ordered=True)}),
    "nullable": pd.DataFrame({"i": pd.array([1, None, 3], dtype="Int16"), "b": pd.array([True, None, False])}),
    "of pyarrow": pd.DataFrame({"i": pd.array([1, None, 3], dtype=pd.ArrowDtype(pa.int8()))}),
    "times": pd.DataFrame({"t": DAYS, "d": pd.to_timedelta([1, 2, 3], unit="h")}),
    "nothing": pd.DataFrame({"x": pd.Series([], dtype="float32")}),
}


@pytest.mark.parametrize("name", FRAMES)
def test_as_for_parquet(name: str, tmp_path: Path) -> None:
    frame = FRAMES[name]
    staffa.write_pandas(frame, tmp_path / "f.staffa")
    frame.to_parquet(tmp_path / "f.parquet")
    pd.testing.assert_frame_equal(staffa.read_pandas(tmp_path / "f.staffa"), pd.read_parquet(tmp_path / "f.parquet"))


@pytest.mark.parametrize("backend", ["pyarrow", "numpy_nullable"])
def test_types_on_request(backend: Any, tmp_path: Path) -> None:
    frame = FRAMES["days"]
    staffa.write_pandas(frame, tmp_path / "f.staffa")
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "f.parquet")
    got = staffa.read_pandas(tmp_path / "f.staffa", dtype_backend=backend)
    expected = pd.read_parquet(tmp_path / "f.parquet", dtype_backend=backend)
    assert got["n"].dtype == expected["n"].dtype
    assert got["rain"].dtype == expected["rain"].dtype
    assert got["n"].tolist() == [1, 2, 3]
    assert list(got.index) == list(expected.index)


def test_columns_and_rows(tmp_path: Path) -> None:
    path = tmp_path / "f.staffa"
    staffa.write_pandas(FRAMES["days"], path, profile="small")
    got = staffa.read_pandas(path, ["n"], pc.field("rain").is_valid())
    pd.testing.assert_frame_equal(got, FRAMES["days"][["n"]][:2], check_freq=False)
    staffa.write_pandas(FRAMES["days"], path, index=False)
    assert staffa.open(path).schema.names == ["rain", "n", "place"]
    assert isinstance(staffa.read_pandas(path).index, pd.RangeIndex)


def test_a_folder(tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        staffa.write_pandas(pd.DataFrame({"x": [year]}), tmp_path / f"year={year}/a.staffa")
    assert staffa.read_pandas(tmp_path)["year"].tolist() == [2023, 2024]
    assert staffa.read_pandas(staffa.dataset(tmp_path), filter=pc.field("year") > 2023)["x"].tolist() == [2024]


def test_what_makes_no_sense(tmp_path: Path) -> None:
    path = tmp_path / "f.staffa"
    with pytest.raises(staffa.InvalidArgumentError, match="mixed"):
        staffa.write_pandas(pd.DataFrame({"mixed": [1, "x", object()]}), path)
    for data, found in [([1, 2], "list"), (pa.table({"x": [1]}), "pyarrow Table"), (pd.Series([1]), "pandas Series")]:
        with pytest.raises(staffa.InvalidArgumentError, match=f"frame must be a pandas DataFrame, found {found}"):
            staffa.write_pandas(data, path)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    staffa.write_pandas(FRAMES["days"], path)
    with pytest.raises(staffa.InvalidArgumentError, match="dtype_backend must be"):
        staffa.read_pandas(path, dtype_backend="arrow")  # type: ignore[arg-type]
    with pytest.raises(staffa.InvalidArgumentError, match="unknown column 'nope'"):
        staffa.read_pandas(path, ["nope"])
    with pytest.raises(staffa.InvalidArgumentError, match=r"columns must be a list of names: \['n'\], not 'n'"):
        staffa.read_pandas(path, "n")
