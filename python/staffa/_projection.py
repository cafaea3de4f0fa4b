"""The projection and filter of a dataset scan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from staffa._arguments import check_known, column_names
from staffa._evaluate import evaluate, needed, no_rows
from staffa._filter import Condition, check_expression
from staffa._filters import as_expression
from staffa._partial_eval import comparable, partial_eval
from staffa._pushdown import Predicate
from staffa.errors import InvalidArgumentError


class Projection:
    """Columns or expressions, and a filter, bound to the schema of a dataset. Errors are raised before any read."""

    def __init__(self, schema: pa.Schema, columns: Any, filter: Any) -> None:
        self._full = schema
        self._known = set(schema.names)
        self._expressions: dict[str, Any] | None = None
        if isinstance(columns, Mapping):
            self._expressions = dict(columns)
            for name, expression in self._expressions.items():
                check_expression(f"column {name!r}", expression)
            self._selected = needed(list(self._expressions.values()), schema.names)
        else:
            names = column_names(columns)
            self._selected = schema.names if names is None else names
        check_known(self._selected, schema.names)
        #: The columns to read if the library evaluates the whole filter.
        self.columns = list(dict.fromkeys(self._selected))
        self.filtered = filter is not None
        self._filter_columns: list[str] = []
        self._pushed: dict[frozenset[str], tuple[Predicate | None, bool]] = {}
        if self.filtered:
            filter = as_expression(filter, schema)
            check_expression("filter", filter)
            self._filter_columns = needed([filter], schema.names)
            self._condition = Condition(filter, self.part(self._filter_columns), schema.names)
            if not self.pushed(set(self._filter_columns))[1]:
                self._condition.check()
        #: The schema of the result.
        self.schema = self.part(self._selected)
        if self._expressions is not None:
            self.schema = self._evaluated(no_rows(self.part(self.columns))).schema

    @property
    def columns_only(self) -> bool:
        """Whether the result has columns only, no expressions."""
        return self._expressions is None

    @property
    def all_columns(self) -> list[str]:
        """The columns to read if pyarrow evaluates the filter."""
        return list(dict.fromkeys([*self._selected, *self._filter_columns]))

    @property
    def bound(self) -> pa.Schema:
        """The schema of `all_columns` in the order of the dataset: filters may name columns by position."""
        wanted = set(self.all_columns)
        return self.part([name for name in self._full.names if name in wanted])

    def part(self, names: list[str]) -> pa.Schema:
        """The schema of some columns."""
        return pa.schema([self._full.field(name) for name in names], self._full.metadata)

    def pushed(self, columns: set[str]) -> tuple[Predicate | None, bool]:
        """The part of the filter that the library can evaluate on these columns, and whether that is all of it."""
        if not self.filtered:
            return None, True
        key = frozenset(columns.intersection(self._filter_columns))
        if key not in self._pushed:
            self._pushed[key] = self._condition.pushed(set(key))
        return self._pushed[key]

    def constants(self, keys: Mapping[str, pa.Scalar]) -> dict[str, pa.Scalar]:
        """The partition keys, in the types of the dataset."""
        return {name: _as(key, self._full.field(name)) for name, key in keys.items() if name in self._known}

    def excludes(self, keys: Mapping[str, pa.Scalar]) -> bool:
        """Whether no row of a file with these partition keys can match."""
        if not self.filtered:
            return False
        constants = self.constants({name: keys[name] for name in self._filter_columns if name in keys})
        predicate, _ = self.pushed({name for name, constant in constants.items() if comparable(constant)})
        return predicate is not None and partial_eval(predicate, constants) is False

    def finish(self, batch: pa.RecordBatch, filtered: bool) -> pa.RecordBatch:
        """The result for a batch of `columns`, or of `all_columns` if the filter is not applied yet."""
        if not filtered:
            keep = self._condition.holds(batch.select(self._filter_columns))
            batch = batch.select(self.columns).filter(keep)
        return batch.select(self._selected) if self._expressions is None else self._evaluated(batch)

    def _evaluated(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        assert self._expressions is not None
        if not self._expressions:
            return batch.select([])
        table = evaluate(self._expressions, batch, "columns", self._full.names)
        arrays = [pa.concat_arrays(c.chunks) if c.num_chunks else pa.array([], c.type) for c in table.columns]
        return pa.RecordBatch.from_arrays(arrays, schema=table.schema)


def _as(key: pa.Scalar, field: pa.Field) -> pa.Scalar:
    if key.type == field.type:
        return key
    try:
        return key.cast(field.type)
    except pa.ArrowException as error:
        raise InvalidArgumentError(f"partition column {field.name!r} cannot be {field.type}: {error}") from error
