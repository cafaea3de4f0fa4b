"""`write_dataset`: a table to the files of a folder, by the values of partition columns."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

import pyarrow as pa

from staffa import _staffa
from staffa._arguments import check_known, column_names, whole_number
from staffa._input import Batches, as_batches, batch_groups, check_names
from staffa._options import WriteOptions, checked, metadata_pairs
from staffa._source import is_url, local_path
from staffa._unify import unify
from staffa.errors import CorruptError, InvalidArgumentError, TruncatedError

if TYPE_CHECKING:
    from typing_extensions import Unpack

# NULL in the folder names of Hive.
NULL_KEY = "__HIVE_DEFAULT_PARTITION__"
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")
#: Integers of this range are read from folders' names.
_INT32 = range(-(2**31), 2**31)


@dataclass(frozen=True)
class DatasetSummary:
    """The files that were written."""

    files: list[str]
    """Their paths or URLs, in the order in which they were finished."""
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
        folder: The folder, which is made if there is none; or the URL of one.
        partition_by: The names of the partition columns: integers, strings, booleans, dates.
        schema: As in `write_table`.
        rows_per_file: Maximum number of rows of a file; by default without limit.
        max_open_files: The most files that are written at the same time.
        existing: If the folder has `.staffa` files already: "error"; "append" leaves them, and refuses rows that
            `dataset` could not read with them; "overwrite" removes them at the end.
        options: As in `write_table`, for each file.

    Raises:
        FileExistsError: The folder has `.staffa` files.
        InvalidArgumentError: An unknown partition column, or one of another type; "append" with other partition columns
            than those of the folder, or with a column whose type has none in common with that of the files; as in
            `write_table`.

    >>> sales = pa.table({"price": [1.5, 2.5, 3.5], "year": [2023, 2024, 2024]})
    >>> summary = staffa.write_dataset(sales, "by_year", partition_by=["year"])
    >>> len(summary.files), summary.rows
    (2, 3)
    >>> staffa.dataset("by_year").to_table(filter="year = 2024").to_pylist()
    [{'price': 2.5, 'year': 2024}, {'price': 3.5, 'year': 2024}]
    """
    if existing not in ("error", "append", "overwrite"):
        raise InvalidArgumentError(f"existing must be 'error', 'append' or 'overwrite', found {existing!r}")
    root = local_path(folder)
    before = files_of(root)
    if before and existing == "error":
        raise FileExistsError(f"{root}: the folder has {len(before)} .staffa files; existing='append' leaves them")
    batches = as_batches(data, schema)
    if existing == "append":
        check_append(root, before, batches.schema, key_columns(batches.schema, partition_by))
    summary = write_files(batches, root, partition_by, rows_per_file, max_open_files, **options)
    for file in before if existing == "overwrite" else ():
        file.remove()
    return summary


def write_files(
    batches: Batches,
    folder: str,
    partition_by: Sequence[str] = (),
    rows_per_file: int | None = None,
    max_open_files: int = 64,
    **options: Unpack[WriteOptions],
) -> DatasetSummary:
    """Writes files beside those that a folder has; arguments as of `write_dataset`."""
    arguments, metadata = checked(options), metadata_pairs(options.get("metadata"))
    for field in batches.schema:
        check_names(field)
    keys = key_columns(batches.schema, partition_by)
    limit = whole_number("rows_per_file", rows_per_file, 1)
    most = whole_number("max_open_files", max_open_files, 1) or 1
    writer = _staffa.TableWriter(folder, batches.schema, keys, limit, most, arguments, metadata)
    try:
        for group in batch_groups(batches):
            writer.write(pa.RecordBatchReader.from_batches(group[0].schema, group))
            # Its batches go before the next ones come.
            del group
        files, rows, file_bytes, folders = writer.finish()
    finally:
        writer.abort()
    _warn_of_numbers(batches.schema, keys, folders)
    return DatasetSummary(files, rows, file_bytes)


def files_of(folder: str) -> list[_staffa.TableFile]:
    """The files that a folder has already."""
    if is_url(folder):
        return _staffa.find(folder.rstrip("/") + "/")
    return _staffa.find(folder) if Path(folder).is_dir() else []


def check_append(folder: str, files: list[_staffa.TableFile], schema: pa.Schema, keys: list[str]) -> None:
    """Refuses rows that `dataset` could not read with the files of the folder."""
    schemas, folders = [], []
    for file in files:
        try:
            opened = file.open()
        except (CorruptError, TruncatedError):
            # `dataset` can leave it out too.
            continue
        schemas.append((file.path, _engine_schema(opened.empty())))
        if opened.num_rows:
            # A file without rows is in no folder of keys.
            folders.append(file.folders_below)
    there = _staffa.hive_keys(folders).to_pyarrow().schema.names
    if folders and set(keys) != set(there):
        raise InvalidArgumentError(f"{folder}: partition_by must be {there}, as of its files, found {keys}")
    # By name: the writer refuses two columns of one name.
    stored = pa.schema(list({field.name: field for field in schema if field.name not in keys}.values()))
    rows = _staffa.unify([stored])
    assert isinstance(rows, _staffa.Batch)
    unify([*schemas, ("the new rows", _engine_schema(rows))], "cast the column, or write to another folder")


def _engine_schema(batch: _staffa.Batch) -> pa.Schema:
    """The columns as `dataset` has them, in types that all engines support."""
    return batch.flattened().to_pyarrow().schema


def _warn_of_numbers(schema: pa.Schema, keys: list[str], folders: list[str]) -> None:
    """Says which columns of text a reader of the folder takes for integers."""
    for at, name in enumerate(keys):
        data_type = schema.field(name).type
        if pa.types.is_dictionary(data_type):
            data_type = data_type.value_type
        texts = {unquote(each.split("/")[at].partition("=")[2]) for each in folders if each} - {NULL_KEY}
        if texts and _is_text(data_type) and all(_INTEGER.fullmatch(text) and int(text) in _INT32 for text in texts):
            example = f'partitioning=pa.schema([("{name}", pa.string())])'
            warnings.warn(
                f"the texts of the partition column {name!r} look like integers, and are read as such unless "
                f"staffa.dataset is given {example}",
                stacklevel=4,
            )


def _is_text(data_type: pa.DataType) -> bool:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(is_kind(data_type) for is_kind in kinds)


def key_columns(schema: pa.Schema, partition_by: Any) -> list[str]:
    """The partition columns, each once; an unknown one or one of another type is an error."""
    keys = column_names(partition_by, "partition_by") or []
    check_known(keys, schema.names, "partition_by: ")
    for name in keys:
        data_type = schema.field(name).type
        if pa.types.is_dictionary(data_type):
            data_type = data_type.value_type
        kinds = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_date, pa.types.is_string)
        if not any(is_kind(data_type) for is_kind in (*kinds, pa.types.is_large_string, pa.types.is_string_view)):
            raise InvalidArgumentError(
                f"partition_by: column {name!r} must have integers, strings, booleans or dates, found {data_type}"
            )
    return list(dict.fromkeys(keys))
