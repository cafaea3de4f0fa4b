"""What the end of a file says: metadata, id, statistics, editions."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import staffa


def test_metadata_comes_back_as_bytes(tmp_path):
    path = tmp_path / "t.staffa"
    table = pa.table({"x": [1, 2, 3]}).replace_schema_metadata({"of": "the schema"})
    given = {"source": "survey 7", "empty": b"", "bytes": bytes(range(256)), "ünïcode": "ja"}
    staffa.write_table(table, path, metadata=given)
    file = staffa.open(path)
    assert file.metadata == {k: v.encode() if isinstance(v, str) else v for k, v in given.items()}
    assert file.to_table().equals(table, check_metadata=True)
    assert staffa.open(path).inspect()["metadata"]["source"] == "survey 7"
    staffa.write_table(table, path)
    assert staffa.open(path).metadata == {}


@pytest.mark.parametrize("bad", [{"x": 1}, {1: "x"}, ["x"], "x"])
def test_metadata_of_other_types_is_refused(tmp_path, bad):
    with pytest.raises(staffa.InvalidArgumentError, match="metadata must map"):
        staffa.write_table(pa.table({"x": [1]}), tmp_path / "t.staffa", metadata=bad)
    assert list(tmp_path.iterdir()) == []


def test_the_id_is_that_of_the_bytes(tmp_path):
    def id_of(table, **options):
        staffa.write_table(table, tmp_path / "t.staffa", **options)
        return staffa.open(tmp_path / "t.staffa").id

    table = pa.table({"x": range(1000)})
    same = id_of(table)
    assert len(same) == 16 and id_of(table) == same
    others = [
        id_of(pa.table({"y": range(1000)})),
        id_of(pa.table({"x": range(1001)})),
        id_of(table, metadata={"a": "b"}),
        id_of(pa.table({"x": pa.array(range(1000), pa.int32())})),
    ]
    assert len({same, *others}) == 5


def test_statistics_hold_for_the_values(tmp_path):
    generator = np.random.default_rng(7)
    rows = 200_000
    table = pa.table(
        {
            "sorted": np.arange(rows) // 3,
            "falling": -np.arange(rows),
            "mixed": generator.integers(-(2**40), 2**40, rows),
            "few": generator.integers(0, 200, rows).astype(np.int8).astype(str),
            "float": np.where(np.arange(rows) % 1000 == 0, np.nan, generator.normal(size=rows)),
            "null": pa.nulls(rows, pa.int32()),
            "flag": pa.array([None, True] * (rows // 2)),
            "day": pa.array([datetime.date(2026, 11, 22)] * rows),
            "list": pa.array([[1, 2]] * rows),
        }
    )
    staffa.write_table(table, tmp_path / "t.staffa", row_group_rows=70_000)
    found = {leaf.path: leaf for leaf in staffa.open(tmp_path / "t.staffa").statistics()}
    assert set(found) == {*table.column_names, "list[]"}
    for name in table.column_names:
        assert found[name].nulls == table[name].null_count
        exact = len(table[name].drop_null().unique()) if name != "list" else 1
        assert found[name].distinct == exact if exact < 256 else abs(found[name].distinct / exact - 1) < 0.3, name
    assert (found["sorted"].ascending, found["sorted"].descending) == (True, False)
    assert (found["falling"].ascending, found["falling"].descending) == (False, True)
    assert not found["mixed"].ascending and not found["float"].ascending and not found["float"].descending
    assert (found["day"].min, found["day"].max, found["day"].ascending) == ("2026-11-22", "2026-11-22", True)
    assert int(found["mixed"].min) == min(table["mixed"].to_pylist())
    assert found["null"].min is None and found["null"].distinct == 0
    assert found["mixed"].decoded_bytes == 8 * rows and found["list[]"].decoded_bytes == 2 * 8 * rows


def test_statistics_name_the_sources_of_derived_columns(tmp_path):
    a = np.random.default_rng(1).integers(0, 10**9, 100_000)
    staffa.write_table(pa.table({"a": a, "b": a + 5, "c": a}), tmp_path / "t.staffa")
    found = {leaf.path: leaf.sources for leaf in staffa.open(tmp_path / "t.staffa").statistics()}
    assert sorted(map(len, found.values())) == [0, 1, 1], found


def test_relate_is_the_former_name_of_derived_columns(tmp_path):
    a = np.random.default_rng(1).integers(0, 10**9, 100_000)
    table, path = pa.table({"a": a, "b": a + 5}), tmp_path / "t.staffa"
    derived = staffa.write_table(table, path).file_bytes
    alone = staffa.write_table(table, path, derived_columns=False).file_bytes
    assert derived < 0.6 * alone
    with pytest.warns(DeprecationWarning, match="relate is deprecated, use derived_columns"):
        staffa.write_table(table, path, relate=False)
    assert path.stat().st_size == alone
    with pytest.warns(DeprecationWarning), staffa.Writer(path, table.schema, relate=False) as writer:
        writer.write_table(table)
    assert path.stat().st_size == alone


def test_an_edition_leaves_codecs_out(tmp_path):
    path = tmp_path / "t.staffa"
    table = pa.table({"x": np.random.default_rng(1).normal(size=50_000).cumsum().round(6)})
    names = {"pco", "zstd", "lz4", "brotli", "vbyte", "stream_vbyte"}

    def used():
        return {name for name in names if name in str(staffa.open(path).explain())}

    staffa.write_table(table, path, profile="small")
    assert "pco" in used()
    staffa.write_table(table, path, profile="small", edition="core-1")
    assert used() == set()
    assert staffa.read_table(path).equals(table)
    with pytest.raises(staffa.InvalidArgumentError, match="pco is not in edition core-1"):
        staffa.write_table(table, path, edition="core-1", encodings={"x": "pco"})
    with pytest.raises(staffa.InvalidArgumentError, match=r"no edition is called .core-9.; there are core-1"):
        staffa.write_table(table, path, edition="core-9")


def test_the_sort_order_is_checked_and_kept(tmp_path):
    path = tmp_path / "t.staffa"
    table = pa.table({"a": [1, 1, 2], "b": ["y", "x", None]})
    keys = [staffa.SortKey("a"), staffa.SortKey("b", descending=True)]
    staffa.write_table(table, path, sort_order=["a", "b desc"])
    assert staffa.open(path).sort_order == keys
    staffa.write_table(table, path, sort_order=keys)
    assert staffa.open(path).sort_order == keys
    assert staffa.open(path).inspect()["sort_order"][1]["column"] == "b"
    with pytest.raises(staffa.InvalidArgumentError, match="row 1 is out of the declared order"):
        staffa.write_table(table, path, sort_order=["a", "b"])
    for wrong in ["a", [3], None]:
        with pytest.raises(staffa.InvalidArgumentError, match="sort_order must list columns"):
            staffa.write_table(table, path, sort_order=wrong)


def test_chunks_have_statistics(tmp_path):
    path = tmp_path / "t.staffa"
    table = pa.table({"a": pa.array([1.25, None, 3.5], pa.float64()), "b": [1, 2, 2**62]})
    staffa.write_table(table, path, row_group_rows=2, chunk_statistics=True)
    found = [(c.path, c.row_group, c.nulls, c.sum) for c in staffa.open(path).chunk_statistics()]
    assert found == [("a", 0, 1, None), ("a", 1, 0, None), ("b", 0, 0, "3"), ("b", 1, 0, str(2**62))]
    staffa.write_table(table, path)
    assert staffa.open(path).chunk_statistics() == []
    assert staffa.open(path).unknown_columns == []


def test_field_ids_of_parquet_are_kept(tmp_path):
    inner = pa.field("c", pa.int32(), metadata={"PARQUET:field_id": "3"})
    field = pa.field("a", pa.struct([inner]), metadata={"PARQUET:field_id": "2"})
    table = pa.table([pa.array([{"c": 1}], field.type)], schema=pa.schema([field]))
    parquet.write_table(table, tmp_path / "t.parquet")
    staffa.write_table(parquet.ParquetFile(tmp_path / "t.parquet").read(), tmp_path / "t.staffa")
    found = staffa.read_table(tmp_path / "t.staffa").schema.field("a")
    assert found.metadata[b"PARQUET:field_id"] == b"2"
    assert found.type.field("c").metadata[b"PARQUET:field_id"] == b"3"


def test_field_ids_are_kept(tmp_path):
    field = pa.field("x", pa.int64(), metadata={"PARQUET:field_id": "7"})
    table = pa.table([pa.array([1, 2])], schema=pa.schema([field]))
    staffa.write_table(table, tmp_path / "t.staffa")
    assert staffa.open(tmp_path / "t.staffa").schema.field("x").metadata == {b"PARQUET:field_id": b"7"}
