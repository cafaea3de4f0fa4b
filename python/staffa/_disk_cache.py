"""The cache of object stores on the local disk."""

from __future__ import annotations

import os
from typing import NamedTuple

from staffa import _staffa
from staffa._arguments import path_text, whole_number


class DiskCacheInfo(NamedTuple):
    """What the disk cache holds, and how often it helped this process."""

    #: Ranges that were there.
    hits: int
    #: Ranges of which at least a part was asked for.
    misses: int
    #: Bytes that were there.
    hit_bytes: int
    #: Bytes that were asked for.
    miss_bytes: int
    #: Bytes of the folder, those of other processes among them.
    nbytes: int
    #: Most bytes of the folder.
    max_bytes: int


def set_disk_cache(folder: str | os.PathLike[str] | None, bytes: int | None = None) -> None:
    """Keeps what is read from object stores in a folder of the local disk, for the next read.

    Objects are told apart by their `ETag`: one that was replaced is read anew. Whatever goes wrong with the folder (a
    damaged file, a full disk) is a request to the store. What was used longest ago is removed first. Processes may
    share a folder; it holds what the objects hold, and is created for this user alone. Before a call the environment
    decides: `STAFFA_DISK_CACHE=FOLDER` or `FOLDER=SIZE`.

    Args:
        folder: The folder, which is created if it is not there; None keeps nothing.
        bytes: The most bytes of the folder; by default 10 GiB.

    Raises:
        OSError: The folder cannot be created, or is none.

    >>> staffa.set_disk_cache("cache", 1 << 30)
    >>> staffa.disk_cache_info().max_bytes
    1073741824
    >>> staffa.set_disk_cache(None)
    >>> staffa.disk_cache_info() is None
    True
    """
    most = whole_number("bytes", bytes, 0)
    _staffa.set_disk_cache(None if folder is None else path_text(folder), most)


def disk_cache_info() -> DiskCacheInfo | None:
    """What the disk cache holds, and how often it helped; None where there is none. Looks at all its files."""
    info = _staffa.disk_cache_info()
    return None if info is None else DiskCacheInfo(*info)
