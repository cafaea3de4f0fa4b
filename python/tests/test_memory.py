"""Freed memory is kept for the next table, up to a limit."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import staffa

MIB = 1 << 20
DEFAULT = 1024 * MIB if sys.platform == "linux" else 64 * MIB
TABLE = pa.table({"x": np.arange(1_000_000)})  # 8 MB


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    before = staffa.set_retained_memory(64 * MIB)
    yield
    staffa.set_retained_memory(before)


def read(path: Path) -> None:
    assert staffa.read_table(path).num_rows == TABLE.num_rows
    gc.collect()


def test_freed_memory_is_kept_up_to_the_limit(path: Path) -> None:
    staffa.write_table(TABLE, path)
    read(path)
    assert TABLE.nbytes <= staffa.retained_memory() <= 64 * MIB
    table = staffa.read_table(path)
    while_alive = staffa.retained_memory()
    assert staffa.set_retained_memory(3 * MIB) == 64 * MIB
    assert staffa.retained_memory() <= 3 * MIB
    assert staffa.set_retained_memory(0) == 3 * MIB
    assert staffa.retained_memory() == 0
    assert table["x"].equals(TABLE["x"])
    del table
    read(path)
    assert staffa.retained_memory() == 0
    assert while_alive <= 64 * MIB


def test_what_is_not_held_is_offered_and_used_again(path: Path) -> None:
    staffa.set_retained_memory(DEFAULT)
    large = pa.table({str(c): np.arange(1_000_000) * c for c in range(12)})  # 96 MB
    staffa.write_table(large, path)
    for _ in range(3):
        table = staffa.read_table(path)
        assert table.equals(large)
        del table
        gc.collect()
        kept = staffa.retained_memory()
        assert kept <= DEFAULT
        assert kept >= min(large.nbytes, DEFAULT // 2)
    assert staffa.set_retained_memory(0) == DEFAULT
    assert staffa.retained_memory() == 0


def test_a_forked_process_has_a_limit_of_its_own(path: Path) -> None:
    staffa.write_table(TABLE, path)
    read(path)
    kept = staffa.retained_memory()
    child = os.fork()
    if child == 0:
        good = staffa.retained_memory() == kept and staffa.set_retained_memory(0) == 64 * MIB
        good = good and staffa.read_table(path).equals(TABLE) and staffa.retained_memory() == 0
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert staffa.retained_memory() == kept
    read(path)


@pytest.mark.parametrize("bad", [None, -1, "much", 1.5, True, 2**64])
def test_a_limit_is_a_whole_number(bad: object) -> None:
    with pytest.raises(staffa.InvalidArgumentError, match="bytes must be a whole number"):
        staffa.set_retained_memory(bad)  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_has_a_cache_of_its_own(path: Path) -> None:
    """That of the parent may have been locked by another thread."""
    staffa.write_table(TABLE, path)
    file = staffa.open(path)
    assert file.take([5])["x"].to_pylist() == [5]
    before = staffa.set_cache_bytes(7 * MIB)
    child = os.fork()
    if child == 0:
        good = staffa.cache_info() == (0, 0, 0, 0, 256 * MIB)
        good = good and staffa.open(path).take([6])["x"].to_pylist() == [6] and staffa.cache_info().misses == 1
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert staffa.set_cache_bytes(before) == 7 * MIB


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_reads_many_row_groups(path: Path) -> None:
    """A thread that reads a row group may be the one that is asked for the next batch, which waits for it."""
    rows = 40_000
    columns = {f"c{i}": pa.array([i % 7, None] * (rows // 2), pa.int64()) for i in range(12)}
    table = pa.table({**columns, "list": pa.array([[1.5, None]] * rows)})
    staffa.write_table(table, path, row_group_rows=4_000)
    assert staffa.read_table(path).equals(table)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        good = True
        for _ in range(20):
            good = good and staffa.read_table(path).num_rows == rows
            good = good and sum(batch.num_rows for batch in staffa.open(path).scan()) == rows
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_process_forks_while_a_thread_writes(path: Path) -> None:
    """The child finds the memory that the writer was taking from."""
    staffa.write_table(TABLE, path)
    other, done = path.with_suffix(".other.staffa"), threading.Event()

    def write() -> None:
        while not done.is_set():
            staffa.write_table(TABLE, other)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(40):
            child = os.fork()
            if child == 0:
                signal.alarm(60)  # ends a child that waits for a thread which it does not have
                os._exit(0 if staffa.read_table(path).equals(TABLE) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        done.set()
        writer.join()
