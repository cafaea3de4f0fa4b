# ruff: noqa: E501 (the lines of the report)
"""Selection vectors out of a column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import save, table

LINES = {
    "take": ("#2f6f8f", "-"),
    "take, opened anew": ("#2f6f8f", ":"),
    "filter": ("#3f9f6f", "-"),
    "decode all, then filter": ("#8f4b3f", "-"),
    "Arrow in memory": ("black", "--"),
    "Parquet uncompressed, selection": ("#c9a24b", ":"),
    "Parquet zstd, selection": ("#c9a24b", "-"),
    "Parquet uncompressed, filter": ("#b07ab0", ":"),
    "Parquet zstd, filter": ("#b07ab0", "-"),
}


def share(selected: float) -> str:
    """0.01%, 30%."""
    return f"{selected * 100:g}%"


def report(measured: Any, plot: Path) -> str:
    """Data Formats, figure 28."""
    figure, axes = plt.subplots(2, 2, figsize=(11, 8), sharex=True)
    parts = []
    for axis, column in zip(axes.flat, measured, strict=True):
        points = column["points"]
        for label, (color, style) in LINES.items():
            times = [p["seconds"][label] * 1e3 for p in points]
            axis.loglog([p["selected"] for p in points], times, style, color=color, label=label)
        axis.set_title(f"{column['column']} ({column['type']})")
        axis.set_ylabel("ms")
        cells = [(label, *(f"{p['seconds'][label] * 1e3:.2f}" for p in points)) for label in LINES]
        head = ("ms", *(share(p["selected"]) for p in points))
        mega = [column[key] / 1e6 for key in ("arrow", "bytes", "parquet", "parquet zstd")]
        parts.append(
            f"### {column['column']} ({column['type']})\n\n"
            f"Arrow {mega[0]:.1f} MB, Staffa {mega[1]:.1f}, Parquet {mega[2]:.1f}, with zstd {mega[3]:.1f}.\n\n{table(head, cells)}\n"
        )
    for axis in axes[1]:
        axis.set_xlabel("share of the rows that is selected")
    axes.flat[0].legend(fontsize=6)
    image = save(figure, plot)

    def factors(one: str, other: str, selected: float) -> str:
        """How many times as long one takes as the other, by column."""
        found = []
        for column in measured:
            seconds = next(p["seconds"] for p in column["points"] if p["selected"] == selected)
            found.append(seconds[one] / seconds[other])
        return f"{min(found):.2g} to {max(found):.2g}"

    def at(one: str, other: str) -> str:
        """Where one is slower than the other, by column."""
        found = []
        for column in measured:
            shares = [share(p["selected"]) for p in column["points"] if p["seconds"][one] > p["seconds"][other]]
            found += [f"{column['column']} at {' '.join(shares)}"] if shares else []
        return ", ".join(found) or "nowhere"

    peaks = []
    for column in measured:
        worst = max(column["points"], key=lambda p: p["seconds"]["Parquet uncompressed, selection"])
        peaks.append(f"{column['column']} {share(worst['selected'])}")
    return f"""# Selection vectors

After "Data Formats in Analytical DBMSs", section 6.2.3 and figure 28, there on one integer column of catalog_sales. Here four columns of TPC-H's
lineitem, {measured[0]["rows"]:,} rows: an integer, a decimal as double, one of seven strings, and comments. Beside each stands a column `x` of random numbers
below a million, and `x < k` selects the rows: random ones, as in the paper. All files are in memory, their footers read.

- **take**: the row numbers are given; the file is open and keeps its blocks (encoded). **Opened anew**: the file is opened in every round, footer and all.
- **filter**: `scan().filter("x < k")`; reads `x` on encoded data and the column where it matches.
- **decode all, then filter**: both columns decoded, then Arrow's `lt` and `filter`. **Arrow in memory**: the same kernels, nothing to decode.
- **Parquet**: crate parquet with its defaults and a page index, uncompressed and zstd (level 3). **Selection**: the rows as a `RowSelection` made beforehand.
  **Filter**: a `RowFilter` with Arrow's `lt` on `x`.

One core, CPU time, medians of five rounds in which all take turns, each once unmeasured and once measured; every result is compared with Arrow's. Results are held until a way is
done: of 50% and more of the comments, 30 MB and more, page faults are a part that varies from run to run.

{image}

{chr(10).join(parts)}
## The paper's

Figure 28 is a plot; its text says: Arrow Feather and ORC take the same time at every selectivity (all is loaded, then masked); Parquet, which decodes only what is
selected, is fastest up to 0.1%, ORC from about 1% on; Parquet is slowest at about 50%, where branches are mispredicted most.

## What one learns

- `take` of an open file, of the time of Parquet's selection with zstd (without): at 0.01% {factors("take", "Parquet zstd, selection", 0.0001)} ({factors("take", "Parquet uncompressed, selection", 0.0001)}), at 1% {factors("take", "Parquet zstd, selection", 0.01)}
  ({factors("take", "Parquet uncompressed, selection", 0.01)}), at 50% {factors("take", "Parquet zstd, selection", 0.5)} ({factors("take", "Parquet uncompressed, selection", 0.5)}). Opened anew, at 0.01% {factors("take, opened anew", "Parquet zstd, selection", 0.0001)} ({factors("take, opened anew", "Parquet uncompressed, selection", 0.0001)}), though Parquet's metadata is read
  beforehand. Slower than uncompressed Parquet: {at("take", "Parquet uncompressed, selection")}.
- The filter, of the time of Parquet's with zstd (without): at 0.01% {factors("filter", "Parquet zstd, filter", 0.0001)} ({factors("filter", "Parquet uncompressed, filter", 0.0001)}), at 1% {factors("filter", "Parquet zstd, filter", 0.01)} ({factors("filter", "Parquet uncompressed, filter", 0.01)}),
  at 50% {factors("filter", "Parquet zstd, filter", 0.5)} ({factors("filter", "Parquet uncompressed, filter", 0.5)}). Slower than uncompressed Parquet: {at("filter", "Parquet uncompressed, filter")}.
- The filter beside Arrow's kernels on the table in memory: {factors("filter", "Arrow in memory", 0.0001)} times their time at 0.01%, {factors("filter", "Arrow in memory", 0.01)} at 1%, {factors("filter", "Arrow in memory", 0.5)} at 50%.
  Faster than they: {at("Arrow in memory", "filter")}.
- The filter against decoding all and then filtering: slower for {at("filter", "decode all, then filter")}.
- `take` of the list against decoding all (with `x`) and filtering: slower for {at("take", "decode all, then filter")}.
- Parquet's selection is slowest at: {", ".join(peaks)} (uncompressed); from 3% on
  the crate applies a mask, below it goes from run to run.
"""
