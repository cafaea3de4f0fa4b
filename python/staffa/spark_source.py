"""Spark's Python data source, for sessions that can load no jar: `pip install pyspark`, version 4.1 or later.

>>> spark.dataSource.register(staffa.spark_source.StaffaDataSource)  # doctest: +SKIP
>>> spark.read.format("staffa").load("sales").where("year = 2024").show()  # doctest: +SKIP
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from staffa._arguments import check_known
from staffa._dataset import Dataset, dataset
from staffa._extras import require
from staffa._spark_types import as_expression, spark_schema
from staffa._splits import Split, grouped
from staffa._staged import Existing, StagedFiles, StagedWrite
from staffa._unify import unify
from staffa.errors import InvalidArgumentError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

require("pyspark", "spark")
api = require("pyspark.sql.datasource", "spark")
_DataSource: Any = api.DataSource
_DataSourceReader: Any = api.DataSourceReader
_DataSourceWriter: Any = api.DataSourceArrowWriter
_Message: Any = api.WriterCommitMessage

__all__ = ["StaffaDataSource"]

#: Small row groups are read by one task, together up to so many bytes.
_TASK_BYTES = 16 << 20
#: Options that stores read from the environment, such as `aws_endpoint_url`.
_STORES = ("aws_", "azure_", "google_")
_WRITE_OPTIONS = ("profile", "access", "row_group_rows", "rows_per_file")


class StaffaDataSource(_DataSource):  # type: ignore[misc]
    """Reads and writes tables of Staffa files: `format("staffa")`.

    Each row group is a partition, small ones together; those that the pushed filters exclude by keys in folders' names
    or by statistics are none. Filters are pushed where the session has `spark.sql.python.filterPushdown.enabled`,
    which they need.

    | option for reading | |
    |---|---|
    | `path` | what `load` is given: a path, a folder, a pattern, a URL |
    | `columns` | names with commas between; Spark's Python sources are not told which columns a query needs |
    | `pushFilters` | `false`: Spark filters alone; for sessions without the setting |
    | `ignoreCorruptFiles` | `true`: files that do not open are left out, as `on_damaged="skip"` of `staffa.dataset` |
    | `aws_endpoint_url`, other `aws_...`, `google_...`, `azure_...` | settings of stores, before the environment's |

    | option for writing | |
    |---|---|
    | `path` | what `save` is given: a folder, or the URL of one |
    | `partitionBy` | names with commas between: columns that go into the names of folders |
    | `profile`, `access`, `row_group_rows`, `rows_per_file` | as of `staffa.write_dataset` |

    `mode("append")` leaves files that are there, `mode("overwrite")` removes them once the new ones are visible. No new
    file is visible before all tasks are done, nor after a job that failed.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))
        self._given = {name.lower(): value for name, value in options.items()}

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "staffa"

    def schema(self) -> StructType:
        """The columns of all files, or those of the option `columns`, in Spark's types."""
        from pyspark.sql.pandas.types import from_arrow_schema

        found = self._dataset().schema
        return from_arrow_schema(spark_schema(pa.schema([found.field(name) for name in self._columns(found)])))

    def reader(self, schema: StructType) -> _Reader:
        """A reader of the columns of `schema`, which the user may have given."""
        pushes = self._given.get("pushfilters", "true").lower() != "false"
        return (_FilteringReader if pushes else _Reader)(self, _arrow_schema(schema))

    def writer(self, schema: StructType, overwrite: bool) -> _Writer:
        """A writer of rows with these columns."""
        options: dict[str, Any] = {name: self._given[name] for name in _WRITE_OPTIONS if name in self._given}
        for name in ("row_group_rows", "rows_per_file"):
            if name in options:
                options[name] = int(options[name])
        keys = _names(self._given.get("partitionby", ""))
        with self.environment():
            existing: Existing = "overwrite" if overwrite else "append"
            write = StagedWrite(
                self._paths()[0], _arrow_schema(schema), partition_by=keys, existing=existing, **options
            )
            return _Writer(self, write)

    def planned(self, schema: pa.Schema, filter: pc.Expression | None) -> list[Split]:
        """The splits of the columns of `schema`."""
        found = self._dataset()
        for field in schema:
            _check_fits(field, found.schema)
        with self.environment():
            return found.replace_schema(schema).splits(filter=filter)

    @contextlib.contextmanager
    def environment(self) -> Iterator[None]:
        """The settings of stores among the options, as the environment in which files are opened."""
        settings = {name.upper(): value for name, value in self._given.items() if name.startswith(_STORES)}
        before = {name: os.environ.get(name) for name in settings}
        os.environ.update(settings)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})

    def _dataset(self) -> Dataset:
        skip = self._given.get("ignorecorruptfiles", "false").lower() == "true"
        with self.environment():
            return dataset(self._paths(), on_damaged="skip" if skip else "error")

    def _columns(self, schema: pa.Schema) -> list[str]:
        wanted = _names(self._given.get("columns", "")) or schema.names
        check_known(wanted, schema.names)
        return wanted

    def _paths(self) -> list[str]:
        if "path" in self._given:
            return [_without_file_scheme(self._given["path"])]
        if "paths" in self._given:
            return [_without_file_scheme(path) for path in json.loads(self._given["paths"])]
        raise InvalidArgumentError('no path: use load("folder") or save("folder")')


class _Reader(_DataSourceReader):  # type: ignore[misc]
    """A reader of some columns. Spark pickles it to each task."""

    def __init__(self, source: StaffaDataSource, schema: pa.Schema) -> None:
        self._source = source
        self._schema = schema
        self._filter: pc.Expression | None = None

    def partitions(self) -> list[Any]:
        """Splits, the small ones together."""
        splits = self._source.planned(self._schema, self._filter)
        return [api.InputPartition(group) for group in grouped(splits, _TASK_BYTES)]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The rows of a partition; without partitions Spark asks once for None."""
        for split in partition.value or ():
            with self._source.environment():
                batches = split.read()
            yield from batches


class _FilteringReader(_Reader):
    """A reader that takes filters. Spark does not apply those again that are not given back."""

    def pushFilters(self, filters: list[Any]) -> Iterator[Any]:  # noqa: N802
        """Takes the filters that pyarrow evaluates as Spark does; returns the others."""
        for filter in filters:
            expression = as_expression(filter, self._schema)
            if expression is None:
                yield filter
            else:
                self._filter = expression if self._filter is None else self._filter & expression


class _Written(_Message):  # type: ignore[misc]
    """What a task wrote."""

    def __init__(self, files: StagedFiles) -> None:
        self.files = files


class _Writer(_DataSourceWriter):  # type: ignore[misc]
    """A writer, which Spark pickles to each task and back to the driver."""

    def __init__(self, source: StaffaDataSource, write: StagedWrite) -> None:
        self._source = source
        self._write = write

    def write(self, iterator: Iterator[pa.RecordBatch]) -> _Written:
        """Writes the rows of a task."""
        with self._source.environment():
            return _Written(self._write.write(iterator))

    def commit(self, messages: list[Any]) -> None:
        """Makes the files of all tasks visible."""
        with self._source.environment():
            self._write.commit(message.files for message in messages if message is not None)

    def abort(self, messages: list[Any]) -> None:
        """Removes the files of all tasks."""
        with self._source.environment():
            self._write.abort()


def _arrow_schema(schema: StructType) -> pa.Schema:
    """The columns as Spark hands them over and takes them."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")


def _check_fits(wanted: pa.Field, found: pa.Schema) -> None:
    """Refuses a column of a given schema that no file has, or whose values may not fit."""
    if wanted.name not in found.names:
        raise InvalidArgumentError(
            f"column {wanted.name!r} of the schema is in no file; there are {', '.join(map(repr, found.names[:20]))}"
        )
    own = spark_schema(pa.schema([found.field(wanted.name)])).field(0)
    if own.type == wanted.type:
        return
    try:
        fits = (
            unify([("the files", pa.schema([own])), ("the schema", pa.schema([wanted]))]).field(0).type == wanted.type
        )
    except InvalidArgumentError:
        fits = False
    if not fits:
        raise InvalidArgumentError(
            f"column {wanted.name!r} is {own.type} in the files and cannot be read as {wanted.type}, as the schema says"
        )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _without_file_scheme(path: str) -> str:
    """Spark writes `file:/folder` where others write `file:///folder`."""
    return path.removeprefix("file:") if path.startswith("file:/") and not path.startswith("file://") else path
