"""What goes wrong is said by name, in one family of exceptions, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import staffa
from staffa import _staffa
from staffa.errors import (
    CorruptError,
    InternalError,
    InvalidArgumentError,
    StaffaError,
    TruncatedError,
    UnsupportedError,
)

TABLE = pa.table({"a": [1, 2, 3], "s": ["x", "y", "z"]})
FLOATS = pa.table({"x": [0.1, 0.2]})


@pytest.fixture
def file(stored: Callable[..., staffa.File]) -> staffa.File:
    return stored(TABLE)


def test_the_family() -> None:
    family = [CorruptError, TruncatedError, UnsupportedError, staffa.LimitError, InvalidArgumentError, InternalError]
    assert all(issubclass(kind, StaffaError) for kind in family)
    assert issubclass(InvalidArgumentError, ValueError)
    assert StaffaError.__module__ == "staffa.errors"


def test_missing_file(tmp_path: Path) -> None:
    missing = tmp_path / "missing.staffa"
    with pytest.raises(FileNotFoundError, match="No such file or directory") as caught:
        staffa.open(missing)
    assert caught.value.filename == str(missing)
    with pytest.raises(FileNotFoundError):
        staffa.read_table(str(missing))


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"directory|folder"):
        staffa.open(tmp_path)


@pytest.mark.parametrize("content", [b"", b"x", b"PAR1", b"not a Staffa file\n" * 1000, bytes(100_000)])
def test_not_a_staffa_file(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises((CorruptError, TruncatedError), match=path.name):
        staffa.open(path)


def test_a_parquet_file(path: Path) -> None:
    pq.write_table(TABLE, path)
    with pytest.raises((CorruptError, TruncatedError), match=path.name):
        staffa.open(path)


@pytest.mark.parametrize("places", [[4], [4, -8]])
def test_a_file_of_the_future(places: list[int], file: staffa.File, path: Path) -> None:
    """The version in the header, and in the trailer as well."""
    content = bytearray(path.read_bytes())
    for at in places:
        content[at : at + 2] = b"\xff\xff"
    path.write_bytes(content)
    with pytest.raises(UnsupportedError, match="version 65535"):
        staffa.open(path)


READS: dict[str, tuple[Callable[[staffa.File], Any], str]] = {
    "unknown column": (lambda f: f.to_table(["nope"]), "nope"),
    "unknown column of a scan": (lambda f: f.scan(["a", "nope"]), "nope"),
    "unknown column of a take": (lambda f: f.take([0], ["nope"]), "nope"),
    "columns of text": (lambda f: f.to_table("a"), r"list of names: \['a'\]"),
    "columns of numbers": (lambda f: f.to_table([0]), "found 0"),
    "columns of nothing": (lambda f: f.to_table(7), "found int"),
    "dictionaries of text": (lambda f: f.to_table(dictionaries="s"), r"dictionaries must be a list of names: \['s'\]"),
    "run_ends of text": (lambda f: f.scan(run_ends="a"), r"run_ends must be a list of names: \['a'\]"),
    "negative index": (lambda f: f.take([0, -1]), "index -1 is out of range: the file has 3 rows"),
    "index out of range": (lambda f: f.take([0, 3]), "index 3 is out of range: the file has 3 rows"),
    "index far out": (
        lambda f: f.take(np.array([2**63])),
        "index 9223372036854775808 is out of range: the file has 3 rows",
    ),
    "index of 64 bits in a list": (lambda f: f.take([0, 2**63]), "index 9223372036854775808 is out of range"),
    "index of 70 bits": (lambda f: f.take([2**70]), f"index {2**70} is out of range: row numbers are less than"),
    "index of -70 bits": (lambda f: f.take([-(2**70), 0]), f"index -{2**70} is out of range"),
    "index of an iterator": (lambda f: f.take(iter([2**70])), "index of more than 64 bits is out of range"),
    "indices of two dimensions": (lambda f: f.take(np.array([[5]])), "one dimension, found 2"),
    "indices of no dimension": (lambda f: f.take(np.array(5)), "one dimension, found 0"),
    "indices of a frame": (lambda f: f.take(pd.DataFrame({"a": [1]})), "one dimension, found 2"),
    "an iterator of NumPy": (lambda f: f.take(np.nditer(np.array([1, 2]))), "cannot be read as an Arrow array"),
    "pairs of NumPy": (lambda f: f.take(np.broadcast([1], [2])), "whole numbers, found list"),
    "indices of swapped bytes": (lambda f: f.take(np.array([1], ">i8")), "Byte-swapped arrays not supported"),
    "one index": (lambda f: f.take(2), r"a list or an array of row numbers, as in \[0, 5\], .* found 2"),
    "a function": (lambda f: f.take(np.add), "a list or an array of row numbers, .* found <ufunc 'add'>"),
    "no indices": (lambda f: f.take(None), "a list or an array of row numbers, .* found None"),
    "indices of floats": (lambda f: f.take([1.5]), "whole numbers, found double"),
    "indices of text": (lambda f: f.take(["a"]), "whole numbers, found string"),
    "indices of NULL": (lambda f: f.take([0, None]), "1 NULLs"),
    "a mask too short": (lambda f: f.take(np.array([True, False])), "a mask .* 3, expected, found 2"),
    "a mask too long": (lambda f: f.take(pa.array([True] * 4)), "a mask .* 3, expected, found 4"),
    "a range past the end": (lambda f: f.take(range(1, 4)), "index 3 is out of range: the file has 3 rows"),
    "a range before the start": (lambda f: f.take(range(1, -2, -1)), "index -1 is out of range"),
    "a slice of text": (lambda f: f.take(slice("a", "b")), "whole numbers"),
    "limit negative": (lambda f: f.to_table(limit=-1), "limit must be a whole number of at least 0, found -1"),
    "limit of text": (lambda f: f.to_table(limit="1"), "limit must be a whole number, found '1'"),
    "head of less than nothing": (lambda f: f.head(-1), "num_rows must be a whole number of at least 0, found -1"),
    "batch_rows 0": (lambda f: f.scan(batch_rows=0), "batch_rows must be a whole number of at least 1, found 0"),
    "filter of another kind": (lambda f: f.to_table(filter=5), r"Expression.*found int"),
    "filter of no text": (lambda f: f.to_table(filter="a >"), r"a literal \(5, 'text', true, null\) expected"),
    "text of unknown column": (lambda f: f.to_table(filter="nope > 1"), "unknown column 'nope'; there are 'a', 's'"),
    "conditions of two": (lambda f: f.to_table(filter=[("a", 1)]), r"found \('a', 1\)"),
    "an unknown operator": (lambda f: f.to_table(filter=[("a", "~", 1)]), "unknown operator '~'; there are =="),
    "two filters": (lambda f: staffa.read_table(f.path, filter="a > 1", filters="a > 1"), "found both"),
    "filter of unknown column": (
        lambda f: f.to_table(filter=pc.field("nope") > 1),
        "unknown column 'nope'; .*'a', 's'",
    ),
    "filter of numbers": (lambda f: f.to_table(filter=pc.field("a") + 1), "must be boolean, found int64"),
    "filter of two types": (lambda f: f.scan(filter=pc.field("a") > "x"), r"filter \(a > \"x\"\): "),
    "filter that fails": (lambda f: f.to_table(filter=pc.field("a") / 0 == 1), "divide by zero"),
}


@pytest.mark.parametrize("name", READS)
def test_bad_reads(name: str, file: staffa.File) -> None:
    call, message = READS[name]
    with pytest.raises(InvalidArgumentError, match=message):
        call(file)


def failing_stream() -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"a": range(100_000)})
        raise RuntimeError("the sensor is gone")

    return pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), batches())


def bad_utf8() -> pa.Table:
    buffers = pa.array([b"\xff\xfe"]).buffers()
    return pa.table({"bad": pa.Array.from_buffers(pa.string(), 1, buffers)})


def hidden_null() -> pa.Table:
    return pa.table([pa.array([1, None])], pa.schema([pa.field("bad", pa.int64(), nullable=False)]))


def two_alike() -> pa.Table:
    return pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])


def union() -> pa.Table:
    kinds = pa.array([0, 1], pa.int8())
    return pa.table({"u": pa.UnionArray.from_sparse(kinds, [pa.array([1, 2]), pa.array(["x", "y"])])})


WRITES: dict[str, tuple[Callable[[], Any], dict[str, Any], type[Exception], str]] = {
    "no table": (lambda: [1, 2], {}, InvalidArgumentError, "found int in it, at position 0"),
    "an array": (lambda: pa.array([1, 2]), {}, InvalidArgumentError, "cannot be read as an Arrow table"),
    "chunks": (lambda: pa.chunked_array([[1]]), {}, InvalidArgumentError, "cannot be read as an Arrow table"),
    "a stream that fails": (failing_stream, {}, RuntimeError, "the sensor is gone"),
    "two columns of one name": (two_alike, {}, InvalidArgumentError, '"a"'),
    "a name with NUL": (lambda: pa.table({"a\0b": [1]}), {}, InvalidArgumentError, "NUL"),
    "a part with NUL": (lambda: pa.table({"a": [{"b\0": 1}]}), {}, InvalidArgumentError, "NUL"),
    "a union": (union, {}, UnsupportedError, '"u".*[Uu]nion'),
    "UTF-8 that is none": (bad_utf8, {}, InvalidArgumentError, '"bad"'),
    "NULL where there is none": (hidden_null, {}, InvalidArgumentError, "bad"),
    "unknown encoding left out": (lambda: TABLE, {"without": ["zip"]}, InvalidArgumentError, "zip"),
    "left out by a word": (lambda: TABLE, {"without": "plain"}, InvalidArgumentError, "must list names"),
    "plain left out": (lambda: TABLE, {"without": ["plain"]}, InvalidArgumentError, "cannot be left out"),
    "unknown profile": (lambda: TABLE, {"profile": "tiny"}, InvalidArgumentError, "tiny"),
    "profile of another kind": (lambda: TABLE, {"profile": 1}, InvalidArgumentError, "found 1"),
    "unknown encoding": (lambda: TABLE, {"encodings": {"a": "zip"}}, InvalidArgumentError, "zip"),
    "encoding of unknown column": (lambda: TABLE, {"encodings": {"b": "constant"}}, InvalidArgumentError, '"b"'),
    "encoding that does not suit": (
        lambda: TABLE,
        {"encodings": {"s": "pseudodecimal"}},
        InvalidArgumentError,
        "pseudodecimal",
    ),
    "encoding that cannot hold a value": (
        lambda: TABLE,
        {"encodings": {"s": "constant"}},
        InvalidArgumentError,
        'column "s": constant cannot hold row 1, value "y": it holds a block of values that are all alike',
    ),
    "encodings of another kind": (lambda: TABLE, {"encodings": "alp"}, InvalidArgumentError, "found str"),
    "encodings of numbers": (lambda: TABLE, {"encodings": {"a": 1}}, InvalidArgumentError, "'a': 1"),
    "column profile unknown": (lambda: TABLE, {"column_profiles": {"a": "tiny"}}, InvalidArgumentError, "tiny"),
    "column profile of none": (lambda: TABLE, {"column_profiles": {"b": "small"}}, InvalidArgumentError, '"b"'),
    "column profiles of another kind": (lambda: TABLE, {"column_profiles": "x"}, InvalidArgumentError, "found str"),
    "access unknown": (lambda: TABLE, {"access": "often"}, InvalidArgumentError, "there are scan, random"),
    "access of another kind": (lambda: TABLE, {"access": 1}, InvalidArgumentError, "found 1"),
    "bound of integers": (lambda: TABLE, {"max_error": {"a": 0.1}}, InvalidArgumentError, '"a".*floats of 32 and 64'),
    "bound of nothing": (lambda: FLOATS, {"max_error": {"x": 0}}, InvalidArgumentError, "positive number, found 0"),
    "bound of NaN": (lambda: FLOATS, {"max_error": {"x": float("nan")}}, InvalidArgumentError, "found NaN"),
    "bound of text": (lambda: FLOATS, {"max_error": {"x": "0.1"}}, InvalidArgumentError, "'x': '0.1'"),
    "bound of another kind": (lambda: FLOATS, {"max_error": 0.1}, InvalidArgumentError, "found float"),
    "row groups of nothing": (lambda: TABLE, {"row_group_rows": 0}, InvalidArgumentError, "row_group_rows"),
    "no threads": (lambda: TABLE, {"threads": 0}, InvalidArgumentError, "threads"),
}


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_text_that_is_none_is_refused(kind: pa.DataType, nested: bool, path: Path) -> None:
    """Bytes and offsets of strings, some of them damaged: refused where pyarrow finds them invalid."""
    rng = np.random.default_rng(7)
    offset = np.int32 if kind == pa.string() else np.int64
    refused = 0
    for _ in range(300):
        words = [["", "a", "Oban", "é", "日本", "🜂x"][i].encode() for i in rng.integers(0, 6, rng.integers(1, 30))]
        data = bytearray(b"".join(words) or b"x")
        ends = np.cumsum([0, *map(len, words)]).astype(offset)
        skipped = int(rng.integers(0, min(3, len(words))))
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
        strings = pa.Array.from_buffers(kind, len(words) - skipped, buffers, offset=skipped)
        table = pa.table({"s": pa.StructArray.from_arrays([strings], ["part"]) if nested else strings})
        # In place: pyarrow makes no such array.
        damage = rng.integers(0, 4)
        if damage == 0:
            data[rng.integers(0, len(data))] ^= 0x80
        elif damage == 1:
            # The last offset is what tells the length of the bytes.
            ends[rng.integers(0, len(words))] += rng.integers(-2, 3)
        try:
            table.validate(full=True)
        except pa.ArrowInvalid:
            refused += 1
            with pytest.raises(InvalidArgumentError, match=r'(column "s"|the input) holds invalid data'):
                staffa.write_table(table, path)
        else:
            staffa.write_table(table, path)
            assert staffa.read_table(path).equals(table)
    assert refused > 50


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("beyond", [5, 60, 100_000_000])
@pytest.mark.parametrize("kind", [pa.binary(), pa.string()], ids=str)
def test_offsets_behind_the_bytes_are_refused(kind: pa.DataType, beyond: int, nested: bool, path: Path) -> None:
    """Of a file of Arrow, which pyarrow reads without a check of offsets."""
    strings = pa.array(["Oban"] * 40, kind)
    table = pa.table({"s": pa.StructArray.from_arrays([strings], ["p"]) if nested else strings})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    data = bytearray(sink.getvalue().to_pybytes())
    offsets = np.arange(0, 164, 4, dtype=np.int32)
    last = data.find(offsets.tobytes()) + offsets.nbytes - 4
    data[last : last + 4] = np.int32(160 + beyond).tobytes()
    damaged = pa.ipc.open_file(pa.py_buffer(bytes(data))).read_all()
    with pytest.raises(InvalidArgumentError, match="the input holds invalid data"):
        staffa.write_table(damaged, path)
    with pytest.raises(InvalidArgumentError, match="the input holds invalid data"):
        staffa.write_dataset(damaged, path.parent / "folder")
    assert not path.exists()


@pytest.mark.parametrize(("offset", "cut"), [(-5, slice(2, 4)), (1 << 20, slice(2, 4)), (100, slice(1, 2))])
def test_offsets_of_slices_are_refused(offset: int, cut: slice, path: Path) -> None:
    offsets = np.array([0, 1, offset, 3, 4], np.int32)
    strings = pa.Array.from_buffers(pa.string(), 4, [None, pa.py_buffer(offsets), pa.py_buffer(b"abcd")])
    column = pa.StructArray.from_arrays([pa.StructArray.from_arrays([strings], ["q"])], ["p"])[cut]
    with pytest.raises(InvalidArgumentError, match="invalid data"):
        staffa.write_table(pa.table({"s": column}), path)


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("name", WRITES)
def test_writes_that_fail_leave_nothing(name: str, there: bool, path: Path) -> None:
    data, options, kind, message = WRITES[name]
    if there:
        path.write_text("what was there")
    with pytest.raises(kind, match=message):
        staffa.write_table(data(), path, **options)
    assert [entry.name for entry in path.parent.iterdir()] == ([path.name] if there else [])
    if there:
        assert path.read_text() == "what was there"


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    a_file = tmp_path / "file"
    a_file.write_text("")
    (tmp_path / "folder").mkdir()
    for path in [tmp_path / "no" / "x", a_file / "x", tmp_path / "folder"]:
        with pytest.raises(OSError, match="directory"):
            staffa.write_table(TABLE, path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]
    with pytest.raises(FileNotFoundError):
        staffa.write_table(TABLE, tmp_path / "no" / "x")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(PermissionError):
        staffa.write_table(TABLE, tmp_path / "x")
    tmp_path.chmod(0o755)


def test_a_full_disk(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    noise = pa.table({"a": np.random.default_rng(1).integers(0, 2**62, 100_000)})
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            staffa.write_table(noise, tmp_path / "x")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert list(tmp_path.iterdir()) == []


def test_errors_of_the_input_itself_come_through(path: Path) -> None:
    class Broken:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise KeyError("no such thing")

    with pytest.raises(KeyError, match="no such thing"):
        staffa.write_table(Broken(), path)


def test_a_panic_is_no_panic_in_python(file: staffa.File, capfd: pytest.CaptureFixture[str]) -> None:
    inner = _staffa.open(file.path)
    batch = inner.scan().next()
    assert batch is not None
    with pytest.raises(InternalError, match=r"internal error .*please report"):
        batch.filter(pa.array([True] * 3), 2**62)


@pytest.mark.usefixtures("ctrl_c")
def test_interrupt_ends_a_write(path: Path) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        while True:
            os.kill(os.getpid(), signal.SIGINT)
            yield pa.record_batch({"a": range(1000)})

    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), batches())
    with pytest.raises((KeyboardInterrupt, InvalidArgumentError)):
        staffa.write_table(reader, path)
    assert list(path.parent.iterdir()) == []


def test_a_closed_file(stored: Callable[..., staffa.File]) -> None:
    with stored(TABLE) as file:
        reader = file.scan()
        assert file.schema == TABLE.schema and not file.closed
    assert file.closed and "closed" in repr(file) and "closed" in file._repr_html_()
    asked: list[Callable[[], Any]] = [
        lambda: file.schema,
        lambda: file.num_rows,
        lambda: file.to_table(),
        lambda: file.take([0]),
        lambda: pa.table(file),
    ]
    for ask in asked:
        with pytest.raises(InvalidArgumentError, match=r"\.staffa: this file is closed"):
            ask()
    # What reads already goes on.
    assert reader.read_all() == TABLE
    file.close()


def test_an_error_within_a_file_passes(stored: Callable[..., staffa.File]) -> None:
    with pytest.raises(KeyError), stored(TABLE) as file:
        raise KeyError
    assert file.closed
