"""Every doctest runs in a folder of its own, with the names that its examples use."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest

# PyTorch is large: its examples and tests run where it is installed.
collect_ignore = [] if importlib.util.find_spec("torch") else ["staffa/torch.py", "staffa/_tensors.py"]


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
