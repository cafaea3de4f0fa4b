"""What goes wrong with a dataset: paths, partitions, schemas; columns, filters, indices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import staffa
from tables import write_columns

BAD_DATASETS: dict[str, tuple[Callable[[Path], Any], type[Exception], str]] = {
    "no such file": (lambda p: staffa.dataset(p / "x.staffa"), FileNotFoundError, r"x\.staffa"),
    "no such pattern": (lambda p: staffa.dataset(p / "*.parquet"), FileNotFoundError, "no file matches"),
    "an empty folder": (lambda p: staffa.dataset(p), FileNotFoundError, r"ends in \.staffa"),
    "an empty list": (lambda _: staffa.dataset([]), staffa.InvalidArgumentError, "at least one file"),
    "no path": (lambda _: staffa.dataset(7), staffa.InvalidArgumentError, "found int"),
    "a file": (
        lambda p: staffa.dataset(staffa.open(write_columns(p / "a.staffa", x=[1]))),
        staffa.InvalidArgumentError,
        r"path must be a path, found staffa File: its \.path is '.*a\.staffa'",
    ),
    "a frame": (
        lambda _: staffa.scan_polars(pl.DataFrame({"x": [1]})),
        staffa.InvalidArgumentError,
        "found polars DataFrame",
    ),
    "a table in a list": (
        lambda _: staffa.dataset([pa.table({"x": [1]})]),
        staffa.InvalidArgumentError,
        "found pyarrow Table",
    ),
    "an option of pandas unknown": (lambda p: staffa.read_pandas(p, limit=3), TypeError, r"read_pandas\(\) .*'limit'"),
    "an option of Polars unknown": (lambda p: staffa.scan_polars(p, limit=3), TypeError, r"scan_polars\(\) .*'limit'"),
    "a URL": (lambda _: staffa.dataset("ftp://host/x.staffa"), staffa.InvalidArgumentError, "no store for"),
    "another file": (
        lambda p: (p / "y.staffa").write_text("x") and staffa.dataset(p),
        staffa.StaffaError,
        r"y\.staffa",
    ),
    "an odd partitioning": (
        lambda p: staffa.dataset(write_columns(p / "a.staffa", x=[1]), partitioning=5),
        staffa.InvalidArgumentError,
        "partitioning must be 'hive'",
    ),
    "an odd schema": (
        lambda p: staffa.dataset(write_columns(p / "a.staffa", x=[1]), schema={"x": int}),
        staffa.InvalidArgumentError,
        "pyarrow.Schema, found dict",
    ),
    "a partition of another type": (
        lambda p: staffa.dataset(write_columns(p / "k=x/a.staffa", x=[1]), partitioning=pa.schema({"k": pa.int8()})),
        staffa.InvalidArgumentError,
        r"a\.staffa: partition column 'k' must be int8",
    ),
}
BAD_REQUESTS: dict[str, tuple[Callable[[staffa.Dataset], Any], type[Exception], str]] = {
    "unknown column": (lambda d: d.to_table(["nope"]), staffa.InvalidArgumentError, "'nope'; there are 'price'"),
    "columns of text": (lambda d: d.to_table("price"), staffa.InvalidArgumentError, "list of names"),
    "columns of values": (
        lambda d: d.to_table({"a": 1}),
        staffa.InvalidArgumentError,
        "column 'a' must be .*found int",
    ),
    "unknown column in one": (
        lambda d: d.scanner({"a": pc.field("nope")}),
        staffa.InvalidArgumentError,
        "columns: unknown column 'nope'",
    ),
    "filter of another kind": (lambda d: d.scanner(filter=5), staffa.InvalidArgumentError, "found int"),
    "a condition of two": (lambda d: d.scanner(filter=[("a", 1)]), staffa.InvalidArgumentError, r"found \('a', 1\)"),
    "filter of unknown column": (
        lambda d: d.scanner(filter=pc.field("nope") > 1),
        staffa.InvalidArgumentError,
        "unknown column 'nope'; there are 'price'",
    ),
    "filter of numbers": (lambda d: d.filter(pc.field("price") + 1).count_rows(), ValueError, "must be boolean"),
    "filter of two types": (lambda d: d.scanner(filter=pc.field("city") > 1), ValueError, "filter"),
    "no rows in a batch": (lambda d: d.scanner(batch_size=0), staffa.InvalidArgumentError, "batch_size"),
    "an unknown option": (lambda d: d.scanner(colunms=["a"]), TypeError, r"scanner\(\) .*'colunms'"),
    "an option of a file": (lambda d: d.to_table(limit=5), TypeError, r"to_table\(\) .*'limit'"),
    "an option of a file's head": (lambda d: d.head(5, string_views=True), TypeError, r"head\(\) .*'string_views'"),
    "an option of a fragment": (
        lambda d: next(d.get_fragments()).take([0], dictionaries=["x"]),
        TypeError,
        r"take\(\) .*'dictionaries'",
    ),
    "index out of range": (lambda d: d.take([6]), staffa.InvalidArgumentError, "index 6 .* there are 6 rows"),
    "index of 64 bits": (
        lambda d: d.take(np.array([2**63], np.uint64)),
        staffa.InvalidArgumentError,
        "index 9223372036854775808 .* there are 6 rows",
    ),
    "a range past the end": (
        lambda d: d.take(range(4, 7)),
        staffa.InvalidArgumentError,
        "index 6 .* there are 6 rows",
    ),
    "a mask too short": (lambda d: d.take([True] * 5), staffa.InvalidArgumentError, "a mask .* 6, expected, found 5"),
    "a mask of other rows": (
        lambda d: d.take([True] * 6, filter="price > 5"),
        staffa.InvalidArgumentError,
        "a mask .* 2, expected, found 6",
    ),
    "negative index": (lambda d: d.take([-1]), staffa.InvalidArgumentError, "index -1"),
    "head of less than nothing": (lambda d: d.head(-1), staffa.InvalidArgumentError, "num_rows"),
}


@pytest.mark.parametrize("name", BAD_DATASETS)
def test_bad_datasets(name: str, tmp_path: Path) -> None:
    call, kind, message = BAD_DATASETS[name]
    with pytest.raises(kind, match=message):
        call(tmp_path)


@pytest.mark.parametrize("name", BAD_REQUESTS)
def test_bad_requests(name: str, sales: staffa.Dataset) -> None:
    call, kind, message = BAD_REQUESTS[name]
    with pytest.raises(kind, match=message):
        call(sales)
