"""Files and their encodings as HTML for notebooks, in the colours of the notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from staffa._text import count_text, ratio_text, size_text

# Columns shown; others are counted.
_MAX_COLUMNS = 200
_FILE_HEADS = ["column", "type", "", "bytes", "share"]


def of_closed(path: str) -> str:
    """A file that was closed."""
    return _page(path, ["closed"], _FILE_HEADS, [], 0)


def of_file(path: str, num_rows: int, num_row_groups: int, schema: Any, report: dict[str, Any]) -> str:
    """A file: facts in a line, and its columns with types and sizes; `report` is that of `inspect`."""
    facts = [
        count_text(num_rows, "row"),
        count_text(len(schema), "column"),
        count_text(num_row_groups, "row group"),
        size_text(report["file_bytes"]),
    ]
    sizes: Counter[str] = Counter()
    for leaf in report["columns"]:
        sizes[leaf["column"]] += leaf["bytes"]
    rows = [
        [escape(field.name), escape(str(field.type)), "" if field.nullable else "not NULL", *_size(sizes, field.name)]
        for field in list(schema)[:_MAX_COLUMNS]
    ]
    return _page(path, facts, _FILE_HEADS, rows, len(schema))


def of_explain(path: str, facts: Iterable[str], columns: list[dict[str, Any]], trees: Sequence[str]) -> str:
    """The encodings of a file: each leaf column with its size and its foldable trees."""
    sizes = Counter({leaf["path"]: leaf["bytes"] for leaf in columns})
    rows = []
    for leaf, tree in list(zip(columns, trees, strict=True))[:_MAX_COLUMNS]:
        encodings = ", ".join(_encodings(leaf))
        folded = f"<details><summary>{escape(encodings)}</summary><pre>{escape(tree)}</pre></details>"
        rows.append(
            [
                escape(leaf["path"]),
                folded,
                *_size(sizes, leaf["path"]),
                ratio_text(leaf["decoded_bytes"], leaf["bytes"]),
            ]
        )
    return _page(path, facts, ["column", "encodings", "bytes", "share", "smaller than Arrow"], rows, len(columns))


def _encodings(leaf: dict[str, Any]) -> list[str]:
    """The encodings at the roots of the trees, the most frequent first."""
    trees = [block["values"] for block in leaf["blocks"] if block["values"]]
    return [name for name, _ in Counter(tree["encoding"] for tree in trees).most_common()] or ["only NULLs"]


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
