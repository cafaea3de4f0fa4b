"""Load on an S3 server of its own on loopback: readers and writers at once, every answer checked.

    go install github.com/versity/versitygw/cmd/versitygw@latest
    python bench/s3_load.py [--seconds 30] [--threads 8] [--files 16]

Prints how many operations of each kind were done and how long they took; ends with 1 where one fails or has another
answer, or where file descriptors or memory grow with the operations.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import resource
import shutil
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import staffa

ROWS = 200_000
BUCKET = "s3://bucket"


def table_of(file: int) -> pa.Table:
    """The rows of a file: every answer follows from its number."""
    rows = range(file * ROWS, (file + 1) * ROWS)
    columns = {"id": pa.array(rows, pa.int64()), "part": pa.array([file] * ROWS, pa.int32())}
    return pa.table({**columns, "text": pa.array([f"customer {row * 7919 % 100_003}" for row in rows])})


@contextmanager
def server(folder: Path) -> Iterator[None]:
    """Starts versitygw over a folder: a folder in it is a bucket."""
    program = shutil.which("versitygw") or shutil.which("versitygw", path=Path.home() / "go" / "bin")
    if program is None:
        raise SystemExit("versitygw is not there: go install github.com/versity/versitygw/cmd/versitygw@latest")
    (folder / "bucket").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    keys = {"ROOT_ACCESS_KEY": "key", "ROOT_SECRET_KEY": "secret"}
    process = subprocess.Popen(
        [program, "-q", "--port", f"127.0.0.1:{port}", "posix", folder],
        env=os.environ | keys,
        stderr=subprocess.DEVNULL,
    )
    settings = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
    os.environ.update(settings, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}", AWS_EC2_METADATA_DISABLED="true")
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


class Load:
    """Operations at random, until the time is over."""

    def __init__(self, files: int) -> None:
        self.files = files
        self.seconds: dict[str, list[float]] = collections.defaultdict(list)
        self.failures: list[str] = []
        self.written = 0
        self.lock = threading.Lock()

    def scan(self, chance: random.Random) -> bool:
        """A column of one file."""
        file = chance.randrange(self.files)
        found = staffa.open(f"{BUCKET}/t/{file}.staffa").to_table(columns=["id"])["id"]
        return bool(pc.sum(found).as_py() == sum(range(file * ROWS, (file + 1) * ROWS)))

    def rows(self, chance: random.Random) -> bool:
        """Rows by number."""
        file = chance.randrange(self.files)
        numbers = sorted(chance.sample(range(ROWS), 10))
        found = staffa.open(f"{BUCKET}/t/{file}.staffa").take(numbers)
        return bool(found["id"].to_pylist() == [file * ROWS + number for number in numbers])

    def filter(self, chance: random.Random) -> bool:
        """Rows of the whole table by a filter, most files excluded by their footers."""
        row = chance.randrange(self.files * ROWS)
        wanted = (pc.field("id") >= row) & (pc.field("id") < row + 5)
        found = staffa.dataset(f"{BUCKET}/t/").to_table(filter=wanted)
        return bool(found["id"].to_pylist() == list(range(row, min(row + 5, self.files * ROWS))))

    def write(self, chance: random.Random) -> bool:
        """A new object, read again."""
        with self.lock:
            self.written += 1
            name = f"{BUCKET}/new/{self.written}.staffa"
        table = table_of(chance.randrange(self.files)).slice(0, 20_000)
        staffa.write_table(table, name)
        return bool(staffa.open(name).to_table() == table)

    def run(self, seed: int, end: float) -> None:
        """One thread."""
        chance = random.Random(seed)
        kinds: list[Callable[[random.Random], bool]] = [self.scan, self.rows, self.rows, self.filter, self.write]
        while time.monotonic() < end and not self.failures:
            kind = chance.choice(kinds)
            begin = time.monotonic()
            try:
                right = kind(chance)
            except Exception as error:
                self.failures.append(f"{kind.__name__}: {error!r}")
                return
            if not right:
                self.failures.append(f"{kind.__name__}: another answer")
            self.seconds[kind.__name__].append(time.monotonic() - begin)


def held() -> tuple[int, float]:
    """Open file descriptors, and the largest memory so far in MiB."""
    return len(list(Path("/proc/self/fd").iterdir())), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Writes a table, loads the server, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--files", type=int, default=16)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)):
        load = Load(arguments.files)
        for file in range(arguments.files):
            staffa.write_table(table_of(file), f"{BUCKET}/t/{file}.staffa")
        marks = []
        # The first third warms: what grows after it grows with the operations.
        for part, share in enumerate((1 / 3, 2 / 3)):
            end = time.monotonic() + arguments.seconds * share
            seeds = range(part * 1000, part * 1000 + arguments.threads)
            threads = [threading.Thread(target=load.run, args=(seed, end)) for seed in seeds]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            marks.append(held())
    for kind, seconds in sorted(load.seconds.items()):
        worst = statistics.quantiles(seconds, n=100)[-1] if len(seconds) > 1 else seconds[0]
        median, worst = statistics.median(seconds) * 1000, worst * 1000
        print(f"{kind:8} {len(seconds):6} done, median {median:7.1f} ms, 99% {worst:7.1f} ms")
    for (descriptors, memory), when in zip(marks, ("after a third", "at the end"), strict=True):
        print(f"{when}: {descriptors} file descriptors, {memory:.0f} MiB at most")
    for failure in load.failures:
        print(failure)
    (before, small), (after, large) = marks
    if load.failures or after > before + 16 or large > small * 1.5:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
