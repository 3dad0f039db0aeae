# SPDX-License-Identifier: Apache-2.0
"""`conda env create --file FILE --prefix DIR`, by the solver and the installer of rattler.

For machines without conda, whose packages come from its channels only.
"""

import argparse
import asyncio
import json
import os
import sys

import rattler


async def _create(file, prefix):
    with open(file) as text:
        asked = json.load(text)
    found = await rattler.solve(
        asked["channels"],
        asked["dependencies"],
        gateway=rattler.Gateway(cache_dir=os.environ["CONDA_PKGS_DIRS"]),
        platforms=["linux-64", "noarch"],
        virtual_packages=rattler.VirtualPackage.detect(),
    )
    cache = os.environ["CONDA_PKGS_DIRS"]
    await rattler.install(found, prefix, cache_dir=cache, show_progress=False)


def main():
    parser = argparse.ArgumentParser(prog="conda")
    parser.add_argument("words", nargs=2)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--file", required=True)
    parser.add_argument("--prefix", required=True)
    given = parser.parse_args()
    assert given.words == ["env", "create"]
    try:
        asyncio.run(_create(given.file, given.prefix))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)  # its threads do not survive the end of the interpreter


if __name__ == "__main__":
    main()
