# ruff: noqa: E501 (the lines of the report)
"""Queries over tables whose integers are in one encoding: size against time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import OURS, THEIRS, mean, save, table
from reports.posdb import medians


def report(measured: Any, plot: Path) -> str:
    """Lightweight integer compression in Hyrise, figures 5, 6 and 10, section 6."""
    figure, axes = plt.subplots(1, len(measured), figsize=(6 * len(measured), 3.6), squeeze=False)
    parts = []
    for axis, (name, of) in zip(axes[0], measured.items(), strict=True):
        runs = {encoding: medians(runs) for encoding, runs in of["runs"].items()}
        times = {encoding: sum(query["cpu"] for query in queries.values()) for encoding, queries in runs.items()}
        sizes = {encoding: size / 1e6 for encoding, size in of["integers"].items()}
        for encoding, time in times.items():
            axis.scatter(sizes[encoding], time, color=OURS if encoding in ("chosen", "random") else THEIRS)
            axis.annotate(encoding, (sizes[encoding], time), fontsize=7, xytext=(3, 3), textcoords="offset points")
        axis.set_xlabel("integer columns, MB")
        axis.set_ylabel("CPU seconds of all queries")
        axis.set_title(name, fontsize=9)
        parts.append(benchmark(name, runs, times, sizes, of))
    image = save(figure, plot)
    return f"""# Integers by encoding: size against time of queries

After "Evaluating Lightweight Integer Compression Algorithms in Column-Oriented In-Memory DBMS" (Hyrise), figures 5, 6 and 10, and section 6. All integer
columns of a table are in one encoding, the chooser takes the other columns (Hyrise: dictionaries); `chosen` leaves the integers to the
chooser, too, and `random` to `access="random"`, which prefers encodings that decode single rows. Staffa is no in-memory store: each query
decodes what it reads out of the page cache, once; Hyrise's encodings are looked up in at random as well, which is why its dictionaries lose.
DataFusion, one partition, CPU time, medians of rounds in which the encodings take turns. The Join Order Benchmark's data are not to be had.

{image}

{(chr(10) * 2).join(parts)}
"""


def benchmark(name: str, runs: Any, times: dict[str, float], sizes: dict[str, float], of: Any) -> str:
    """One benchmark's table."""
    base = "dictionary"
    rows = []
    for encoding, time in sorted(times.items(), key=lambda item: item[1]):
        worst = max(runs[encoding], key=lambda query: runs[encoding][query]["cpu"] / runs[base][query]["cpu"])
        ratio = runs[encoding][worst]["cpu"] / runs[base][worst]["cpu"]
        decode = sum(query["decode"] for query in runs[encoding].values())
        rows.append(
            (
                f"`{encoding}`",
                f"{sizes[encoding]:.1f}",
                f"{sizes[encoding] / sizes[base]:.2f}",
                f"{of['bytes'][encoding] / 1e6:.1f}",
                f"{time:.2f}",
                f"{time / times[base]:.3f}",
                f"{decode:.2f}",
                f"{worst} ({ratio:.2f})",
            )
        )
    head = (
        "encoding",
        "integers, MB",
        "of dictionary",
        "all, MB",
        "CPU s",
        "of dictionary",
        "decoding s",
        "worst query",
    )
    chosen, access = (mean(q["cpu"] / runs[base][n]["cpu"] for n, q in runs[e].items()) for e in ("chosen", "random"))
    return f"""## {name}

{table(head, rows)}

- {len(runs[base])} queries, {of["rounds"]} rounds. The chooser takes {sizes["chosen"] / sizes[base]:.2f} of the bytes of dictionaries and {chosen:.2f} of the time (geometric mean of queries);
  the paper's best take 0.47 of the bytes of its dictionaries and 0.84 to 0.95 of the time in TPC-H.
- `access="random"` takes {sizes["random"] / sizes["chosen"]:.2f} of the bytes of the default, and {access / chosen:.2f} of its time: queries of this kind read blocks whole."""
