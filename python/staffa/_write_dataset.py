"""`write_dataset`: a table to the files of a folder, by the values of partition columns."""

from __future__ import annotations

import os
import re
import uuid
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc

from staffa._arguments import column_names, whole_number
from staffa._discover import NULL_KEY
from staffa._input import as_batches
from staffa._options import WriteOptions, checked, metadata_pairs
from staffa._source import path_to_write
from staffa._writer import Writer
from staffa.errors import InvalidArgumentError

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: The rows that may wait in memory: each open file holds those of its next row group, at most so many bytes.
_ROW_GROUP_BYTES = 128 << 20
_WAITING_BYTES = 2 << 30
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")
#: Integers of this range are read from folders' names.
_INT32 = range(-(2**31), 2**31)
#: Rows that are sorted into partitions at once.
_GROUPED_ROWS = 1 << 17


@dataclass(frozen=True)
class DatasetSummary:
    """The files that were written."""

    files: list[str]
    """Their paths, in the order in which they were finished."""
    rows: int
    file_bytes: int


def write_dataset(
    data: Any,
    folder: str | os.PathLike[str],
    *,
    partition_by: Sequence[str] = (),
    schema: pa.Schema | None = None,
    rows_per_file: int | None = None,
    max_open_files: int = 64,
    existing: Literal["error", "append", "overwrite"] = "error",
    **options: Unpack[WriteOptions],
) -> DatasetSummary:
    """Writes a table to files in a folder, one or several for all equal values of the partition columns.

    The values are in the names of folders, `year=2024/city=Oban/`, as Hive has them, and not in the files; `dataset`
    reads both. Rows keep their order within a file. Data that is sorted by the partition columns needs one open file at
    a time; otherwise, when there are too many open files, or their rows take more than some 2 GiB, the one that waited
    longest is finished, and later rows of its partition go to another file.

    After an exception, Ctrl-C among them, no new file is left, and the files that were there before stay.

    A reader takes the values of a partition column for integers if all look so: texts such as "007" are read as text
    only with a schema, `dataset(folder, partitioning=pa.schema([("code", pa.string())]))`. A warning says so. Dates are
    read as text without one.

    Args:
        data: As in `write_table`.
        folder: The folder; it is made if there is none.
        partition_by: The names of the partition columns: integers, strings, booleans, dates.
        schema: As in `write_table`.
        rows_per_file: Maximum number of rows of a file; by default without limit.
        max_open_files: The most files that are written at the same time.
        existing: If the folder has `.staffa` files already: "error"; "append" leaves them; "overwrite" removes them at
            the end.
        options: As in `write_table`, for each file.

    Raises:
        FileExistsError: The folder has `.staffa` files.
        InvalidArgumentError: An unknown partition column, or one of another type; as in `write_table`.

    >>> sales = pa.table({"price": [1.5, 2.5, 3.5], "year": [2023, 2024, 2024]})
    >>> summary = staffa.write_dataset(sales, "by_year", partition_by=["year"])
    >>> len(summary.files), summary.rows
    (2, 3)
    >>> staffa.dataset("by_year").to_table(filter="year = 2024").to_pylist()
    [{'price': 2.5, 'year': 2024}, {'price': 3.5, 'year': 2024}]
    """
    if existing not in ("error", "append", "overwrite"):
        raise InvalidArgumentError(f"existing must be 'error', 'append' or 'overwrite', found {existing!r}")
    checked(options)
    metadata_pairs(options.get("metadata"))
    root = Path(path_to_write(folder))
    before = sorted(root.rglob("*.staffa")) if root.is_dir() else []
    if before and existing == "error":
        raise FileExistsError(f"{root}: the folder has {len(before)} .staffa files; existing='append' leaves them")
    batches = as_batches(data, schema)
    keys = _key_columns(batches.schema, partition_by)
    stored = pa.schema([f for f in batches.schema if f.name not in keys], batches.schema.metadata)
    if not stored.names:
        raise InvalidArgumentError("partition_by names all columns: there is none left for the files")
    limit = whole_number("rows_per_file", rows_per_file, 1)
    most = whole_number("max_open_files", max_open_files, 1) or 1
    with _Folder(root, stored, limit, most, options) as files:
        for batch in batches:
            for values, rows in _partitions(batch, keys):
                files.write(values, rows.select(stored.names))
        summary = files.finish()
        written = list(files.partitions)
    for path in before if existing == "overwrite" else ():
        path.unlink(missing_ok=True)
    _warn_of_numbers(batches.schema, keys, written)
    return summary


def _warn_of_numbers(schema: pa.Schema, keys: list[str], partitions: list[tuple[str, ...]]) -> None:
    """Says which columns of text a reader of the folder takes for integers."""
    for at, name in enumerate(keys):
        data_type = schema.field(name).type
        if pa.types.is_dictionary(data_type):
            data_type = data_type.value_type
        texts = {unquote(folders[at].partition("=")[2]) for folders in partitions if folders} - {NULL_KEY}
        if texts and _is_text(data_type) and all(_INTEGER.fullmatch(text) and int(text) in _INT32 for text in texts):
            example = f'partitioning=pa.schema([("{name}", pa.string())])'
            warnings.warn(
                f"the texts of the partition column {name!r} look like integers, and are read as such unless "
                f"staffa.dataset is given {example}",
                stacklevel=3,
            )


def _is_text(data_type: pa.DataType) -> bool:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(is_kind(data_type) for is_kind in kinds)


def _key_columns(schema: pa.Schema, partition_by: Any) -> list[str]:
    keys = column_names(partition_by, "partition_by") or []
    for name in keys:
        if name not in schema.names:
            known = ", ".join(map(repr, schema.names[:20])) or "none"
            raise InvalidArgumentError(f"partition_by: unknown column {name!r}; there are {known}")
        data_type = schema.field(name).type
        if pa.types.is_dictionary(data_type):
            data_type = data_type.value_type
        kinds = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_date, pa.types.is_string)
        if not any(is_kind(data_type) for is_kind in (*kinds, pa.types.is_large_string, pa.types.is_string_view)):
            raise InvalidArgumentError(
                f"partition_by: column {name!r} must have integers, strings, booleans or dates, found {data_type}"
            )
    return list(dict.fromkeys(keys))


def _partitions(batch: pa.RecordBatch, keys: list[str]) -> Iterator[tuple[tuple[str, ...], pa.RecordBatch]]:
    """The rows of a batch by the names of their folders."""
    if not keys:
        yield (), batch
        return
    for start in range(0, batch.num_rows, _GROUPED_ROWS):
        part = batch.slice(start, _GROUPED_ROWS)
        columns = {f"key {i}": pc.cast(part.column(name), pa.string()) for i, name in enumerate(keys)}
        numbers = pc.subtract(pc.cumulative_sum(pa.repeat(1, part.num_rows)), 1)
        groups = pa.table({**columns, "row": numbers}).group_by(list(columns), use_threads=False)
        for group in groups.aggregate([("row", "list")]).to_pylist():
            texts = (group[key] for key in columns)
            values = tuple(f"{quote(name, safe='')}={_text(text)}" for name, text in zip(keys, texts, strict=True))
            for rows in _rows(part, group["row_list"]):
                yield values, rows


def _rows(batch: pa.RecordBatch, rows: list[int]) -> Iterator[pa.RecordBatch]:
    """The rows with these numbers, in ascending order; rows one after another are not copied."""
    if rows[-1] - rows[0] + 1 == len(rows):
        yield batch.slice(rows[0], len(rows))
        return
    try:
        yield batch.take(pa.array(rows, pa.int64()))
    except pa.ArrowNotImplementedError:
        # pyarrow cannot take values of some types, such as run-ends.
        start = 0
        for end in range(1, len(rows) + 1):
            if end == len(rows) or rows[end] != rows[end - 1] + 1:
                yield batch.slice(rows[start], end - start)
                start = end


def _text(value: str | None) -> str:
    """A value in the name of a folder."""
    return NULL_KEY if value is None else quote(value, safe="")


@dataclass
class _Open:
    """An open file of a partition."""

    writer: Writer
    rows: int = 0
    waiting: int = 0


@dataclass
class _Folder:
    """The files of the folder; leaves none behind if it is left by an exception."""

    root: Path
    schema: pa.Schema
    rows_per_file: int | None
    most_open: int
    options: WriteOptions
    open: OrderedDict[tuple[str, ...], _Open] = field(default_factory=OrderedDict)
    made: list[Path] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    #: The folders that were written, with the values of the partition columns in their names.
    partitions: dict[tuple[str, ...], None] = field(default_factory=dict)
    rows: int = 0
    file_bytes: int = 0
    #: Another name in each call: files of several calls may stand in a folder.
    token: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    def write(self, values: tuple[str, ...], rows: pa.RecordBatch) -> None:
        while rows.num_rows:
            found = self.open.get(values) or self._start(values)
            self.open.move_to_end(values)
            left = rows.num_rows if self.rows_per_file is None else self.rows_per_file - found.rows
            part, rows = rows.slice(0, left), rows.slice(left)
            found.writer._write([part])
            found.rows += part.num_rows
            found.waiting = min(found.waiting + part.nbytes, _ROW_GROUP_BYTES)
            if found.rows == self.rows_per_file:
                self._close(values)
            while len(self.open) > 1 and sum(each.waiting for each in self.open.values()) > _WAITING_BYTES:
                self._close(next(iter(self.open)))

    def finish(self) -> DatasetSummary:
        for values in list(self.open):
            self._close(values)
        if not self.files:
            self._start(())
            self._close(())
        return DatasetSummary(self.files, self.rows, self.file_bytes)

    def _start(self, values: tuple[str, ...]) -> _Open:
        while len(self.open) >= self.most_open:
            self._close(next(iter(self.open)))
        folder = self.root.joinpath(*values)
        for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
            missing.mkdir(exist_ok=True)
            self.made.append(missing)
        path = folder / f"part-{self.token}-{len(self.files) + len(self.open)}.staffa"
        self.partitions[values] = None
        self.open[values] = _Open(Writer(path, self.schema, **self.options))
        return self.open[values]

    def _close(self, values: tuple[str, ...]) -> None:
        written = self.open[values].writer
        summary = written.close()
        del self.open[values]
        self.files.append(written.path)
        self.rows += summary.rows
        self.file_bytes += summary.file_bytes

    def __enter__(self) -> _Folder:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            return
        for each in self.open.values():
            each.writer.abort()
        for path in self.files:
            Path(path).unlink(missing_ok=True)
        for folder in reversed(self.made):
            if not any(folder.iterdir()):
                folder.rmdir()
