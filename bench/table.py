#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Read, write and open Lance tables, beside pylance.

Workloads: scans and filters of many rows; shuffled takes of large rows, with the page cache warm
and cold, beside plain reads of as many bytes; many small commits; a table of many fragments; an
upsert into many rows; memory. Sides take turns in one process, but for the last two, whose memory
is measured and which have a process for each side, and takes of all rows.

    bench/table.py [--only NAME ...] [--scale 1.0] [--markdown]

--markdown prints the page docs/bench/table.md.
"""

import argparse
import itertools
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata

REPEATS, TAKE_REPEATS, UPSERT_TURNS = 5, 5, 2
SCAN_ROWS, BATCH_ROWS = 2_000_000, 8192
TAKE_ROWS, TAKE_BYTES, TAKE_BATCH, TAKE_BATCHES = 100_000, 20_000, 64, 100
TAKE_LIMIT_THREADS = (16, 64, 128)
COMMITS, FRAGMENTS = 1000, 100_000
UPSERT_ROWS, UPSERT_KEYS = 10_000_000, 100_000
VECTOR_ROWS, VECTOR_FLOATS = 1_000_000, 128
TITLE = "Lance tables, beside pylance"
PAGE = """\
# {title}

How long Leman and pylance take for the same work on tables, with the command

    .venv/bin/python bench/table.py --markdown > docs/bench/table.md

which prints this page. Ratios are pylance's time over Leman's: above 1 Leman is faster. Sides take
turns, in one process where nothing else is said; times are the best of {repeats} turns. Both have
as many threads as they want, and both read the same table, which pylance wrote as version 2.1.

Measured on {machine},
with {versions}. Other programs run there at the same time, which slows down
both sides: between two runs a ratio has differed by up to a factor of two.
"""


def make_rows(count):
    """Rows of an int64, a float32, a string of three words and an embedding of 128 floats."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    rng = np.random.default_rng(7)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", "u1")
    words = pa.array(
        [letters[rng.integers(0, 26, rng.integers(3, 10))].tobytes().decode() for _ in range(2000)]
    )
    picks = [words.take(pa.array(rng.integers(0, len(words), count))) for _ in range(3)]
    return pa.table(
        {
            "i": rng.integers(0, 1_000_000, count),
            "f": rng.random(count, dtype="f4"),
            "s": pc.binary_join_element_wise(*picks, " "),
            "e": pa.FixedSizeListArray.from_arrays(rng.random(count * 128, dtype="f4"), 128),
        }
    )


def side_by_side(ours, theirs):
    return [f"{ours * 1e3:.2f} ms", f"{theirs * 1e3:.2f} ms", f"{theirs / ours:.1f}x"]


def measure_scan(folder, scale):
    """Scans of {rows:,} rows of int64, float32, string and an embedding of 128 floats, in batches
    of {batch:,} rows, with the page cache warm. A filter returns all columns of its rows."""
    import lance
    import leman
    import pyarrow as pa
    from measure import best_of_both, table

    path = os.path.join(folder, "scan.lance")
    rows = make_rows(int(SCAN_ROWS * scale))
    lance.write_dataset(rows, path, data_storage_version="2.1")
    text = rows["s"][len(rows) // 2].as_py()
    del rows
    ours, theirs = leman.open(path), lance.dataset(path)

    def drain(batches):
        return sum(batch.num_rows for batch in batches)

    def scan_ours(columns, where):
        return pa.RecordBatchReader.from_stream(ours.scan(columns, where, batch_size=BATCH_ROWS))

    def scan_theirs(columns, where):
        return theirs.to_batches(columns, filter=where, batch_size=BATCH_ROWS)

    cases = {
        "all columns": (None, None),
        "int64": (["i"], None),
        "float32": (["f"], None),
        "string": (["s"], None),
        "embedding": (["e"], None),
        "int64 and string": (["i", "s"], None),
        "where int64 is one of a million": (None, "i = 500000"),
        "where int64 is below 20": (None, "i < 20"),
        "where float32 is in the lowest tenth": (None, "f < 0.1"),
        "the same, int64 and float32 only": (["i", "f"], "f < 0.1"),
        "where string equals": (None, f"s = '{text}'"),
        "where string is LIKE 'ab%'": (None, "s LIKE 'ab%'"),
    }
    lines = []
    for name, case in cases.items():
        if drain(scan_ours(*case)) != drain(scan_theirs(*case)):
            sys.exit(f"{name}: the two sides read different rows")
        best = best_of_both(
            lambda case=case: drain(scan_ours(*case)),
            lambda case=case: drain(scan_theirs(*case)),
            REPEATS,
        )
        lines.append([name, *side_by_side(*best)])
    about = measure_scan.__doc__.format(rows=int(SCAN_ROWS * scale), batch=BATCH_ROWS)
    return about, table(["scan", "Leman", "pylance", "ratio"], lines)


def drop_pages(path):
    """Have the files below a folder read from the device again."""
    for place, _, names in os.walk(path):
        for name in names:
            descriptor = os.open(os.path.join(place, name), os.O_RDONLY)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def make_takes(path, count):
    """A table of an int64 and random bytes."""
    import lance
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(5)
    schema = pa.schema({"id": pa.int64(), "data": pa.binary()})

    def batches():
        for first in range(0, count, 1000):
            ids = np.arange(first, min(first + 1000, count))
            values = pa.array([rng.bytes(TAKE_BYTES) for _ in ids], pa.binary())
            yield pa.record_batch({"id": ids, "data": values})

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    lance.write_dataset(reader, path, data_storage_version="2.1")


def data_file(path):
    """The only data file of a table."""
    (name,) = os.listdir(os.path.join(path, "data"))
    return os.path.join(path, "data", name)


class Takes:
    """The sides of a take, and the batches that all of them read: other ones for each turn."""

    SIDES = ("leman", "pylance", "pread")

    def __init__(self, path, seed=5):
        import numpy as np

        self._path, self._rng = path, np.random.default_rng(seed)
        self._descriptor = os.open(data_file(path), os.O_RDONLY)
        self._buffers = [bytearray(TAKE_BYTES) for _ in range(TAKE_BATCH)]
        self.prepare(TAKE_BATCHES)

    def prepare(self, batches=None, cold=False):
        """What is opened here has not seen the turns before, nor what they have read."""
        import lance
        import leman
        import numpy as np

        self._leman, self._pylance = leman.open(self._path), lance.dataset(self._path)
        rows = len(self._leman)
        self._step = os.path.getsize(data_file(self._path)) / rows
        picks = self._rng.permutation(rows)[: batches and TAKE_BATCH * batches]
        self.parts = np.split(picks, range(TAKE_BATCH, len(picks), TAKE_BATCH))
        if cold:
            drop_pages(self._path)

    def check(self):
        import pyarrow as pa

        ours = pa.record_batch(self._leman.take(self.parts[0]))
        if ours != self._pylance.take(self.parts[0]).combine_chunks().to_batches()[0]:
            sys.exit("the two sides took different rows")

    def leman(self):
        import pyarrow as pa

        for part in self.parts:
            pa.record_batch(self._leman.take(part))

    def pylance(self):
        for part in self.parts:
            self._pylance.take(part)

    def pread(self):
        for part in self.parts:
            for row, buffer in zip(part.tolist(), self._buffers, strict=False):
                os.preadv(self._descriptor, [buffer], int(row * self._step))


def epoch_side(side, path, seed):
    """Take all rows, with nothing in memory before; prints the batches per second."""
    takes = Takes(path, seed)
    takes.prepare(cold=True)
    print(len(takes.parts) / seconds_of(getattr(takes, side)))


def epoch_rates(path):
    """The best of all turns of each side; each turn is a process of its own."""
    best = dict.fromkeys(Takes.SIDES, 0)
    for turn, side in itertools.product(range(TAKE_REPEATS), Takes.SIDES):
        command = [sys.executable, __file__, "--epoch", side, path, str(turn)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        best[side] = max(best[side], float(done.stdout))
    return list(best.values())


def measure_take(folder, scale):
    """Rows in random order, in batches of {batch}, from {rows:,} rows of an int64 and {size:,}
    random bytes, which another process has written. `pread` reads as many bytes at the same places
    of the same file, in the same order and with one thread. Random reads are the most that
    {threads} threads of a C program read at random places of the file, through the system's cache
    or past it and without batches to wait for. The first lines are {batches} batches; the last one
    is all rows, each once, as in the first epoch of a training: each side has a process for it.
    Before each part that is cold the pages of the file are dropped, and the table is opened
    anew."""
    from measure import RawReads, best_of_each, table

    path = os.path.join(folder, "take.lance")
    rows = int(TAKE_ROWS * scale)
    subprocess.run([sys.executable, __file__, "--takes", path, str(rows)], check=True)
    takes, reads = Takes(path), RawReads(folder)
    takes.check()

    def rates_of(cold):
        sides = [getattr(takes, side) for side in Takes.SIDES]
        best = best_of_each(sides, TAKE_REPEATS, lambda: takes.prepare(TAKE_BATCHES, cold))
        return [len(takes.parts) / seconds for seconds in best]

    def limit_of(cold):
        limit = 0
        for turn, threads, past in itertools.product(
            range(TAKE_REPEATS), TAKE_LIMIT_THREADS, (False, True)
        ):
            takes.prepare(TAKE_BATCHES, cold)
            got = reads.rows_per_second(path, threads, turn, TAKE_BATCHES, past)
            limit = max(limit, got / TAKE_BATCH)
        return limit

    os.sync()
    parts = {"warm": [*rates_of(False), limit_of(False)]}  # it is in memory, as it was written
    cold_limit = limit_of(True)
    parts["cold"] = [*rates_of(True), cold_limit]
    parts["cold, all rows"] = [*epoch_rates(path), cold_limit]
    lines = []
    for name, (ours, *others) in parts.items():
        cells = [f"{rate:,.0f} batches/s" for rate in (ours, *others)]
        lines.append([name, *cells, *(f"{ours / rate:.2f}x" for rate in others)])
    *some, most = map(str, TAKE_LIMIT_THREADS)
    about = measure_take.__doc__.format(
        rows=rows,
        batch=TAKE_BATCH,
        batches=TAKE_BATCHES,
        size=TAKE_BYTES,
        threads=f"{', '.join(some)} or {most}",
    )
    headings = ["take", "Leman", "pylance", "`pread`", "random reads"]
    headings += ["Leman to pylance", "to `pread`", "to random reads"]
    return about, table(headings, lines)


def seconds_of(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure_commits(folder, scale):
    """{commits:,} appends of one row, each a commit; the sides take turns commit by commit. pylance
    does not wait for the device; Leman does unless told. Times are medians of 100 commits. Each
    append makes a fragment, which every manifest behind it names; a compaction joins them, and what
    is left then of the growth is that of the versions."""
    import lance
    import leman
    import pyarrow as pa
    from measure import best_of_both, table

    commits = max(int(COMMITS * scale), 200)
    row = pa.table({"id": [1], "f": pa.array([0.5], pa.float32()), "s": ["one row"]})
    paths = {name: os.path.join(folder, f"{name}.lance") for name in ("ours", "quick", "theirs")}
    ours = leman.create(paths["ours"], row)
    quick = leman.create(paths["quick"], row, durable=False)
    theirs = lance.write_dataset(row, paths["theirs"], data_storage_version="2.1")
    sides = {
        "Leman": lambda: ours.append(row),
        "Leman, `durable=False`": lambda: quick.append(row, durable=False),
        "pylance": lambda: theirs.insert(row),
    }
    times = {name: [] for name in sides}
    for _ in range(commits):
        for name, commit in sides.items():
            times[name].append(seconds_of(commit))
    lines = []
    ours.compact()
    times["Leman, 100 more behind a compaction"] = times["Leman"][:100] + [
        seconds_of(sides["Leman"]) for _ in range(100)
    ]
    for name, seconds in times.items():
        first, last = statistics.median(seconds[:100]), statistics.median(seconds[-100:])
        other = statistics.median(times["pylance"][-100:])
        cells = [f"{first * 1e3:.2f} ms", f"{last * 1e3:.2f} ms"]
        lines.append([name, *cells, f"{last / first:.2f}", f"{other / last:.1f}x"])
    best = best_of_both(
        lambda: leman.open(paths["ours"]).schema, lambda: lance.dataset(paths["theirs"]), REPEATS
    )
    headings = ["side", "first 100", "last 100", "last over first", "ratio to pylance"]
    text = table(headings, lines)
    text += "\n\n" + table(
        [f"after {commits:,} commits", "Leman", "pylance", "ratio"],
        [["open", *side_by_side(*best)]],
    )
    return measure_commits.__doc__.format(commits=commits), text


def make_fragments(path, count):
    """A table of `count` fragments of one row, which all have the same data file."""
    import lance
    import pyarrow as pa

    one = lance.write_dataset(pa.table({"id": [1], "s": ["a row"]}), path)
    fragment = one.get_fragments()[0].metadata
    text = json.dumps(fragment.to_json())
    copies = [lance.FragmentMetadata.from_json(text) for _ in range(count)]
    for number, copy in enumerate(copies):
        copy.id = number
    operation = lance.LanceOperation.Overwrite(one.schema, copies)
    lance.LanceDataset.commit(path, operation, read_version=1)


def measure_fragments(folder, scale):
    """A table of {fragments:,} fragments: to open it, and to open it and read its first row."""
    import lance
    import leman
    import pyarrow as pa
    from measure import best_of_both, table

    path = os.path.join(folder, "fragments.lance")
    count = max(int(FRAGMENTS * scale), 10)
    make_fragments(path, count)
    (manifest,) = (
        os.path.getsize(entry.path)
        for entry in sorted(os.scandir(os.path.join(path, "_versions")), key=lambda e: e.name)[:1]
    )
    steps = {
        "open": (lambda: leman.open(path).schema, lambda: lance.dataset(path).schema),
        "open and read one row": (
            lambda: pa.table(leman.open(path).scan(limit=1)),
            lambda: lance.dataset(path).to_table(limit=1),
        ),
        "open and count rows": (
            lambda: leman.open(path).count_rows(),
            lambda: lance.dataset(path).count_rows(),
        ),
    }
    lines = [
        [name, *side_by_side(*best_of_both(ours, theirs, REPEATS))]
        for name, (ours, theirs) in steps.items()
    ]
    about = measure_fragments.__doc__.format(fragments=count)
    about += f" The manifest has {manifest / 1e6:.1f} MB."
    return about, table(["step", "Leman", "pylance", "ratio"], lines)


def make_keyed(first, count):
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    keys = np.arange(first, first + count)
    values = np.random.default_rng(first).random(count, dtype="f4")
    return pa.table(
        {"k": keys, "f": values, "s": pc.cast(pa.array(keys * 7 % 100_003), pa.string())}
    )


def make_vectors(first, count):
    import numpy as np
    import pyarrow as pa

    values = np.random.default_rng(first).random(count * VECTOR_FLOATS, dtype="f4")
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values), VECTOR_FLOATS)
    return pa.table({"k": np.arange(first, first + count), "v": vectors})


UPSERTS = {  # rows, keys, what makes them
    "keys": (UPSERT_ROWS, UPSERT_KEYS, make_keyed),
    "vectors": (VECTOR_ROWS, VECTOR_ROWS, make_vectors),
}


def peak_bytes():
    """The most memory that this process has had; ru_maxrss counts its parent's, too."""
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def upsert_side(side, what, path, scale, turn):
    """Make the table (turn 0) or upsert into it; prints the seconds and the peak of memory."""
    import numpy as np

    rows, keys, make = UPSERTS[what]
    rows, keys = int(rows * scale), int(keys * scale)
    if side == "ours":
        import leman
    else:
        import lance
    start = time.perf_counter()
    if turn == 0:
        whole = make(0, rows)
        if side == "ours":
            leman.create(path, whole)
        else:
            lance.write_dataset(whole, path, data_storage_version="2.1")
    else:
        there = np.random.default_rng(turn).choice(rows, keys // 2, replace=False)
        data = make(rows + turn * keys, keys)
        data = data.set_column(0, "k", [np.concatenate([there, data["k"].to_numpy()[keys // 2 :]])])
        start = time.perf_counter()
        if side == "ours":
            result = leman.open(path).upsert(data, on="k")
            counts = [result.inserted, result.updated]
        else:
            merge = lance.dataset(path).merge_insert("k")
            merge = merge.when_matched_update_all().when_not_matched_insert_all()
            result = merge.execute(data)
            counts = [result["num_inserted_rows"], result["num_updated_rows"]]
        if counts != [keys - keys // 2, keys // 2]:
            sys.exit(f"{side}: {counts} rows inserted and updated")
    seconds = time.perf_counter() - start
    print(json.dumps([seconds, peak_bytes()]))


def peak_side(side, work, path):
    """Do the work; prints the peak of memory."""
    import numpy as np

    if side == "ours":
        import leman

        table = leman.open(path)
    else:
        import lance

        table = lance.dataset(path)
    where = "f < 0.1" if work == "filter" else None
    if work == "take":
        places = np.random.default_rng(3).permutation(table.count_rows())
        for part in np.split(places, range(TAKE_BATCH, len(places), TAKE_BATCH)):
            table.take(part)
    elif work != "open":
        batches = table.scan(where=where) if side == "ours" else table.to_batches(filter=where)
        for _ in batches:
            pass
    print(peak_bytes())


def measure_memory(folder, scale):
    """The peak of memory of a process that opens a table of {rows:,} rows as those of the scans,
    reads all of it in batches, or the lowest tenth by its float32; and of one that takes all of
    {takes:,} rows of {size:,} bytes in random order, in batches of {batch}."""
    import lance
    from measure import table

    rows, takes = int(SCAN_ROWS * scale), int(TAKE_ROWS * scale)
    paths = [os.path.join(folder, name) for name in ("scan.lance", "take.lance")]
    lance.write_dataset(make_rows(rows), paths[0], data_storage_version="2.1")
    make_takes(paths[1], takes)
    works = {"open": paths[0], "scan": paths[0], "filter": paths[0], "take": paths[1]}
    lines = []
    for work, path in works.items():
        peaks = []
        for side in ("ours", "theirs"):
            command = [sys.executable, __file__, "--peak", side, work, path]
            peaks.append(int(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
        cells = [f"{peak / 2**20:,.0f} MiB" for peak in peaks]
        lines.append([work, *cells, f"{peaks[1] / peaks[0]:.1f}x"])
    about = measure_memory.__doc__.format(rows=rows, takes=takes, size=TAKE_BYTES, batch=TAKE_BATCH)
    return about, table(["work", "Leman", "pylance", "ratio"], lines)


def upsert_best(folder, what, scale):
    """The least seconds and the most memory of each side, each in processes of its own."""
    best = {}
    for turn in range(UPSERT_TURNS + 1):
        for side in ("ours", "theirs"):
            path = os.path.join(folder, f"upsert-{what}-{side}.lance")
            command = [sys.executable, __file__, "--scale", str(scale)]
            command += ["--upsert", side, what, path, str(turn)]
            output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
            seconds, peak = json.loads(output)
            if turn:
                known = best.get(side, (math.inf, 0))
                best[side] = (min(known[0], seconds), max(known[1], peak))
    return best


def measure_upsert(folder, scale):
    """{keys:,} keys, half of them there, into {rows:,} rows of an int64 key, a float32 and a short
    string; {vectors:,} vectors of {floats} floats, half of them there, into as many. Each side has
    a process and a table of its own; memory is the peak of the process."""
    from measure import table

    lines = []
    for what in UPSERTS:
        best = upsert_best(folder, what, scale)
        for number, (name, show) in enumerate(
            [
                ("time", lambda seconds: f"{seconds:.2f} s"),
                ("peak of memory", lambda peak: f"{peak / 2**20:,.0f} MiB"),
            ]
        ):
            ours, theirs = (best[side][number] for side in ("ours", "theirs"))
            lines.append([f"{what}: {name}", show(ours), show(theirs), f"{theirs / ours:.1f}x"])
    about = measure_upsert.__doc__.format(
        keys=int(UPSERT_KEYS * scale),
        rows=int(UPSERT_ROWS * scale),
        vectors=int(VECTOR_ROWS * scale),
        floats=VECTOR_FLOATS,
    )
    return about, table(["upsert", "Leman", "pylance", "ratio"], lines)


WORKLOADS = {
    "scan": ("Scan", measure_scan),
    "take": ("Take", measure_take),
    "commits": ("Small commits", measure_commits),
    "fragments": ("Many fragments", measure_fragments),
    "upsert": ("Upsert", measure_upsert),
    "memory": ("Memory", measure_memory),
}


def page():
    """What stands above the tables of docs/bench/table.md."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("pylance", "pyarrow"))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    machine = f"a virtual machine of {os.cpu_count()} processors and {memory:.0f} GiB of memory"
    return PAGE.format(title=TITLE, machine=machine, versions=versions, repeats=REPEATS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies all counts")
    parser.add_argument("--markdown", action="store_true", help="print docs/bench/table.md")
    parser.add_argument("--epoch", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--takes", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--upsert", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--peak", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.epoch:
        side, path, turn = arguments.epoch
        epoch_side(side, path, int(turn))
        return
    if arguments.takes:
        make_takes(arguments.takes[0], int(arguments.takes[1]))
        return
    if arguments.peak:
        peak_side(*arguments.peak)
        return
    if arguments.upsert:
        side, what, path, turn = arguments.upsert
        upsert_side(side, what, path, arguments.scale, int(turn))
        return
    print(page().rstrip() if arguments.markdown else f"# {TITLE}", flush=True)
    for name in arguments.only:
        title, measure = WORKLOADS[name]
        folder = tempfile.mkdtemp(prefix="leman-bench-")
        try:
            about, text = measure(folder, arguments.scale)
        finally:
            shutil.rmtree(folder)
        about = "\n".join(line.strip() for line in about.splitlines())
        print(f"\n## {title}\n\n{about}\n\n{text}", flush=True)


if __name__ == "__main__":
    main()
