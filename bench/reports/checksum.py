# ruff: noqa: E501 (the lines of the report)
"""What checking the checksums costs a scan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import OURS, THEIRS, mean, save, table

ASKED = 0.05
LARGE = 5e6


def report(measured: Any, plot: Path) -> str:
    """Share of a scan that CRC-32C takes."""
    tables = sorted(measured, key=lambda t: -t["checksum"] / t["scan"])
    rows = [
        (
            t["table"],
            f"{t['arrow'] / 1e6:.1f}",
            f"{t['bytes'] / 1e6:.2f}",
            f"{t['arrow'] / t['scan'] / 1e9:.2f}",
            f"{t['checked'] / t['checksum'] / 1e9:.1f}",
            f"{t['checksum'] / t['scan'] * 100:.2f}%",
            f"{t['checksum'] / t['views'] * 100:.2f}%",
        )
        for t in tables
    ]
    large = [t for t in tables if t["arrow"] >= LARGE]

    def means(of: list[Any]) -> tuple[str, ...]:
        scan, views = (mean(t["checksum"] / t[key] for t in of) for key in ("scan", "views"))
        whole = sum(t["checksum"] for t in of) / sum(t["scan"] for t in of)
        return f"{scan * 100:.2f}%", f"{views * 100:.2f}%", f"{whole * 100:.2f}%"

    figure, axis = plt.subplots(figsize=(9, 4.5))
    axis.bar(range(len(tables)), [t["checksum"] / t["scan"] * 100 for t in tables], color=OURS)
    axis.axhline(ASKED * 100, color=THEIRS, label="asked: at most")
    axis.set_xticks(range(len(tables)), [t["table"] for t in tables], rotation=90, fontsize=7)
    axis.set_ylabel("% of a scan")
    axis.legend()
    image = save(figure, plot)
    above = [t for t in tables if t["checksum"] / t["scan"] > ASKED]
    names = ", ".join(f"{t['table']} ({t['checksum'] / t['scan'] * 100:.1f}%)" for t in above)
    all_means, large_means = means(tables), means(large)
    return f"""# What checking the checksums costs a scan

Every block and shared part is checked by its CRC-32C whenever it is read; there is no scan that does not. So the time of a whole scan of every table,
all columns, stands beside the time of only the checksums, by the same function over the same parts of the file, in memory. In a scan the checksum
also brings the bytes into the cache for what decodes them: what it costs there is less. One core, CPU time, medians of nine rounds in which scans and
checksums take turns. Asked for: at most {ASKED * 100:.0f}%.

{image}

{table(("table", "Arrow MB", "file MB", "scan GB/s", "checksum GB/s", "of a scan", "of a scan with views"), rows)}

## What one learns

- {all_means[0]} of a scan (geometric mean of the {len(tables)} tables; {all_means[1]} with strings as views), {all_means[2]} of the time of all scans together;
  of the {len(large)} tables of 5 MB of Arrow and more {large_means[0]}, {large_means[1]} and {large_means[2]}.
- Above {ASKED * 100:.0f}%: {names or "none"}. The less a table is compressed and the less there is to decode, the larger the share.
- Checksums of short parts are slower than those of long ones: the least is {min(t["checked"] / t["checksum"] for t in tables) / 1e9:.1f} GB/s, the most {max(t["checked"] / t["checksum"] for t in tables) / 1e9:.1f}.
"""
