"""What `open` and `read_table` take: paths, URLs, folders and patterns of one file, bytes, file objects."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from staffa._arguments import path_text
from staffa.errors import InvalidArgumentError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_url(path: str) -> bool:
    """Whether a path names an object in a store."""
    return "://" in path and _URL.match(path) is not None


def local_path(path: Any) -> str:
    """The path as text, without `file://`; other URLs as they are."""
    text = path_text(path)
    if not is_url(text):
        return text
    url = urlsplit(text)
    if url.scheme != "file" or url.netloc not in ("", "localhost"):
        return text
    return unquote(url.path)


def absolute(path: str) -> str:
    """The path from any folder."""
    is_plain = path.startswith("/") and "//" not in path and "/." not in path and not path.endswith("/")
    return path if is_plain or is_url(path) else os.path.abspath(path)  # noqa: PTH100


def contents(source: Any) -> bytes | bytearray | None:
    """The bytes of a file in memory or of a file object; None for a path."""
    if isinstance(source, (str, os.PathLike)):
        return None
    if isinstance(source, (bytes, bytearray)):
        return source
    if isinstance(source, memoryview):
        return source.tobytes()
    if hasattr(source, "getvalue"):
        source = source.getvalue()
    elif hasattr(source, "read"):
        if hasattr(source, "seekable") and source.seekable():
            source.seek(0)
        source = source.read()
    elif hasattr(source, "to_pybytes"):
        source = source.to_pybytes()
    else:
        raise InvalidArgumentError(
            f"a file must be a path, bytes or a file object opened for reading, found {type(source).__name__}"
        )
    if not isinstance(source, bytes):
        raise InvalidArgumentError(
            f"a file object must be opened for reading bytes ('rb'), found one of {type(source).__name__}"
        )
    return source


def is_folder_or_pattern(path: str) -> bool:
    """Whether a path stands for the files of a folder or of a pattern."""
    if is_url(path):
        return path.endswith("/") or "*" in path or "[" in path
    if os.path.isdir(path):  # noqa: PTH112
        return True
    return ("*" in path or "?" in path or "[" in path) and not Path(path).exists()
