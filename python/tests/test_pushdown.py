"""Expressions that the library evaluates keep what pyarrow keeps, for columns of every type."""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import operator
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import staffa
from staffa._pushdown import translate

F = pc.field
NOON = dt.datetime(2024, 2, 29, 12)
COMPARED = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def _utc(moment: dt.datetime) -> dt.datetime:
    return moment.replace(tzinfo=dt.timezone.utc)


def _moments(unit: str) -> list[pa.Scalar]:
    """Around noon in a unit, and noon in the others."""
    ticks = pa.scalar(NOON, pa.timestamp(unit)).value
    own = [pa.scalar(ticks + step, pa.timestamp(unit)) for step in (-1, 0, 1)]
    return [*own, *(pa.scalar(NOON, pa.timestamp(other)) for other in ("s", "ms", "us", "ns"))]


TEXTS = ["", "Oban", "Obanfield", "ü漢😀", "it's\na\\b"]
TIMES = [dt.time(), dt.time(12, 30, 5), dt.time(23, 59, 59)]
DAYS = [dt.date(1969, 12, 31), dt.date(2024, 2, 29), dt.date(9999, 12, 31)]
MONEY = [Decimal("-1.50"), Decimal("0.00"), Decimal("9.99")]
#: By name: the type, its values, and literals to compare them with.
CASES: dict[str, tuple[pa.DataType, list[Any], list[Any]]] = {
    "bool": (pa.bool_(), [True, False], [True, False]),
    **{
        f"{sign}int{bits}": (
            pa.type_for_alias(f"{sign}int{bits}"),
            [low := -(2 ** (bits - 1)) * (not sign), 3, low + 2**bits - 1],
            [low, 0, pa.scalar(3, pa.uint8()), pa.scalar(low + 2**bits - 1, pa.type_for_alias(f"{sign}int{bits}"))]
            + ([2**bits, -7] if bits < 64 else []),
        )
        for sign, bits in itertools.product(("", "u"), (8, 16, 32, 64))
    },
    "float": (pa.float32(), [-0.0, 0.0, 1.5, float("nan"), float("-inf")], [0.0, -0.0, 1.5, 2, float("inf")]),
    "double": (pa.float64(), [-0.0, 0.0, 0.1, float("nan"), float("-inf")], [0.0, -0.0, 0.1, 2, float("inf")]),
    "decimal128": (pa.decimal128(9, 2), MONEY, [*MONEY, Decimal("9.991")]),
    "decimal256": (pa.decimal256(40, 2), MONEY, [*MONEY, Decimal("9.991")]),
    "string": (pa.string(), TEXTS, [*TEXTS, "P", pa.scalar("Oban", pa.large_string())]),
    "large_string": (pa.large_string(), TEXTS, [*TEXTS, "P", pa.scalar("Oban", pa.large_string())]),
    "string_view": (pa.string_view(), TEXTS, [*TEXTS, "P"]),
    "binary": (pa.binary(), [b"", b"ab", b"\xff"], [b"", b"ab", b"b"]),
    "large_binary": (pa.large_binary(), [b"", b"ab", b"\xff"], [b"", b"ab", b"b"]),
    "fixed_size_binary": (pa.binary(2), [b"aa", b"ab", b"\xff\0"], [b"", b"ab", b"a", b"abc", b"b"]),
    "date32": (pa.date32(), DAYS, [*DAYS, dt.date(2000, 1, 1)]),
    "date64": (pa.date64(), DAYS, [*DAYS, dt.date(2000, 1, 1)]),
    "time32": (pa.time32("s"), TIMES, [*TIMES, dt.time(12, 30, 5, 1), pa.scalar(1, pa.time32("ms"))]),
    "time64": (pa.time64("ns"), TIMES, [*TIMES, dt.time(12, 30, 5, 1), pa.scalar(1, pa.time64("ns"))]),
    "duration": (pa.duration("ms"), [-5, 0, 5000], [dt.timedelta(milliseconds=-5), dt.timedelta(seconds=5)]),
    **{
        f"timestamp_{unit}": (
            pa.timestamp(unit),
            _moments(unit)[:3],
            [*_moments(unit), dt.date(2024, 2, 29), dt.date(1969, 1, 1)],
        )
        for unit in ("s", "ms", "us", "ns")
    },
    "utc": (pa.timestamp("us", "UTC"), [_utc(NOON), _utc(NOON + dt.timedelta(1))], [_utc(NOON)]),
    "zurich": (pa.timestamp("us", "Europe/Zurich"), [_utc(NOON), _utc(NOON + dt.timedelta(1))], [_utc(NOON)]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), TEXTS, [*TEXTS, "P"]),
}


def _conditions(data_type: pa.DataType, literals: list[Any]) -> list[pc.Expression]:
    column = F("c")
    compared = [compare(column, literal) for compare, literal in itertools.product(COMPARED, literals)]
    turned = [pc.scalar(literals[0]) < column]
    conditions = [*compared, *turned, column.is_null(), column.is_valid(), ~(column == literals[0])]
    if not pa.types.is_floating(data_type):
        conditions += [column.isin(literals[:2]), ~column.isin(literals[:1])]
    return conditions


def _kept(table: pa.Table, condition: pc.Expression) -> list[int] | None:
    """The rows that pyarrow keeps, or None if it cannot compare the two."""
    views = {pa.string_view(): pa.string()}
    plain = table.cast(pa.schema([field.with_type(views.get(field.type, field.type)) for field in table.schema]))
    try:
        return plain.filter(condition)["i"].to_pylist()  # type: ignore[no-any-return]
    except pa.ArrowException:
        return None


@pytest.mark.parametrize("name", CASES)
def test_the_library_keeps_what_pyarrow_keeps(name: str, path: Path) -> None:
    data_type, values, literals = CASES[name]
    repeated = [*values, None] * 3
    table = pa.table({"c": pa.array(repeated, data_type), "i": range(len(repeated))})
    staffa.write_table(table, path)
    file = staffa.open(path)
    schema = file.to_table().schema if name != "string_view" else pa.schema({"c": pa.string()})
    pushed = 0
    for condition in _conditions(data_type, literals):
        expected = _kept(table, condition)
        if expected is None:
            continue
        pushed += translate(condition, schema, {"c"})[1]
        assert file.to_table(filter=condition)["i"].to_pylist() == expected, condition
        assert staffa.dataset(path).to_table(filter=condition)["i"].to_pylist() == expected, condition
    assert pushed >= len(COMPARED)


UNKNOWN: dict[str, Callable[[], pc.Expression]] = {
    "a number that a float does not have": lambda: F("f") == 0.1,
    "a number as a double": lambda: F("n") == 2.5,
    "a list with NULL": lambda: F("n").isin([1, None]),
    "a list of floats": lambda: F("f").isin([1.0]),
    "a long list": lambda: F("n").isin(list(range(6000))),
    "NaN": lambda: F("f") == float("nan"),
    "NaN as NULL": lambda: F("f").is_null(nan_is_null=True),
    "two columns": lambda: F("n") == F("m"),
    "arithmetic": lambda: F("n") + 1 == 2,
    "any case": lambda: pc.starts_with(F("s"), "o", ignore_case=True),
    "an escape": lambda: pc.match_like(F("s"), "50\\%"),
    "bytes for text": lambda: F("s") == b"Oban",
    "bytes that are no text": lambda: F("b") == b"\xff",
    "a time behind the day": lambda: F("c") < pa.array([86_400], pa.int32()).view(pa.time32("s"))[0],
    "a pattern that is no text": lambda: pc.starts_with(F("s"), b"\xff"),
    "a list of another type": lambda: F("n").isin(pa.array([], pa.string())),
    "many within each other": lambda: functools.reduce(lambda part, _: ~part, range(300), F("t")),
    "a position": lambda: F(0) == 1,
    "a field of a struct": lambda: F("p", "x") == 1,
    "a column twice": lambda: F("twice") == 1,
    "a constant": lambda: pc.scalar(True),
    "and without NULL": lambda: pc.and_(F("t"), F("t")),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_pyarrow_evaluates(name: str) -> None:
    fields = [("n", pa.int64()), ("m", pa.int64()), ("f", pa.float32()), ("s", pa.string()), ("b", pa.binary())]
    fields += [("p", pa.struct([("x", pa.int64())])), ("t", pa.bool_()), ("c", pa.time32("s"))]
    fields += [("twice", pa.int64()), ("twice", pa.int64())]
    schema = pa.schema(fields)
    assert translate(UNKNOWN[name](), schema, set(schema.names)) == (None, False)
    known = (F("n") == 1) & UNKNOWN[name]()
    assert translate(known, schema, set(schema.names)) == (("==", ("n", 1)), False) or name == "a position"


@pytest.mark.parametrize("data_type", [pa.null(), pa.int64(), pa.uint8()])
def test_nothing_is_compared_with_null(data_type: pa.DataType, path: Path) -> None:
    table = pa.table({"n": [1, None]})
    staffa.write_table(table, path)
    null = F("n") == pa.scalar(None, data_type)
    for condition in (null, ~null, null | (F("n") == 1), ~(null & (F("n") == 1))):
        assert translate(condition, table.schema, {"n"})[1]
        assert staffa.open(path).to_table(filter=condition).equals(table.filter(condition))


@pytest.mark.parametrize("parts", [100, 3000])
def test_conditions_within_each_other(parts: int, path: Path) -> None:
    """Alternatives in a row are no deeper than one; each negation is."""
    table = pa.table({"n": range(9000)})
    staffa.write_table(table, path)
    equal, without = F("n") == 0, F("n") != 0
    for part in range(1, parts):
        equal |= F("n") == part
        without = ~(without | (F("n") == part)) if part < 300 else without & (F("n") != part)
    assert translate(equal, table.schema, {"n"}) == (("or", [("==", ("n", part)) for part in range(parts)]), True)
    assert translate(without, table.schema, {"n"})[1] == (parts == 100)
    for condition in (equal, without):
        assert staffa.open(path).to_table(filter=condition).equals(table.filter(condition))


def test_alternatives(path: Path) -> None:
    table = pa.table(
        {
            "n": [1, 2, None, 4, 5],
            "s": ["a", None, "c", "d", "e"],
            "f": [0.0, -0.0, None, 1.5, 2.5],
            "b": [True, None, False, True, None],
            "d": pa.array([Decimal("1.50"), None, Decimal("2.00"), Decimal("3.25"), None]),
        }
    )
    staffa.write_table(table, path)
    tests = [
        F("n") == 1,
        F("n") == 4,
        F("n") == pa.scalar(None, pa.int64()),
        F("s") == "c",
        F("s") == "d",
        F("f") == 0.0,
        F("f") == 1.5,
        F("b") == True,  # noqa: E712
        F("b") == False,  # noqa: E712
        F("d") == Decimal("2.00"),
        F("d") == Decimal("3.25"),
        F("n") > 4,
    ]
    random = np.random.default_rng(5)
    for _ in range(60):
        chosen = [tests[at] for at in random.choice(len(tests), random.integers(2, 9))]
        condition = functools.reduce(operator.or_, chosen)
        for each in (condition, ~condition, condition & ~chosen[0]):
            assert staffa.open(path).to_table(filter=each).equals(table.filter(each)), str(each)


@pytest.mark.parametrize("count", [1, 8, 9, 5000])
def test_lists(count: int, path: Path) -> None:
    table = pa.table({"n": [*range(9000), None], "s": [*(f"word {i % 70}" for i in range(9000)), None]})
    numbers, words = list(range(0, 3 * count, 3)), [f"word {i}" for i in range(7, 7 + count)]
    words_too = pa.array(table["s"].to_pylist()).dictionary_encode()
    wide = table["n"].cast(pa.decimal128(38, 2))
    table = table.append_column("d", words_too).append_column("wide", wide)
    staffa.write_table(table, path, row_group_rows=2048)
    file = staffa.open(path)
    prices = [Decimal(number) for number in numbers]
    for column, values in (("n", numbers), ("s", words), ("d", words), ("wide", prices)):
        listed, condition = (column, "in", values), F(column).isin(pa.array(values))
        expected = table.filter(condition)
        assert expected.num_rows
        for filter in ([listed], condition, ~~condition):
            assert translate(condition, table.schema, {column})[1]
            assert file.to_table(filter=filter).equals(expected)
        assert file.to_table(filter=[(column, "not in", values)]).equals(table.filter(~condition))


def test_names_are_kept_apart_from_steps(path: Path) -> None:
    """Names with the marks of every text."""
    names = ["a'\nfield_ref: 'b", "end", "'", "", "call: 'equal'"]
    staffa.write_table(pa.table({name: [i, 7] for i, name in enumerate(names)}), path)
    file = staffa.open(path)
    for i, name in enumerate(names):
        condition = (F(name) == i) & ~F(name).isin([7])
        assert translate(condition, file.to_table().schema, set(names))[1], name
        assert file.to_table(filter=condition).num_rows == 1, name
