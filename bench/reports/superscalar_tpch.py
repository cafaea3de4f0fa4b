# ruff: noqa: E501 (the lines of the report)
"""TPC-H uncompressed and compressed, by columns and by whole row groups, on two disks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import FOURTH, OURS, THEIRS, mean, save, table
from reports.posdb import medians

# Table 2: ratio by columns and by row groups; seconds by columns, uncompressed and compressed, then by row groups; at 80, at 350.
TABLE_2 = {
    "1": (4.33, 2.30, (307.2, 69.6, 1098.9, 480.3), (65.9, 50.9, 265.0, 103.0)),
    "3": (3.04, 1.66, (35.0, 11.3, 183.5, 113.6), (8.9, 6.0, 45.5, 27.0)),
    "4": (8.15, 1.82, (18.2, 2.4, 115.5, 65.9), (4.8, 1.8, 30.2, 16.5)),
    "5": (3.81, 2.24, (54.3, 15.3, 300.1, 155.9), (17.2, 16.2, 81.2, 36.7)),
    "6": (4.39, 2.25, (48.2, 10.7, 232.7, 104.3), (10.8, 4.6, 51.0, 22.5)),
    "7": (1.71, 2.01, (119.8, 72.0, 614.2, 349.4), (34.4, 40.8, 158.0, 76.5)),
    "11": (2.14, 1.08, (27.0, 14.6, 180.9, 162.2), (18.8, 18.5, 38.8, 35.6)),
    "14": (1.91, 1.94, (23.7, 12.2, 90.6, 46.9), (5.8, 4.9, 22.1, 11.5)),
    "15": (2.70, 2.13, (44.9, 22.4, 209.8, 97.1), (30.3, 31.2, 49.6, 40.0)),
    "18": (3.56, 2.75, (181.9, 50.6, 1379.7, 704.9), (38.9, 13.6, 419.9, 151.5)),
    "21": (4.11, 2.12, (197.6, 46.6, 1423.5, 759.2), (43.2, 24.2, 338.0, 157.6)),
}
KINDS = ("DSM, plain", "DSM", "PAX, plain", "PAX")


def report(measured: Any, plot: Path) -> str:
    """Super-Scalar RAM-CPU Cache Compression, table 2 and figure 8."""
    disks = {rate: {kind: medians(of["runs"][kind]) for kind in KINDS} for rate, of in measured["disks"].items()}
    figure, axes = plt.subplots(1, 2, figsize=(12, 3.4))
    parts = []
    for at, (axis, (rate, of)) in enumerate(zip(axes, disks.items(), strict=True)):
        numbers = sorted(of["DSM"], key=lambda query: int(query.removeprefix("Q")))
        for i, kind in enumerate(KINDS):
            places = [place + i * 0.21 for place in range(len(numbers))]
            bottom = [0.0] * len(numbers)
            for key, color in (("decode", OURS), ("rest", FOURTH), ("wait", THEIRS)):
                heights = [part(of[kind][number], key) for number in numbers]
                axis.bar(places, heights, 0.19, bottom=bottom, color=color, label=NAMES[key] if i == 0 else None)
                bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
        axis.set_xticks([place + 0.31 for place in range(len(numbers))], numbers, fontsize=8)
        axis.set_title(f"{rate} MB/s; plain and compressed, by columns, then by row groups", fontsize=9)
        axis.set_ylabel("s")
        axis.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.1))
        parts.append(f"## {rate} MB/s\n\n{one(of, numbers, 2 + at)}")
    image = save(figure, plot)
    slow, fast = (gains(of) for of in disks.values())
    theirs = [{n: (of[at][0] / of[at][1], of[at][2] / of[at][3]) for n, of in TABLE_2.items()} for at in (2, 3)]
    paper = [tuple(mean(of[n][i] for n in of) for i in (0, 1)) for of in theirs]
    bound = {rate: sum(1 for q in of["DSM"].values() if q["wait"] > q["seconds"] / 2) for rate, of in disks.items()}
    return f"""# TPC-H uncompressed and compressed on two disks

After "Super-Scalar RAM-CPU Cache Compression", table 2 and figure 8: the paper's eleven queries at scale factor {measured["scale"]:g} (the paper: 100) by
DataFusion, one thread for the queries and one that reads. `plain` has every column as it is, the others are as the writer chooses; comments
are compressed too, which the paper's codecs could not. DSM reads columns; PAX reads every row group of 65,536 rows with all its columns. The
disks are token buckets of 80 and 350 MB/s, the page cache is empty. A second is a second of the clock.

{image}

{(chr(10) * 2).join(parts)}

## What one learns

- By columns, compression makes the queries {slow[0]:.2f} times as fast at 80 MB/s and {fast[0]:.2f} times at 350 (the paper: {paper[0][0]:.2f} and {paper[1][0]:.2f}); by row groups {slow[1]:.2f}
  and {fast[1]:.2f} times (the paper: {paper[0][1]:.2f} and {paper[1][1]:.2f}). Geometric means.
- Compressed by columns, {bound["80"]} of {len(disks["80"]["DSM"])} queries wait for the disk more than half of their time at 80 MB/s, {bound["350"]} at 350.
"""


NAMES = {"decode": "decoding", "rest": "rest", "wait": "waiting"}


def part(query: dict[str, float], key: str) -> float:
    """Seconds of decoding, of waiting, or of the rest."""
    return query[key] if key != "rest" else max(query["seconds"] - query["wait"] - query["decode"], 0)


def gains(of: Any) -> tuple[float, float]:
    """How many times as fast compressed queries are, by columns and by row groups."""
    return (
        mean(of["DSM, plain"][n]["seconds"] / of["DSM"][n]["seconds"] for n in of["DSM"]),
        mean(of["PAX, plain"][n]["seconds"] / of["PAX"][n]["seconds"] for n in of["PAX"]),
    )


def one(of: Any, numbers: list[str], at: int) -> str:
    """One disk's table."""
    rows = []
    for number in numbers:
        kinds = [of[kind][number] for kind in KINDS]
        theirs = TABLE_2[number.removeprefix("Q")]
        dsm = kinds[1]
        speed = (dsm["decode"] and kinds[0]["bytes"] / dsm["decode"] / 1e6) or 0
        rows.append(
            (
                number,
                f"{kinds[0]['bytes'] / max(dsm['bytes'], 1):.2f}",
                f"{theirs[0]:.2f}",
                f"{speed:,.0f}",
                *(f"{kind['seconds']:.2f}" for kind in kinds),
                f"{kinds[0]['seconds'] / dsm['seconds']:.2f}",
                f"{theirs[at][0] / theirs[at][1]:.2f}",
                f"{kinds[2]['seconds'] / kinds[3]['seconds']:.2f}",
                f"{theirs[at][2] / theirs[at][3]:.2f}",
                *(f"{part(dsm, key) / dsm['seconds'] * 100:.0f}%" for key in ("decode", "rest", "wait")),
            )
        )
    head = (
        "query",
        "ratio",
        "paper",
        "decoded MB/s",
        "DSM, plain, s",
        "DSM, s",
        "PAX, plain, s",
        "PAX, s",
        "DSM gains",
        "paper",
    )
    return table((*head, "PAX gains", "paper", "decoding", "rest", "waiting"), rows)
