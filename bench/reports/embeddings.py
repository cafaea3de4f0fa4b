# ruff: noqa: E501 (the lines of the report)
"""Embeddings in columns and nested, beside other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import OURS, THEIRS, THIRD, save, table

KEYS = ("bytes", "write", "read")


def report(measured: Any, plot: Path) -> str:
    """Data Formats, figures 14 to 20."""
    layouts = measured["layouts"]
    names = list(layouts["nested"]["bytes"])
    raw = measured["bytes"]
    parts = []
    for layout, own in layouts.items():
        rows = [
            (
                name,
                f"{own['bytes'][name] / 1e6:.3f}",
                f"{own['bytes'][name] / own['bytes']['NumPy']:.3f}",
                f"{raw / own['write'][name] / 1e6:,.0f}",
                f"{raw / own['read'][name] / 1e6:,.0f}",
            )
            for name in ["NumPy", *(n for n in names if n != "NumPy")]
        ]
        parts.append(f"### {layout}\n\n{table(('format', 'MB', 'of NumPy', 'write MB/s', 'read MB/s'), rows)}\n")
    titles = ("size, NumPy as 1 (14, 15)", "write MB/s (17, 18)", "read MB/s (19, 20)")
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.8), sharey=True)
    for axis, key, title in zip(axes, KEYS, titles, strict=True):
        for offset, (layout, color) in zip((-0.2, 0.2), (("columnar", THEIRS), ("nested", OURS)), strict=True):
            own = layouts[layout]
            values = [own[key][n] / own["bytes"]["NumPy"] if key == "bytes" else raw / own[key][n] / 1e6 for n in names]
            axis.barh([i + offset for i in range(len(names))], values, 0.4, color=color, label=layout)
        if key == "bytes":
            axis.axvline(1, color=THIRD, linewidth=1)
        else:
            axis.set_xscale("log")
        axis.set_title(title)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    axes[2].legend(fontsize=7)
    image = save(figure, plot)
    nested, columnar = layouts["nested"], layouts["columnar"]
    exact = [n for n in names if ", to " not in n and not n.startswith(("NumPy", "Staffa"))]
    smallest = min(exact, key=lambda n: nested["bytes"][n])
    fastest = max(exact, key=lambda n: raw / nested["read"][n])
    rounded = [n for n in names if ", to " in n]
    return f"""# Embeddings

After "Data Formats in Analytical DBMSs", section 5.1.4, figures 14, 15, 17 to 20, by the Python packages of every format: {measured["rows"]:,} embeddings of Wikipedia passages, {measured["size"]} floats of 32 bits
each, {raw / 1e6:.1f} MB (the paper has 38 data sets of 256 to 4,096 dimensions, in all 18 GB as CSV). In columns: one for each dimension; nested: one column of lists of fixed size (ORC: of any size). Written from Arrow, read
into a NumPy matrix. "Split": Parquet's `BYTE_STREAM_SPLIT`. "To 1e-3": Staffa with `max_error`, everywhere else values come back to the bit. One core, CPU time with that of the system, medians, files in the page cache.

{image}

{chr(10).join(parts)}
## The paper's

Plots; the text: nested, no format compresses embeddings, ORC with zstd by less than 10%; without compression all are larger than NumPy. Parquet's dictionaries do harm, most with many columns. NumPy writes fastest; Feather reads
faster than it, Parquet like it, ORC is last in both. It asks for encodings of controlled precision.

## What one learns

- Nested, Staffa takes {nested["bytes"]["Staffa"] / nested["bytes"]["NumPy"]:.3f} of NumPy's bytes ({nested["bytes"]["Staffa, profile small"] / nested["bytes"]["NumPy"]:.3f} with the profile `small`), the smallest other ({smallest}) {nested["bytes"][smallest] / nested["bytes"]["NumPy"]:.3f}. Rounded: {", ".join(f"{n.split(', ')[1]} {nested['bytes'][n] / nested['bytes']['NumPy']:.3f}" for n in rounded)}.
- It reads at {raw / nested["read"]["Staffa"] / 1e6:,.0f} MB/s, NumPy at {raw / nested["read"]["NumPy"] / 1e6:,.0f}, the fastest other ({fastest}) at {raw / nested["read"][fastest] / 1e6:,.0f}; and writes at {raw / nested["write"]["Staffa"] / 1e6:,.0f} MB/s, Parquet with zstd at {raw / nested["write"]["Parquet zstd"] / 1e6:,.0f}.
- In columns writing takes {columnar["write"]["Staffa"] / nested["write"]["Staffa"]:.0f} times as long as nested, {columnar["write"]["Staffa, columns apart"] / nested["write"]["Staffa"]:.0f} times without the search for columns that tell others ("columns apart"), which looks at every pair of the {measured["size"]}. Parquet with zstd: {columnar["write"]["Parquet zstd"] / nested["write"]["Parquet zstd"]:.1f} times.
"""
