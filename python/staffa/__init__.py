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

from staffa._explain import Explain, Why
from staffa._file import File, Reader, open, read_table
from staffa._sql import sql
from staffa._staffa import __version__
from staffa._write import Encoding, WriteSummary, encodings, write_table
from staffa.errors import (
    CorruptError,
    InvalidArgumentError,
    LimitError,
    StaffaError,
    TruncatedError,
    UnsupportedError,
)

__all__ = [
    "CorruptError",
    "Encoding",
    "Explain",
    "File",
    "InvalidArgumentError",
    "LimitError",
    "Reader",
    "StaffaError",
    "TruncatedError",
    "UnsupportedError",
    "Why",
    "WriteSummary",
    "__version__",
    "encodings",
    "open",
    "read_table",
    "sql",
    "write_table",
]
