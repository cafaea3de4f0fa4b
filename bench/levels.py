"""Every kernel on every instruction set of this machine, beside memcpy: GB/s of output.

    python bench/levels.py [--out results/levels.md]

Runs `cargo bench -p staffa-kernels`, one core, and reads what criterion measured. NEON is not measured: `make arm` runs
the tests of the kernels under emulation.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from pathlib import Path

from experiments import BENCH, machine
from reports.common import mean, table

LEVELS = ["Baseline", "Avx2", "Avx512"]
NAMES = {"Baseline": "SSE2", "Avx2": "AVX2", "Avx512": "AVX-512"}


def measured(folder: Path) -> dict[str, dict[str, float]]:
    """GB/s of each kernel by level: bytes of output a second, by the median."""
    speeds: dict[str, dict[str, float]] = {}
    for path in folder.glob("*/new/benchmark.json"):
        told = json.loads(path.read_text())
        name, _, level = told["function_id"].rpartition(", ")
        nanoseconds = json.loads((path.parent / "estimates.json").read_text())["median"]["point_estimate"]
        speeds.setdefault(name, {})[level] = told["throughput"]["Bytes"] / nanoseconds
    return dict(sorted(speeds.items()))


def main() -> None:
    """Measures, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=BENCH / "results/levels.md")
    out = parser.parse_args().out
    subprocess.run(["cargo", "bench", "--locked", "--quiet", "-p", "staffa-kernels"], cwd=BENCH.parent, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", BENCH.parent / "target"))
    speeds = measured(target / "criterion/kernels")
    levels = [level for level in LEVELS if any(level in of for of in speeds.values())]
    rows = [(name, *(f"{of[level]:.1f}" if level in of else "" for level in levels)) for name, of in speeds.items()]
    ratios = {level: mean(of[level] / of["Baseline"] for of in speeds.values()) for level in levels[1:]}
    means = ", ".join(f"{NAMES[level]} {ratio:.2f}" for level, ratio in ratios.items())
    out.write_text(f"""# Kernels by instruction set

`python bench/levels.py`, {machine()}

GB/s of output: 1,024 values in the first cache, strings in the second; memcpy is of the same output. The same kernel on
each level of the machine, the median of 20 samples. Relative to SSE2, geometric mean of all kernels: {means}.
NEON is tested under emulation (`make arm`), where speed means nothing.

{table(("GB/s", *(NAMES[level] for level in levels)), rows)}
""")
    print(out)


if __name__ == "__main__":
    main()
