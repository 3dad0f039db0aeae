#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fill columns by functions, beside pylance's add_columns, Ray Data and Daft where installed.

Workloads:

    length   the length of a text of 200 bytes, by arrays and by rows, checkpoints and fsync on
    expand   random bytes for every row of one fragment: bytes written, beside function and disk
    start    from `python script.py` to the commit of 1,000 rows
    resume   SIGKILL of everything at half; the work that is done again

    bench/backfill.py [--only NAME ...] [--scale 1.0]

Every side has a process of its own, which prints what it measured; sides take turns. Ray Data and
Daft are measured when bench/backfill_requirements.txt is installed.
"""

import argparse
import importlib.util
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from measure import table as markdown

TURNS = 3
LENGTH_ROWS, TEXT_BYTES, ARRAY_ROWS = 1_000_000, 200, 8192
EXPAND_ROWS, EXPAND_BYTES, EXPAND_BATCH = 20_000, 100_000, 64
START_ROWS = 1000
RESUME_ROWS, RESUME_SECONDS = 4000, 0.002


def fsync_latency(folder):
    """The median time of writing and syncing 4 KiB."""
    times = []
    with open(os.path.join(folder, "fsync"), "wb") as file:
        for _ in range(50):
            file.write(b"x" * 4096)
            file.flush()
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def io_bytes(process):
    with open(f"/proc/{process}/io") as file:
        return int(dict(line.split(": ") for line in file.read().splitlines())["wchar"])


def written_bytes():
    """Bytes given to write calls by this process and by the children that it has now."""
    total = io_bytes("self")
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/children") as file:
            total += sum(io_bytes(child) for child in file.read().split())
    return total


def peak_bytes():
    """The largest resident memory of this process, and of any child of it."""
    return [
        resource.getrusage(who).ru_maxrss * 1024
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]


def random_batch(count):
    import pyarrow as pa

    data = os.urandom(count * EXPAND_BYTES)
    offsets = pa.array(range(0, (count + 1) * EXPAND_BYTES, EXPAND_BYTES), pa.int32())
    return pa.BinaryArray.from_buffers(
        pa.binary(), count, [None, offsets.buffers()[1], pa.py_buffer(data)]
    )


def make_texts(folder, rows):
    import leman
    import pyarrow as pa

    words = [os.urandom(TEXT_BYTES // 2).hex() for _ in range(1000)]
    text = pa.array([words[i % len(words)][: TEXT_BYTES - i % 7] for i in range(rows)])
    leman.create(folder, pa.table({"id": range(rows), "text": text}))


def make_ids(folder, rows):
    import leman
    import pyarrow as pa

    leman.create(folder, pa.table({"id": range(rows)}))


# What each side runs, in a process of its own: side(folder) -> a dict that is printed.


def timed(call):
    before, start = written_bytes(), time.perf_counter()
    call()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "written": written_bytes() - before, "peak": peak_bytes()}


def warmed(folder, function):
    """Register the function as a column, and have workers started by another table's job."""
    import leman

    texts = {"text": ["x" * TEXT_BYTES] * 1000}
    small = leman.create(folder + ".small", texts)
    small.add_columns({"length": function})
    small.backfill("length", progress=False)
    table = leman.open(folder)
    table.add_columns({"length": function})
    return table


def leman_array(folder, first=False):
    import leman
    import pyarrow as pa
    import pyarrow.compute as pc

    @leman.udf(data_type=pa.int32())
    def length(text: pa.Array) -> pa.Array:
        return pc.binary_length(text)

    if first:
        table = leman.open(folder)
        table.add_columns({"length": length})
    else:
        table = warmed(folder, length)
    return timed(lambda: table.backfill("length", progress=False))


def leman_array_first(folder):
    return leman_array(folder, first=True)


def leman_scalar(folder):
    import leman

    @leman.udf
    def length(text: str) -> int:
        return len(text)

    table = warmed(folder, length)
    return timed(lambda: table.backfill("length", progress=False))


def pylance_array(folder, checkpoint=None):
    import lance
    import pyarrow as pa
    import pyarrow.compute as pc

    @lance.batch_udf(
        output_schema=pa.schema([("length", pa.int32())]),
        **({"checkpoint_file": checkpoint} if checkpoint else {}),
    )
    def length(batch):
        return pa.record_batch({"length": pc.binary_length(batch["text"])})

    dataset = lance.dataset(folder)
    return timed(lambda: dataset.add_columns(length, read_columns=["text"]))


def pylance_checkpoint(folder):
    return pylance_array(folder, os.path.join(folder, "checkpoint.sqlite"))


def ray_array(folder):
    import pyarrow as pa
    import pyarrow.compute as pc
    import ray

    ray.init(log_to_driver=False)

    def length(batch):
        return pa.table({"id": batch["id"], "length": pc.binary_length(batch["text"])})

    def run():
        data = ray.data.read_lance(folder, columns=["id", "text"])
        # Its write_lance() does not work with the pylance that is installed.
        data.map_batches(length, batch_format="pyarrow").write_parquet(folder + ".ray")

    return timed(run)


def daft_array(folder):
    import daft
    from daft.functions import length_bytes

    def run():
        data = daft.read_lance(folder)
        length = length_bytes(daft.col("text")).alias("length")
        data.select("id", length).write_lance(folder + ".daft")

    return timed(run)


def leman_expand(folder):
    import leman
    import pyarrow as pa

    @leman.udf(data_type=pa.binary(), batch_size=EXPAND_BATCH)
    def expand(id: pa.Array) -> pa.Array:
        return random_batch(len(id))

    table = leman.open(folder)
    table.add_columns({"data": expand})
    return timed(lambda: table.backfill("data", progress=False))


def pylance_expand(folder):
    import lance
    import pyarrow as pa

    @lance.batch_udf(output_schema=pa.schema([("data", pa.binary())]))
    def expand(batch):
        return pa.record_batch({"data": random_batch(batch.num_rows)})

    dataset = lance.dataset(folder)
    return timed(lambda: dataset.add_columns(expand, read_columns=["id"], batch_size=EXPAND_BATCH))


def function_alone(folder):
    import lance

    rows = lance.dataset(folder).count_rows()

    def run():
        for _ in range(rows // EXPAND_BATCH):
            random_batch(EXPAND_BATCH)

    return timed(run)


def disk_alone(folder):
    import lance

    rows = lance.dataset(folder).count_rows()
    block = os.urandom(EXPAND_BATCH * EXPAND_BYTES)

    def run():
        with open(folder + ".disk", "wb", buffering=0) as file:
            for _ in range(rows // EXPAND_BATCH):
                file.write(block)
            os.fdatasync(file.fileno())

    return timed(run)


START = """
import leman

@leman.udf
def length(text: str) -> int:
    return len(text)

table = leman.open({folder!r})
table.add_columns({{"length": length}})
assert table.backfill("length", progress=False).rows_committed == {rows}
"""


def run_start(folder, code):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return {"seconds": time.perf_counter() - start}


def leman_start(folder):
    return run_start(folder, START.format(folder=folder, rows=START_ROWS))


def pyarrow_import(folder):
    return run_start(folder, "import pyarrow")


RESUME = """
import leman, os, time

@leman.udf(checkpoint_size=64)
def slow(id: int) -> int:
    time.sleep({seconds})
    with open({calls!r}, "a") as file:
        file.write(f"{{id}}\\n")
    return id

table = leman.open({folder!r})
table.add_columns({{"slow": slow}})
table.backfill("slow", progress=False)
"""


def leman_resume(folder):
    import leman

    calls = folder + ".calls"
    code = RESUME.format(folder=folder, calls=calls, seconds=RESUME_SECONDS)
    rows = leman.open(folder).count_rows()
    open(calls, "w").close()
    first = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    while sum(1 for _ in open(calls)) < rows // 2:
        time.sleep(0.01)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "redone": sum(1 for _ in open(calls)) - rows, "rows": rows}


def installed(name):
    return importlib.util.find_spec(name) is not None


WORKLOADS = {
    "length": (make_texts, LENGTH_ROWS, {
        "leman, arrays": leman_array,
        "leman, arrays, first job of a process": leman_array_first,
        "leman, rows": leman_scalar,
        "pylance": pylance_array,
        "pylance, checkpoint file": pylance_checkpoint,
        **({"Ray Data": ray_array} if installed("ray") else {}),
        **({"Daft": daft_array} if installed("daft") else {}),
    }),
    "expand": (make_ids, EXPAND_ROWS, {
        "leman": leman_expand,
        "pylance": pylance_expand,
        "the function alone, one thread": function_alone,
        "writing alone": disk_alone,
    }),
    "start": (make_texts, START_ROWS, {
        "leman, 1,000 rows committed": leman_start,
        "import pyarrow": pyarrow_import,
    }),
    "resume": (make_ids, RESUME_ROWS, {"leman": leman_resume}),
}  # fmt: skip


def run_side(workload, side, folder):
    """One side on a copy of the data, in a new process."""
    copy = folder + ".copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    os.sync()  # or what is measured waits for it
    command = [sys.executable, os.path.abspath(__file__), "--side", workload, side, copy]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    for name in os.listdir(os.path.dirname(copy)):
        if name.startswith(os.path.basename(copy)):
            path = os.path.join(os.path.dirname(copy), name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    return json.loads(done.stdout.splitlines()[-1])


def measure(workload, scale):
    make, rows, sides = WORKLOADS[workload]
    best = {}
    with tempfile.TemporaryDirectory() as root:
        folder = os.path.join(root, "t.lance")
        make(folder, int(rows * scale) if workload != "start" else rows)
        print(f"\n## {workload}: {int(rows * scale):,} rows, ", end="")
        print(f"fsync of 4 KiB {fsync_latency(root) * 1e3:.2f} ms\n")
        for _ in range(TURNS):
            for side in sides:
                found = run_side(workload, side, folder)
                if side not in best or found["seconds"] < best[side]["seconds"]:
                    best[side] = found
    ours = next(iter(best.values()))["seconds"]
    lines = []
    for side, found in best.items():
        lines.append([
            side,
            f"{found['seconds']:.3f} s",
            f"{found['seconds'] / ours:.2f}",
            f"{found['written'] / 1e6:.1f} MB" if "written" in found else "",
            " + ".join(f"{peak / 2**20:.0f} MiB" for peak in found.get("peak", [])),
            found.get("redone", ""),
        ])  # fmt: skip
    headings = ["side", "time", "of the first", "written", "peak: driver + a worker", "redone rows"]
    print(markdown(headings, lines), flush=True)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--only", nargs="*", choices=WORKLOADS)
    options.add_argument("--scale", type=float, default=1.0)
    options.add_argument("--side", nargs=3, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.side:
        workload, side, folder = given.side
        print(json.dumps(WORKLOADS[workload][2][side](folder)))
        return
    print("# Filling columns")
    for workload in given.only or WORKLOADS:
        measure(workload, given.scale)


if __name__ == "__main__":
    main()
