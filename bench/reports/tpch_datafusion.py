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
    """A table for each benchmark, and a bar for each query of the first."""
    figure, axis = plt.subplots(figsize=(12, 3.2))
    first = next(iter(measured.values()))
    times = medians(first)
    for i, (kind, color) in enumerate(zip(KINDS, (THEIRS, FOURTH, OURS, THIRD), strict=True)):
        heights = [time[kind] * 1000 for time in times.values()]
        axis.bar([at + i * 0.21 for at in range(len(times))], heights, 0.21, color=color, label=KINDS[kind])
    axis.set_xticks([at + 0.31 for at in range(len(times))], list(times), fontsize=8)
    axis.set_ylabel("ms")
    axis.legend(frameon=False)
    image = save(figure, plot)
    parts = [benchmark(name, of) for name, of in measured.items()]
    return f"""# TPC-H and SSB by DataFusion 55: Staffa beside Parquet

One partition, CPU time of the process, medians of rounds in which the kinds take turns, files in the page cache: Parquet with Zstandard,
without and with `pushdown_filters`; Staffa with the defaults; the same tables in memory, which prune nothing and take no dynamic filters.
Shares are of the better of the two Parquets in total. The Star Schema Benchmark is derived from TPC-H.

{image}

{(chr(10) * 2).join(parts)}
"""


def medians(measured: Any) -> dict[str, dict[str, float]]:
    """Seconds by query and kind."""
    queries = sorted(measured["queries"].items(), key=lambda query: float(query[0].removeprefix("Q")))
    return {number: {kind: median(query[kind]) for kind in KINDS if kind in query} for number, query in queries}


def benchmark(name: str, measured: Any) -> str:
    """One benchmark's table."""
    queries, times = measured["queries"], medians(measured)
    kinds = list(next(iter(times.values())))
    total = {kind: sum(query[kind] for query in times.values()) for kind in kinds}
    better = min(("parquet", "parquet_pushdown"), key=total.__getitem__)
    shared = [kind for kind in ("staffa", "memory") if kind in kinds]
    rows = []
    for number, time in [*times.items(), ("all", total)]:
        same = all(query["same"] and query["as_duckdb"] for at, query in queries.items() if number in (at, "all"))
        cells = [f"{time[kind] * 1000:,.0f}" for kind in kinds]
        rows.append((number, *cells, *(f"{time[k] / time[better]:.2f}" for k in shared), "yes" if same else "**no**"))
    shares = [f"{KINDS[kind]} / Parquet" for kind in shared]
    head = ("query", *(f"{KINDS[kind]}, ms" for kind in kinds), *shares, "as DuckDB's")
    slower = [
        f"{n} ({time['staffa'] / time[better]:.2f})" for n, time in times.items() if time["staffa"] > time[better]
    ]
    size = measured["bytes"]["staffa"] / measured["bytes"]["parquet"]
    memory = f"; Arrow in memory {total['memory'] / total[better]:.2f}" if "memory" in kinds else ""
    return f"""## {name}

- Staffa takes {total["staffa"] / total[better]:.2f} of the time of Parquet{memory}; the better Parquet: {KINDS[better]}; {measured["rounds"]} rounds.
- Staffa's files have {size:.2f} of Parquet's bytes. Slower than Parquet: {", ".join(slower) or "none"}.

{table(head, rows)}"""
