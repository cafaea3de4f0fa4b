"""Files written batch by batch, folders written by partitions, and what is left after an exception: nothing."""

from __future__ import annotations

import random
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

import staffa
from tables import assert_same

BATCH = pa.record_batch({"a": [1, 2, None], "s": ["x", None, "y"]})
TABLE = pa.table([BATCH["a"], BATCH["s"]], BATCH.schema)


class SensorError(Exception):
    """An exception of a producer."""


def failing(error: BaseException) -> Iterator[pa.RecordBatch]:
    yield BATCH
    raise error


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_writer_writes_what_it_is_given(path: Path) -> None:
    with staffa.Writer(path, BATCH.schema, row_group_rows=4, metadata={"a": "1"}) as writer:
        assert not writer.closed
        assert writer.schema == BATCH.schema
        writer.write_batch(BATCH)
        writer.write_table(TABLE)
        writer.write_table(iter([BATCH, TABLE]))
        assert not path.exists()
        summary = writer.close({"b": b"2"})
        assert writer.close() == summary
    assert writer.closed
    assert (summary.rows, summary.row_groups) == (12, 3)
    assert writer.summary == summary
    assert writer.nbytes == summary.file_bytes == path.stat().st_size
    file = staffa.open(path)
    assert_same(file.to_table(), pa.concat_tables([TABLE] * 4))
    assert file.metadata == {"a": b"1", "b": b"2"}
    with pytest.raises(staffa.InvalidArgumentError, match="this writer is closed"):
        writer.write_batch(BATCH)


def test_few_batches_of_many_columns_wait(path: Path) -> None:
    """Batches of an iterator go before the next ones come."""
    columns = {f"c{i}": pa.array(np.full(500, i)) for i in range(2048)}
    alive: list[weakref.ref[pa.RecordBatch]] = []
    most = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal most
        for _ in range(8):
            most = max(most, sum(ref() is not None for ref in alive))
            batch = pa.record_batch(columns)
            alive.append(weakref.ref(batch))
            yield batch

    staffa.write_table(batches(), path)
    assert most <= 2
    assert staffa.open(path).num_rows == 4000


def test_few_rows_and_many_in_turn(path: Path) -> None:
    """Few bytes are written by the calling thread, others by another one."""
    rows = [3, 40_000, 5, 1, 0, 7]
    batches = [pa.record_batch({"a": range(n), "s": [f"row {i}" for i in range(n)]}) for n in rows]
    batches = [batch.cast(pa.schema({"a": pa.int64(), "s": pa.string()})) for batch in batches]
    keys = pa.array(["x" * 100_000]).dictionary_encode()
    repeated = pa.table({"d": pa.DictionaryArray.from_arrays(pa.array([0] * 50), keys.dictionary)})
    staffa.write_table(repeated, path)
    assert staffa.read_table(path)["d"].to_pylist() == repeated["d"].to_pylist()
    for some in (batches, batches[:1], batches[1:2], batches[:1] * 2000):
        with staffa.Writer(path, batches[0].schema) as writer:
            for batch in some:
                writer.write_batch(batch)
        assert staffa.read_table(path).equals(pa.Table.from_batches(some))


def test_the_end_of_the_block_finishes_the_file(path: Path) -> None:
    with staffa.Writer(path, BATCH.schema) as writer:
        writer.write_batch(BATCH)
    assert staffa.read_table(path).num_rows == writer.summary.rows == 3


def test_an_exception_or_abort_leaves_nothing(path: Path) -> None:
    def fail() -> None:
        with staffa.Writer(path, BATCH.schema, row_group_rows=1) as writer:
            writer.write_batch(BATCH)
            raise SensorError

    with pytest.raises(SensorError):
        fail()
    writer = staffa.Writer(path, BATCH.schema, row_group_rows=1)
    writer.write_batch(BATCH)
    writer.abort()
    writer.abort()
    assert writer.closed
    with pytest.raises(staffa.InvalidArgumentError, match="is not finished"):
        _ = writer.summary
    del writer
    forgotten = staffa.Writer(path, BATCH.schema)
    del forgotten
    assert names(path.parent) == []


def test_wrong_batches_and_options(path: Path) -> None:
    with staffa.Writer(path, BATCH.schema) as writer:
        with pytest.raises(staffa.InvalidArgumentError, match='column "a" of type Int64 expected'):
            writer.write_batch(pa.record_batch({"b": [1], "s": ["x"]}))
        with pytest.raises(staffa.InvalidArgumentError, match="batches of 2 columns expected, found one of 1"):
            writer.write_batch(pa.record_batch({"a": [1]}))
        writer.write_batch(BATCH)
    assert writer.summary.rows == 3
    with pytest.raises(staffa.InvalidArgumentError, match="must be a schema of Arrow, found int"):
        staffa.Writer(path, 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword argument 'porfile'"):
        staffa.Writer(path, BATCH.schema, porfile="small")  # type: ignore[call-arg]
    with pytest.raises(FileExistsError):
        staffa.write_table(TABLE, path, overwrite=False)


ERRORS = [SensorError("gone"), KeyboardInterrupt(), OSError(5, "gone"), SystemExit(3), StopAsyncIteration()]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_an_exception_of_a_producer_keeps_its_type(error: BaseException, path: Path) -> None:
    producers: list[Callable[[], Any]] = [
        lambda: failing(error),
        lambda: pa.RecordBatchReader.from_batches(BATCH.schema, failing(error)),
        lambda: ds.Scanner.from_batches(failing(error), schema=BATCH.schema),
    ]
    for producer in producers[: 2 if not isinstance(error, Exception) else 3]:
        with pytest.raises(type(error)) as caught:
            staffa.write_table(producer(), path, row_group_rows=1)
        assert caught.value is error or caught.value.args == error.args
        assert names(path.parent) == []


def test_an_error_of_a_stream_has_its_cause(path: Path) -> None:
    with pytest.raises(staffa.InvalidArgumentError, match="the input failed: gone") as caught:
        staffa.write_table(pa.RecordBatchReader.from_batches(BATCH.schema, failing(pa.ArrowInvalid("gone"))), path)
    assert isinstance(caught.value.__cause__, pa.ArrowInvalid)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("profile", ["balanced", "small"])
def test_ctrl_c_stops_a_write(profile: Any, path: Path) -> None:
    rng = np.random.default_rng(1)
    columns = {f"c{i}": rng.normal(size=100_000) for i in range(4)}
    columns["s"] = [rng.bytes(40).hex() for _ in range(100_000)]
    table = pa.table(columns)
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            staffa.write_table(table, path, profile=profile)
            path.unlink()
    timer.join()
    assert [name for name in names(path.parent) if name.startswith(".")] == []


ROWS = pa.table(
    {
        "price": [1.5, 2.5, 3.5, 4.5, 5.5],
        "year": pa.array([2023, 2024, 2024, None, 2023], pa.int16()),
        "city": pa.array(["a/b", "ü", "", "a/b", "x=y%"]).dictionary_encode(),
    }
)


def by_price(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda row: row["price"])


def test_partitions_come_back(tmp_path: Path) -> None:
    for data in (ROWS, iter(ROWS.to_batches(max_chunksize=2)), ROWS.to_reader(max_chunksize=1)):
        summary = staffa.write_dataset(data, tmp_path / "d", partition_by=["year", "city"], existing="overwrite")
        assert summary.rows == 5
        assert sorted(summary.files) == sorted(map(str, (tmp_path / "d").rglob("*.staffa")))
        assert summary.file_bytes == sum(Path(file).stat().st_size for file in summary.files)
        assert by_price(staffa.read_table(tmp_path / "d")) == by_price(ROWS)
    assert staffa.dataset(tmp_path / "d").count_rows("year = 2023") == 2
    folders = {Path(file).parent.relative_to(tmp_path / "d").as_posix() for file in summary.files}
    assert "year=__HIVE_DEFAULT_PARTITION__/city=a%2Fb" in folders
    assert "city" not in staffa.open(summary.files[0]).column_names


def test_existing_files(tmp_path: Path) -> None:
    first = staffa.write_dataset(ROWS, tmp_path)
    with pytest.raises(FileExistsError, match=r"has 1 \.staffa files"):
        staffa.write_dataset(ROWS, tmp_path)
    second = staffa.write_dataset(ROWS, tmp_path, existing="append")
    assert names(tmp_path) == sorted(Path(file).name for file in first.files + second.files)
    third = staffa.write_dataset(ROWS, tmp_path, existing="overwrite")
    assert names(tmp_path) == [Path(file).name for file in third.files]


APPENDED = [
    ({"month": ["May"], "year": [2024]}, ["year"], r"'month' is int32 in .*\.staffa and string in the new rows"),
    ({"month": [5]}, [], r"partition_by must be \['year'\], as of its files, found \[\]"),
    ({"month": [5], "day": [7]}, ["day"], r"must be \['year'\], .* found \['day'\]"),
    ({"month": [5], "year": [2024], "day": [7]}, ["year", "day"], r"must be \['year'\], .* found \['year', 'day'\]"),
]


@pytest.mark.parametrize(("columns", "keys", "message"), APPENDED)
def test_rows_that_do_not_go_with_a_folder_are_not_appended(
    columns: dict[str, Any], keys: list[str], message: str, tmp_path: Path
) -> None:
    rows = pa.table({"month": pa.array([4], pa.int32()), "year": [2023]})
    staffa.write_dataset(rows, tmp_path, partition_by=["year"])
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(staffa.InvalidArgumentError, match=message):
        staffa.write_dataset(columns, tmp_path, partition_by=keys, existing="append")
    assert sorted(tmp_path.rglob("*")) == before


def test_rows_of_wider_types_and_other_columns_are_appended(tmp_path: Path) -> None:
    staffa.write_dataset({"month": pa.array([4], pa.int32()), "place": ["Oban"]}, tmp_path)
    places = pa.array(["Mull"]).dictionary_encode()
    staffa.write_dataset({"month": [5], "place": places, "rain": [1.5]}, tmp_path, existing="append")
    # A damaged file says nothing of its columns; `dataset` can leave it out.
    (tmp_path / "damaged.staffa").write_bytes(b"x")
    staffa.write_dataset({"month": [6.5]}, tmp_path, existing="append")
    (tmp_path / "damaged.staffa").unlink()
    assert sorted(staffa.read_table(tmp_path)["month"].to_pylist()) == [4, 5, 6.5]


def test_files_of_a_folder_are_bounded(tmp_path: Path) -> None:
    mixed = pa.table({"k": [i % 7 for i in range(700)], "x": range(700)})
    batches = mixed.to_batches(max_chunksize=50)
    summary = staffa.write_dataset(iter(batches), tmp_path / "a", partition_by=["k"], max_open_files=2)
    assert len(summary.files) > 7
    assert sorted(staffa.read_table(tmp_path / "a")["x"].to_pylist()) == list(range(700))
    summary = staffa.write_dataset(mixed, tmp_path / "b", rows_per_file=300)
    assert [staffa.open(file).num_rows for file in summary.files] == [300, 300, 100]
    assert staffa.read_table(summary.files)["x"].to_pylist() == list(range(700))


def test_columns_of_any_type(tmp_path: Path) -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([3, 6], pa.int32()), pa.array(["a", "b"]))
    views = pa.array([[1], None, [], [2], [3], [4]], pa.list_view(pa.int64()))
    key = pa.array(["x", "y", "x", "x", "y", "x"], pa.string_view())
    table = pa.table({"runs": runs, "views": views, "key": key, "day": pa.array([1] * 6, pa.date32())})
    summary = staffa.write_dataset(table, tmp_path, partition_by=["key", "day"])
    assert [Path(file).parent.name for file in summary.files] == ["day=1970-01-02"] * 2
    found = staffa.read_table(tmp_path / "key=x")
    assert found["runs"].to_pylist() == ["a", "a", "b", "b"]
    assert found["views"].to_pylist() == [[1], [], [2], [4]]


def test_nested_columns_of_a_slice(tmp_path: Path) -> None:
    inner = [{"a": {"b": i, "c": [{"d": i}]}} for i in range(100)]
    table = pa.table({"s": inner, "k": [i // 10 % 3 for i in range(100)]})
    staffa.write_dataset(table.to_batches()[0].slice(7), tmp_path, partition_by=["k"])
    assert sorted(row["s"]["a"]["b"] for row in staffa.read_table(tmp_path).to_pylist()) == list(range(7, 100))


class PointType(pa.ExtensionType):
    """Points, as an extension type over a struct."""

    def __init__(self) -> None:
        super().__init__(pa.struct({"x": pa.int64(), "y": pa.int64()}), "staffa.test_point")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> PointType:
        return cls()


def test_extension_types_in_a_slice(path: Path) -> None:
    points = pa.array([{"x": i, "y": -i} for i in range(10)], PointType().storage_type)
    points = pa.ExtensionArray.from_storage(PointType(), points)
    places = pa.StructArray.from_arrays([points], ["at"]).slice(6, 3)
    staffa.write_table(pa.record_batch({"place": places}), path)
    assert [row["place"]["at"]["x"] for row in staffa.read_table(path).to_pylist()] == [6, 7, 8]


def test_a_nested_batch_in_place_of_a_flat_one(path: Path) -> None:
    rows = pa.array([{"x": {"y": i}} for i in range(9)]).slice(5, 2)
    with pytest.raises(staffa.InvalidArgumentError, match="of type Int32 expected"):
        staffa.write_table(iter([pa.record_batch({"a": rows})]), path, schema=pa.schema({"a": pa.int32()}))
    assert not path.exists()


def test_names_with_a_nul_byte_are_refused(path: Path, tmp_path: Path) -> None:
    batch = pa.record_batch([pa.array([1])], ["a\0b"])
    for write in (lambda: staffa.write_table(batch, path), lambda: staffa.write_dataset(batch, tmp_path / "folder")):
        with pytest.raises(staffa.InvalidArgumentError, match="NUL byte"):
            write()


def test_no_rows_make_a_file_with_columns(tmp_path: Path) -> None:
    summary = staffa.write_dataset(ROWS.slice(0, 0), tmp_path, partition_by=["year"])
    assert (summary.rows, len(summary.files)) == (0, 1)
    assert staffa.open(summary.files[0]).column_names == ["price", "city"]
    staffa.write_dataset(ROWS, tmp_path, partition_by=["year"], existing="append")
    assert by_price(staffa.read_table(tmp_path).select(ROWS.column_names)) == by_price(ROWS)


def test_an_exception_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    before = staffa.write_dataset(TABLE, tmp_path, partition_by=["s"])
    for existing in ("append", "overwrite"):
        with pytest.raises(SensorError):
            staffa.write_dataset(
                failing(SensorError("gone")),
                tmp_path,
                partition_by=["s"],
                max_open_files=1,
                existing=existing,  # type: ignore[arg-type]
            )
        assert sorted(str(path) for path in tmp_path.rglob("*") if path.is_file()) == sorted(before.files)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partition_by": ["nope"]}, "unknown column 'nope'; there are 'price'"),
        ({"partition_by": "year"}, "list of names"),
        ({"partition_by": ["price"]}, "column 'price' must have integers.*found double"),
        ({"partition_by": ["year", "city", "price"]}, "found double"),
        ({"max_open_files": 0}, "max_open_files"),
        ({"existing": "skip"}, "existing must be"),
        ({"profile": "tiny"}, "tiny"),
    ],
)
def test_wrong_options_of_a_folder(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(staffa.InvalidArgumentError, match=message):
        staffa.write_dataset(ROWS, tmp_path / "d", **options)
    assert names(tmp_path) == []


def test_partition_columns_of_text_that_look_like_numbers_are_said(tmp_path: Path) -> None:
    table = pa.table({"code": ["007", "12", None], "x": [1, 2, 3]})
    with pytest.warns(UserWarning, match="partition column 'code' look like integers") as said:
        staffa.write_dataset(table, tmp_path / "d", partition_by=["code"])
    assert 'partitioning=pa.schema([("code", pa.string())])' in str(said[0].message)
    back = staffa.dataset(tmp_path / "d", partitioning=pa.schema([("code", pa.string())])).to_table()
    assert back.sort_by("x")["code"].to_pylist() == table["code"].to_pylist()
    # One that does not look so says nothing.
    staffa.write_dataset(pa.table({"code": ["007", "x"], "y": [1, 2]}), tmp_path / "e", partition_by=["code"])


def test_text_that_utf_8_cannot_hold_is_an_argument(tmp_path: Path) -> None:
    for metadata in ({"\ud800": "x"}, {"x": "\ud800"}):
        with pytest.raises(staffa.InvalidArgumentError, match=r"UTF-8 can hold, found .*ud800"):
            staffa.write_table(ROWS, tmp_path / "t.staffa", metadata=metadata)
        with (
            pytest.raises(staffa.InvalidArgumentError, match="UTF-8 can hold"),
            staffa.Writer(tmp_path / "t.staffa", ROWS.schema) as writer,
        ):
            writer.close(metadata=metadata)
    assert not list(tmp_path.iterdir())


def test_means(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2, None], "s": ["x", "y", "z"], "d": pa.array([1, 2, None], pa.duration("s"))})
    staffa.write_table(table, tmp_path / "t.staffa")
    file = staffa.open(tmp_path / "t.staffa")
    found = file.aggregate({"a": ["mean", "count"], "d": "mean"})
    assert found["a"]["mean"].as_py() == 1.5 and found["a"]["count"].as_py() == 2
    assert found["d"]["mean"].as_py() == 1.5
    assert file.aggregate({"a": "mean"}, filter="a = 7")["a"]["mean"].as_py() is None
    assert file.aggregate({"a": "mean"}, filter=pc.add(pc.field("a"), 1) > 2)["a"]["mean"].as_py() == 2
    with pytest.raises(staffa.InvalidArgumentError, match="has no mean: a type of numbers"):
        file.aggregate({"s": "mean"})
    with pytest.raises(staffa.InvalidArgumentError, match="sum, mean, distinct"):
        file.aggregate({"a": "median"})


def test_strings_become_those_of_the_schema(path: Path) -> None:
    schema = pa.schema({"s": pa.string(), "b": pa.large_binary(), "n": pa.int64()})
    kinds = [(pa.large_string(), pa.binary()), (pa.string_view(), pa.binary_view())]
    with staffa.Writer(path, schema) as writer:
        for text, binary in kinds:
            other = pa.schema({"s": text, "b": binary, "n": pa.int64()})
            writer.write_table(pa.table([["x", None], [b"y", b""], [1, 2]], schema=other))
    found = staffa.open(path).to_table()
    assert found.schema.types == schema.types
    assert found["s"].to_pylist() == ["x", None] * 2
    with staffa.Writer(path, schema) as writer, pytest.raises(staffa.InvalidArgumentError, match='"n" of type Int64'):
        writer.write_table(pa.table([["x"], [b"y"], [1.5]], names=schema.names))


def test_what_a_newcomer_gets_wrong_is_said(path: Path, tmp_path: Path) -> None:
    with pytest.raises(staffa.InvalidArgumentError, match=r"found Table: pass its \.schema"):
        staffa.Writer(path, TABLE)  # type: ignore[arg-type]
    strict = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    with (
        pytest.raises(staffa.InvalidArgumentError, match=r'column "a": its schema declares it without NULLs, .* row 1'),
        staffa.Writer(path, strict) as writer,
    ):
        writer.write_table(pa.table({"a": [1, None]}))
    assert not path.exists()
    with pytest.raises(staffa.InvalidArgumentError, match=r"partition_by must be a list of names: \['a'\]"):
        staffa.write_dataset(TABLE, tmp_path / "d", partition_by="a")
    assert names(tmp_path) == []


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_first_column_that_cannot_be_encoded_is_named(tmp_path: Path, threads: int) -> None:
    """The heaviest column is encoded first; the error is that of the first in the schema all the same."""
    table = pa.table({"light": [random.Random(i).randbytes(4) for i in range(3000)]})
    table = table.append_column("heavy", pa.array([random.Random(i).randbytes(8) for i in range(3000)]))
    for _ in range(5):
        with pytest.raises(staffa.InvalidArgumentError, match='column "light": alphabet cannot hold'):
            encodings = {"light": "alphabet", "heavy": "constant"}
            staffa.write_table(table, tmp_path / "t.staffa", threads=threads, encodings=encodings)
    assert list(tmp_path.iterdir()) == []
