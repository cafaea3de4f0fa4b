"""One schema for several files."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from staffa.errors import InvalidArgumentError


def unify(schemas: Iterable[tuple[str, pa.Schema]]) -> pa.Schema:
    """The union of the schemas, in the order of the first; each schema comes with the path of its file.

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
    merged: dict[str, tuple[pa.Field, str]] = {}
    metadata = None
    seen: list[pa.Schema] = []
    for path, schema in schemas:
        if schema in seen:
            continue
        for field in schema:
            if field.name in merged:
                merged[field.name] = _merge(*merged[field.name], field, path)
            else:
                merged[field.name] = (field.with_nullable(True) if seen else field), path
        for name in merged.keys() - set(schema.names):
            merged[name] = merged[name][0].with_nullable(True), merged[name][1]
        metadata = metadata if seen else schema.metadata
        seen.append(schema)
    return pa.schema([field for field, _ in merged.values()], metadata)


def _merge(old: pa.Field, old_path: str, new: pa.Field, new_path: str) -> tuple[pa.Field, str]:
    nullable = old.nullable or new.nullable
    if old.type == new.type:
        return old.with_nullable(nullable), old_path
    try:
        data_type = _common(_decoded(old.type), _decoded(new.type))
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidArgumentError(
            f"column {old.name!r} is {old.type} in {old_path} and {new.type} in {new_path}, which have no type in "
            "common; read the files apart, or say with schema= what it shall be"
        ) from error
    path = old_path if data_type == old.type else new_path
    return old.with_type(data_type).with_nullable(nullable), path


def _common(old: pa.DataType, new: pa.DataType) -> pa.DataType:
    if all(is_kind(old) or is_kind(new) for is_kind in (pa.types.is_decimal, pa.types.is_floating)):
        raise pa.ArrowTypeError("a decimal is not converted to a float")
    fields = [pa.schema([pa.field("", data_type)]) for data_type in (old, new)]
    return pa.unify_schemas(fields, promote_options="permissive").field(0).type


def _decoded(data_type: pa.DataType) -> pa.DataType:
    return data_type.value_type if pa.types.is_dictionary(data_type) else data_type
