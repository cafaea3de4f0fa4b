# ruff: noqa: E501 (the lines of the report)
"""What a scan out of an object store costs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import FOURTH, OURS, THEIRS, THIRD, mean, save, table

COLORS = {"Staffa": OURS, "Parquet": THEIRS, "Parquet Snappy": FOURTH, "Parquet Zstd": THIRD}
# The machine of the paper: c5n.18xlarge, 36 cores, 100 Gbit/s; prices as the paper has them.
CORES, NETWORK, PER_HOUR, PER_REQUEST = 36, 12.5e9, 3.89, 0.0004 / 1000
# Whole files are asked for in pieces of this size.
PIECE = 16 << 20
# Table 5: T_u in GB/s, T_c in Gbit/s, normalised cost.
TABLE_5 = {"Staffa": (174.6, 86.2, 1.00), "Parquet": (56.1, 52.6, 2.61)}
TABLE_5.update({"Parquet Snappy": (77.6, 33.2, 1.84), "Parquet Zstd": (78.6, 24.8, 1.77)})


def seconds(scan: Mapping[str, float]) -> float:
    """Of the modelled machine: the network and the cores work at once, the slower decides."""
    return max(scan["bytes"] / NETWORK, scan["cpu"] / CORES)


def dollars(scan: Mapping[str, float], requests: float) -> float:
    """The machine's time, and the requests."""
    return seconds(scan) * PER_HOUR / 3600 + requests * PER_REQUEST


def whole(scans: Mapping[str, Any], files: Mapping[str, float]) -> str:
    """Table 5 for one group of tables."""
    cost = {kind: dollars(scan, files[kind] / PIECE) for kind, scan in scans.items()}
    rows = []
    for kind, scan in scans.items():
        time, paper = seconds(scan), TABLE_5[kind]
        rows.append(
            (
                kind,
                f"{files[kind] / 1e6:.1f}",
                f"{scan['requests']:.0f}",
                f"{scan['bytes'] / 1e6:.1f}",
                f"{scan['cpu']:.2f}",
                f"{scan['arrow'] / time / 1e9:.1f}",
                f"{scan['bytes'] * 8 / time / 1e9:.1f}",
                "network" if scan["bytes"] / NETWORK >= scan["cpu"] / CORES else "cores",
                f"{cost[kind] / scan['arrow'] * 1e12:.3f}",
                f"{cost[kind] / cost['Staffa']:.2f}",
                f"{paper[0]} / {paper[1]} / {paper[2]:.2f}",
            )
        )
    head = ("format", "MB", "requests", "MB read", "CPU s", "T_u GB/s", "T_c Gbit/s", "bound by")
    return table((*head, "$ per TB of Arrow", "of Staffa's", "paper: T_u / T_c / cost"), rows)


def report(measured: Any, plot: Path) -> str:
    """BtrBlocks, table 5, figure 1, section 6.7."""
    groups = measured["whole"]
    figure, axes = plt.subplots(1, len(groups), figsize=(5.2 * len(groups), 3.6), squeeze=False)
    for axis, (label, scans) in zip(axes[0], groups.items(), strict=True):
        for kind, scan in scans.items():
            cost = dollars(scan, measured["files"][label][kind] / PIECE) / scan["arrow"] * 1e12
            speed = scan["arrow"] / seconds(scan) / 1e9
            axis.scatter(cost, speed, color=COLORS[kind], s=60, label=kind)
        axis.set_xlabel("$ per TB of Arrow")
        axis.set_ylabel("GB/s of Arrow")
        axis.set_xlim(left=0)
        axis.set_ylim(bottom=0)
        axis.legend(frameon=False)
        axis.set_title(label)
    image = save(figure, plot)
    parts = [f"### {label}\n\n{whole(scans, measured['files'][label])}" for label, scans in groups.items()]
    text = f"""# Scans out of an object store: requests, bytes, dollars

After BtrBlocks, section 6.7, table 5 and figure 1. **Measured:** requests and bytes as a store on loopback counts them, CPU time of the reader with its HTTP client (one core, no TLS, medians of three; Staffa by its URL, Parquet by pyarrow's dataset, Zstd at level 3).
**Modelled:** the paper's machine, {CORES} cores that divide the work evenly, {NETWORK / 1e9} GB/s, ${PER_HOUR} an hour, $0.0004 per 1,000 GETs. A scan takes as long as the slower of network and cores. No byte was sent over a real network.

{image}

## Whole tables (table 5)

Dollars count requests of 16 MiB, as the paper does, which loads whole objects; small tables would otherwise cost their requests alone. "requests" are those that the reader sent. T_u is of Arrow's bytes, T_c of those read. The paper's figures are of BtrBlocks in the line of Staffa, on the five largest tables of the Public BI Benchmark.

{(chr(10) * 2).join(parts)}
"""
    if measured["queries"]:
        text += columns(measured["queries"])
    if measured["slow"]:
        text += slow(measured["slow"])
    return text


def columns(queries: Mapping[str, Any]) -> str:
    """The columns of TPC-H's queries."""
    rows = []
    shares: dict[str, list[float]] = {kind: [] for kind in COLORS}
    for number, scans in queries.items():
        cost = {kind: dollars(scan, scan["requests"]) for kind, scan in scans.items()}
        for kind in COLORS:
            shares[kind].append(cost[kind] / cost["Staffa"])
        requests = [f"{scans[kind]['requests']:.0f}" for kind in COLORS]
        read = [f"{scans[kind]['bytes'] / 1e6:.1f}" for kind in COLORS]
        rows.append((number, *requests, *read, *(f"{shares[kind][-1]:.2f}" for kind in COLORS if kind != "Staffa")))
    head = (*(f"requests, {kind}" for kind in COLORS), *(f"MB, {kind}" for kind in COLORS))
    head = (*head, *(f"cost, {kind}" for kind in COLORS if kind != "Staffa"))
    means = ", ".join(f"{kind} {mean(values):.1f}" for kind, values in shares.items() if kind != "Staffa")
    return f"""
## The columns of TPC-H's queries

All rows of the columns of lineitem that each query names; requests as the readers sent them. Cost relative to Staffa's, in the geometric mean: {means}. Most of it are requests: a row group of 20 MB takes two or three, and each costs as much as 4.6 MB over this network. The paper's: Parquet 5.5, with Snappy 3.6, with Zstd 2.8, of which it says that one file per column is why.

{table(("query", *head), rows)}
"""


def slow(link: Mapping[str, float]) -> str:
    """A link of 1 Gbit/s."""
    busy = link["bytes"] / link["link"] / link["seconds"]
    return f"""
## A slow link

All of lineitem out of a store that answers after 2 ms, over 1 Gbit/s for all connections together: {link["seconds"]:.1f} s for {link["bytes"] / 1e6:.0f} MB, so the link is busy {busy:.0%} of the time. The process holds at most {link["resident"] / 2**20:.0f} MiB
(asked: 256), Python, pyarrow and what is asked for ahead of the batches included; {link["before"] / 2**20:.0f} MiB after the first batch.
"""
