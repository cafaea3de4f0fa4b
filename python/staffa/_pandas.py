"""pandas DataFrames in and out, with their index."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from staffa._arguments import column_names, kind, one_filter
from staffa._extras import require
from staffa._write import write_table
from staffa._writer import WriteSummary
from staffa.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from staffa._filters import Filters


def read_pandas(
    source: Any,
    columns: Sequence[str] | None = None,
    filter: Filters | None = None,
    *,
    filters: Filters | None = None,
    dtype_backend: Literal["numpy", "numpy_nullable", "pyarrow"] = "numpy",
    **options: Any,
) -> pd.DataFrame:
    """Reads a pandas DataFrame, with the index that was written.

    Args:
        source: As in `dataset`: a path, a pattern, a folder, a list of these; or a `Dataset`.
        columns: Names of the columns to read, without those of the index, which are always read. By default all.
        filter: The condition that selects rows, as in `File.to_table`.
        filters: Another name of `filter`, that of pandas.
        dtype_backend: "numpy" for pandas' default types, where integers with NULL become floats; "pyarrow" for exactly
            the types of the file; "numpy_nullable" for pandas' own nullable types.
        options: As in `dataset`.

    Raises:
        MissingExtraError: pandas is not installed.

    >>> frame = pd.DataFrame({"rain": [0.0, 3.5]}, index=pd.Index(["Mon", "Tue"], name="day"))
    >>> staffa.write_pandas(frame, "rain.staffa").rows
    2
    >>> staffa.read_pandas("rain.staffa", filter=pc.field("rain") > 1)["rain"].to_dict()
    {'Tue': 3.5}
    >>> staffa.read_pandas("rain.staffa", dtype_backend="pyarrow").dtypes["rain"]
    double[pyarrow]
    """
    pandas = require("pandas", "pandas")
    from staffa._dataset import as_dataset

    rows = as_dataset("read_pandas", source, options)
    names = column_names(columns)
    if names is not None:
        names += [name for name in _index_columns(rows.schema) if name not in names]
    table = rows.to_table(names, one_filter(filter, filters))
    frame: pd.DataFrame = table.to_pandas(types_mapper=_mapper(pandas, dtype_backend))
    return frame


def write_pandas(
    frame: pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    index: bool | None = None,
    **options: Any,
) -> WriteSummary:
    """Writes a pandas DataFrame; `read_pandas` reads it with its index.

    Args:
        frame: The DataFrame.
        path: The file to write.
        index: Whether to write the index as columns; by default all but a plain range, which is stored as its bounds,
            as pandas does for Parquet.
        options: As in `write_table`.

    Raises:
        MissingExtraError: pandas is not installed.
        InvalidArgumentError: A column holds mixed or unknown Python objects; the message names it.

    >>> staffa.write_pandas(pd.DataFrame({"x": [1, 2]}), "x.staffa", profile="small").rows
    2
    """
    pandas = require("pandas", "pandas")
    if not isinstance(frame, pandas.DataFrame):
        raise InvalidArgumentError(f"frame must be a pandas DataFrame, found {kind(frame)}")
    try:
        table = pa.Table.from_pandas(frame, preserve_index=index)
    except (pa.ArrowException, AttributeError, TypeError, ValueError) as error:
        raise InvalidArgumentError(f"this is no pandas DataFrame that can be written: {error}") from error
    return write_table(table, path, **options)


def _index_columns(schema: pa.Schema) -> list[str]:
    """The columns of the index. A range has no column, but is described by a dictionary."""
    described = schema.pandas_metadata or {}
    return [name for name in described.get("index_columns", []) if isinstance(name, str) and name in schema.names]


def _mapper(pandas: Any, dtype_backend: str) -> Any:
    if dtype_backend == "numpy":
        return None
    if dtype_backend == "pyarrow":
        return pandas.ArrowDtype
    if dtype_backend == "numpy_nullable":
        integers = [f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)]
        names = {pa.type_for_alias(name.lower()): name for name in integers}
        names |= {pa.bool_(): "boolean", pa.float32(): "Float32", pa.float64(): "Float64"}
        names |= {pa.string(): "string", pa.large_string(): "string"}
        return {data_type: pandas.api.types.pandas_dtype(name) for data_type, name in names.items()}.get
    raise InvalidArgumentError(f"dtype_backend must be 'numpy', 'numpy_nullable' or 'pyarrow', found {dtype_backend!r}")
