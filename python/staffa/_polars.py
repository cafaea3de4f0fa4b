"""Polars frames in and out: lazy frames read no more than they need, and are written while they are computed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from staffa._arguments import kind
from staffa._extras import require
from staffa._write import write_table
from staffa._writer import WriteSummary
from staffa.errors import InvalidArgumentError

if TYPE_CHECKING:
    import polars as pl

    from staffa._dataset import Dataset


def scan_polars(source: Any, **options: Any) -> pl.LazyFrame:
    """A Polars LazyFrame. Columns, limits and the supported part of a filter are pushed into the file.

    Args:
        source: As in `dataset`: a path, a pattern, a folder, a list of these; or a `Dataset`.
        options: As in `dataset`.

    Raises:
        MissingExtraError: Polars is not installed.

    >>> trees = pa.table({"name": ["oak", "ash", "elm"], "height": [21.0, 15.5, 30.0]})
    >>> staffa.write_table(trees, "trees.staffa").rows
    3
    >>> frame = staffa.scan_polars("trees.staffa").filter(pl.col("height") > 20).select("name")
    >>> frame.collect()["name"].to_list()
    ['oak', 'elm']
    """
    polars = require("polars", "polars")
    plugins = require("polars.io.plugins", "polars")
    from staffa._dataset import as_dataset

    rows = as_dataset("scan_polars", source, options)
    return plugins.register_io_source(  # type: ignore[no-any-return]
        _Source(rows),
        schema=dict(polars.from_arrow(rows.schema.empty_table()).schema),
        is_pure=True,
        explain_name="staffa",
        explain_detail=repr(rows),
    )


def write_polars(frame: pl.LazyFrame | pl.DataFrame, path: str | os.PathLike[str], **options: Any) -> WriteSummary:
    """Writes a Polars frame. A LazyFrame is computed by the streaming engine and written row group by row group, and so
    need not fit in memory.

    Args:
        frame: The frame.
        path: The file to write. It may be one of the files that the frame reads: it is replaced at the end.
        options: As in `write_table`.

    Raises:
        MissingExtraError: Polars is not installed.

    >>> numbers = pl.LazyFrame({"x": range(1000)})
    >>> staffa.write_polars(numbers.filter(pl.col("x") % 2 == 0), "even.staffa").rows
    500
    """
    polars = require("polars", "polars")
    if isinstance(frame, polars.DataFrame):
        return write_table(frame, path, **options)
    if not isinstance(frame, polars.LazyFrame):
        raise InvalidArgumentError(f"frame must be a Polars LazyFrame or DataFrame, found {kind(frame)}")
    return write_table(frame.collect_batches(lazy=True, engine="streaming"), path, **options)


class _Source:
    """The callback of Polars for the rows of a scan. Polars does not apply the predicate again."""

    def __init__(self, rows: Dataset) -> None:
        self._rows = rows

    def __call__(
        self,
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        import polars

        from staffa._polars_predicate import translate

        pushed, rest = (None, None) if predicate is None else translate(predicate, self._rows.schema)
        if n_rows is not None:
            # The limit counts rows before the predicate.
            pushed, rest = None, predicate
        # Without a batch size the whole result is collected: whole row groups fill huge pages.
        scanner = self._rows.scanner(with_columns, pushed, None if batch_size else 1 << 20)
        empty = True
        for batch in scanner.to_batches(n_rows, views=True):
            frame = cast("pl.DataFrame", polars.from_arrow(batch))
            yield frame if rest is None else frame.filter(rest)
            empty = False
        if empty:
            # Polars needs a frame even without rows.
            yield cast("pl.DataFrame", polars.from_arrow(scanner.projected_schema.empty_table()))
