#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run every workload of this folder: bench/run.py [NAME ...] [--scale 1.0]."""

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
APART = {"run.py", "measure.py"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="all unless given")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies all counts of rows")
    arguments = parser.parse_args()
    names = arguments.names
    workloads = sorted(path for path in HERE.glob("*.py") if path.name not in APART)
    unknown = set(names) - {path.stem for path in workloads}
    if unknown:
        known = ", ".join(path.stem for path in workloads)
        sys.exit(f"no workload {', '.join(sorted(unknown))}; there are: {known}")
    for path in workloads:
        if not names or path.stem in names:
            command = [sys.executable, str(path), "--scale", str(arguments.scale)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
