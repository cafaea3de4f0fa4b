# ruff: noqa: E501 (the lines of the report)
"""TPC-H by Spark, over Parquet and Staffa."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import OURS, THEIRS, save, table

KINDS = {"parquet": "Parquet", "staffa": "Staffa"}


def report(measured: Any, plot: Path) -> str:
    """A table, and a bar for each query."""
    queries = measured["queries"]
    figure, axis = plt.subplots(figsize=(12, 3.2))
    for i, (kind, color) in enumerate(zip(KINDS, (THEIRS, OURS), strict=True)):
        heights = [query["cpu"][kind] for query in queries.values()]
        axis.bar([at + i * 0.4 for at in range(len(queries))], heights, 0.4, color=color, label=KINDS[kind])
    axis.set_xticks([at + 0.2 for at in range(len(queries))], list(queries), fontsize=8)
    axis.set_ylabel("s of CPU")
    axis.legend(frameon=False)
    image = save(figure, plot)
    rows = [row(number, query) for number, query in queries.items()]
    total = {of: {kind: sum(query[of][kind] for query in queries.values()) for kind in KINDS} for of in ("cpu", "wall")}
    rows.append(("all", *seconds(total), "", ""))
    size = measured["bytes"]["staffa"] / measured["bytes"]["parquet"]
    share = total["cpu"]["staffa"] / total["cpu"]["parquet"]
    slower = [f"{n} ({ratio(query):.2f})" for n, query in queries.items() if ratio(query) > 1.1]
    head = ("query", "Parquet, s", "Staffa, s", "Staffa / Parquet", "wall time, too", "joins", "as DuckDB's")
    return f"""# TPC-H by Spark 4.3: Staffa beside Parquet

`local[2]`, CPU time of the virtual machine with its compiler and collector, medians of {measured["rounds"]} rounds in which
the kinds take turns, after {measured["warming"]} for warming, files in the page cache. Spark wrote both: Parquet with Zstandard, Staffa with the defaults.

{image}

- Staffa takes {share:.2f} of the CPU time of Parquet, and {size:.2f} of its bytes.
- Over 1.1 of Parquet's time: {", ".join(slower) or "none"}.

{table(head, rows)}
"""


def ratio(query: Any, of: str = "cpu") -> float:
    """Staffa's time as a share of Parquet's."""
    return query[of]["staffa"] / query[of]["parquet"]


def seconds(of: Any) -> tuple[str, ...]:
    """The times of one row."""
    return (f"{of['cpu']['parquet']:.2f}", f"{of['cpu']['staffa']:.2f}", f"{ratio(of):.2f}", f"{ratio(of, 'wall'):.2f}")


def row(number: str, query: Any) -> tuple[str, ...]:
    """One query's row."""
    plans = "as Parquet's" if query["joins"]["staffa"] == query["joins"]["parquet"] else "others"
    return (number, *seconds(query), plans, "yes" if all(query["as_duckdb"].values()) else "**no**")
