"""The source of `staffa.spark_source` over pyarrow and Parquet, to measure both: tasks by row group, filters pushed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from staffa._spark_types import as_expression


class ParquetDataSource(DataSource):
    """One Parquet file; the option `columns` as of Staffa's source."""

    @classmethod
    def name(cls) -> str:
        """Apart from Spark's own."""
        return "parquet_by_pyarrow"

    def schema(self) -> Any:
        """The columns of the file, or those of the option."""
        found = pq.read_schema(self.options["path"].removeprefix("file:"))
        names = self.options.get("columns")
        return from_arrow_schema(pa.schema([found.field(name) for name in names.split(",")]) if names else found)

    def reader(self, schema: Any) -> DataSourceReader:
        """Of these columns."""
        return _Reader(self.options["path"].removeprefix("file:"), to_arrow_schema(schema, timezone="UTC"))


class _Reader(DataSourceReader):
    def __init__(self, path: str, schema: pa.Schema) -> None:
        self.path, self.schema, self.filter = path, schema, None

    def pushFilters(self, filters: list[Any]) -> Iterator[Any]:  # noqa: N802
        for each in filters:
            expression = as_expression(each, self.schema)
            if expression is None:
                yield each
            else:
                self.filter = expression if self.filter is None else self.filter & expression

    def partitions(self) -> list[InputPartition]:
        (fragment,) = ds.dataset(self.path).get_fragments()
        return [InputPartition(group.row_groups[0].id) for group in fragment.split_by_row_group(self.filter)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if partition.value is None:
            return
        (fragment,) = ds.dataset(self.path).get_fragments()
        rows = fragment.subset(row_group_ids=[partition.value])
        # As many threads as Staffa's splits have.
        for batch in rows.to_batches(columns=self.schema.names, filter=self.filter, use_threads=False):
            yield batch.cast(self.schema)
