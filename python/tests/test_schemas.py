"""pyarrow imports a schema once; every batch still has its own."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import staffa


def _check(table: pa.Table, path: Path) -> None:
    staffa.write_table(table, path)
    for _ in range(2):
        with staffa.open(path) as file:
            for found in (file.to_table(), file.take(range(len(table))), file.take([1, 0]).take([1, 0])):
                assert found.schema.equals(table.schema, check_metadata=True)
                assert found == table
            views = file.to_table(string_views=True)
            assert views.cast(table.schema) == table


def test_schemas_that_hardly_differ(path: Path) -> None:
    numbers, texts = pa.array([1, 2]), pa.array(["a", "b"])
    tables = [
        pa.table({"x": numbers, "y": texts}),
        pa.table({"x": numbers.cast(pa.int32()), "y": texts}),
        pa.table({"x": numbers, "z": texts}),
        pa.table({"x": numbers, "y": texts.cast(pa.large_string())}),
        pa.table({"x": numbers, "y": texts}).replace_schema_metadata({"made": "here"}),
        pa.table({"x": pa.StructArray.from_arrays([numbers, texts], ["a", "b"])}),
        pa.table({"x": pa.StructArray.from_arrays([numbers, texts], ["a", "c"])}),
        pa.table([numbers, texts], pa.schema([pa.field("x", pa.int64(), nullable=False), ("y", pa.string())])),
        pa.table([numbers, texts], pa.schema([pa.field("x", pa.int64(), metadata={"unit": "m"}), ("y", pa.string())])),
        pa.table({"x": texts.dictionary_encode(), "y": numbers}),
        pa.table({"x": numbers.cast(pa.timestamp("us")), "y": texts}),
        pa.table({"x": numbers.cast(pa.timestamp("us", "UTC")), "y": texts}),
    ]
    # More than are kept, twice.
    for table in tables * 2:
        _check(table, path)


def test_an_extension_type_that_is_registered_later(path: Path) -> None:
    class Kelvin(pa.ExtensionType):
        def __init__(self) -> None:
            super().__init__(pa.float64(), "staffa.test.kelvin")

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> Kelvin:
            return cls()

    staffa.write_table(pa.table({"t": pa.ExtensionArray.from_storage(Kelvin(), pa.array([1.5, 2.5]))}), path)
    assert staffa.read_table(path).schema.types == [pa.float64()]
    pa.register_extension_type(Kelvin())
    try:
        assert staffa.read_table(path).schema.types == [Kelvin()]
    finally:
        pa.unregister_extension_type("staffa.test.kelvin")
    assert staffa.read_table(path).schema.types == [pa.float64()]
