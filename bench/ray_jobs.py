#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fill columns on a Ray of this machine, beside Ray Data on the same one.

Workloads, those of bench/backfill.py:

    length   the length of a text of 200 bytes, by arrays; checkpoints and fsync on
    expand   100,000 random bytes for every row of one fragment

    bench/ray_jobs.py [--only NAME ...] [--scale 1.0] [--turns 3]

Each turn starts a Ray of its own; both sides run in it once over a small table first, and then over
the large one. Leman adds a column to the table; Ray Data has no way to add one and writes the key
and the column as Parquet files (its write_lance() of 2.60 does not go with pylance 14). "first row"
is when the first row is in a version of its table, or in a file.
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

import backfill
from measure import table as markdown

TURNS = 3
SMALL_ROWS = 1000
CPUS = 0.9  # so that the tracker's tenth leaves room for a worker on every processor
ROWS = {"length": backfill.LENGTH_ROWS, "expand": backfill.EXPAND_ROWS}
MAKERS = {"length": backfill.make_texts, "expand": backfill.make_ids}


def first_commit(table, began, found, ended):
    """Note when a job of the table has its first rows in a version."""
    while not ended.wait(0.02):
        if any(job.status().get("rows_committed", 0) for job in table.jobs()):
            found.append(time.perf_counter() - began)
            return


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
    began, found, ended = time.perf_counter(), [], threading.Event()
    watcher = threading.Thread(target=first_commit, args=(table, began, found, ended))
    watcher.start()
    result = table.backfill("made", engine="ray", progress=False)
    seconds = time.perf_counter() - began
    ended.set()
    watcher.join()
    assert result.rows_committed == len(table)
    return {"seconds": seconds, "first": min(found, default=seconds)}


def run_ray_data(workload, folder):
    import pyarrow as pa
    import pyarrow.compute as pc
    import ray

    def length(batch):
        return pa.table({"id": batch["id"], "made": pc.binary_length(batch["text"])})

    def expand(batch):
        return pa.table({"id": batch["id"], "made": backfill.random_batch(batch.num_rows)})

    began = time.perf_counter()
    columns = ["id", "text"] if workload == "length" else ["id"]
    data = ray.data.read_lance(folder, columns=columns)
    if workload == "length":
        data = data.map_batches(length, batch_format="pyarrow")
    else:
        data = data.map_batches(
            expand, batch_format="pyarrow", batch_size=backfill.EXPAND_BATCH, zero_copy_batch=True
        )
    data.write_parquet(folder + ".ray")
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "first": seconds}


SIDES = {"leman": run_leman, "Ray Data": run_ray_data}


def measure_side(workload, side, folder, rows):
    """In a process of its own: a Ray, a small run, and the one that counts."""
    import logging

    import ray

    ray.init(address="local", include_dashboard=False, log_to_driver=False, logging_level="error")
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    make, run = MAKERS[workload], SIDES[side]
    make(os.path.join(folder, "small"), SMALL_ROWS)
    make(os.path.join(folder, "large"), rows)
    run(workload, os.path.join(folder, "small"))
    print(json.dumps(run(workload, os.path.join(folder, "large"))))


def measure(workload, side, rows):
    folder = tempfile.mkdtemp(prefix="leman-bench-")
    try:
        command = [sys.executable, __file__, "--side", workload, side, folder, str(rows)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout.splitlines()[-1])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the rows")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--side", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side is not None:
        workload, side, folder, rows = given.side
        measure_side(workload, side, folder, int(rows))
        return
    for workload in given.only:
        rows = int(ROWS[workload] * given.scale)
        times = {side: [] for side in SIDES}
        for _ in range(given.turns):
            for side in SIDES:
                times[side].append(measure(workload, side, rows))
        best = {
            side: {key: statistics.median(turn[key] for turn in turns) for key in turns[0]}
            for side, turns in times.items()
        }
        lines = [
            [
                side,
                f"{rows / found['seconds']:,.0f}",
                f"{found['seconds']:.2f} s",
                f"{found['first']:.2f} s",
                f"{best['Ray Data']['seconds'] / found['seconds']:.1f}x",
            ]
            for side, found in best.items()
        ]
        print(f"\n{workload}, {rows:,} rows, median of {given.turns}\n")
        print(markdown(["side", "rows/s", "time", "first row", "beside Ray Data"], lines))


if __name__ == "__main__":
    main()
