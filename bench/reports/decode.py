# ruff: noqa: E501 (the lines of the report)
"""Decode throughput in the cache, by encoding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import OURS, THEIRS, THIRD, save, table

# Output GB/s asked for, after a prototype on a machine whose memcpy did 78 (in its second cache).
ASKED = {
    "bitpack, u32 of 11 bits": 40,
    "frame of reference, u32 of 11 bits": 40,
    "ALP, cents": 40,
    "dictionary, 256 strings, as views": 20,
    "run-end, u32, runs of 8": 40,
    "delta, u32 in steps of 0 to 15": 30,
    "OnPair, comments": 8,
    "OnPair, first names": 3,
    "repeat, u16, matches of 30": 13,
    "repeat, u32, matches of 30": 13,
}
PROTOTYPE = 78
# What does its work before the first vector: its figure is that with opening.
AT_OPEN = {"repeat", "zstd", "lz4"}

# What `perf` shows where we are short.
CAUSES = {
    "delta, u32 in steps of 0 to 15": "Delta: 4 bits are summed two rows at a time while they are packed; the sums are unpacked, not the differences. What is left is shuffles over the lanes of a register, two and a half for 16 values. Of other widths than 1, 2, 4 and 8 bits the differences are unpacked before, which takes 1.8 times as long.",
    "run-end, u32, runs of 8": "Run-end: a store of 64 bytes for every run, which here (Zen 4) is two, and crosses a line more often than not; runs of 8 words fill 32, but a store of 32 is too short for every other run, and a wrong guess costs more. All ends and values are decoded at `open`, which takes nearly as long again.",
    "repeat, u32, matches of 30": "Repeat: more than half of the time copies, 32 bytes at a time, and most of that are lengths wrongly guessed; then the lengths and offsets are decoded, and the values copied once more from where `open` puts them.",
    "OnPair, comments": "OnPair: two loads and a store for every code, and the strings' lengths.",
    "dictionary, 256 strings, as views": "Views: a gather of 16 bytes a row, the table of the dictionary and the pool.",
}


def speed(case: Any, key: str = "") -> float:
    """Output GB/s; of what is decoded at open, with that."""
    key = key or ("open and decode" if case["encoding"] in AT_OPEN else "decode")
    return case["output"] / case[key] / 1e9


def report(measured: Any, plot: Path) -> str:
    """In-cache decode."""
    rows = []
    for case in measured:
        own, copy, asked = speed(case), speed(case, "memcpy"), ASKED.get(case["case"])
        anew = speed(case, "open and decode")
        rows.append(
            (
                case["case"],
                "" if case["encoding"] in AT_OPEN else f"{speed(case, 'decode'):.1f}",
                f"{anew:.1f}",
                f"{copy:.0f}",
                f"{own / copy:.2f}",
                asked or "",
                f"{asked / PROTOTYPE:.2f}" if asked else "",
                f"{case['encoded'] / case['output']:.3f}",
                f"`{case['tree']}`",
            )
        )
    head = (
        "values",
        "decode GB/s",
        "opened anew GB/s",
        "memcpy GB/s",
        "of memcpy",
        "asked GB/s",
        "asked, of its memcpy",
        "of raw",
        "tree",
    )
    wanted = [case for case in measured if case["case"] in ASKED]
    lines = []
    for case in wanted:
        own, asked, copy = speed(case), ASKED[case["case"]], speed(case, "memcpy")
        share, wished = own / copy, asked / PROTOTYPE
        verdict = "reached" if own >= asked else f"{(1 - own / asked) * 100:.0f}% short"
        scaled = "reached" if share >= wished else f"{(1 - share / wished) * 100:.0f}% short"
        lines.append((case["case"], f"{own:.1f}", asked, verdict, f"{share:.2f}", f"{wished:.2f}", scaled))
    figure, axis = plt.subplots(figsize=(9, 9))
    places = range(len(measured))
    colors = [THIRD if c["case"] in ASKED and speed(c) < ASKED[c["case"]] else OURS for c in measured]
    axis.barh(places, [speed(c) for c in measured], color=colors)
    for i, case in enumerate(measured):
        if asked := ASKED.get(case["case"]):
            axis.plot([asked, asked], [i - 0.45, i + 0.45], color=THEIRS, linewidth=3)
    copies = sorted(speed(c, "memcpy") for c in measured if c["output"] > 50_000)
    copy = copies[len(copies) // 2]
    axis.axvline(copy, color="k", linestyle="--", linewidth=1)
    axis.text(copy, -1.4, "memcpy", ha="center")
    axis.set_yticks(places, [c["case"] for c in measured])
    axis.invert_yaxis()
    axis.set_xlabel("output GB/s (yellow: asked for; red: short of it)")
    image = save(figure, plot)
    missed = [row for row in lines if row[3] != "reached"]
    scaled = [row for row in lines if row[6] != "reached"]
    reached = {row[0] for row in lines if row[3] == "reached"}
    causes = [cause for name, cause in CAUSES.items() if name not in reached]
    own = [case for case in measured if case["encoding"] not in AT_OPEN]
    opening = sorted((case["open and decode"] / case["decode"] - 1, case["case"]) for case in own)
    slowest = sorted((speed(c) / speed(c, "memcpy"), c["case"]) for c in measured)[:6]
    return f"""# Decoding in the cache, by encoding

One block of each, opened, decoded again and again into the same memory: words, strings one after another with the length of each, bits,
or views as a scan makes them. An encoding is asked for by name, with what the chooser puts below it (the tree). The output takes a quarter of a
megabyte or less, so that it and what it is decoded from stay in the second cache. GB/s of output: strings without their lengths, views 16 bytes
each. One core, CPU time, medians of 41 rounds in which all take turns, each beside a memcpy of as many bytes between two buffers that stay.

- **Decode** goes by the crate's own decoders, a vector at a time through the whole tree: more than a kernel. Views: memory out of the pool and back,
  and the dictionary's table of views made anew each time, which a chunk of many blocks makes once. Bits: into a bitmap of their own.
- **Opened anew** has the checksum, the parse of the trees and what an encoding does at `open` (dictionaries, run ends, exceptions) as well: what a scan
  pays. `repeat` and the codecs decode at `open`: this is their figure.
- **Asked**: from a prototype, on a machine whose memcpy in the second cache did {PROTOTYPE} GB/s. Here it does {copy:.0f}: so the share of memcpy is
  compared, too. Of `repeat` the prototype did 13 to 18 for u16 and 24 to 29 for u32.

{image}

{table(head, rows)}

## Against what was asked for

{table(("values", "GB/s", "asked", "", "of memcpy", "asked, of its memcpy", ""), lines)}

## What one learns

- Reached are {len(lines) - len(missed)} of {len(lines)} in GB/s, {len(lines) - len(scaled)} as a share of memcpy. Short of both: {"; ".join(row[0] for row in missed if row in scaled) or "none"}.
{chr(10).join(f"- {cause}" for cause in causes)}
- Opening anew adds {opening[len(opening) // 2][0] * 100:.0f}% to decoding in the middle, most to {"; ".join(f"{name} ({more * 100:.0f}%)" for more, name in opening[::-1][:5])}. Where
  decoding goes at the speed of memcpy the checksum (some 57 GB/s of what is encoded) is most of it; else it is what is decoded at `open`.
- Farthest from memcpy: {"; ".join(f"{name} ({share:.3f})" for share, name in slowest)}.
"""
