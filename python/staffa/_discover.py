"""The files of a dataset, and the partition keys in the names of their folders."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.dataset as ds

from staffa import _staffa
from staffa._source import absolute, is_url, local_path
from staffa.errors import InvalidArgumentError


@dataclass(frozen=True, eq=False)
class PartitionedFile:
    """A file of a dataset, and the values of its partition columns."""

    path: str
    keys: dict[str, pa.Scalar] = field(default_factory=dict)
    #: Where it was found, with what the index of its folder knows of it.
    found: _staffa.TableFile | None = field(default=None, repr=False)

    def open(self) -> _staffa.File:
        """Opens the file."""
        return _staffa.open(self.path) if self.found is None else self.found.open()

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process may be in another folder.
        return PartitionedFile, (absolute(self.path), self.keys)


@dataclass(frozen=True)
class _Found:
    file: _staffa.TableFile
    #: The folders below the given one, or all folders of the path: they are searched for key=value.
    folders: list[str]

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def levels(self) -> list[str]:
        """The folders below the part of the path without wildcards: a list of names is for these."""
        return self.file.folders_below


def discover(source: Any, partitioning: Any) -> list[PartitionedFile]:
    """The files of a path, a pattern, a folder or a list of these, in order."""
    # Tables and files iterate too, over their columns or batches.
    is_table = hasattr(source, "schema") or hasattr(source, "columns")
    sources = source if _is_list(source) and not is_table else [source]
    found = [file for each in sources for file in _files(local_path(each))]
    if not found:
        raise InvalidArgumentError("a dataset needs at least one file, found an empty list")
    keys = _keys(found, partitioning)
    return [PartitionedFile(each.path, own, each.file) for each, own in zip(found, keys, strict=True)]


def _is_list(source: Any) -> bool:
    return isinstance(source, Iterable) and not isinstance(source, (str, bytes, os.PathLike))


def _files(path: str) -> list[_Found]:
    found = _staffa.find(path)
    is_folder = not is_url(path) and Path(path).is_dir()
    if not found and is_folder:
        raise FileNotFoundError(f"no file in the folder {path!r} ends in .staffa")
    if not found:
        raise FileNotFoundError(f"no {'object' if is_url(path) else 'file'} matches {path!r}")
    return [_Found(file, file.folders_below if is_folder else file.folders) for file in found]


def _keys(found: list[_Found], partitioning: Any) -> list[dict[str, pa.Scalar]]:
    """The partition keys of each file."""
    if partitioning is None:
        return [{} for _ in found]
    if isinstance(partitioning, ds.Partitioning):
        return [_parsed(file, partitioning) for file in found]
    if partitioning == "hive":
        columns = _columns(_staffa.hive_keys([file.folders for file in found]))
    elif isinstance(partitioning, pa.Schema):
        texts = _columns(_staffa.hive_keys([file.folders for file in found], text=True))
        missing = pa.nulls(len(found), pa.string())
        columns = {field.name: _cast(texts.get(field.name, missing), field, found) for field in partitioning}
    elif _is_list(partitioning) and all(isinstance(name, str) for name in partitioning):
        names = list(partitioning)
        levels = [
            [f"{quote(name, safe='')}={level}" for name, level in zip(names, file.levels, strict=False)]
            for file in found
        ]
        inferred = _columns(_staffa.hive_keys(levels))
        columns = {name: inferred.get(name, pa.nulls(len(found), pa.string())) for name in names}
    else:
        raise InvalidArgumentError(
            "partitioning must be 'hive', a schema of the columns in key=value folders, a list of names for the "
            f"folders level by level, a pyarrow.dataset.Partitioning or None, found {partitioning!r}"
        )
    return [{name: column[i] for name, column in columns.items()} for i in range(len(found))]


def _columns(keys: _staffa.Batch) -> dict[str, pa.Array]:
    batch = keys.to_pyarrow()
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def _cast(texts: pa.Array, field: pa.Field, found: list[_Found]) -> pa.Array:
    """A partition column of a type that is given."""
    try:
        return texts.cast(field.type)
    except pa.ArrowInvalid:
        pass
    for file, text in zip(found, texts, strict=True):
        try:
            text.cast(field.type)
        except pa.ArrowInvalid as error:
            raise InvalidArgumentError(
                f"{file.path}: partition column {field.name!r} must be {field.type}: {error}"
            ) from None
    raise AssertionError("the cast of all values failed, but not the cast of one")


def _parsed(file: _Found, partitioning: ds.Partitioning) -> dict[str, pa.Scalar]:
    try:
        keys = ds.get_partition_keys(partitioning.parse("/".join([*file.levels, ""])))
    except pa.ArrowInvalid as error:
        raise InvalidArgumentError(f"{file.path}: {error}") from error
    return {field.name: pa.scalar(keys.get(field.name), field.type) for field in partitioning.schema}
