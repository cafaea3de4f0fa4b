"""Spark's Python data source, in a session of two threads."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import staffa
from tables import write_columns

pytest.importorskip("pyspark")
from pyspark import InheritableThread
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from staffa.spark_source import StaffaDataSource


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    session.dataSource.register(StaffaDataSource)
    yield session
    session.stop()


def read(spark: SparkSession, path: Any, **options: str) -> DataFrame:
    return spark.read.format("staffa").options(**options).load(str(path))


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.collect()]


def visible(folder: Path) -> int:
    return len(list(folder.rglob("[!.]*.staffa"))) - len(list(folder.glob(".staffa-*/**/*.staffa")))


COLUMNS: dict[str, tuple[pa.DataType, list[Any], str]] = {
    "bool": (pa.bool_(), [True, None], "boolean"),
    "i8": (pa.int8(), [-128, None], "tinyint"),
    "u8": (pa.uint8(), [255, None], "smallint"),
    "u32": (pa.uint32(), [2**32 - 1, None], "bigint"),
    "u64": (pa.uint64(), [2**64 - 1, None], "decimal(20,0)"),
    "f16": (pa.float16(), [0.5, None], "float"),
    "f64": (pa.float64(), [0.1, None], "double"),
    "dec": (pa.decimal128(12, 2), [decimal.Decimal("1.05"), None], "decimal(12,2)"),
    "dec256": (pa.decimal256(30, 1), [decimal.Decimal("2.5"), None], "decimal(30,1)"),
    "text": (pa.string(), ["é", None], "string"),
    "large": (pa.large_string(), ["x", None], "string"),
    "view": (pa.string_view(), ["y", None], "string"),
    "dict": (pa.dictionary(pa.int32(), pa.string()), ["z", None], "string"),
    "bytes": (pa.binary(), [b"\0", None], "binary"),
    "fixed": (pa.binary(2), [b"ab", None], "binary"),
    "day": (pa.date32(), [dt.date(2024, 2, 29), None], "date"),
    "ms": (pa.timestamp("ms"), [dt.datetime(2024, 1, 1, 12), None], "timestamp_ntz"),
    "zone": (pa.timestamp("us", "Europe/Oslo"), [dt.datetime(2024, 1, 1, 12), None], "timestamp"),
    "list": (pa.list_(pa.int32()), [[1, None], None], "array<int>"),
    "vector": (pa.list_(pa.float32(), 2), [[0.5, 1.5], None], "array<float>"),
    "struct": (pa.struct({"a": pa.uint16()}), [{"a": 7}, None], "struct<a:int>"),
    "map": (pa.map_(pa.string(), pa.int64()), [[("k", 1)], None], "map<string,bigint>"),
}


def test_types(spark: SparkSession, tmp_path: Path) -> None:
    columns = {name: pa.array(values, data_type) for name, (data_type, values, _) in COLUMNS.items()}
    staffa.write_table(pa.table(columns), tmp_path / "t.staffa")
    frame = read(spark, tmp_path)
    assert dict(frame.dtypes) == {name: spark_type for name, (_, _, spark_type) in COLUMNS.items()}
    first, second = rows(frame)
    assert all(value is None for value in second.values())
    expected = {name: values[0] for name, (_, values, _) in COLUMNS.items()} | {"map": {"k": 1}}
    for name in ("bytes", "fixed"):
        first[name] = bytes(first[name])
    # 12:00 in Oslo.
    expected["zone"] = dt.datetime.fromtimestamp(dt.datetime(2024, 1, 1, 12, tzinfo=dt.timezone.utc).timestamp())
    assert first == expected


def test_types_that_spark_has_not_are_named(spark: SparkSession, tmp_path: Path) -> None:
    write_columns(tmp_path / "t.staffa", big=pa.array([1], pa.decimal256(76, 0)), n=[1])
    with pytest.raises(Exception, match=r"column 'big': Spark has no type for decimal256\(76, 0\)"):
        read(spark, tmp_path)
    assert rows(read(spark, tmp_path, columns="n")) == [{"n": 1}]


CONDITIONS = [
    *["n = 5", "n <> 5", "n > 5", "5 <= n", "n in (1, 5, 9)", "n not in (1, 5)", "n is null", "n is not null"],
    *["n <=> null", "n <=> 5", "not (n <=> 5)", "not (n > 5)", "n in (1, null)", "n not in (1, null)"],
    *["x > 1", "x >= 1", "x < 1", "x <= 0", "x = 0.0", "x <> 0.0", "not (x > 1)", "x = double('nan')"],
    *["x > double('nan')", "x >= double('nan')", "x in (0.0, 1.5)", "x <=> double('nan')"],
    *["s = 'b'", "s like 'b%'", "s like '%b'", "s like '%b%'", "s not like 'b%'", "s > 'b'", "s like 'a_c'", "s = ''"],
    *["day > date '2024-01-03'", "at > timestamp '2024-01-03 00:00:00'", "d > 1.05", "d = 1.050", "not flag", "flag"],
    *["n > 3 and s = 'b'", "n > 3 or s = 'b'", "year = 2024", "year = 2023 and n > 3", "n % 2 = 1", "st.a = 3"],
]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Values that engines compare each in its own way, in two folders of two row groups each."""
    folder = tmp_path_factory.mktemp("mixed")
    columns = {
        "n": pa.array([*range(8), None, 9], pa.int32()),
        "x": pa.array([0.0, -0.0, math.nan, -math.nan, None, 1.0, 1.5, math.inf, -math.inf, 2.0]),
        "s": ["a", "b", "bb", "ab", "", None, "abc", "cba", "axc", "B"],
        "day": pa.array([dt.date(2024, 1, 1 + i) for i in range(10)]),
        "at": pa.array([dt.datetime(2024, 1, 1 + i) for i in range(10)], pa.timestamp("ms", "UTC")),
        "d": pa.array([decimal.Decimal(i) / 20 + 1 for i in range(10)], pa.decimal128(12, 2)),
        "flag": [True, False, None, True, False, None, True, False, None, True],
        "st": [{"a": i} for i in range(10)],
    }
    table = pa.table(columns)
    both = pa.concat_tables([table, table]).append_column("year", pa.array([2023] * 10 + [2024] * 10))
    staffa.write_dataset(both, folder, partition_by=["year"], row_group_rows=5)
    return folder


@pytest.mark.parametrize("condition", CONDITIONS)
def test_pushed_filters_match_what_spark_matches(spark: SparkSession, mixed: Path, condition: str) -> None:
    pushed, spark_alone = read(spark, mixed), read(spark, mixed, pushFilters="false")
    for columns in (["n", "s", "year"], ["x"]):
        found = [frame.where(condition).select(columns) for frame in (pushed, spark_alone)]
        # NaN is equal to nothing in Python.
        assert [repr(row) for row in found[0].collect()] == [repr(row) for row in found[1].collect()], condition


def test_partitions_are_row_groups(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"n": range(3_000_000), "m": range(3_000_000), "o": range(3_000_000)})
    staffa.write_table(table, tmp_path / "t.staffa", row_group_rows=1_000_000)
    frame = read(spark, tmp_path)
    assert frame.rdd.getNumPartitions() == 3
    late = frame.where("n >= 2500000")
    assert late.rdd.getNumPartitions() == 1
    assert late.count() == 500_000
    assert frame.where("n < 0").collect() == []
    # Small ones share a task.
    staffa.write_table(table.slice(0, 1000), tmp_path / "t.staffa", row_group_rows=100)
    assert read(spark, tmp_path).rdd.getNumPartitions() == 1


def test_columns_and_schemas_that_are_given(spark: SparkSession, mixed: Path) -> None:
    assert read(spark, mixed, columns="s, year").columns == ["s", "year"]
    with pytest.raises(Exception, match="unknown column 'nope'"):
        read(spark, mixed, columns="s,nope")
    reader = spark.read.format("staffa")
    wide = reader.schema("year bigint, n bigint").load(str(mixed))
    assert rows(wide.where("n = 7")) == [{"year": 2023, "n": 7}, {"year": 2024, "n": 7}]
    with pytest.raises(Exception, match="column 'nope' of the schema is in no file"):
        reader.schema("nope int").load(str(mixed)).collect()
    with pytest.raises(Exception, match="column 'n' is int32 in the files and cannot be read as int16"):
        reader.schema("n smallint").load(str(mixed)).collect()
    with pytest.raises(Exception, match="column 's' is string in the files and cannot be read as int32"):
        reader.schema("s int").load(str(mixed)).collect()
    with pytest.raises(Exception, match="no path"):
        spark.read.format("staffa").load()


def test_files_that_are_gone_or_damaged_are_named(spark: SparkSession, tmp_path: Path) -> None:
    for name in "ab":
        staffa.write_table(pa.table({"n": range(100_000)}), tmp_path / f"{name}.staffa")
    with pytest.raises(Exception, match=r"nowhere"):
        read(spark, tmp_path / "nowhere")
    frame = read(spark, tmp_path)
    frame.rdd  # noqa: B018  It is planned now.
    (tmp_path / "b.staffa").unlink()
    with pytest.raises(Exception, match=r"No such file or directory: '.*b\.staffa'"):
        frame.collect()
    (tmp_path / "b.staffa").write_bytes((tmp_path / "a.staffa").read_bytes()[:-1])
    with pytest.raises(Exception, match=r"b\.staffa"):
        read(spark, tmp_path)
    assert read(spark, tmp_path, ignoreCorruptFiles="true").count() == 100_000
    damaged = bytearray((tmp_path / "a.staffa").read_bytes())
    for at in range(16, len(damaged) // 2, 16):
        damaged[at] ^= 255
    (tmp_path / "b.staffa").write_bytes(damaged)
    with pytest.raises(Exception, match=r"CorruptError.*b\.staffa"):
        read(spark, tmp_path).collect()
    # The session is as it was.
    assert read(spark, tmp_path / "a.staffa").count() == 100_000


def test_tables_are_written(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(0, 1000, numPartitions=4).withColumn("day", F.col("id") % 3)
    writer = frame.write.format("staffa").option("partitionBy", "day").option("profile", "small")
    writer.mode("append").save(str(tmp_path / "t"))
    writer.mode("append").save(str(tmp_path / "t"))
    assert sorted(entry.name for entry in (tmp_path / "t").iterdir()) == ["day=0", "day=1", "day=2"]
    assert staffa.dataset(tmp_path / "t").count_rows("day = 0") == 668
    assert read(spark, tmp_path / "t").groupBy("day").count().orderBy("day").collect()[1]["count"] == 666
    # A table replaces itself.
    kept = read(spark, tmp_path / "t").where("day = 0")
    kept.write.format("staffa").mode("overwrite").save(str(tmp_path / "t"))
    assert read(spark, tmp_path / "t").count() == 668
    frame.where("id < 0").write.format("staffa").mode("append").save(str(tmp_path / "empty"))
    assert staffa.dataset(tmp_path / "empty").schema.names == ["id", "day"]
    with pytest.raises(Exception, match="partition_by: unknown column 'month'"):
        frame.write.format("staffa").option("partitionBy", "month").mode("append").save(str(tmp_path / "t"))


def failing(dies: bool) -> Callable[[Any], Any]:
    """A task that ends at row 900. Within a function, as Spark pickles it by value then."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if 900 not in batch["id"].to_pylist():
                yield batch
            elif dies:
                os._exit(7)
            else:
                raise RuntimeError("no more rows")

    return task


@pytest.mark.parametrize("dies", [False, True])
def test_a_job_that_fails_leaves_nothing(spark: SparkSession, tmp_path: Path, dies: bool) -> None:
    written = spark.range(0, 10, numPartitions=1).write.format("staffa").mode("append")
    written.save(str(tmp_path))
    before = sorted(entry.name for entry in tmp_path.iterdir())
    frame = spark.range(0, 1000, numPartitions=4).mapInArrow(failing(dies), "id bigint")
    for mode in ("append", "overwrite"):
        with pytest.raises(Exception, match=r"no more rows|exited unexpectedly|crashed"):
            frame.write.format("staffa").mode(mode).save(str(tmp_path))
        assert sorted(entry.name for entry in tmp_path.iterdir()) == before


def test_two_jobs_into_one_folder_are_both_whole(spark: SparkSession, tmp_path: Path) -> None:
    def job(first: int) -> None:
        # A thread has no active session of its own, with which sources are looked up.
        spark._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)
        frame = spark.range(first, first + 1000, numPartitions=3)
        frame.write.format("staffa").mode("append").save(str(tmp_path / "t"))

    threads = [InheritableThread(target=job, args=(first,)) for first in (0, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(row["id"] for row in rows(read(spark, tmp_path / "t"))) == list(range(2000))
    assert visible(tmp_path / "t") == 6


def test_settings_of_a_store_are_options(spark: SparkSession) -> None:
    moto = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    store = {
        "aws_endpoint_url": f"http://{host}:{port}",
        "aws_access_key_id": "key",
        "aws_secret_access_key": "secret",
        "aws_region": "us-east-1",
    }
    names = {"endpoint_url": store["aws_endpoint_url"], "region_name": "us-east-1"}
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    client = boto3.client("s3", **names, **keys)
    client.create_bucket(Bucket="bucket")
    frame = spark.range(0, 1000, numPartitions=2).withColumn("day", F.col("id") % 2)
    for mode, count in (("append", 1000), ("append", 2000), ("overwrite", 1000)):
        writer = frame.write.format("staffa").options(**store, partitionBy="day").mode(mode)
        writer.save("s3://bucket/t/")
        assert read(spark, "s3://bucket/t/", **store).where("day = 1").count() == count // 2
    listed = client.list_objects_v2(Bucket="bucket")["Contents"]
    assert len(listed) == 4
    assert not any(".staffa-" in each["Key"] for each in listed)
    assert "AWS_ENDPOINT_URL" not in os.environ
    server.stop()
