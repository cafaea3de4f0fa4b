"""Programs in processes of their own, whose memory is measured."""

from __future__ import annotations

import subprocess
import sys

# `ru_maxrss` would begin with that of the process that starts the program: with all that these tests have taken so far.
PEAK = """
from pathlib import Path
status = Path("/proc/self/status")
if status.exists():
    print(int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024)
else:
    import resource
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def rows_and_peak(program: str, *arguments: object) -> tuple[int, int]:
    """What a program prints, the rows it has written, and the most bytes of memory that it took."""
    command = [sys.executable, "-c", program + PEAK, *map(str, arguments)]
    rows, peak = map(int, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    return rows, peak
