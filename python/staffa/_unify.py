"""One schema for several files."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from staffa import _staffa
from staffa.errors import InvalidArgumentError


def unify(
    schemas: Iterable[tuple[str, pa.Schema]],
    advice: str = "read the files apart, or say with schema= what it shall be",
) -> pa.Schema:
    """The union of the schemas, in the order of the first; each schema comes with the path of its file. An error ends
    with the advice.

    A column that some files lack is nullable; numbers, dates, times and strings are widened, as in pyarrow's permissive
    `unify_schemas`. Values are cast when they are read; a lossy cast is an error then.

    >>> old, new = pa.schema({"a": pa.int32()}), pa.schema({"a": pa.int64(), "b": pa.string()})
    >>> unify([("old.staffa", old), ("new.staffa", new)])
    a: int64
    b: string
    >>> unify([("old.staffa", old), ("odd.staffa", pa.schema({"a": pa.string()}))])
    Traceback (most recent call last):
        ...
    staffa.errors.InvalidArgumentError: column 'a' is int32 in old.staffa and string in odd.staffa, ...
    """
    names: list[str] = []
    distinct: list[pa.Schema] = []
    for path, schema in schemas:
        if schema not in distinct:
            names.append(path)
            distinct.append(schema)
    if len(distinct) == 1:
        return distinct[0]
    found = _staffa.unify(distinct)
    if isinstance(found, _staffa.Batch):
        return found.to_pyarrow().schema
    column, *files = found
    old, new = (f"{distinct[file].field(column).type} in {names[file]}" for file in files)
    raise InvalidArgumentError(f"column {column!r} is {old} and {new}, which have no type in common; {advice}")
