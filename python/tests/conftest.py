"""Shared by all tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import staffa


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
