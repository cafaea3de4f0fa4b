"""Reading of texts that are printed beside the same strings stored plain: numbers, times, addresses, UUIDs, names.

CPU time of one core for each value, the median of interleaved rounds; bytes of the file for each value.

python bench/texts.py
python bench/texts.py --rows 100000 --json
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import string
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

os.sched_setaffinity(0, {0})

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402

import staffa  # noqa: E402

ROUNDS = 25


def texts(rows: int) -> dict[str, list[str]]:
    """Strings of each kind, without repeats but by chance."""
    numbers, plain = np.random.default_rng(7), random.Random(7)
    days = np.datetime64("2015-01-01") + numbers.integers(0, 4000, rows).astype("timedelta64[D]")
    seconds = np.datetime64("2015-01-01T00:00:00") + numbers.integers(0, 3 * 10**8, rows).astype("timedelta64[s]")
    octets = numbers.integers(0, 256, (rows, 4))
    moments = np.datetime64("2020-01-01T00:00:00.000") + numbers.integers(0, 10**11, rows).astype("timedelta64[ms]")
    parts = numbers.integers(0, [30, 30, 100], (rows, 3))
    places = numbers.uniform([-90, -180], [90, 180], (rows, 2))
    hosts = ["".join(plain.choices(string.ascii_lowercase, k=plain.randint(3, 10))) for _ in range(40)]
    calls = numbers.integers([0, 0, 1], [40, 10**7, 3000], (rows, 3))
    name = ("".join(plain.choices(string.ascii_lowercase, k=plain.randint(5, 14))) for _ in range(rows))
    return {
        "numbers": [str(number) for number in numbers.integers(0, 10**7, rows)],
        "amounts": [f"{cents / 100:.2f}" for cents in numbers.integers(0, 10**7, rows)],
        "dates": [str(day) for day in days],
        "times": [str(second).replace("T", " ") for second in seconds],
        "times with milliseconds": [str(moment) for moment in moments],
        "versions": [".".join(map(str, version)) for version in parts],
        "pairs of coordinates": [f"{latitude:.5f},{longitude:.5f}" for latitude, longitude in places],
        "lines of a log": [
            f"{str(second)[:16]}Z INFO [{hosts[host]}] request {request} took {took}ms"
            for second, (host, request, took) in zip(seconds, calls, strict=True)
        ],
        "decimals": [repr(round(float(value), 4)) for value in numbers.normal(0, 100, rows)],
        "IPv4 addresses": [".".join(map(str, address)) for address in octets],
        "UUIDs": [str(uuid.UUID(int=plain.getrandbits(128))) for _ in range(rows)],
        "identifiers": ["".join(plain.choices(string.ascii_letters + string.digits, k=16)) for _ in range(rows)],
        "hexadecimal": [f"{plain.getrandbits(64):016x}" for _ in range(rows)],
        "names in order": sorted(name),
    }


def measure(values: list[str], folder: Path) -> dict[str, Any]:
    """The encoding, bytes of both files, and nanoseconds to read them as strings and as views, for each value."""
    table = pa.table({"text": values})
    paths = {"printed": folder / "printed.staffa", "plain": folder / "plain.staffa"}
    staffa.write_table(table, paths["printed"])
    staffa.write_table(table, paths["plain"], encodings={"text": "plain"})
    files = {name: staffa.open(path) for name, path in paths.items()}
    found: dict[str, Any] = {f"{name} bytes": file.nbytes / len(values) for name, file in files.items()}
    blocks = files["printed"].explain().to_dict()["columns"][0]["blocks"]
    found["encoding"] = " or ".join(sorted({block["values"]["encoding"] for block in blocks}))
    for views in (False, True):
        times: dict[str, list[int]] = {name: [] for name in files}
        for _ in range(ROUNDS):
            for name, file in files.items():
                start = time.process_time_ns()
                file.to_table(string_views=views)
                times[name].append(time.process_time_ns() - start)
        for name, samples in times.items():
            found[f"{name} {'views' if views else 'strings'}"] = statistics.median(samples) / len(values)
    return found


def main() -> None:
    """Prints a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:  # noqa: PTH112
        for kind, values in texts(arguments.rows).items():
            print(f"{kind} ...", file=sys.stderr)
            results[kind] = measure(values, Path(folder))
    if arguments.json:
        print(json.dumps(results, indent=2))
        return
    print("| text | encoding | bytes, printed | plain | strings: ns | plain | ratio | views: ns | plain | ratio |")
    print("|---|---|" + "---:|" * 8)
    for kind, of in results.items():
        cells = [of["encoding"], f"{of['printed bytes']:.1f}", f"{of['plain bytes']:.1f}"]
        for form in ("strings", "views"):
            printed, plain = of[f"printed {form}"], of[f"plain {form}"]
            cells += [f"{printed:.1f}", f"{plain:.1f}", f"{printed / plain:.2f}"]
        print(f"| {kind} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
