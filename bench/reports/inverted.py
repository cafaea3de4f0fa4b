# ruff: noqa: E501 (the lines of the report)
"""Inverted lists of a text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from reports.common import OURS, THEIRS, save, table

# Table 4: ratio, compression and decompression in MB/s, of PFOR-DELTA, carryover-12 and a semi-static Huffman coder.
PAPER = {
    "INEX": (1.75, 679, 3053, 2.12, 49, 524, 2.45, 3.5, 82),
    "TREC fbis": (3.47, 788, 3911, 4.26, 98, 740, 5.11, 190, 164),
    "TREC fr94": (3.12, 682, 3196, 3.49, 84, 689, 4.65, 149, 154),
    "TREC ft": (3.13, 761, 3443, 3.47, 84, 704, 4.89, 178, 157),
    "TREC latimes": (2.99, 742, 3289, 3.30, 79, 683, 4.61, 164, 153),
}
NAMES = {
    "documents: delta": "`delta` of the documents (PFOR-DELTA)",
    "documents: balanced": "documents, chosen",
    "gaps: frame_of_reference": "`frame_of_reference` of the gaps (PFOR)",
    "gaps: escape": "`escape` of the gaps",
    "gaps: balanced": "gaps, chosen",
    "gaps: SIMDFastPFor": "SIMDFastPFor of the gaps (crate `fastpfor`)",
    "gaps: VByte": "VByte of the gaps (crate `fastpfor`)",
}


def report(measured: Any, plot: Path) -> str:
    """Super-Scalar RAM-CPU Cache Compression, table 4."""
    parts, ratios = [], {}
    for order, own in measured["orders"].items():
        raw = own["postings"] * 4
        rows = []
        for name, label in NAMES.items():
            codec = own["codecs"][name]
            ratios[order, name] = raw / codec["bytes"]
            anew = codec.get("open and decode")
            rows.append(
                (
                    label,
                    f"{raw / codec['bytes']:.2f}",
                    f"{codec['bytes'] * 8 / own['postings']:.2f}",
                    f"{raw / codec['encode'] / 1e6:,.0f}",
                    f"{raw / codec['decode'] / 1e6:,.0f}",
                    f"{raw / anew / 1e6:,.0f}" if anew else "",
                    f"`{codec['tree']}`" if codec.get("tree") else "",
                )
            )
        head = (
            "codec",
            "ratio",
            "bits/posting",
            "encode MB/s",
            "decode MB/s",
            "opened anew MB/s",
            "tree of the first block",
        )
        share = own["ones"] / own["postings"]
        parts.append(
            f"### {order}\n\n{own['lists']:,} lists, {own['postings']:,} postings; {share:.0%} of the gaps are 1.\n\n{table(head, rows)}\n"
        )
    paper = [(name, *values) for name, values in PAPER.items()]
    head = (
        "collection",
        *(
            f"{codec} {what}"
            for codec in ("PFOR-DELTA", "carryover-12", "Huffman")
            for what in ("ratio", "comp.", "dec.")
        ),
    )

    figure, axis = plt.subplots(figsize=(8, 4.2))
    for order, marker in zip(measured["orders"], ("o", "s"), strict=True):
        own = measured["orders"][order]
        for name in NAMES:
            codec = own["codecs"][name]
            x, y = ratios[order, name], own["postings"] * 4 / codec["decode"] / 1e9
            axis.plot(x, y, marker, color=OURS)
            axis.annotate(f"{name} ({order})", (x, y), fontsize=6, xytext=(4, 2), textcoords="offset points")
    for values in PAPER.values():
        axis.plot(values[0], values[2] / 1e3, "^", color=THEIRS)
    axis.plot([], [], "^", color=THEIRS, label="PFOR-DELTA, the paper's (2005)")
    axis.set_yscale("log")
    axis.set_xlabel("ratio")
    axis.set_ylabel("decode GB/s")
    axis.legend()
    image = save(figure, plot)
    found, shuffled = measured["orders"]["as found"], measured["orders"]["shuffled"]

    def gigabytes(own: Any, name: str) -> float:
        return own["postings"] * 4 / own["codecs"][name]["decode"] / 1e9

    delta, vbyte = "documents: delta", "gaps: VByte"
    return f"""# Inverted lists

After "Super-Scalar RAM-CPU Cache Compression", table 4. Lists of the documents of every word, {measured["documents"]:,} documents of a text of {measured["bytes"] / 1e6:.1f} MB, one a line
(here Debian's package descriptions, the archive's Translation-en: name and description, in the archive's order), words of ASCII letters and digits, in lower case; lists of less than {measured["least"]} are left out. Two orders of the documents: as found, where
neighbours are alike, and shuffled. All lists one after another in a column of 32-bit words: numbers of documents, or gaps as the paper has them. The paper's PFOR-DELTA gives
documents, and so does `delta`; what decodes gaps has the sums still to do. Encoding is a whole write (choice, statistics, file); decoding is by block into the same memory, in the cache,
opened before or anew. MB/s of 32-bit words. One core, CPU time, medians.

{image}

{chr(10).join(parts)}
## The paper's

Pentium 4 of 3 GHz; MB/s.

{table(head, paper)}

## What one learns

- `delta` compresses {ratios["as found", delta]:.2f} times as found and {ratios["shuffled", delta]:.2f} shuffled (paper: 1.75 to 3.47), and decodes {gigabytes(found, delta):.1f} and {gigabytes(shuffled, delta):.1f} GB/s (paper: 3.1 to 3.9, of 2005).
- What is chosen: {ratios["as found", "documents: balanced"]:.2f} and {ratios["shuffled", "documents: balanced"]:.2f} for documents, {ratios["as found", "gaps: balanced"]:.2f} and {ratios["shuffled", "gaps: balanced"]:.2f} for gaps.
- VByte takes {ratios["as found", "gaps: balanced"] / ratios["as found", vbyte]:.2f} times the bytes of what is chosen for gaps (as found) and decodes at {gigabytes(found, vbyte):.1f} GB/s; SIMDFastPFor {ratios["as found", "gaps: balanced"] / ratios["as found", "gaps: SIMDFastPFor"]:.2f} times, at {gigabytes(found, "gaps: SIMDFastPFor"):.1f}.
- Shuffling costs {(1 - ratios["shuffled", "documents: balanced"] / ratios["as found", "documents: balanced"]) * 100:.0f}% of what is chosen for documents.
"""
