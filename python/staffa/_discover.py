"""The files of a dataset, and the partition keys in the names of their folders."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.dataset as ds

from staffa import _staffa
from staffa._source import absolute, is_folder_or_pattern, is_url, local_path
from staffa.errors import InvalidArgumentError

# NULL in the folder names of Hive.
NULL_KEY = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class PartitionedFile:
    """A file of a dataset, and the values of its partition columns."""

    path: str
    keys: dict[str, pa.Scalar] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process may be in another folder.
        return PartitionedFile, (absolute(self.path), self.keys)


@dataclass(frozen=True)
class _Found:
    path: str
    #: The folders below the given one, or all folders of the path: they are searched for key=value.
    folders: list[str]
    #: The folders below the part of the path without wildcards: a list of names is for these.
    levels: list[str]


def discover(source: Any, partitioning: Any) -> list[PartitionedFile]:
    """The files of a path, a pattern, a folder or a list of these, in order."""
    sources = source if _is_list(source) else [source]
    found = [file for each in sources for file in _files(local_path(each))]
    if not found:
        raise InvalidArgumentError("a dataset needs at least one file, found an empty list")
    return [PartitionedFile(file.path, keys) for file, keys in zip(found, _keys(found, partitioning), strict=True)]


def _is_list(source: Any) -> bool:
    return isinstance(source, Iterable) and not isinstance(source, (str, bytes, os.PathLike))


def _files(path: str) -> list[_Found]:
    if is_url(path):
        return _objects(path)
    if Path(path).is_dir():
        inside = sorted(file for file in Path(path).rglob("*.staffa") if _is_data(file, path))
        if not inside:
            raise FileNotFoundError(f"no file in the folder {path!r} ends in .staffa")
        below = [list(file.relative_to(path).parts[:-1]) for file in inside]
        return [_Found(str(file), folders, folders) for file, folders in zip(inside, below, strict=True)]
    if glob.has_magic(path) and not Path(path).exists():
        found = glob.glob(path, recursive=True)  # noqa: PTH207 - Path.glob begins at a folder
        matches = sorted(match for match in found if Path(match).is_file())
        if not matches:
            raise FileNotFoundError(f"no file matches {path!r}")
        fixed = len(Path(re.split(r"[*?\[]", path, maxsplit=1)[0] + "*").parts) - 1
        return [_Found(match, _folders(match), _folders(match)[fixed:]) for match in matches]
    return [_Found(path, _folders(path), _folders(path))]


def _objects(url: str) -> list[_Found]:
    """The objects below a URL that ends in `/`, those that match a pattern, or the one of any other URL."""
    if not is_folder_or_pattern(url):
        return [_Found(url, _folders(url), _folders(url))]
    fixed = re.split(r"[*\[]", url, maxsplit=1)[0].rpartition("/")[0]
    found = _staffa.list_objects(url)
    return [_Found(name, _folders(name), _folders(name.removeprefix(fixed))) for name in found]


def _is_data(file: Path, folder: str) -> bool:
    """Whether a file is data: names of hidden and internal files and folders begin with a dot or an underscore."""
    return file.is_file() and not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def _folders(path: str) -> list[str]:
    return list(Path(path).parts[:-1])


def _keys(found: list[_Found], partitioning: Any) -> list[dict[str, pa.Scalar]]:
    """The partition keys of each file."""
    if partitioning is None:
        return [{} for _ in found]
    if isinstance(partitioning, ds.Partitioning):
        return [_parsed(file, partitioning) for file in found]
    types = {}
    if partitioning == "hive" or isinstance(partitioning, pa.Schema):
        texts = [_hive(file.folders) for file in found]
        names = list(dict.fromkeys(name for each in texts for name in each))
        if partitioning != "hive":
            names = partitioning.names
            types = {field.name: field.type for field in partitioning}
    elif _is_list(partitioning) and all(isinstance(name, str) for name in partitioning):
        names = list(partitioning)
        texts = [dict(zip(names, map(unquote, file.levels), strict=False)) for file in found]
    else:
        raise InvalidArgumentError(
            "partitioning must be 'hive', a schema of the columns in key=value folders, a list of names for the "
            f"folders level by level, a pyarrow.dataset.Partitioning or None, found {partitioning!r}"
        )
    columns = {name: _typed(name, [each.get(name) for each in texts], types.get(name), found) for name in names}
    return [{name: column[i] for name, column in columns.items()} for i in range(len(found))]


def _hive(folders: Sequence[str]) -> dict[str, str | None]:
    pairs = [folder.partition("=") for folder in folders if "=" in folder.lstrip("=")]
    return {unquote(key): None if value == NULL_KEY else unquote(value) for key, _, value in pairs}


def _typed(name: str, texts: list[str | None], wanted: pa.DataType | None, found: list[_Found]) -> pa.Array:
    """A partition column: of type `wanted`, else integers if all are integers, else strings, as pyarrow infers it."""
    array = pa.array(texts, pa.string())
    try:
        known = array.null_count < len(array)
        return array.cast(wanted or (pa.int32() if known else pa.string()))
    except pa.ArrowInvalid:
        if wanted is None:
            return array
    for file, text in zip(found, array, strict=True):
        try:
            text.cast(wanted)
        except pa.ArrowInvalid as error:
            raise InvalidArgumentError(f"{file.path}: partition column {name!r} must be {wanted}: {error}") from None
    raise AssertionError("the cast of all values failed, but not the cast of one")


def _parsed(file: _Found, partitioning: ds.Partitioning) -> dict[str, pa.Scalar]:
    try:
        keys = ds.get_partition_keys(partitioning.parse("/".join([*file.levels, ""])))
    except pa.ArrowInvalid as error:
        raise InvalidArgumentError(f"{file.path}: {error}") from error
    return {field.name: pa.scalar(keys.get(field.name), field.type) for field in partitioning.schema}
