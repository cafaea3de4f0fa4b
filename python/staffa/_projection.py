"""What is wanted of a dataset: which columns, or expressions of columns, of which rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from staffa._arguments import column_names
from staffa._evaluate import evaluate, needed, no_rows
from staffa._filter import Condition, check_expression
from staffa._fold import comparable, fold
from staffa._pushdown import Predicate
from staffa.errors import InvalidArgumentError


class Projection:
    """Columns and filter, bound to the schema of a dataset: what cannot work is refused before anything is read."""

    def __init__(self, schema: pa.Schema, columns: Any, filter: Any) -> None:
        self._full = schema
        self._expressions: dict[str, Any] | None = None
        if isinstance(columns, Mapping):
            self._expressions = dict(columns)
            for name, expression in self._expressions.items():
                check_expression(f"column {name!r}", expression)
            self._selected = needed(list(self._expressions.values()), schema.names)
        else:
            names = column_names(columns)
            self._selected = schema.names if names is None else names
        for name in self._selected:
            if name not in schema.names:
                raise InvalidArgumentError(
                    f"unknown column {name!r}; there are {', '.join(map(repr, schema.names[:20])) or 'none'}"
                )
        #: The columns that must be read where the library tests the whole filter.
        self.columns = list(dict.fromkeys(self._selected))
        self.filtered = filter is not None
        self._tested: list[str] = []
        self._pushed: dict[frozenset[str], tuple[Predicate | None, bool]] = {}
        if self.filtered:
            check_expression("filter", filter)
            self._tested = needed([filter], schema.names)
            self._condition = Condition(filter, self.part(self._tested), schema.names)
            if not self.pushed(set(self._tested))[1]:
                self._condition.check()
        #: The schema of what comes out.
        self.schema = self.part(self._selected)
        if self._expressions is not None:
            self.schema = self._evaluated(no_rows(self.part(self.columns))).schema

    @property
    def plain(self) -> bool:
        """Whether columns come out as they are read."""
        return self._expressions is None

    @property
    def all_columns(self) -> list[str]:
        """The columns that must be read where pyarrow tests the filter."""
        return list(dict.fromkeys([*self._selected, *self._tested]))

    def part(self, names: list[str]) -> pa.Schema:
        """The schema of some columns."""
        return pa.schema([self._full.field(name) for name in names], self._full.metadata)

    def pushed(self, columns: set[str]) -> tuple[Predicate | None, bool]:
        """What the library can test of the filter in these columns, and whether that is all of it."""
        if not self.filtered:
            return None, True
        key = frozenset(columns.intersection(self._tested))
        if key not in self._pushed:
            self._pushed[key] = self._condition.pushed(set(key))
        return self._pushed[key]

    def constants(self, keys: Mapping[str, pa.Scalar]) -> dict[str, pa.Scalar]:
        """What folders tell, in the types of the dataset."""
        return {name: _as(key, self._full.field(name)) for name, key in keys.items() if name in self._full.names}

    def excludes(self, keys: Mapping[str, pa.Scalar]) -> bool:
        """Whether no row can be kept where folders tell this."""
        if not self.filtered:
            return False
        constants = self.constants({name: keys[name] for name in self._tested if name in keys})
        predicate, _ = self.pushed({name for name, constant in constants.items() if comparable(constant)})
        return predicate is not None and fold(predicate, constants) is False

    def finish(self, batch: pa.RecordBatch, tested: bool) -> pa.RecordBatch:
        """What is wanted of a batch of `columns`, or, if the filter has not been tested yet, of `all_columns`."""
        if not tested:
            keep = self._condition.holds(batch.select(self._tested))
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
