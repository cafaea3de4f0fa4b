"""The cache of opened blocks, which all open files share."""

from __future__ import annotations

from typing import NamedTuple

from staffa import _staffa
from staffa._arguments import whole_number
from staffa.errors import InvalidArgumentError


class CacheInfo(NamedTuple):
    """What the cache holds, and how often it helped since the process began."""

    #: Blocks that were found.
    hits: int
    #: Blocks that were opened to be kept, since they were not found.
    misses: int
    #: Blocks held, and what else of columns is kept beside them.
    entries: int
    #: Bytes held.
    nbytes: int
    #: Most bytes held.
    max_bytes: int


def set_cache_bytes(bytes: int) -> int:
    """Sets the most bytes that the cache holds; returns the most before.

    `File.take` keeps the blocks that it opens, for the next rows out of them; the first take of a local file that opens
    more than 1 MiB keeps about that much, the second all. All files share one cache of at most 256 MiB, out of which
    goes what was used least recently, of whichever file; blocks of a file go when it is closed.
    Files opened with `cache_bytes=` have a cache of their own, which this does not change.

    Args:
        bytes: The most bytes; 0 keeps nothing. What is above it is dropped at once.

    >>> staffa.set_cache_bytes(1 << 30)
    268435456
    >>> staffa.set_cache_bytes(256 << 20)
    1073741824
    """
    wanted = whole_number("bytes", bytes, 0)
    if wanted is None:
        raise InvalidArgumentError("bytes must be a whole number of at least 0, found None")
    return _staffa.set_cache_bytes(wanted)


def cache_info() -> CacheInfo:
    """What the cache holds, and how often it helped, without files opened with `cache_bytes=`.

    >>> staffa.write_table(pa.table({"x": range(1000)}), "x.staffa").rows
    1000
    >>> file = staffa.open("x.staffa")
    >>> before = staffa.cache_info()
    >>> file.take([3]).num_rows, file.take([4]).num_rows
    (1, 1)
    >>> after = staffa.cache_info()
    >>> after.misses - before.misses, after.hits - before.hits
    (1, 1)
    """
    return CacheInfo(*_staffa.cache_info())
