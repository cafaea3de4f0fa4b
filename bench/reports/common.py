"""What the reports share: means, tables, plots."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

# The same bytes for the same figures, and small ones.
mpl.rcParams.update({"svg.hashsalt": "staffa", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
OURS, THEIRS, THIRD, FOURTH = "#2f6f8f", "#c9a24b", "#8f4b3f", "#7fb3c8"


def mean(values: Iterable[float]) -> float:
    """The geometric mean."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table: the first column to the left, the others to the right."""
    lines = [f"| {' | '.join(head)} |", f"|---{'|---:' * (len(head) - 1)}|"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def for_both_schemes(svg: str) -> str:
    """A plot of matplotlib for light and for dark pages: no background, lines and text as the scheme has them."""
    ink = "svg{color:#30363d}@media(prefers-color-scheme:dark){svg{color:#c9d1d9}}"
    svg = svg.replace("fill: #ffffff", "fill: none").replace("#000000", "currentColor")
    svg = svg.replace("<svg ", '<svg fill="currentColor" ', 1)
    return svg.replace('<style type="text/css">', f'<style type="text/css">{ink}', 1)


def save(figure: Any, path: Path) -> str:
    """Writes a plot; the line that shows it."""
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    path.write_text(for_both_schemes(path.read_text()))
    plt.close(figure)
    return f"![plot]({path.name})"


def share(value: float) -> str:
    """As a percentage."""
    return f"{value * 100:.1f}%"
