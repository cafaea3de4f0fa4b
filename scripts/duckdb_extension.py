"""Appends the footer of a DuckDB extension to the library: python scripts/duckdb_extension.py LIBRARY OUT.

DuckDB reads the last 512 bytes of an extension: eight fields of 32 bytes, the last one first, and space to sign it.
The fields name the DuckDB release and the platform that the library was built for.

>>> len(footer("v2.0.0", "linux_amd64", "0.1.0"))
534
"""

import platform
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
PLATFORMS = {
    ("Linux", "x86_64"): "linux_amd64",
    ("Linux", "aarch64"): "linux_arm64",
    ("Darwin", "x86_64"): "osx_amd64",
    ("Darwin", "arm64"): "osx_arm64",
    ("Windows", "AMD64"): "windows_amd64",
}
# A section of WebAssembly, as DuckDB expects it on all platforms: its lengths, its name.
SECTION = bytes([0, 147, 4, 16]) + b"duckdb_signature" + bytes([128, 4])


def release() -> str:
    """The DuckDB release of the crate: `=0.20000.1` is 2.0.0."""
    manifest = (HERE / "crates/staffa-duckdb/Cargo.toml").read_text()
    number = int(re.search(r'duckdb-neo = \{ version = "=0\.(\d+)\.', manifest)[1])
    return f"v{number // 10000}.{number // 100 % 100}.{number % 100}"


def version() -> str:
    """The version of the workspace."""
    return re.search(r'^version = "(.+)"', (HERE / "Cargo.toml").read_text(), re.MULTILINE)[1]


def footer(duckdb: str, system: str, extension: str) -> bytes:
    """The footer that DuckDB checks before it loads the library."""
    fields = ["", "", "", "C_STRUCT_UNSTABLE", extension, duckdb, system, "4"]
    return SECTION + b"".join(field.encode().ljust(32, b"\0") for field in fields) + bytes(256)


def main(library: str, out: str) -> None:
    system = PLATFORMS.get((platform.system(), platform.machine()))
    if system is None:
        sys.exit(f"no DuckDB platform for {platform.system()} on {platform.machine()}")
    temporary = Path(f"{out}.part")
    temporary.write_bytes(Path(library).read_bytes() + footer(release(), system, version()))
    # Replaced in one step: a process may have loaded the old file.
    temporary.replace(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
