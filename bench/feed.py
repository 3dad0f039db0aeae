#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shuffled batches for training, beside other loaders and plain reads.

Rows of a number and 20,000 random bytes, in batches of 64 in random order, with the page cache warm
and cold. `pread` is the limit: a C program whose threads read as many bytes from random places of
the table's file. Peers that are not installed are left out; tests/requirements-training.txt has
torch. A second part measures the first batch of a table of many rows, and the memory it takes.

    bench/feed.py [--scale 1.0] [--turns 3] [--seconds 1.0] [--only NAME ...] [--markdown]

--markdown prints the page docs/bench/feed.md.
"""

import argparse
import gc
import importlib.util
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import metadata

from measure import RawReads
from measure import table as markdown

ROW_BYTES, BATCH, GROUP, SHARD_ROWS = 20_000, 64, 50, 5000
ROWS, MANY_ROWS = 100_000, 100_000_000
SLOW = 20  # times slower than Leman: such a side has one turn
PAGE = """\
# Feeds, beside other loaders

Rows per second of {rows:,} rows of {bytes:,} random bytes, fully shuffled, in batches of {batch},
with the command

    .venv/bin/python bench/feed.py{scale} --markdown > docs/bench/feed.md

which prints this page. `pread` reads as many bytes from random places of the same file with as
many threads as the feed has; it is the limit. Sides take turns; the best of {turns} turns counts,
or the only one of a side that is more than {slow} times slower than Leman. Before each turn that is
cold the pages of the files are dropped.

The loader of PyTorch is `table.feed(format="torch").torch().loader()`: its batches are read by the
feed's threads and become tensors in the process that trains. Without workers it leaves out torch's
own loop, which takes about 20 us more for a batch. Workers are for transforms that take long: every
batch is copied to shared memory on its way, and the line below shows what that costs.

Measured on {machine}, with {versions}.
Other programs run there at the same time, which slows down all sides.
"""


def has(name):
    return importlib.util.find_spec(name) is not None


def record_batches(rows):
    """The rows, some at a time."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(5)
    for first in range(0, rows, SHARD_ROWS):
        count = min(SHARD_ROWS, rows - first)
        offsets = pa.py_buffer(np.arange(0, (count + 1) * ROW_BYTES, ROW_BYTES, dtype="i4"))
        data = pa.py_buffer(rng.bytes(count * ROW_BYTES))
        values = pa.Array.from_buffers(pa.binary(), count, [None, offsets, data])
        yield pa.record_batch({"id": pa.array(np.arange(first, first + count)), "data": values})


class Lance:
    """The table that Leman and pylance read."""

    def __init__(self, folder, rows):
        import leman

        self.rows, self.path = rows, os.path.join(folder, "table.lance")
        if not os.path.exists(self.path):
            leman.create(self.path, record_batches(rows), durable=False)


class Leman(Lance):
    def __init__(self, folder, rows, threads=None, format="arrow"):
        super().__init__(folder, rows)
        self.threads, self.format = threads, format

    def open(self, seed):
        import leman

        threads = self.threads or len(os.sched_getaffinity(0))
        return leman.open(self.path).feed(
            ["data"],
            BATCH,
            seed=seed,
            pin=False,
            num_workers=threads,
            prefetch=2 * threads,
            format=self.format,
        )


class LemanTorch(Leman):
    def __init__(self, folder, rows, workers=0):
        super().__init__(folder, rows, format="torch")
        self.workers = workers

    def open(self, seed):
        loader = super().open(seed).torch().loader(num_workers=self.workers)
        while True:
            yield from loader


class Pylance(Lance):
    def open(self, seed):
        import lance

        table, rng = lance.dataset(self.path), random.Random(seed)
        while True:
            yield table.take([rng.randrange(self.rows) for _ in range(BATCH)], columns=["data"])


class PylanceRows:
    """What a DataLoader asks for rows; a process of its own opens the table anew."""

    def __init__(self, path, rows):
        self.path, self.rows, self.table = path, rows, None

    def __len__(self):
        return self.rows

    def __getitems__(self, numbers):
        if self.table is None:
            import lance

            self.table = lance.dataset(self.path)
        return self.table.take(numbers, columns=["data"])["data"].to_pylist()


class PylanceTorch(Lance):
    def __init__(self, folder, rows, workers=0):
        super().__init__(folder, rows)
        self.workers = workers

    def open(self, seed):
        import torch

        torch.manual_seed(seed)
        loader = torch.utils.data.DataLoader(
            PylanceRows(self.path, self.rows),
            batch_size=BATCH,
            shuffle=True,
            collate_fn=list,
            num_workers=self.workers,
            multiprocessing_context="spawn" if self.workers else None,
        )
        while True:
            yield from loader


class ArrayRecord:
    def __init__(self, folder, rows, group):
        from array_record.python.array_record_module import ArrayRecordWriter

        self.rows, self.path = rows, os.path.join(folder, f"group-{group}.array_record")
        if not os.path.exists(self.path):
            writer = ArrayRecordWriter(self.path, f"group_size:{group},uncompressed")
            for batch in record_batches(rows):
                for value in batch["data"].to_pylist():
                    writer.write(value)
            writer.close()

    def open(self, seed):
        from array_record.python.array_record_module import ArrayRecordReader

        reader, rng = ArrayRecordReader(self.path, "readahead_buffer_size:0"), random.Random(seed)
        while True:
            yield reader.read([rng.randrange(self.rows) for _ in range(BATCH)])


class Grain(ArrayRecord):
    def open(self, seed):
        import grain.python as grain

        source = grain.ArrayRecordDataSource(self.path)
        data = grain.MapDataset.source(source).seed(seed).shuffle().repeat()
        return iter(data.to_iter_dataset().batch(BATCH, batch_fn=list))


class WebDataset:
    """Shards in order, rows mixed in a buffer of a thousand: no full shuffle."""

    def __init__(self, folder, rows):
        import webdataset

        self.path = os.path.join(folder, "shards")
        if not os.path.exists(self.path):
            os.mkdir(self.path)
            for number, batch in enumerate(record_batches(rows)):
                with webdataset.TarWriter(f"{self.path}/{number:05}.tar") as writer:
                    for i, value in enumerate(batch["data"].to_pylist()):
                        writer.write({"__key__": f"{number}-{i}", "bin": value})

    def open(self, seed):
        import webdataset

        shards = sorted(os.path.join(self.path, name) for name in os.listdir(self.path))
        data = webdataset.WebDataset(shards, shardshuffle=len(shards), seed=seed)
        return iter(data.shuffle(1000).batched(BATCH, collation_fn=list).repeat())


class Parquet:
    def __init__(self, folder, rows):
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.rows, self.path = rows, os.path.join(folder, "rows.parquet")
        if not os.path.exists(self.path):
            schema = pa.schema([("id", pa.int64()), ("data", pa.binary())])
            options = {"compression": "none", "use_dictionary": False}
            with pq.ParquetWriter(self.path, schema, **options) as writer:
                for batch in record_batches(rows):
                    writer.write_batch(batch, row_group_size=GROUP)

    def open(self, seed):
        import pyarrow.parquet as pq

        file, rng = pq.ParquetFile(self.path, memory_map=True), random.Random(seed)
        while True:
            values = []
            for _ in range(BATCH):
                number = rng.randrange(self.rows)
                group = file.read_row_group(number // GROUP, columns=["data"])
                values.append(group["data"][number % GROUP])
            yield values


SIDES = {
    "Leman": (Leman, {}, ()),
    "Leman, 16 threads": (Leman, {"threads": 16}, ()),
    "Leman, NumPy": (Leman, {"format": "numpy"}, ()),
    "Leman in a PyTorch DataLoader": (LemanTorch, {}, ("torch",)),
    "the same with 2 workers": (LemanTorch, {"workers": 2}, ("torch",)),
    "pylance `take`": (Pylance, {}, ("lance",)),
    "pylance in a PyTorch DataLoader": (PylanceTorch, {}, ("lance", "torch")),
    "pylance in one with 2 workers": (PylanceTorch, {"workers": 2}, ("lance", "torch")),
    "ArrayRecord, groups of 1": (ArrayRecord, {"group": 1}, ("array_record",)),
    "ArrayRecord, groups of 64": (ArrayRecord, {"group": 64}, ("array_record",)),
    "Grain on ArrayRecord": (Grain, {"group": 1}, ("grain", "array_record")),
    "WebDataset, buffer of 1000": (WebDataset, {}, ("webdataset",)),
    "Parquet, row groups of 50": (Parquet, {}, ("pyarrow",)),
}


def drop_pages(path):
    """Have a file, or those below a folder, read from the device again."""
    names = [path] if os.path.isfile(path) else [e.path for e in os.scandir(path)]
    for name in names:
        if os.path.isdir(name):
            drop_pages(name)
            continue
        descriptor = os.open(name, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def read_pages(path):
    subprocess.run(
        ["find", path, "-type", "f", "-exec", "cat", "{}", "+"], stdout=subprocess.DEVNULL
    )


def speed(side, seed, seconds):
    """Rows per second; the first batch, which opens everything, is not counted."""
    batches = side.open(seed)
    next(batches)
    gc.collect()
    count, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        next(batches)
        count += 1
    return count * BATCH / elapsed


def measure(folder, rows, turns, seconds, only):
    """{name: [warm, cold]} of rows per second, and those that are not there."""
    raw, cpus = RawReads(folder), len(os.sched_getaffinity(0))
    table = Lance(folder, rows)
    sides, missing = {}, []
    for name, (kind, options, needs) in SIDES.items():
        if only and not any(part in name for part in only):
            continue
        if all(map(has, needs)):
            tell(f"files: {name}")
            sides[name] = kind(folder, rows, **options)
        else:
            missing.append(name)
    best = {}
    for turn in range(turns):
        for cold in (0, 1):
            prepare = drop_pages if cold else read_pages
            for threads in (cpus, 16, 64):
                prepare(table.path)
                got = raw.rows_per_second(table.path, threads, turn + 1, 100 if cold else 1500)
                keep(best, f"`pread`, {threads} threads", cold, got)
            for name, side in sides.items():
                if is_slow(best, name, cold):
                    continue
                tell(f"turn {turn}, {'cold' if cold else 'warm'}: {name}")
                prepare(side.path)
                keep(best, name, cold, speed(side, turn, seconds))
    tell("")
    return best, missing


def is_slow(best, name, cold):
    """Whether another turn of a side would change nothing."""
    return name in best and 0 < best[name][cold] * SLOW < best.get("Leman", [0, 0])[cold]


def tell(text):
    """Where the run is, for whoever waits for it."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def keep(best, name, cold, got):
    pair = best.setdefault(name, [0, 0])
    pair[cold] = max(pair[cold], got)


def measure_first(folder, many):
    """Seconds to the first batch of a table of many rows, and the memory of it."""
    code = """
import sys, time
import leman, pyarrow
def told(name):
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith(name)).split()[1])
table = leman.open(sys.argv[1])
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak starts again
before = told("VmRSS")
start = time.perf_counter()
batch = next(table.feed(batch_size=64, pin=False))
print(time.perf_counter() - start, told("VmHWM") - before)
"""
    import leman
    import numpy as np
    import pyarrow as pa

    lines = []
    for rows in (many // 100, many):
        path = os.path.join(folder, f"many-{rows}.lance")
        step = many // 100
        leman.create(
            path,
            (pa.record_batch({"id": np.arange(i, i + step)}) for i in range(0, rows, step)),
            durable=False,
            **{"schema": pa.schema([("id", pa.int64())])},
        )
        words = [sys.executable, "-c", code, path]
        best = min(
            tuple(map(float, subprocess.run(words, capture_output=True, check=True).stdout.split()))
            for _ in range(3)
        )
        lines.append([f"{rows:,}", f"{best[0] * 1e3:.1f} ms", f"{best[1] / 1024:.1f} MiB"])
        shutil.rmtree(path)
    return lines


def table_of(best):
    cpus = len(os.sched_getaffinity(0))
    peers = [n for n in best if n in SIDES and SIDES[n][0] not in (Leman, LemanTorch)]
    lines = []
    for name, pair in best.items():
        cells = [name]
        for cold, got in enumerate(pair):
            top = max((best[peer][cold] for peer in peers), default=0)
            threads = 16 if "16" in name else cpus
            raw = best[f"`pread`, {threads} threads"][cold]
            cells += [f"{got:,.0f}", f"{got / raw:.2f}"]
            cells.append(f"{got / top:.1f}x" if top else "")
            if not cold:
                cells.append(f"{got / best['Leman'][0]:.2f}" if "Leman" in best else "")
        lines.append(cells)
    head = ["side"]
    for state in ("warm", "cold"):
        head += [f"{state}, rows/s", "of `pread`", "to the best peer"]
        head += ["of Leman"] * (state == "warm")
    return markdown(head, lines)


def versions():
    names = ["pylance", "array-record", "grain", "webdataset", "torch", "pyarrow"]
    found = []
    for name in names:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def machine():
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"a machine of {len(os.sched_getaffinity(0))} processors and {memory:.0f} GiB of memory"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--folder", help="keep what is made there; default: a temporary one")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    rows = max(int(ROWS * arguments.scale) // SHARD_ROWS, 1) * SHARD_ROWS
    folder = arguments.folder or tempfile.mkdtemp(prefix="bench-feed-")
    os.makedirs(folder, exist_ok=True)
    try:
        best, missing = measure(folder, rows, arguments.turns, arguments.seconds, arguments.only)
        first = measure_first(folder, max(int(MANY_ROWS * arguments.scale), MANY_ROWS // 100))
    finally:
        if arguments.folder is None:
            shutil.rmtree(folder)

    if arguments.markdown:
        print(
            PAGE.format(
                rows=rows,
                bytes=ROW_BYTES,
                batch=BATCH,
                turns=arguments.turns,
                slow=SLOW,
                scale=f" --scale {arguments.scale:g}" if arguments.scale != 1 else "",
                machine=machine(),
                versions=versions(),
            )
        )
    print(table_of(best))
    if missing:
        print(f"\nNot installed: {', '.join(missing)}.")
    print("\n## The first batch of many rows\n")
    print("From opening the feed to its first batch, in a process of its own, and the memory that")
    print("the process has grown by at most.\n")
    print(markdown(["rows", "first batch", "memory"], first))


if __name__ == "__main__":
    main()
