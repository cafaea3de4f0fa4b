# ruff: noqa: E501 (the lines of the report)
"""Splits read by engines with processes of their own, beside Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import OURS, THEIRS, save, table

KINDS = {"Staffa": OURS, "Parquet": THEIRS}
HOW = {
    "Spark": "`staffa.spark_source` in `local[2]`; beside it the same source over pyarrow and Parquet",
    "Ray": "`staffa.ray.read`, two workers; beside it `ray.data.read_parquet`",
    "Daft": "`staffa.daft.read`; beside it `daft.read_parquet`, in Rust",
}


def report(measured: Mapping[str, Any], plot: Path) -> str:
    """The page; the plot shows CPU seconds."""
    engines = measured["engines"]
    rows = []
    for engine, queries in engines.items():
        for query, found in queries.items():
            ours, theirs = found["Staffa"], found["Parquet"]
            rows.append(
                [
                    *[engine, query],
                    *[f"{found[kind][what]:.2f}" for what in ("wall", "cpu") for kind in KINDS],
                    *[f"{theirs[what] / ours[what]:.1f}" for what in ("wall", "cpu")],
                ]
            )
    _draw(engines, plot)
    sizes = measured["bytes"]
    head = [
        "engine",
        "read",
        "Staffa, s",
        "Parquet, s",
        "Staffa, CPU s",
        "Parquet, CPU s",
        "times as fast",
        "by CPU time",
    ]
    return f"""# Splits read by engines with processes of their own

Lineitem of TPC-H at scale factor 1: {sizes["staffa"] / 1e6:.0f} MB as Staffa, {sizes["parquet"] / 1e6:.0f} MB as Parquet with Zstd, both in row groups of 1,048,576 rows. Medians of {measured["rounds"]} rounds after one that does not count, the formats in turn. CPU seconds are those of all processes of the engine. The filter selects one year of ship dates, 15% of the rows.

{table(head, rows)}

{chr(10).join(f"- {engine}: {HOW[engine]}." for engine in engines)}

![CPU seconds]({plot.name})
"""


def _draw(engines: Mapping[str, Any], plot: Path) -> None:
    figure, axes = plt.subplots(1, len(engines), figsize=(4 * len(engines), 3), squeeze=False)
    for axis, (engine, queries) in zip(axes[0], engines.items(), strict=True):
        for at, (kind, color) in enumerate(KINDS.items()):
            heights = [found[kind]["cpu"] for found in queries.values()]
            axis.bar([x + 0.4 * at for x in range(len(heights))], heights, 0.4, color=color, label=kind)
        axis.set_xticks(
            [x + 0.2 for x in range(len(queries))], [query.replace(", ", ",\n") for query in queries], fontsize=7
        )
        axis.set_title(engine)
        axis.set_ylabel("CPU seconds")
    axes[0][0].legend(frameon=False)
    save(figure, plot)
