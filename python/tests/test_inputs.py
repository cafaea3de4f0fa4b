"""Whatever speaks Arrow can be written, and reads what was written."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import staffa
from staffa._text import size_text
from tables import assert_same

TABLE = pa.table({"a": [1, 2, None], "b": ["x", None, "y"], "c": [0.5, float("nan"), -0.0]})


def test_pyarrow(stored: Callable[..., staffa.File]) -> None:
    batch = TABLE.to_batches()[0]
    readers = [TABLE.to_reader(), pa.RecordBatchReader.from_batches(TABLE.schema, iter([batch]))]
    for data in [TABLE, batch, batch.to_struct_array(), TABLE.to_struct_array(), *readers]:
        assert_same(stored(data).to_table(), TABLE)


def test_polars(stored: Callable[..., staffa.File]) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(
        {"a": [1, 2, None], "b": ["x", None, "y"], "c": [[1, 2], [], None], "d": [{"x": 1}, {"x": None}, None]}
    ).with_columns(e=pl.col("b").cast(pl.Categorical), f=pl.lit("2026-01-01").str.to_datetime())
    file = stored(frame)
    assert pl.DataFrame(file).equals(frame)
    assert pl.DataFrame(file.scan(filter=pc.field("a") == 2)).equals(frame.filter(pl.col("a") == 2))
    assert pl.DataFrame(file.take(pl.Series([2, 0]))).equals(frame[[2, 0]])


def test_pandas(stored: Callable[..., staffa.File]) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"a": [1, 2, 3], "b": ["x", None, "y"], "c": pd.Categorical(["u", "v", "u"])},
        index=pd.Index(["i", "j", "k"], name="key"),
    )
    file = stored(frame)
    pd.testing.assert_frame_equal(file.to_table().to_pandas(), frame)
    assert file.take(pd.Series([1]), columns=["a"]).to_pydict() == {"a": [2]}


def test_duckdb(stored: Callable[..., staffa.File]) -> None:
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("SELECT i, i::VARCHAR AS s, i * 0.5 AS h FROM range(100000) t(i)")
    file = stored(relation)
    assert file.num_rows == 100_000
    assert duckdb.sql("SELECT count(*), sum(i), max(s) FROM file WHERE i >= 50000").fetchall() == [
        (50_000, sum(range(50_000, 100_000)), "99999")
    ]


def test_streams_of_python(path: Path) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        for i in range(100):
            yield pa.record_batch({"a": [i] * (i % 5)}, schema)

    schema = pa.schema([("a", pa.int64())])
    reader = pa.RecordBatchReader.from_batches(schema, batches())
    assert staffa.write_table(reader, path).rows == 200
    assert staffa.read_table(path)["a"].to_pylist() == [i for i in range(100) for _ in range(i % 5)]


def test_buffers_that_are_not_aligned(stored: Callable[..., staffa.File]) -> None:
    numbers = b"!" + np.arange(100, dtype=np.int64).tobytes()
    wide = b"!!!" + np.arange(200, dtype=np.int64).tobytes()
    table = pa.table(
        {
            "a": pa.Array.from_buffers(pa.int64(), 100, [None, pa.py_buffer(numbers).slice(1)]),
            "d": pa.Array.from_buffers(pa.decimal128(38), 100, [None, pa.py_buffer(wide).slice(3)]),
        }
    )
    assert_same(stored(table).to_table(), table)


def test_handed_on_as_a_stream(stored: Callable[..., staffa.File]) -> None:
    file = stored(TABLE)
    assert_same(pa.table(file), TABLE)
    assert_same(pa.table(file), TABLE)  # a file may be read again
    assert pa.schema(file).equals(TABLE.schema)
    reader = file.scan()
    assert_same(pa.table(reader), TABLE)
    assert reader.closed
    with pytest.raises(staffa.InvalidArgumentError, match="exported already"):
        pa.table(reader)
    assert pa.table(file.scan(filter=pc.field("a") > 1)).to_pydict()["a"] == [2]
    assert pa.RecordBatchReader.from_stream(file.scan(["b"], limit=2)).read_all().to_pydict() == {"b": ["x", None]}
    wanted = pa.schema([("a", pa.int32()), ("b", pa.large_string()), ("c", pa.float64())])
    assert pa.RecordBatchReader.from_stream(file, schema=wanted).read_all().schema.equals(wanted)


def test_reader(stored: Callable[..., staffa.File]) -> None:
    file = stored(pa.table({"a": range(1000)}))
    with file.scan(batch_rows=300) as reader:
        first = next(reader)
        assert first.num_rows <= 300
        assert sum(batch.num_rows for batch in reader) == 1000 - first.num_rows
        assert list(reader) == []
        assert not reader.closed
    assert reader.closed
    with pytest.raises(staffa.InvalidArgumentError, match="closed"):
        next(reader)
    reader.close()


@pytest.mark.parametrize("decoded", [False, True])
def test_cache_of_blocks(stored: Callable[..., staffa.File], decoded: bool) -> None:
    path = stored(TABLE).path
    for budget in (0, 100, 1 << 20):
        file = staffa.open(path, cache_bytes=budget, cache_decoded=decoded)
        for _ in range(2):
            assert_same(file.take([1, 0]), TABLE.take([1, 0]))
        assert_same(pickle.loads(pickle.dumps(file)).take([0]), TABLE.slice(0, 1))
    with pytest.raises(staffa.InvalidArgumentError, match="cache_bytes"):
        staffa.open(path, cache_bytes=-1)


def test_files_share_a_cache(tmp_path: Path) -> None:
    """Rows of files whose blocks lie at the same places stay apart, counted, within one budget."""
    tables = [pa.table({"x": range(start, start + 1_000)}) for start in (0, 1 << 40)]
    before = staffa.set_cache_bytes(1 << 20)
    try:
        files = []
        for number, table in enumerate(tables):
            staffa.write_table(table, tmp_path / f"{number}.staffa")
            files.append(staffa.open(tmp_path / f"{number}.staffa"))
        first = staffa.cache_info()
        for row in (7, 8):
            for file, table in zip(files, tables, strict=True):
                assert file.take([row]).equals(table.slice(row, 1))
        info = staffa.cache_info()
        assert (info.hits - first.hits, info.misses - first.misses, info.max_bytes) == (2, 2, 1 << 20)
        assert info.entries >= 2 and 0 < info.nbytes <= info.max_bytes
        own = staffa.open(files[0].path, cache_bytes=1 << 20)
        assert own.take([7]).num_rows == 1
        assert staffa.cache_info() == info
        files[0].close()
        assert staffa.cache_info().entries == info.entries - 1
        assert staffa.set_cache_bytes(0) == 1 << 20
        assert staffa.cache_info()[2:] == (0, 0, 0)
    finally:
        staffa.set_cache_bytes(before)
    with pytest.raises(staffa.InvalidArgumentError, match="at least 0"):
        staffa.set_cache_bytes(-1)


def test_pickle(stored: Callable[..., staffa.File]) -> None:
    file = stored(TABLE)
    assert_same(pickle.loads(pickle.dumps(file)).to_table(), TABLE)
    assert repr(file) == f"<staffa.File {file.path!r}: 3 rows, 3 columns, {size_text(file.nbytes)}>"
