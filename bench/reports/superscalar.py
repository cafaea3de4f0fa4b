# ruff: noqa: E501 (the lines of the report)
"""Patching against branches, page-wise against vector-wise, single values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import OURS, THEIRS, THIRD, save, table

DECODERS = ("naive", "linked list", "positions", "`frame_of_reference`", "`escape`")
ENCODERS = ("naive", "predicated", "double cursor", "`frame_of_reference`, all of it")
# Table 3: seconds and millions of L2 misses, page-wise and vector-wise.
TABLE_3 = {
    "3": (7.1, 58.70, 6.2, 21.00),
    "4": (2.3, 14.78, 1.8, 0.10),
    "6": (6.0, 64.91, 4.6, 0.38),
    "18": (21.5, 195.32, 14.3, 4.44),
}
SIZES = {1024: "vector", 1 << 16: "block", 1 << 20: "row group"}


def effective(rate: float, bits: int) -> float:
    """Exceptions with compulsory ones, by the paper's formula: E' of section 3.1."""
    return max(rate, (128 * rate - 1) / (128 * rate) * 2.0**-bits)


def size(rows: int) -> str:
    """What is decoded at once."""
    return SIZES.get(rows, "column")


def report(measured: Any, plot: Path) -> str:
    """Super-Scalar RAM-CPU Cache Compression, figures 4 to 7, table 3."""
    kernels = measured["kernels"]
    output = kernels[0]["output"]

    def speeds(key: str) -> list[list[float]]:
        """By way, then by rate."""
        return [list(way) for way in zip(*([output / s / 1e9 for s in k[key]] for k in kernels), strict=True)]

    decode, encode = speeds("decode"), speeds("encode")
    rates = [k["percent"] for k in kernels]
    values = output / 8

    def bits(kernel: Any, name: str) -> str:
        return f"{kernel['bytes'][name] * 8 / values:.1f}"

    decode_rows = [
        (
            f"{k['percent']}%",
            *(f"{way[i]:.1f}" for way in decode),
            bits(k, "frame_of_reference"),
            bits(k, "escape"),
            k["detail"],
        )
        for i, k in enumerate(kernels)
    ]
    encode_rows = [(f"{k['percent']}%", *(f"{way[i]:.2f}" for way in encode)) for i, k in enumerate(kernels)]

    widths = measured["widths"]
    by_width = []
    for width in sorted({w["width"] for w in widths}):
        for own in (w for w in widths if w["width"] == width and w["percent"] in (1, 5, 10, 30)):
            rate = own["real"] / own["values"]
            paper = effective(own["percent"] / 100, width)
            found = re.search(r"(\d+) exceptions", own["detail"])
            kept = int(found[1]) / 65536 if found else 0.0
            by_width.append(
                (
                    width,
                    f"{own['percent']}%",
                    f"{paper * 100:.1f}%",
                    f"{own['linked'] / own['values'] * 100:.1f}%",
                    f"{rate * 100:.1f}%",
                    f"{width + 32 * own['linked'] / own['values'] + 0.25:.1f}",
                    f"{own['bytes'] * 8 / own['values']:.1f}",
                    f"{own['escape'] * 8 / own['values']:.1f}",
                    f"{own['detail'].split(' bits')[0]}, {kept * 100:.1f}%",
                )
            )
    pages = measured["pages"]
    names = [*(size(rows) for rows in pages[0]["rows"]), "not encoded"]
    page_rows = [
        (
            f"{p['percent']}%",
            f"{p['bytes'] * 8 / p['output']:.2f}",
            *(f"{p['output'] / s / 1e9:.1f}" for s in p["seconds"]),
        )
        for p in pages
    ]
    query = measured["query"]
    query_names = [*(size(rows) for rows in query["rows"]), "not encoded"]
    query_rows = [
        (name, f"{s * 1e3:.1f}", f"{query['output'] / s / 1e9:.1f}", f"{s / query['seconds'][0]:.2f}")
        for name, s in zip(query_names, query["seconds"], strict=True)
    ]
    points = measured["points"]

    def cycles(nanoseconds: float, point: Any) -> str:
        rate = point["gigahertz"]
        return f"{nanoseconds:.0f}" + (f" ({nanoseconds * rate:.0f})" if rate else "")

    point_rows = [(f"{p['percent']}%", *(cycles(n, p) for n in p["nanoseconds"])) for p in points]

    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2))
    colors = (THIRD, "#999999", THEIRS, OURS, "#6f8f4b")
    for way, label, color in zip(decode, DECODERS, colors, strict=True):
        axes[0].plot(rates, way, color=color, label=label.replace("`", ""))
    for way, label, color in zip(encode, ENCODERS, (THIRD, "#999999", THEIRS, OURS), strict=True):
        axes[1].plot(rates, way, color=color, label=label.replace("`", ""))
    for i, name in enumerate(names):
        axes[2].plot([p["percent"] for p in pages], [p["output"] / p["seconds"][i] / 1e9 for p in pages], label=name)
    titles = ("figure 4: decode", "figure 5: encode", "figure 7: decode by so much, and sum")
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title)
        axis.set_xlabel("% exceptions")
        axis.set_ylabel("GB/s of 64-bit integers")
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=7)
    image = save(figure, plot)

    at = rates.index(10)
    worst = min(range(len(rates)), key=lambda i: decode[0][i])
    vector, block, group, column = ([p["output"] / p["seconds"][i] / 1e9 for p in pages] for i in range(4))
    ratio = [v / g for v, g in zip(vector, group, strict=True)]
    first = points[0]["nanoseconds"]
    return f"""# Super-scalar: patches, vectors, single values

After "Super-Scalar RAM-CPU Cache Compression" (report INS-E0511), figures 4 to 7, table 3 and its section on fine-grained access. Integers of 64 bits, codes
of 8, exceptions at random places. One core, CPU time, medians of rounds in which all take turns. Kernels and encoders: 16 vectors of 1,024 values,
in the second cache.

{image}

## Figure 4: decoding by exception rate

GB/s of output. **Naive**: codes unpacked, then a branch for every one. **Linked list**: the paper's, all decoded and then the list walked that
the exceptions' codes are (one list a vector, where the paper has one for 128 values). **Positions**: all decoded, then values put to the positions that stand beside
them. All three unpack by our kernel and have their exceptions as words; the last two columns are the encodings, opened, with widths, bytes of exceptions and
checks of their own: `frame_of_reference` stores positions (16 bits each) and takes more bits to the value before an eighth of the values
are exceptions, `escape` stores none.

{table(("exceptions", *DECODERS, "bits/value", "`escape`, bits/value", "`frame_of_reference` chose"), decode_rows)}

The paper's, a plot: 2 to 5 GB/s without exceptions on three machines of 2005; PFOR above the naive loop at every rate, which is slowest near 50% on the Pentium 4
(IPC 0.5), and as fast on the Itanium 2, where the compiler predicates. Beyond 30% compression is of no use.

## Figure 5: encoding by exception rate

GB/s of input. The paper's three ways to find exceptions, then packed by our kernel; and our encoder, which is not told the width: statistics, a histogram of widths and a
base for every vector, positions. The paper chooses from a sample, before.

{table(("exceptions", *ENCODERS), encode_rows)}

## Figure 6: compulsory exceptions

Exceptions must reach each other within 2^b in the paper's linked list. Positions of their own, as here, cost 16 bits each and reach everywhere: there are no compulsory ones.
Integers of 32 bits, of b bits but for the exceptions; bits per value of PFOR by the lists that result (32 bits an exception, a quarter for entry
points), and of our files.

{table(("b", "exceptions", "with compulsory, paper's formula", "with compulsory, counted", "here", "PFOR, bits/value", "`frame_of_reference`", "`escape`", "`frame_of_reference` chose: bits, exceptions"), by_width)}

## Figure 7 and table 3: page-wise and vector-wise

{pages[0]["output"] >> 20} MiB of integers, by `frame_of_reference`, decoded so much at a time and summed before the next; memory that is used again. GB/s of output.

{table(("exceptions", "bytes/value", *names), page_rows)}

Query 6 of TPC-H over {query["table rows"]:,} rows (four columns as the chooser has them, decimals as doubles, {query["bytes"] / 1e6:.1f} MB for {query["output"] / 1e6:.0f}):

{table(("decoded at once", "ms", "GB/s", "of vector-wise"), query_rows)}

The paper's table 3 (SF-100, by its table 2 on the Pentium 4; seconds and millions of L2 misses):

{table(("query", "page-wise s", "misses", "vector-wise s", "misses", "page-wise of vector-wise"), [(q, a, b, c, d, f"{a / c:.2f}") for q, (a, b, c, d) in TABLE_3.items()])}

## One value

Nanoseconds (cycles of the time stamp) of a random value out of an open block of 65,536 in the cache, by way of the decoder; of a delta, which decodes the vector; and of a vector of `frame_of_reference`.

{table(("exceptions", "`frame_of_reference`", "`delta`", "a whole vector"), point_rows)}

The paper: some 200 cycles at 30% exceptions, for PFOR-DELTA the 128 values of an entry point at 3 to 6 cycles each.

## What one learns

- At 10% exceptions positions decode at {decode[2][at] / decode[0][at]:.1f} times the speed of the naive loop, the linked list at {decode[1][at] / decode[0][at]:.1f} times; the naive loop is slowest
  at {rates[worst]}% ({decode[0][worst]:.1f} GB/s). Without exceptions: {decode[2][0]:.0f} GB/s against {decode[0][0]:.0f}.
- Our decoder's patching is slower than the bare kernel's at 10%: {decode[3][at]:.1f} GB/s against {decode[2][at]:.1f}: positions and exceptions are stored in as many bytes as they need, and every one is put together a byte at a time.
- Encoding whole, `frame_of_reference` does {encode[3][0]:.1f} GB/s without exceptions and {encode[3][at]:.1f} at 10%; predicated search alone {encode[1][0]:.1f} and {encode[1][at]:.1f}, naive {encode[0][0]:.1f} and {encode[0][at]:.1f}.
- Vector-wise is {min(ratio):.1f} to {max(ratio):.1f} times as fast as by row group ({group[0]:.1f} GB/s without exceptions, by column {column[0]:.1f}); by blocks of 65,536, which stay in the second cache, {block[0]:.1f} against {vector[0]:.1f}.
  Query 6: by row group {query["seconds"][2] / query["seconds"][0]:.2f} times the time of vector-wise (paper: 1.30).
- A value of a column without exceptions costs {first[0]:.0f} ns, of a delta {first[1]:.0f}; with exceptions their positions are looked through, one by one. From 15% on `frame_of_reference` has none left, but wider codes.
"""
