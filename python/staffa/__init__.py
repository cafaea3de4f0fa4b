"""Staffa: tables in small, checksummed blocks of lightweight encodings.

>>> import pyarrow as pa
>>> import pyarrow.compute as pc
>>> import staffa
>>> table = pa.table({"city": ["Oban", "Mull", "Oban"], "visitors": [120, 45, 98]})
>>> staffa.write_table(table, "visits.staffa").rows
3
>>> file = staffa.open("visits.staffa")
>>> file.to_table(columns=["visitors"], filter=pc.field("city") == "Oban").to_pydict()
{'visitors': [120, 98]}
>>> file.take([2, 0], columns=["city"]).to_pydict()
{'city': ['Oban', 'Oban']}
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from staffa import errors
from staffa._extras import MissingModule
from staffa.errors import (
    ChangedFileError,
    CorruptError,
    DamagedFileWarning,
    InternalError,
    InvalidArgumentError,
    LimitError,
    MissingExtraError,
    StaffaError,
    TruncatedError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from staffa import daft, dask, duckdb, ray, spark_source, torch
    from staffa._cache import CacheInfo, cache_info, set_cache_bytes
    from staffa._dataset import Dataset, dataset
    from staffa._disk_cache import DiskCacheInfo, disk_cache_info, set_disk_cache
    from staffa._explain import Explain, Why
    from staffa._file import File
    from staffa._memory import retained_memory, set_retained_memory
    from staffa._metrics import ScanMetrics
    from staffa._open import open, read_table
    from staffa._pandas import read_pandas, write_pandas
    from staffa._polars import scan_polars, write_polars
    from staffa._reader import Reader
    from staffa._reports import ChunkStatistics, LeafStatistics
    from staffa._sort_key import SortKey
    from staffa._splits import Split
    from staffa._sql import sql
    from staffa._staffa import __version__
    from staffa._write import Encoding, encodings, write_table
    from staffa._write_dataset import DatasetSummary, write_dataset
    from staffa._writer import Writer, WriteSummary

__all__ = [
    "CacheInfo",
    "ChangedFileError",
    "ChunkStatistics",
    "CorruptError",
    "DamagedFileWarning",
    "Dataset",
    "DatasetSummary",
    "DiskCacheInfo",
    "Encoding",
    "Explain",
    "File",
    "InternalError",
    "InvalidArgumentError",
    "LeafStatistics",
    "LimitError",
    "MissingExtraError",
    "Reader",
    "ScanMetrics",
    "SortKey",
    "Split",
    "StaffaError",
    "TruncatedError",
    "UnsupportedError",
    "Why",
    "WriteSummary",
    "Writer",
    "__version__",
    "cache_info",
    "daft",
    "dask",
    "dataset",
    "disk_cache_info",
    "duckdb",
    "encodings",
    "errors",
    "open",
    "ray",
    "read_pandas",
    "read_table",
    "retained_memory",
    "scan_polars",
    "set_cache_bytes",
    "set_disk_cache",
    "set_retained_memory",
    "spark_source",
    "sql",
    "torch",
    "write_dataset",
    "write_pandas",
    "write_polars",
    "write_table",
]

# The module of each name. Modules are imported on first use: pyarrow alone takes longer than all else here.
_MODULES = {
    "_cache": ["CacheInfo", "cache_info", "set_cache_bytes"],
    "_dataset": ["Dataset", "dataset"],
    "_disk_cache": ["DiskCacheInfo", "disk_cache_info", "set_disk_cache"],
    "_explain": ["Explain", "Why"],
    "_file": ["File"],
    "_memory": ["retained_memory", "set_retained_memory"],
    "_metrics": ["ScanMetrics"],
    "_open": ["open", "read_table"],
    "_pandas": ["read_pandas", "write_pandas"],
    "_polars": ["scan_polars", "write_polars"],
    "_reader": ["Reader"],
    "_reports": ["ChunkStatistics", "LeafStatistics"],
    "_sort_key": ["SortKey"],
    "_splits": ["Split"],
    "_sql": ["sql"],
    "_staffa": ["__version__"],
    "_write": ["Encoding", "encodings", "write_table"],
    "_write_dataset": ["DatasetSummary", "write_dataset"],
    "_writer": ["WriteSummary", "Writer"],
    "daft": [],
    "dask": [],
    "duckdb": [],
    "ray": [],
    "spark_source": [],
    "torch": [],
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        found = getattr(importlib.import_module(f"staffa.{_MODULE_OF[name]}"), name)
        globals()[name] = found
        return found
    if name in _MODULES:
        try:
            return importlib.import_module(f"staffa.{name}")
        except MissingExtraError as error:
            # `help` and `inspect` look at every name.
            return MissingModule(f"staffa.{name}", str(error))
    raise AttributeError(f"module 'staffa' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
