"""Random predicates, as SQL and for Polars, over a table of all types that engines compare."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import operator
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

ROWS = 240
WORDS = ["", "Oban", "oban", "Obanfield", "Tiree", "Tobermory", "ü漢😀", "50% of\nO_an", "a\\b", "'quoted'"]
PARTS = ["a/b", "ü c", "%20"]
ODD = [math.nan, math.inf, -math.inf, -0.0, 0.0, 1.5, -1.5, 1e-40]
UTC = dt.timezone.utc


@dataclass(frozen=True)
class Kind:
    """A type, values of it, and how the engines write one."""

    data_type: pa.DataType
    value: Callable[[random.Random], Any]
    duckdb: str
    datafusion: str

    def sql(self, value: Any, datafusion: bool) -> str:
        text = "NaN" if isinstance(value, float) and math.isnan(value) else str(value)
        if isinstance(value, dt.datetime):
            text = value.isoformat(" ")
        text = text.replace("'", "''")
        if datafusion:
            return f"arrow_cast('{text}', '{self.datafusion}')"
        return f"CAST('{text}' AS {self.duckdb})"


def _moment(rng: random.Random) -> dt.datetime:
    return dt.datetime(2024, 3, 30, 12) + dt.timedelta(minutes=30 * rng.randrange(100))


def _integer(low: int, high: int) -> Callable[[random.Random], int]:
    return lambda rng: rng.choice([low, high, rng.randrange(low, high + 1), rng.randrange(max(low, -5), 6)])


def _kinds() -> dict[str, Kind]:
    kinds = {}
    for bits, name in ((8, "TINYINT"), (16, "SMALLINT"), (32, "INTEGER"), (64, "BIGINT")):
        low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        kinds[f"i{bits}"] = Kind(pa.type_for_alias(f"int{bits}"), _integer(low, high), name, f"Int{bits}")
        kinds[f"u{bits}"] = Kind(pa.type_for_alias(f"uint{bits}"), _integer(0, high - low), f"U{name}", f"UInt{bits}")
    small = decimal.Decimal("0.01")
    return kinds | {
        "flag": Kind(pa.bool_(), lambda rng: rng.random() < 0.4, "BOOLEAN", "Boolean"),
        "f32": Kind(pa.float32(), lambda rng: rng.choice([*ODD[:7], rng.randrange(40) / 8]), "FLOAT", "Float32"),
        "f64": Kind(pa.float64(), lambda rng: rng.choice([*ODD, round(rng.gauss(0, 9), 1)]), "DOUBLE", "Float64"),
        "money": Kind(
            pa.decimal128(9, 2), lambda rng: rng.randrange(-999, 999) * small, "DECIMAL(9, 2)", "Decimal128(9, 2)"
        ),
        "text": Kind(pa.string(), lambda rng: rng.choice(WORDS), "VARCHAR", "Utf8"),
        "large": Kind(pa.large_string(), lambda rng: rng.choice(WORDS), "VARCHAR", "LargeUtf8"),
        "view": Kind(pa.string_view(), lambda rng: rng.choice(WORDS), "VARCHAR", "Utf8"),
        "part": Kind(pa.string(), lambda rng: rng.choice(PARTS), "VARCHAR", "Utf8"),
        "word": Kind(pa.dictionary(pa.int32(), pa.string()), lambda rng: rng.choice(WORDS), "VARCHAR", "Utf8"),
        "day": Kind(pa.date32(), lambda rng: dt.date(1969, 12, 25) + dt.timedelta(rng.randrange(14)), "DATE", "Date32"),
        "at_s": Kind(pa.timestamp("s"), _moment, "TIMESTAMP_S", "Timestamp(Second, None)"),
        "at_ms": Kind(pa.timestamp("ms"), _moment, "TIMESTAMP_MS", "Timestamp(Millisecond, None)"),
        "at_us": Kind(pa.timestamp("us"), _moment, "TIMESTAMP", "Timestamp(Microsecond, None)"),
        "at_ns": Kind(pa.timestamp("ns"), _moment, "TIMESTAMP_NS", "Timestamp(Nanosecond, None)"),
        "at_utc": Kind(
            pa.timestamp("us", "UTC"),
            lambda rng: _moment(rng).replace(tzinfo=UTC),
            "TIMESTAMPTZ",
            'Timestamp(Microsecond, Some("UTC"))',
        ),
        "at_zurich": Kind(
            pa.timestamp("us", "Europe/Zurich"),
            lambda rng: _moment(rng).replace(tzinfo=UTC),
            "TIMESTAMPTZ",
            'Timestamp(Microsecond, Some("Europe/Zurich"))',
        ),
    }


KINDS = _kinds()
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def table(rng: random.Random) -> pa.Table:
    """All kinds, with NULLs, and the number of each row in `i`."""
    columns: dict[str, Any] = {"i": pa.array(range(ROWS), pa.int64())}
    for name, kind in KINDS.items():
        nulls = rng.choice([0.0, 0.1, 0.1, 0.6])
        values = [None if rng.random() < nulls else kind.value(rng) for _ in range(ROWS)]
        if rng.random() < 0.3:
            values.sort(key=lambda value: (value is None, str(value)))
        columns[name] = pa.array(values, kind.data_type)
    # In order, so that it can be a partition column; NULL at the end.
    columns["part"] = pa.array([*(part for part in PARTS for _ in range(ROWS // 4)), *[None] * (ROWS // 4)])
    columns["parts"] = pa.array([None if i % 9 == 0 else {"x": i % 20, "y": str(i % 3)} for i in range(ROWS)])
    return pa.table(columns)


@dataclass(frozen=True)
class Predicate:
    """A predicate in the words of each engine."""

    duckdb: str
    datafusion: str
    polars: pl.Expr


def predicate(rng: random.Random, depth: int = 0) -> Predicate:
    """A random one: comparisons, BETWEEN, IN, LIKE, IS NULL, arithmetic, and AND, OR and NOT of these."""
    if depth < 3 and rng.random() < 0.45:
        left = predicate(rng, depth + 1)
        if rng.random() < 0.25:
            return Predicate(f"NOT ({left.duckdb})", f"NOT ({left.datafusion})", ~left.polars)
        right, word = predicate(rng, depth + 1), rng.choice(["AND", "OR"])
        joined = left.polars & right.polars if word == "AND" else left.polars | right.polars
        return Predicate(
            f"({left.duckdb}) {word} ({right.duckdb})", f"({left.datafusion}) {word} ({right.datafusion})", joined
        )
    name = rng.choice(list(KINDS))
    kind, column = KINDS[name], pl.col(name)
    shape = rng.random()
    if shape < 0.1:
        return Predicate(f"{name} IS NULL", f"{name} IS NULL", column.is_null())
    if shape < 0.15:
        return Predicate(f"{name} IS NOT NULL", f"{name} IS NOT NULL", column.is_not_null())
    if shape < 0.2:
        found = rng.randrange(20)
        sql = (f"parts.x > {found}", f"parts['x'] > {found}")
        return Predicate(*sql, pl.col("parts").struct.field("x") > found)
    text = pa.types.is_string(kind.data_type) or pa.types.is_large_string(kind.data_type)
    if text and shape < 0.5:
        return _like(rng, name)
    if shape < 0.3 and pa.types.is_integer(kind.data_type):
        sql = f"{name} % 3 = 1"
        return Predicate(sql, sql, column % 3 == 1)
    first, second = kind.value(rng), kind.value(rng)
    dtype = pl.Series(pa.array([], kind.data_type)).dtype

    def literal(value: Any) -> pl.Expr:
        return pl.lit(value).cast(dtype)

    def written(text: str, *values: Any) -> tuple[str, str]:
        duckdb, datafusion = ([kind.sql(value, engine) for value in values] for engine in (False, True))
        return text.format(name, *duckdb), text.format(name, *datafusion)

    if shape < 0.6:
        return Predicate(
            *written("{0} BETWEEN {1} AND {2}", first, second), column.is_between(literal(first), literal(second))
        )
    if shape < 0.75:
        values = [kind.value(rng) for _ in range(rng.randrange(1, 5))]
        values = [0.5 if isinstance(value, float) and math.isnan(value) else value for value in values]
        either = column == literal(values[0])
        for value in values[1:]:
            either = either | (column == literal(value))
        places = ", ".join(f"{{{i + 1}}}" for i in range(len(values)))
        listed = pa.types.is_integer(kind.data_type) or pa.types.is_date(kind.data_type) or text
        chosen = column.is_in(pl.Series(values, dtype=dtype)) if listed else either
        return Predicate(*written(f"{{0}} IN ({places})", *values), chosen)
    sign = rng.choice(list(_OPERATORS))
    return Predicate(*written(f"{{0}} {sign} {{1}}", first), _OPERATORS[sign](column, literal(first)))


def _like(rng: random.Random, name: str) -> Predicate:
    word = rng.choice(["Oban", "T", "o", "%", "_", "ü", "\\"])
    column = pl.col(name)
    quoted = word.replace("'", "''")
    shape = rng.randrange(3)
    if shape == 0:
        sql = f"starts_with({name}, '{quoted}')"
        return Predicate(sql, sql, column.str.starts_with(word))
    if shape == 1:
        duckdb = f"contains({name}, '{quoted}')"
        return Predicate(duckdb, f"strpos({name}, '{quoted}') > 0", column.str.contains(word, literal=True))
    pattern = rng.choice(["O%", "%n", "%o%", "T_ree", "%", ""])
    sql = f"{name} LIKE '{pattern}'"
    regex = "(?s)^" + pattern.replace("%", ".*").replace("_", ".") + "$"
    return Predicate(sql, sql, column.str.contains(regex))
