"""Draws results/tables.svg, the chart of the README, from results/tables.json, which tables.py --record writes.

python bench/chart.py

>>> bars("Size", "", {"a": 1.0, "b": 0.5}, 0).count("<rect")
2
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
ROW, LABELS, PANEL, GAP, TOP = 26, 128, 176, 40, 50
# Text as the scheme of the page has it, no background: the same picture on light and dark pages.
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#30363d}.head{font-weight:600}.note{font-size:11.5px;fill:#656d76}"
    "rect{fill:#a8b1bb}.own{fill:#0f8a7e}"
    "@media(prefers-color-scheme:dark){text{fill:#d1d7e0}.note{fill:#9198a1}rect{fill:#5f6b78}.own{fill:#2bb5a6}}"
)


def bars(title: str, note: str, values: dict[str, float], left: int, digits: int = 2) -> str:
    """A panel: a bar for each value, longest for the largest."""
    out = [f'<text class="head" x="{left}" y="16">{title}</text><text class="note" x="{left}" y="33">{note}</text>']
    most = max(values.values())
    for row, (name, value) in enumerate(values.items()):
        y, width = TOP + row * ROW, max(2, (PANEL - 48) * value / most)
        kind = ' class="own"' if name.startswith("Staffa") else ""
        out.append(f'<rect{kind} x="{left}" y="{y}" width="{width:.1f}" height="16" rx="2"/>')
        out.append(f'<text x="{left + width + 6:.1f}" y="{y + 13}">{value:,.{digits}f}</text>')
    return "".join(out)


def chart(figures: dict[str, Any]) -> str:
    """Size, scan and write of Parquet and of the profiles."""
    own = figures["staffa"]
    rows = {"Parquet, Zstandard": figures["parquet"], **{f"Staffa, {name}": own[name] for name in own}}
    panels = [
        ("Size", "Parquet = 1; less is better", "size", 2),
        ("Scan", "Parquet = 1; more is better", "scan", 1),
        ("Write", "MB/s; more is better", "write", 0),
    ]
    width, height = LABELS + len(panels) * (PANEL + GAP), TOP + len(rows) * ROW + 4
    out = [f'<text x="0" y="{TOP + row * ROW + 13}">{name}</text>' for row, name in enumerate(rows)]
    for place, (title, note, key, digits) in enumerate(panels):
        values = {name: figure[key] for name, figure in rows.items()}
        out.append(bars(title, note, values, LABELS + 16 + place * (PANEL + GAP), digits))
    title = "Staffa beside Parquet with Zstandard: size, scan and write, geometric means over real tables"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}"><title>{title}</title><style>{STYLE}</style>{"".join(out)}</svg>\n'
    )


if __name__ == "__main__":
    recorded = json.loads((RESULTS / "tables.json").read_text())
    (RESULTS / "tables.svg").write_text(chart(recorded))
