"""Every type that Spark has, beside Spark's own Parquet."""

from __future__ import annotations

import pytest

TYPES = {
    "boolean": "id % 3 = 0",
    "tinyint": "cast(id % 256 - 128 as tinyint)",
    "smallint": "cast(id * 7 - 30000 as smallint)",
    "int": "cast(id * 100003 - 2147483 as int)",
    "bigint": "id * 9223372036854 - 77",
    "float": "cast(id / 7 as float)",
    "double": "if(id % 11 = 0, double('NaN'), id / 7)",
    "string": "concat('Städte ', id % 50)",
    "binary": "cast(concat('b', id) as binary)",
    "date": "date_add(date'1500-01-01', cast(id * 300 as int))",
    "timestamp": "timestamp_micros(id * 1000003 - 62135596800000)",
    "timestamp_ntz": "cast(timestamp_micros(id * 1000003) as timestamp_ntz)",
    "decimal(9,2)": "cast((id - 1000) / 3 as decimal(9,2))",
    "decimal(18,4)": "cast(id * 1234567 as decimal(18,4))",
    "decimal(38,10)": "cast(id * -1234567890123456 as decimal(38,10))",
    "interval year to month": "make_ym_interval(cast(id as int), 3)",
    "interval day to second": "make_dt_interval(cast(id as int), 3, 4, 5.123456)",
    "array<int>": "transform(sequence(0, cast(id % 5 as int)), x -> if(x = 2, null, x))",
    "map<string,double>": "map(concat('k', id), id / 2, 'z', null)",
    "struct<x:int,y:string>": "named_struct('x', cast(id as int), 'y', if(id % 4 = 0, null, 'y'))",
    "array<struct<x:bigint,m:map<string,array<int>>>>": (
        "array(named_struct('x', id, 'm', map('a', array(1, null))), null)"
    ),
    "variant": "parse_json(concat('{\"a\":', id, '}'))",
}


def frame(spark, types: dict[str, str]):
    """A column of each type with NULLs, and one without."""
    columns = [
        column
        for i, expression in enumerate(types.values())
        for column in (f"if(id % 10 = 9, null, {expression}) as v{i}", f"{expression} as w{i}")
    ]
    return spark.range(0, 1000, 1, 2).selectExpr("id", *columns)


def same(a, b) -> None:
    """Equal types, and equal values column by column."""
    assert [f.dataType.simpleString() for f in a.schema.fields] == [f.dataType.simpleString() for f in b.schema.fields]
    texts = [f"cast({name} as string) {name}" for name in a.columns]
    ours, theirs = (frame.orderBy("id").selectExpr(*texts).toPandas() for frame in (a, b))
    for name in a.columns:
        assert ours[name].tolist() == theirs[name].tolist(), name


def test_types_come_back_as_from_parquet(spark, tmp_path):
    data = frame(spark, TYPES)
    data.write.format("staffa").save(str(tmp_path / "staffa"))
    data.write.format("parquet").save(str(tmp_path / "parquet"))
    own = spark.read.format("staffa").load(str(tmp_path / "staffa"))
    assert [own.schema[f"v{i}"].dataType.simpleString() for i in range(len(TYPES))] == list(TYPES)
    same(own, spark.read.parquet(str(tmp_path / "parquet")))
    # By rows, too, not in batches alone.
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    try:
        same(spark.read.format("staffa").load(str(tmp_path / "staffa")), data)
    finally:
        spark.conf.unset("spark.sql.codegen.wholeStage")


# Parquet has none of these: the frame itself is the oracle.
OTHERS = {
    "void": "null",
    "time(6)": "make_time(12, cast(id % 60 as int), 3.5)",
    "char(5)": "cast('ab' as char(5))",
    "interval year": "cast(make_ym_interval(cast(id as int), 0) as interval year)",
}


def test_types_that_parquet_lacks_come_back(spark, tmp_path):
    spark.conf.set("spark.sql.timeType.enabled", "true")
    data = frame(spark, OTHERS)
    data.write.format("staffa").save(str(tmp_path / "staffa"))
    same(spark.read.format("staffa").load(str(tmp_path / "staffa")), data)


def test_no_rows_and_no_columns(spark, tmp_path):
    spark.range(0).selectExpr("id", "cast(id as string) s").write.format("staffa").save(str(tmp_path / "none"))
    none = spark.read.format("staffa").load(str(tmp_path / "none"))
    assert none.columns == ["id", "s"] and none.count() == 0
    spark.range(100_000).write.format("staffa").save(str(tmp_path / "some"))
    assert spark.read.format("staffa").load(str(tmp_path / "some")).count() == 100_000


def test_a_type_that_cannot_be_written_is_refused_by_column(spark, tmp_path):
    shape = spark.range(3).selectExpr(
        "id", "st_geomfromwkb(unhex('0101000000000000000000F03F0000000000000040')) as place"
    )
    with pytest.raises(Exception, match="Staffa datasource doesn't support the column `place`"):
        shape.write.format("staffa").save(str(tmp_path / "t"))


def test_files_of_others_are_widened_or_refused_by_column(spark, tmp_path):
    """Types that Arrow has and Spark has not, by a file that another program wrote."""
    staffa = pytest.importorskip("staffa")
    if not hasattr(staffa, "write"):
        pytest.skip("the Python package staffa is not built")
    import pyarrow as pa

    table = pa.table(
        {
            "u8": pa.array([0, 255, None], pa.uint8()),
            "u64": pa.array([0, 2**64 - 1, None], pa.uint64()),
            "half": pa.array([0.5, -2.0, None], pa.float16()),
            "word": pa.array(["a", "b", "a"]).dictionary_encode(),
            "view": pa.array(["a" * 30, None, "b"], pa.string_view()),
            "large": pa.array([b"x", b"", None], pa.large_binary()),
            "stamp": pa.array([1_000, 2_000, None], pa.timestamp("ns")),
            "list": pa.array([[1], None, []], pa.large_list(pa.uint16())),
        }
    )
    staffa.write(table, tmp_path / "others.staffa")
    rows = spark.read.format("staffa").load(str(tmp_path / "others.staffa")).orderBy("u8").collect()
    assert [row.u8 for row in rows] == [None, 0, 255]
    assert int(rows[2].u64) == 2**64 - 1 and rows[2].half == -2.0
    assert rows[1].word == "a" and rows[1].view == "a" * 30 and rows[1].list == [1]
