"""Pushed filters keep the rows that Spark's own filters keep."""

from __future__ import annotations

import random

import pytest

DATA = [
    "cast(id % 7 - 3 as tinyint) as i8",
    "cast(if(id % 13 = 0, null, id * 37 % 1000) as int) as i32",
    "if(id % 17 = 0, null, (id * 7919) % 100000) as i64",
    "case when id % 10 = 0 then double('NaN') when id % 10 = 1 then -0.0D when id % 10 = 2 then 0.0D "
    "when id % 10 = 3 then -double('NaN') when id % 10 = 4 then double('Infinity') when id % 10 = 5 then null "
    "else id / 8 - 60 end as f64",
    "cast(id / 3 as float) as f32",
    "if(id % 9 = 0, null, concat(substr('abcxyz%_\\'', cast(id % 9 as int) + 1, 1), id % 20)) as s",
    "cast(id / 7 as decimal(12,3)) as d",
    "date_add(date'2020-02-20', cast(id % 50 as int)) as day",
    "timestamp_micros(id * 10000000 + 1582156800000000) as at",
    "cast(timestamp_micros(id * 10000000 + 1582156800000000) as timestamp_ntz) as ntz",
    "id % 2 = 0 as b",
    "id",
]
LITERALS = {
    "i8": ["-3Y", "0Y", "3Y"],
    "i32": ["0", "37", "500", "999", "2147483647"],
    "i64": ["0L", "7919L", "50000L", "99999L"],
    "f64": ["0.0D", "-0.0D", "double('NaN')", "double('Infinity')", "-double('Infinity')", "1.5D", "-59.25D"],
    "f32": ["0F", "cast(100.333336 as float)", "333F", "0.1D"],
    "s": ["'a'", "'a0'", "'x13'", "'%'", "'\\'8'", "'z'"],
    "d": ["0.142", "100.000", "428.429", "17.1"],
    "day": ["date'2020-02-29'", "date'2020-03-01'", "date'1000-01-01'"],
    "at": ["timestamp'2020-02-20 03:00:00'", "timestamp'2020-02-20 01:00:10.5'", "timestamp'0500-01-01'"],
    "ntz": ["timestamp_ntz'2020-02-20 03:00:00'", "timestamp_ntz'2020-02-20 01:16:40'"],
    "b": ["true", "false"],
}


@pytest.fixture(scope="module")
def folder(spark, tmp_path_factory):
    path = tmp_path_factory.mktemp("filters") / "t"
    spark.range(0, 3000, 1, 1).selectExpr(*DATA).write.format("staffa").option("rowGroupRows", "700").save(str(path))
    return str(path)


def predicate(rng: random.Random, depth: int = 0) -> str:
    if depth < 3 and rng.random() < 0.5:
        kind = rng.choice(["and", "or", "not", "and", "or"])
        if kind == "not":
            return f"not ({predicate(rng, depth + 1)})"
        return f"({predicate(rng, depth + 1)} {kind} {predicate(rng, depth + 1)})"
    column = rng.choice(list(LITERALS))
    literals = LITERALS[column]
    kind = rng.random()
    if kind < 0.1:
        return f"{column} is {rng.choice(['', 'not '])}null"
    if kind < 0.25:
        some = rng.sample(literals, rng.randint(1, min(3, len(literals))))
        if rng.random() < 0.2:
            some.append("null")
        return f"{column} {rng.choice(['', 'not '])}in ({', '.join(some)})"
    if column == "s" and kind < 0.6:
        pattern = rng.choice(["a%", "%3", "%x1%", "\\\\%%", "%\\\\_%", "b_"])
        return f"s {rng.choice(['', 'not '])}like '{pattern}'"
    op = rng.choice(["=", "<=>", "<>", "<", "<=", ">", ">="])
    return f"{column} {op} {rng.choice(literals)}"


@pytest.mark.parametrize("seed", range(12))
def test_pushed_filters_change_no_answer(spark, folder, seed):
    rng = random.Random(seed)
    read = spark.read.format("staffa").load(folder)
    cached = read.localCheckpoint()
    for _ in range(12):
        text = predicate(rng)
        pushed = sorted(row.id for row in read.where(text).select("id").collect())
        plain = sorted(row.id for row in cached.where(text).select("id").collect())
        assert pushed == plain, text


def test_a_float_column_read_as_double_is_compared_as_one(spark, tmp_path):
    spark.sql("SELECT cast(0.1 as float) f").write.format("staffa").save(str(tmp_path / "t"))
    read = spark.read.format("staffa").schema("f double").load(str(tmp_path / "t"))
    assert read.where("f > 0.1D").count() == 1
    assert read.where("f = 0.1D").count() == 0
