"""The exceptions.

Errors that Staffa finds are a `StaffaError`. Errors of the system (no such file, no permission, disk full) are Python's
`OSError`.
"""

from __future__ import annotations

__all__ = [
    "ChangedFileError",
    "CorruptError",
    "DamagedFileWarning",
    "InternalError",
    "InvalidArgumentError",
    "LimitError",
    "MissingExtraError",
    "StaffaError",
    "TruncatedError",
    "UnsupportedError",
]


class StaffaError(Exception):
    """The base of all exceptions of Staffa. The message and these attributes name the place, if it is known."""

    path: str | None = None
    """The file."""
    column: str | None = None
    """The path of the leaf column."""
    row_group: int | None = None
    """The row group, counted from 0."""
    block: int | None = None
    """The block within the column chunk, counted from 0."""
    offset: int | None = None
    """The byte offset in the file."""


class CorruptError(StaffaError):
    """The file is damaged or of another kind: a checksum or a structure is wrong."""


class ChangedFileError(StaffaError):
    """The file is another one than when it was planned: it was replaced or written again."""


class TruncatedError(StaffaError):
    """The file ends too early."""


class UnsupportedError(StaffaError):
    """A type, a format version or an encoding that this release does not support."""


class LimitError(StaffaError):
    """A size beyond the limits of the reader or of the format."""


class InvalidArgumentError(StaffaError, ValueError):
    """An argument does not fit the table: an unknown column, an index out of range."""


class InternalError(StaffaError):
    """A mistake in Staffa, not in the file or the call. Please report it with the message."""


class MissingExtraError(StaffaError, ImportError):
    """An optional library is not installed; the message says how to install it."""


class DamagedFileWarning(UserWarning):
    """A damaged file was left out of a dataset, as `on_damaged="skip"` says."""
