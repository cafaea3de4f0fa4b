# ruff: noqa: E501 (the lines of the report)
"""Types by volume and ratio."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import OURS, THEIRS, THIRD, save, table

PBI = {
    "Parquet": (7.10, 1.99, 5.73, 3.37),
    "+LZ4": (12.05, 2.16, 6.07, 4.72),
    "+Snappy": (12.23, 2.15, 6.05, 4.79),
    "+Zstd": (17.13, 2.30, 6.97, 6.05),
    "BtrBlocks": (11.32, 2.36, 6.70, 5.28),
}
TPCH = {
    "Parquet": (1.63, 2.35, 1.45, 1.69),
    "+LZ4": (3.65, 2.94, 1.49, 2.77),
    "+Snappy": (3.92, 2.91, 1.49, 2.85),
    "+Zstd": (5.27, 2.87, 1.74, 3.41),
    "BtrBlocks": (4.26, 4.58, 2.46, 3.79),
}


def report(measured: Any, plot: Path) -> str:
    """BtrBlocks, table 2."""
    formats = ["Parquet", "+LZ4", "+Snappy", "+Zstd", "Staffa"]
    papers = {"open tables": ("Public BI", PBI), "TPC-H": ("TPC-H", TPCH)}
    parts, learned = [], []
    figure, axes = plt.subplots(1, len(measured), figsize=(5.5 * len(measured), 4), squeeze=False)
    for axis, (name, both) in zip(axes[0], measured.items(), strict=True):
        bytes_of: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for column in both["staffa"]:
            sizes = both["parquet"].get(f"{column['table']}/{column['column']}", {})
            for label, size in {"Arrow": column["arrow"], "Staffa": column["staffa"], **sizes}.items():
                bytes_of[label][column["class"]] += size
        classes = [c for c in ("string", "double", "integer") if c in bytes_of["Arrow"]]
        classes += sorted(set(bytes_of["Arrow"]) - set(classes))
        rows = []
        for label in ("Arrow", *formats):
            total = sum(bytes_of[label].values())
            cells = [label]
            for c in classes:
                size = bytes_of[label][c]
                cells += [
                    f"{size / total * 100:.1f}",
                    f"{bytes_of['Arrow'][c] / size:.2f}" if label != "Arrow" else "-",
                ]
            rows.append((*cells, f"{sum(bytes_of['Arrow'].values()) / total:.2f}" if label != "Arrow" else "-"))
        head = ["format", *(f"{c} {what}" for c in classes for what in ("%", "x")), "combined x"]
        volume = sum(bytes_of["Arrow"].values()) / 1e6
        parts.append(f"## {name} ({volume:.0f} MB as Arrow): share of bytes, and ratio\n\n{table(head, rows)}\n")
        whose, figures = papers[name]
        cells = [(label, *(f"{x:.2f}" for x in ratios)) for label, ratios in figures.items()]
        parts.append(
            f"The paper's ratios, {whose}:\n\n{table(('format', 'string', 'double', 'integer', 'combined'), cells)}\n"
        )
        for i, label in enumerate(formats):
            ratios = [bytes_of["Arrow"][c] / bytes_of[label][c] for c in classes[:3]]
            shades = ["#d9d2c0", "#cbbf9c", THEIRS, THIRD, OURS]
            axis.bar([k + (i - 2) * 0.16 for k in range(len(ratios))], ratios, 0.15, label=label, color=shades[i])
        axis.set_xticks(range(len(classes[:3])), classes[:3])
        axis.set_ylabel("compression ratio")
        axis.set_title(name)
        axis.legend(fontsize=7)
        against = {c: bytes_of["+Zstd"][c] / bytes_of["Staffa"][c] for c in classes}
        said = ", ".join(f"{c} {factor:.2f}" for c, factor in against.items())
        learned.append(f"- {name}: Parquet with Zstd takes so many times Staffa's bytes: {said}.")
    image = save(figure, plot)
    return f"""# Types by volume and ratio

After BtrBlocks, table 2. Bytes of column data alone, without footers, of all tables together: large tables weigh most. Parquet by
pyarrow with its defaults, Zstd at level 3; Staffa with profile `balanced`, columns in terms of others included. TPC-H: two
million rows of a table at the most, decimals as doubles, as in the paper. The binary form is Arrow's (the paper's was its own).

{image}

{chr(10).join(parts)}
## What one learns

{chr(10).join(learned)}
"""
