#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shipping a Python path: planned and shipped by content, beside zipping its folder.

    bench/startup.py [--scale 1.0] [--repeats 3] [--json] [--markdown]

The folder has 20,000 modules in 200 packages, about 100 MB of text that compresses as code does.
Both sides find the files in the system's memory. Zipping is what Python has: zipfile, deflated.
--markdown prints the page docs/bench/startup.md.
"""

import argparse
import json
import os
import random
import shutil
import tempfile
import time
import zipfile
from pathlib import Path

from measure import table

FILES, PACKAGES, BYTES = 20_000, 200, 5_000
PAGE = """\
# Startup

A Python path of {files:,} modules in {packages} packages, {bytes:.0f} MB, shipped beside zipping
the same folder with Python's `zipfile`, with the command

    .venv/bin/python bench/startup.py --markdown > docs/bench/startup.md

which prints this page. Files are in the system's memory for both; the best of {repeats} runs
counts. Measured on a machine of {processors} processors.

{table}

{ratio}

Where it is not ahead: a new node unpacks the files one by one, which a zip that Python imports
from does not need. It does so once per archive.
"""
WORDS = "self value return import table column batch index None True path name def class".split()


def line(chance):
    """A text that has the look of code."""
    words = [chance.choice(WORDS) + str(chance.randrange(100)) for _ in range(6)]
    return "    " * chance.randrange(1, 4) + " ".join(words)


def make_folder(root, files):
    chance = random.Random(1)
    lines = [line(chance) for _ in range(20_000)]
    count = BYTES * len(lines) // sum(map(len, lines))
    for index in range(files):
        folder = root / f"package{index % PACKAGES:03}"
        if index < PACKAGES:
            folder.mkdir(parents=True)
        text = "\n".join(chance.choices(lines, k=count)) + "\n"
        (folder / f"module{index:05}.py").write_text(text)


def zip_folder(root, path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder, _, names in sorted(os.walk(root)):
            for name in sorted(names):
                place = os.path.join(folder, name)
                archive.write(place, os.path.relpath(place, root))


def timed(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def settle(root):
    """Let files be as old as code on a disk is: what is younger than a moment is read again."""
    old = time.time() - 3600
    for folder, _, names in os.walk(root):
        for name in names:
            os.utime(os.path.join(folder, name), (old, old))


def run(top, files):
    import leman

    root = top / "code"
    make_folder(root, files)
    settle(root)
    zip_folder(root, top / "warm.zip")  # both sides find the files in memory
    os.environ["XDG_STATE_HOME"] = str(top / "state")

    def plan():
        return leman.environment.plan(workspace=root, path=[str(root)])

    zipping, _ = timed(lambda: zip_folder(root, top / "code.zip"))
    first, made = timed(plan)
    shipping, shipped = timed(lambda: made.ship(top / "db"))
    second, _ = timed(plan)
    changed = root / "package007/module00007.py"
    changed.write_text(changed.read_text() + "x = 1\n")
    os.utime(changed, (time.time() - 1800,) * 2)
    third, again = timed(plan)
    reshipping, reshipped = timed(lambda: again.ship(top / "db"))
    unpacking, _ = timed(lambda: reshipped.unpack(top / "node"))
    return {
        "files": made.files,
        "bytes": made.bytes,
        "zip": zipping,
        "zip_bytes": (top / "code.zip").stat().st_size,
        "first_plan": first,
        "first_ship": shipping,
        "archives": len(shipped.shipped),
        "shipped_bytes": shipped.shipped_bytes,
        "second_plan": second,
        "changed_plan": third,
        "changed_ship": reshipping,
        "changed_archives": len(reshipped.shipped),
        "changed_bytes": reshipped.shipped_bytes,
        "unpack": unpacking,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the number of files")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    runs = []
    for _ in range(arguments.repeats):
        top = Path(tempfile.mkdtemp(prefix="leman-bench-"))
        try:
            runs.append(run(top, max(PACKAGES, int(FILES * arguments.scale))))
        finally:
            shutil.rmtree(top)
    best = {name: min(one[name] for one in runs) for name in runs[0]}
    if arguments.json:
        print(json.dumps(best))
        return
    rows = [
        ("zip the folder", best["zip"], best["zip_bytes"], 1),
        ("first plan", best["first_plan"], "", ""),
        ("first shipping", best["first_ship"], best["shipped_bytes"], best["archives"]),
        ("second plan", best["second_plan"], "", ""),
        ("plan after one change", best["changed_plan"], "", ""),
        (
            "shipping after one change",
            best["changed_ship"],
            best["changed_bytes"],
            best["changed_archives"],
        ),
        ("unpacking on another machine", best["unpack"], "", ""),
    ]
    shown = [
        (what, f"{seconds:.2f} s", f"{size / 1e6:.2f} MB" if size else "", count)
        for what, seconds, size, count in rows
    ]
    both = best["first_plan"] + best["first_ship"]
    said = {
        "files": best["files"],
        "packages": PACKAGES,
        "bytes": best["bytes"] / 1e6,
        "repeats": arguments.repeats,
        "processors": len(os.sched_getaffinity(0)),
        "table": table(["step", "time", "written", "archives"], shown),
        "ratio": f"First plan {best['zip'] / best['first_plan']:.1f}x as fast as zipping, "
        f"plan and shipping {best['zip'] / both:.1f}x.",
    }
    page = "{files:,} files, {bytes:.0f} MB; best of {repeats}\n\n{table}\n\n{ratio}\n"
    print((PAGE if arguments.markdown else page).format(**said), end="")


if __name__ == "__main__":
    main()
