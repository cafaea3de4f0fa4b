"""`staffa sql`: a query, and its result as a table, CSV, JSON lines or a file."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from staffa import _staffa
from staffa.errors import (
    InternalError,
    InvalidArgumentError,
    LimitError,
    MissingExtraError,
    StaffaError,
    UnsupportedError,
)

_EXAMPLES = """\
Examples:
  staffa sql "select count(*) from 'x.staffa'"
  staffa sql "from 'x.staffa' where price < 10" --csv >> cheap.csv
  staffa sql "from 'x.staffa' order by price" -o sorted.parquet

Exit codes:
  0  success
  1  bad data: a damaged file, a value that a conversion cannot hold
  2  usage error: an unknown option or column, a query that does not parse
  3  system error: no such file, no space, the output exists already
  4  not supported: a type, a newer format version, or a size beyond the limits
  5  a mistake in Staffa: please report it"""


def main(arguments: list[str]) -> int:
    """Runs the query; returns the exit code of the process."""
    _open_closed_streams()
    given = _parser().parse_args(arguments)
    try:
        return _run(given)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of the output has what it wanted; nothing is written to it when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        # What DuckDB makes of Ctrl-C.
        if isinstance(error, RuntimeError) and str(error) == "Query interrupted":
            return 130
        code = _exit_code(error)
        if code is None:
            raise
        print(f"staffa: {' '.join(str(error).split())}", file=sys.stderr)
        return code


def _open_closed_streams() -> None:
    """Opens the standard streams that the caller closed (`>&-`), so that no other file takes their numbers."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="staffa sql",
        description="Query files in SQL with DuckDB; every quoted name that ends in .staffa is a table.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("query", help="one or several statements; - reads them from the standard input")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--csv", action="store_true", help="print the result as CSV")
    shape.add_argument("--json", action="store_true", help="print the result as JSON lines, NaN and infinities as null")
    shape.add_argument("--explain", action="store_true", help="print the plan, with the columns that are read")
    shape.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the result to a file: .staffa, .parquet, .csv, .tsv, .jsonl, .arrow or .arrows",
    )
    parser.add_argument("-f", "--force", action="store_true", help="replace an existing output")
    parser.add_argument("--threads", type=int, help="maximum number of threads")
    return parser


def _run(given: argparse.Namespace) -> int:
    from staffa import duckdb

    if given.output:
        _check_output(Path(given.output), given.force)
    query = sys.stdin.read() if given.query == "-" else given.query
    con = duckdb.connect()
    try:
        if given.threads is not None:
            con.execute(f"SET threads = {given.threads}")
        statements = [statement.query for statement in con.extract_statements(query)]
        if given.explain:
            if len(statements) != 1:
                raise InvalidArgumentError(f"--explain takes one statement, found {len(statements)}")
            print(con.execute(f"EXPLAIN {statements[0]}").fetchall()[-1][1])
            return 0
        for statement in statements[:-1]:
            con.execute(statement)
        relation = con.sql(_without_end(statements[-1])) if statements else None
        if relation is None:
            return 0
        if given.output:
            return _write(relation, given.output, given.force)
        if given.csv or given.json:
            (_finite(relation) if given.json else relation).create_view("staffa_result")
            _print(con, "FORMAT json" if given.json else "FORMAT csv, HEADER")
        else:
            print(relation)
            sys.stdout.flush()
        return 0
    finally:
        con.close()


def _without_end(statement: str) -> str:
    """A statement without its semicolon and the comments behind it, which DuckDB's relations do not take."""
    from staffa import duckdb

    engine = duckdb._duckdb()
    text = statement.encode()
    end = len(text)
    for start, kind in reversed(engine.tokenize(statement)):
        if kind != engine.token_type.comment and text[start : start + 1] != b";":
            break
        end = start
    return text[:end].decode()


def _finite(relation: Any) -> Any:
    """The result with NULL in place of NaN and infinities, which JSON does not have."""
    # By position: two columns may have one name.
    places = [f"c{at}" for at in range(len(relation.columns))]
    columns = []
    for place, name, kind in zip(places, relation.columns, relation.types, strict=True):
        columns.append(f"{_finite_value(place, kind, 0)} AS {_quoted(name)}")
    if not any("isfinite(" in column for column in columns):
        return relation
    return relation.query("staffa_rows", f"SELECT {', '.join(columns)} FROM staffa_rows AS t({', '.join(places)})")


def _finite_value(value: str, kind: Any, depth: int) -> str:
    """The SQL expression of a value of this type without NaN and infinities."""
    if kind.id in ("float", "double"):
        return f"CASE WHEN isfinite({value}) THEN {value} END"
    if kind.id not in ("list", "array", "struct", "tuple", "union", "map"):
        return value
    item = f"x{depth}"
    children = dict(kind.children)
    if kind.id in ("struct", "tuple") and "" in children:
        # Without names; its fields are counted from 1.
        fields = enumerate((child for _, child in kind.children), 1)
        parts = [_finite_value(f"struct_extract({value}, {at})", child, depth + 1) for at, child in fields]
        result = f"CASE WHEN {value} IS NOT NULL THEN row({', '.join(parts)}) END"
    elif kind.id == "struct":
        parts = []
        for name, child in children.items():
            part = _finite_value(f"{value}.{_quoted(name)}", child, depth + 1)
            parts.append(f"{_quoted(name)} := {part}")
        result = f"CASE WHEN {value} IS NOT NULL THEN struct_pack({', '.join(parts)}) END"
    elif kind.id == "union":
        cases = []
        # The first child is the tag.
        for name, child in kind.children[1:]:
            text = "'" + name.replace("'", "''") + "'"
            part = _finite_value(f"union_extract({value}, {text})", child, depth + 1)
            cases.append(f"WHEN {text} THEN union_value({_quoted(name)} := {part})::{kind}")
        result = f"CASE union_tag({value})::VARCHAR {' '.join(cases)} END"
    elif kind.id == "map":
        inner = _finite_value(f"{item}.value", children["value"], depth + 1)
        entries = f"list_transform(map_entries({value}), lambda {item}: struct_pack(k := {item}.key, v := {inner}))"
        result = f"map_from_entries({entries})"
    else:
        inner = _finite_value(item, children["child"], depth + 1)
        result = f"list_transform({value}, lambda {item}: {inner})"
    return result if "isfinite(" in result else value


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


_TEXT = {".csv", ".tsv", ".jsonl", ".ndjson", ".json"}
_ENDINGS = {*_TEXT, ".staffa", ".parquet", ".pq", ".arrow", ".feather", ".ipc", ".arrows", ".stream"}
_COMPRESSED = {".gz", ".zst", ".bz2"}


def _check_output(path: Path, force: bool) -> None:
    """Refuses an output before the query runs."""
    ending = path.suffix.lower()
    if ending in _COMPRESSED:
        ending = Path(path.stem).suffix.lower()
        ending = ending if ending in _TEXT else ""
    if ending not in _ENDINGS:
        raise InvalidArgumentError(
            f"{path}: the file ending names no format; use .staffa, .parquet, .csv, .jsonl or .arrow"
        )
    if path.is_file() and not force:
        raise FileExistsError(f"{path}: the file exists already; --force replaces it")


def _write(relation: Any, output: str, force: bool) -> int:
    """Writes the result; formats other than Staffa are written by `staffa convert`, from a temporary file."""
    from staffa import write_table

    if output.lower().endswith(".staffa"):
        summary = write_table(relation, output)
        print(f"{output}: {summary.rows:,} rows, {summary.file_bytes:,} bytes", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory(prefix="staffa-") as folder:
        result = str(Path(folder, "result.staffa"))
        summary = write_table(relation, result, profile="fast", derived_columns=False)
        options = ["--force"] if force else []
        code = _staffa.cli(["staffa", "convert", "--quiet", *options, "--", result, output])
    if code == 0:
        print(f"{output}: {summary.rows:,} rows, {Path(output).stat().st_size:,} bytes", file=sys.stderr)
    return code


def _print(con: Any, how: str) -> None:
    """Prints the view `staffa_result`.

    DuckDB opens a file by its name, from the start: it writes to a pipe, whose other end is copied to the standard
    output as that is, be it a file that is appended to.
    """
    sys.stdout.flush()
    source, target = os.pipe()
    failed: list[OSError] = []

    def copy() -> None:
        with os.fdopen(source, "rb", buffering=0) as pipe:
            while chunk := pipe.read(1 << 16):
                view = memoryview(chunk)
                try:
                    while view:
                        view = view[os.write(sys.stdout.fileno(), view) :]
                except OSError as error:
                    failed.append(error)
                    con.interrupt()
                    break
            # The query may be writing still, and would wait for a reader.
            while failed and pipe.read(1 << 16):
                pass

    copier = threading.Thread(target=copy)
    copier.start()
    try:
        con.execute(f"COPY (FROM staffa_result) TO '/dev/fd/{target}' ({how})")
    except Exception:
        if not failed:
            raise
    finally:
        os.close(target)
        copier.join()
    if failed:
        raise failed[0]


def _exit_code(error: Exception) -> int | None:
    """The exit code of an error, as of every command; None for a mistake of this file."""
    if isinstance(error, (InvalidArgumentError, MissingExtraError)):
        return 2
    if isinstance(error, (UnsupportedError, LimitError)):
        return 4
    if isinstance(error, InternalError):
        return 5
    if isinstance(error, StaffaError):
        return 1
    if isinstance(error, OSError):
        return 3
    from staffa import duckdb

    engine = duckdb._duckdb()
    if not isinstance(error, engine.Error):
        return None
    if isinstance(error, engine.InvalidInputException):
        # Of a file: it is missing, or damaged.
        return 3 if "no files found" in str(error) else 1
    kinds = {
        3: (engine.IOException, engine.PermissionException),
        2: (engine.ProgrammingError,),
        4: (engine.NotSupportedError, engine.OutOfMemoryException),
        5: (engine.InternalException, engine.FatalException),
    }
    return next((code for code, kind in kinds.items() if isinstance(error, kind)), 1)
