"""Dask: tables of Staffa files as frames, read by Dask's tasks.

>>> staffa.dask.read("sales", filter="year = 2024")["price"].mean().compute()  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from staffa._dataset import as_dataset
from staffa._extras import require
from staffa._splits import Split

if TYPE_CHECKING:
    import pandas as pd

    from staffa._filters import Filters

require("dask", "dask")
frames = require("dask.dataframe", "dask")

__all__ = ["read"]


def read(
    source: Any,
    columns: Sequence[str] | None = None,
    filter: Filters | None = None,
    *,
    rows: int | None = None,
    **options: Any,
) -> Any:
    """A `dask.dataframe.DataFrame`, a partition for each split. The columns that a computation needs are pushed.

    Strings become those of Arrow; other columns are as in `File.to_pandas`.

    Args:
        source: As in `staffa.dataset`: a path, a pattern, a folder, a URL, a list of these; or a `Dataset`.
        columns: Names of the columns to read; by default all.
        filter: The condition that selects rows, as in `File.to_table`. Dask pushes no filter itself.
        rows: About the most rows of a partition; by default those of a row group.
        options: As in `staffa.dataset`.

    Raises:
        MissingExtraError: Dask is not installed.
    """
    table = as_dataset("read", source, options)
    splits = table.splits(columns, filter, rows=rows)
    empty = table.scanner(columns).projected_schema.empty_table()
    if not splits:
        return frames.from_pandas(_frame(empty), npartitions=1)
    return frames.from_map(_read, splits, meta=_frame(empty), label="staffa")


def _read(split: Split, columns: Sequence[str] | None = None) -> pd.DataFrame:
    return _frame((split if columns is None else split.select(columns)).to_table())


def _frame(table: pa.Table) -> pd.DataFrame:
    import pandas as pd

    text = pd.StringDtype("pyarrow", na_value=float("nan"))
    kinds = (pa.string(), pa.large_string())
    frame: pd.DataFrame = table.to_pandas(types_mapper=lambda data_type: text if data_type in kinds else None)
    return frame
