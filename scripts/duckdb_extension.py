"""Appends the footer of a DuckDB extension to the library: python scripts/duckdb_extension.py LIBRARY OUT [TARGET].

TARGET is Rust's name of the platform, as in `aarch64-unknown-linux-gnu`; without it, the library is for this machine.

DuckDB reads the last 512 bytes of an extension: eight fields of 32 bytes, the last one first, and space to sign it.
The fields name the DuckDB release and the platform that the library was built for.

>>> len(footer("v2.0.0", "linux_amd64", "0.1.0"))
534
>>> platform_of("aarch64-unknown-linux-gnu"), platform_of("x86_64-apple-darwin")
('linux_arm64', 'osx_amd64')
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


def platform_of(target: str | None) -> str:
    """DuckDB's name of a platform: of Rust's name, or of this machine."""
    key = (platform.system(), platform.machine())
    if target:
        machine, _, system = target.partition("-")
        systems = {"linux": "Linux", "darwin": "Darwin", "windows": "Windows"}
        key = (next((name for part, name in systems.items() if part in system), system), machine)
        # What Rust calls aarch64 and x86_64, other systems call otherwise.
        names = {("Darwin", "aarch64"): "arm64", ("Windows", "x86_64"): "AMD64"}
        key = (key[0], names.get(key, machine))
    if key not in PLATFORMS:
        sys.exit(f"no DuckDB platform for {key[0]} on {key[1]}")
    return PLATFORMS[key]


def main(library: str, out: str, target: str | None = None) -> None:
    system = platform_of(target)
    temporary = Path(f"{out}.part")
    temporary.write_bytes(Path(library).read_bytes() + footer(release(), system, version()))
    # Replaced in one step: a process may have loaded the old file.
    temporary.replace(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
