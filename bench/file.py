#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Read and write Lance files, beside pylance.

For each kind of column a file of that column and a row number: scan of both, scan of the column
alone, take of 1,000 random rows (page cache warm), write. Both sides run in one process, in turn,
on one processor and on two; readers read the same file, which pylance wrote. Times are the best of
several, ratios are pylance's time over ours.

    bench/file.py [--version 2.1 2.2] [--threads 1 2] [--scale 1.0] [--markdown] [KIND ...]

--markdown prints the page docs/bench/file.md.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from importlib import metadata

REPEATS, WRITE_REPEATS = 7, 5
TAKE_ROWS = 1000
STEPS = {"scan": "scan", "project": "scan, one column", "take": "take", "write": "write"}
TITLE = "Lance files, beside pylance"
PAGE = """\
# {title}

How long Leman and pylance take to read and write the same columns, with the command

    .venv/bin/python bench/file.py --markdown > docs/bench/file.md

which prints this page. Each column is in a file with a second one, the row number.

| step | what is timed |
| --- | --- |
| scan | all rows, both columns, in batches of 8,192 rows (64 of large binaries) |
| scan, one column | the same without the row number |
| take | 1,000 random rows (100 of the 1 MB binaries) in rising order, both columns |
| write | all batches, the file closed, not synced to the disk |

Both sides run in one process and take turns; readers read the same file, which pylance wrote and
which is in the page cache; a cell has the best time of each side, of {reads} turns ({writes} of
writing), and pylance's time over Leman's. With one thread the process has one processor, with two
it has two; pylance is told by `LANCE_CPU_THREADS` and `LANCE_IO_THREADS`. File sizes are those of
the files that each side wrote from the same batches with its defaults.

Measured on {machine},
with {versions}. Other programs run there at the same time, which slows down
both sides: between two runs the ratio of a single cell has differed by up to a factor of two, a
mean by up to a half.
"""


def make_columns(scale):
    """Each kind by name: a function that makes its column."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(7)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", "u1")
    words = [
        letters[rng.integers(0, 26, rng.integers(3, 10))].tobytes().decode() for _ in range(2000)
    ]

    def rows(count):
        return max(int(count * scale), 100)

    def texts(count, length):
        picks = rng.integers(0, len(words), (count, length)).tolist()
        return pa.array([" ".join(words[i] for i in pick) for pick in picks])

    def binaries(count, size):
        return pa.array([rng.bytes(size) for _ in range(count)], pa.binary())

    def lists(count):
        lengths = rng.integers(0, 8, count)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype("i4")
        items = rng.integers(0, 1000, offsets[-1]).astype("i4")
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(items))

    def embeddings(count):
        values = pa.array(rng.random(count * 128, dtype="f4"))
        return pa.FixedSizeListArray.from_arrays(values, 128)

    return {
        "ints": lambda: pa.array(rng.integers(0, 1_000_000, rows(2_000_000))),
        "nullable ints": lambda: pa.array(
            rng.integers(0, 1_000_000, rows(2_000_000)), mask=rng.random(rows(2_000_000)) < 0.1
        ),
        "floats": lambda: pa.array(rng.random(rows(4_000_000), dtype="f4")),
        "short strings": lambda: texts(rows(1_000_000), 3),
        "long strings": lambda: texts(rows(100_000), 120),
        "few strings": lambda: pa.array(words[:50]).take(
            pa.array(rng.integers(0, 50, rows(2_000_000)))
        ),
        "embeddings": lambda: embeddings(rows(200_000)),
        "lists": lambda: lists(rows(500_000)),
        "20 KB binaries": lambda: binaries(rows(10_000), 20_000),
        "1 MB binaries": lambda: binaries(rows(200), 1_000_000),
    }


def measure_kind(table, folder, version, threads):
    """Seconds (ours, theirs) per step, and the sizes of both files."""
    import lance.file
    import leman
    import numpy as np
    from measure import best_of_both

    theirs, ours = os.path.join(folder, "theirs.lance"), os.path.join(folder, "ours.lance")
    row_bytes = table.nbytes / max(table.num_rows, 1)
    batch_rows = 8192 if row_bytes < 4096 else 64
    batches = table.to_batches(max_chunksize=batch_rows)

    def remove():
        # Replacing a file makes ext4 write it out at once, which is another workload.
        for path in (theirs, ours):
            if os.path.exists(path):
                os.remove(path)

    def write_theirs():
        with lance.file.LanceFileWriter(theirs, table.schema, version=version) as writer:
            for batch in batches:
                writer.write_batch(batch)

    def write_ours():
        options = {"version": version, "sync": False, "threads": threads}
        with leman.FileWriter(ours, table.schema, **options) as writer:
            for batch in batches:
                writer.write(batch)

    result = {"write": best_of_both(write_ours, write_theirs, WRITE_REPEATS, before=remove)}
    remove()
    write_ours()
    write_theirs()
    result["bytes"] = [os.path.getsize(ours), os.path.getsize(theirs)]

    their_file, our_file = lance.file.LanceFileReader(theirs), leman.LanceFile(theirs)
    projected = lance.file.LanceFileReader(theirs, columns=["c"])
    count = min(TAKE_ROWS, table.num_rows // 2)
    picks = np.sort(np.random.default_rng(3).choice(table.num_rows, count, replace=False))
    wanted = picks.tolist()

    def drain(stream):
        return sum(batch.num_rows for batch in stream)

    result["scan"] = best_of_both(
        lambda: drain(our_file.scan(batch_size=batch_rows, threads=threads)),
        lambda: drain(their_file.read_all(batch_size=batch_rows).to_batches()),
        REPEATS,
    )
    result["project"] = best_of_both(
        lambda: drain(our_file.scan(["c"], batch_size=batch_rows, threads=threads)),
        lambda: drain(projected.read_all(batch_size=batch_rows).to_batches()),
        REPEATS,
    )
    result["take"] = best_of_both(
        lambda: our_file.take(picks).to_arrow(),
        lambda: their_file.take_rows(wanted).to_table(),
        REPEATS,
    )
    same = their_file.take_rows(wanted).to_table().combine_chunks()
    if not our_file.take(picks).to_arrow().equals(same.to_batches()[0]):
        sys.exit("the two sides took different rows")
    remove()
    return result


def child(arguments):
    """Measure in this process, which has its processors already; results go to stdout."""
    import numpy as np
    import pyarrow as pa

    columns = make_columns(arguments.scale)
    for kind in arguments.kinds or columns:
        column = columns[kind]()
        table = pa.table({"c": column, "row": np.arange(len(column))})
        with tempfile.TemporaryDirectory(prefix="leman-bench-") as folder:
            result = measure_kind(table, folder, arguments.version[0], arguments.child)
        print(json.dumps({"kind": kind, "rows": len(column), **result}), flush=True)


def run_child(version, threads, arguments):
    """One process with as many processors as threads; pylance is told by its own variables."""
    processors = sorted(os.sched_getaffinity(0))[:threads]
    environment = os.environ | {"LANCE_CPU_THREADS": str(threads), "LANCE_IO_THREADS": str(threads)}
    command = [sys.executable, __file__, "--child", str(threads), "--version", version]
    command += ["--scale", str(arguments.scale), *arguments.kinds]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, processors),
    )
    results = [json.loads(line) for line in process.stdout]
    if process.wait() != 0:
        sys.exit(process.returncode)
    return results


def cell(ours, theirs):
    return f"{ours * 1e3:.2f} / {theirs * 1e3:.2f} ms = {theirs / ours:.1f}x"


def report(version, threads, results):
    from measure import geometric_mean, table

    print(f"\n## Version {version}, {threads} thread{'s' if threads > 1 else ''}\n")
    rows = []
    for result in results:
        ours, theirs = (size / 1e6 for size in result["bytes"])
        cells = [cell(*result[step]) for step in STEPS]
        rows.append([result["kind"], f"{result['rows']:,}", *cells, f"{ours:.1f} / {theirs:.1f}"])
    means = {
        step: geometric_mean(result[step][1] / result[step][0] for result in results)
        for step in STEPS
    }
    rows.append(["geometric mean", "", *(f"{means[step]:.1f}x" for step in STEPS), ""])
    headings = ["column (leman / pylance)", "rows", *STEPS.values(), "file, MB"]
    print(table(headings, rows), flush=True)


def page():
    """What stands above the tables of docs/bench/file.md."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("pylance", "pyarrow"))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    machine = f"a virtual machine of {os.cpu_count()} processors and {memory:.0f} GiB of memory"
    numbers = {"reads": REPEATS, "writes": WRITE_REPEATS}
    return PAGE.format(title=TITLE, machine=machine, versions=versions, **numbers)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("kinds", nargs="*", help="kinds of columns; all unless given")
    parser.add_argument("--version", nargs="+", default=["2.1", "2.2"], help="of the files")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies all row counts")
    parser.add_argument("--markdown", action="store_true", help="print docs/bench/file.md")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_intermixed_args()
    if arguments.child:
        child(arguments)
        return
    print(page().rstrip() if arguments.markdown else f"# {TITLE}", flush=True)
    for version in arguments.version:
        for threads in arguments.threads:
            report(version, threads, run_child(version, threads, arguments))


if __name__ == "__main__":
    main()
