"""Out as it went in: every Arrow type, in every shape that it may come in."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import staffa
from tables import TYPES, N, assert_same

SHAPES: dict[str, Callable[[pa.Array], pa.ChunkedArray]] = {
    "whole": lambda a: pa.chunked_array([a]),
    "sliced": lambda a: pa.chunked_array([a.slice(13, 700)]),
    "chunks": lambda a: pa.chunked_array([a.slice(0, 5), a.slice(5, 0), a.slice(3, 900), a.slice(N - 1)]),
    "no rows": lambda a: pa.chunked_array([a.slice(7, 0)]),
    "no chunks": lambda a: pa.chunked_array([], a.type),
    "all NULL": lambda a: pa.chunked_array([pa.nulls(100, a.type)]),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", TYPES)
def test_every_type(name: str, shape: str, stored: Callable[..., staffa.File]) -> None:
    table = pa.table({"c": SHAPES[shape](TYPES[name])})
    file = stored(table)
    assert file.schema.equals(table.schema, check_metadata=True)
    assert_same(file.to_table(), table)
    assert len(file) == table.num_rows
    assert file.verify()["rows"] == table.num_rows


@pytest.mark.parametrize("profile", ["fast", "balanced", "small"])
def test_all_types_together(profile: str, stored: Callable[..., staffa.File]) -> None:
    table = pa.table({name: array for name, array in TYPES.items() if len(array) == N})
    file = stored(table, profile=profile)
    assert_same(file.to_table(), table)
    assert_same(file.to_table(columns=["bool", "struct"]), table.select(["bool", "struct"]))


def test_metadata_and_nullability_are_kept(stored: Callable[..., staffa.File]) -> None:
    fields = [
        pa.field("a", pa.int64(), nullable=False, metadata={"unit": "metres"}),
        pa.field("b", pa.struct([pa.field("c", pa.string(), nullable=False, metadata={"x": "y"})])),
    ]
    schema = pa.schema(fields, metadata={"origin": "Staffa", "note": "ü"})
    table = pa.table([pa.array([1, 2]), pa.array([{"c": "x"}, {"c": "y"}], schema.field("b").type)], schema)
    assert_same(stored(table).to_table(), table)


def test_several_row_groups(stored: Callable[..., staffa.File]) -> None:
    rows = 200_000
    table = pa.table({"a": range(rows), "b": [str(i % 1000) for i in range(rows)]})
    file = stored(table, row_group_rows=65_536)
    assert file.num_row_groups == 4
    assert_same(file.to_table(), table)
    assert_same(file.take([0, 65_535, 65_536, 199_999]), table.take([0, 65_535, 65_536, 199_999]))


def test_no_columns(stored: Callable[..., staffa.File]) -> None:
    table = pa.table({"a": [1, 2, 3]}).select([])
    assert table.num_rows == 3
    file = stored(table)
    assert file.num_rows == 3
    assert file.to_table().num_columns == 0
    assert sum(batch.num_rows for batch in file.scan()) == 3


def test_no_columns_wanted(stored: Callable[..., staffa.File]) -> None:
    file = stored(pa.table({"a": [1, 2, 3]}))
    assert sum(batch.num_rows for batch in file.scan(columns=[])) == 3
    assert file.to_table(columns=[]).num_rows == 3


def test_odd_names(stored: Callable[..., staffa.File]) -> None:
    names = ["", " ", "a.b", "a", 'q"uote', "ü漢😀", "line\nbreak", "x" * 1000]
    table = pa.table({name: [i, None] for i, name in enumerate(names)})
    file = stored(table)
    assert_same(file.to_table(), table)
    assert_same(file.to_table(columns=names[::-1]), table.select(names[::-1]))


def test_many_columns(stored: Callable[..., staffa.File]) -> None:
    table = pa.table({f"c{i}": [i, i + 1] for i in range(2000)})
    file = stored(table)
    assert_same(file.to_table(), table)
    assert_same(file.to_table(columns=["c1999", "c7"]), table.select(["c1999", "c7"]))


def test_dictionaries(stored: Callable[..., staffa.File]) -> None:
    names = [None if i % 7 == 3 else f"name {i % 11}" for i in range(1000)]
    table = pa.table({"a": range(1000), "s": names})
    file = stored(table)
    for keep in (None, pc.field("a") >= 500, pc.field("a") * 2 >= 1000, pc.utf8_upper(pc.field("s")) == "NAME 4"):
        expected = table if keep is None else table.filter(keep)
        found = file.to_table(filter=keep, dictionaries=["s"])
        assert found["s"].type == pa.dictionary(pa.int32(), pa.string())
        assert found["s"].cast(pa.string()).to_pylist() == expected["s"].to_pylist()
        assert found["a"].equals(expected["a"])
        read = pa.Table.from_batches(file.scan(filter=keep, dictionaries=["s"]))
        assert read["s"].cast(pa.string()).to_pylist() == expected["s"].to_pylist()
    with pytest.raises(staffa.InvalidArgumentError, match="Int64"):
        file.to_table(dictionaries=["a"])


def test_run_ends(stored: Callable[..., staffa.File]) -> None:
    numbers = [i // 90 for i in range(1000)]
    names = [None if i // 30 % 7 == 3 else f"name {i // 30 % 11}" for i in range(1000)]
    table = pa.table({"a": range(1000), "s": names, "n": numbers, "l": [[i] for i in range(1000)]})
    file = stored(table)
    for keep in (None, pc.field("a") >= 500, pc.field("a") * 2 >= 1000, pc.utf8_upper(pc.field("s")) == "NAME 4"):
        expected = table if keep is None else table.filter(keep)
        found = file.to_table(columns=["s", "n"], filter=keep, run_ends=["s", "n"])
        assert found["s"].type == pa.run_end_encoded(pa.int32(), pa.string())
        for name in ("s", "n"):
            plain = pc.run_end_decode(found[name].combine_chunks())
            assert plain.to_pylist() == expected[name].to_pylist()
            batches = file.scan(columns=[name], filter=keep, run_ends=[name], batch_rows=70)
            read = [value for batch in batches for value in pc.run_end_decode(batch[name]).to_pylist()]
            assert read == expected[name].to_pylist()
    limited = file.to_table(columns=["n"], run_ends=["n"], limit=100)["n"].combine_chunks()
    assert limited.run_ends.to_pylist() == [90, 100]
    assert limited.values.to_pylist() == [0, 1]
    for columns, message in ((["l"], "not nested"), (["nope"], "nope")):
        with pytest.raises(staffa.InvalidArgumentError, match=message):
            file.to_table(run_ends=columns)


def test_rows_by_range_slice_and_mask(stored: Callable[..., staffa.File]) -> None:
    table = pa.table({"a": range(1000), "s": [None if i % 7 == 3 else f"name {i}" for i in range(1000)]})
    file = stored(table)
    rows = list(range(1000))
    for wanted in (
        slice(None),
        slice(10, 20),
        slice(-5, None),
        slice(None, None, -3),
        slice(20, 10),
        slice(2000, None),
    ):
        assert_same(file.take(wanted), table.take(pa.array(rows[wanted], pa.int64())))
    for wanted in (range(1000), range(5, 900), range(900, 5, -7), range(3, 3), range(7, 2)):
        assert_same(file.take(wanted, ["s"]), table.select(["s"]).take(pa.array(wanted, pa.int64())))
    marked = [i % 3 == 0 and i > 100 for i in range(1000)]
    expected = table.filter(pa.array(marked))
    for mask in (marked, np.array(marked), pa.array(marked), pa.chunked_array([marked[:10], marked[10:]])):
        assert_same(file.take(mask), expected)
    assert file.take(pa.array([None] * 999 + [True]))["a"].to_pylist() == [999]


# Few numbers cross as words, more as an Arrow array: 16 of a list and 65,536 of NumPy are the last ones.
WORDS = (np.arange(65_537, dtype=np.int64) * 7919 + 5) % 1000
ROWS_BY_NUMBER = {
    "a list of 16": WORDS[:16].tolist(),
    "a list of 17": WORDS[:17].tolist(),
    "65,536 of NumPy": WORDS[:-1],
    "65,537 of NumPy": WORDS,
    "every other one": WORDS[:40:2],
    "backwards": WORDS[:40][::-1],
    "none, as floats": np.array([]),
}


@pytest.mark.parametrize("name", ROWS_BY_NUMBER)
def test_rows_by_number(name: str, stored: Callable[..., staffa.File]) -> None:
    table = pa.table({"a": range(1000), "s": [None if i % 7 == 3 else f"name {i}" for i in range(1000)]})
    rows = ROWS_BY_NUMBER[name]
    assert_same(stored(table).take(rows), table.take(pa.array(rows, pa.int64())))


def test_string_views(stored: Callable[..., staffa.File]) -> None:
    table = pa.table({"s": ["a", None, "a long one, not inlined"], "b": [b"x", b"", None], "i": [1, 2, 3]})
    file = stored(table)
    views = file.to_table(string_views=True)
    assert views.schema.types == [pa.string_view(), pa.binary_view(), pa.int64()]
    assert views.cast(table.schema).equals(table)
    assert file.take([2, 0], string_views=True)["s"].to_pylist() == ["a long one, not inlined", "a"]
    assert next(file.scan(columns=["s"], string_views=True)).schema.types == [pa.string_view()]


def test_a_file_can_be_written_over_itself(path: Path) -> None:
    table = pa.table({"a": range(100_000), "b": [str(i % 100) for i in range(100_000)]})
    staffa.write_table(table, path)
    staffa.write_table(staffa.open(path), path, profile="small")
    assert_same(staffa.read_table(path), table)


def test_an_open_file_outlives_its_replacement(path: Path) -> None:
    old, new = pa.table({"a": range(100_000)}), pa.table({"a": ["other"]})
    staffa.write_table(old, path)
    file = staffa.open(path)
    staffa.write_table(new, path)
    assert_same(file.to_table(), old)
    assert_same(staffa.read_table(path), new)


def test_summary(path: Path) -> None:
    summary = staffa.write_table(pa.table({"a": range(10_000)}), path)
    assert (summary.rows, summary.row_groups) == (10_000, 1)
    assert summary.file_bytes == path.stat().st_size == staffa.open(path).nbytes
    assert summary.arrow_bytes >= 80_000


def test_slices_count_with_their_own_rows(path: Path) -> None:
    """Not with all items, values and runs of the table that they are slices of."""
    lists = pa.array([list(range(row % 20)) for row in range(50_000)])
    texts = pa.array([f"a text of row {row}, longer than a view" for row in range(50_000)])
    runs = pa.RunEndEncodedArray.from_arrays(pa.array(range(5, 50_001, 5), pa.int32()), texts[:10_000])
    table = pa.table(
        {"list": lists, "view": texts.cast(pa.string_view()), "code": texts.dictionary_encode(), "run": runs}
    )
    whole = staffa.write_table(table, path)
    with staffa.Writer(path, table.schema) as writer:
        for start in range(0, 50_000, 100):
            writer.write_table(table.slice(start, 100))
    assert_same(staffa.read_table(path), table)
    assert staffa.open(path).num_row_groups == 1
    slices = writer.summary.arrow_bytes
    assert abs(slices - whole.arrow_bytes) < whole.arrow_bytes // 20


def test_floats_within_a_bound(stored: Callable[..., staffa.File]) -> None:
    """Only what was asked for is rounded, by no more than the bound, and the schema says so."""
    random = np.random.default_rng(5)
    noise = random.normal(size=30_000).astype(np.float32)
    noise[:4] = [np.nan, -0.0, np.inf, 3e38]
    table = pa.table(
        {
            "embedding": pa.FixedSizeListArray.from_arrays(noise, 30),
            "x": pa.array(random.normal(size=1000), mask=np.arange(1000) % 7 == 0),
            "exact": random.normal(size=1000),
        }
    )
    file = stored(table, max_error={"embedding": 0.001, "x": 0.1})
    found = file.to_table()
    assert file.schema.field("embedding").metadata == {b"staffa.max_error": b"0.001"}
    assert file.schema.field("exact").metadata is None
    assert found["exact"].equals(table["exact"])
    assert found["x"].is_null().equals(table["x"].is_null())
    given, rounded = (t["embedding"].combine_chunks().flatten().to_numpy() for t in (table, found))
    assert np.array_equal(given[:4].view(np.uint32), rounded[:4].view(np.uint32))
    assert np.abs(given[4:].astype(np.float64) - rounded[4:]).max() <= 0.001
    assert np.abs(table["x"].drop_null().to_numpy() - found["x"].drop_null().to_numpy()).max() <= 0.1
    assert file.inspect()["columns"][1]["bytes"] < 0.5 * noise.nbytes


def test_profiles_of_columns_and_access(stored: Callable[..., staffa.File], path: Path) -> None:
    lists = np.tile(np.random.default_rng(5).integers(0, 2**40, 5000), 12)
    table = pa.table(
        {"a": lists, "b": lists[::-1].copy(), "text": [f"row {i * i % 9973} of the isle" for i in range(60_000)]}
    )
    scanned = stored(table, column_profiles={"text": "small"})
    assert scanned.to_table().equals(table)
    assert scanned.nbytes < stored(table).nbytes
    kept = stored(table, access="random")
    assert kept.to_table().equals(table)


def test_prices_of_many_places(path: Path) -> None:
    """Decimals as Spark has them: multiples of 10^16 beyond 64 bits, and a few that are none."""
    random = np.random.default_rng(6)
    cents = [int(number) for number in random.integers(-(10**7), 10**7, 5000)]
    odd = [decimal.Decimal(10**37 - 1).scaleb(-18), decimal.Decimal(1).scaleb(-18), None]
    with decimal.localcontext(decimal.Context(prec=50)):
        prices = [decimal.Decimal(cent).scaleb(-2) for cent in cents]
    for values, most in ((prices, 4), ([*prices, *odd, *prices], 5)):
        table = pa.table({"price": pa.array(values, pa.decimal128(38, 18))})
        staffa.write_table(table, path)
        file = staffa.open(path)
        assert file.to_table().equals(table)
        assert file.nbytes < most * len(values)
        rows = sorted({int(row) for row in random.integers(0, len(values), 50)})
        assert file.take(rows).equals(table.take(rows))
        condition = pc.field("price") > decimal.Decimal("12.50")
        assert file.to_table(filter=condition).equals(table.filter(condition))
