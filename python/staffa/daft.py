"""Daft: tables of Staffa files as frames, read by Daft's tasks.

>>> staffa.daft.read("sales").where(daft.col("year") == 2024).show()  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from staffa._daft_filter import pushed
from staffa._dataset import Dataset, as_dataset
from staffa._extras import require
from staffa._splits import Split

daft = require("daft", "daft")
api = require("daft.io.source", "daft")
_DataSource: Any = api.DataSource
_DataSourceTask: Any = api.DataSourceTask
_ExpressionVisitor: Any = daft.expressions.ExpressionVisitor

__all__ = ["read"]


def read(source: Any, *, rows: int | None = None, **options: Any) -> Any:
    """A `daft.DataFrame`. The columns, filters and limits of a query are pushed into it.

    Args:
        source: As in `staffa.dataset`: a path, a pattern, a folder, a URL, a list of these; or a `Dataset`.
        rows: About the most rows of a task; by default those of a row group.
        options: As in `staffa.dataset`.

    Raises:
        MissingExtraError: Daft is not installed.
    """
    table = as_dataset("read", source, options)
    return _Source(table, rows).read()


class _Source(_DataSource):  # type: ignore[misc]
    """Splits as tasks of Daft."""

    def __init__(self, table: Dataset, rows: int | None) -> None:
        self._table = table
        self._rows = rows

    @property
    def name(self) -> str:
        """The name in plans."""
        return "Staffa"

    @property
    def schema(self) -> Any:
        """The columns of all files."""
        return daft.Schema.from_pyarrow_schema(self._table.schema)

    async def get_tasks(self, pushdowns: Any) -> AsyncIterator[_Task]:
        """A task for each split that the filters do not exclude.

        Daft filters the rows again: it wants the columns of the filter too, and all in the order of the schema.
        """
        names: list[str] = self._table.schema.names
        wanted = set(names if pushdowns.columns is None else pushdowns.columns)
        wanted |= pushdowns.filter_required_column_names()
        filter = None if pushdowns.filters is None else pushed(_Tree().visit(pushdowns.filters), self._table.schema)
        for split in self._table.splits([name for name in names if name in wanted], filter, rows=self._rows):
            yield _Task(split)


class _Task(_DataSourceTask):  # type: ignore[misc]
    """A split, which Daft pickles to where it is read."""

    def __init__(self, split: Split) -> None:
        self._split = split

    @property
    def schema(self) -> Any:
        """The columns of the batches."""
        return daft.Schema.from_pyarrow_schema(self._split.schema)

    async def read(self) -> AsyncIterator[Any]:
        """The matching rows, for as long as Daft wants more."""
        for batch in self._split.read():
            yield daft.recordbatch.RecordBatch.from_arrow_record_batches([batch], batch.schema)


class _Tree(_ExpressionVisitor):  # type: ignore[misc]
    """An expression as nested tuples of a function's name and its arguments."""

    def visit_col(self, name: str) -> Any:
        return "column", name

    def visit_lit(self, value: Any) -> Any:
        return "literal", value

    def visit_alias(self, expr: Any, alias: str) -> Any:
        return self.visit(expr)

    def visit_cast(self, expr: Any, dtype: Any) -> Any:
        return "cast", expr

    visit_try_cast = visit_cast

    def visit_coalesce(self, args: Any) -> Any:
        return "coalesce", args

    def visit_function(self, name: str, args: list[Any]) -> Any:
        return name, *[[item.as_py() for item in each] if isinstance(each, list) else self.visit(each) for each in args]
