"""Reports about an open file: statistics, encodings, offsets, checks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from staffa import _staffa
from staffa._explain import Explain, Why
from staffa._html import of_closed, of_file
from staffa._sort_key import SortKey
from staffa.errors import InvalidArgumentError


@dataclass(frozen=True)
class LeafStatistics:
    """What the end of a file says of a column, or of a leaf of a nested column."""

    path: str
    """The name of the column, or the path of the leaf."""
    nulls: int
    min: str | None
    """At most the smallest value, as text: of floats NaN apart, of strings 16 bytes at most; None if unknown."""
    max: str | None
    """At least the largest value, as text: of floats NaN apart, of strings 16 bytes at most; None if unknown."""
    distinct: int
    """An estimate of the number of distinct values without NULL; exact below 256."""
    decoded_bytes: int
    """The size of all values in memory, without offsets and validity."""
    ascending: bool
    """Whether the values without NULLs never decrease."""
    descending: bool
    """Whether they never increase."""
    sources: list[str]
    """The paths of the columns from which this one is derived."""


@dataclass(frozen=True)
class ChunkStatistics:
    """What the end of a file says of a chunk: a column, or a leaf of a nested column, of one row group."""

    path: str
    """The name of the column, or the path of the leaf."""
    row_group: int
    nulls: int
    min: str | None
    """At most the smallest value, as text: of floats NaN apart, of strings 16 bytes at most; None if unknown."""
    max: str | None
    """At least the largest value, as text: of floats NaN apart, of strings 16 bytes at most; None if unknown."""
    sum: str | None
    """The exact sum of the values without NULLs, as text, for integers, decimals and durations."""
    decoded_bytes: int
    """The size of all values in memory, without offsets and validity."""


class OpenFile(Protocol):
    """The file that is reported on."""

    _path: str

    @property
    def _file(self) -> _staffa.File: ...
    @property
    def closed(self) -> bool: ...
    @property
    def schema(self) -> pa.Schema: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def num_row_groups(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def inspect(self) -> dict[str, Any]: ...


class Reports:
    """The methods of `File` that report on it."""

    def statistics(self: OpenFile) -> list[LeafStatistics]:
        """Statistics of every column, or of every leaf of a nested column, from the end of the file alone.

        The bounds of floats leave NaN out, as those of pyarrow do; `aggregate` has NaN above all else.

        >>> staffa.write_table(pa.table({"x": [3, 1, None, 3]}), "x.staffa").rows
        4
        >>> (x,) = staffa.open("x.staffa").statistics()
        >>> x.path, x.nulls, x.min, x.max, x.distinct
        ('x', 1, '1', '3', 2)
        """
        return [LeafStatistics(**leaf) for leaf in json.loads(self._file.statistics())]

    def chunk_statistics(self: OpenFile) -> list[ChunkStatistics]:
        """Statistics of every column and row group, from the end of the file alone; empty if the writer was not asked
        for them.

        >>> staffa.write_table(pa.table({"x": range(6)}), "x.staffa", row_group_rows=3, chunk_statistics=True).rows
        6
        >>> [(chunk.row_group, chunk.max, chunk.sum) for chunk in staffa.open("x.staffa").chunk_statistics()]
        [(0, '2', '3'), (1, '5', '12')]
        """
        return [ChunkStatistics(**chunk) for chunk in json.loads(self._file.chunk_statistics())]

    @property
    def sort_order(self: OpenFile) -> list[SortKey]:
        """The columns by which the rows are sorted, if the writer was told; it has checked the order.

        >>> staffa.write_table(pa.table({"x": [3, 2, None]}), "x.staffa", sort_order=["x desc"]).rows
        3
        >>> staffa.open("x.staffa").sort_order
        [SortKey(column='x', descending=True, nulls_first=False)]
        """
        return [SortKey(**key) for key in json.loads(self._file.sort_order())]

    @property
    def unknown_columns(self: OpenFile) -> list[str]:
        """The names of columns whose type this release does not know, in a file of a later one. They have type null in
        `schema`; all other columns can be read.
        """
        return self._file.unknown_columns

    def explain(self: OpenFile) -> Explain:
        """The encodings of each column. `print` shows the trees.

        >>> staffa.write_table(pa.table({"x": [7] * 1000}), "x.staffa").rows
        1000
        >>> "constant" in str(staffa.open("x.staffa").explain())
        True
        """
        return Explain(self._path, self.num_rows, self.nbytes, json.loads(self._file.explain()))

    def why(self: OpenFile, column: str | None = None) -> Why:
        """The reasons for the encodings of each column: all candidates and why they were rejected. `print` shows them.

        This repeats the work of the writer for the first row group, with the profile "balanced", and takes as long.

        Args:
            column: Only this column: a name, or the path of a leaf of a nested column.

        Raises:
            InvalidArgumentError: There is no such column.

        >>> sent = [i * i % 7919 for i in range(1000)]
        >>> arrived = [day + i % 3 for i, day in enumerate(sent)]
        >>> staffa.write_table(pa.table({"a": sent, "b": arrived}), "x.staffa").rows
        1000
        >>> why = staffa.open("x.staffa").why("a")
        >>> [(r["encoding"], r["by"]) for r in why.to_dict()["columns"][0]["relations"] if r["taken"]]
        [('difference', ['b'])]
        """
        if column is not None and not isinstance(column, str):
            raise InvalidArgumentError(f"column must be a name, found {column!r}")
        why = Why(self._path, json.loads(self._file.why()))
        return why if column is None else why.of_column(column, self.schema.names)

    def inspect(self: OpenFile) -> dict[str, Any]:
        """Offsets, sizes and statistics of the file, its row groups, columns, chunks and blocks.

        >>> staffa.write_table(pa.table({"x": [3, 1, None]}), "x.staffa").rows
        3
        >>> column = staffa.open("x.staffa").inspect()["columns"][0]
        >>> column["path"], column["min"], column["max"], column["nulls"]
        ('x', '1', '3', 1)
        """
        report: dict[str, Any] = json.loads(self._file.inspect())
        return report

    def verify(self: OpenFile) -> dict[str, int]:
        """Reads, checks and decodes everything; returns what was checked.

        Raises:
            CorruptError: The first error found, or `TruncatedError` or another, depending on its kind.

        >>> staffa.write_table(pa.table({"x": range(1000)}), "x.staffa").rows
        1000
        >>> staffa.open("x.staffa").verify()["rows"]
        1000
        """
        report: dict[str, int] = json.loads(self._file.verify())
        return report

    def _repr_html_(self: OpenFile) -> str:
        if self.closed:
            return of_closed(self._path)
        return of_file(self._path, self.num_rows, self.num_row_groups, self.schema, self.inspect())
