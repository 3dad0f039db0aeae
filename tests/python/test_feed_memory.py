# SPDX-License-Identifier: Apache-2.0
"""Memory of Python objects for the batches of a feed: plain memory here, pinned memory for torch.

That every buffer is read to there is tested in C; that tensors are views of it in
test_feed_pinned.py.
"""

import os
import subprocess
import sys
import weakref

import leman
import numpy as np
import pyarrow as pa
import pytest
from leman import _core
from leman.arrow import Batch

ROWS, BATCH = 200, 16
ALIGN = 64


class Piece:
    """Some bytes at an address that is a multiple of ALIGN."""

    def __init__(self, size):
        whole = np.zeros(size + ALIGN, np.uint8)
        self.bytes = whole[-whole.ctypes.data % ALIGN :][:size]
        self.address = self.bytes.ctypes.data


class Maker:
    """Makes pieces, up to a number, and knows which of them are alive."""

    def __init__(self, limit=None):
        self.made, self.limit = [], limit

    def __call__(self, size):
        if self.limit is not None and len(self.made) >= self.limit:
            return None
        piece = Piece(size)
        self.made.append(weakref.ref(piece))
        return piece, piece.address

    @property
    def alive(self):
        return sum(piece() is not None for piece in self.made)


@pytest.fixture
def table(tmp_path):
    rows = {
        "id": pa.array(range(ROWS), pa.int64()),
        "pair": pa.array([[i, -i] for i in range(ROWS)], pa.list_(pa.int32(), 2)),
        "data": pa.array([bytes([i]) * 9000 for i in range(ROWS)]),
    }
    return leman.create(tmp_path / "t", pa.table(rows))


def open_feed(table, make, **options):
    memory = _core.FeedMemory(make)
    options = {"batch_rows": BATCH, "shuffle": 0, "threads": 2, "prefetch": 3, **options}
    place = table.feed()._place
    return _core.Feed(_core.Table(*place), memory=memory, **options), memory


def columns(pair):
    """The memory of each column of a batch."""
    return {name: memory for name, _, memory, _, _ in _core.values_plain(*pair)}


def check_data(numbers, data):
    rows = np.frombuffer(data, np.uint8).reshape(-1, 9000)
    assert (rows == np.frombuffer(numbers, np.int64)[:, None]).all()


def test_batches_lie_in_the_memory(table):
    feed, memory = open_feed(table, Maker())
    found = 0
    for _ in range(30):
        batch = columns(feed.next())
        for values in batch.values():
            place = memory.find(values)
            if place is not None:  # the first batches are read before there is any memory
                piece, begin, end = place
                there = np.frombuffer(values, np.uint8)
                assert there.ctypes.data == piece.address + begin and end - begin == there.size
                found += 1
        check_data(batch["id"], batch["data"])
    stats = feed.stats()
    assert stats["not_placed"] < stats["placed"]
    assert found > 45 and stats["placed_bytes"] > found * BATCH
    assert memory.find(np.zeros(8)) is None
    with pytest.raises(TypeError):
        memory.find(7)


def test_what_was_found_is_not_used_again(table):
    """As a copy to a GPU may still read it when the batch is gone."""
    maker = Maker()
    feed, memory = open_feed(table, maker)
    held = []
    for _ in range(40):
        batch = columns(feed.next())
        place = memory.find(batch["data"])
        if place is not None:
            held.append((place, bytes(batch["id"])))
        del batch, place
    assert len(held) > 15
    for (piece, begin, end), numbers in held:
        check_data(numbers, piece.bytes[begin:end])
    assert len({place[0].address for place, _ in held}) == len(held)
    before = maker.alive
    del piece, held
    assert maker.alive < before - 15  # whose owner alone had kept them


def test_memory_is_bounded(table):
    maker = Maker()
    feed, memory = open_feed(table, maker)
    alive = []
    for _ in range(200):
        batch = columns(feed.next())
        memory.find(batch["data"])  # used once
        del batch
        alive.append(maker.alive)
    assert max(alive[20:]) <= 2 * 10 * (3 + 1)  # as many in stock as in use, at most
    used = len(maker.made)
    for _ in range(50):
        feed.next()  # never found: used again
    assert len(maker.made) - used <= 40  # of more than 200 buffers
    del feed, memory
    assert maker.alive == 0


def test_batches_outlive_their_feed(table):
    maker = Maker()
    feed, memory = open_feed(table, maker)
    pairs = [feed.next() for _ in range(9)]
    rows = [Batch(*pair).to_arrow() for pair in pairs]
    del feed, memory, pairs
    for row in rows:
        assert row["data"].to_pylist() == [bytes([i]) * 9000 for i in row["id"].to_pylist()]
    assert maker.alive > 0
    del row, rows
    assert maker.alive == 0


def test_no_more_memory(table):
    maker = Maker(limit=5)
    feed, _ = open_feed(table, maker, epochs=1)
    rows = 0
    while (pair := feed.next()) is not None:
        batch = columns(pair)
        check_data(batch["id"], batch["data"])
        rows += np.frombuffer(batch["id"], np.int64).size
    assert rows == ROWS and len(maker.made) == 5
    stats = feed.stats()
    assert stats["placed"] > 0 and stats["not_placed"] > 0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda size: 1 // 0, ZeroDivisionError, "zero"),
        (lambda size: size, TypeError, "tuple"),
        (lambda size: (b"", 12), ValueError, "address 12, which is no multiple of 64"),
    ],
)
def test_memory_that_cannot_be_made(table, make, error, message):
    """The failure is told once, and no batch is lost."""
    feed, _ = open_feed(table, make, epochs=1, shuffle=1)
    rows = failures = 0
    while True:
        try:
            pair = feed.next()
        except error as caught:
            assert message in str(caught)
            failures += 1
            continue
        if pair is None:
            break
        rows += _core.array_length(pair[1])
    assert (rows, failures) == (ROWS, 1)


def test_fork_leaves_the_memory_alone(table):
    feed, memory = open_feed(table, Maker())
    pairs = [feed.next() for _ in range(6)]
    child = os.fork()
    if child == 0:
        del pairs, feed, memory  # may not wait for threads that are not here
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert columns(pairs[0])["id"] is not None and feed.next() is not None


def test_end_of_the_interpreter(table):
    """Threads that read do not wait for Python when it ends."""
    code = """
import sys, numpy, leman
from leman import _core
def make(size):
    whole = numpy.zeros(size + 64, numpy.uint8)
    return whole, whole.ctypes.data + -whole.ctypes.data % 64
place = leman.open(sys.argv[1]).feed()._place
feed = _core.Feed(_core.Table(*place), memory=_core.FeedMemory(make), prefetch=8, batch_rows=4)
for _ in range(20):
    batch = feed.next()
"""
    done = subprocess.run([sys.executable, "-c", code, table.uri], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
