"""Makes a DuckDB extension of a library: python scripts/duckdb_extension.py [--beside] LIBRARY OUT [TARGET].

TARGET is Rust's name of the platform, as in `aarch64-unknown-linux-gnu`; without it, the library is for this machine.
OUT is a copy of the library with the footer of an extension. With `--beside`, OUT has no code: it makes the system's
loader load LIBRARY from its own folder, where DuckDB then finds the entry point. So the Python package has the code
once. $CC compiles it (by default cc).

DuckDB reads the last 512 bytes of an extension: eight fields of 32 bytes, the last one first, and space to sign it.
The fields name the DuckDB release and the platform that the library was built for.

>>> len(footer("v2.0.0", "linux_amd64", "0.1.0"))
534
>>> platform_of("aarch64-unknown-linux-gnu"), platform_of("x86_64-apple-darwin")
('linux_arm64', 'osx_amd64')
"""

import os
import platform
import re
import subprocess
import sys
import tempfile
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


def loader_of(library: str, system: str) -> bytes:
    """A library without code that loads another one from the folder that it is in."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        empty, stub, out = folder / "empty.c", folder / library, folder / "loader"
        empty.write_text("")
        cc = [os.environ.get("CC", "cc"), "-shared", "-nostdlib", str(empty)]
        if system.startswith("osx"):
            named = [f"-Wl,-install_name,@loader_path/{library}"]
            linked = [f"-Wl,-reexport_library,{stub}"]
        else:
            named = [f"-Wl,-soname,{library}"]
            linked = ["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", str(stub)]
        # Only the name of the stub is linked.
        subprocess.run([*cc, *named, "-o", str(stub)], check=True)
        subprocess.run([*cc, *linked, "-o", str(out)], check=True)
        return out.read_bytes()


def main(library: str, out: str, target: str | None = None, *, beside: bool = False) -> None:
    system = platform_of(target)
    code = loader_of(library, system) if beside else Path(library).read_bytes()
    temporary = Path(f"{out}.part")
    temporary.write_bytes(code + footer(release(), system, version()))
    # Replaced in one step: a process may have loaded the old file.
    temporary.replace(out)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    beside = arguments[:1] == ["--beside"]
    main(*arguments[beside:], beside=beside)
