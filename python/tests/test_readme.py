"""The Python examples of the READMEs and of the documentation run as they stand, one after the other.

Blocks of `python` are executed. Blocks of `pycon` are sessions, of which the output is compared as well, errors too.
What the chooser makes of a column may change with every release: in output of `explain` and `why`, and in sizes,
figures are not compared.
"""

from __future__ import annotations

import doctest
import functools
import importlib
import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "python/README.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"^```(python|pycon)\n(.*?)^```", re.DOTALL | re.MULTILINE)
WITH_EXAMPLES = [page for page in PAGES if BLOCK.search(ROOT.joinpath(page).read_text())]
# Examples whose output has such figures.
MEASURED = re.compile(r"explain|why\(|nbytes|file_bytes|write_table\(|verify\(\)")


@functools.cache
def missing(example: str) -> str | None:
    """What an example needs that is not here."""
    if "torch" in example and importlib.util.find_spec("torch") is None:
        return "torch"
    if re.search(r"staffa\.(sql|duckdb)\b", example):
        if importlib.util.find_spec("staffa.duckdb") is None:
            return "staffa.duckdb"
        extension, duckdb = importlib.import_module("staffa.duckdb"), importlib.import_module("duckdb")
        if duckdb.__version__ != extension.RELEASE:
            return "the extension for this DuckDB"
    return None


class Checker(doctest.OutputChecker):
    """Compares figures only where they are not a matter of the chooser."""

    loose = False

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if super().check_output(want, got, optionflags):
            return True
        blurred = [re.sub(r"[\d.,]+( [kM]?B\b)?", "#", text) for text in (want, got)]
        return self.loose and super().check_output(*blurred, optionflags)


def session(text: str, names: dict[str, object], page: str) -> None:
    """Runs a session, and leaves its names."""
    checker = Checker()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    # A blank line ends an output unless more of it follows.
    text = re.sub(r"\n(?=\n(?!>>>|\n|$))", "\n<BLANKLINE>", text)
    test = doctest.DocTestParser().get_doctest(text, names, page, page, 0)
    whole = test.examples
    for example in whole:
        checker.loose = MEASURED.search(example.source) is not None
        test.examples = [example]
        output: list[str] = []
        runner = doctest.DocTestRunner(checker, verbose=False, optionflags=flags)
        runner.run(test, out=output.append, clear_globs=False)
        assert not runner.failures, f"{page}:\n{''.join(output)}"
    names.update(test.globs)


@pytest.mark.parametrize("page", WITH_EXAMPLES)
def test_the_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("testdata").symlink_to(ROOT / "testdata")
    names: dict[str, object] = {"__name__": "example"}
    ran = 0
    lacking = set()
    for language, example in BLOCK.findall(ROOT.joinpath(page).read_text()):
        if needs := missing(example):
            lacking.add(needs)
            continue
        if language == "pycon":
            session(example, names, page)
        else:
            exec(compile(example, page, "exec"), names)
        ran += 1
    for command in re.findall(r"^\$ (staffa sql .*)$", ROOT.joinpath(page).read_text(), re.MULTILINE):
        if not missing("staffa.sql"):
            subprocess.run([sys.executable, "-m", *shlex.split(command)], check=True, stdout=subprocess.DEVNULL)
    if not ran:
        pytest.skip(f"needs {', '.join(lacking)}")


@pytest.mark.parametrize("page", ["README.md", "python/README.md", "docs/tour.md"])
def test_there_are_examples(page: str) -> None:
    assert page in WITH_EXAMPLES


def test_the_commands_of_the_documentation_are_there() -> None:
    """Those that take too long to run."""
    targets = set(re.findall(r"^([a-z-]+):", ROOT.joinpath("Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        text = ROOT.joinpath(page).read_text()
        for block in re.findall(r"^```(?:console|sh)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            for target in re.findall(r"^(?:\$ )?make ([a-z-]+)", block, re.MULTILINE):
                assert target in targets, f"{page}: make {target}"
        for name in re.findall(r"bench/experiments\.py ([a-z]+)", text):
            assert ROOT.joinpath(f"bench/reports/{name}.py").exists(), f"{page}: bench/experiments.py {name}"
        for script in re.findall(r"python (bench/[a-z_]+\.py)", text):
            assert ROOT.joinpath(script).exists(), f"{page}: {script}"


def test_pages_have_the_figures_that_were_recorded() -> None:
    figures = json.loads(ROOT.joinpath("bench/results/tables.json").read_text())
    parquet, own = figures["parquet"], figures["staffa"]
    size, scan, write = ({name: own[name][key] for name in own} for key in ("size", "scan", "write"))
    rounded = f"{size['balanced']:.2f} of the size of Parquet with Zstandard"
    wanted = {
        "README.md": [
            rounded,
            f"at {scan['balanced']} times its speed",
            f"({write['balanced']} MB/s beside {parquet['write']}",
            f"`small` writes at {write['small']} MB/s",
        ],
        "docs/index.md": [rounded],
        "docs/performance.md": [
            f"| 1x | {parquet['write']} |",
            f"| **{size['balanced']}** | **{scan['balanced']}x faster** | {write['balanced']} |",
            f"| `fast` | {size['fast']} |",
            f"| `small` | {size['small']} |",
        ],
        "docs/profiles.md": [f"| {size[name]} | {write[name]} |" for name in own],
    }
    for page, texts in wanted.items():
        words = " ".join(ROOT.joinpath(page).read_text().split())
        for text in texts:
            assert text in words, f"{page}: {text}"
