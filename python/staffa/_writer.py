"""`Writer`: a file written batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from staffa import _staffa
from staffa._input import as_batches, batch_groups, check_names
from staffa._options import WriteOptions, checked, metadata_pairs
from staffa._source import local_path
from staffa.errors import InvalidArgumentError

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class WriteSummary:
    """The size of a written file."""

    rows: int
    row_groups: int
    arrow_bytes: int
    """Bytes of the rows in Arrow memory; values of a dictionary count once per row at most, each as the mean of all."""
    file_bytes: int


class Writer:
    """Writes a file batch by batch, and row group by row group to the disk.

    A context manager: the end of a `with` block finishes the file, which appears then, in one step; an exception in the
    block, Ctrl-C among them, leaves nothing behind. Memory is bounded by one row group.

    An existing file is replaced at the end; with `overwrite=False` it is a `FileExistsError`. No rows are added to a
    finished file: `write_dataset(..., existing="append")` adds a file to a folder.

    >>> schema = pa.schema({"day": pa.int64(), "rain": pa.float64()})
    >>> with staffa.Writer("rain.staffa", schema, profile="small") as writer:
    ...     for day in range(3):
    ...         writer.write_batch(pa.record_batch({"day": [day], "rain": [day * 0.5]}))
    ...     _ = writer.close(metadata={"station": "Oban"})
    >>> writer.summary.rows
    3
    >>> staffa.open("rain.staffa").metadata
    {'station': b'Oban'}
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        schema: pa.Schema,
        **options: Unpack[WriteOptions],
    ) -> None:
        """Starts a file.

        Args:
            path: The file to write, or its URL.
            schema: The names and types of the columns: a pyarrow Schema, or anything that exports one.
            options: As in `write_table`.

        Raises:
            InvalidArgumentError: An option is wrong.
            UnsupportedError: The format cannot hold the type of a column.
            OSError: An error of the system.
        """
        self._path = local_path(path)
        self._summary: WriteSummary | None = None
        self._metadata = dict(metadata_pairs(options.get("metadata")))
        arguments = checked(options)
        self._schema = _schema(schema)
        # Most tables are flat, and a look at every batch costs time.
        types = self._schema.types
        is_nested = any(pa.types.is_nested(each) or isinstance(each, pa.BaseExtensionType) for each in types)
        self._flat = None if is_nested else self._schema
        self._writer: _staffa.Writer | None = _staffa.Writer(self._path, self._schema, arguments)

    @property
    def path(self) -> str:
        """The path of the file."""
        return self._path

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns."""
        return self._schema

    @property
    def closed(self) -> bool:
        """Whether the file was finished or given up."""
        return self._writer is None

    @property
    def nbytes(self) -> int:
        """Bytes that were written so far; rows of the next row group wait in memory."""
        return self._summary.file_bytes if self._summary else 0 if self._writer is None else self._writer.nbytes

    @property
    def summary(self) -> WriteSummary:
        """The size of the finished file."""
        if self._summary is None:
            raise InvalidArgumentError(f"{self._path}: this file is not finished")
        return self._summary

    def write_batch(self, batch: Any) -> None:
        """Adds the rows of a pyarrow RecordBatch, or of any object with `__arrow_c_array__`.

        Raises:
            InvalidArgumentError: Its columns have other names or types than the schema; or the writer is closed.
        """
        self.write_table(batch)

    def write_table(self, data: Any) -> None:
        """Adds the rows of a table, or of whatever else `staffa.write_table` takes. Errors as of `write_batch`.

        Strings become those of the schema: pandas and Polars have large ones and views where a schema may say `string`.
        """
        self._write(as_batches(data, self._schema))

    def _write(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._open()
        for group in batch_groups(batches, self._flat):
            self._write_group(group)
            # Its batches go before the next ones come.
            del group

    def _write_group(self, group: list[pa.RecordBatch]) -> None:
        schema = group[0].schema
        fitting = _fitting(schema, self._schema)
        if fitting is not schema:
            group = [_cast(batch, fitting) for batch in group]
        self._open().write(pa.RecordBatchReader.from_batches(fitting, group))

    def close(self, metadata: Mapping[str, str | bytes] | None = None) -> WriteSummary:
        """Finishes the file with these keys and values, besides those of the options; closing it again does nothing."""
        if self._summary is None:
            self._metadata.update(metadata_pairs(metadata))
            writer, self._writer = self._open(), None
            self._summary = WriteSummary(*writer.finish(list(self._metadata.items())))
        return self._summary

    def abort(self) -> None:
        """Gives the file up: nothing is left of it, and one that was there before stays."""
        if self._writer is not None:
            self._writer.abort()
            self._writer = None

    def _open(self) -> _staffa.Writer:
        if self._writer is None:
            raise InvalidArgumentError(f"{self._path}: this writer is closed")
        return self._writer

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abort()
        elif not self.closed:
            self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{self.nbytes:,} bytes so far"
        return f"<staffa.Writer {self._path!r}: {state}>"


_TEXT = (pa.string(), pa.large_string(), pa.string_view())
_BINARY = (pa.binary(), pa.large_binary(), pa.binary_view())


def _fitting(found: pa.Schema, wanted: pa.Schema) -> pa.Schema:
    """The schema with the wanted layout of strings in columns of the same name; the same one if nothing differs."""
    if found.names != wanted.names or found.types == wanted.types:
        return found
    fitting = found
    for at, (data_type, other) in enumerate(zip(found.types, wanted.types, strict=True)):
        if data_type != other and any(data_type in kind and other in kind for kind in (_TEXT, _BINARY)):
            fitting = fitting.set(at, found.field(at).with_type(other))
    return fitting


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    try:
        columns = [column.cast(data_type) for column, data_type in zip(batch.columns, schema.types, strict=True)]
    except pa.ArrowException as error:
        raise InvalidArgumentError(f"strings do not fit the type of the schema: {error}") from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _schema(schema: Any) -> pa.Schema:
    own = getattr(schema, "schema", None)
    if isinstance(own, pa.Schema):
        raise InvalidArgumentError(f"schema must be a schema of Arrow, found {type(schema).__name__}: pass its .schema")
    try:
        found = schema if isinstance(schema, pa.Schema) else pa.schema(schema)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidArgumentError(f"schema must be a schema of Arrow, found {type(schema).__name__}") from error
    for field in found:
        check_names(field)
    return found
