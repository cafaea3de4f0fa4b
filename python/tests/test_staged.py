"""Tables that several processes write: visible at the commit, whole or not at all."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import staffa
from staffa._staged import StagedFiles, StagedWrite

SCHEMA = pa.schema({"n": pa.int64(), "day": pa.int32()})


def rows(first: int, count: int = 100) -> list[pa.RecordBatch]:
    numbers = range(first, first + count)
    return [pa.record_batch({"n": numbers, "day": pa.array([n % 3 for n in numbers], pa.int32())}, schema=SCHEMA)]


def found(folder: Path) -> list[int]:
    """The rows that a reader of the folder sees."""
    if not folder.exists() or not list(folder.rglob("[!.]*.staffa")):
        return []
    try:
        return sorted(staffa.dataset(folder).to_table()["n"].to_pylist())
    except FileNotFoundError:
        return []


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def hidden(folder: Path) -> list[str]:
    return [name for name in names(folder) if name.startswith(".")]


def work(write: StagedWrite, first: int) -> StagedFiles:
    return write.write(iter(rows(first)))


def test_files_appear_at_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write = StagedWrite("t", SCHEMA, partition_by=["day"], profile="fast")
    monkeypatch.chdir("/")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        written = pool.starmap(work, [(write, 0), (write, 100)])
    written.append(write.write([]))
    folder = tmp_path / "t"
    with pytest.raises(FileNotFoundError):
        staffa.dataset(folder)
    summary = pickle.loads(pickle.dumps(write)).commit(written)
    assert (summary.rows, len(summary.files)) == (200, 6)
    assert sorted(summary.files) == sorted(map(str, folder.rglob("*.staffa")))
    assert names(folder) == ["day=0", "day=1", "day=2"]
    assert found(folder) == list(range(200))


def test_a_write_without_rows_has_columns(tmp_path: Path) -> None:
    write = StagedWrite(tmp_path / "t", SCHEMA)
    assert write.commit([write.write([]), write.write(rows(0, 0))]).rows == 0
    assert staffa.dataset(tmp_path / "t").schema.names == ["n", "day"]


def test_a_write_that_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from rows(0)
        raise RuntimeError("no more rows")

    write = StagedWrite(tmp_path, SCHEMA)
    write.write(rows(0))
    with pytest.raises(RuntimeError, match="no more rows"):
        write.write(failing())
    write.abort()
    write.abort()
    assert names(tmp_path) == []
    with pytest.raises(FileNotFoundError, match="this write was committed or given up"):
        write.write(rows(0))
    StagedWrite(tmp_path / "new", SCHEMA).abort()
    assert names(tmp_path) == []


def killed(write: StagedWrite) -> None:
    def endless() -> Iterator[pa.RecordBatch]:
        for first in range(0, 10**9, 100_000):
            yield from rows(first, 100_000)
            if first == 1_000_000:
                os.kill(os.getpid(), signal.SIGKILL)

    write.write(endless())


def test_of_a_killed_process_nothing_is_visible(tmp_path: Path) -> None:
    write = StagedWrite(tmp_path, SCHEMA, row_group_rows=100_000)
    process = multiprocessing.get_context("spawn").Process(target=killed, args=(write,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert len(hidden(tmp_path)) == 1
    assert found(tmp_path) == []
    # Another one did its work.
    assert write.commit([write.write(rows(0))]).rows == 100
    assert found(tmp_path) == list(range(100))
    assert hidden(tmp_path) == []


@pytest.mark.parametrize("existing", ["append", "overwrite"])
def test_two_writes_into_one_folder_are_both_whole(tmp_path: Path, existing: Any) -> None:
    staffa.write_dataset(pa.Table.from_batches(rows(1000)), tmp_path)
    first, second = (StagedWrite(tmp_path, SCHEMA, existing=existing) for _ in range(2))
    written = [first.write(rows(0)), second.write(rows(100)), first.write(rows(200)), second.write(rows(300))]
    old = list(range(1000, 1100)) if existing == "append" else []
    first.commit(written[::2])
    assert found(tmp_path) == [*range(100), *range(200, 300), *old]
    second.commit(written[1::2])
    assert found(tmp_path) == [*range(400), *old]
    assert hidden(tmp_path) == []


def test_the_second_write_into_a_new_folder_is_refused(tmp_path: Path) -> None:
    first, second = (StagedWrite(tmp_path, SCHEMA) for _ in range(2))
    written = second.write(rows(100))
    first.commit([first.write(rows(0))])
    with pytest.raises(FileExistsError, match="existing='append'"):
        second.commit([written])
    with pytest.raises(FileExistsError, match="existing='append'"):
        StagedWrite(tmp_path, SCHEMA)
    assert found(tmp_path) == list(range(100))
    assert hidden(tmp_path) == []


def test_a_file_that_is_gone_ends_the_commit(tmp_path: Path) -> None:
    write = StagedWrite(tmp_path, SCHEMA)
    written = [write.write(rows(0)), write.write(rows(100))]
    Path(written[1].files[0]).unlink()
    with pytest.raises(FileNotFoundError, match="the file was written and is gone"):
        write.commit(written)
    assert names(tmp_path) == []


def test_rows_that_do_not_go_with_the_folder_are_not_appended(tmp_path: Path) -> None:
    staffa.write_dataset({"n": ["x"]}, tmp_path)
    before = names(tmp_path)
    with pytest.raises(staffa.InvalidArgumentError, match=r"column 'n' is string in .* and int64 in the new rows"):
        StagedWrite(tmp_path, SCHEMA, existing="append")
    with pytest.raises(
        staffa.InvalidArgumentError, match=r"partition_by must be \[\], as of its files, found \['day'\]"
    ):
        StagedWrite(tmp_path, SCHEMA, partition_by=["day"], existing="append")
    assert names(tmp_path) == before


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(staffa.InvalidArgumentError, match="partition_by: unknown column 'year'"):
        StagedWrite(tmp_path, SCHEMA, partition_by=["year"])
    with pytest.raises(staffa.InvalidArgumentError, match="profile must be"):
        StagedWrite(tmp_path, SCHEMA, profile=7)
    write = StagedWrite(tmp_path, SCHEMA)
    with pytest.raises(staffa.InvalidArgumentError, match=r"the columns \['n', 'day'\] expected, found \['n'\]"):
        write.write([pa.record_batch({"n": [1]})])
    with pytest.raises(staffa.InvalidArgumentError, match="the rows do not fit the schema"):
        write.write([pa.record_batch({"n": ["x"], "day": [1]})])
    # Another order and another width.
    assert write.commit([write.write([pa.record_batch({"day": [1], "n": [1]})])]).rows == 1
    assert staffa.dataset(tmp_path).schema.types == SCHEMA.types
