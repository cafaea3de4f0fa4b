"""The columns by which a table is sorted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SortKey:
    """A column by which the rows of a table are sorted."""

    column: str
    descending: bool = False
    nulls_first: bool = False

    def __str__(self) -> str:
        order = " desc" if self.descending else " asc"
        return f"{self.column}{order} nulls {'first' if self.nulls_first else 'last'}"
