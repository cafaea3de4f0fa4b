"""Columns, filters, limits and takes against pyarrow, over random tables and random questions."""

from __future__ import annotations

import datetime as dt
import decimal
import random
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import staffa
from tables import TYPES, assert_same

WORDS = ["", "Oban", "Iona", "Mull", "Treshnish", "ü漢😀", "Fionnphort ferry terminal", "50% of\nO_an"]


def random_column(rng: random.Random, rows: int) -> pa.Array:
    start, step = rng.randrange(-1000, 1000), rng.choice([0, 1, 1, 7])
    kind = rng.randrange(12)
    if kind == 0:
        values, data_type = [start + step * i for i in range(rows)], pa.int64()
    elif kind == 1:
        values, data_type = [rng.randrange(50) for _ in range(rows)], rng.choice([pa.int8(), pa.uint16(), pa.uint64()])
    elif kind == 2:
        values, data_type = [rng.randrange(-(2**31), 2**31) for _ in range(rows)], pa.int32()
    elif kind == 3:
        values, data_type = [round(rng.gauss(0, 100), 2) for _ in range(rows)], pa.float64()
    elif kind == 4:
        odd = [float("nan"), -float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1.0, -1.0]
        values, data_type = [rng.choice(odd) for _ in range(rows)], rng.choice([pa.float64(), pa.float32()])
    elif kind == 5:
        texts = [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
        values, data_type = [rng.choice(WORDS) for _ in range(rows)], rng.choice(texts)
    elif kind == 6:
        values, data_type = [f"user-{rng.randrange(10_000):05}" for _ in range(rows)], pa.string()
    elif kind == 7:
        values, data_type = [rng.random() < 0.3 for _ in range(rows)], pa.bool_()
    elif kind == 8:
        values, data_type = [dt.date(2026, 1, 1) + dt.timedelta(i // 10) for i in range(rows)], pa.date32()
    elif kind == 9:
        values, data_type = [decimal.Decimal(rng.randrange(-999, 999)) / 100 for _ in range(rows)], pa.decimal128(9, 2)
    elif kind == 10:
        moment = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
        values = [moment + dt.timedelta(seconds=rng.randrange(1000)) for _ in range(rows)]
        data_type = pa.timestamp("us", "UTC")
    else:
        values = [[rng.randrange(5) for _ in range(rng.randrange(4))] for _ in range(rows)]
        data_type = pa.list_(pa.int64())
    if rng.random() < 0.5:
        share = rng.choice([0.01, 0.3, 1.0])
        values = [None if rng.random() < share else value for value in values]
    return pa.array(values, data_type)


def random_table(rng: random.Random) -> pa.Table:
    rows = rng.choice([0, 1, 5, 1000, 1024, 1025, 5000])
    # Names that are parts of each other: a filter on one must not be confused by another.
    names = rng.sample(["a", "ab", "a b", "b", "price", "rice", "x.y", "ü"], rng.randrange(1, 7))
    table = pa.table({name: random_column(rng, rows) for name in names})
    if rows > 10 and rng.random() < 0.3:
        cut = rng.randrange(rows)
        table = pa.concat_tables([table.slice(cut), table.slice(0, cut)])
    return table


def comparable(data_type: pa.DataType) -> bool:
    return not pa.types.is_list(data_type) and not pa.types.is_dictionary(data_type)


def random_pattern(rng: random.Random, part: str) -> str:
    return "".join(rng.choice([part, "%", "%", "_", "o", "\\%", "\n"]) for _ in range(rng.randrange(4)))


def random_filter(rng: random.Random, table: pa.Table, depth: int = 0) -> pc.Expression:
    if depth < 2 and rng.random() < 0.5:
        left = random_filter(rng, table, depth + 1)
        kind = rng.randrange(3)
        if kind == 0:
            return ~left
        right = random_filter(rng, table, depth + 1)
        return left & right if kind == 1 else left | right
    name = rng.choice(table.column_names)
    column, field = table[name], pc.field(name)
    if rng.random() < 0.2:
        field = pc.field(table.column_names.index(name))
    if not comparable(column.type) or rng.random() < 0.15:
        return rng.choice([field.is_null(), field.is_valid()])
    present = column.drop_null()
    if not len(present) and pa.types.is_large_string(column.type):
        # pyarrow (26) crashes where it compares text with a NULL of large text.
        return field.is_null()
    literal = rng.choice(present) if len(present) else pa.scalar(None, column.type)
    if pa.types.is_floating(column.type) and rng.random() < 0.2:
        return field.is_nan() if rng.random() < 0.5 else field * 2 > literal
    if pa.types.is_boolean(column.type) and rng.random() < 0.5:
        return field
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        word = literal.as_py() or rng.choice(WORDS)
        start, end = sorted(rng.choices(range(len(word) + 1), k=2))
        part = word[start:end]
        match = rng.randrange(6)
        ignore_case = rng.random() < 0.2
        if match == 0:
            return pc.starts_with(field, word[:end], ignore_case=ignore_case)
        if match == 1:
            return pc.match_substring(field, part, ignore_case=ignore_case)
        if match == 2:
            return pc.ends_with(field, rng.choice([word[start:], "%", "0_", "\\"]), ignore_case=ignore_case)
        if match == 3:
            return pc.match_like(field, random_pattern(rng, part), ignore_case=ignore_case)
    kind = rng.randrange(7)
    if kind == 6:
        return field.isin(pa.array([literal.as_py() for _ in range(2)], column.type))
    operators: list[Callable[[Any, Any], Any]] = [
        lambda x, y: x == y,
        lambda x, y: x != y,
        lambda x, y: x < y,
        lambda x, y: x <= y,
        lambda x, y: x > y,
        lambda x, y: x >= y,
    ]
    return operators[kind](field, literal)


@pytest.mark.parametrize("seed", range(60))
def test_against_pyarrow(seed: int, stored: Callable[..., staffa.File]) -> None:
    rng = random.Random(seed)
    table = random_table(rng)
    profile = rng.choice(["fast", "balanced", "small"])
    file = stored(table, profile=profile, row_group_rows=rng.choice([None, 1024, 2048]))
    for _ in range(8):
        columns = rng.choice([None, rng.sample(table.column_names, rng.randrange(len(table.column_names) + 1))])
        limit = rng.choice([None, None, 0, 1, 100, 10**6])
        expression = rng.choice([None, random_filter(rng, table)])
        expected = table if expression is None else table.filter(expression)
        expected = expected.slice(0, limit).select(table.column_names if columns is None else columns)
        question = f"columns={columns} filter={expression} limit={limit}"
        try:
            got = file.to_table(columns, expression, limit)
            assert_same(got, expected)
            reader = file.scan(columns, expression, rng.choice([None, 1, 700]) if len(table) < 100 else 700, limit)
            batches = list(reader)
            assert all(batch.num_rows <= 700 for batch in batches)
            assert_same(pa.Table.from_batches(batches, reader.schema), expected)
        except Exception as error:
            raise AssertionError(question) from error
        if columns != [] and not any(map(pa.types.is_dictionary, table.schema.types)):
            views = file.to_table(columns, expression, limit, string_views=True)
            assert_same(views.cast(expected.schema), expected)


def expected_aggregates(column: pa.ChunkedArray) -> dict[str, Any]:
    """What pyarrow makes of a column, as far as it means the same."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    out = {"rows": len(column), "nulls": column.null_count, "count": len(column) - column.null_count}
    floating = pa.types.is_floating(column.type)
    if floating and pc.any(pc.is_nan(column)).as_py():
        return out
    smallest = pc.min_max(column)
    # pyarrow does not tell -0.0 from 0.0.
    if not (floating and 0 in (smallest["min"].as_py(), smallest["max"].as_py())):
        out |= {"min": smallest["min"].as_py(), "max": smallest["max"].as_py()}
        values = column.drop_null().to_pylist()
        out["sorted"] = all(a <= b for a, b in pairwise(values))
    if not floating:
        out["distinct"] = pc.count_distinct(column).as_py()
        if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type) or pa.types.is_decimal(column.type):
            out["sum"] = pc.sum(column).as_py()
    return out


@pytest.mark.parametrize("seed", range(60))
def test_aggregates_against_pyarrow(seed: int, stored: Callable[..., staffa.File]) -> None:
    rng = random.Random(2000 + seed)
    table = random_table(rng)
    file = stored(table, row_group_rows=rng.choice([None, 1024, 2048]))
    flat = [name for name in table.column_names if not pa.types.is_list(table[name].type)]
    for expression in (None, random_filter(rng, table), random_filter(rng, table)):
        kept = table if expression is None else table.filter(expression)
        expected = {name: expected_aggregates(kept[name]) for name in flat}
        found = file.aggregate({name: list(wanted) for name, wanted in expected.items()}, expression)
        plain = {name: {which: value.as_py() for which, value in of.items()} for name, of in found.items()}
        assert plain == expected, f"filter={expression}"


def test_aggregates_that_are_refused(stored: Callable[..., staffa.File]) -> None:
    file = stored(pa.table({"x": [2**62, 2**62], "s": ["a", "b"], "l": [[1], []]}))
    assert file.aggregate({"x": ["min", "max"]})["x"]["max"].type == pa.int64()
    assert file.aggregate({"x": "mean"})["x"]["mean"].as_py() == 2**62
    for wanted, message in [
        ({"x": "sum"}, 'the sum of column "x" does not fit 64 bits'),
        ({"x": "median"}, 'no aggregate is called "median"'),
        ({"s": "sum"}, 'column "s" of type Utf8 has no sum'),
        ({"l": "count"}, "it is nested"),
        ({"y": "count"}, "y"),
        ({"x": 5}, "found 'x': 5"),
        (["x"], "found list"),
    ]:
        with pytest.raises(staffa.InvalidArgumentError, match=re.escape(message)):
            file.aggregate(wanted)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(40))
def test_take_against_pyarrow(seed: int, stored: Callable[..., staffa.File]) -> None:
    rng = random.Random(1000 + seed)
    table = random_table(rng)
    file = stored(table, row_group_rows=rng.choice([None, 1024]))
    for _ in range(6):
        count = rng.choice([0, 1, 3, 200]) if len(table) else 0
        indices = [rng.randrange(len(table)) for _ in range(count)]
        if rng.random() < 0.3:
            indices.sort()
        columns = rng.choice([None, rng.sample(table.column_names, rng.randrange(1, len(table.column_names) + 1))])
        expected = table.select(table.column_names if columns is None else columns).take(pa.array(indices, pa.int64()))
        forms = [indices, np.array(indices, np.int64), np.array(indices, np.uint16), pa.array(indices, pa.int32())]
        forms += [tuple(indices), pa.chunked_array([indices, indices[:0]], pa.uint64())]
        assert_same(file.take(rng.choice(forms), columns), expected)


@pytest.mark.parametrize("name", TYPES)
def test_every_type_is_filtered_and_taken(name: str, stored: Callable[..., staffa.File]) -> None:
    values = TYPES[name]
    rows = [i for i in range(len(values)) if i % 5 == 2]
    table = pa.table({"c": values, "keep": [i % 5 == 2 for i in range(len(values))]})
    expected = pa.table({"c": pa.chunked_array([values.slice(i, 1) for i in rows])})
    file = stored(table)
    assert_same(file.to_table(["c"], pc.field("keep")), expected)
    assert_same(file.take(rows, ["c"]), expected)
    assert file.to_table(["keep"], pc.field("c").is_null()).num_rows == sum(v is None for v in values.to_pylist())


def test_views_and_run_ends_can_be_compared(stored: Callable[..., staffa.File]) -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 4], pa.int32()), pa.array(["left", "right"]))
    views = pa.array(["a", "b", None, "a value that is not inlined"], pa.string_view())
    parts = pa.array([{"x": 1}, {"x": 2}, None, {"x": 4}])
    file = stored(pa.table({"r": runs, "v": views, "s": parts, "i": [0, 1, 2, 3]}))

    def kept(expression: pc.Expression) -> list[int]:
        return file.to_table(["i"], expression)["i"].to_pylist()

    assert kept(pc.field("r") == "right") == [2, 3]
    assert kept(pc.field("v") == "b") == [1]
    assert kept(pc.starts_with(pc.field("v"), "a")) == [0, 3]
    assert kept(pc.field("s", "x") > 1) == [1, 3]
    assert kept(pc.field(3) > 1) == [2, 3]
    assert kept(pc.scalar(True)) == [0, 1, 2, 3]
    assert kept(pc.scalar(False)) == []
    assert file.to_table(filter=pc.field("i") == 1).to_pylist() == [{"r": "left", "v": "b", "s": {"x": 2}, "i": 1}]


def test_long_lists(stored: Callable[..., staffa.File]) -> None:
    table = pa.table({"a": range(100_000), "s": [str(i) for i in range(100_000)]})
    file = stored(table)
    for expression in [pc.field("a").isin(range(0, 100_000, 3)), pc.field("s").isin([str(i) for i in range(5000)])]:
        assert_same(file.to_table(filter=expression), table.filter(expression))


def test_filters_with_the_same_text_are_distinguished(stored: Callable[..., staffa.File]) -> None:
    """What one was found to mean is remembered, for expressions and columns that are the same in all."""
    values = [None, -1.5, -1.0, 0.0, 1.0, 3.0]
    types = [pa.float64(), pa.int8(), pa.int64(), pa.string_view(), pa.string(), pa.large_string()]
    tables = []
    for data_type in types:
        texts = pa.types.is_string_view(data_type) or not pa.types.is_primitive(data_type)
        rows = ["1" if value == 1 else None if value is None else str(value) for value in values] if texts else values
        rows = [None if row == -1.5 and pa.types.is_integer(data_type) else row for row in rows]
        tables.append(pa.table({"a": pa.array(rows, data_type)}))
    one = pa.scalar(1)
    literals = [
        one,
        one.cast(pa.int8()),
        one.cast(pa.uint64()),
        one.cast(pa.float32()),
        pa.scalar(True),
        pa.scalar("1"),
    ]
    for _ in range(2):
        for table in tables:
            file = stored(table)
            plain = table.cast(pa.schema({"a": pa.string()})) if table.schema.types == [pa.string_view()] else table
            for literal in literals:
                question = pc.field("a") == literal
                try:
                    expected = plain.filter(question)["a"].to_pylist()
                except pa.ArrowException:
                    with pytest.raises(staffa.errors.InvalidArgumentError):
                        file.to_table(filter=question)
                else:
                    assert file.to_table(filter=question)["a"].to_pylist() == expected


def test_a_filter_without_columns(stored: Callable[..., staffa.File]) -> None:
    file = stored(pa.table({"a": [1, 2, 3]}))
    assert file.to_table([], pc.scalar(True)).num_rows == 3
    assert file.to_table([], pc.field("a") > 1).num_rows == 2


def damage_last_block(file: staffa.File, path: Path) -> staffa.File:
    """The last block of the first column."""
    block = file.inspect()["columns"][0]["chunks"][-1]["blocks"][-1]
    with path.open("r+b") as damaged:
        damaged.seek(block["offset"] + block["bytes"] // 2)
        damaged.write(b"damaged!")
    return staffa.open(path)


def test_blocks_that_cannot_match_are_not_read(stored: Callable[..., staffa.File], path: Path) -> None:
    table = pa.table({"a": np.arange(300_000) ** 2, "x": np.arange(300_000) / 7})
    file = damage_last_block(stored(table), path)
    for expression in [
        pc.field("a") < 100,
        (pc.field("a") < 100) & (pc.field("x") * 2 < 1),
        pc.field("a").isin([4, 9]) | (pc.field("a") == 1),
        ~(pc.field("a") >= 50),
    ]:
        assert_same(file.to_table(filter=expression), table.filter(expression))
        assert_same(pa.table(file.scan(["x"], expression)), table.filter(expression).select(["x"]))
    with pytest.raises(staffa.CorruptError):
        file.to_table(filter=pc.field("a") > 100)


def test_no_more_is_read_than_the_limit_needs(stored: Callable[..., staffa.File], path: Path) -> None:
    """With the last block damaged, the first rows are still there."""
    rng = np.random.default_rng(5)
    table = pa.table({"a": rng.integers(0, 2**60, 300_000)})
    file = damage_last_block(stored(table, row_group_rows=65_536), path)
    assert_same(file.to_table(limit=10), table.slice(0, 10))
    assert file.to_table(filter=pc.field("a") >= 0, limit=10).num_rows == 10
    assert_same(file.take([5]), table.take([5]))
    with pytest.raises(staffa.CorruptError, match='"a"'):
        file.to_table()
    with pytest.raises(staffa.CorruptError, match='"a"'):
        for _ in file.scan():
            pass
    with pytest.raises(staffa.CorruptError, match='"a"') as caught:
        file.verify()
    assert (caught.value.column, caught.value.row_group) == ("a", file.num_row_groups - 1)
    with pytest.raises(Exception, match='"a"'):  # another program's stream: its own kind of error, our message
        pa.table(file)
