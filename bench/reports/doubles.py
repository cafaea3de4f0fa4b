# ruff: noqa: E501 (the lines of the report)
"""Double schemes side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import OURS, THEIRS, THIRD, mean, save, table

TABLE_3 = {
    ("alp_gov26", "gov26"): ("CommonGov./26", "15.1 / 48.0 / 28.0 / 6.9", "60.9", "4.4", "187", "75.0"),
    ("alp_nyc29", "nyc29"): ("NYC/29", "1.5 / 2.1 / 2.5 / 1.7", "1.1", "2.5", "1.6", "1.0"),
}
FIXED = [
    "bit packing",
    "dictionary fixed",
    "run_end fixed",
    "frequency fixed",
    "pseudodecimal fixed",
    "alp fixed",
    "alp_rd fixed",
]
CASCADES = ["dictionary cascade", "run_end cascade", "frequency cascade", "pseudodecimal cascade", "alp cascade"]
CASCADES += ["alp_rd cascade", "balanced", "small"]
OTHERS = ["gorilla", "pco", "zstd", "lz4"]


def report(measured: Any, plot: Path) -> str:
    """BtrBlocks, section 6.5."""

    def ratio(column: Any, scheme: str) -> float:
        return column["values"] * 8 / column["schemes"][scheme]["bytes"]

    def speed(column: Any, scheme: str) -> float:
        return column["values"] * 8 / column["schemes"][scheme]["decode"] / 1e9

    def by_scheme(schemes: list[str]) -> str:
        rows = []
        for column in measured:
            ratios = [ratio(column, scheme) for scheme in schemes]
            cells = [f"**{r:.2f}**" if r == max(ratios) else f"{r:.2f}" for r in ratios]
            rows.append((f"{column['table']}/{column['column']}", f"{column['values']:,}", *cells))
        means = [f"{mean(ratio(column, scheme) for column in measured):.2f}" for scheme in schemes]
        rows.append(("geometric mean", "", *means))
        timed = [scheme for scheme in schemes if all("decode" in c["schemes"][scheme] for c in measured)]
        speeds = [f"{mean(speed(c, s) for c in measured):.1f}" if s in timed else "" for s in schemes]
        rows.append(("decode GB/s, geometric mean", "", *speeds))
        names = [s.removesuffix(" fixed").removesuffix(" cascade") for s in schemes]
        return table(("column", "values", *names), rows)

    figure, axis = plt.subplots(figsize=(8, 4.8))
    for schemes, colour, label in (
        (FIXED, THEIRS, "fixed cascade of two levels"),
        (CASCADES, OURS, "whole cascade"),
        (["pco", "zstd", "lz4"], THIRD, "others"),
    ):
        xs = [mean(speed(c, s) for c in measured) for s in schemes]
        ys = [mean(ratio(c, s) for c in measured) for s in schemes]
        axis.scatter(xs, ys, color=colour, label=label)
        for x, y, scheme in zip(xs, ys, schemes, strict=True):
            name = scheme.removesuffix(" fixed").removesuffix(" cascade")
            axis.annotate(name, (x, y), xytext=(4, 3), textcoords="offset points", fontsize=7)
    axis.set_xscale("log")
    axis.set_yscale("log")
    low, high = axis.get_xlim()
    axis.set_xticks([1, 2, 3, 5, 10], ["1", "2", "3", "5", "10"])
    axis.set_xlim(low, high * 1.1)
    axis.set_yticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    axis.minorticks_off()
    axis.set_xlabel("decode GB/s, geometric mean")
    axis.set_ylabel("compression ratio, geometric mean")
    axis.legend(loc="lower left")
    image = save(figure, plot)

    rows = []
    for column in measured:
        theirs = TABLE_3.get((column["table"], column["column"]))
        if theirs:
            ours = [ratio(column, scheme) for scheme in FIXED]
            rows.append((f"{theirs[0]}, paper", theirs[1], *theirs[2:5], "", theirs[5], "", ""))
            gorilla = f"- / {ratio(column, 'gorilla'):.1f} / - / -"
            rows.append((f"{column['column']}, ours", gorilla, *(f"{x:.1f}" for x in ours)))
    head = (
        "column",
        "FPC / Gorilla / Chimp / Chimp128",
        "BP",
        "dictionary",
        "RLE",
        "frequency",
        "PDE",
        "ALP",
        "ALP-RD",
    )
    beaten = [c for c in measured if ratio(c, "pco") > ratio(c, "balanced") * 1.05]
    missed = []
    for column in measured:
        best = max(CASCADES[:-2], key=lambda scheme: ratio(column, scheme))
        if ratio(column, best) > ratio(column, "balanced") * 1.03:
            factor = ratio(column, best) / ratio(column, "balanced")
            name = best.removesuffix(" cascade")
            missed.append(f"{column['table']}/{column['column']} ({name} {factor:.2f})")
    factor = mean(ratio(c, "balanced") / ratio(c, "pco") for c in measured)
    faster = mean(speed(c, "balanced") / speed(c, "pco") for c in measured)
    pde, alp = (mean(ratio(c, f"{s} fixed") for c in measured) for s in ("pseudodecimal", "alp"))
    names = ", ".join(f"{c['table']}/{c['column']} ({ratio(c, 'pco') / ratio(c, 'balanced'):.2f})" for c in beaten)
    return f"""# Schemes for doubles, side by side

After BtrBlocks, section 6.5: table 3 and the table below it. The doubles of the open tables, NULLs left out, {1 << 19:,} values at the
most, four columns of a table at the most; the three `alp_` tables are ALP's samples of the paper's own columns (131,072 values of
NYC/29 and CommonGovernment/26). Ratios of column bytes. `gorilla` is counted by its paper's rules, not encoded: no maintained
crate for it, Chimp or FPC was found. pco, zstd (level 3), lz4 by their crates. One core, CPU time, decoded into memory
used again.

{image}

## A fixed cascade of two levels, as in the paper

Below the root only bit packing with a base (and exceptions) stands, as the paper has FastBP128.

{by_scheme(FIXED)}

The paper's columns that are at hand:

{table(head, rows)}

Ours are samples of these columns, so the figures differ: they show the order of schemes, not its size.

## The whole cascade below a root asked for by name, and the chooser

{by_scheme([*CASCADES, *OTHERS])}

## What one learns

- ALP in place of Pseudodecimal, both with bit packing below: {pde:.2f} becomes {alp:.2f}.
- The chooser (`balanced`) beside pco: {factor:.2f} times its ratio in the mean, decoded {faster:.1f} times as fast. pco is more than 5%
  smaller on {len(beaten)} of {len(measured)} columns: {names or "none"}.
- A root asked for by name beats the chooser by more than 3% on {len(missed)} columns: {", ".join(missed) or "none"}.
"""
