"""What scans count, and how they use the cache of opened blocks."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from staffa import _staffa
from staffa.errors import InvalidArgumentError


class ScanMetrics:
    """Counters of the scans that get them as `metrics=`: of one, or of all that one query makes.

    >>> staffa.write_table(pa.table({"x": range(100_000)}), "x.staffa").rows
    100000
    >>> file = staffa.open("x.staffa")
    >>> metrics = staffa.ScanMetrics()
    >>> for _ in range(2):
    ...     _ = file.to_table(cached=True, metrics=metrics)
    >>> metrics.blocks, metrics.cache_hits
    (4, 2)
    """

    def __init__(self) -> None:
        self._metrics = _staffa.ScanMetrics()

    @property
    def bytes_read(self) -> int:
        """Bytes of blocks and dictionaries read from the disk, from memory or from an object store; those of its disk
        cache too (`disk_cache_info`). Bytes read by opening the file do not count.
        """
        return self._metrics.counts()[0]

    @property
    def requests(self) -> int:
        """Reads of the disk or of memory, or ranges of an object."""
        return self._metrics.counts()[1]

    @property
    def read_seconds(self) -> float:
        """Time of these reads."""
        return self._metrics.counts()[2]

    @property
    def decode_seconds(self) -> float:
        """Time of everything else: checks, filters, decoding. Of several threads it is their sum, but for columns that
        they decode together, which count once.
        """
        return self._metrics.counts()[3]

    @property
    def blocks(self) -> int:
        """Blocks that were needed."""
        return self._metrics.counts()[4]

    @property
    def cache_hits(self) -> int:
        """Of these the ones found in the cache."""
        return self._metrics.counts()[5]

    def __repr__(self) -> str:
        counts = self._metrics.counts()
        return (
            f"<staffa.ScanMetrics: {counts[0]:,} bytes in {counts[1]:,} requests, {counts[2]:.3f} s reading, "
            f"{counts[3]:.3f} s decoding, {counts[5]:,} of {counts[4]:,} blocks cached>"
        )


#: Whether blocks are taken from the cache and kept there, and how.
Cached = bool | Literal["encoded", "decoded"]


class Reads(NamedTuple):
    """How a scan reads."""

    cached: bool = False
    #: Whether blocks are kept decoded; None: as the file was opened.
    decoded: bool | None = None
    metrics: _staffa.ScanMetrics | None = None

    @staticmethod
    def of(cached: Any, metrics: Any) -> Reads:
        """The arguments `cached` and `metrics`."""
        if cached is False and metrics is None:
            return _UNCACHED
        if metrics is not None and not isinstance(metrics, ScanMetrics):
            raise InvalidArgumentError(f"metrics must be a staffa.ScanMetrics, found {type(metrics).__name__}")
        counters = None if metrics is None else metrics._metrics
        if isinstance(cached, bool):
            return Reads(cached, None, counters)
        if cached not in ("encoded", "decoded"):
            raise InvalidArgumentError(f"cached must be True, False, 'encoded' or 'decoded', found {cached!r}")
        return Reads(True, cached == "decoded", counters)


_UNCACHED = Reads()
