"""Every doctest runs in a folder of its own, with the names that its examples use."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_folder(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    doctest_namespace: dict[str, object],
) -> None:
    """Doctests write into the current folder."""
    if isinstance(request.node, pytest.DoctestItem):
        import pyarrow
        import pyarrow.compute

        import staffa

        monkeypatch.chdir(tmp_path)
        doctest_namespace.update(pa=pyarrow, pc=pyarrow.compute, staffa=staffa)
