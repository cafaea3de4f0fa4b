# ruff: noqa: E501 (the lines of the report)
"""Every encoding left out in turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import OURS, THEIRS, THIRD, mean, save, table


def report(measured: Any, plot: Path) -> str:
    """Leave-one-out."""
    names = [variant["without"] for variant in measured[0]["variants"]]
    large = [t for t in measured if t["arrow"] >= 2_000_000]
    rows = []
    for i, name in enumerate(names[1:], 1):

        def factor(t: Any, key: str, i: int = i) -> float:
            return t["variants"][i][key] / t["variants"][0][key]

        total = {k: [sum(t["variants"][j][k] for t in measured) for j in (0, i)] for k in ("bytes", "write", "scan")}
        worst = max(measured, key=lambda t, i=i: t["variants"][i]["bytes"] / t["variants"][0]["bytes"])
        used = sum(factor(t, "bytes") != 1 for t in measured)
        rows.append(
            (
                name or "nothing, again",
                mean(factor(t, "bytes") for t in large) - 1,
                total["bytes"][1] / total["bytes"][0] - 1,
                f"{worst['table']} {(factor(worst, 'bytes') - 1) * 100:+.1f}%" if used else "",
                used,
                mean(factor(t, "write") for t in large) - 1,
                total["write"][1] / total["write"][0] - 1,
                mean(1 / factor(t, "scan") for t in large) - 1,
            )
        )
    noise = rows.pop()
    # What hardly changes a table cannot change its scan.
    scan_noise = max(abs(row[7]) for row in [*rows, noise] if row[4] <= 1)
    rows.sort(key=lambda row: -row[1])
    cells = [
        (
            f"`{r[0]}`" if r is not noise else r[0],
            f"{r[1] * 100:+.2f}%",
            f"{r[2] * 100:+.2f}%",
            r[3],
            r[4],
            *(f"{x * 100:+.1f}%" for x in r[5:]),
        )
        for r in [*rows, noise]
    ]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 6), sharey=True)
    places = range(len(rows))
    left.barh([p - 0.2 for p in places], [r[1] * 100 for r in rows], 0.4, color=OURS, label="geometric mean")
    left.barh([p + 0.2 for p in places], [r[2] * 100 for r in rows], 0.4, color=THEIRS, label="all bytes")
    left.set_yticks(list(places), [r[0] for r in rows])
    left.invert_yaxis()
    left.set_xlabel("larger without it, %")
    left.legend()
    right.barh([p - 0.2 for p in places], [r[5] * 100 for r in rows], 0.4, color=OURS, label="write CPU")
    right.barh([p + 0.2 for p in places], [r[7] * 100 for r in rows], 0.4, color=THIRD, label="scan speed")
    right.axvspan(-abs(noise[5]) * 100, abs(noise[5]) * 100, color="#dddddd", zorder=0, label="the same again (write)")
    right.set_xlabel("change without it, %")
    right.legend()
    image = save(figure, plot)
    idle = [r[0] for r in rows if r[1] < 0.0005 and r[2] < 0.0005]
    costly = [f"`{r[0]}` ({-r[5] * 100:.1f}%)" for r in sorted(rows, key=lambda r: r[5])[:5]]
    better = [f"`{r[0]}` ({r[1] * 100:+.2f}%, {r[2] * 100:+.2f}%)" for r in rows if r[1] < -0.0001 or r[2] < -0.0001]
    best = ", ".join(f"`{r[0]}` ({r[1] * 100:.1f}%)" for r in rows[:5])
    mb = sum(t["arrow"] for t in measured) / 1e6
    return f"""# Leave one out

Every encoding that the chooser may take left out in turn (`--without NAME`), all open tables ({len(measured)}, {mb:.0f} MB as Arrow),
profile `balanced`, columns in terms of others included, nothing verified. One core, CPU time, one write and the least of
three scans a table; geometric means over the {len(large)} tables of 2 MB and more, and sums over all. "Nothing, again" is a second
run of the same: what differs there is noise.

{image}

{table(("without", "size", "all bytes", "worst table", "tables changed", "write CPU", "all write CPU", "scan speed"), cells)}

## What one learns

- Missed most, by the mean: {best}.
- Hardly missed (less than 0.05% by mean and sum): {", ".join(f"`{name}`" for name in idle) or "none"}. Each costs every write a look.
- Writing is relieved most by leaving out {", ".join(costly)}; differences below some {max(abs(noise[5]) * 100, 2):.0f}% are noise.
- Scans: differences below some {max(scan_noise * 100, 3):.0f}% are noise (leaving out what changes one table at the most shows {scan_noise * 100:.1f}%).
- Smaller without it, which is a choice gone wrong: {", ".join(better) or "none"}.
"""
