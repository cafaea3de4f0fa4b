"""Tables of every kind, and what it means that two are the same."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import staffa

N = 1500
I = range(N)  # noqa: E741 - as in mathematics


def with_nulls(values: Any) -> list[Any]:
    return [None if i % 7 == 3 else value for i, value in enumerate(values)]


def of(values: Any, data_type: pa.DataType) -> pa.Array:
    return pa.array(with_nulls(values), data_type)


class Celsius(pa.ExtensionType):
    """An extension type of a user."""

    def __init__(self) -> None:
        super().__init__(pa.float32(), "staffa.tests.celsius")

    def __arrow_ext_serialize__(self) -> bytes:
        return b"degrees"

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> Celsius:
        return cls()


pa.register_extension_type(Celsius())


def _integers() -> dict[str, pa.Array]:
    out = {}
    for bits in (8, 16, 32, 64):
        top = 2 ** (bits - 1)
        for name, low, high in ((f"int{bits}", -top, top - 1), (f"uint{bits}", 0, 2 * top - 1)):
            data_type = pa.type_for_alias(name)
            out[name] = of([low + i % (high - low + 1) for i in I], data_type)
            out[f"{name} extremes"] = of([(low, high, 0)[i % 3] for i in I], data_type)
    return out


def _floats() -> dict[str, pa.Array]:
    odd = [float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.5]
    payloads = np.array([0x7FF8000000000001, 0xFFF0000000000123, 1, 0x8000000000000000] * 300, np.uint64)
    return {
        "float16": of([np.float16(i % 9) for i in I], pa.float16()),
        "float16 odd": pa.array(np.array(odd * 250, np.float16)),
        "float32": of([i / 8 for i in I], pa.float32()),
        "float32 odd": of(odd * (N // 6), pa.float32()),
        "float64": of([i / 10 for i in I], pa.float64()),
        "float64 odd": of(odd * (N // 6), pa.float64()),
        "float64 NaN payloads": pa.array(payloads.view(np.float64)),
        "float64 noise": pa.array(np.random.default_rng(1).normal(size=N)),
    }


def _texts() -> dict[str, pa.Array]:
    words = ["", "ü漢😀", "\0x", "a" * 300, "red", "green", "a somewhat longer one"]
    out = {}
    for data_type in (pa.string(), pa.large_string(), pa.string_view()):
        out[f"{data_type} few"] = of([words[i % 7] for i in I], data_type)
        out[f"{data_type} many"] = of([f"name {i * 7919 % 1000}" for i in I], data_type)
    for data_type in (pa.binary(), pa.large_binary(), pa.binary_view()):
        out[f"{data_type}"] = of([bytes([i % 256, 0, 255]) * (i % 9) for i in I], data_type)
    out["fixed_size_binary(16)"] = of([i.to_bytes(16, "little") for i in I], pa.binary(16))
    out["fixed_size_binary(3)"] = of([bytes([i % 4, 0, 255]) for i in I], pa.binary(3))
    return out


def _times() -> dict[str, pa.Array]:
    out = {
        "date32": of([dt.date(1900 + i % 200, 1 + i % 12, 1 + i % 28) for i in I], pa.date32()),
        "date64": of([86_400_000 * (i - 700) for i in I], pa.date64()),
        "time32[s]": of([i % 86400 for i in I], pa.time32("s")),
        "time32[ms]": of([i * 1000 for i in I], pa.time32("ms")),
        "time64[us]": of([i * 1000 for i in I], pa.time64("us")),
        "time64[ns]": of(list(I), pa.time64("ns")),
        "month_day_nano": of([(i % 12, -i, 5 * i) for i in I], pa.month_day_nano_interval()),
    }
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC", "Europe/Zurich", "+05:30"):
            out[f"timestamp[{unit},{zone}]"] = of([1_700_000_000 - i * i for i in I], pa.timestamp(unit, zone))
        out[f"duration[{unit}]"] = of([i - 700 for i in I], pa.duration(unit))
    return out


def _decimals() -> dict[str, pa.Array]:
    numbers = [decimal.Decimal(i - 700) / 100 for i in I]
    types = [pa.decimal32(7, 2), pa.decimal64(15, 2), pa.decimal128(38, 10), pa.decimal256(60, 3)]
    out = {str(data_type): of(numbers, data_type) for data_type in types}
    large = [decimal.Decimal(10**37 * (-1) ** i + i) for i in I]
    out["decimal128 large"] = of(large, pa.decimal128(38, 0))
    out["decimal128 negative scale"] = of([decimal.Decimal(i * 100) for i in I], pa.decimal128(10, -2))
    return out


def _nested() -> dict[str, pa.Array]:
    lists = [list(range(i % 4)) for i in I]
    texts = [[None if j == 1 else f"t{i % 5}{j}" for j in range(i % 3)] for i in I]
    people = [{"a": i, "b": {"c": str(i % 7), "d": [i] * (i % 3)}} for i in I]
    inner = pa.struct([("b", pa.struct([("c", pa.int64())]))])
    pairs = pa.struct([("p", pa.list_(inner, 2))])
    return {
        "list<int32>": of(lists, pa.list_(pa.int32())),
        "list<string>": of(texts, pa.list_(pa.string())),
        "large_list<string>": of(texts, pa.large_list(pa.string())),
        "list_view<int32>": of(lists, pa.list_view(pa.int32())),
        "large_list_view<string>": of(texts, pa.large_list_view(pa.string())),
        "list<list<int64>>": of([[[i], [], [i, 1]] for i in I], pa.list_(pa.list_(pa.int64()))),
        "fixed_size_list<float>[4]": of([[i, 1, 2, 3] for i in I], pa.list_(pa.float32(), 4)),
        "fixed_size_list<string>[2]": of([[str(i), None] for i in I], pa.list_(pa.string(), 2)),
        "struct": pa.array(with_nulls(people)),
        "struct<struct>": of([{"a": {"b": {"c": i}}} for i in I], pa.struct([("a", inner)])),
        "struct<fixed_size_list<struct>>": of([{"p": [{"b": {"c": i}}] * 2} for i in I], pairs),
        "fixed_size_list<struct>": of([[{"c": i}, {"c": None}] for i in I], pa.list_(inner.field(0).type, 2)),
        "map<string, struct<struct>>": of([[("k", {"b": {"c": i}})] for i in I], pa.map_(pa.string(), inner)),
        "struct of nothing": pa.array([{}] * N, pa.struct([])),
        "list<struct<list>>": pa.array(with_nulls([[{"x": [i, 2]}] * (i % 3) for i in I])),
        "map<string, int64>": of([[(f"k{j}", i) for j in range(i % 3)] for i in I], pa.map_(pa.string(), pa.int64())),
        "list<dictionary>": of(texts, pa.list_(pa.dictionary(pa.int32(), pa.string()))),
    }


def _encoded() -> dict[str, pa.Array]:
    out = {}
    for index in (pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64()):
        codes = pa.array(with_nulls([i % 10 for i in I]), index)
        words = pa.array([f"word {i}" for i in range(10)])
        out[f"dictionary<{index}, string>"] = pa.DictionaryArray.from_arrays(codes, words)
    numbers = pa.array([i * 3 for i in range(10)], pa.int64())
    codes = pa.array([i % 10 for i in I], pa.int16())
    out["dictionary<int16, int64>"] = pa.DictionaryArray.from_arrays(codes, numbers)
    out["dictionary ordered"] = pa.DictionaryArray.from_arrays(codes, numbers, ordered=True)
    out["dictionary of NULLs"] = pa.DictionaryArray.from_arrays(codes, pa.array([None, *"abcdefghi"]))
    ends = [N // 3, N // 2, N]
    for index in (pa.int16(), pa.int32(), pa.int64()):
        values = pa.array(["left", None, "right"])
        out[f"run_end<{index}, string>"] = pa.RunEndEncodedArray.from_arrays(pa.array(ends, index), values)
    return out


def _extensions() -> dict[str, pa.Array]:
    uuids = pa.array([i.to_bytes(16, "little") for i in I], pa.binary(16))
    tensor = pa.fixed_shape_tensor(pa.float32(), [2, 2])
    cells = pa.array([[i, 1, 2, 3] for i in I], pa.list_(pa.float32(), 4))
    return {
        "uuid": pa.ExtensionArray.from_storage(pa.uuid(), uuids),
        "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a":1}'] * N)),
        "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([i % 2 for i in I], pa.int8())),
        "fixed_shape_tensor": pa.ExtensionArray.from_storage(tensor, cells),
        "of a user": pa.ExtensionArray.from_storage(Celsius(), of([i / 2 for i in I], pa.float32())),
    }


TYPES: dict[str, pa.Array] = {
    "null": pa.nulls(N),
    "bool": of([i % 3 == 0 for i in I], pa.bool_()),
    **_integers(),
    **_floats(),
    **_texts(),
    **_times(),
    **_decimals(),
    **_nested(),
    **_encoded(),
    **_extensions(),
}


def bits(array: pa.Array) -> pa.Array:
    """NaN is not equal to NaN; its bits are."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    views = {pa.float16(): pa.int16(), pa.float32(): pa.int32(), pa.float64(): pa.int64()}
    return array.view(views[array.type]) if array.type in views else array


def assert_same(got: pa.Table, expected: pa.Table) -> None:
    """The same schema, with its metadata, and the same bits. How rows are cut into chunks does not matter."""
    got.validate(full=True)
    assert got.schema.equals(expected.schema, check_metadata=True), f"{got.schema}\n---\n{expected.schema}"
    assert got.num_rows == expected.num_rows
    for name, left, right in zip(expected.column_names, got.columns, expected.columns, strict=True):
        same = left.equals(right)
        if not same:
            data_type = right.type
            same = pa.chunked_array(map(bits, left.chunks), None if left.chunks else data_type).equals(
                pa.chunked_array(map(bits, right.chunks), None if right.chunks else data_type)
            )
        assert same, f"{name}: {left.type}: values differ"


def write_columns(path: Path, **columns: Any) -> str:
    """Writes a file of these columns, and its folder. Returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staffa.write_table(pa.table(columns), path)
    return str(path)
