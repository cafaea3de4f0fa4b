"""The modules of the package stand in an order: each imports only modules before it, also for type checkers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import staffa

PACKAGE = Path(staffa.__file__).parent
# From the ground up.
ORDER = [
    *["errors", "_staffa"],
    *[
        "_arguments",
        "_cache",
        "_disk_cache",
        "_evaluate",
        "_extras",
        "_input",
        "_lookalike",
        "_memory",
        "_metrics",
        "_sort_key",
        "_options",
        "_pushdown",
        "_text",
        "_unify",
    ],
    *["_filters", "_source"],
    *["_discover", "_filter", "_html", "_partial_eval", "_polars_predicate", "_tensors", "_writer"],
    *["_explain", "_projection", "_reader", "_write", "_write_dataset"],
    *["_fragment", "_reports"],
    *["_file", "_scanner", "_splits", "_staged"],
    *["_dataset"],
    *["_open", "_daft_filter", "_spark_types"],
    *["daft", "dask", "duckdb", "ray", "spark_source", "torch", "_pandas", "_polars"],
    *["_sql"],
    *["__init__"],
    *["_sql_program"],
    *["__main__"],
]


def test_modules_import_only_modules_before_them() -> None:
    names = {path.stem for path in PACKAGE.glob("*.py")}
    assert names | {"_staffa"} == set(ORDER)
    arrows = {(name, used) for name in names for used in imported(name)}
    assert len(arrows) > 50
    for name, used in sorted(arrows):
        assert ORDER.index(used) < ORDER.index(name), f"{name} imports {used}, which stands after it"


def imported(name: str) -> Iterator[str]:
    """The modules of the package that a module imports anywhere."""
    for node in ast.walk(ast.parse((PACKAGE / f"{name}.py").read_text())):
        if isinstance(node, ast.Import):
            paths = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "staffa":
            modules = [alias.name for alias in node.names]
            paths = [f"staffa.{module}" if module in ORDER else "staffa" for module in modules]
        elif isinstance(node, ast.ImportFrom):
            paths = [node.module or ""]
        else:
            continue
        for path in paths:
            package, _, module = path.partition(".")
            if package == "staffa":
                yield module or "__init__"
