"""How files show themselves in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser

import pyarrow as pa

import staffa


class Page(HTMLParser):
    """Reads a page, checks that tags are closed in order, and keeps texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_file(stored: Callable[..., staffa.File]) -> None:
    table = pa.table({"<script>": range(1000), "parts": [{"x": i, "y": str(i)} for i in range(1000)]})
    page = Page(stored(table)._repr_html_())
    assert {"<script>", "int64", "parts", "struct<x: int64, y: string>"} <= set(page.texts)
    assert any("1,000 rows · 2 columns" in text for text in page.texts)
    assert "script" not in page.open


def test_its_encodings(stored: Callable[..., staffa.File]) -> None:
    table = pa.table({"<b>": [7] * 1000, "parts": [{"x": i} for i in range(1000)], "none": pa.nulls(1000)})
    page = Page(stored(table).explain()._repr_html_())
    assert {"<b>", "constant", "parts.x"} <= set(page.texts)
    assert any("block" in text for text in page.texts)


def test_wide_and_empty_tables(stored: Callable[..., staffa.File]) -> None:
    wide = stored(pa.table({f"c{i}": [i] for i in range(2000)}))
    for page in (wide._repr_html_(), wide.explain()._repr_html_()):
        assert "and 1,800 more columns" in Page(page).texts
        assert len(page) < 200_000
    empty = stored(pa.table({"x": pa.array([], pa.int64())}))
    Page(empty._repr_html_())
    Page(empty.explain()._repr_html_())
