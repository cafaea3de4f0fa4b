"""A program of its own: kills an executor while a query reads, and while another writes; prints what came of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from pyspark.sql import SparkSession

from conftest import configured

ROWS = 400_000


def executors() -> list[int]:
    """The processes of executors that descend from this one."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    table = {}
    for line in listed.splitlines()[1:]:
        pid, parent, command = line.split(None, 2)
        table[int(pid)] = (int(parent), command)

    def is_ours(pid: int) -> bool:
        while pid in table:
            if pid == os.getpid():
                return True
            pid = table[pid][0]
        return False

    return [pid for pid, (_, command) in table.items() if "CoarseGrainedExecutorBackend" in command and is_ours(pid)]


def kill_one_midway(spark: SparkSession) -> threading.Thread:
    """Kills an executor once tasks run on it."""

    def kill() -> None:
        tracker = spark.sparkContext.statusTracker()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            if any(stage and stage.numActiveTasks and stage.numCompletedTasks >= 2 for stage in stages):
                os.kill(executors()[0], signal.SIGKILL)
                killed.append(1)
                return
            time.sleep(0.02)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


killed: list[int] = []


def main(folder: Path) -> None:
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config(
        "spark.jars", os.environ["STAFFA_SPARK_JAR"]
    )
    builder = builder.config("spark.executor.extraJavaOptions", "-Djava.net.preferIPv4Stack=true")
    spark = configured(builder, folder).config("spark.executor.memory", "512m").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.range(0, ROWS, 1, 16).selectExpr("id", "xxhash64(id) as h").write.format("staffa").save(str(folder / "t"))
    spark.conf.set("spark.sql.files.openCostInBytes", str(128 << 20))
    read = spark.read.format("staffa").load(str(folder / "t"))
    # Slow enough to be killed midway: each row is hashed many times.
    slow = "aggregate(sequence(1, 300), h, (x, i) -> xxhash64(x, i))"
    thread = kill_one_midway(spark)
    count, total = read.selectExpr(f"if({slow} = 0, 1, id) as id").selectExpr("count(*)", "sum(id)").collect()[0]
    thread.join()
    thread = kill_one_midway(spark)
    read.selectExpr(f"if({slow} = 0, 1, id) as id").write.format("staffa").save(str(folder / "copy"))
    thread.join()
    written = spark.read.format("staffa").load(str(folder / "copy")).selectExpr("count(*)", "sum(id)").collect()[0]
    spark.stop()
    answer = {
        "killed": len(killed),
        "read": [count, total],
        "written": list(written),
        "expected": [ROWS, ROWS * (ROWS - 1) // 2],
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
