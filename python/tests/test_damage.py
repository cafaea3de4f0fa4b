"""Damaged files: an error or the right table, never another one."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import staffa
from tables import assert_same


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng, n = np.random.default_rng(1), 5000
    return pa.table(
        {
            "id": np.arange(n),
            "k": rng.integers(0, 1000, n),
            "x": np.round(rng.normal(0, 100, n), 2),
            "y": rng.normal(size=n),
            "s": [f"name {i * 7919 % 1000} {'abcde'[i % 5]}" for i in range(n)],
            "c": [["red", "green", "blue"][i % 3] for i in range(n)],
            "o": [None if i % 3 else i for i in range(n)],
            "l": [list(range(i % 3)) for i in range(n)],
        }
    )


@pytest.fixture(scope="module")
def good(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("damage") / "good.staffa"
    staffa.write_table(table, path)
    return path.read_bytes()


def test_flipped_bytes(table: pa.Table, good: bytes, path: Path) -> None:
    refused = 0
    for seed in range(300):
        rng = random.Random(seed)
        bad = bytearray(good)
        at = rng.randrange(len(bad))
        bad[at] ^= rng.randrange(1, 256)
        path.write_bytes(bad)
        try:
            assert_same(staffa.open(path).to_table(), table)
            # What a scan does not read, a verification does.
            staffa.open(path).verify()
            continue
        except staffa.StaffaError as error:
            refused += 1
            assert "internal error" not in str(error), f"byte {at} of seed {seed}: {error}"
        with pytest.raises(staffa.StaffaError):
            staffa.open(path).verify()
        # What can be read of it is right.
        try:
            file = staffa.open(path)
            assert_same(file.take([4999, 0, 17]), table.take([4999, 0, 17]))
            assert_same(file.to_table(["s"], pc.field("k") < 10), table.filter(pc.field("k") < 10).select(["s"]))
        except staffa.StaffaError:
            pass
    # Every byte is under a checksum.
    assert refused == 300


def test_truncated_files(good: bytes, path: Path) -> None:
    rng = random.Random(1)
    lengths = {*range(200), *range(len(good) - 200, len(good)), *(rng.randrange(len(good)) for _ in range(100))}
    for length in sorted(lengths):
        path.write_bytes(good[:length])
        with pytest.raises((staffa.TruncatedError, staffa.CorruptError)):
            staffa.open(path)


def test_bytes_too_many(table: pa.Table, good: bytes, path: Path) -> None:
    path.write_bytes(good + b"more")
    with pytest.raises(staffa.StaffaError):
        staffa.open(path)


def test_noise(path: Path) -> None:
    rng = random.Random(2)
    for _ in range(100):
        path.write_bytes(rng.randbytes(rng.randrange(5000)))
        with pytest.raises(staffa.StaffaError):
            staffa.open(path)


def test_a_message_names_the_place(table: pa.Table, good: bytes, path: Path) -> None:
    path.write_bytes(good)
    column = next(column for column in staffa.open(path).inspect()["columns"] if column["path"] == "y")
    block = column["chunks"][0]["blocks"][0]
    bad = bytearray(good)
    bad[block["offset"] + block["bytes"] // 2] ^= 1
    path.write_bytes(bad)
    with pytest.raises(staffa.CorruptError, match='column "y"') as caught:
        staffa.read_table(path)
    assert (caught.value.column, caught.value.row_group, caught.value.block) == ("y", 0, 0)
    assert_same(staffa.read_table(path, columns=["x"]), table.select(["x"]))
