"""`open` and `read_table`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from staffa._arguments import one_filter
from staffa._file import File
from staffa._source import is_folder_or_pattern, is_url, local_path
from staffa.errors import InvalidArgumentError

if TYPE_CHECKING:
    from staffa._filters import Filters


def open(source: Any, *, cache_bytes: int | None = None, cache_decoded: bool = False) -> File:
    """Opens a file. The footer is read and checked now, the data when it is needed.

    Args:
        source: The path or URL of a file; a folder or a pattern of one file; the contents as bytes;
            or a file object opened for reading bytes, such as a `BytesIO`, which is read whole.
        cache_bytes: Memory for a cache of opened blocks, for the next `take`, of this file alone; by default all
            files share one of 256 MiB (`set_cache_bytes`).
        cache_decoded: Cache decoded blocks: fewer fit, but a row of a cached block costs next to nothing.

    Raises:
        InvalidArgumentError: A folder or a pattern has several files; `dataset` reads them as one table.
        FileNotFoundError: There is no such file; another `OSError` for other errors of the system.
        CorruptError: The file is damaged or no Staffa file.
        TruncatedError: The file ends too early.
        UnsupportedError: This release cannot read the format version of the file.

    >>> staffa.write_table(pa.table({"x": range(1000)}), "x.staffa").rows
    1000
    >>> staffa.open("x.staffa").num_rows
    1000
    """
    if isinstance(source, (str, os.PathLike)):
        source = local_path(source)
        if is_url(source):
            source = _only_file(source)
        else:
            # Most paths are those of files: a look at what the path is would cost as much as reading a footer.
            try:
                return File(source, cache_bytes=cache_bytes, cache_decoded=cache_decoded)
            except OSError:
                if not is_folder_or_pattern(source):
                    raise
            source = _only_file(source)
    return File(source, cache_bytes=cache_bytes, cache_decoded=cache_decoded)


def read_table(
    source: Any,
    columns: Sequence[str] | None = None,
    filter: Filters | None = None,
    limit: int | None = None,
    string_views: bool = False,
    dictionaries: Sequence[str] = (),
    run_ends: Sequence[str] = (),
    *,
    filters: Filters | None = None,
) -> pa.Table:
    """Reads a table from a file: the same as `open(source).to_table(...)`.

    A folder, a pattern or a list of files is read as one table: the same as `dataset(source).to_table(...)`, which has
    no `string_views`, `dictionaries` and `run_ends`. `filters` is another name of `filter`, that of pyarrow and pandas.

    >>> staffa.write_table(pa.table({"x": range(1000)}), "x.staffa").rows
    1000
    >>> staffa.read_table("x.staffa", filter=pc.field("x") > 997).to_pydict()
    {'x': [998, 999]}
    """
    filter = one_filter(filter, filters)
    several = isinstance(source, (list, tuple)) or (
        isinstance(source, (str, os.PathLike)) and is_folder_or_pattern(local_path(source))
    )
    if not several:
        return open(source).to_table(columns, filter, limit, string_views, dictionaries, run_ends)
    if string_views or dictionaries or run_ends:
        raise InvalidArgumentError("string_views, dictionaries and run_ends are for single files, found several")
    from staffa._dataset import dataset

    scanner = dataset(source).scanner(columns, filter)
    return scanner.to_table() if limit is None else scanner.head(limit)


def _only_file(path: str) -> str:
    """The path itself, or that of the one file that a folder or a pattern has."""
    if not is_folder_or_pattern(path):
        return path
    from staffa._discover import discover

    found = discover(path, None)
    if len(found) > 1:
        raise InvalidArgumentError(
            f"{path!r} has {len(found)} files: staffa.dataset reads them as one table, staffa.open only one"
        )
    return found[0].path
