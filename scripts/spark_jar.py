"""The jar of the Spark data source: our classes, arrow-c-data and the native library.

    python scripts/spark_jar.py SPARK_HOME ARROW_C_DATA.jar LIBRARY OUT.jar

Scala is compiled by the compiler that Spark carries.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Zip archives hold no earlier date: the same sources give the same jar.
DATE = (1980, 1, 1, 0, 0, 0)


def resource(system: str, machine: str, library: str) -> str:
    """Where the jar has the native library of a platform: `Library.scala` looks there.

    >>> resource("Linux", "x86_64", "libstaffa_jni.so")
    'staffa/linux-x86_64/libstaffa_jni.so'
    >>> resource("Darwin", "arm64", "libstaffa_jni.dylib")
    'staffa/macos-aarch64/libstaffa_jni.dylib'
    """
    names = {"Linux": "linux", "Darwin": "macos"}
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine.lower(), machine)
    return f"staffa/{names.get(system, system.lower())}-{machine}/{library}"


def compile_scala(spark_home: Path, arrow: Path, classes: Path) -> None:
    """Compiles jvm/src against Spark's jars."""
    jars = str(spark_home / "jars" / "*")
    sources = sorted(str(path) for path in (ROOT / "jvm" / "src").glob("*.scala"))
    compiler = ["java", "-cp", jars, "scala.tools.nsc.Main", "-usejavacp", "-deprecation", "-Werror", "-release", "17"]
    subprocess.run([*compiler, "-classpath", f"{jars}:{arrow}", "-d", str(classes), *sources], check=True)


def entries(classes: Path, arrow: Path, library: Path) -> dict[str, bytes]:
    """The files of the jar by their names."""
    found = {"META-INF/MANIFEST.MF": b"Manifest-Version: 1.0\n", "META-INF/LICENSE": (ROOT / "LICENSE").read_bytes()}
    with zipfile.ZipFile(arrow) as jar:
        for name in jar.namelist():
            # A module's description is for its own jar alone.
            if not name.endswith(("/", "module-info.class", "MANIFEST.MF")):
                found.setdefault(name, jar.read(name))
    for folder in (classes, ROOT / "jvm" / "resources"):
        for path in folder.rglob("*"):
            if path.is_file():
                found[path.relative_to(folder).as_posix()] = path.read_bytes()
    found[resource(platform.system(), platform.machine(), library.name)] = library.read_bytes()
    return found


def main(spark_home: str, arrow: str, library: str, out: str) -> None:
    """Writes the jar, whole or not at all."""
    target = Path(out)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    with tempfile.TemporaryDirectory() as classes:
        compile_scala(Path(spark_home), Path(arrow), Path(classes))
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as jar:
            for name, data in sorted(entries(Path(classes), Path(arrow), Path(library)).items()):
                jar.writestr(zipfile.ZipInfo(name, DATE), data, zipfile.ZIP_DEFLATED)
    part.replace(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
