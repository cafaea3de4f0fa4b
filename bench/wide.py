"""Wide tables beside Parquet by pyarrow: size and writing, 2,000 columns of 1,000 rows and 400 of 20,000; what a read
of a few columns or rows costs, 1,000 and 4,000 columns.

Five kinds of generated tables: readings of sensors, mixed columns, columns that are mostly NULL, flags,
answers to a survey. CPU time of one core, the least of interleaved rounds; Zstandard 3.

python bench/wide.py
python bench/wide.py --tables FOLDER_OF_PARQUET_TABLES      # wide tables of one's own instead
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

os.sched_setaffinity(0, {0})

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402
import pyarrow.dataset as ds  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

import staffa  # noqa: E402

pa.set_cpu_count(1)

Random = np.random.Generator
Columns = Iterator[pa.Array]
SYLLABLES = np.array(
    ["ka", "ro", "mi", "ten", "sa", "lo", "vu", "per", "an", "di", "or", "el", "ma", "tis", "gra", "bo"]
)
ANSWERS = np.array(["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"])


def names(random: Random, count: int) -> np.ndarray:
    """Names of two to four syllables."""
    words = ("".join(SYLLABLES[random.integers(0, 16, random.integers(2, 5))]) for _ in range(count))
    return np.array([word.capitalize() for word in words])


def sensors(rows: int, random: Random) -> Columns:
    """Eight readings of each device: four near the same, a unit converted, steps, noise, rare events."""
    while True:
        base = np.cumsum(random.normal(0, 0.3, rows)) + random.uniform(10, 90)
        for i in range(4):
            mask = random.random(rows) < 0.02 if i == 0 else None
            yield pa.array(np.round(base + random.normal(0, 0.2, rows), 2), mask=mask)
        yield pa.array(np.round(base * 1.8 + 32, 1))
        yield pa.array(np.round(np.repeat(random.normal(50, 9, rows // 50 + 1), 50)[:rows], 3))
        yield pa.array(random.normal(0, 1, rows))
        yield pa.array(np.where(random.random(rows) < 0.97, 0.0, np.round(random.exponential(5, rows), 2)))


def mixed(rows: int, random: Random) -> Columns:
    """Keys and their names, numbers, categories, prices, dates, flags, codes."""
    states = np.array(["new", "open", "paid", "sent", "done"])
    while True:
        keys, called = random.integers(0, 500, rows), names(random, 500)
        yield pa.array(np.arange(rows) * 3 + random.integers(0, 3, rows))
        yield pa.array(keys.astype("int32"))
        yield pa.array(called[keys].tolist())
        yield pa.array(random.integers(0, 10**9, rows))
        yield pa.array(states[random.choice(5, rows, p=[0.05, 0.15, 0.5, 0.2, 0.1])].tolist())
        yield pa.array(np.round(random.gamma(2, 30, rows), 2))
        yield pa.array((18_000 + np.sort(random.integers(0, 1500, rows))).astype("int32"), pa.date32())
        yield pa.array(random.random(rows) < 0.3)
        yield pa.array(random.poisson(3, rows).astype("int16"))
        codes = zip(random.choice(["EU", "US", "AP"], rows), random.integers(0, 99_999, rows), strict=True)
        yield pa.array([f"{region}-{number:05d}" for region, number in codes])


def sparse(rows: int, random: Random) -> Columns:
    """Columns of which 80% to 99.8% are NULL."""

    def null() -> np.ndarray:
        return random.random(rows) >= random.choice([0.002, 0.01, 0.05, 0.2])

    while True:
        yield pa.array(random.integers(0, 1000, rows), mask=null())
        yield pa.array(np.round(random.normal(100, 20, rows), 1), mask=null())
        yield pa.array(names(random, 50)[random.integers(0, 50, rows)].tolist(), pa.string(), mask=null())
        yield pa.array(random.integers(0, 2, rows).astype("int8"), mask=null())


def flags(rows: int, random: Random) -> Columns:
    """Categories, one flag for each value: booleans, bytes, integers."""
    types = [pa.bool_(), pa.int8(), pa.int64()]
    count = 0
    while True:
        values = int(random.integers(3, 25))
        category = random.choice(values, rows, p=random.dirichlet(np.ones(values) * 0.6))
        for value in range(values):
            yield pa.array(category == value).cast(types[count % 3])
            count += 1


def survey(rows: int, random: Random) -> Columns:
    """Answers from 1 to 5, as numbers and as text, ages, remarks; blocks of questions that some skip."""
    mood = random.normal(0, 1, rows)
    while True:
        skipped = random.random(rows) < random.choice([0, 0.1, 0.6])
        for i in range(12):
            answers = np.round(3 + mood * random.uniform(0.2, 1) + random.normal(0, 1, rows))
            answers = np.clip(answers, 1, 5).astype("int8")
            if i % 6 < 3:
                yield pa.array(np.where(random.random(rows) < 0.04, -9, answers).astype("int8"), mask=skipped)
            elif i % 6 == 3:
                yield pa.array(ANSWERS[answers - 1].tolist(), pa.string(), mask=skipped)
            elif i % 6 == 4:
                yield pa.array(np.clip(random.normal(45, 16, rows), 18, 99).astype("int64"), mask=skipped)
            else:
                remarks = names(random, 300)[random.integers(0, 300, rows)]
                yield pa.array(np.where(random.random(rows) < 0.9, "", remarks).tolist())


KINDS: list[Callable[[int, Random], Columns]] = [sensors, mixed, sparse, flags, survey]


def generated() -> Iterator[tuple[str, pa.Table]]:
    """Every kind in both shapes."""
    for kind in KINDS:
        for columns, rows in ((2000, 1000), (400, 20_000)):
            arrays = kind(rows, np.random.default_rng(7))
            yield f"{kind.__name__} {columns} x {rows}", pa.table({f"c{i}": next(arrays) for i in range(columns)})


def stored(folder: Path) -> Iterator[tuple[str, pa.Table]]:
    """The Parquet tables of a folder."""
    for path in sorted(folder.glob("*.parquet")):
        yield path.stem, pq.read_table(path)


def seconds(run: Callable[..., object], *args: object, **options: object) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    run(*args, **options)
    return time.process_time() - start


def reads(parquet: str, own: str) -> Iterator[tuple[str, Callable[[], object], Callable[[], object]]]:
    """Reads by pyarrow and by Staffa, whose files are opened for each."""
    equal = pc.field("c5") == 50
    yield "open a dataset", lambda: ds.dataset(parquet), lambda: staffa.dataset(own)
    yield (
        "a column, filtered",
        lambda: pq.read_table(parquet, columns=["c6"], filters=[("c5", "=", 50)]),
        lambda: staffa.open(own).to_table(columns=["c6"], filter=[("c5", "=", 50)]),
    )
    theirs, ours = ds.dataset(parquet), staffa.dataset(own)
    yield (
        "the same of a dataset",
        lambda: theirs.to_table(columns=["c6"], filter=equal),
        lambda: ours.to_table(columns=["c6"], filter=equal),
    )
    yield "rows counted, filtered", lambda: theirs.count_rows(equal), lambda: ours.count_rows(equal)
    yield "all of a dataset", theirs.to_table, ours.to_table
    yield "a row by number", lambda: theirs.take([50]), lambda: ours.take([50])


def print_reads(folder: str, rounds: int) -> None:
    """Reads of 100 rows of many columns: time that grows faster than the columns shows here."""
    parquet, own = f"{folder}/r.parquet", f"{folder}/r.staffa"
    lines: dict[str, list[str]] = {}
    for columns in (1000, 4000):
        table = pa.table({f"c{i}": range(i, i + 100) for i in range(columns)})
        pq.write_table(table, parquet, compression="zstd")
        staffa.write_table(table, own)
        for name, theirs, ours in reads(parquet, own):
            pairs = [(seconds(theirs), seconds(ours)) for _ in range(rounds)]
            their, our = (min(column) * 1e3 for column in zip(*pairs, strict=True))
            lines.setdefault(name, []).append(f"{columns} columns {our:8.2f} ms (pyarrow {their:8.2f})")
    for name, found in lines.items():
        print(f"{name:24}", "  ".join(found))


def main() -> None:
    """Prints a line per table and the geometric means."""
    parser = argparse.ArgumentParser(description="Wide tables beside Parquet by pyarrow: size, writing, small reads.")
    parser.add_argument("--tables", type=Path, help="a folder of Parquet tables instead of generated ones")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        parquet, own = f"{folder}/t.parquet", f"{folder}/t.staffa"
        for name, table in stored(args.tables) if args.tables else generated():
            times: list[tuple[float, float]] = []
            for _ in range(args.rounds):
                theirs = seconds(pq.write_table, table, parquet, compression="zstd", compression_level=3)
                times.append((theirs, seconds(staffa.write_table, table, own)))
            theirs, ours = (min(column) for column in zip(*times, strict=True))
            if not staffa.open(own).to_table().equals(table):
                raise SystemExit(f"{name}: what was read is not what was written")
            size = Path(own).stat().st_size / Path(parquet).stat().st_size
            rows.append((size, theirs / ours))
            print(f"{name:24} size {size:.3f}  write x{theirs / ours:.2f}  {table.nbytes / ours / 1e6:.0f} MB/s")
        print_reads(folder, args.rounds)
    size, speed = (math.exp(statistics.fmean(map(math.log, column))) for column in zip(*rows, strict=True))
    print(f"geometric means: size {size:.3f}, write x{speed:.2f}")


if __name__ == "__main__":
    main()
