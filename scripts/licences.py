"""Checks that every crate comes from the registry or from this repository, under an allowed licence.

Reads `cargo metadata`; needs no network.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    # As free as BSD-3-Clause.
    "bzip2-1.0.6",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}

# Only generates the header in a test: nothing of it is part of what is built.
TOOLS = {"cbindgen": "MPL-2.0"}


def allowed(expression: str) -> bool:
    """Whether an SPDX expression can be met by allowed licences alone.

    >>> allowed("MIT OR GPL-3.0"), allowed("MIT AND GPL-3.0"), allowed("(MIT OR X) AND ISC"), allowed("MIT/Apache-2.0")
    (True, False, True, True)
    """
    tokens = re.findall(r"[()]|[^\s()]+(?: WITH [^\s()]+)?", expression.replace("/", " OR "))

    def any_of() -> bool:
        good = all_of()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            good = all_of() or good
        return good

    def all_of() -> bool:
        good = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            good = one() and good
        return good

    def one() -> bool:
        token = tokens.pop(0)
        if token == "(":
            good = any_of()
            tokens.pop(0)
            return good
        return token in ALLOWED

    return any_of()


def main() -> int:
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    packages = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["packages"]
    wrong = []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        source = package["source"]
        if source is not None and not source.startswith("registry+"):
            wrong.append(f"{name}: comes from {source}")
        licence = package["license"]
        is_tool = licence is not None and TOOLS.get(package["name"]) == licence
        if licence is None or not (is_tool or allowed(licence)):
            wrong.append(f"{name}: licence {licence}")
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"licences: {len(packages)} crates, {len(wrong)} not allowed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
