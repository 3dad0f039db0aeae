# SPDX-License-Identifier: Apache-2.0
"""Blobs that are paid for: streamed to their place, and not paid for twice, whatever is killed."""

import os
import random
import signal
import subprocess
import sys
import textwrap
from collections import defaultdict

import leman
import pyarrow as pa
import pytest

here_only = pytest.mark.skipif(
    os.environ.get("LEMAN_ENGINE") == "ray", reason="workers are not children of the driver"
)

MIB = 1 << 20
ROWS = 15
SIZES = (0, 100, 70_000, 3 * MIB, 9 * MIB)


def payload(n):
    return random.Random(n).randbytes(SIZES[n % 5])


PROGRAM = """
    import asyncio, io, os, pathlib, random, signal, sys, threading
    import leman
    import pyarrow as pa

    HERE = pathlib.Path(__file__).parent
    SIZES = {sizes}

    def step(n, name):
        "Kill the driver and its workers, if this is where; rows behind it wait for that."
        row, _, place = os.environ["KILL_AT"].partition(" ")
        if row and n > int(row):
            threading.Event().wait()
        if (str(n), name) == (row, place):
            os.kill(os.getppid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

    class Dribble:
        "A file that does not know its size."

        def __init__(self, n, data):
            self.n, self.file = n, io.BytesIO(data)

        def read(self, count):
            if self.file.tell() > 0:
                step(self.n, "read")
            return self.file.read(min(count, 300_000))

        def close(self):
            step(self.n, "close")

    def value(n):
        with open(HERE / "calls", "a") as calls:
            calls.write(f"{{n}} {{os.getpid()}}\\n")
        step(n, "call")
        data = random.Random(n).randbytes(SIZES[n % 5])
        return (data, io.BytesIO(data), Dribble(n, data))[n % 3]

    @leman.udf(data_type=leman.blob(), paid=True)
    def plain(n: int):
        return value(n)

    @leman.udf(data_type=leman.blob(), paid=True, async_concurrency=3, batch_size=15)
    async def in_flight(n: int):
        return await asyncio.to_thread(value, n)

    @leman.udf(data_type=leman.blob(), paid=True, batch_size=2)
    def arrays(n: pa.Array) -> pa.Array:
        made = [value(i.as_py()) for i in n]
        return pa.array([v if isinstance(v, bytes) else (v if isinstance(v, io.BytesIO) else v.file)
                         .read() for v in made], pa.large_binary())

    if __name__ == "__main__":
        table = leman.open({path!r})
        kind, where = sys.argv[1:]
        table.add_columns({{"data": (globals()[kind], ["n"])}})
        first = os.environ["FIRST_COMMIT"] == "True" or None
        table.backfill("data", concurrency=2, progress=False, where=where or None,
                       first_commit=first)
"""


class Place:
    def __init__(self, folder, kind):
        self.kind = kind
        self.calls = folder / "calls"
        self.program = folder / "run.py"
        self.table = leman.create(folder / "t.lance", pa.table({"n": range(ROWS)}))
        text = textwrap.dedent(PROGRAM).format(path=self.table.path, sizes=SIZES)
        self.program.write_text(text)

    def run(self, kill_at="", where="", first=False):
        """Killed there; the number of calls that were made in all."""
        command = [sys.executable, str(self.program), self.kind, where]
        env = {**os.environ, "KILL_AT": kill_at, "FIRST_COMMIT": str(first)}
        ended = subprocess.run(command, env=env, timeout=120)
        assert ended.returncode == (-signal.SIGKILL if kill_at else 0)
        return len(self.made())

    def made(self):
        """(row, process) of each call."""
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [tuple(map(int, line.split())) for line in lines]

    def again(self, end):
        """Of each process that made one of the first calls: its rows that were called later."""
        later = {row for row, _ in self.made()[end:]}
        rows = defaultdict(set)
        for row, process in self.made()[:end]:
            rows[process].add(row)
        return [asked & later for asked in rows.values()]

    def check(self, rows=range(ROWS)):
        self.table.refresh()
        found = self.table.scan(columns=["n", "data"], blobs="bytes").to_arrow().to_pylist()
        found = {row["n"]: row["data"] for row in found}
        assert set(found) == set(range(ROWS))
        for n, value in found.items():
            assert value == (payload(n) if n in rows else None), n


@here_only
@pytest.mark.parametrize(("kind", "most"), [("plain", 1), ("in_flight", 3), ("arrays", 2)])
def test_paid_blobs__killed_at_each_step(tmp_path, kind, most):
    """Two workers write one fragment; a process has not lost more than it may have in flight."""
    place = Place(tmp_path, kind)
    steps = ["5 call", "8 read", "8 close", "13 call"]
    if kind == "arrays":  # files are read in the call
        steps = ["5 call", "13 call"]
    ends = [place.run(step) for step in steps]
    place.run()
    place.check()
    assert {row for row, _ in place.made()} == set(range(ROWS))
    for end in ends:
        assert max(map(len, place.again(end))) <= most, (end, place.made())


@here_only
@pytest.mark.parametrize(("kind", "most"), [("plain", 1), ("arrays", 2)])
def test_paid_blobs__of_which_the_first_are_committed_early(tmp_path, kind, most):
    """Their file goes into the table while others of the fragment are kept beside it."""
    place = Place(tmp_path, kind)
    ends = [place.run("9 call", first=True)]
    place.table.refresh()
    assert 0 < place.table.count_rows("leman_state('data') = 'ok'") < 9
    ends.append(place.run("13 call", first=True))
    place.run(first=True)
    place.check()
    for end in ends:
        assert max(map(len, place.again(end))) <= most, (end, place.made())


@here_only
def test_paid_blobs__follow_rows_that_others_moved(tmp_path):
    """Rows are in another fragment when the job goes on."""
    place = Place(tmp_path, "in_flight")
    end = place.run("13 call")
    table = leman.open(place.table.path)
    table.append(pa.table({"n": pa.array([ROWS], pa.int64())}))
    table.compact()
    table.delete(f"n = {ROWS}")
    place.run()
    place.check()
    assert max(map(len, place.again(end))) <= 3, place.made()


@here_only
def test_paid_blobs__outlive_a_narrower_job(tmp_path):
    """It commits other rows of the fragment, whose file goes into the table."""
    place = Place(tmp_path, "in_flight")
    end = place.run("8 call")
    place.run(where="n >= 9")
    place.check(rows=range(9, ROWS))
    place.run()
    place.check()
    assert max(map(len, place.again(end))) <= 3, place.made()


class Zeros:
    """A file of zeros, which may know its size."""

    def __init__(self, size, known):
        self.left = size
        if known:
            self.remaining = size

    def read(self, count):
        count = min(count, self.left)
        self.left -= count
        return bytes(count)


@pytest.mark.parametrize("paid", [True, False])
@pytest.mark.parametrize("kind", ["plain", "in_flight"])
def test_values__are_never_whole_in_memory(tmp_path, kind, paid):
    """A worker grows by much less than one of them has; and their bytes are written once."""
    table = leman.create(tmp_path / "t.lance", pa.table({"n": range(5)}))
    size = 64 * MIB

    def value(n):
        if n in (1, 2, 3):
            return Zeros(size, n != 2)
        told = [open(f"/proc/self/{name}").read() for name in ("status", "io")]
        return "\n".join(told).encode()

    @leman.udf(data_type=leman.blob(), paid=paid)
    def plain(n: int):
        return value(n)

    @leman.udf(data_type=leman.blob(), paid=paid, async_concurrency=1, batch_size=5)
    async def in_flight(n: int):
        return value(n)

    table.add_columns({"data": (plain if kind == "plain" else in_flight, ["n"])})
    table.backfill("data", concurrency=1, progress=False, keep_warm=False)
    table.refresh()
    memory, written = zip(*(told_by(table, row) for row in (0, 4)), strict=True)
    assert memory[1] - memory[0] < 48 * MIB
    assert 3 * size <= written[1] - written[0] <= 1.02 * 3 * size
    for blob in table.take_blobs("data", [1, 2, 3]):
        with blob:
            assert blob.size == size
            blob.seek(-16, os.SEEK_END)
            assert blob.read() == bytes(16)


def told_by(table, row):
    """The memory that a worker had at most, and the bytes that it had written, in a row of it."""
    told = table.take([row], ["data"], blobs="bytes").to_pylist()[0]["data"].decode()
    told = dict(line.split(":") for line in told.splitlines() if line)
    return int(told["VmHWM"].split()[0]) * 1024, int(told["wchar"])
