# ruff: noqa: E501 (the lines of the reports)
"""What bench/experiments.py measured, as Markdown and a plot, beside what the papers have."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

# The same bytes for the same figures, and small ones.
mpl.rcParams.update({"svg.hashsalt": "staffa", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
OURS, THEIRS, THIRD = "#2f6f8f", "#c9a24b", "#8f4b3f"


def mean(values: Iterable[float]) -> float:
    """The geometric mean."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table: the first column to the left, the others to the right."""
    lines = [f"| {' | '.join(head)} |", f"|---{'|---:' * (len(head) - 1)}|"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def save(figure: Any, path: Path) -> str:
    """Writes a plot; the line that shows it."""
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return f"![plot]({path.name})"


def share(value: float) -> str:
    """As a percentage."""
    return f"{value * 100:.1f}%"


def pool(measured: Any, plot: Path) -> str:
    """BtrBlocks, figure 4."""
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.6))
    parts = []
    learned = []
    for axis, kind in zip(axes, measured, strict=True):
        rows, before = [], None
        names, ratios, speeds = [], [], []
        border = 0
        for i, step in enumerate(kind["steps"]):
            tables = step["tables"]
            arrow, size, scan, write = (sum(t[k] for t in tables) for k in ("arrow", "bytes", "scan", "write"))
            ratio = mean(t["arrow"] / t["bytes"] for t in tables)
            gain = "" if before is None else f"{(ratio / before - 1) * 100:+.0f}%"
            before = ratio
            name = ("+ " if i else "") + ", ".join(step["added"].split(" ")) if "all" not in step["added"] else ""
            name = name or "+ all others"
            name = "+ in terms of other columns" if step["added"] == "other columns" else name
            speed, total = arrow / scan / 1e9, arrow / size
            rows.append((name, f"{ratio:.2f}", gain, f"{total:.2f}", f"{speed:.2f}", f"{arrow / write / 1e6:.0f}"))
            names.append(name.replace("frame_of_reference", "FOR").replace("in terms of ", ""))
            ratios.append(ratio)
            speeds.append(speed)
            border = i if step["paper"] else border
        head = ("pool", "ratio", "gain", "ratio of all", "decode GB/s", "write MB/s")
        parts.append(f"## {kind['type']} ({len(kind['steps'][0]['tables'])} tables)\n\n{table(head, rows)}\n")
        axis.bar(range(len(names)), ratios, color=[OURS if i <= border else THIRD for i in range(len(names))])
        axis.set_xticks(range(len(names)), names, rotation=55, ha="right", fontsize=7)
        axis.set_title(kind["type"])
        axis.set_ylabel("compression ratio, geometric mean (bars)")
        other = axis.twinx()
        other.plot(range(len(names)), speeds, color=THEIRS, marker="o", markersize=3)
        other.set_ylim(0, max(speeds) * 1.15)
        other.set_ylabel("decode GB/s (line)")
        other.spines["right"].set_visible(True)
        learned.append(
            f"- {kind['type']}: the paper's pool reaches {ratios[border]:.2f} at {speeds[border]:.1f} GB/s, what came after it "
            f"{ratios[-2]:.2f} at {speeds[-2]:.1f}, with other columns {ratios[-1]:.2f} at {speeds[-1]:.1f}."
        )
    image = save(figure, plot)
    return f"""# The pool, one encoding at a time

After BtrBlocks, figure 4. Of every table the columns of one type (no dates, as in the paper), {f"{1 << 19:,}"} rows at
the most; what a step names is added to what was there. Ratio: Arrow bytes to bytes of the file, footer and all,
geometric mean over the tables, and of all bytes together. Decode: the whole table into batches (strings with offsets, copied: the paper's are views).
Nothing is verified on write. One core, CPU time, least of three scans. Bars in red: not in the paper's pool.

{image}

{chr(10).join(parts)}
## The paper's

Figure 4 is a plot; its text (section 6.2) says of Public BI: doubles: Dictionary +95%, Pseudodecimal +20%; strings:
Dictionary 7 times, FSST over the dictionary +51%; One Value decodes at 8.9 (doubles) and 11.8 GB/s (integers); Dictionary
takes strings from 9.4 to 19.6 GB/s. `bitpack` and `frame_of_reference` stand below doubles and strings from the start here
(codes and lengths need them), and `plain` has them for its lengths.

## What one learns

{chr(10).join(learned)}
- The gains of one encoding depend on what is there before it: `bench/results/without.md` has each against all others.
"""


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


def sampling(measured: Any, plot: Path) -> str:
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


PBI = {
    "Parquet": (7.10, 1.99, 5.73, 3.37),
    "+LZ4": (12.05, 2.16, 6.07, 4.72),
    "+Snappy": (12.23, 2.15, 6.05, 4.79),
    "+Zstd": (17.13, 2.30, 6.97, 6.05),
    "BtrBlocks": (11.32, 2.36, 6.70, 5.28),
}
TPCH = {
    "Parquet": (1.63, 2.35, 1.45, 1.69),
    "+LZ4": (3.65, 2.94, 1.49, 2.77),
    "+Snappy": (3.92, 2.91, 1.49, 2.85),
    "+Zstd": (5.27, 2.87, 1.74, 3.41),
    "BtrBlocks": (4.26, 4.58, 2.46, 3.79),
}


def types(measured: Any, plot: Path) -> str:
    """BtrBlocks, table 2."""
    formats = ["Parquet", "+LZ4", "+Snappy", "+Zstd", "Staffa"]
    papers = {"open tables": ("Public BI", PBI), "TPC-H": ("TPC-H", TPCH)}
    parts, learned = [], []
    figure, axes = plt.subplots(1, len(measured), figsize=(5.5 * len(measured), 4), squeeze=False)
    for axis, (name, both) in zip(axes[0], measured.items(), strict=True):
        bytes_of: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for column in both["staffa"]:
            sizes = both["parquet"].get(f"{column['table']}/{column['column']}", {})
            for label, size in {"Arrow": column["arrow"], "Staffa": column["staffa"], **sizes}.items():
                bytes_of[label][column["class"]] += size
        classes = [c for c in ("string", "double", "integer") if c in bytes_of["Arrow"]]
        classes += sorted(set(bytes_of["Arrow"]) - set(classes))
        rows = []
        for label in ("Arrow", *formats):
            total = sum(bytes_of[label].values())
            cells = [label]
            for c in classes:
                size = bytes_of[label][c]
                cells += [
                    f"{size / total * 100:.1f}",
                    f"{bytes_of['Arrow'][c] / size:.2f}" if label != "Arrow" else "-",
                ]
            rows.append((*cells, f"{sum(bytes_of['Arrow'].values()) / total:.2f}" if label != "Arrow" else "-"))
        head = ["format", *(f"{c} {what}" for c in classes for what in ("%", "x")), "combined x"]
        volume = sum(bytes_of["Arrow"].values()) / 1e6
        parts.append(f"## {name} ({volume:.0f} MB as Arrow): share of bytes, and ratio\n\n{table(head, rows)}\n")
        whose, figures = papers[name]
        cells = [(label, *(f"{x:.2f}" for x in ratios)) for label, ratios in figures.items()]
        parts.append(
            f"The paper's ratios, {whose}:\n\n{table(('format', 'string', 'double', 'integer', 'combined'), cells)}\n"
        )
        for i, label in enumerate(formats):
            ratios = [bytes_of["Arrow"][c] / bytes_of[label][c] for c in classes[:3]]
            shades = ["#d9d2c0", "#cbbf9c", THEIRS, THIRD, OURS]
            axis.bar([k + (i - 2) * 0.16 for k in range(len(ratios))], ratios, 0.15, label=label, color=shades[i])
        axis.set_xticks(range(len(classes[:3])), classes[:3])
        axis.set_ylabel("compression ratio")
        axis.set_title(name)
        axis.legend(fontsize=7)
        against = {c: bytes_of["+Zstd"][c] / bytes_of["Staffa"][c] for c in classes}
        said = ", ".join(f"{c} {factor:.2f}" for c, factor in against.items())
        learned.append(f"- {name}: Parquet with Zstd takes so many times Staffa's bytes: {said}.")
    image = save(figure, plot)
    return f"""# Types by volume and ratio

After BtrBlocks, table 2. Bytes of column data alone, without footers, of all tables together: large tables weigh most. Parquet by
pyarrow with its defaults, Zstd at level 3; Staffa with profile `balanced`, columns in terms of others included. TPC-H: two
million rows of a table at the most, decimals as doubles, as in the paper. The binary form is Arrow's (the paper's was its own).

{image}

{chr(10).join(parts)}
## What one learns

{chr(10).join(learned)}
"""


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


def doubles(measured: Any, plot: Path) -> str:
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


def without(measured: Any, plot: Path) -> str:
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


POSDB = {"raw": 12.0, "SIMDFastPFor": 6.8, "SIMDBinaryPacking": 6.9, "PFor": 7.0, "VByte": 8.7, "Brotli": 5.1}
POSDB_WHOLE = {"raw": 16.6, "SIMDFastPFor": 11.5, "SIMDBinaryPacking": 11.5, "PFor": 11.6, "VByte": 13.4, "Brotli": 9.7}


def codecs(measured: Any, plot: Path) -> str:
    """PosDB, table 1."""
    columns = measured["columns"]
    foreign = ["raw", "VByte", "Stream VByte", "SIMDBinaryPacking", "SIMDFastPFor", "Zstd", "Brotli", "pco"]
    own = ["bitpack", "frame_of_reference", "delta", "dictionary", "run_end"]
    names = [*foreign, *own, "balanced"]
    raw = sum(c["codecs"]["raw"]["bytes"] for c in columns)
    others = measured["other columns"]
    theirs = {**POSDB, "frame_of_reference": POSDB["PFor"]}
    whole = {**POSDB_WHOLE, "frame_of_reference": POSDB_WHOLE["PFor"]}
    rows = []
    shares = {}
    for name in names:
        size, encode, decode = (sum(c["codecs"][name][k] for c in columns) for k in ("bytes", "encode", "decode"))
        shares[name] = size / raw
        label = {"balanced": "chosen (`balanced`)"}.get(name, f"`{name}`" if name in own else name)
        speeds = (f"{raw / encode / 1e6:.0f}", f"{raw / decode / 1e9:.2f}") if encode else ("", "")
        paper = f"{theirs[name] / theirs['raw']:.3f}" if name in theirs else ""
        paper_whole = f"{whole[name] / whole['raw']:.3f}" if name in whole else ""
        rows.append(
            (
                label,
                f"{size / 1e6:.1f}",
                f"{size / raw:.3f}",
                paper,
                f"{(size + others) / (raw + others):.3f}",
                paper_whole,
                *speeds,
            )
        )
    mine = measured["whole"]
    speeds = (f"{(raw + others) / mine['encode'] / 1e6:.0f}", f"{(raw + others) / mine['decode'] / 1e9:.2f}")
    rows.append(
        (
            "Staffa, the whole table",
            f"{mine['bytes'] / 1e6:.1f}",
            "",
            "",
            f"{mine['bytes'] / (raw + others):.3f}",
            "",
            *speeds,
        )
    )
    head = ("codec", "MB", "of raw", "paper", "whole table", "paper", "encode MB/s", "decode GB/s")
    per_column = [
        (c["column"], *(f"{c['codecs'][name]['bytes'] / c['codecs']['raw']['bytes']:.3f}" for name in names[1:]))
        for c in columns
    ]
    figure, axis = plt.subplots(figsize=(9, 4.2))
    axis.bar([i - 0.2 for i in range(len(names))], [shares[n] for n in names], 0.4, color=OURS, label="here")
    paper = [(i, theirs[n] / theirs["raw"]) for i, n in enumerate(names) if n in theirs]
    axis.bar([i + 0.2 for i, _ in paper], [y for _, y in paper], 0.4, color=THEIRS, label="PosDB, table 1")
    axis.set_xticks(
        range(len(names)), [n.replace("frame_of_reference", "FOR (PFor)") for n in names], rotation=40, ha="right"
    )
    axis.set_ylabel("bytes, raw as 1")
    axis.legend()
    image = save(figure, plot)
    named = min(own, key=lambda n: shares[n])
    brotli = sum(c["codecs"]["Brotli"]["decode"] for c in columns)
    chosen, pco = (sum(c["codecs"][name]["decode"] for c in columns) for name in ("balanced", "pco"))
    beaten = [c["column"] for c in columns if c["codecs"]["pco"]["bytes"] < c["codecs"]["balanced"]["bytes"] * 0.99]
    return f"""# Integer columns of lineorder by codec

After "Compression in disk-based column-stores revisited" (PosDB), table 1. Lineorder of the Star Schema Benchmark, derived from TPC-H
({measured["rows"]:,} rows; the paper had scale factor 50), all {len(columns)} integer columns as 32-bit words; the paper took ten. Brotli (quality 9) and
Zstd (level 3) by pages of 64 KiB, as PosDB's; SIMDFastPFor and VByte by the crate `fastpfor`, SIMDBinaryPacking by `bitpacking`
(blocks of 128), Stream VByte by `stream-vbyte` (its scalar form), pco by `pco`. The names in code letters are Staffa's encodings asked for by
name, with what the chooser puts below them; `frame_of_reference` has exceptions and so is PFor. "Whole table" adds
the other columns as they are. One core, CPU time.

{image}

{table(head, rows)}

## By column, of raw

{table(("column", *(n for n in names[1:])), per_column)}

## What one learns

- The order is the paper's: Brotli below the light codecs, VByte above them ({shares["Brotli"]:.3f}, {shares["SIMDFastPFor"]:.3f}, {shares["VByte"]:.3f} of raw;
  paper 0.425, 0.567, 0.725).
- Chosen by column and cascaded, light encodings take {shares["balanced"]:.3f} of raw: Brotli takes {shares["Brotli"] / shares["balanced"]:.2f} times as much and decodes {brotli / chosen:.0f}
  times as slowly. The paper's answer to its first question, that a heavy codec still saves some 30% over the light ones, is one about a
  single light codec for all columns.
- pco takes {shares["pco"] / shares["balanced"]:.3f} of the bytes of what is chosen, and {pco / chosen:.1f} times its time to decode. It is smaller on {len(beaten)} of
  {len(columns)} columns: {", ".join(beaten)}.
- The smallest of Staffa's asked for by name for all columns is `{named}`, with {shares[named]:.3f}: choosing by column is worth {(1 - shares["balanced"] / shares[named]) * 100:.0f}%.
- The whole table, its other columns included, takes {mine["bytes"] / 1e6:.1f} MB, some columns in terms of others.
"""
