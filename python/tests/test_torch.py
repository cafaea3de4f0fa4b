"""PyTorch: every row once, the same for the same seed, in any number of workers and ranks; tensors without copying."""

from __future__ import annotations

import itertools
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import staffa

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
from torch.utils.data import DataLoader  # noqa: E402

from staffa._scanner import Scanner  # noqa: E402
from staffa._tensors import Tensors  # noqa: E402

N = 10_000
EMBEDDINGS = np.random.default_rng(1).normal(size=(N, 8)).astype("f4")
TABLE = pa.table(
    {
        "id": range(N),
        "label": [f"class {i % 7}" for i in range(N)],
        "embedding": pa.FixedSizeListArray.from_arrays(pa.array(EMBEDDINGS.ravel()), 8),
        "tokens": [[i] * (i % 4) for i in range(N)],
        "score": [None if i % 10 == 0 else i / 2 for i in range(N)],
        "flag": [i % 2 == 0 for i in range(N)],
    }
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    staffa.write_table(TABLE, tmp_path / "t.staffa", access="random", row_group_rows=4096)
    return tmp_path / "t.staffa"


def ids(batches: Any) -> list[int]:
    return [i for batch in batches for i in batch["id"].tolist()]


def check(batch: dict[str, Any]) -> None:
    """All columns are of the rows that `id` names."""
    rows = batch["id"].tolist()
    assert batch["label"] == [f"class {i % 7}" for i in rows]
    assert np.array_equal(batch["embedding"].numpy(), EMBEDDINGS[rows])
    assert [tokens.tolist() for tokens in batch["tokens"]] == [[i] * (i % 4) for i in rows]
    assert [None if s != s else s for s in batch["score"].tolist()] == [None if i % 10 == 0 else i / 2 for i in rows]
    assert batch["flag"].tolist() == [i % 2 == 0 for i in rows]
    assert batch["flag"].dtype == torch.bool


def test_rows_by_number(path: Path) -> None:
    rows = staffa.torch.MapDataset(path)
    assert len(rows) == N
    row = rows[7]
    assert row["id"].item() == 7
    assert row["label"] == "class 0"
    assert row["embedding"].shape == (8,)
    assert rows[-1]["id"].item() == N - 1
    batch = rows.__getitems__([5, 5, 9999, 0])
    assert [row["id"].item() for row in batch] == [5, 5, 9999, 0]
    assert batch[-1]["label"] == "class 0"
    check(staffa.torch.collate(batch))
    for wrong in (N, -N - 1):
        with pytest.raises(IndexError, match="out of range"):
            rows[wrong]
    with pytest.raises(IndexError):
        batch[4]
    assert len(rows.__getitems__([])) == 0


def test_a_batch_is_read_with_one_call(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, calls = staffa.torch.MapDataset(path), []
    take = Scanner.take
    monkeypatch.setattr(Scanner, "take", lambda self, i: calls.append(len(i)) or take(self, i))
    loader = DataLoader(rows, batch_size=4000, shuffle=True, collate_fn=staffa.torch.collate)
    for batch in loader:
        check(batch)
    assert calls == [4000, 4000, 2000]


def test_the_default_collate_takes_it_too(path: Path) -> None:
    rows = staffa.torch.MapDataset(path, ["id", "embedding", "label"])
    batch = next(iter(DataLoader(rows, batch_size=3)))
    assert batch["id"].tolist() == [0, 1, 2]
    assert batch["embedding"].shape == (3, 8)
    assert batch["label"] == ["class 0", "class 1", "class 2"]


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_open_the_files_for_themselves(start: str, path: Path) -> None:
    """After a fork too, when the parent has used the threads that the child does not have."""
    assert staffa.open(path).to_table().num_rows == N
    options: dict[str, Any] = {"num_workers": 2, "multiprocessing_context": start, "timeout": 300}
    rows = staffa.torch.MapDataset(path)
    rows[3]
    loader = DataLoader(rows, batch_size=1000, shuffle=True, collate_fn=staffa.torch.collate, **options)
    batches = list(loader)
    for batch in batches:
        check(batch)
    assert sorted(ids(batches)) == list(range(N))
    stream = staffa.torch.IterableDataset(path, batch_size=1000, shuffle=True, block_rows=500)
    batches = list(DataLoader(stream, batch_size=None, **options))
    for batch in batches:
        check(batch)
    assert sorted(ids(batches)) == list(range(N))


def test_a_forked_process_reads(path: Path) -> None:
    file = staffa.open(path)
    file.to_table()
    child = os.fork()
    if child == 0:
        same = file.to_table().num_rows == file.scan().read_all().num_rows == pa.table(file).num_rows == N
        os._exit(0 if same and file.verify()["rows"] == N else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


ORDERS: list[dict[str, Any]] = [
    {},
    {"shuffle": True},
    {"shuffle": True, "block_rows": 100, "mixed_blocks": 3},
    {"shuffle": True, "block_rows": 7, "mixed_blocks": 100},
    {"batch_size": 333},
    {"batch_size": 20_000, "shuffle": True, "block_rows": 1000},
]


@pytest.mark.parametrize("options", ORDERS)
def test_every_row_once(options: dict[str, Any], path: Path) -> None:
    stream = staffa.torch.IterableDataset(path, **options)
    batches = list(stream)
    for batch in batches:
        check(batch)
    size = options.get("batch_size", 256)
    assert [len(batch["id"]) for batch in batches[:-1]] == [size] * (len(batches) - 1)
    got = ids(batches)
    assert sorted(got) == list(range(N))
    assert (got == list(range(N))) != options.get("shuffle", False)
    assert ids(stream) == got
    assert ids(staffa.torch.IterableDataset(path, **options)) == got
    full = staffa.torch.IterableDataset(path, drop_last=True, **options)
    assert ids(full) == got[: N // size * size]


def test_epochs_and_seeds_are_different_orders(path: Path) -> None:
    stream = staffa.torch.IterableDataset(path, ["id"], shuffle=True, block_rows=256, seed=1)
    orders = []
    for epoch in (0, 1, 2):
        stream.set_epoch(epoch)
        orders.append(ids(stream))
    orders.append(ids(staffa.torch.IterableDataset(path, ["id"], shuffle=True, block_rows=256, seed=2)))
    for one, other in itertools.combinations(orders, 2):
        assert one != other
        assert sorted(one) == sorted(other)
    stream.set_epoch(1)
    assert ids(pickle.loads(pickle.dumps(stream))) == orders[1]


def test_workers_that_live_on_see_the_epoch(path: Path) -> None:
    stream = staffa.torch.IterableDataset(path, ["id"], shuffle=True, block_rows=256)
    loader = DataLoader(stream, batch_size=None, num_workers=1, persistent_workers=True, timeout=300)
    first = ids(loader)
    stream.set_epoch(1)
    second = ids(loader)
    assert first != second
    assert sorted(first) == sorted(second)


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batch_size", [64, 3000])
def test_ranks_and_workers_share_the_rows(ranks: int, workers: int, batch_size: int, path: Path) -> None:
    seen: list[int] = []
    counts = set()
    for rank in range(ranks):
        stream = staffa.torch.IterableDataset(
            path, ["id"], batch_size=batch_size, shuffle=True, block_rows=512, rank=rank, world_size=ranks
        )
        batches = list(DataLoader(stream, batch_size=None, num_workers=workers, timeout=300 if workers else 0))
        counts.add((len(batches), sum(len(batch["id"]) for batch in batches)))
        seen += ids(batches)
    assert len(seen) == len(set(seen)) == N // ranks * ranks
    assert counts == {(-(-(N // ranks) // batch_size), N // ranks)}


def test_several_files_and_partition_columns(tmp_path: Path) -> None:
    for fold in range(3):
        (tmp_path / f"fold={fold}").mkdir()
        staffa.write_table(TABLE.slice(fold * 100, 100), tmp_path / f"fold={fold}/t.staffa")
    rows = staffa.torch.MapDataset(tmp_path, ["id", "fold"])
    assert staffa.torch.collate(rows.__getitems__([250, 0, 120]))["fold"].tolist() == [2, 0, 1]
    stream = staffa.torch.IterableDataset(tmp_path, ["id", "fold"], shuffle=True, block_rows=30, batch_size=70)
    for batch in stream:
        assert (batch["id"] // 100).tolist() == batch["fold"].tolist()
    assert sorted(ids(stream)) == list(range(300))


COLUMNS: dict[str, tuple[pa.Array, Any]] = {
    "uint8": (pa.array([1, 2, 3], pa.uint8()), torch.tensor([1, 2, 3], dtype=torch.uint8)),
    "int16": (pa.array([1, -2, 3], pa.int16()), torch.tensor([1, -2, 3], dtype=torch.int16)),
    "float16": (pa.array([1.5, 2, 3], pa.float16()), torch.tensor([1.5, 2, 3], dtype=torch.float16)),
    "float64": (pa.array([1.5, -0.0, 3]), torch.tensor([1.5, -0.0, 3], dtype=torch.float64)),
    "boolean": (pa.array([True, False, True]), torch.tensor([True, False, True])),
    "date": (pa.array([1, 2, 3], pa.date32()), torch.tensor([1, 2, 3], dtype=torch.int32)),
    "timestamp": (pa.array([1, 2, 3], pa.timestamp("ns", "UTC")), torch.tensor([1, 2, 3])),
    "duration": (pa.array([1, 2, 3], pa.duration("s")), torch.tensor([1, 2, 3])),
    "floats with NULL": (pa.array([1, None, 3], pa.float32()), torch.tensor([1, torch.nan, 3])),
    "dictionary of numbers": (pa.array([5, 6, 5]).dictionary_encode(), torch.tensor([5, 6, 5])),
    "lists of two": (
        pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int64(), 2)),
        torch.tensor([[1, 2], [3, 4], [5, 6]]),
    ),
    "lists of two with NULL": (
        pa.array([[1, 2], None, [5, None]], pa.list_(pa.float32(), 2)),
        torch.tensor([[1, 2], [torch.nan, torch.nan], [5, torch.nan]]),
    ),
    "lists of lists": (
        pa.array([[[1], [2]], [[3], [4]], [[5], [6]]], pa.list_(pa.list_(pa.int8(), 1), 2)),
        torch.tensor([[[1], [2]], [[3], [4]], [[5], [6]]], dtype=torch.int8),
    ),
    "tensors": (
        pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(12).reshape(3, 2, 2)),
        torch.arange(12).reshape(3, 2, 2),
    ),
    "text": (pa.array(["a", None, "c"]), ["a", None, "c"]),
    "binary": (pa.array([b"a", b"", b"c"]), [b"a", b"", b"c"]),
    "structs": (pa.array([{"x": 1}, None, {"x": 3}]), [{"x": 1}, None, {"x": 3}]),
    "nothing": (pa.nulls(3), [None, None, None]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns(name: str) -> None:
    array, expected = COLUMNS[name]
    for start, stop in ((0, 3), (1, 3), (2, 2)):
        batch = pa.record_batch({"c": array}).slice(start, stop - start)
        got = Tensors(batch.schema, None).of(batch)["c"]
        if isinstance(expected, list):
            assert got == expected[start:stop]
        else:
            assert got.dtype == expected.dtype
            assert got.shape == expected[start:stop].shape
            assert torch.equal(got.nan_to_num(-7), expected[start:stop].nan_to_num(-7))


def test_embeddings_are_not_copied() -> None:
    batch = TABLE.to_batches()[0].slice(10, 100)
    tensors = Tensors(batch.schema, None).of(batch)
    values = batch["embedding"].values
    assert tensors["embedding"].data_ptr() == values.buffers()[1].address + 10 * 8 * 4
    assert tensors["id"].data_ptr() == batch["id"].buffers()[1].address + 10 * 8


def test_what_is_read_may_be_changed(path: Path) -> None:
    """A tensor belongs to the caller: its memory is not shared."""
    rows = staffa.torch.MapDataset(path, ["id"])
    for _ in range(2):
        numbers = staffa.torch.collate(rows.__getitems__(range(5000)))["id"]
        assert numbers.tolist() == list(range(5000))
        numbers += 1
    stream = staffa.torch.IterableDataset(path, ["id", "embedding"], batch_size=5000)
    for _ in range(2):
        batch = next(iter(stream))
        assert batch["id"].tolist() == list(range(5000))
        assert np.array_equal(batch["embedding"].numpy(), EMBEDDINGS[:5000])
        batch["id"] += 1
        batch["embedding"] += 1


def test_null_has_a_value_on_request(tmp_path: Path) -> None:
    path = tmp_path / "t.staffa"
    staffa.write_table(pa.table({"n": [1, None, 3], "x": [0.5, None, 1.5]}), path)
    batch = staffa.torch.MapDataset(path, fill_null={"n": -1, "x": 0}).__getitems__([0, 1, 2]).columns
    assert batch["n"].tolist() == [1, -1, 3]
    assert batch["x"].tolist() == [0.5, 0, 1.5]


BAD_ARGUMENTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "NULL among integers": (lambda p: staffa.torch.MapDataset(p)[1], r"'n' holds NULL.*int64.*fill_null=\{'n'"),
    "fill_null of no column": (lambda p: staffa.torch.MapDataset(p, fill_null={"z": 1}), "fill_null.*'z'"),
    "fill_null of another type": (lambda p: staffa.torch.MapDataset(p, fill_null={"n": "x"})[1], "fill_null.*'n'"),
    "an unknown column": (lambda p: staffa.torch.IterableDataset(p, ["z"]), "unknown column 'z'"),
    "no batch": (lambda p: staffa.torch.IterableDataset(p, batch_size=0), "batch_size"),
    "a rank too many": (lambda p: staffa.torch.IterableDataset(p, rank=2, world_size=2), "found 2 of 2"),
    "a rank of none": (lambda p: staffa.torch.IterableDataset(p, rank=2), "together"),
    "rows": (lambda p: staffa.torch.collate([{"n": 1}]), "found list"),
    "a filter": (
        lambda p: staffa.torch.MapDataset(staffa.dataset(p).filter(pa.compute.field("n") > 1)),
        "filtered dataset",
    ),
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_bad_arguments(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.staffa"
    staffa.write_table(pa.table({"n": [1, None, 3]}), path)
    call, message = BAD_ARGUMENTS[name]
    with pytest.raises(staffa.InvalidArgumentError, match=message):
        call(path)


def test_a_worker_hands_over_the_error(path: Path) -> None:
    rows = staffa.torch.MapDataset(path)
    path.write_bytes(b"no longer a table")
    loader = DataLoader(rows, batch_size=10, num_workers=1, collate_fn=staffa.torch.collate, timeout=300)
    with pytest.raises((staffa.CorruptError, staffa.TruncatedError), match=r"t\.staffa"):
        list(loader)
