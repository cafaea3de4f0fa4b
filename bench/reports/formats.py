# ruff: noqa: E501 (the lines of the report)
"""Projection, filters and queries beside Parquet, Feather and ORC."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import OURS, mean, save, table

COLORS = {
    "Staffa": OURS,
    "Parquet zstd": "#c9a24b",
    "Parquet": "#e5cf9a",
    "Feather zstd": "#8f4b3f",
    "Feather": "#c99b92",
    "ORC zstd": "#6f8f4b",
    "ORC": "#b5c99b",
}


def milliseconds(cases: Mapping[str, Any], names: list[str], of: str = "") -> str:
    """A table of cases by format."""
    rows = []
    for label, case in cases.items():
        seconds = case[of] if of else case
        more = (f"{case['rows']:,}",) if of else ()
        rows.append((label, *more, *(f"{seconds[name] * 1e3:.2f}" for name in names)))
    return table(("ms", *(("rows",) if of else ()), *names), rows)


def phases(queries: Mapping[str, Any]) -> str:
    """Figures 30 to 32."""
    rows = []
    for label in next(iter(queries.values())):
        for state in ("cold", "warm"):
            cells = []
            for cases in queries.values():
                case = cases[label][state]
                load, then = case["load"] * 1e3, case["query"] * 1e3
                cells.append(f"{load:.1f} + {then:.1f}" if "loaded" in label else f"{load:.1f}")
            rows.append((label, state, *cells))

    def share(state: str) -> str:
        """Of Staffa's time where it loads, then filters."""

        def total(case: Mapping[str, float]) -> float:
            return case["load"] + case["query"]

        filtered, loaded = "Staffa, filter in the reader", "Staffa, loaded, then filtered"
        return f"{mean(total(c[filtered][state]) / total(c[loaded][state]) for c in queries.values()):.2f}"

    return f"""## Figures 30 to 32: cold and warm, load and query apart, the filter on encoded data

Wall time of the queries of table 7; cold means that the file was dropped from the page cache (`posix_fadvise`; the disk of a virtual machine may have caches of its own). "Loaded, then filtered" reads the columns into Arrow and filters there: load + query.
"Filter in the reader" tests the predicate where the values are: on encoded data (Staffa), on decoded pages (Parquet).

{table(("ms", "", *queries), rows)}

Staffa's filter on encoded data takes {share("warm")} of the time of loading, then filtering (warm; cold {share("cold")}). The paper's: cold caches cost Arrow and ORC the most, and change Parquet's times little (figure 30); filters on the codes of Arrow's dictionary
make Q2 and Q3 3 times as fast, Gandiva compiles for longer than these queries take (figure 31; pyarrow's wheels have no Gandiva); Parquet kept encoded in memory is 10 times as fast as read by its interface, with filters on codes 60, with SIMD 100 times (figure 32).

"""


def report(measured: Any, plot: Path) -> str:
    """Data Formats, figures 22 to 32 but 28, and wide tables."""
    names = list(COLORS)
    others = [name for name in names if name != "Staffa"]
    sizes = [
        (which, *(f"{own[name] / 1e6:.2f}" for name in ("Arrow", *names))) for which, own in measured["sizes"].items()
    ]
    columns = {f"{count} columns": seconds for count, seconds in measured["columns"].items()}
    wide = measured["wide"]
    wide_rows = [
        (
            name,
            f"{wide['bytes'][name] / 1e6:.1f}",
            f"{wide['write'][name]:.2f}",
            f"{wide['one'][name] * 1e3:.2f}",
            f"{wide['one'][name] / wide['one']['Staffa']:.0f}",
            f"{wide['all'][name] * 1e3:.0f}",
        )
        for name in names
    ]
    groups = {
        "projection (22, 23)": measured["projections"],
        "filter (26, 27)": {k: v["seconds"] for k, v in measured["filters"].items()},
        "leaf queries (29)": {k: v["seconds"] for k, v in measured["queries"].items()},
    }
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.4))
    for axis, (title, cases) in zip(axes, groups.items(), strict=True):
        for i, name in enumerate(names):
            places = [j + (i - 3) * 0.12 for j in range(len(cases))]
            axis.bar(places, [s[name] * 1e3 for s in cases.values()], 0.12, color=COLORS[name], label=name)
        axis.set_xticks(range(len(cases)), list(cases), fontsize=8)
        axis.set_yscale("log")
        axis.set_ylabel("ms")
        axis.set_title(title)
    axes[0].legend(fontsize=7)
    image = save(figure, plot)

    def best(seconds: Mapping[str, float]) -> tuple[float, str]:
        name = min(others, key=lambda n: seconds[n])
        return seconds["Staffa"] / seconds[name], name

    def against(name: str) -> str:
        return f"{mean(s['Staffa'] / s[name] for cases in groups.values() for s in cases.values()):.2f}"

    every = [(label, *best(s)) for cases in groups.values() for label, s in cases.items()]
    slower = ", ".join(f"{label} ({ratio:.2f} times {name})" for label, ratio, name in every if ratio > 1)
    parquet = min(wide["one"]["Parquet"], wide["one"]["Parquet zstd"])
    share = wide["one"]["Staffa"] / parquet
    return f"""# Projections, filters and queries beside other formats

After "Data Formats in Analytical DBMSs", figures 22 to 27, 29 to 32 and table 7, by pyarrow's readers: catalog_sales and customer_demographics of TPC-DS (scale factor 1, the paper's 10), decimals as doubles, as in the paper. Whole calls: the
file opened, its footer read, a table of Arrow given. Files are in the page cache; Parquet is mapped, Feather read into memory (a map of one that is not compressed would read nothing), Zstd at level 3 (Parquet) and as the writers have it.
One core, CPU time with that of the system, medians of seven rounds in which all take turns, each once unmeasured. The paper measures wall time from a disk.

{image}

## Sizes

{table(("MB", "Arrow", *names), sizes)}

## Figures 22 and 23: one column

`cs_ship_date_sk`, `cs_wholesale_cost`, `cd_education_status`.

{milliseconds(measured["projections"], names)}

The paper's, plots; its text: integers ORC before Parquet, Feather by far the last; doubles Parquet before ORC, Feather far behind; strings Feather, ORC, Parquet.

## Figures 24 and 25: from one column to the whole of catalog_sales

{milliseconds(columns, names)}

The paper's: ORC's time is proportional to the columns, one column of Feather takes half the time of all.

## Figures 26 and 27: a predicate

Rows for which `cs_ship_date_sk > n` (65%), `cs_wholesale_cost > n` (30%), `cd_education_status = 'Secondary'` (14%): counted. Staffa by `aggregate`, on encoded data; the
others read the column and compare it by pyarrow's kernels.

{milliseconds(measured["filters"], names, "seconds")}

The paper's: numbers ORC before Parquet, Feather 3 to 7 times Parquet; strings compressed Feather first; its own direct evaluation on Arrow's dictionary is 2 to 4 times as fast as the others.

## Figure 29: queries of table 7

Staffa and Parquet with filter pushed down by their readers; Feather and ORC load the columns and filter then, as the paper does. Q1 finds no row at this scale.

{milliseconds(measured["queries"], names, "seconds")}

The paper's: ORC is best, Parquet before Arrow for Q1, Q4 and Q5.

{phases(measured["phases"])}
## A wide table

{wide["columns"]:,} columns of {wide["rows"]:,} rows, integers and doubles, {wide["Arrow"] / 1e6:.0f} MB of Arrow. One column: the file opened and one column read.

{table(("format", "MB", "write s", "one column ms", "of Staffa's", "all ms"), wide_rows)}

## What one learns

- In the geometric mean of the eleven cases Staffa takes {against("Parquet zstd")} of the time of Parquet with zstd, {against("Parquet")} of Parquet, {against("Feather zstd")} of Feather with zstd, {against("Feather")} of Feather, {against("ORC zstd")} of ORC with zstd, {against("ORC")} of ORC.
- Slower than the fastest other: {slower or "none"}. Feather that is not compressed is copied, not decoded, and is {measured["sizes"]["catalog_sales"]["Feather"] / measured["sizes"]["catalog_sales"]["Staffa"]:.0f} times as large (catalog_sales).
- To count the rows that a predicate over numbers leaves takes {measured["filters"]["an integer, > n"]["seconds"]["Staffa"] * 1e3:.1f} ms where to read the column takes {measured["projections"]["an integer"]["Staffa"] * 1e3:.1f} (integer), and {measured["filters"]["a double, > n"]["seconds"]["Staffa"] * 1e3:.1f} where that takes {measured["projections"]["a double"]["Staffa"] * 1e3:.1f} (double).
- One of {wide["columns"]:,} columns takes {share:.3f} of the time of pyarrow's Parquet (asked: at most 0.1).
"""
