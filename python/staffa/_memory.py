"""Retained memory: freed memory of tables, and of writers, that is kept for the next table."""

from __future__ import annotations

from staffa import _staffa
from staffa._arguments import whole_number
from staffa.errors import InvalidArgumentError


def set_retained_memory(bytes: int) -> int:
    """Sets the limit of retained memory; returns the previous limit.

    Freed memory of tables and batches, and that writers worked in, is retained for the next ones, because fresh memory
    from the system costs more than decoding. Memory above the limit is returned to the system at once. The default
    limit is 1 GiB. Of that, 64 MiB stay with the process; the rest is offered to the system, which takes it under
    memory pressure. Until then it counts as memory of the process.

    On systems other than Linux, which cannot be offered memory, the default limit is 64 MiB. The DuckDB extension
    retains memory of its own, with its own limit.

    Args:
        bytes: The limit in bytes; 0 retains nothing.

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
    """The bytes of retained memory now, without the memory of tables still in use."""
    return _staffa.retained_memory()
