"""The library works without the GIL."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import staffa
from staffa import _staffa
from staffa._options import checked
from tables import assert_same

TABLE = pa.table({"a": np.random.default_rng(1).integers(0, 1000, 20_000), "s": [str(i % 77) for i in range(20_000)]})


def write(path: Path) -> Any:
    writer = _staffa.Writer(path, TABLE.schema, checked({}))
    writer.write(TABLE.to_reader())
    return writer.finish([])


CALLS: dict[str, Callable[[Path], Any]] = {
    "write": write,
    "open": lambda path: _staffa.open(path),
    "read": lambda path: _staffa.open(path).read(),
    "next": lambda path: _staffa.open(path).scan().next(),
    "take": lambda path: _staffa.open(path).take(pa.array([19_999, 0])),
    "explain": lambda path: _staffa.open(path).explain(),
    "inspect": lambda path: _staffa.open(path).inspect(),
    "verify": lambda path: _staffa.open(path).verify(),
}


@pytest.mark.parametrize("name", CALLS)
def test_other_threads_run(name: str, path: Path) -> None:
    """The switch interval is long here, so that another thread runs only if a call releases the GIL. The scheduler
    decides whether it does: the call is repeated until it did."""
    write(path)
    call, steps, stop = CALLS[name], [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            steps[0] += 1
            time.sleep(0)

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=count)
    thread.start()
    sys.setswitchinterval(1000)
    try:
        for _ in range(2000):
            before = steps[0]
            call(path)
            if steps[0] != before:
                break
        else:
            pytest.fail("the GIL was never released")
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()


def test_one_file_many_threads(path: Path) -> None:
    staffa.write_table(TABLE, path)
    file = staffa.open(path)
    expected = TABLE.filter(pc.field("a") < 500)

    def work(i: int) -> None:
        if i % 3 == 0:
            assert_same(file.to_table(filter=pc.field("a") < 500), expected)
        elif i % 3 == 1:
            assert_same(file.take([i, 2 * i]), TABLE.take([i, 2 * i]))
        else:
            assert_same(pa.table(file.scan(batch_rows=1000)), TABLE)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(60)))


def test_one_reader_many_threads(path: Path) -> None:
    staffa.write_table(TABLE, path)
    reader = staffa.open(path).scan(batch_rows=100)
    with ThreadPoolExecutor(4) as pool:
        rows = sum(pool.map(lambda _: sum(batch.num_rows for batch in reader), range(4)))
    assert rows == TABLE.num_rows


# Small batches are joined while they wait for their row group to be full.
SMALL_BATCHES = """
import os, sys
import pyarrow as pa, staffa
batch = pa.record_batch({f"c{i}": list(range(20)) for i in range(200)})
before = len(os.listdir("/proc/self/task"))
with staffa.Writer(sys.argv[1], batch.schema, threads=1) as writer:
    for _ in range(4):
        writer.write_batch(batch)
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted by Linux's /proc")
def test_one_thread_writes_small_batches(path: Path) -> None:
    command = [sys.executable, "-c", SMALL_BATCHES, str(path)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "0\n"
    assert staffa.open(path).num_rows == 80
