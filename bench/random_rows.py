"""100 random rows of six generated tables: Staffa beside Lance and Vortex.

    python bench/random_rows.py [--rows 100] [--rounds 15] [--out results/random_rows.md]

Numbers like those of taxi trips, vectors of 1,024 floats, lists of structs, nested structs, texts of 2 KB and blobs of
20 KB; rows drawn from the whole table (uniform) or from ten places (clustered); the file open already, or opened anew.
The formats take turns with the same rows; the median of their CPU times counts, threads included. Files lie in memory
(/dev/shm) where there is one. What each returns is compared with the table before. `pip install pylance vortex-data`.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import staffa

Take = Callable[[list[int]], pa.Table]


def taxi(generator: np.random.Generator) -> pa.Table:
    """Numbers as taxi trips have them."""
    rows = 1_000_000
    pickup = np.sort(generator.integers(0, 31 * 86_400, rows)) * 1_000_000 + 1_704_067_200_000_000
    minutes = generator.gamma(2.0, 7.0, rows)
    distance = np.round(minutes * generator.normal(0.2, 0.05, rows).clip(0.01), 2)
    fare = np.round(3 + distance * 2.5, 1)
    tip = np.where(generator.random(rows) < 0.6, np.round(fare * generator.choice([0.15, 0.2, 0.25], rows), 2), 0.0)
    dropoff = pickup + (minutes * 60_000_000).astype(np.int64)
    return pa.table(
        {
            "pickup": pa.array(pickup, pa.timestamp("us")),
            "dropoff": pa.array(dropoff, pa.timestamp("us")),
            "passengers": pa.array(generator.integers(1, 6, rows), pa.int8()),
            "distance": distance,
            "from": pa.array(generator.zipf(1.3, rows) % 265, pa.int16()),
            "to": pa.array(generator.zipf(1.3, rows) % 265, pa.int16()),
            "fare": fare,
            "tip": tip,
            "total": np.round(fare + tip + 0.5, 2),
        }
    )


def vectors(generator: np.random.Generator) -> pa.Table:
    """Embeddings of 1,024 floats."""
    rows, width = 20_000, 1_024
    values = pa.array(generator.normal(size=rows * width).astype(np.float32))
    return pa.table({"id": np.arange(rows), "vector": pa.FixedSizeListArray.from_arrays(values, width)})


def lists_of_structs(generator: np.random.Generator) -> pa.Table:
    """Lists of a few structs each."""
    lengths = generator.integers(0, 12, 200_000)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    items = pa.StructArray.from_arrays(
        [
            pa.array(generator.integers(0, 5_000, ends[-1])),
            pa.array(np.round(generator.gamma(2, 10, ends[-1]), 2)),
            pa.array(np.array(["new", "used", "repaired"])[generator.integers(0, 3, ends[-1])]),
        ],
        ["product", "price", "state"],
    )
    return pa.table(
        {"order": np.arange(len(lengths)), "items": pa.ListArray.from_arrays(pa.array(ends, pa.int32()), items)}
    )


def nested_structs(generator: np.random.Generator) -> pa.Table:
    """Structs in structs."""
    rows = 300_000
    place = pa.StructArray.from_arrays(
        [pa.array(generator.normal(56.4, 0.2, rows)), pa.array(generator.normal(-5.5, 0.2, rows))], ["lat", "lon"]
    )
    device = pa.StructArray.from_arrays(
        [pa.array(generator.integers(0, 900, rows)), pa.array([f"v1.{i % 7}" for i in range(rows)]), place],
        ["id", "version", "place"],
    )
    return pa.table({"at": np.arange(rows), "device": device, "value": generator.normal(size=rows)})


def texts(generator: np.random.Generator, rows: int = 20_000, size: int = 2_000) -> pa.Table:
    """Texts of words, of 2 KB each."""
    letters = np.array(list("etaoinshrdlucmfwyp"))
    words = np.array(["".join(generator.choice(letters, n)) for n in generator.integers(2, 10, 5_000)])
    drawn = words[np.minimum(generator.exponential(600, (rows, size // 6)).astype(int), 4_999)]
    return pa.table({"id": np.arange(rows), "text": [" ".join(row)[:size] for row in drawn]})


def blobs(generator: np.random.Generator) -> pa.Table:
    """Bytes without a pattern, 20 KB each."""
    return pa.table({"id": np.arange(3_000), "blob": [generator.bytes(20_000) for _ in range(3_000)]})


TABLES = {
    "numbers (taxi)": taxi,
    "vectors": vectors,
    "lists of structs": lists_of_structs,
    "nested structs": nested_structs,
    "texts, 2 KB": texts,
    "blobs, 20 KB": blobs,
}


def formats(table: pa.Table, folder: Path) -> tuple[dict[str, tuple[Callable[[], Take], Take]], dict[str, int]]:
    """For each format how it is opened, and a handle that is open already; and bytes of its file."""
    found: dict[str, Callable[[], Take]] = {}
    for access in ("scan", "random"):
        path = folder / f"{access}.staffa"
        staffa.write_table(table, path, access=access)

        def opened(path: Path = path) -> Take:
            file = staffa.open(path)
            return lambda rows: file.take(rows, string_views=True)

        found["Staffa" if access == "scan" else "Staffa, random"] = opened
    found["Lance 2.3"] = lance(table, folder / "t.lance")
    found["Vortex"] = vortex(table, folder / "t.vortex")
    names = {"Staffa": "scan.staffa", "Staffa, random": "random.staffa", "Lance 2.3": "t.lance", "Vortex": "t.vortex"}
    sizes = {name: (folder / file).stat().st_size for name, file in names.items()}
    return {name: (each, each()) for name, each in found.items()}, sizes


def lance(table: pa.Table, path: Path) -> Callable[[], Take]:
    """A file of Lance."""
    from lance.file import LanceFileReader, LanceFileWriter

    with LanceFileWriter(str(path), table.schema, version="2.3") as writer:
        writer.write_batch(table)

    def opened() -> Take:
        reader = LanceFileReader(str(path))
        return lambda rows: reader.take_rows(rows, batch_size=len(rows)).to_table()

    return opened


def vortex(table: pa.Table, path: Path) -> Callable[[], Take]:
    """A file of Vortex."""
    import vortex as vx
    import vortex.io

    vortex.io.write(table, str(path))

    def opened() -> Take:
        file = vx.open(str(path), memory_map=True)
        return lambda rows: file.to_arrow(indices=vx.array(pa.array(rows, pa.uint64()))).read_all()

    return opened


def draw(generator: np.random.Generator, count: int, rows: int, clustered: bool) -> list[int]:
    """Distinct rows in order, as Vortex wants them."""
    if not clustered:
        return sorted(generator.choice(count, rows, replace=False).tolist())
    places = generator.integers(0, count - rows // 10, 10)
    return sorted({int(place) + i for place in places for i in range(rows // 10)})


def measure(table: pa.Table, folder: Path, rows: int, rounds: int) -> tuple[list[list[Any]], dict[str, int]]:
    """Median CPU times in microseconds, by kind of access and format."""
    handles, sizes = formats(table, folder)
    generator = np.random.default_rng(7)
    plain = draw(generator, table.num_rows, rows, False)
    for name, (_, take) in handles.items():
        taken = take(plain)
        if taken.cast(table.schema) != table.take(plain).cast(table.schema):
            raise SystemExit(f"{name} returned other rows")
    lines = []
    for clustered in (False, True):
        for anew in (False, True):
            times: dict[str, list[float]] = {name: [] for name in handles}
            for _ in range(rounds):
                wanted = draw(generator, table.num_rows, rows, clustered)
                for name, (opened, take) in handles.items():
                    start = time.process_time()
                    (opened() if anew else take)(wanted)
                    times[name].append((time.process_time() - start) * 1e6)
            kind = f"{'clustered' if clustered else 'uniform'}, {'opened anew' if anew else 'open'}"
            lines.append([kind, {name: statistics.median(each) for name, each in times.items()}])
    return lines, sizes


def main() -> None:
    """Measures, prints, and writes a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--tables", nargs="*", default=list(TABLES), help=", ".join(TABLES))
    parser.add_argument("--out", type=Path, help="a Markdown file")
    given = parser.parse_args()
    out, ratios = [], {"Lance 2.3": [], "Vortex": []}
    for name in given.tables:
        table = TABLES[name](np.random.default_rng(1))
        with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
            lines, sizes = measure(table, Path(folder), given.rows, given.rounds)
        for kind, times in lines:
            best = min(times["Staffa"], times["Staffa, random"])
            cells = [f"{times[each]:,.0f}" for each in times]
            for peer, each in ratios.items():
                each.append(times[peer] / times["Staffa, random"])
                cells.append(f"{each[-1]:.1f}")
            out.append(f"| {name} | {kind} | " + " | ".join(cells) + " |")
            print(out[-1], f"(best {best:,.0f})", flush=True)
        print(name, {each: f"{size / 1e6:.1f} MB" for each, size in sizes.items()}, flush=True)
    for peer, each in ratios.items():
        mean = math.exp(statistics.fmean(map(math.log, each)))
        out.append(
            f'\n{peer} takes {mean:.2f} times the time of `access="random"` (geometric mean), at least {min(each):.2f}.'
        )
        print(out[-1])
    if given.out:
        head = "| table | rows | Staffa, µs | Staffa, random | Lance 2.3 | Vortex | Lance / ours | Vortex / ours |\n"
        given.out.write_text(
            "# 100 random rows\n\n" + head + "|---|---|---|---|---|---|---|---|\n" + "\n".join(out) + "\n"
        )


if __name__ == "__main__":
    main()
