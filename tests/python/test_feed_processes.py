# SPDX-License-Identifier: Apache-2.0
"""Transforms of feeds in processes: wherever the function is written, and whatever it does."""

import functools
import os
import pickle
import signal
import subprocess
import sys
import threading

import leman
import numpy as np
import pytest

ROWS = 100


@pytest.fixture
def table(tmp_path):
    rows = {"id": list(range(ROWS)), "pair": np.arange(2 * ROWS, dtype="f4").reshape(ROWS, 2)}
    return leman.create(tmp_path / "t", rows)


def feed_of(table, transform, **options):
    options = {"format": "numpy", "batch_size": 10, "epochs": 1, "num_workers": 1, **options}
    return table.feed(transform=transform, transform_in="processes", **options)


PROGRAM = """
import leman

factor = 2

def transform(batch):
    return int(batch["id"].sum()) * factor

table = leman.open("t")
with table.feed(format="numpy", epochs=1, num_workers=1, transform=transform,
                transform_in="processes") as feed:
    print("sum", sum(feed))
"""


@pytest.mark.parametrize("way", ["script", "-c", "stdin", "ipython"])
def test_transform_of_a_program_without_a_guard(table, tmp_path, way):
    (tmp_path / "program.py").write_text(PROGRAM)
    arguments = {
        "script": ["program.py"],
        "-c": ["-c", PROGRAM],
        "stdin": ["-"],
        "ipython": ["-m", "IPython", "--no-banner", "program.py"],
    }[way]
    done = subprocess.run(
        [sys.executable, *arguments],
        input=PROGRAM if way == "stdin" else "",
        cwd=tmp_path,
        env={**os.environ, "IPYTHONDIR": str(tmp_path / "ipython")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["sum", str(ROWS * (ROWS - 1))]


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, batch):
        return batch["id"] * self.factor


def test_transform_of_any_kind(table):
    plain = [batch["id"] for batch in table.feed(format="numpy", batch_size=10, epochs=1)]

    @functools.cache
    def offset():
        return 7

    def local(batch):
        return batch["id"] + offset()

    for transform, expected in [
        (lambda batch: -batch["id"], lambda ids: -ids),
        (local, lambda ids: ids + 7),
        (Scale(3), lambda ids: ids * 3),
        (functools.partial(lambda batch, by: batch["id"] - by, by=5), lambda ids: ids - 5),
    ]:
        with feed_of(table, transform) as feed:
            made = list(feed)
        assert all(ids.flags.writeable for ids in made)
        np.testing.assert_array_equal(made, [expected(ids) for ids in plain])


def test_transform_has_the_batch_in_its_format(table):
    def kinds(batch):
        batch["pair"] += 1
        return type(batch).__name__, batch["pair"].shape, os.getpid()

    with feed_of(table, kinds, num_workers=2) as feed:
        made = list(feed)
    assert {(name, shape) for name, shape, _ in made} == {("dict", (10, 2))}
    assert os.getpid() not in {process for *_, process in made}
    with feed_of(table, lambda rows: rows.slice(0, 1), format="arrow") as feed:
        assert [rows.num_rows for rows in feed] == [1] * 10


def test_transform_to_torch(table):
    torch = pytest.importorskip("torch")

    def transform(batch):
        return {**batch, "half": batch["pair"].to(torch.bfloat16), "one": batch["pair"][0, 0]}

    plain = table.feed(format="torch", batch_size=10, epochs=1)
    with feed_of(table, transform, format="torch") as feed:
        for made, batch in zip(feed, plain, strict=True):
            assert torch.equal(made["id"], batch["id"])
            assert torch.equal(made["pair"], batch["pair"])
            assert made["half"].dtype == torch.bfloat16 and made["one"].shape == ()


class OwnError(Exception):
    def __init__(self, first, second):  # does not survive a pickle
        super().__init__(first)


def test_transform_that_raises(table):
    class Odd(Exception):
        pass

    def odd(batch):
        if 3 in batch["id"]:
            raise Odd("three is odd")
        return len(batch["id"])

    with feed_of(table, odd, num_workers=2) as feed:
        sizes = []
        with pytest.raises(Odd, match="three is odd") as caught:
            sizes.extend(feed)
        assert "in odd" in str(caught.value.__cause__)
        assert feed.step == len(sizes) + 1
        sizes.extend(feed)
    assert sizes == [10] * 9

    def own(batch):
        raise OwnError("one", "two")

    with feed_of(table, own) as feed, pytest.raises(leman.FunctionError, match="OwnError: one"):
        next(feed)
    with feed_of(table, lambda _: threading.Lock()) as feed:
        with pytest.raises(TypeError, match="cannot pickle"):
            next(feed)


@pytest.mark.parametrize(
    "end, told",
    [
        (lambda: os._exit(3), "ended its process with exit code 3"),
        (lambda: sys.exit(4), "ended its process with exit code 4"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "had its process ended by SIGKILL"),
    ],
)
def test_transform_that_ends_its_process(table, end, told):
    """The batch is named, and the others arrive."""

    def transform(batch):
        if 42 in batch["id"]:
            end()
        return len(batch["id"])

    options = {"rank": 1, "world_size": 2, "remainder": "uneven"}
    while True:  # of two ranks, that of the row
        feed = feed_of(table, transform, num_workers=2, **options)
        rows = [feed.row_ids(step, options["rank"]) for step in range(5)]
        if any(42 in ids for ids in rows):
            break
        options["rank"] -= 1
    (step,) = [step for step, ids in enumerate(rows) if 42 in ids]
    ids = ", ".join(map(str, rows[step][:8]))
    message = f"{told} in the batch of step {step}, whose 10 rows have the ids {ids}"
    with feed:
        sizes = []
        with pytest.raises(leman.FunctionError, match=message) as caught:
            sizes.extend(feed)
        assert "transform()" in str(caught.value)
        sizes.extend(feed)
    assert sizes == [10] * 4


def test_transform_that_forks(table):
    """A fork that comes back from the transform answers nobody, and nobody waits for it."""

    def transform(batch):
        os.fork()
        return len(batch["id"])

    with feed_of(table, transform) as feed:
        assert list(feed) == [10] * 10


def test_transform_that_is_refused(table):
    lock = threading.Lock()
    with pytest.raises(leman.InvalidError, match="closure variable 'lock' of .*cannot be sent"):
        feed_of(table, lambda batch: lock)
    with pytest.raises(TypeError, match="transform is a function from batch to batch, not 3"):
        table.feed(transform=3)


def test_transform_goes_along_with_its_feed(table):
    feed = feed_of(table, lambda batch: batch["id"].tolist())
    with feed:
        next(feed)
        with pickle.loads(pickle.dumps(feed)) as copy:
            assert list(copy) == list(feed)


HANGS = """
import os
import leman

os.mkfifo("never")

def transform(batch):
    if 10 in batch["id"]:
        open("never").close()
    return batch["id"].tolist()

feed = leman.open("t").feed(shuffle=False, batch_size=10, format="numpy", num_workers=2,
                            transform=transform, transform_in="processes")
assert next(feed) == list(range(10))
feed.close()
feed.skip(1)
assert next(feed) == list(range(20, 30))
feed.seek(0)
next(feed)
print("end")
"""


def test_transform_is_stopped_with_its_feed(table, tmp_path):
    """A batch that never comes does not keep a feed from being closed, or a program from ending."""
    done = subprocess.run([sys.executable, "-c", HANGS], cwd=tmp_path, capture_output=True)
    assert (done.stdout, done.stderr) == (b"end\n", b"")
