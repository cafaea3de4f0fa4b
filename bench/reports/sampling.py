# ruff: noqa: E501 (the lines of the report)
"""Samples of 640 values, and of other sizes: right choices, loss."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import OURS, THEIRS, mean, save, share, table


def outcome(trial: Any, i: int, how: str) -> tuple[bool, bool, float, int, int, float]:
    """Whether tree and root are right (at most 2% above the best), the loss, bytes, the best, seconds."""
    sizes = dict(trial["exhaustive"])
    best = min([*sizes.values(), trial["plain_bytes"]])
    chosen = trial["shapes"][i][how]
    root = sizes.get(chosen["root"], trial["plain_bytes"])
    right, by_root = chosen["bytes"] <= best * 1.02, root <= best * 1.02
    return right, by_root, chosen["bytes"] / best, chosen["bytes"], best, chosen["seconds"]


def summary(trials: list[Any], i: int, how: str) -> tuple[float, float, float, float, float]:
    """Share of right trees and roots, mean loss, loss of all bytes, seconds."""
    all_of = [outcome(trial, i, how) for trial in trials]
    count = len(all_of)
    right, by_root = (sum(o[k] for o in all_of) / count for k in (0, 1))
    total = sum(o[3] for o in all_of) / sum(o[4] for o in all_of) - 1
    return right, by_root, mean(o[2] for o in all_of) - 1, total, sum(o[5] for o in all_of)


def report(measured: Any, plot: Path) -> str:
    """BtrBlocks, figures 5 and 6."""
    trials = [t["trial"] for t in measured["trials"]]
    strategies, sizes = measured["strategies"], measured["sizes"]
    shapes = [*strategies, *sizes]
    figures = {how: [summary(trials, i, how) for i in range(len(shapes))] for how in ("first", "tried")}
    default = strategies.index([10, 64])

    def rows(which: list[int]) -> list[list[str]]:
        out = []
        for i in which:
            runs, run = shapes[i]
            cells = [f"**{runs} x {run}**" if i == default else f"{runs} x {run}", f"{runs * run:,}"]
            for how in ("first", "tried"):
                right, by_root, loss, total, seconds = figures[how][i]
                cells += [share(right), share(by_root), share(loss), share(total), f"{seconds:.1f}"]
            out.append(cells)
        return out

    head = ["runs x values", "sample"]
    for how in ("first", "tried"):
        head += [f"{how}: right", "root right", "loss", "of all bytes", "s"]
    by_size = sorted([default, *range(len(strategies), len(shapes))], key=lambda i: shapes[i][0] * shapes[i][1])

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2))
    places = range(len(strategies))
    left.bar(
        [p - 0.2 for p in places], [figures["first"][i][0] * 100 for i in places], 0.4, color=THEIRS, label="first"
    )
    left.bar([p + 0.2 for p in places], [figures["tried"][i][0] * 100 for i in places], 0.4, color=OURS, label="tried")
    left.axhline(77, color="black", linewidth=0.8, linestyle=":", label="BtrBlocks at 10 x 64: 77%")
    left.set_xticks(list(places), [f"{a}x{b}" for a, b in strategies], rotation=45)
    left.set_ylabel("right choices, %")
    left.set_title("640 values")
    left.set_ylim(0, 118)
    left.legend(loc="upper center", ncol=3, fontsize=8)
    values = [shapes[i][0] * shapes[i][1] for i in by_size]
    for how, colour in (("first", THEIRS), ("tried", OURS)):
        right.plot(values, [figures[how][i][2] * 100 for i in by_size], marker="o", color=colour, label=how)
    right.axhline(3.3, color="black", linewidth=0.8, linestyle=":", label="BtrBlocks at 640: 3.3%")
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_xticks(values, [str(v) for v in values], rotation=45)
    right.minorticks_off()
    right.set_yticks([0.2, 0.5, 1, 2, 5, 10, 20], ["0.2", "0.5", "1", "2", "5", "10", "20"])
    right.set_xlabel("values of the sample, in runs of 64")
    right.set_ylabel("loss against the best, %")
    right.set_title("sample size")
    right.legend()
    image = save(figure, plot)

    def misses(how: str) -> str:
        lost: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        for trial in trials:
            right, _, loss, *_ = outcome(trial, default, how)
            if not right:
                best = min([*map(tuple, trial["exhaustive"]), ("plain", trial["plain_bytes"])], key=lambda e: e[1])[0]
                lost[(trial["kind"], trial["shapes"][default][how]["root"], best)].append(math.log(loss))
        order = sorted(lost.items(), key=lambda item: -sum(item[1]))[:8]
        cells = [
            (kind, chosen, best, len(logs), share(math.exp(sum(logs) / len(logs)) - 1), share(sum(logs) / len(trials)))
            for (kind, chosen, best), logs in order
        ]
        return table(("type", "chosen", "best", "blocks", "loss there", "share of the mean loss"), cells)

    def estimates() -> tuple[str, str, str]:
        """Of every encoding the estimate at the default, in terms of what it took with the best below it; which are off."""
        off: dict[tuple[str, str], list[float]] = defaultdict(list)
        for trial in trials:
            sizes = dict(trial["exhaustive"])
            for name, size in trial["shapes"][default]["estimates"]:
                if name in sizes:
                    off[(trial["kind"], name)].append(max(size, 1) / sizes[name])
        cells, too_low, too_high = [], [], []
        for (kind, name), ratios in sorted(off.items()):
            ratios.sort()
            near = sum(0.9 <= ratio <= 1.1 for ratio in ratios) / len(ratios)
            low, median, high = (ratios[int((len(ratios) - 1) * part)] for part in (0.1, 0.5, 0.9))
            cells.append((kind, name, len(ratios), f"{low:.2f}", f"{median:.2f}", f"{high:.2f}", share(near)))
            if len(ratios) >= 10 and (median < 0.9 or low < 0.8):
                too_low.append(f"`{name}` of {kind}s ({low:.2f}, median {median:.2f})")
            if len(ratios) >= 10 and (median > 1.1 or high > 1.5):
                too_high.append(f"`{name}` of {kind}s ({high:.2f}, median {median:.2f})")
        head = ("type", "encoding", "blocks", "lowest tenth", "median", "highest tenth", "within 10%")
        return table(head, cells), ", ".join(too_low) or "none", ", ".join(too_high) or "none"

    estimated, low, high = estimates()

    order = sorted(range(len(strategies)), key=lambda i: figures["tried"][i][0])
    named = [
        f"{strategies[i][0]} x {strategies[i][1]} ({share(figures['tried'][i][0])})"
        for i in (order[-1], order[-2], order[0])
    ]
    kinds = []
    for kind in ("integer", "float", "string"):
        own = [trial for trial in trials if trial["kind"] == kind]
        tried, first = summary(own, default, "tried"), summary(own, default, "first")
        cells = [share(f) for figure in (first, tried) for f in figure[:4]]
        kinds.append((f"{kind} ({len(own)})", *cells))
    by_kind = table(("type", *(h for h in head[2:] if h != "s")), kinds)
    tried, first = figures["tried"][default], figures["first"][default]
    reached = "reached" if tried[0] >= 0.77 and tried[2] <= 0.033 else "NOT reached"
    short = first[0] < 0.77 or first[2] > 0.033
    alone = "less than the paper's 77% and 3.3%" if short else "it alone reaches the paper's 77% and 3.3%"
    return f"""# Samples: strategies and sizes

After BtrBlocks, figures 5 and 6 (section 6.3). The first block (65,536 rows) of {len(trials)} columns of the open tables, those of 8,192
values and more; of every table columns in turn. The best: every viable encoding at every level of the cascade, on the
whole block, at the depth of profile `balanced`. A choice is right if what is written takes at most 2% more than the best (the paper's
rule); "root right" counts the encoding at the root alone, with the best below it. Loss: geometric mean over blocks, and of
all bytes together. Two choosers: *first* takes the best estimate at its word, as the paper does; *tried* is what profile `balanced`
does: the best three estimates are encoded, as long as one could still be smaller. Seconds: to choose and encode all blocks.

At the default, 10 runs of 64: **{share(tried[0])} right, loss {share(tried[2])}** ({share(tried[3])} of all bytes). The aim, at least 77% and at most
3.3%, is {reached}.

{image}

## 640 values

{table(head, rows(list(range(len(strategies)))))}

## Sizes, in runs of 64

{table(head, rows(by_size))}

## By type, at the default

{by_kind}

## The paper's

Figures 5 and 6 are plots; the text has 10 x 64 at 77% right choices and 3.3% loss on Public BI, single values and one range
worst, little between chunks of 16 and more, and larger samples better at exponentially growing cost. Its choices are by
one estimate each, which is *first* here.

## What goes wrong

*First*, at the default:

{misses("first")}

*Tried*:

{misses("tried")}

Estimates at the default, the best that this root can take as 1: what is far above is passed over, what is far below is tried in vain.

{estimated}

## What one learns

- One estimate, at its word, is right in {share(first[0])} of the blocks (root {share(first[1])}), with a loss of {share(first[2])} ({share(first[3])} of all bytes):
  {alone}.
- Why: estimates that are too low win against others that are too high. Too low by 10% and more in the median, or by 20% in a
  tenth of the blocks: {low}. Too high by 10% in the median, or by half in a tenth: {high}.
- Trying the best three mends most of that, at {tried[4] / first[4]:.2f} times the seconds: {share(first[2])} of loss become {share(tried[2])}.
- `text` is weighed 1.3 times its bytes, on purpose: printing takes longer than copying. Where it is best and not chosen, part
  of the loss is that.
- Where estimates are tried, {named[0]} and {named[1]} are right most often, {named[2]} least: a sample needs values of all parts, and
  runs of them.
"""
