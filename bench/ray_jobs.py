#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fill columns on a Ray of this machine, beside Ray Data on the same one.

Workloads, those of bench/backfill.py:

    length   the length of a text of 200 bytes, by arrays; checkpoints and fsync on
    expand   100,000 random bytes for every row of one fragment
    nodes    a function that sleeps, on one node and on two; without a peer

    bench/ray_jobs.py [--only NAME ...] [--scale 1.0] [--turns 3] [--markdown]

Each workload has a Ray of its own, in which the sides take turns: each over a small table first, so
that processes are there, and then over the large one. Leman adds a column to the table; Ray Data
has no way to add one and writes the key and the column as Parquet files (its write_lance() of 2.60
does not go with pylance 14). "first row" is when the first row is in a version of its table, or the
first file can be read.

--markdown prints the page docs/bench/ray.md.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from importlib import metadata

import backfill
from measure import table as markdown

TURNS = 3
SMALL_ROWS = 1000
CPUS = 0.9  # so that the tracker's tenth leaves room for a worker on every processor
SLEEP_SECONDS = 0.02
ROWS = {"length": backfill.LENGTH_ROWS, "expand": backfill.EXPAND_ROWS, "nodes": 1000}
WHAT = {
    "length": "the length of a text of 200 bytes, by arrays",
    "expand": "100,000 random bytes for every row",
}
VERSIONS = ("ray", "pyarrow", "pylance")
PAGE = """\
# Jobs on Ray, beside Ray Data

How long it takes to fill a column on a Ray of this machine, with the command

    .venv/bin/python bench/ray_jobs.py --markdown > docs/bench/ray.md

which prints this page. Both sides run on the same Ray, in turns, each after a small run of its own,
so that processes are there. Leman adds the column to the table, checkpointed and durable; Ray Data
writes the key and the column as Parquet files and does not wait for the device. "first row" is when
the first row is in a version of the table, or the first file has its end and can be read. The table
has one fragment; Leman commits the first rows of one that becomes large ahead of the others. Ratios
are Ray Data's time over the side's.

Measured on {machine},
with {versions}.
Other programs run there at the same time, which slows down both sides.
"""
MAKERS = {"length": backfill.make_texts, "expand": backfill.make_ids}


def timed(call, there):
    """Seconds of a call, and until `there` is first true of it, looked at in between."""
    began, found, ended = time.perf_counter(), [], threading.Event()

    def watch():
        while not ended.wait(0.01):
            if there():
                found.append(time.perf_counter() - began)
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    call()
    seconds = time.perf_counter() - began
    ended.set()
    watcher.join()
    return {"seconds": seconds, "first": min(found, default=seconds)}


def leman_function(workload):
    import leman
    import pyarrow as pa
    import pyarrow.compute as pc

    if workload == "length":

        @leman.udf(data_type=pa.int32(), num_cpus=CPUS)
        def length(text: pa.Array) -> pa.Array:
            return pc.binary_length(text)

        return length

    @leman.udf(data_type=pa.binary(), batch_size=backfill.EXPAND_BATCH, num_cpus=CPUS)
    def expand(id: pa.Array) -> pa.Array:
        return backfill.random_batch(len(id))

    return expand


def run_leman(workload, folder):
    import leman

    table = leman.open(folder)
    table.add_columns({"made": leman_function(workload)})
    versions = os.path.join(folder, "_versions")
    before = len(os.listdir(versions))

    def fill():
        result = table.backfill("made", engine="ray", progress=False)
        assert result.rows_committed == len(table)

    return timed(fill, lambda: len(os.listdir(versions)) > before)


def is_whole(path):
    """Does a Parquet file have its end, without which no row of it can be read?"""
    with open(path, "rb") as file:
        return (
            file.seek(0, os.SEEK_END) > 8 and file.seek(-4, os.SEEK_END) and file.read() == b"PAR1"
        )


def run_ray_data(workload, folder):
    import pyarrow as pa
    import pyarrow.compute as pc
    import ray

    def length(batch):
        return pa.table({"id": batch["id"], "made": pc.binary_length(batch["text"])})

    def expand(batch):
        return pa.table({"id": batch["id"], "made": backfill.random_batch(batch.num_rows)})

    def fill():
        columns = ["id", "text"] if workload == "length" else ["id"]
        data = ray.data.read_lance(folder, columns=columns)
        if workload == "length":
            data = data.map_batches(length, batch_format="pyarrow")
        else:
            data = data.map_batches(
                expand,
                batch_format="pyarrow",
                batch_size=backfill.EXPAND_BATCH,
                zero_copy_batch=True,
            )
        data.write_parquet(made)

    made = folder + ".ray"

    def there():
        return os.path.isdir(made) and any(is_whole(file.path) for file in os.scandir(made))

    return timed(fill, there)


def measure_nodes(folder, rows):
    """In a process of its own: seconds of a function that sleeps, by the number of nodes."""
    import leman
    import ray
    from ray.cluster_utils import Cluster

    @leman.udf(batch_size=4)
    def sleeps(id: int) -> int:
        time.sleep(SLEEP_SECONDS)
        return id

    def meeting(count):
        """A function that ends when so many workers have come, so that all of them are warm."""
        met = os.path.join(folder, f"met{count}")
        os.makedirs(met)

        @leman.udf(batch_size=4)
        def meets(id: int) -> int:
            open(os.path.join(met, str(os.getpid())), "w").close()
            while len(os.listdir(met)) < count:
                time.sleep(0.01)
            return id

        return meets

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    ray.init(address=cluster.address, logging_level="error", log_to_driver=False)
    times = {}
    for count in (1, 2):
        cluster.add_node(num_cpus=2)
        cluster.wait_for_nodes()
        options = {"engine": "ray", "progress": False, "concurrency": count, "num_cpus": 2}
        for name, made, function in (
            ("small", SMALL_ROWS, meeting(count)),
            ("large", rows, sleeps),
        ):
            path = os.path.join(folder, f"{name}{count}")
            MAKERS["expand"](path, made)
            table = leman.open(path)
            table.add_columns({"made": function})
            began = time.perf_counter()
            table.backfill("made", **options)
            times[count] = time.perf_counter() - began
    ray.shutdown()
    cluster.shutdown()
    print(json.dumps(times))


def show_nodes(rows, times):
    alone = rows * SLEEP_SECONDS
    print(
        f"\n## nodes\n\n{rows:,} rows, each of a call that sleeps {1000 * SLEEP_SECONDS:.0f} ms; "
        "one worker on each node, which is warm.\n"
    )
    lines = [
        [count, f"{seconds:.2f} s", f"{times['1'] / seconds:.2f}x", f"{alone / seconds:.2f}x"]
        for count, seconds in times.items()
    ]
    headings = ["nodes", "time", "beside one node", "beside the sleep alone"]
    print(markdown(headings, lines), flush=True)


SIDES = {"leman": run_leman, "Ray Data": run_ray_data}


def measure_workload(workload, folder, rows, turns):
    """In a process of its own: a Ray, and turns on it; a small run before each that counts."""
    import logging

    import ray

    ray.init(address="local", include_dashboard=False, log_to_driver=False, logging_level="error")
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    times = {side: [] for side in SIDES}
    for turn in range(turns):
        for side in SIDES if turn % 2 else reversed(SIDES):
            small, large = (os.path.join(folder, name) for name in ("small", "large"))
            MAKERS[workload](small, SMALL_ROWS)
            MAKERS[workload](large, rows)
            SIDES[side](workload, small)
            times[side].append(SIDES[side](workload, large))
            shutil.rmtree(folder)
            os.makedirs(folder)
    print(json.dumps(times))


def measure(workload, rows, turns):
    folder = tempfile.mkdtemp(prefix="leman-bench-")
    try:
        given = [workload, folder, str(rows), str(turns)]
        command = [sys.executable, __file__, "--workload", *given]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout.splitlines()[-1])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def show(workload, rows, turns, times):
    middle = {
        side: {key: statistics.median(turn[key] for turn in found) for key in found[0]}
        for side, found in times.items()
    }
    theirs = middle["Ray Data"]
    lines = [
        [
            side,
            f"{rows / found['seconds']:,.0f}",
            f"{found['seconds']:.2f} s",
            f"{found['first']:.2f} s",
            f"{theirs['seconds'] / found['seconds']:.1f}x",
        ]
        for side, found in middle.items()
    ]
    print(f"\n## {workload}\n\n{rows:,} rows, {WHAT[workload]}; the median of {turns} turns.\n")
    headings = ["side", "rows/s", "time", "first row", "beside Ray Data"]
    print(markdown(headings, lines), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the rows")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--markdown", action="store_true", help="print docs/bench/ray.md")
    parser.add_argument("--workload", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.workload is not None:
        workload, folder, rows, turns = given.workload
        if workload == "nodes":
            measure_nodes(folder, int(rows))
        else:
            measure_workload(workload, folder, int(rows), int(turns))
        return
    if given.markdown:
        from ingest import machine

        versions = ", ".join(f"{name} {metadata.version(name)}" for name in VERSIONS)
        print(PAGE.format(machine=machine(), versions=versions), end="")
    for workload in given.only:
        rows = int(ROWS[workload] * given.scale)
        times = measure(workload, rows, given.turns)
        if workload == "nodes":
            show_nodes(rows, times)
        else:
            show(workload, rows, given.turns, times)


if __name__ == "__main__":
    main()
