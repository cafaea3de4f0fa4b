"""The program `staffa`: the program written in Rust, and `staffa sql`."""

from __future__ import annotations

import argparse
import os
import signal
import sys

from staffa import _staffa


def main() -> int:
    """Runs the program with the arguments of the process."""
    if sys.argv[1:2] == ["sql"]:
        return _sql(sys.argv[2:])
    # The program handles Ctrl-C itself if it has temporary files to remove; otherwise it just ends.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _staffa.cli(["staffa", *sys.argv[1:]])


def _sql(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="staffa sql",
        description="Query files in SQL with DuckDB; every quoted name that ends in .staffa is a table.",
        epilog="staffa sql \"select count(*) from 'x.staffa'\"",
    )
    parser.add_argument("query", help="one or several statements; - reads them from the standard input")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--csv", action="store_true", help="print the result as CSV")
    shape.add_argument("--json", action="store_true", help="print the result as JSON lines")
    shape.add_argument("--explain", action="store_true", help="print the plan, with the columns that are read")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the result to a Staffa file")
    parser.add_argument("--threads", type=int, help="maximum number of threads")
    given = parser.parse_args(arguments)
    query = sys.stdin.read() if given.query == "-" else given.query

    from staffa import StaffaError, duckdb, write_table

    try:
        con = duckdb.connect()
    except StaffaError as error:
        print(f"staffa: {error}", file=sys.stderr)
        return 2
    engine = duckdb._duckdb()
    try:
        if given.threads is not None:
            con.execute(f"SET threads = {given.threads}")
        if given.explain:
            print(con.execute(f"EXPLAIN {query}").fetchall()[-1][1])
            return 0
        relation = con.sql(query)
        if relation is None:
            return 0
        if given.output:
            summary = write_table(relation, given.output)
            print(f"{given.output}: {summary.rows:,} rows, {summary.file_bytes:,} bytes", file=sys.stderr)
        elif given.csv or given.json:
            how = "FORMAT json" if given.json else "FORMAT csv, HEADER"
            relation.create_view("staffa_result")
            con.execute(f"COPY (FROM staffa_result) TO '/dev/stdout' ({how})")
        else:
            print(relation)
    except (engine.Error, StaffaError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print(f"staffa: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        con.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
