"""Tables of several files: partitions, catalogs, pruning, statistics."""

from __future__ import annotations

import pytest

from conftest import parts


@pytest.fixture
def table(spark, tmp_path):
    folder = tmp_path / "t"
    data = spark.range(0, 20_000, 1, 2).selectExpr(
        "id as a", "id * 2.0D as b", "concat('name ', id % 100) as c", "id div 1000 as p"
    )
    data.repartition("p").write.format("staffa").partitionBy("p").save(str(folder))
    return folder


def test_folders_of_partitions_are_columns(spark, table):
    read = spark.read.format("staffa").load(str(table))
    assert read.columns == ["a", "b", "c", "p"]
    assert read.where("p = 7").selectExpr("min(a)", "max(a)", "count(*)").collect()[0][:] == (7000, 7999, 1000)
    assert read.groupBy("p").count().orderBy("p").collect()[19][:] == (19, 1000)


def test_one_partition_opens_no_file_of_the_others(spark, table):
    read = spark.read.format("staffa").load(str(table))
    for part in parts(table):
        if "p=3/" not in str(part):
            part.write_bytes(b"not a file of Staffa")
    assert read.where("p = 3").count() == 1000
    with pytest.raises(Exception, match=r"p=\d+/part-.*\.staffa"):
        read.where("p = 4").agg({"b": "sum"}).collect()


def test_files_are_pruned_by_their_statistics(spark, table):
    read = spark.read.format("staffa").load(str(table))
    for part in parts(table):
        if "p=3/" not in str(part):
            # The footer stays: only the values are damaged.
            data = bytearray(part.read_bytes())
            data[16 : len(data) // 3] = bytes(len(data) // 3 - 16)
            part.write_bytes(data)
    plan = read.where("a >= 3000 and a < 4000")
    assert plan.agg({"a": "sum"}).collect()[0][0] == sum(range(3000, 4000))
    assert number_of_files(plan) == 1


def number_of_files(frame) -> int:
    """Files that the scan of a plan reads."""
    frame.collect()
    plan = frame._jdf.queryExecution().executedPlan()
    found = [leaf for leaf in leaves(plan) if "FileSourceScan" in leaf.getClass().getSimpleName()]
    return found[0].metrics().apply("numFiles").value()


def leaves(plan):
    if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        return leaves(plan.executedPlan())
    children = plan.children()
    if children.isEmpty():
        return [plan]
    return [leaf for i in range(children.size()) for leaf in leaves(children.apply(i))]


def test_pushed_filters_show_in_the_plan(spark, table, capsys):
    spark.read.format("staffa").load(str(table)).where("a > 5 and c like 'name 1%' and p = 2").explain("formatted")
    shown = capsys.readouterr().out
    assert "PushedFilters: [IsNotNull(a), IsNotNull(c), GreaterThan(a,5), StringStartsWith(c,name 1)]" in shown
    assert "PartitionFilters: [isnotnull(p" in shown and "Batched: true" in shown


def test_one_column_of_fifty_reads_a_tenth(spark, counting, tmp_path):
    columns = [f"xxhash64(id, {i}) as c{i}" for i in range(50)]
    spark.range(0, 20_000, 1, 1).selectExpr(*columns).write.format("staffa").save(str(tmp_path / "wide"))
    size = sum(part.stat().st_size for part in parts(tmp_path / "wide"))
    read = spark.read.format("staffa").load(f"counting://{tmp_path}/wide")
    counting.reset()
    read.selectExpr("max(c31)").collect()
    assert 0 < counting.bytes() <= size / 10
    counting.reset()
    read.selectExpr(*[f"max(c{i})" for i in range(50)]).collect()
    assert counting.bytes() > size / 2


def test_a_file_system_that_is_not_local(spark, counting, table):
    path = f"counting://{table}"
    read = spark.read.format("staffa").load(path)
    local = spark.read.format("staffa").load(str(table))
    for query in ["a % 7 = 3", "b > 30000 and c = 'name 7'", "p in (1, 2) or a < 10"]:
        assert read.where(query).orderBy("a").collect() == local.where(query).orderBy("a").collect()
    assert counting.opened() > 0
    read.limit(10).write.format("staffa").mode("overwrite").save(f"{path}-2")
    assert spark.read.format("staffa").load(f"{path}-2").count() == 10


def test_catalog_tables(spark, table, tmp_path):
    spark.sql("DROP TABLE IF EXISTS reg")
    spark.sql(f"CREATE TABLE reg USING staffa LOCATION '{table}'")
    try:
        assert spark.table("reg").count() == 0
        spark.sql("MSCK REPAIR TABLE reg")
        assert spark.sql("SELECT count(*), sum(b) FROM reg WHERE p = 1").collect()[0][:] == (
            1000,
            sum(2.0 * a for a in range(1000, 2000)),
        )
        spark.sql("INSERT INTO reg PARTITION (p = 77) SELECT 5L, 1.0D, 'new'")
        assert spark.sql("SELECT a, b, c, p FROM reg WHERE p = 77").collect()[0][:] == (5, 1.0, "new", 77)
        spark.sql("INSERT OVERWRITE reg PARTITION (p = 77) SELECT 6L, 2.0D, 'newer'")
        assert [row.a for row in spark.sql("SELECT a FROM reg WHERE p = 77").collect()] == [6]
        elsewhere = tmp_path / "elsewhere"
        spark.range(3).selectExpr("id a", "0.5D b", "'far' c").write.format("staffa").save(str(elsewhere))
        spark.sql(f"ALTER TABLE reg ADD PARTITION (p = 99) LOCATION '{elsewhere}'")
        assert spark.sql("SELECT count(*) FROM reg WHERE p = 99").collect()[0][0] == 3
        assert spark.sql("SELECT count(*) FROM reg").collect()[0][0] == 20_004
    finally:
        spark.sql("DROP TABLE reg")


def test_create_table_as_select_and_options(spark, table):
    spark.sql("DROP TABLE IF EXISTS made")
    spark.sql(
        "CREATE TABLE made USING staffa OPTIONS (profile 'fast', rowGroupRows '1000', sortOrder 'a') "
        "AS SELECT id AS a FROM range(0, 5000, 1, 1)"
    )
    assert spark.table("made").where("a between 2500 and 2509").count() == 10
    spark.sql("INSERT INTO made VALUES (9), (10)")
    assert spark.table("made").count() == 5002
    with pytest.raises(Exception, match='option "profile": "tiny"'):
        spark.range(3).write.format("staffa").option("profile", "tiny").mode("overwrite").saveAsTable("bad")
    with pytest.raises(Exception, match="option batchRows: a positive number expected, found none"):
        spark.read.format("staffa").option("batchRows", "none").load(str(table)).count()


def test_splits_of_a_file_read_each_row_once(spark, tmp_path):
    spark.range(0, 50_000, 1, 1).selectExpr("id", "xxhash64(id) h").write.format("staffa").option(
        "rowGroupRows", "1000"
    ).save(str(tmp_path / "t"))
    spark.conf.set("spark.sql.files.maxPartitionBytes", "20000")
    try:
        read = spark.read.format("staffa").load(str(tmp_path / "t"))
        assert read.rdd.getNumPartitions() > 10
        assert read.selectExpr("count(*)", "count(distinct id)", "sum(id)").collect()[0][:] == (
            50_000,
            50_000,
            sum(range(50_000)),
        )
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")


def test_a_small_file_of_many_values_is_not_broadcast(spark, tmp_path):
    """1,000,000 times the same 150 bytes: a file of some KB."""
    spark.range(0, 1_000_000, 1, 1).selectExpr("id % 2 as k", "repeat('x', 150) s").write.format("staffa").save(
        str(tmp_path / "t")
    )
    read = spark.read.format("staffa").load(str(tmp_path / "t"))
    assert sum(part.stat().st_size for part in parts(tmp_path / "t")) < 100_000
    assert size_in_bytes(read) > 30_000_000
    small = spark.range(0, 1000, 1, 1)
    small.write.format("staffa").save(str(tmp_path / "small"))
    small = spark.read.format("staffa").load(str(tmp_path / "small"))
    joined = read.join(small, read.k == small.id)
    assert "BroadcastHashJoin" in joined._jdf.queryExecution().executedPlan().toString()
    joined = read.alias("a").join(read.alias("b"), "k")
    assert "BroadcastHashJoin" not in joined._jdf.queryExecution().executedPlan().toString()


def test_a_partition_of_a_catalog_has_the_size_of_its_values(spark):
    spark.sql("DROP TABLE IF EXISTS many")
    spark.sql(
        "CREATE TABLE many USING staffa PARTITIONED BY (p) AS "
        "SELECT id % 2 AS k, repeat('x', 150) AS s, 1 AS p FROM range(0, 300000, 1, 1)"
    )
    try:
        assert size_in_bytes(spark.table("many").where("p = 1")) > 10_000_000
    finally:
        spark.sql("DROP TABLE many")


def size_in_bytes(frame) -> int:
    return int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def test_columns_of_another_case_and_missing_ones(spark, tmp_path):
    spark.range(10).selectExpr("id as Id", 'id * 2 as `odd "name".x`').write.format("staffa").save(str(tmp_path / "t"))
    read = spark.read.format("staffa").schema("ID bigint, more string").load(str(tmp_path / "t"))
    assert [row[:] for row in read.where("id = 3").collect()] == [(3, None)]
    own = spark.read.format("staffa").load(str(tmp_path / "t"))
    assert own.where('`odd "name".x` = 6').collect()[0].Id == 3
    assert read.where("more is null").count() == 10 and read.where("more = 'x'").count() == 0


def test_files_of_several_schemas(spark, tmp_path):
    spark.range(3).selectExpr("cast(id as int) a").write.format("staffa").save(str(tmp_path / "t" / "p=1"))
    spark.range(3).selectExpr("id a", "'x' b").write.format("staffa").save(str(tmp_path / "t" / "p=2"))
    wide = spark.read.format("staffa").schema("a bigint, b string, p int").load(str(tmp_path / "t"))
    assert wide.where("a = 1").orderBy("p").collect() == [(1, None, 1), (1, "x", 2)]
    decimals = spark.read.format("staffa").schema("a decimal(30,2), p int").load(str(tmp_path / "t"))
    assert str(decimals.agg({"a": "sum"}).collect()[0][0]) == "6.00"
    merged = tmp_path / "merged"
    spark.range(2).selectExpr("id a").write.format("staffa").save(str(merged))
    spark.range(2).selectExpr("id b").write.format("staffa").mode("append").save(str(merged))
    read = spark.read.format("staffa").option("mergeSchema", "true").load(str(merged))
    assert sorted(read.columns) == ["a", "b"] and read.count() == 4


def test_metadata_columns_and_streams(spark, tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    spark.range(0, 100, 1, 1).write.format("staffa").save(str(source))
    read = spark.read.format("staffa").load(str(source))
    names = read.select("_metadata.file_name").distinct().collect()
    assert [row.file_name for row in names] == [part.name for part in parts(source)]
    stream = spark.readStream.format("staffa").schema("id bigint").load(str(source))
    query = (
        stream.writeStream.format("staffa")
        .option("checkpointLocation", str(tmp_path / "check"))
        .trigger(availableNow=True)
        .start(str(target))
    )
    assert query.awaitTermination(60)
    assert spark.read.format("staffa").load(str(target)).count() == 100
