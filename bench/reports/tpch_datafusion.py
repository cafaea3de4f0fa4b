# ruff: noqa: E501 (the lines of the report)
"""TPC-H by DataFusion, over Parquet, Staffa and Arrow in memory."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import matplotlib.pyplot as plt

from reports.common import FOURTH, OURS, THEIRS, THIRD, save, table

KINDS = {
    "parquet": "Parquet",
    "parquet_pushdown": "Parquet, filters pushed",
    "staffa": "Staffa",
    "memory": "Arrow in memory",
}


def report(measured: Any, plot: Path) -> str:
    """A table, and a bar for each query."""
    queries = dict(sorted(measured["queries"].items(), key=lambda query: int(query[0])))
    times = {number: {kind: median(query[kind]) for kind in KINDS} for number, query in queries.items()}
    total = {kind: sum(query[kind] for query in times.values()) for kind in KINDS}
    better = min(("parquet", "parquet_pushdown"), key=total.__getitem__)
    rows = []
    for number, time in [*times.items(), ("all", total)]:
        same = all(query["same"] and query["as_duckdb"] for at, query in queries.items() if number in (at, "all"))
        cells = [f"{time[kind] * 1000:,.0f}" for kind in KINDS]
        shares = [f"{time[kind] / time[better]:.2f}" for kind in ("staffa", "memory")]
        rows.append((number, *cells, *shares, "yes" if same else "**no**"))
    head = ("query", *(f"{name}, ms" for name in KINDS.values()), "Staffa / Parquet", "memory / Parquet", "as DuckDB's")
    figure, axis = plt.subplots(figsize=(12, 3.2))
    for i, (kind, color) in enumerate(zip(KINDS, (THEIRS, FOURTH, OURS, THIRD), strict=True)):
        heights = [time[kind] * 1000 for time in times.values()]
        axis.bar([at + i * 0.21 for at in range(len(times))], heights, 0.21, color=color, label=KINDS[kind])
    axis.set_xticks([at + 0.31 for at in range(len(times))], list(times), fontsize=8)
    axis.set_ylabel("ms")
    axis.legend(frameon=False)
    image = save(figure, plot)
    slower = ", ".join(
        f"{number} ({time['staffa'] / time[better]:.2f})"
        for number, time in times.items()
        if time["staffa"] > time[better]
    )
    size = measured["bytes"]["staffa"] / measured["bytes"]["parquet"]
    return f"""# TPC-H by DataFusion 55: Staffa beside Parquet

The 22 queries of TPC-H, one partition, CPU time of the process, medians of {measured["rounds"]} rounds in which the kinds take turns, files
in the page cache: Parquet with Zstandard, without and with `pushdown_filters`; Staffa with the defaults; the same tables in memory,
which prune nothing and take no dynamic filters. Shares are of the better of the two Parquets in total: {KINDS[better]}.

- Staffa takes {total["staffa"] / total[better]:.2f} of Parquet's time; Arrow in memory {total["memory"] / total[better]:.2f}.
- Staffa's files have {size:.2f} of Parquet's bytes.
- Slower than Parquet: {slower or "none"}.

{image}

{table(head, rows)}
"""
