"""`import staffa` is quick and imports no optional library; a missing library has a clear error."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import time

import pytest

import staffa
from staffa._extras import require


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout


def test_nothing_is_imported_before_it_is_used() -> None:
    heavy = "pyarrow numpy pandas polars duckdb torch datafusion"
    assert run(f"import sys, staffa; print([m for m in {heavy.split()} if m in sys.modules])").strip() == "[]"
    of_files = "import sys, staffa; staffa.open; print([m for m in sys.modules if 'acero' in m or 'dataset' in m])"
    assert run(of_files).strip() == "[]"


def test_import_takes_less_than_150_ms() -> None:
    def seconds(program: str) -> float:
        start = time.perf_counter()
        run(program)
        return time.perf_counter() - start

    assert min(seconds("import staffa") for _ in range(5)) < 0.15


def test_all_names_are_there() -> None:
    of_module = {"daft": "daft", "dask": "dask", "ray": "ray", "spark_source": "pyspark", "torch": "torch"}
    for name in staffa.__all__:
        if name not in of_module or importlib.util.find_spec(of_module[name]):
            assert getattr(staffa, name) is not None
            assert name in dir(staffa)
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        staffa.nope  # noqa: B018


@pytest.mark.parametrize(
    ("library", "use"),
    [
        ("polars", "staffa.scan_polars('x.staffa')"),
        ("polars", "staffa.write_polars(None, 'x.staffa')"),
        ("pandas", "staffa.read_pandas('x.staffa')"),
        ("pandas", "staffa.write_pandas(None, 'x.staffa')"),
        ("torch", "staffa.torch.MapDataset('x.staffa')"),
        ("torch", "import staffa.torch"),
        ("ray", "staffa.ray.read('x.staffa')"),
        ("daft", "staffa.daft.read('x.staffa')"),
        ("dask", "staffa.dask.read('x.staffa')"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(library: str, use: str) -> None:
    program = f"""
import sys, staffa
sys.modules[{library!r}] = None
try:
    exec({use!r})
except staffa.MissingExtraError as error:
    print(isinstance(error, (ImportError, staffa.StaffaError)), error)
"""
    assert run(program).strip() == f"True {library} is not installed: install it, or the wheel with the extra {library}"


def test_what_a_library_lacks_itself_is_its_own_error(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    with open(f"{tmp_path}/broken_library.py", "w") as module:  # noqa: PTH123
        module.write("import no_such_module_at_all")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_at_all") as caught:
        require("broken_library", "polars")
    assert not isinstance(caught.value, staffa.MissingExtraError)
    assert re.search("no_such_module_at_all", str(caught.value))


@pytest.mark.parametrize("library", ["polars", "torch", "duckdb"])
def test_help_and_inspect_work_without_extras(library: str) -> None:
    program = f"""
import inspect, pydoc, sys, staffa
sys.modules[{library!r}] = None
print(hasattr(staffa, "torch"), "write_table" in pydoc.render_doc(staffa), "File" in dict(inspect.getmembers(staffa)))
inspect.getmembers(staffa.torch)
"""
    assert run(program).strip() == "True True True"


def test_names_that_are_shown_are_public() -> None:
    assert dir(staffa) == sorted(staffa.__all__)
    assert [name for name in dir(staffa) if name.startswith("_")] == ["__version__"]
