"""How files and their encodings show themselves in a notebook: plain HTML that keeps the notebook's own colours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

# Columns that are shown; more are counted.
_MOST_COLUMNS = 200


def of_file(path: str, facts: Iterable[str], schema: Any, columns: list[dict[str, Any]]) -> str:
    """A file: a line of facts, and its columns with their types and sizes."""
    sizes: Counter[str] = Counter()
    for leaf in columns:
        sizes[leaf["column"]] += leaf["bytes"]
    rows = [
        [escape(field.name), escape(str(field.type)), "" if field.nullable else "not NULL", *_size(sizes, field.name)]
        for field in list(schema)[:_MOST_COLUMNS]
    ]
    return _page(path, facts, ["column", "type", "", "bytes", "share"], rows, len(schema))


def of_explain(path: str, facts: Iterable[str], columns: list[dict[str, Any]], trees: Sequence[str]) -> str:
    """The encodings of a file: for each leaf column its size, and its trees to be unfolded."""
    sizes = Counter({leaf["path"]: leaf["bytes"] for leaf in columns})
    rows = []
    for leaf, tree in list(zip(columns, trees, strict=True))[:_MOST_COLUMNS]:
        encodings = ", ".join(_encodings(leaf))
        folded = f"<details><summary>{escape(encodings)}</summary><pre>{escape(tree)}</pre></details>"
        rows.append([escape(leaf["path"]), folded, *_size(sizes, leaf["path"]), _times(leaf)])
    return _page(path, facts, ["column", "encodings", "bytes", "share", "smaller than Arrow"], rows, len(columns))


def _encodings(leaf: dict[str, Any]) -> list[str]:
    """The outermost encodings, the most frequent first."""
    trees = [block["values"] for block in leaf["blocks"] if block["values"]]
    return [name for name, _ in Counter(tree["encoding"] for tree in trees).most_common()] or ["nothing but NULL"]


def _times(leaf: dict[str, Any]) -> str:
    if not leaf["bytes"] or not leaf["decoded_bytes"]:
        return ""
    times = leaf["decoded_bytes"] / leaf["bytes"]
    return f"{times:,.0f} times" if times >= 100 else f"{times:.1f} times"


def _size(sizes: Counter[str], name: str) -> list[str]:
    total = sizes.total() or 1
    share = sizes[name] / total
    return [f"{sizes[name]:,}", f'<meter value="{share:.4f}" aria-label="{share:.1%} of the file"></meter> {share:.1%}']


def _page(path: str, facts: Iterable[str], heads: list[str], rows: list[list[str]], count: int) -> str:
    left = 'style="text-align: left; vertical-align: top; padding-right: 1em"'
    head = "".join(f'<th scope="col" {left}>{name}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(f'<td {left}>{cell}</td>' for cell in row)}</tr>" for row in rows)
    more = f"<p>and {count - len(rows):,} more columns</p>" if count > len(rows) else ""
    line = " · ".join(escape(fact) for fact in facts)
    return (
        f"<div><p><strong>{escape(path)}</strong><br>{line}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"
    )
