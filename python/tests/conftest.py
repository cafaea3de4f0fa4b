"""Shared by all tests."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import staffa
from tables import write_columns


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Python's handler of Ctrl-C: a shell's job in the background begins with the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table.staffa"


@pytest.fixture
def stored(path: Path) -> Callable[..., staffa.File]:
    """Writes a table and opens it."""

    def store(data: Any, **options: Any) -> staffa.File:
        staffa.write_table(data, path, **options)
        return staffa.open(path)

    return store


@pytest.fixture
def sales(tmp_path: Path) -> staffa.Dataset:
    """Two years, of which only the later has discounts, and one without a year."""
    write_columns(tmp_path / "sales/year=2023/city=a%2Fb/x.staffa", price=pa.array([1, 2, None], pa.int32()))
    write_columns(tmp_path / "sales/year=2024/city=%C3%BC/x.staffa", price=[2**40, 5], discount=["no", "10%"])
    write_columns(tmp_path / "sales/year=__HIVE_DEFAULT_PARTITION__/city=a%2Fb/x.staffa", price=[7])
    return staffa.dataset(tmp_path / "sales")
