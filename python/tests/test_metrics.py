"""Scans that use the cache, and what they count."""

import pickle
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import staffa


@pytest.fixture
def table() -> pa.Table:
    random = Random(7)
    numbers = [random.getrandbits(20) for _ in range(100_000)]
    return pa.table({"n": numbers, "name": [f"name {number % 5000}" for number in numbers]})


def scans(file: staffa.File, rows: staffa.Dataset) -> list[Any]:
    """Ways to scan, each a function of its options."""
    return [
        lambda **options: file.to_table(**options),
        lambda **options: file.scan(batch_rows=1000, **options).read_all(),
        lambda **options: rows.to_table(**options),
        lambda **options: pa.Table.from_batches(rows.to_batches(**options)),
        lambda **options: rows.scanner(**options).to_reader().read_all(),
    ]


@pytest.mark.parametrize("cached", [True, "encoded", "decoded"])
def test_a_cached_scan_reads_nothing_again(path: Path, table: pa.Table, cached: Any) -> None:
    staffa.write_table(table, path)
    for number in range(5):
        file, rows = staffa.open(path), staffa.dataset(path)
        scan = scans(file, rows)[number]
        first, second, third = (staffa.ScanMetrics() for _ in range(3))
        for metrics in (first, second):
            assert scan(cached=cached, metrics=metrics) == table
        assert scan(metrics=third) == table
        assert min(first.bytes_read, third.bytes_read) > 100_000
        assert (second.bytes_read, second.requests, second.cache_hits) == (0, 0, second.blocks)
        assert third.cache_hits == 0
        assert first.requests > 0
        assert first.decode_seconds > 0
        assert first.read_seconds > 0
        assert f"{second.blocks} of {second.blocks} blocks cached" in repr(second)


def test_blocks_are_kept_as_the_scan_says(path: Path, table: pa.Table) -> None:
    staffa.write_table(table, path)

    def held(cached: Any, **options: Any) -> int:
        before = staffa.cache_info().nbytes
        file = staffa.open(path, **options)
        file.to_table(cached=cached)
        return staffa.cache_info().nbytes - before

    encoded, decoded = held("encoded"), held("decoded")
    assert decoded > 1.5 * encoded > 0
    assert held(True) == held("encoded", cache_decoded=True) == encoded
    assert held(True, cache_decoded=True) == decoded
    assert held(False) == 0


def test_filters_count_and_use_the_cache(path: Path, table: pa.Table) -> None:
    staffa.write_table(table, path)
    file, rows = staffa.open(path), staffa.dataset(path)
    expected = table.filter(pc.field("n") < 1000)
    # One that the library evaluates, and one that pyarrow does.
    for condition in (pc.field("n") < 1000, pc.field("n") + 1 < 1001):
        for source in (file, rows):
            metrics = staffa.ScanMetrics()
            for _ in range(2):
                assert source.to_table(filter=condition, cached=True, metrics=metrics) == expected
            assert 0 < metrics.cache_hits <= metrics.blocks
    metrics = staffa.ScanMetrics()
    assert rows.count_rows(pc.field("n") < 1000, metrics=metrics) == expected.num_rows
    assert metrics.blocks > 0


def test_options_are_checked(path: Path, table: pa.Table) -> None:
    staffa.write_table(table, path)
    for source in (staffa.open(path), staffa.dataset(path)):
        with pytest.raises(staffa.InvalidArgumentError, match="cached must be True, False, 'encoded' or 'decoded'"):
            source.to_table(cached="yes")
        with pytest.raises(staffa.InvalidArgumentError, match=r"metrics must be a staffa\.ScanMetrics, found dict"):
            source.to_table(metrics={})
    scanner = staffa.dataset(path).scanner(cached=True, metrics=staffa.ScanMetrics())
    assert pickle.loads(pickle.dumps(scanner)).to_table() == table
