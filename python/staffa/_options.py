"""The options of a writer: their types, and checks whose messages name the option and what was found."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict

from staffa._arguments import whole_number
from staffa._sort_key import SortKey
from staffa.errors import InvalidArgumentError

Profile = Literal["fast", "balanced", "small"]


class WriteOptions(TypedDict, total=False):
    """The options of `write_table`, which describes them."""

    profile: Profile
    column_profiles: Mapping[str, Profile] | None
    access: Literal["scan", "random"]
    encodings: Mapping[str, str] | None
    max_error: Mapping[str, float] | None
    without: Iterable[str]
    edition: Literal["core-1"] | None
    metadata: Mapping[str, str | bytes] | None
    sort_order: Iterable[str | SortKey]
    chunk_statistics: bool
    row_group_rows: int | None
    threads: int | None
    derived_columns: bool
    relate: bool
    verify: bool
    overwrite: bool


def checked(options: WriteOptions) -> dict[str, Any]:
    """The arguments of the extension module for these options, without the metadata."""
    unknown = options.keys() - WriteOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"unexpected keyword argument {min(unknown)!r}")
    profile, access, edition = options.get("profile", "balanced"), options.get("access", "scan"), options.get("edition")
    if not isinstance(profile, str):
        raise InvalidArgumentError(f"profile must be 'fast', 'balanced' or 'small', found {profile!r}")
    if not isinstance(access, str):
        raise InvalidArgumentError(f"access must be 'scan' or 'random', found {access!r}")
    if edition is not None and not isinstance(edition, str):
        raise InvalidArgumentError(f"edition must be 'core-1', found {edition!r}")
    derived_columns = of_former_name(options["relate"]) if "relate" in options else options.get("derived_columns", True)
    return {
        "profile": profile,
        "column_profiles": _names("column_profiles", options.get("column_profiles"), "profiles"),
        "access": access,
        "encodings": _names("encodings", options.get("encodings"), "encodings"),
        "max_error": _bounds(options.get("max_error")),
        "without": _listed(options.get("without", ())),
        "edition": edition,
        "sort_order": _sort_keys(options.get("sort_order", ())),
        "chunk_statistics": bool(options.get("chunk_statistics", False)),
        "row_group_rows": whole_number("row_group_rows", options.get("row_group_rows"), 1),
        "threads": whole_number("threads", options.get("threads"), 1),
        "derived_columns": bool(derived_columns),
        "verify": bool(options.get("verify", True)),
        "overwrite": bool(options.get("overwrite", True)),
    }


def of_former_name(relate: bool) -> bool:
    """`derived_columns` as it is given by its former name."""
    warnings.warn("relate is deprecated, use derived_columns", DeprecationWarning, stacklevel=3)
    return relate


def _listed(without: Any) -> list[str]:
    names = None if isinstance(without, str) or not isinstance(without, Iterable) else list(without)
    if names is None or not all(isinstance(name, str) for name in names):
        raise InvalidArgumentError(f"without must list names of encodings, found {without!r}")
    return names


def _sort_keys(given: Any) -> list[str]:
    keys = None if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if keys is None or not all(isinstance(key, (str, SortKey)) for key in keys):
        raise InvalidArgumentError(f"sort_order must list columns, as in ['day', 'city desc'], found {given!r}")
    return [str(key) for key in keys]


def _names(argument: str, given: Any, what: str) -> list[tuple[str, str]]:
    for column, name in _pairs(argument, given, what):
        if not isinstance(column, str) or not isinstance(name, str):
            raise InvalidArgumentError(f"{argument} must map names to names, found {column!r}: {name!r}")
    return _pairs(argument, given, what)


def metadata_pairs(metadata: Any) -> list[tuple[str, bytes]]:
    pairs = []
    for key, value in _pairs("metadata", metadata, "strings or bytes"):
        if not isinstance(key, str) or not isinstance(value, (str, bytes)):
            raise InvalidArgumentError(f"metadata must map names to strings or bytes, found {key!r}: {value!r}")
        try:
            key.encode()
            pairs.append((key, value.encode() if isinstance(value, str) else value))
        except UnicodeEncodeError as error:
            raise InvalidArgumentError(
                f"metadata must be text that UTF-8 can hold, found {key!r}: {value!r} ({error.reason})"
            ) from None
    return pairs


def _bounds(max_error: Any) -> list[tuple[str, float]]:
    bounds = []
    for column, bound in _pairs("max_error", max_error, "numbers"):
        if not isinstance(column, str) or isinstance(bound, (bool, str)):
            raise InvalidArgumentError(f"max_error must map names to numbers, found {column!r}: {bound!r}")
        try:
            bounds.append((column, float(bound)))
        except (TypeError, ValueError, OverflowError):
            raise InvalidArgumentError(f"max_error must map names to numbers, found {column!r}: {bound!r}") from None
    return bounds


def _pairs(argument: str, given: Any, what: str) -> list[tuple[Any, Any]]:
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise InvalidArgumentError(f"{argument} must map columns to {what}, found {type(given).__name__}")
    return list(given.items())
