# ruff: noqa: E501 (the lines of the report)
"""SSB by codec on a disk of 350 MB/s."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib.pyplot as plt

from reports.common import FOURTH, OURS, THEIRS, save, table


def medians(runs: list[Any]) -> dict[str, dict[str, float]]:
    """Each figure's median over the rounds, by query."""
    by_query: dict[str, list[Any]] = defaultdict(list)
    for run in runs:
        by_query[run["query"]].append(run)
    keys = ("seconds", "cpu", "wait", "decode", "bytes")
    return {query: {key: median(run[key] for run in of) for key in keys} for query, of in by_query.items()}


def report(measured: Any, plot: Path) -> str:
    """PosDB, figures 6 to 9."""
    sequential = {name: medians(runs) for name, runs in measured["sequential"]["runs"].items()}
    parallel = {name: medians(runs) for name, runs in measured["parallel"]["runs"].items()}
    names = list(measured["integers"])

    def total(of: dict[str, Any], key: str) -> float:
        return sum(query[key] for query in of.values())

    def last(name: str) -> float:
        return max(query["seconds"] for query in parallel[name].values())

    rows = []
    for name in names:
        of = sequential[name]
        seconds, wait, decode = (total(of, key) for key in ("seconds", "wait", "decode"))
        rows.append(
            (
                name,
                f"{measured['integers'][name] / 1e6:.1f}",
                f"{total(of, 'bytes') / 1e6:.0f}",
                f"{seconds:.2f}",
                f"{wait:.2f}",
                f"{decode:.2f}",
                f"{seconds - wait - decode:.2f}",
                f"{seconds / total(sequential['none'], 'seconds'):.2f}",
                f"{last(name):.2f}",
                f"{last(name) / last('none'):.2f}",
            )
        )
    head = (
        "codec of the integers",
        "MB of them",
        "MB read",
        "in turn, s",
        "waiting",
        "decoding",
        "rest",
        "of none",
        "all at once, s",
    )
    queries = list(sequential["none"])
    by_query = [(query, *(f"{sequential[name][query]['seconds'] * 1000:.0f}" for name in names)) for query in queries]
    volumes = [(query, *(f"{sequential[name][query]['bytes'] / 1e6:.1f}" for name in names)) for query in queries]
    at_once = [(query, *(f"{parallel[name][query]['seconds'] * 1000:.0f}" for name in names)) for query in queries]
    figure, axis = plt.subplots(figsize=(9, 3.4))
    bottom = [0.0] * len(names)
    for key, color in (("wait", THEIRS), ("decode", OURS), ("rest", FOURTH)):
        of_key = {name: total(sequential[name], key) for name in names} if key != "rest" else {}
        for name in names if key == "rest" else []:
            of = sequential[name]
            of_key[name] = total(of, "seconds") - total(of, "wait") - total(of, "decode")
        heights = [of_key[name] for name in names]
        axis.bar(
            names,
            heights,
            0.6,
            bottom=bottom,
            color=color,
            label={"wait": "waiting", "decode": "decoding"}.get(key, key),
        )
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    axis.set_ylabel("seconds, 13 queries in turn")
    axis.legend(frameon=False)
    image = save(figure, plot)
    scale = measured["scale"]
    brotli, chosen, none, packed = (
        total(sequential[name], "seconds") for name in ("Brotli", "chosen", "none", "bit packing")
    )
    share = total(sequential["Brotli"], "decode") / (
        total(sequential["Brotli"], "decode") + total(sequential["Brotli"], "wait")
    )
    return f"""# SSB by codec on a disk of 350 MB/s

After "Compression in disk-based column-stores revisited" (PosDB), figures 6 to 9. The Star Schema Benchmark, derived from TPC-H at scale factor {scale:g}
(the paper: 50), by DataFusion, one thread for the queries and one that reads. The integers of lineorder are in one codec, all else is
as it is (`plain`); `chosen` leaves these integers to the chooser, `chosen, all columns` everything, columns derived from others included. Every
query finds an empty page cache; the disk is a token bucket. The block cache has {scale * 20:g} MB for the 13 queries, {20 * scale / (600 * scale) * 100:.0f}% of the
fact table in memory (the paper's buffer: 6% of its files); it holds encoded blocks, PosDB's holds decoded pages. FastPFOR is none of Staffa's
encodings: `PFOR` is `frame_of_reference`, whose exceptions stand in the block. Medians of {measured["rounds"]} rounds.

{image}

{table((*head, "of none"), rows)}

## Seconds by query, in turn (figure 6), ms

{table(("query", *names), by_query)}

## All at once (figure 7), ms until each query ends

{table(("query", *names), at_once)}

## Bytes read (figure 9), MB

{table(("query", *names), volumes)}

## What one learns

- In turn, Brotli takes {brotli / none:.2f} of the time without compression, bit packing {packed / none:.2f}, the chooser {chosen / none:.2f}. The paper: Brotli 0.8 to 0.9 of
  none and behind every light codec.
- Of reading and decoding, decoding takes {share * 100:.0f}% with Brotli (the paper: 93%).
"""
