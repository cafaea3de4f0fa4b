# ruff: noqa: E501 (the lines of the report)
"""Integers by encoding, in sequence and by lists of positions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import save, table

# Table 2: microseconds for a vector of 65,535 values, and of lists of 1, 1,000, 10,000 and 1,000,000; compression rate.
VALUES = 65_535
LENGTHS = (1, 1_000, 10_000, 1_000_000)
PAPER = {
    "Unencoded": ("plain", 9.3, (0.002, 0.8, 15.5, 1470), 1.0),
    "bitpacking_turboPFOR": ("bitpack", 29.0, (0.007, 2.5, 40.0, 3053), 0.38),
    "bitpacking_compactvector": ("bitpack", 161.3, (0.005, 3.0, 32.7, 6976), 0.39),
    "for_SIMDCAI_simd": ("", 10.1, (0.007, 6.0, 60.1, 6044), 0.26),
    "pfor_turboPFOR": ("frame_of_reference", 54.3, (0.006, 5.0, 55.1, 5494), 0.34),
    "pfor_fastPFOR": ("", 10.7, (10.5, 11.3, 16.2, 854), 0.34),
    "bytepacking_StreamVByte": ("stream_vbyte", 17.4, (14.8, 20.9, 22.4, 1991), 0.60),
}


def nanoseconds(value: float) -> str:
    """Three digits or so."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def report(measured: Any, plot: Path) -> str:
    """Hyrise, table 2."""
    rows, distributions = measured["rows"], measured["distributions"]
    names = [e["encoding"] for e in distributions[0]["encodings"]]
    lengths = [p["length"] for p in distributions[0]["memory"]]
    labels = {name: "chosen (`balanced`)" if name == "balanced" else f"`{name}`" for name in names}
    by = {d["distribution"]: {e["encoding"]: e for e in d["encodings"]} for d in distributions}
    memory = {d["distribution"]: d["memory"] for d in distributions}

    def mean(name: str, key: str) -> float:
        return sum(own[name][key] for own in by.values()) / len(by) / rows

    def lists(points: list[Any], order: str = "sorted") -> list[str]:
        return [nanoseconds(p[order]) for p in points]

    def ratio(name: str, length: int, order: str = "sorted") -> list[float]:
        """Time of a list in terms of Arrow's, of all distributions, in rising order."""
        at = lengths.index(length)
        return sorted(by[d][name]["points"][at][order] / memory[d][at][order] for d in by)

    def crossing(distribution: str, name: str) -> float | None:
        """The share of rows from which on all decoded and then Arrow's `take` are faster: between two lengths, on a line."""
        own, before = by[distribution][name], None
        for point, arrow in zip(own["points"], memory[distribution], strict=True):
            length = point["length"]
            late = (point["sorted"] - arrow["sorted"]) * length / 1e9 - own["decode"]
            if late > 0:
                start, earlier = before or (length, late)
                part = earlier / (earlier - late) if before else 0
                return (start + (length - start) * part) / rows
            before = (length, late)
        return None

    def turn(distribution: str, name: str) -> str:
        share = crossing(distribution, name)
        return "" if share is None else f"{share * 100:.2g}%"

    uniform = by["uniform"]
    head = ("encoding", "of raw", "decode ns/value", *(f"{n:,}" for n in lengths))
    ours = [
        (labels[n], f"{mean(n, 'bytes') / 4:.3f}", nanoseconds(mean(n, "decode") * 1e9), *lists(uniform[n]["points"]))
        for n in names
    ]
    ours.append(("Arrow's `take` in memory", "1.000", "", *lists(memory["uniform"])))
    theirs = []
    for name, (kin, decode, times, rate) in PAPER.items():
        cells = [
            nanoseconds(times[LENGTHS.index(n)] * 1e3 / n if n in LENGTHS else 0) if n in LENGTHS else ""
            for n in lengths
        ]
        label = f"{name} (`{kin}`)" if kin else name
        theirs.append((label, f"{rate:.2f}", nanoseconds(decode * 1e3 / VALUES), *cells))

    parts = []
    for name, own in by.items():
        cells = [
            (
                labels[n],
                f"{e['bytes'] / rows:.3f}",
                nanoseconds(e["decode"] * 1e9 / rows),
                *lists(e["points"]),
                turn(name, n),
                nanoseconds(e["points"][-1]["shuffled"]),
            )
            for n, e in own.items()
        ]
        last = memory[name][-1]["shuffled"]
        cells.append(("Arrow's `take` in memory", "4.000", "", *lists(memory[name]), "", nanoseconds(last)))
        columns = ("encoding", "bytes/value", *head[2:], "decode all from", f"{lengths[-1]:,}, shuffled")
        parts.append(f"### {name}\n\nChosen: `{own['balanced']['tree']}`.\n\n{table(columns, cells)}\n")

    figure, axes = plt.subplots(2, 3, figsize=(12, 7), sharex=True, sharey=True)
    colors = plt.get_cmap("tab10").colors
    for axis, name in zip(axes.flat, by, strict=False):
        for color, encoding in zip(colors, names, strict=False):
            times = [p["sorted"] for p in by[name][encoding]["points"]]
            width = 2.2 if encoding == "balanced" else 1
            axis.loglog(lengths, times, color=color, linewidth=width, label=encoding)
        axis.loglog(lengths, [p["sorted"] for p in memory[name]], "k--", label="Arrow in memory")
        axis.set_title(name)
    axes.flat[0].legend(fontsize=6, ncol=2, loc="lower left")
    for color, (name, (_, _, times, _)) in zip(colors, PAPER.items(), strict=False):
        axes.flat[5].loglog(
            LENGTHS, [t * 1e3 / n for t, n in zip(times, LENGTHS, strict=True)], color=color, label=name
        )
    axes.flat[5].set_title("the paper's, uniform, 65,535 values")
    axes.flat[5].legend(fontsize=6)
    for axis in axes[1]:
        axis.set_xlabel("rows of the list")
    for axis in axes[:, 0]:
        axis.set_ylabel("ns a row")
    image = save(figure, plot)

    singles = sorted((uniform[n]["points"][0]["sorted"] / 1e3, n) for n in names if n != "balanced")
    short, middle, long = (ratio("balanced", n) for n in (1, 1_000, lengths[-1]))
    shuffled = ratio("balanced", lengths[-1], "shuffled")
    best = {n: min(names, key=lambda e, n=n: by[n][e]["bytes"]) for n in by}
    beaten = ", ".join(
        f"{n} (`{best[n]}`, {by[n][best[n]]['bytes'] / by[n]['balanced']['bytes']:.2f} of the bytes)"
        for n in by
        if by[n][best[n]]["bytes"] < by[n]["balanced"]["bytes"] * 0.99
    )
    worst = {n: (ratio(n, 1_000)[-1], n) for n in names}
    far = ", ".join(f"`{n}` (up to {r:.0f} times)" for r, n in sorted(worst.values(), reverse=True)[:3])
    last = {n: uniform[n]["points"][-1]["sorted"] for n in names}
    turns = sorted(share for d in by if (share := crossing(d, "balanced")) is not None) or [1.0]
    return f"""# Lists of positions out of encoded integers

After "Evaluating Lightweight Integer Compression Algorithms in Column-Oriented In-Memory DBMS" (Hyrise), table 2. {rows:,}
integers of 32 bits of each of the paper's five distributions (its section 4.1.1): uniform below 2^32, sorted with a distance of 5,
years 1900 to 2100, months 1 to 12, a time series from 1,000,000 on (steps of 0 to 9: the paper does not say). An encoding is asked for by name, with what the
chooser puts below it. Decode: a scan into memory that is used again. Lists: distinct random rows in ascending order, `File::take` of an open file
that keeps its blocks encoded, against arrow-select's `take` of the array in memory; "shuffled": the same rows in random order. One core, CPU
time, medians of five rounds in which all take turns, each once unmeasured and once measured; of short lists up to 1,000
different ones a round.

The paper's vector has 65,535 values and fits the second cache, ours are {rows * 4 >> 20} MiB; its lists are calls of a library, ours begin with a
file and columns by name and end with a batch. So lists of one row cannot be compared, long ones can.

{image}

## As in table 2

Size and decode: mean of the five distributions. Lists: ns a row of the uniform values, by the list's length.

{table(head, ours)}

The paper's, its microseconds divided by values; in brackets ours that is akin:

{table(head, theirs)}

## By distribution

{chr(10).join(parts)}
## What one learns

- A call for one row costs {singles[0][0]:.1f} (`{singles[0][1]}`) to {singles[-1][0]:.1f} microseconds (`{singles[-1][1]}`; uniform values). Arrow's `take`
  in memory is {short[0]:.1f} to {short[-1]:.1f} times as fast for one row, {middle[0]:.1f} to {middle[-1]:.1f} times at 1,000 rows, {long[0]:.1f} to {long[-1]:.1f} times at {lengths[-1]:,} (chosen, by distribution);
  the paper's codecs of random access, which are a call of a function, read single values in 2 to 7 ns, in a cache. Its codecs without take 10 to 15 microseconds, for 65,535 values.
- Long lists cost {min(last.values()):.1f} to {max(last.values()):.1f} ns a row at {lengths[-1]:,} (uniform), plain values {last["plain"]:.1f}: most of it is the list's way through `take`, not decoding, which takes {mean("balanced", "decode") * 1e9:.2f} ns a
  value (chosen). The paper has 1.5 (unencoded), 3.1 (bit-packed) and 6.0 (for_SIMDCAI).
- Decoding all and then Arrow's `take` is faster from {turns[0] * 100:.1f} to {turns[-1] * 100:.1f}% of the rows on (chosen, by distribution; "decode all from" in the tables, found between two lengths on a line). The paper has
  a sixth for its bit packing: here the sequential decode is closer to memory, and `take` farther from it.
- Where a value cannot be read by itself (`stream_vbyte`, `delta` and what has it below it) its vector is decoded, which costs most at a value or two of each: farthest from Arrow's `take` at 1,000 rows are {far}.
- Rows in random order are sorted first, and then put in order by a search for each: {lengths[-1]:,} of them take {shuffled[0]:.0f} to {shuffled[-1]:.0f} times Arrow's time, {min(uniform[n]["points"][-1]["shuffled"] for n in names):.0f} ns a row at the
  least. This is our weakest place here (the paper's lists are random sets; in what order, it does not say). A caller that can keep a list sorted should.
- Sequentially the chosen encodings decode {1 / mean("balanced", "decode") / 1e9:.1f} billion values a second in the mean, at {mean("balanced", "bytes") / 4:.3f} of raw; the smallest of the paper's
  that allows random access, `for_SIMDCAI_simd`, {VALUES / 10.1e3:.1f} billion at 0.26 of raw, in the cache.
- Smaller than what is chosen: {beaten or "none of those asked for by name, by more than 1%"}.
"""
