"""Bad input: one clear exception that names file and column, and nothing left behind."""

from __future__ import annotations

import threading
import time

import pytest

from conftest import parts


def write(spark, folder, rows=1000, files=1):
    spark.range(0, rows, 1, files).selectExpr("id as a", "xxhash64(id) as b").write.format("staffa").save(str(folder))
    return parts(folder)


def damage(part) -> None:
    """Flips bytes in the middle of the values."""
    data = bytearray(part.read_bytes())
    middle = len(data) // 2
    for i in range(middle, middle + 8):
        data[i] ^= 0xFF
    part.write_bytes(data)


def test_a_damaged_file_is_named(spark, tmp_path):
    part = write(spark, tmp_path / "t")[0]
    damage(part)
    read = spark.read.format("staffa").load(str(tmp_path / "t"))
    with pytest.raises(Exception, match=f'(?s){part.name}.*column "b".*checksum'):
        read.selectExpr("max(b)").collect()


def test_corrupt_files_are_skipped_where_spark_is_told_to(spark, tmp_path):
    first, *_ = write(spark, tmp_path / "t", files=2)
    first.write_bytes(b"nonsense" * 100)
    with pytest.raises(Exception, match=first.name):
        spark.read.format("staffa").load(str(tmp_path / "t")).count()
    read = spark.read.format("staffa").option("ignoreCorruptFiles", "true").load(str(tmp_path / "t"))
    assert read.count() == 500


def test_a_file_that_is_gone(spark, tmp_path):
    part, *_ = write(spark, tmp_path / "t", files=2)
    read = spark.read.format("staffa").load(str(tmp_path / "t"))
    read.count()
    part.unlink()
    with pytest.raises(Exception, match=f"(?s){part.name}.*(does not exist|No such file|FileNotFound|FILE_NOT_EXIST)"):
        read.selectExpr("max(b)").collect()
    ignoring = spark.read.format("staffa").option("ignoreMissingFiles", "true").load(str(tmp_path / "t"))
    assert ignoring.count() == 500


def test_a_schema_that_does_not_fit_is_refused_by_column(spark, tmp_path):
    part = write(spark, tmp_path / "t")[0]
    read = spark.read.format("staffa").schema("a int, b string").load(str(tmp_path / "t"))
    with pytest.raises(Exception, match=f'(?s){part.name}: column "a": Int64 where Int32 is wanted'):
        read.select("a").collect()
    with pytest.raises(Exception, match=f'(?s){part.name}: column "b": Int64 where Utf8 is wanted'):
        read.select("b").collect()
    assert read.count() == 1000


def test_exceptions_of_the_file_system_pass_through(spark, counting, tmp_path):
    write(spark, tmp_path / "t")
    read = spark.read.format("staffa").load(f"counting://{tmp_path}/t")
    counting.refuse("part-")
    with pytest.raises(Exception, match="no access"):
        read.selectExpr("max(b)").collect()


def test_a_call_after_close_is_an_exception(spark, probe, tmp_path):
    part = write(spark, tmp_path / "t")[0]
    expected = "; ".join(f"IllegalStateException: the {kind} is closed" for kind in ["scan", "file", "writer"])
    assert probe.callAfterClose(str(part), True) == expected
    assert probe.callAfterClose(str(part), False) == expected


def test_a_builder_beside_a_session_is_refused(spark):
    import staffa.spark

    with pytest.raises(RuntimeError, match="a Spark session runs already"):
        staffa.spark.builder()


def test_another_spark_and_another_platform_are_named(spark, probe):
    probe.checkSpark("4.3.7")
    with pytest.raises(Exception, match=r"this Staffa jar is for Spark 4.3, found Spark 4.30.0"):
        probe.checkSpark("4.30.0")
    with pytest.raises(Exception, match=r"no native library for this platform: staffa/plan9-vax/x\.so expected"):
        probe.load("staffa/plan9-vax/x.so")
    with pytest.raises(Exception, match="the native library of Staffa could not be loaded"):
        probe.load("org/apache/spark/sql/staffa/Native.class")
    assert probe.resource("Linux", "amd64") == "staffa/linux-x86_64/libstaffa_jni.so"
    assert probe.resource("Mac OS X", "aarch64") == "staffa/macos-aarch64/libstaffa_jni.dylib"


def test_a_task_that_fails_while_writing_leaves_no_file(spark, tmp_path):
    rows = spark.range(0, 200_000, 1, 2).selectExpr("id", "if(id = 150000, raise_error('stop here'), id) as x")
    with pytest.raises(Exception, match="stop here"):
        rows.write.format("staffa").save(str(tmp_path / "t"))
    assert parts(tmp_path / "t") == []
    with pytest.raises(Exception, match=r"(?i)unable to infer schema|PATH_NOT_FOUND|UNABLE_TO_INFER_SCHEMA"):
        spark.read.format("staffa").load(str(tmp_path / "t")).count()


def test_a_task_out_of_memory_frees_what_it_held(spark, tmp_path):
    write(spark, tmp_path / "t", files=2)
    spark.udf.registerJavaFunction("hungry", "org.apache.spark.sql.staffa.test.Hungry", "long")
    rows = spark.read.format("staffa").load(str(tmp_path / "t"))
    with pytest.raises(Exception, match=r"UNABLE_TO_ACQUIRE_MEMORY|Unable to acquire"):
        rows.selectExpr("sum(hungry(a))").collect()
    with pytest.raises(Exception, match=r"UNABLE_TO_ACQUIRE_MEMORY|Unable to acquire"):
        rows.selectExpr("hungry(a) as a", "b").write.format("staffa").save(str(tmp_path / "copy"))
    assert parts(tmp_path / "copy") == []
    assert rows.selectExpr("sum(a)").collect()[0][0] == 999 * 500


def test_a_job_that_is_cancelled_leaves_no_file(spark, tmp_path):
    slow = spark.range(0, 40_000_000, 1, 2).selectExpr(
        "id", "xxhash64(id) a", "xxhash64(id, 1) b", "sha2(string(id), 256) c"
    )
    failed: list[BaseException] = []

    def run() -> None:
        try:
            slow.write.format("staffa").save(str(tmp_path / "t"))
        except BaseException as e:
            failed.append(e)

    thread = threading.Thread(target=run)
    thread.start()
    deadline = time.monotonic() + 60
    while not list((tmp_path / "t").rglob("*.staffa")) and time.monotonic() < deadline:
        time.sleep(0.05)
    spark.sparkContext.cancelAllJobs()
    thread.join(timeout=120)
    assert failed and not thread.is_alive()
    visible = [part for part in parts(tmp_path / "t") if "_temporary" not in str(part)]
    assert visible == []


@pytest.mark.parametrize("other", ["ends", "fails"])
def test_two_jobs_that_write_to_one_folder_are_whole(spark, tmp_path, other):
    """The first task of a job is done when another job begins and ends; then the second one goes on."""
    gate = spark._jvm.org.apache.spark.sql.staffa.test.Gate
    folder = tmp_path / "t"
    failed: list[BaseException] = []
    passed = "java_method('org.apache.spark.sql.staffa.test.Gate', 'pass') = 'passed'"
    rows = spark.range(0, 200, 1, 2).selectExpr(f"if(id < 100, id, if({passed}, id, null)) as id")

    def run() -> None:
        try:
            rows.write.format("staffa").mode("append").save(str(folder))
        except BaseException as e:
            failed.append(e)

    gate.shut()
    thread = threading.Thread(target=run)
    thread.start()
    try:
        deadline = time.monotonic() + 60
        while not list(folder.rglob("task_*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        quick = spark.range(0, 1000, 1, 1)
        if other == "fails":
            quick = quick.selectExpr("if(id = 500, raise_error('stop here'), id) as id")
            with pytest.raises(Exception, match="stop here"):
                quick.write.format("staffa").mode("append").save(str(folder))
        else:
            quick.write.format("staffa").mode("append").save(str(folder))
            assert spark.read.format("staffa").load(str(folder)).count() == 1000
    finally:
        gate.open()
        thread.join(timeout=120)
    assert not failed and not thread.is_alive()
    written = spark.read.format("staffa").load(str(folder)).selectExpr("count(*)", "count(id)", "sum(id)").collect()[0]
    own = (200, 200, 199 * 100)
    assert tuple(written) == (own if other == "fails" else (1200, 1200, own[2] + 999 * 500))
    assert not (folder / "_temporary").exists()


def test_a_limit_frees_what_it_does_not_read(spark, tmp_path):
    write(spark, tmp_path / "t", rows=500_000, files=3)
    assert len(spark.read.format("staffa").load(str(tmp_path / "t")).limit(5).collect()) == 5
