"""The scripts of the benchmarks are no package: their modules are found beside each other."""

import sys
from pathlib import Path

SCRIPTS = str(Path(__file__).resolve().parents[2] / "benchmarks")
if SCRIPTS not in sys.path:
    sys.path.append(SCRIPTS)
