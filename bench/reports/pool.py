# ruff: noqa: E501 (the lines of the report)
"""The pool built up one encoding at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import OURS, THEIRS, THIRD, mean, save, table


def report(measured: Any, plot: Path) -> str:
    """BtrBlocks, figure 4."""
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.6))
    parts = []
    learned = []
    for axis, kind in zip(axes, measured, strict=True):
        rows, before = [], None
        names, ratios, speeds = [], [], []
        border = 0
        for i, step in enumerate(kind["steps"]):
            tables = step["tables"]
            arrow, size, scan, write = (sum(t[k] for t in tables) for k in ("arrow", "bytes", "scan", "write"))
            ratio = mean(t["arrow"] / t["bytes"] for t in tables)
            gain = "" if before is None else f"{(ratio / before - 1) * 100:+.0f}%"
            before = ratio
            name = ("+ " if i else "") + ", ".join(step["added"].split(" ")) if "all" not in step["added"] else ""
            name = name or "+ all others"
            name = "+ in terms of other columns" if step["added"] == "other columns" else name
            speed, total = arrow / scan / 1e9, arrow / size
            rows.append((name, f"{ratio:.2f}", gain, f"{total:.2f}", f"{speed:.2f}", f"{arrow / write / 1e6:.0f}"))
            names.append(name.replace("frame_of_reference", "FOR").replace("in terms of ", ""))
            ratios.append(ratio)
            speeds.append(speed)
            border = i if step["paper"] else border
        head = ("pool", "ratio", "gain", "ratio of all", "decode GB/s", "write MB/s")
        parts.append(f"## {kind['type']} ({len(kind['steps'][0]['tables'])} tables)\n\n{table(head, rows)}\n")
        axis.bar(range(len(names)), ratios, color=[OURS if i <= border else THIRD for i in range(len(names))])
        axis.set_xticks(range(len(names)), names, rotation=55, ha="right", fontsize=7)
        axis.set_title(kind["type"])
        axis.set_ylabel("compression ratio, geometric mean (bars)")
        other = axis.twinx()
        other.plot(range(len(names)), speeds, color=THEIRS, marker="o", markersize=3)
        other.set_ylim(0, max(speeds) * 1.15)
        other.set_ylabel("decode GB/s (line)")
        other.spines["right"].set_visible(True)
        learned.append(
            f"- {kind['type']}: the paper's pool reaches {ratios[border]:.2f} at {speeds[border]:.1f} GB/s, what came after it "
            f"{ratios[-2]:.2f} at {speeds[-2]:.1f}, with other columns {ratios[-1]:.2f} at {speeds[-1]:.1f}."
        )
    image = save(figure, plot)
    return f"""# The pool, one encoding at a time

After BtrBlocks, figure 4. Of every table the columns of one type (no dates, as in the paper), {f"{1 << 19:,}"} rows at
the most; what a step names is added to what was there. Ratio: Arrow bytes to bytes of the file, footer and all,
geometric mean over the tables, and of all bytes together. Decode: the whole table into batches (strings with offsets, copied: the paper's are views).
Nothing is verified on write. One core, CPU time, least of three scans. Bars in red: not in the paper's pool.

{image}

{chr(10).join(parts)}
## The paper's

Figure 4 is a plot; its text (section 6.2) says of Public BI: doubles: Dictionary +95%, Pseudodecimal +20%; strings:
Dictionary 7 times, FSST over the dictionary +51%; One Value decodes at 8.9 (doubles) and 11.8 GB/s (integers); Dictionary
takes strings from 9.4 to 19.6 GB/s. `bitpack` and `frame_of_reference` stand below doubles and strings from the start here
(codes and lengths need them), and `plain` has them for its lengths.

## What one learns

{chr(10).join(learned)}
- The gains of one encoding depend on what is there before it: `bench/results/without.md` has each against all others.
"""
