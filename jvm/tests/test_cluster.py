"""Two executors in processes of their own: one is killed midway."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def test_an_executor_that_is_killed_costs_no_row(jar, tmp_path):
    """In a process of its own: a session of this one is local."""
    environment = {**os.environ, "STAFFA_SPARK_JAR": jar, "SPARK_LOCAL_IP": "127.0.0.1"}
    script = [sys.executable, str(HERE / "killed_executor.py"), str(tmp_path)]
    done = subprocess.run(script, env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["killed"] >= 1
    assert answer["read"] == answer["expected"]
    assert answer["written"] == answer["expected"]
