# ruff: noqa: E501 (the lines of the report)
"""Integer columns by codec."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import OURS, THEIRS, save, table

POSDB = {"raw": 12.0, "SIMDFastPFor": 6.8, "SIMDBinaryPacking": 6.9, "PFor": 7.0, "VByte": 8.7, "Brotli": 5.1}
POSDB_WHOLE = {"raw": 16.6, "SIMDFastPFor": 11.5, "SIMDBinaryPacking": 11.5, "PFor": 11.6, "VByte": 13.4, "Brotli": 9.7}


def report(measured: Any, plot: Path) -> str:
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
