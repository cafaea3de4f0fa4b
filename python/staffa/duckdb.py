"""DuckDB over Staffa files, with the extension in this package, from the wheel with the extra `duckdb`.

    import duckdb, staffa.duckdb
    con = staffa.duckdb.connect()
    con.sql("SELECT city, sum(visitors) FROM 'visits.staffa' GROUP BY city")
    con.sql("COPY (FROM 'visits.staffa' WHERE visitors > 50) TO 'many.staffa' (FORMAT staffa)")

After `load(con)`, which `connect()` calls, a name that ends in `.staffa` is a table, also with wildcards; `read_staffa`
takes a path, a glob or a list of them. Columns and filters are pushed into the files, the optimizer knows the number of
rows, and all threads of DuckDB read.

DuckDB loads an extension only into the release that it was built for, and unsigned extensions only if the connection
allows them. `RELEASE` is that release; the error of `load` names the reason.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from staffa._extras import require
from staffa.errors import StaffaError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["EXTENSION", "RELEASE", "ExtensionError", "connect", "load"]

EXTENSION = Path(__file__).parent / "staffa.duckdb_extension"
_FIELDS, _WIDTH, _SIGNATURE = 8, 32, 256


class ExtensionError(StaffaError):
    """The extension cannot be loaded; the message names the reason and a remedy."""


def _field(number: int) -> str | None:
    """A field of the extension's footer: 2 is the platform, 3 DuckDB's release."""
    try:
        with EXTENSION.open("rb") as file:
            file.seek(-_SIGNATURE - number * _WIDTH, 2)
            return file.read(_WIDTH).rstrip(b"\0").decode()
    except OSError:
        return None


RELEASE: str | None = (_field(3) or "").removeprefix("v") or None
"""The DuckDB release that the extension is built for; None if the package has no extension."""


def connect(database: Any = ":memory:", *, config: dict[str, Any] | None = None, **options: Any) -> DuckDBPyConnection:
    """A DuckDB connection with the extension loaded; arguments as in `duckdb.connect`.

    >>> import pyarrow as pa, staffa, staffa.duckdb
    >>> summary = staffa.write_table(pa.table({"n": range(5)}), "n.staffa")
    >>> with staffa.duckdb.connect() as con:
    ...     con.sql("SELECT sum(n) FROM 'n.staffa' WHERE n > 2").fetchall()
    [(7,)]
    """
    duckdb = _duckdb()
    con = duckdb.connect(database, config={**(config or {}), "allow_unsigned_extensions": "true"}, **options)
    try:
        load(con)
    except BaseException:
        con.close()
        raise
    return con  # type: ignore[no-any-return]


def load(con: DuckDBPyConnection | None = None) -> None:
    """Loads the extension into the database of a connection, by default DuckDB's default connection.

    The connection must be made with `duckdb.connect(config={"allow_unsigned_extensions": "true"})`, as `connect` does:
    DuckDB cannot allow unsigned extensions later.

    Raises:
        MissingExtraError: DuckDB is not installed.
        ExtensionError: The release of DuckDB is another one, or the connection does not allow the extension.
    """
    duckdb = _duckdb()
    con = duckdb.default_connection() if con is None else con
    # All rows are fetched: an unfinished result blocks the connection.
    ((found,),) = con.execute("SELECT library_version FROM pragma_version()").fetchall()
    ((system,),) = con.execute("SELECT platform FROM pragma_platform()").fetchall()
    alternative = "or register a dataset: con.register('t', staffa.dataset(path))"
    if RELEASE is None:
        raise ExtensionError(
            f"this installation of staffa has no DuckDB extension ({EXTENSION} is missing): install the wheel, run "
            f"`make extension` in the sources, {alternative}"
        )
    if found != f"v{RELEASE}":
        raise ExtensionError(
            f"the extension is built for DuckDB {RELEASE}, and this is {found.removeprefix('v')}: "
            f"`pip install duckdb=={RELEASE}`, {alternative}"
        )
    if system != _field(2):
        raise ExtensionError(f"the extension is built for {_field(2)}, and this DuckDB for {system}")
    quoted = str(EXTENSION).replace("'", "''")
    try:
        con.execute(f"LOAD '{quoted}'")
    except duckdb.Error as error:
        if not re.search("allow_unsigned_extensions|signature|unsigned", str(error)):
            raise ExtensionError(f"DuckDB does not load the extension: {error}") from error
        raise ExtensionError(
            "this connection does not allow unsigned extensions: make it by staffa.duckdb.connect(), or by "
            'duckdb.connect(config={"allow_unsigned_extensions": "true"})'
        ) from error


def _duckdb() -> Any:
    return require("duckdb", "duckdb")
