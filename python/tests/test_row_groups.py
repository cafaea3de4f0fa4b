"""Real tables are written with every profile, whatever the rows of a row group, and come back.

`STAFFA_TABLES=folder` writes all Parquet files of a folder, whole.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import staffa

FOLDER = os.environ.get("STAFFA_TABLES")
TABLES = Path(FOLDER) if FOLDER else Path(__file__).parents[2] / "testdata" / "tables"
# Of the tables in the repository: several row groups of the smaller two sizes.
ROWS = None if FOLDER else 6_000


@pytest.mark.parametrize("path", sorted(TABLES.glob("*.parquet")), ids=lambda path: path.stem)
@pytest.mark.parametrize("profile", ["fast", "balanced", "small"])
@pytest.mark.parametrize("rows", [1_000, 5_000, 65_536])
def test_row_groups_of_any_size_come_back(path: Path, profile: str, rows: int, tmp_path: Path) -> None:
    """The writer verifies each block as well; short row groups once had trees that it refused."""
    table = pq.read_table(path).slice(0, ROWS)
    staffa.write_table(table, tmp_path / "t.staffa", profile=profile, row_group_rows=rows)
    file = staffa.open(tmp_path / "t.staffa")
    assert file.to_table().equals(table)
    assert file.num_row_groups >= -(-table.num_rows // rows)
