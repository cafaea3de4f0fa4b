"""SQL over Staffa files with DuckDB."""

from __future__ import annotations

import re
import threading
import warnings
from typing import TYPE_CHECKING, Any

from staffa import duckdb as _duckdb
from staffa._dataset import dataset

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

_local = threading.local()
# 'text' and "name", in which a doubled quote is a quote.
_QUOTED = re.compile(r"'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"|--[^\n]*")


def sql(query: str, *, params: Any = None, connection: DuckDBPyConnection | None = None) -> DuckDBPyRelation:
    """Runs a query in SQL; every name that ends in `.staffa` is a table, also with wildcards.

    The result is a DuckDB relation, as of `duckdb.sql`: nothing is read until it is shown or fetched (`fetchall`,
    `arrow`, `df`, `pl`), and it has further methods (`filter`, `aggregate`) and can be written with
    `staffa.write_table(relation, path)`. `explain()` shows the plan with the columns that are read.

    The default connection is in memory, one per thread, with the extension loaded (see `staffa.duckdb`). If the
    extension cannot be loaded, files whose names are quoted in the query are read as Arrow datasets (see
    `staffa.dataset`), with a warning.

    Raises:
        duckdb.Error: An error of the query, or of a file, whose column and block the message names.
        MissingExtraError: DuckDB is not installed.

    >>> import pyarrow as pa, staffa
    >>> visits = pa.table({"city": ["Oban", "Mull", "Oban"], "visitors": [120, 45, 98]})
    >>> summary = staffa.write_table(visits, "visits.staffa")
    >>> staffa.sql("SELECT city, sum(visitors)::INT FROM 'visits.staffa' GROUP BY city ORDER BY city").fetchall()
    [('Mull', 45), ('Oban', 218)]
    """
    con = _connection() if connection is None else connection
    if connection is not None:
        try:
            _duckdb.load(con)
        except _duckdb.ExtensionError as error:
            return _by_arrow(con, query, params, str(error))
    elif not getattr(_local, "loaded", False):
        return _by_arrow(con, query, params, _local.reason)
    return con.sql(query, params=params)


def _connection() -> DuckDBPyConnection:
    """The default connection of this thread."""
    if getattr(_local, "connection", None) is None:
        try:
            _local.connection, _local.loaded = _duckdb.connect(), True
        except _duckdb.ExtensionError as error:
            duckdb = _duckdb._duckdb()
            _local.connection, _local.loaded, _local.reason = duckdb.connect(), False, str(error)
    return _local.connection  # type: ignore[no-any-return]


def _by_arrow(con: DuckDBPyConnection, query: str, params: Any, reason: str) -> DuckDBPyRelation:
    """Runs a query over Arrow datasets of the quoted files."""
    warnings.warn(f"{reason}; files are read as Arrow datasets instead", RuntimeWarning, stacklevel=3)
    for match in _QUOTED.finditer(query):
        name = (match[1] or "").replace("''", "'") or (match[2] or "").replace('""', '"')
        if name.lower().endswith(".staffa"):
            con.register(name, dataset(name))
    named = _QUOTED.sub(
        lambda match: f'"{match[1]}"' if (match[1] or "").lower().endswith(".staffa") else match[0], query
    )
    return con.sql(named, params=params)
