"""The Python examples of the READMEs run as they stand, one after the other."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("readme", ["README.md", "python/README.md"])
def test_the_examples_run(readme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = re.findall(r"```python\n(.*?)```", ROOT.joinpath(readme).read_text(), re.DOTALL)
    assert examples
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in examples:
        if "import torch" in example and importlib.util.find_spec("torch") is None:
            continue
        exec(compile(example, readme, "exec"), names)
    assert any(tmp_path.glob("*.staffa"))
