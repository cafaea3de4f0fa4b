"""What programs that compare formats rely on: these calls, in this form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import staffa
from tables import assert_same


@pytest.mark.parametrize("profile", ["fast", "balanced", "small"])
@pytest.mark.parametrize("views", [False, True])
def test_write_open_scan_take_filter(profile: str, views: bool, path: Path) -> None:
    rng, n = np.random.default_rng(3), 100_000
    table = pa.table(
        {
            "k": rng.integers(0, 1000, n),
            "x": np.round(rng.normal(0, 100, n), 2),
            "s": [f"city {i}" for i in rng.integers(0, 50, n)],
        }
    )
    options = {"string_views": True} if views else {}
    staffa.write_table(table, str(path), profile=profile)
    handle = staffa.open(str(path))

    def check(got: pa.Table, expected: pa.Table) -> None:
        if views and "s" in expected.column_names:
            assert got.schema.field("s").type == pa.string_view()
        assert_same(got.cast(expected.schema), expected)

    check(handle.to_table(columns=None, **options), table)
    check(handle.to_table(columns=["s"], **options), table.select(["s"]))
    indices = np.sort(rng.choice(n, 1000, replace=False)).astype(np.int64)
    check(handle.take(indices, **options), table.take(pa.array(indices)))
    check(handle.take(indices[:1], **options), table.take(pa.array(indices[:1])))
    for expression in (pc.field("s") == "city 7", pc.field("k") <= 10, pc.field("x") <= 12.5):
        expected = table.filter(expression).select(["x", "s"])
        check(handle.to_table(columns=["x", "s"], filter=expression, **options), expected)
