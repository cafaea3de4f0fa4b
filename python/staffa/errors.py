"""What can go wrong, by what the caller can do about it.

Everything that Staffa itself finds wrong is a `StaffaError`. What the system refuses (no such file, no permission,
disk full) is the `OSError` that Python has for it.
"""

from __future__ import annotations

__all__ = [
    "CorruptError",
    "InvalidArgumentError",
    "LimitError",
    "MissingExtraError",
    "StaffaError",
    "TruncatedError",
    "UnsupportedError",
]


class StaffaError(Exception):
    """The base of all errors here. Where the place is known, it is in the message and in these attributes."""

    path: str | None = None
    """The file."""
    column: str | None = None
    """The leaf column: of a nested column, the path to the part."""
    row_group: int | None = None
    """The row group, counted from 0."""
    block: int | None = None
    """The block within the column's part of the row group, counted from 0."""
    offset: int | None = None
    """The byte offset in the file."""


class CorruptError(StaffaError):
    """The bytes are not what a writer makes: a checksum or a structure does not hold, or it is another kind of file."""


class TruncatedError(StaffaError):
    """The file ends too early."""


class UnsupportedError(StaffaError):
    """A type, a format version or an encoding that this release does not know."""


class LimitError(StaffaError):
    """More than the limits of the reader allow, or than the format can hold."""


class InvalidArgumentError(StaffaError, ValueError):
    """What was asked for makes no sense for this table: an unknown column, an index out of range."""


class MissingExtraError(StaffaError, ImportError):
    """A library that this needs is not installed; the message says how to install it."""
