"""Every doctest runs in a folder of its own, with the names that its examples use."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest

# These libraries are large: their examples and tests run where they are installed.
_LARGE = {
    "daft": ["daft.py"],
    "dask": ["dask.py"],
    "pyspark": ["spark_source.py"],
    "ray": ["ray.py"],
    "torch": ["torch.py", "_tensors.py"],
}
collect_ignore = [
    f"staffa/{file}" for library in _LARGE if not importlib.util.find_spec(library) for file in _LARGE[library]
]


@pytest.fixture(autouse=True)
def own_folder(
    request: pytest.FixtureRequest,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    doctest_namespace: dict[str, object],
) -> None:
    """Doctests write into the current folder."""
    if isinstance(request.node, pytest.DoctestItem):
        import duckdb
        import pandas
        import polars
        import pyarrow
        import pyarrow.compute

        import staffa

        monkeypatch.chdir(tmp_path)
        doctest_namespace.update(
            duckdb=duckdb,
            pa=pyarrow,
            pathlib=pathlib,
            pc=pyarrow.compute,
            pd=pandas,
            pl=polars,
            staffa=staffa,
        )
