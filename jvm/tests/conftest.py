"""Sessions of Spark with the jar, each stopped at the end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))


@pytest.fixture(scope="session")
def jar() -> str:
    import staffa.spark

    return os.environ.get("STAFFA_SPARK_JAR") or staffa.spark.jar()


@pytest.fixture(scope="session")
def probes(jar, tmp_path_factory) -> str:
    """A jar of the classes that only tests need."""
    out = tmp_path_factory.mktemp("probes") / "probes.jar"
    jars = str(Path(pyspark.__path__[0]) / "jars" / "*")
    compiler = ["java", "-cp", jars, "scala.tools.nsc.Main", "-usejavacp", "-classpath", f"{jars}:{jar}"]
    sources = sorted(str(path) for path in (HERE.parent / "test-src").glob("*.scala"))
    subprocess.run([*compiler, "-d", str(out), *sources], check=True)
    return str(out)


def configured(builder, folder: Path):
    """Everything on loopback, in a folder of the test's own."""
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "Europe/Berlin",
        "spark.local.dir": str(folder / "local"),
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder


@pytest.fixture(scope="session")
def spark(jar, probes, tmp_path_factory):
    import staffa.spark

    staffa.spark.jar = lambda: jar
    builder = configured(staffa.spark.builder(probes).master("local[2]"), tmp_path_factory.mktemp("spark"))
    system = "org.apache.spark.sql.staffa.test.CountingFileSystem"
    session = builder.config("spark.hadoop.fs.counting.impl", system).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def counting(spark):
    """The counters of the file system `counting`, all 0."""
    system = spark._jvm.org.apache.spark.sql.staffa.test.CountingFileSystem
    system.reset()
    yield SimpleNamespace(opened=system.openedFiles, bytes=system.readBytes, refuse=system.refuse, reset=system.reset)
    system.reset()


@pytest.fixture
def probe(spark):
    return spark._jvm.org.apache.spark.sql.staffa.NativeProbe


@pytest.fixture(autouse=True)
def nothing_left_open(request):
    """Every file, scan and writer is closed when the tasks of a test have ended: those that are killed do so later."""
    yield
    if "spark" in request.fixturenames:
        probe = request.getfixturevalue("spark")._jvm.org.apache.spark.sql.staffa.NativeProbe
        deadline = time.monotonic() + 120
        while probe.openHandles() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert probe.openHandles() == 0


def parts(folder: Path) -> list[Path]:
    """The files of a table, in order."""
    return sorted(Path(folder).rglob("*.staffa"))
