"""The program `staffa`: the program written in Rust, and `staffa sql`."""

from __future__ import annotations

import signal
import sys

from staffa import _staffa


def main() -> int:
    """Runs the program with the arguments of the process."""
    if sys.argv[1:2] == ["sql"]:
        from staffa._sql_program import main as sql

        return sql(sys.argv[2:])
    # The program handles Ctrl-C itself if it has temporary files to remove; otherwise it just ends.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _staffa.cli(["staffa", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
