"""explain, inspect, verify, encodings: what a file says about itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import staffa

TABLE = pa.table(
    {
        "one": [7] * 100_000,
        "few": [["red", "green", "blue"][i % 3] for i in range(100_000)],
        "parts": [{"x": i, "y": [i % 4]} for i in range(100_000)],
    }
)


def test_explain(stored: Callable[..., staffa.File]) -> None:
    explain = stored(TABLE).explain()
    text = str(explain)
    assert text.splitlines()[0].endswith("100,000 rows, " + staffa._text.size_text(explain.to_dict()["file_bytes"]))
    for leaf in ("one: ", "few: ", "parts.x: "):
        assert f"\n{leaf}" in text
    assert "constant" in text
    assert "dictionary" in text
    assert repr(explain).endswith("columns>")
    columns = {column["path"]: column for column in explain.to_dict()["columns"]}
    tree = columns["one"]["blocks"][0]["values"]
    assert tree["encoding"] == "constant"
    assert tree["text"].startswith("constant")
    assert {column["column"] for column in columns.values()} == set(TABLE.column_names)
    json.dumps(explain.to_dict())


def test_why(stored: Callable[..., staffa.File]) -> None:
    numbers = np.random.default_rng(1).integers(0, 2**20, 100_000)
    table = pa.table({"a": numbers, "b": numbers + np.arange(100_000) % 3, "c": numbers})
    file = stored(table)
    why = file.why()
    a, b, *_ = why.to_dict()["columns"]
    assert a["chosen"]["text"].startswith(a["chosen"]["encoding"])
    assert {each["encoding"] for each in a["considered"]} == {encoding.name for encoding in staffa.encodings()}
    assert a["shared"]["reason"] or a["shared"]["taken"]
    taken = [each for each in b["relations"] if each["taken"]]
    assert [(each["encoding"], each["by"]) for each in taken] == [("difference", ["a"])]
    assert taken[0]["derived"] < 0.7 * taken[0]["alone"]
    assert "derived from a (difference): " in str(why)
    assert repr(why).endswith("columns>")
    assert str(file.why("b")).count("chosen: ") == 1
    json.dumps(why.to_dict())
    with pytest.raises(staffa.InvalidArgumentError, match="unknown column 'x'; there are 'a', 'b', 'c'"):
        file.why("x")
    with pytest.raises(staffa.InvalidArgumentError, match="found 7"):
        file.why(7)


def test_inspect(stored: Callable[..., staffa.File], path: Path) -> None:
    report = stored(TABLE).inspect()
    assert report["rows"] == 100_000
    assert report["file_bytes"] == path.stat().st_size
    assert sum(group["rows"] for group in report["row_groups"]) == 100_000
    one = report["columns"][0]
    assert (one["path"], one["min"], one["max"], one["nulls"]) == ("one", "7", "7", 0)
    assert sum(block["values"] for chunk in one["chunks"] for block in chunk["blocks"]) == 100_000


def test_verify(stored: Callable[..., staffa.File], path: Path) -> None:
    report = stored(TABLE).verify()
    assert report["rows"] == 100_000
    assert report["blocks"] >= 3


def test_encodings_can_be_chosen(stored: Callable[..., staffa.File]) -> None:
    names = [encoding.name for encoding in staffa.encodings()]
    assert len(names) == len(set(names)) > 3
    assert all(encoding.about for encoding in staffa.encodings())
    table = pa.table({"x": [i % 5 for i in range(10_000)]})
    tree = stored(table, encodings={"x": "run_end"}).explain().to_dict()["columns"][0]["blocks"][0]["values"]
    assert tree["encoding"] == "run_end"
    assert stored(table, encodings={"x": "run_end"}).to_table().equals(table)


def test_encodings_can_be_left_out(stored: Callable[..., staffa.File]) -> None:
    table = pa.table({"x": [i // 500 for i in range(10_000)]})
    for without in ([], ["delta"], ["delta", "run_end", "dictionary"]):
        file = stored(table, without=without)
        assert not any(f'"{name}"' in str(file.explain().to_dict()).replace("'", '"') for name in without)
        assert file.to_table().equals(table)


def test_version() -> None:
    assert staffa.__version__.count(".") == 2
