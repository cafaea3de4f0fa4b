# ruff: noqa: E501 (the lines of the report)
"""What decode optimisations and instruction sets bring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import OURS, THEIRS, THIRD, mean, save, table

LABELS = {"Avx512": "AVX-512", "Avx2": "AVX2", "Baseline": "baseline (SSE2)"}


def report(measured: Any, plot: Path) -> str:
    """BtrBlocks, sections 5 and 6.8."""
    levels = [LABELS.get(level, level) for level in measured["levels"]]

    def rows(of: list[Any], name: str, output: str) -> list[tuple[str, ...]]:
        lines = []
        for each in of:
            seconds = each["seconds"]
            speeds = (f"{each[output] / s / 1e9:.2f}" for s in seconds)
            lines.append((each[name], *speeds, *(f"{s / seconds[0]:.2f}" for s in seconds[1:])))
        return lines

    tables, encodings = measured["tables"], measured["encodings"]
    slower = [mean(t["seconds"][i] / t["seconds"][0] for t in tables) for i in range(len(levels))]
    whole = [sum(t["seconds"][i] for t in tables) / sum(t["seconds"][0] for t in tables) for i in range(len(levels))]
    kernels = [
        (
            k["kernel"],
            f"{k['output'] / k['plain'] / 1e9:.1f}",
            f"{k['output'] / k['own'] / 1e9:.1f}",
            f"{k['plain'] / k['own']:.2f}",
        )
        for k in measured["kernels"]
    ]
    head = (*(f"{level} GB/s" for level in levels), *(f"time with {level}" for level in levels[1:]))
    figure, axes = plt.subplots(1, 2, figsize=(12, 6.5))
    axes[0].barh(range(len(encodings)), [c["seconds"][-1] / c["seconds"][0] for c in encodings], color=OURS)
    axes[0].axvline(1, color="k", linewidth=0.8)
    axes[0].set_yticks(range(len(encodings)), [c["case"] for c in encodings], fontsize=6)
    axes[0].invert_yaxis()
    axes[0].set_xlabel(f"time with {levels[-1]}, with {levels[0]} as 1")
    gains = [k["plain"] / k["own"] for k in measured["kernels"]]
    axes[1].barh(range(len(gains)), gains, color=[THIRD if g < 1 else THEIRS for g in gains])
    axes[1].axvline(1, color="k", linewidth=0.8)
    axes[1].set_yticks(range(len(gains)), [k["kernel"] for k in measured["kernels"]], fontsize=6)
    axes[1].invert_yaxis()
    axes[1].set_xlabel("times the speed of the plain loop")
    image = save(figure, plot)
    gained = sorted(((c["seconds"][-1] / c["seconds"][0], c["case"]) for c in encodings), reverse=True)
    named = {k["kernel"]: k["plain"] / k["own"] for k in measured["kernels"]}
    lost = "; ".join(f"{name} ({gain:.2f})" for name, gain in named.items() if gain < 0.97)
    # As its disassembly shows.
    why = " With AVX-512 the compiler makes gathers (`vpgather`) of the look-up, which Zen 4 is slow at; with AVX2 it does not."
    why = why if "dictionary of 1,000" in lost else ""
    return f"""# What the decode optimisations bring

After BtrBlocks, section 5 (each optimisation) and section 6.8 (is it only SIMD?). One core, CPU time, medians of rounds in which all take turns.

{image}

## SIMD

A kernel is compiled three times and picked at run time; here the program is held to less than the machine has. The least is what every x86-64 machine has, for
which the compiler vectorises, too (16 bytes): it is not scalar code, which the paper compares. The checksum and the check of UTF-8 pick by themselves and stay as they are; so
do loops outside of the kernels. Scans of whole tables of 1 MB and more, into memory that is used again:

{table(("table", *head), rows(tables, "table", "arrow"))}

By encoding, in the cache, opened anew (as in [decode.md](decode.md)):

{table(("values", *head), rows(encodings, "case", "output"))}

## By optimisation

Kernels beside the plain loop that each stands for, over a vector of 1,024 in the first cache; GB/s of output. Runs: a store of 64 bytes for every run, the next one overwriting what was too much,
against a loop over each run. Dictionary: checked once and then looked up, against a check for every code. Fused: the dictionary is looked up for
every run, against runs of codes and then a lookup for every value. FSST: all strings of a vector at once, against a call for each. Strings: 32 bytes at a time, against a `memcpy` of
each; views (16 bytes each, as GB/s of the strings they stand for) against copies. The plain loops are compiled for the baseline.

{table(("kernel", "plain GB/s", "GB/s", "times"), kernels)}

The paper's gains are end to end, of columns that have the encoding anywhere in their cascade (AVX2, Skylake): RLE 76% (integers 128%, string codes 78%, doubles 14%), dictionaries of integers 18%, of doubles 8%, of
strings 13%, not copying strings more than ten times for some columns, RLE fused with dictionary 7%; FSST at once some 50 instructions a string.

## What one learns

- Without AVX-512 and AVX2 scans take {(slower[-1] - 1) * 100:.0f}% more time (geometric mean of {len(tables)} tables; {(whole[-1] - 1) * 100:.0f}% of all together), with AVX2 {(slower[1] - 1) * 100:.0f}% ({(whole[1] - 1) * 100:.0f}%).
  The paper: 17% for scalar code. So here, too, the speed is mostly not that of SIMD.
- Most gain: {"; ".join(f"{name} ({ratio:.2f} times)" for ratio, name in gained[:5])}. Where the baseline is as fast, the time is in loops that are not kernels, in copies, or in checksums.
- Runs of 8: {named["runs of 8, u32"]:.2f} times the plain loop for 32-bit words (the paper's integers: 2.28 end to end); fused with a dictionary {named["dictionary and runs of 8 fused, u64"]:.1f} times.
- FSST all at once: {named["FSST, strings of 8 bytes at once"]:.1f} times for strings of 8 bytes, {named["FSST, strings of 90 bytes at once"]:.1f} for those of 90.
- Slower than the plain loop: {lost or "none"}.{why}
"""
