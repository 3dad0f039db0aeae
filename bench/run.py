#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run every workload of this folder: bench/run.py [NAME ...]."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
APART = {"run.py", "measure.py"}


def main(names):
    workloads = sorted(path for path in HERE.glob("*.py") if path.name not in APART)
    unknown = set(names) - {path.stem for path in workloads}
    if unknown:
        known = ", ".join(path.stem for path in workloads)
        sys.exit(f"no workload {', '.join(sorted(unknown))}; there are: {known}")
    for path in workloads:
        if not names or path.stem in names:
            subprocess.run([sys.executable, str(path)], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
