"""`Explain` and `Why`: the encodings of each column, as text and as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from staffa._html import of_explain
from staffa._text import count_text, size_text, smaller_text
from staffa.errors import InvalidArgumentError


class Explain:
    """The encoding trees of a file.

    `str()` shows for each leaf column its size, the most common tree of its blocks with the bytes of every node over
    these blocks, and one line for each other tree. `to_dict()` has every block.
    """

    def __init__(self, path: str, rows: int, nbytes: int, columns: list[dict[str, Any]]) -> None:
        self._path = path
        self._rows = rows
        self._nbytes = nbytes
        self._columns = columns

    def to_dict(self) -> dict[str, Any]:
        """All data: `{"path", "rows", "file_bytes", "columns"}`, each column with its shared dictionaries and blocks,
        each of these with its tree.
        """
        return {"path": self._path, "rows": self._rows, "file_bytes": self._nbytes, "columns": self._columns}

    def _repr_html_(self) -> str:
        facts = [count_text(self._rows, "row"), size_text(self._nbytes)]
        trees = ["\n".join(line for line in _column_lines(column) if line) for column in self._columns]
        return of_explain(self._path, facts, self._columns, trees)

    def __str__(self) -> str:
        head = f"{self._path}: {self._rows:,} rows, {size_text(self._nbytes)}"
        return "\n".join([head, *(line for column in self._columns for line in _column_lines(column))])

    def __repr__(self) -> str:
        return f"<staffa.Explain of {self._path!r}: {len(self._columns)} columns>"


class Why:
    """The reasons for the encodings of a file.

    `str()` shows for each leaf column the estimate of every encoding for its first block, of a shared dictionary and of
    its reference columns. `to_dict()` has the same as data.
    """

    def __init__(self, path: str, columns: list[dict[str, Any]]) -> None:
        self._path = path
        self._columns = columns

    def to_dict(self) -> dict[str, Any]:
        """All data: `{"path", "columns"}`; each column with `chosen`, its tree, `considered`, the encodings with an
        `estimate` of bytes or a `reason`, `shared` for the shared dictionary, and `relations` for reference columns.
        """
        return {"path": self._path, "columns": self._columns}

    def of_column(self, column: str, names: list[str]) -> Why:
        """The reasons for one column of those with these names, or for one leaf by its path."""
        if column not in [each["path"] for each in self._columns] + names:
            raise InvalidArgumentError(f"unknown column {column!r}; there are {', '.join(map(repr, names[:20]))}")
        return Why(self._path, [each for each in self._columns if column in (each["path"], each["column"])])

    def __str__(self) -> str:
        return "\n".join([self._path, *(line for column in self._columns for line in _why_lines(column))])

    def __repr__(self) -> str:
        return f"<staffa.Why of {self._path!r}: {len(self._columns)} columns>"


@dataclass
class _Node:
    """The sum of trees of one shape."""

    role: str
    encoding: str
    details: list[str] = field(default_factory=list)
    nbytes: int = 0
    children: list[_Node] = field(default_factory=list)

    def add(self, tree: dict[str, Any]) -> None:
        self.nbytes += tree["bytes"]
        if tree["detail"] and tree["detail"] not in self.details:
            self.details.append(tree["detail"])
        for node, child in zip(self.children, tree["children"], strict=True):
            node.add(child)

    def shape(self) -> str:
        children = ", ".join(f"{child.role}: {child.shape()}" for child in self.children)
        return f"{self.encoding}({children})" if children else self.encoding

    def lines(self, indent: int) -> Iterator[str]:
        name = f"{self.role}: {self.encoding}" if self.role else self.encoding
        details = " | ".join(self.details[:3]) + (" | ..." if len(self.details) > 3 else "")
        yield f"{' ' * indent + name:<44} {size_text(self.nbytes):>9}  {details}".rstrip()
        for child in self.children:
            yield from child.lines(indent + 2)


def _empty_node(tree: dict[str, Any]) -> _Node:
    return _Node(tree["role"], tree["encoding"], children=[_empty_node(child) for child in tree["children"]])


def _shape(tree: dict[str, Any]) -> tuple[Any, ...]:
    return tree["role"], tree["encoding"], *map(_shape, tree["children"])


def _column_lines(column: dict[str, Any]) -> Iterator[str]:
    stored, decoded = column["bytes"], column["decoded_bytes"]
    yield ""
    compared = smaller_text(decoded, stored)
    yield f"{column['path']}: {size_text(stored)}, in Arrow {size_text(decoded)}{compared and f' ({compared})'}"
    yield from _tree_lines("shared dictionary", "", [shared["tree"] for shared in column["shared"]])
    yield from _tree_lines("block", "", [block["values"] for block in column["blocks"] if block["values"]])
    validity = [block["validity"] for block in column["blocks"] if block["validity"]]
    yield from _tree_lines("block", "validity of ", validity)


_PLURALS = {"block": "blocks", "shared dictionary": "shared dictionaries"}


def _tree_lines(noun: str, prefix: str, trees: list[dict[str, Any]]) -> Iterator[str]:
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for tree in trees:
        groups.setdefault(_shape(tree), []).append(tree)
    for i, group in enumerate(sorted(groups.values(), key=len, reverse=True)):
        node = _empty_node(group[0])
        for tree in group:
            node.add(tree)
        count = f"{len(trees)}" if len(groups) == 1 else f"{len(group)} of {len(trees)}"
        share = f"{prefix}{count} {noun if len(trees) == 1 else _PLURALS[noun]}"
        if i == 0:
            yield f"  {share}"
            yield from node.lines(4)
        else:
            yield f"  {share}, {size_text(node.nbytes)}: {node.shape()}"


def _why_lines(column: dict[str, Any]) -> Iterator[str]:
    place = f"block {column['block']} of row group {column['row_group']}"
    yield ""
    yield f"{column['path']}: {place}, {size_text(column['bytes'])} of {size_text(column['plain_bytes'])}"
    yield f"  chosen: {column['chosen']['text'] if column['chosen'] else 'only NULLs'}"
    for each in column["considered"]:
        estimated = each["estimate"] is not None
        yield f"    {each['encoding']:<20} {'about ' + size_text(each['estimate']) if estimated else each['reason']}"
    shared = column["shared"]
    if shared:
        text = "used" if shared["taken"] else f"not used, {shared['reason']}"
        if shared["distinct"] is not None:
            text += (
                f": {_instead(shared['shared'], shared['alone'], shared['encoded'])}, {shared['distinct']:,} distinct"
            )
        yield f"  shared dictionary: {text}"
    if not column["relations"]:
        yield "  derived from other columns: none seems to make it smaller"
    for each in column["relations"]:
        how = " with ".join(
            [*([each["encoding"]] if each["encoding"] else []), *(["validity"] if each["validity"] else [])]
        )
        size = _instead(each["derived"], each["alone"], each["encoded"])
        outcome = "used" if each["taken"] else each["reason"]
        yield f"  derived from {', '.join(each['by'])} ({how}): {size}: {outcome}"


def _instead(new: int, old: int, encoded: bool) -> str:
    return f"{'' if encoded else 'about '}{size_text(new)} instead of {size_text(old)}"
