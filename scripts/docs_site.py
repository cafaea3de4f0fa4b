"""Hooks of mkdocs: pages from elsewhere in the repository and links to them, pictures from text, no network.

A picture is a fenced block of the language `picture`: a title, then one line per row of boxes.

    ```picture
    The title for screen readers
    a column: 7*3 | 9 | ~4          a value three boxes wide, one, one in outline
    = stored: 7 | !9                values in the file; one of them marked
    > a note between rows
    ```

>>> picture("A title\\nx: 1 | 2*2\\n= y: !3").count("<rect")
3
>>> relinked("See [it](../FORMAT.md#3-the-schema), [why](../SECURITY.md).", "docs/install.md")
'See [it](format-to-the-byte.md#3-the-schema), why.'
>>> len(public_names()) > 30, undescribed("::: staffa.open")[:2]
(True, ['CacheInfo', 'ChangedFileError'])
>>> relinked("[here](install.md), [there](https://example.org)", "docs/index.md")
'[here](install.md), [there](https://example.org)'
"""

from __future__ import annotations

import ast
import html
import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# Files of the repository, and where they are on the site.
PAGES = {
    "FORMAT.md": "format-to-the-byte.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    **{
        f"bench/results/{path.name}": f"results/{path.name}"
        for path in sorted(ROOT.glob("bench/results/*"))
        if path.suffix in (".md", ".svg")
    },
}
_LINK = re.compile(r"\[([^\[\]]+)\]\(([^)#:\s]+)(#[^)\s]*)?\)")
# A row of a table, and code in it: other renderers need `\|` for a bar, Python-Markdown needs the bar.
_ROW = re.compile(r"^\|.*$", re.MULTILINE)
_CODE = re.compile(r"`[^`]*`")
# Scripts, styles, pictures and fonts that a browser would fetch from elsewhere.
_FETCHED = re.compile(
    r"<(?:script|img|iframe|source)[^>]+src=\"?(?:https?:)?//|<link(?=[^>]*stylesheet|[^>]*preconnect)"
    r"[^>]+href=\"?(?:https?:)?//|url\([\"']?(?:https?:)?//"
)


def on_config(config: Any) -> Any:
    fence = {"name": "picture", "class": "picture", "format": _fence}
    config.mdx_configs.setdefault("pymdownx.superfences", {}).setdefault("custom_fences", []).append(fence)
    return config


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for source, place in PAGES.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    decisions = sorted(ROOT.glob("docs/decisions/0*.md"))
    lines = [f"- [{path.read_text().splitlines()[0].removeprefix('# ')}]({path.name})" for path in decisions]
    about = "One page for every choice in the file format: the alternatives, and the figure that decided."
    text = "\n".join(["# Decisions", "", about, "", *lines, ""])
    files.append(File.generated(config, "decisions/index.md", content=text))
    return files


def public_names() -> list[str]:
    """The names that the Python package exports."""
    module = ast.parse((ROOT / "python/staffa/__init__.py").read_text())
    assigned = [node for node in module.body if isinstance(node, ast.Assign)]
    exported = next(node for node in assigned if ast.unparse(node.targets[0]) == "__all__")
    return ast.literal_eval(exported.value)


def undescribed(reference: str) -> list[str]:
    """Names that the Python reference leaves out; those of `staffa.errors` are described there."""
    errors = (ROOT / "python/staffa/errors.py").read_text()
    described = re.findall(r"^::: staffa\.(\w+)$", reference, re.MULTILINE)
    if "errors" in described:
        described += re.findall(r"^class (\w+)", errors, re.MULTILINE)
    return [name for name in public_names() if name not in {*described, "__version__"}]


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    places = {place: source for source, place in PAGES.items()}
    uri = page.file.src_uri
    if uri == "api/python.md" and (missing := undescribed(markdown)):
        raise SystemExit(f"docs/{uri}: not described: {', '.join(missing)}")
    return _ROW.sub(_bars, relinked(markdown, places.get(uri, f"docs/{uri}")))


def on_post_build(config: Any) -> None:
    for path in Path(config.site_dir).rglob("*"):
        if path.suffix in (".html", ".css") and (found := _FETCHED.search(path.read_text())):
            raise SystemExit(f"{path}: fetched from elsewhere: {found[0]}")


def _bars(row: re.Match[str]) -> str:
    return _CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0])


def relinked(markdown: str, source: str) -> str:
    """The text of a file with its links as on the site; a link to a page outside the site becomes its text."""
    here = PAGES.get(source, source.removeprefix("docs/"))

    def link(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        linked = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if linked in PAGES or linked.startswith("docs/"):
            place = (
                "decisions/index.md" if linked == "docs/decisions" else PAGES.get(linked, linked.removeprefix("docs/"))
            )
            return f"[{words}]({posixpath.relpath(place, posixpath.dirname(here) or '.')}{anchor})"
        return words if ROOT.joinpath(linked).exists() else match[0]

    return _LINK.sub(link, markdown)


def picture(text: str) -> str:
    """An SVG of rows of boxes."""
    title, *lines = [line for line in text.splitlines() if line.strip()]
    rows: list[tuple[str, bool, list[tuple[str, str, int]]]] = []
    for line in lines:
        if line.startswith(">"):
            rows.append((line[1:].strip(), False, []))
            continue
        label, _, given = line.partition(":")
        boxes = []
        for box in given.split(" | "):
            words, times, span = box.strip().rpartition("*")
            words = words if times and span.isdigit() else box.strip()
            kind = {"!": "marked", "~": "faint"}.get(words[:1], "")
            boxes.append((words.lstrip("!~") if kind else words, kind, int(span) if times and span.isdigit() else 1))
        rows.append((label.lstrip("= ").strip(), line.startswith("="), boxes))
    left = max(len(label) for label, _, boxes in rows if boxes) * 7.4 + 14
    unit = max(max(30, (len(words) * 8 + 14) / span) for _, _, boxes in rows for words, _, span in boxes)
    out, y, width = [], 2.0, 0.0
    for label, stored, boxes in rows:
        if not boxes:
            out.append(f'<text class="note" x="{left:.0f}" y="{y + 14:.0f}">{html.escape(label)}</text>')
            width = max(width, left + len(label) * 7)
            y += 24
            continue
        x = left
        out.append(f'<text class="label" x="0" y="{y + 18:.0f}">{html.escape(label)}</text>')
        for words, kind, span in boxes:
            wide = unit * span
            names = " ".join(name for name in ("stored" if stored else "", kind) if name)
            out.append(
                f'<g class="{names}"><rect x="{x + 1:.0f}" y="{y:.0f}" width="{wide - 3:.0f}" height="26" rx="3"/>'
                f'<text x="{x + wide / 2 - 0.5:.1f}" y="{y + 17.5:.1f}" text-anchor="middle">'
                f"{html.escape(words)}</text></g>"
            )
            x += wide
        width = max(width, x)
        y += 33
    return (
        f'<div class="picture"><svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{html.escape(title)}" '
        f'viewBox="0 0 {width:.0f} {y:.0f}" width="{width:.0f}" height="{y:.0f}">'
        f"<title>{html.escape(title)}</title>{''.join(out)}</svg></div>"
    )


def _fence(source: str, language: str, css_class: str, options: Any, md: Any, **extra: Any) -> str:
    return picture(source)
