"""Memory that is kept for the next table."""

from __future__ import annotations

from staffa import _staffa
from staffa._arguments import whole_number
from staffa.errors import InvalidArgumentError


def set_retained_memory(bytes: int) -> int:
    """Sets how much memory of freed tables stays with the process for the next ones; gives the limit before.

    Memory in which tables and batches were handed out, and that is free again, is used again: to get fresh memory from
    the system costs more than decoding. What is above the limit goes back to the system at once. First the limit is
    1 GiB. 64 MiB of that are the process's own; the rest is offered to the system, which takes it when it runs short.
    Until then it counts as memory of the process.

    Where the process has told glibc's malloc to keep more than 64 MiB (by the environment,
    `GLIBC_TUNABLES=glibc.malloc.trim_threshold=...` or `MALLOC_TRIM_THRESHOLD_`), as much is its own, and no less is
    the limit. Where nothing can be offered (not Linux), the limit is 64 MiB at first. The DuckDB extension keeps memory
    of its own, to which this does not apply.

    Args:
        bytes: How many bytes are to stay at most; 0 for none.

    >>> before = staffa.set_retained_memory(1 << 30)
    >>> staffa.write_table(pa.table({"x": range(100_000)}), "x.staffa").rows
    100000
    >>> table = staffa.read_table("x.staffa")
    >>> del table
    >>> staffa.retained_memory() >= 800_000
    True
    >>> staffa.set_retained_memory(0)
    1073741824
    >>> staffa.retained_memory()
    0
    >>> staffa.set_retained_memory(before)
    0
    """
    wanted = whole_number("bytes", bytes, 0)
    if wanted is None:
        raise InvalidArgumentError("bytes must be a whole number of at least 0, found None")
    return _staffa.set_retained_memory(wanted)


def retained_memory() -> int:
    """The bytes of freed memory that stay with the process now; that of tables still alive is not in it."""
    return _staffa.retained_memory()
