#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fill columns by functions, beside pylance's add_columns, Ray Data and Daft where installed.

Workloads:

    length   the length of a text of 200 bytes, by arrays and by rows, checkpoints and fsync on
    expand   random bytes for every row of one fragment: bytes written, beside function and disk
    start    from `python script.py` to the commit of 1,000 rows
    resume   SIGKILL of everything at half; the work that is done again

    bench/backfill.py [--only NAME ...] [--scale 1.0] [--markdown]

--markdown prints the page docs/bench/backfill.md. Every side has a process of its own, which prints
what it measured; sides take turns, and one that takes longer than SLOW_SECONDS has one turn. Ray
Data and Daft are measured when bench/backfill_requirements.txt is installed.
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
import textwrap
import time
from importlib import metadata

from measure import table as markdown

TURNS, SLOW_SECONDS = 3, 15
LENGTH_ROWS, TEXT_BYTES = 1_000_000, 200
EXPAND_ROWS, EXPAND_BYTES, EXPAND_BATCH = 20_000, 100_000, 64
START_ROWS = 1000
RESUME_ROWS, RESUME_SECONDS, RESUME_TASK = 4000, 0.002, 64
TITLE = "Filling columns"
PAGE = """\
# {title}

How long functions take to fill columns, in Leman and in its peers, with the command

    .venv/bin/python bench/backfill.py{scale} --markdown > docs/bench/backfill.md

which prints this page. Each side runs in a process of its own on a copy of the table, and sides
take turns: the best of {turns} turns counts, or the only one of a side that takes longer than
{slow} s. A side is the second job of its process, so that workers and memory are there, or the
first where that is said. Leman checkpoints and waits for the device (fsync), as it always does;
pylance does neither unless its checkpoint file is named. The ratio is a side's time over that of
the first line: above 1 the first line is faster. Processors is the time that they worked for the
process and its children, memory the largest that these had.

Measured on {machine},
with {versions}.
"""


# Processes, and what the system tells about them


def descendants(process):
    """Processes that `process` has started, and those that they have."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def told(path, name):
    """A number that a file of /proc tells, as `name: number`; 0 when its process has ended."""
    try:
        with open(path) as file:
            return int(dict(line.split(":", 1) for line in file)[name].split()[0])
    except OSError:
        return 0


def written_bytes():
    """Bytes given to write calls by this process and all below it, those that ended too."""
    return sum(told(f"/proc/{pid}/io", "wchar") for pid in descendants(os.getpid()))


def processor_seconds():
    """Time that processors worked for this process and all below it, those that ended too."""
    ticks = 0
    for pid in descendants(os.getpid()):
        try:
            with open(f"/proc/{pid}/stat") as file:
                ticks += sum(map(int, file.read().rpartition(")")[2].split()[11:15]))
        except OSError:
            continue  # it has ended
    return ticks / os.sysconf("SC_CLK_TCK")


def peak_bytes():
    """The largest resident memory of this process, and of those below it together."""
    own = os.getpid()
    peak = {pid: told(f"/proc/{pid}/status", "VmHWM") * 1024 for pid in descendants(own)}
    return peak.pop(own), sum(peak.values())


def largest_child():
    """The largest resident memory that a process below this one had, of those that ended."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


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


# Tables


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


def data_files(folder):
    """{name: bytes on disk} of the table's data files."""
    data = os.path.join(folder, "data")
    return {entry.name: entry.stat().st_blocks * 512 for entry in os.scandir(data)}


# What each side runs, in a process of its own: side(folder) -> a dict that is printed.


def timed(call, folder=None):
    """Time and bytes of a call; with a folder also those of the column's file in the end."""
    files = data_files(folder) if folder else {}
    before, worked, start = written_bytes(), processor_seconds(), time.perf_counter()
    call()
    found = {
        "seconds": time.perf_counter() - start,
        "worked": processor_seconds() - worked,
        "written": written_bytes() - before,
        "peak": peak_bytes(),
    }
    if folder:
        # The file of a fragment's first rows, which a later version does without, is a small one.
        made = {name: size for name, size in data_files(folder).items() if name not in files}
        found["output"] = max(made.values())
    return found


def filled(folder, column, function):
    import leman

    table = leman.open(folder)
    table.add_columns({column: function})
    return timed(lambda: table.backfill(column, progress=False), folder)


def leman_array(folder):
    import leman
    import pyarrow as pa
    import pyarrow.compute as pc

    @leman.udf(data_type=pa.int32())
    def length(text: pa.Array) -> pa.Array:
        return pc.binary_length(text)

    return filled(folder, "length", length)


def leman_scalar(folder):
    import leman

    @leman.udf
    def length(text: str) -> int:
        return len(text)

    return filled(folder, "length", length)


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
    return timed(lambda: dataset.add_columns(length, read_columns=["text"]), folder)


def pylance_checkpoint(folder):
    return pylance_array(folder, os.path.join(folder, "checkpoint.sqlite"))


def again(side):
    """The side as the second of its kind in a process: workers and memory are there."""

    def run(folder):
        first = folder + ".first"
        shutil.copytree(folder, first)
        os.sync()
        side(first)
        return side(folder)

    return run


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


def random_batch(count):
    import pyarrow as pa

    data = os.urandom(count * EXPAND_BYTES)
    offsets = pa.array(range(0, (count + 1) * EXPAND_BYTES, EXPAND_BYTES), pa.int32())
    return pa.BinaryArray.from_buffers(
        pa.binary(), count, [None, offsets.buffers()[1], pa.py_buffer(data)]
    )


def leman_expand(folder):
    import leman
    import pyarrow as pa

    @leman.udf(data_type=pa.binary(), batch_size=EXPAND_BATCH)
    def expand(id: pa.Array) -> pa.Array:
        return random_batch(len(id))

    return filled(folder, "data", expand)


def pylance_expand(folder):
    import lance
    import pyarrow as pa

    @lance.batch_udf(output_schema=pa.schema([("data", pa.binary())]))
    def expand(batch):
        return pa.record_batch({"data": random_batch(batch.num_rows)})

    dataset = lance.dataset(folder)
    return timed(
        lambda: dataset.add_columns(expand, read_columns=["id"], batch_size=EXPAND_BATCH), folder
    )


def count_batches(folder):
    import lance

    return lance.dataset(folder).count_rows() // EXPAND_BATCH


def function_alone(folder):
    """The function in as many processes as there are processors."""
    batches = count_batches(folder)
    import pyarrow  # noqa: F401 - imported before the clock runs, as workers that are warm have

    processes = os.cpu_count()

    def run():
        children = []
        for number in range(processes):
            child = os.fork()
            if child == 0:
                for _ in range(number, batches, processes):
                    random_batch(EXPAND_BATCH)
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)

    return timed(run)


def disk_alone(folder):
    batches = count_batches(folder)
    block = os.urandom(EXPAND_BATCH * EXPAND_BYTES)

    def run():
        with open(folder + ".disk", "wb", buffering=0) as file:
            for _ in range(batches):
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


def run_start(code):
    """Seconds until the code has run; what the process does to end is not waited for."""
    code += "\nimport time; print(time.monotonic(), flush=True)"
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
    return {"seconds": float(done.stdout) - start, "largest": largest_child()}


def leman_start(folder):
    return run_start(START.format(folder=folder, rows=START_ROWS))


def pyarrow_import(folder):
    return run_start("import pyarrow")


RESUME = """
import leman, os, time

@leman.udf(checkpoint_size={task})
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
    code = RESUME.format(folder=folder, calls=calls, seconds=RESUME_SECONDS, task=RESUME_TASK)
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
    redone = sum(1 for _ in open(calls)) - rows
    return {"seconds": seconds, "redone": redone, "largest": largest_child()}


def installed(name):
    return importlib.util.find_spec(name) is not None


WORKLOADS = {
    "length": (make_texts, LENGTH_ROWS, {
        "Leman, arrays": again(leman_array),
        "Leman, arrays, first job": leman_array,
        "Leman, rows": again(leman_scalar),
        "Leman, rows, first job": leman_scalar,
        "pylance": again(pylance_array),
        "pylance, first job": pylance_array,
        "pylance, checkpoint file": again(pylance_checkpoint),
        **({"Ray Data, to Parquet": ray_array} if installed("ray") else {}),
        **({"Daft, without a function, to a new table": daft_array} if installed("daft") else {}),
    }),
    "expand": (make_ids, EXPAND_ROWS, {
        "Leman, first job": leman_expand,
        "pylance, first job": pylance_expand,
        "the function alone, a process per processor": function_alone,
        "writing alone": disk_alone,
    }),
    "start": (make_texts, START_ROWS, {
        "Leman, 1,000 rows committed": leman_start,
        "import pyarrow": pyarrow_import,
    }),
    "resume": (make_ids, RESUME_ROWS, {"Leman": leman_resume}),
}  # fmt: skip

ABOUT = {
    "length": "The length of a text of 200 bytes, {rows:,} rows. `arrays`: a function of Arrow "
              "arrays; `rows`: one of Python values. fsync of 4 KiB took {fsync:.2f} ms.",
    "expand": "100 KB of random bytes for each of {rows:,} rows in one fragment, by calls of 64 "
              "rows. Written are the bytes given to write calls, by all processes, and in brackets "
              "how often each byte of the data file was; Leman writes the first rows twice, to "
              "commit them early.",
    "start": "From `python script.py` to the commit of {rows:,} rows, by a function of Python "
             "values, beside the import of pyarrow.",
    "resume": "{rows:,} rows of 2 ms each; everything is killed (SIGKILL) when half are computed, "
              "and the time is that of the same command afterwards. Redone are calls that were "
              "made before; one task per worker, which has {task} rows, is the promise.",
}  # fmt: skip


def run_side(workload, side, folder):
    """One side on a copy of the data, in a new process."""
    copy = folder + ".copy"
    shutil.copytree(folder, copy)
    os.sync()  # or what is measured waits for it
    command = [sys.executable, os.path.abspath(__file__), "--side", workload, side, copy]
    done = subprocess.run(command, capture_output=True, text=True)
    for name in os.listdir(os.path.dirname(copy)):
        if name.startswith(os.path.basename(copy)):
            path = os.path.join(os.path.dirname(copy), name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    if done.returncode:
        sys.exit(f"{workload}, {side}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def run_sides(workload, sides, folder):
    """What the best turn of each side has measured."""
    best, slow = {}, set()
    for _ in range(TURNS):
        for side in sides:
            if side in slow:
                continue
            start = time.perf_counter()
            found = run_side(workload, side, folder)
            if time.perf_counter() - start > SLOW_SECONDS:
                slow.add(side)
            if side not in best or found["seconds"] < best[side]["seconds"]:
                best[side] = found
    return best


def describe(found, first):
    """The cells of a side, by heading."""
    cells = {"time": f"{found['seconds']:.3f} s", "ratio": f"{found['seconds'] / first:.2f}"}
    if "written" in found:
        cells["processors"] = f"{found['worked']:.2f} s"
        times = f" ({found['written'] / found['output']:.3f}x)" if "output" in found else ""
        cells["written"] = f"{found['written'] / 1e6:.1f} MB{times}"
        cells["memory: process + children"] = " + ".join(
            f"{peak / 2**20:.0f} MiB" for peak in found["peak"]
        )
    if "largest" in found:
        cells["memory: largest process"] = f"{found['largest'] / 2**20:.0f} MiB"
    if "redone" in found:
        cells["redone rows"] = found["redone"]
    return cells


def measure(workload, scale):
    make, rows, sides = WORKLOADS[workload]
    rows = rows if workload == "start" else int(rows * scale)
    with tempfile.TemporaryDirectory(prefix="leman-bench-") as root:
        folder = os.path.join(root, "t.lance")
        make(folder, rows)
        fsync = fsync_latency(root) * 1e3
        about = ABOUT[workload].format(rows=rows, fsync=fsync, task=RESUME_TASK)
        best = run_sides(workload, sides, folder)
    first = next(iter(best.values()))["seconds"]
    lines = {side: describe(found, first) for side, found in best.items()}
    headings = list(dict.fromkeys(name for cells in lines.values() for name in cells))
    if len(lines) == 1:
        headings.remove("ratio")
    table = [[side, *(cells.get(name, "") for name in headings)] for side, cells in lines.items()]
    about = textwrap.fill(about, 100)
    print(f"\n## {workload}\n\n{about}\n\n{markdown(['side', *headings], table)}", flush=True)


def page(scale):
    """What stands above the tables of docs/bench/backfill.md."""
    packages = [name for name in ("pylance", "pyarrow", "ray", "daft") if installed_package(name)]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return PAGE.format(
        title=TITLE,
        scale="" if scale == 1 else f" --scale {scale:g}",
        turns=TURNS,
        slow=SLOW_SECONDS,
        machine=f"a virtual machine of {os.cpu_count()} processors and {memory:.0f} GiB of memory",
        versions=", ".join(f"{name} {metadata.version(name)}" for name in packages),
    )


def installed_package(name):
    return installed({"pylance": "lance"}.get(name, name))


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--only", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    options.add_argument("--scale", type=float, default=1.0, help="multiplies all counts of rows")
    options.add_argument("--markdown", action="store_true", help="print docs/bench/backfill.md")
    options.add_argument("--side", nargs=3, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.side:
        workload, side, folder = given.side
        print(json.dumps(WORKLOADS[workload][2][side](folder)))
        return
    print(page(given.scale).rstrip() if given.markdown else f"# {TITLE}", flush=True)
    for workload in given.only:
        measure(workload, given.scale)


if __name__ == "__main__":
    main()
