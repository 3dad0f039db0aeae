# SPDX-License-Identifier: Apache-2.0
"""Feeds from Python: formats, state, workers, forks. What a feed reads is tested in C."""

import datetime
import functools
import json
import multiprocessing
import os
import pickle
import re
import signal
import subprocess
import sys
import threading

import leman
import numpy as np
import pyarrow as pa
import pytest
from leman import _core

ROWS = 300


def make_rows(count=ROWS, first=0):
    numbers = list(range(first, first + count))
    vectors = pa.array(np.arange(count * 4, dtype="f4"))
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "value": pa.array([i / 2 for i in numbers], pa.float32()),
            "half": pa.array([None if i % 3 == 0 else i for i in numbers], pa.int32()),
            "flag": pa.array([i % 2 == 0 for i in numbers]),
            "text": pa.array([f"row {i}" for i in numbers]),
            "label": pa.array([f"l{i % 3}" for i in numbers]).dictionary_encode(),
            "data": pa.array([bytes([i % 256]) * (i % 5) for i in numbers]),
            "items": pa.array([None if i % 7 == 0 else list(range(i % 4)) for i in numbers]),
            "vector": pa.FixedSizeListArray.from_arrays(vectors, 4),
            "info": pa.array([{"width": i, "name": str(i)} for i in numbers]),
        }
    )


@pytest.fixture
def table(tmp_path):
    return leman.create(tmp_path / "t", make_rows(), max_rows_per_fragment=70)


def ids(batches):
    return [batch["id"].to_pylist() for batch in batches]


def test_feed_gives_every_row_once_per_epoch(table):
    batches = ids(table.feed(epochs=2, batch_size=32, seed=4))
    assert [len(batch) for batch in batches] == ([32] * 9 + [12]) * 2
    flat = [i for batch in batches for i in batch]
    assert sorted(flat[:ROWS]) == sorted(flat[ROWS:]) == list(range(ROWS))
    assert flat[:ROWS] != flat[ROWS:]
    assert batches == ids(table.feed(epochs=2, batch_size=32, seed=4, num_workers=3, prefetch=9))
    assert batches != ids(table.feed(epochs=2, batch_size=32, seed=5))


def test_feed_without_shuffle_is_a_scan(table):
    feed = table.feed(shuffle=False, epochs=1, batch_size=50)
    assert pa.Table.from_batches(feed).to_pylist() == make_rows().to_pylist()


def test_feed_blocks(table):
    batches = ids(table.feed(shuffle="block", block_size=10, window_size=30, epochs=1))
    flat = [i for batch in batches for i in batch]
    assert sorted(flat) == list(range(ROWS))
    for window in range(0, ROWS, 30):
        assert len({i // 10 for i in flat[window : window + 30]}) == 3


def test_feed_where_and_deleted_rows(table):
    table.delete("id % 10 = 0")
    feed = table.feed(columns="id", where="value < 100", epochs=1, batch_size=7)
    expected = [i for i in range(200) if i % 10 != 0]
    assert feed.num_rows == len(expected)
    assert sorted(i for batch in ids(feed) for i in batch) == expected


def test_feed_large_rows(tmp_path):
    """Rows that are read to where they stay, in the order of the batch, with repeats by padding."""
    rows = [bytes([i]) * (20_000 + i) for i in range(90)]
    table = leman.create(tmp_path / "t", pa.table({"id": list(range(90)), "data": rows}))
    table.delete("id = 13 or id = 14 or id = 77")
    feed = table.feed(epochs=2, batch_size=64, remainder="pad")
    for batch in feed:
        assert batch.num_rows == 64
        assert batch["data"].to_pylist() == [rows[i] for i in batch["id"].to_pylist()]
    order = [5, 80, 5, 5, 3, 81, 80]
    live = [i for i in range(90) if i not in (13, 14, 77)]
    taken = table.take(order).to_arrow()
    assert taken["data"].to_pylist() == [rows[live[i]] for i in order]


def test_feed_ranks(table):
    for remainder, steps in [("drop", 4), ("pad", 5), ("uneven", 5)]:
        options = {"batch_size": 16, "epochs": 1, "world_size": 4, "remainder": remainder}
        ranks = [ids(table.feed(rank=rank, **options)) for rank in range(4)]
        assert [len(rank) for rank in ranks] == [steps] * 4
        flat = [i for rank in ranks for batch in rank for i in batch]
        if remainder == "uneven":
            assert sorted(flat) == list(range(ROWS))
        elif remainder == "pad":
            assert set(flat) == set(range(ROWS)) and len(flat) == 320
        else:
            assert len(set(flat)) == len(flat) == 256


def test_feed_ranks_of_the_environment(table, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    feed = table.feed(batch_size=10, epochs=1)
    expected = ids(table.feed(batch_size=10, epochs=1, rank=1, world_size=3))
    assert ids(feed) == expected
    with pytest.raises(ValueError, match="together"):
        table.feed(rank=1)
    monkeypatch.setenv("RANK", "x")
    with pytest.raises(ValueError, match="RANK=x in the environment is not a whole number"):
        table.feed()
    monkeypatch.delenv("RANK")
    with pytest.raises(ValueError, match="WORLD_SIZE=3 is in the environment and RANK is not"):
        table.feed()
    monkeypatch.setenv("RANK", "1")
    monkeypatch.delenv("WORLD_SIZE")
    with pytest.raises(ValueError, match="RANK=1 is in the environment and WORLD_SIZE is not"):
        table.feed()
    assert ids(table.feed(batch_size=10, epochs=1, rank=1, world_size=3)) == expected


def test_feed_state_continues_with_other_ranks(table):
    whole = [i for batch in ids(table.feed(batch_size=8, epochs=1, seed=1)) for i in batch]
    feed = table.feed(batch_size=8, epochs=1, seed=1)
    head = [i for _ in range(5) for i in next(feed)["id"].to_pylist()]
    state = feed.state()
    assert json.loads(state)["position"] == 40
    rest = []
    feeds = [
        table.feed(batch_size=4, epochs=1, seed=1, rank=rank, world_size=3, remainder="uneven")
        for rank in range(3)
    ]
    for feed in feeds:
        feed.restore(state)
    while batches := [next(feed, None) for feed in feeds]:
        if all(batch is None for batch in batches):
            break
        rest += [i for batch in batches if batch for i in batch["id"].to_pylist()]
    assert head + rest == whole


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_feed_workers_take_turns(table, workers):
    """What loaders with several processes do: each its share, one after the other."""
    options = {"batch_size": 16, "epochs": 2, "seed": 2, "world_size": 2, "rank": 1}
    expected = ids(table.feed(**options))
    feed = table.feed(**options)
    head = ids([next(feed), next(feed)])
    clones = [feed.clone(worker=i, workers=workers) for i in range(workers)]
    shares = [ids(clone) for clone in clones]
    turns = [share[i] for i in range(len(expected)) for share in shares if i < len(share)]
    assert head + turns == expected


def test_feed_skip_and_seek(table):
    options = {"batch_size": 16, "epochs": 3, "seed": 2}
    expected = ids(table.feed(**options))
    per_epoch = len(expected) // 3
    feed = table.feed(**options)
    feed.skip(5)
    assert ids([next(feed)]) == expected[5:6]
    feed.skip(20)
    assert (feed.step, feed.epoch) == (26, 1)
    assert ids([next(feed)]) == expected[26:27]
    feed.seek(1)
    assert feed.step == per_epoch
    assert ids(feed.epoch_batches()) == expected[per_epoch : 2 * per_epoch]
    assert ids(feed.epoch_batches()) == expected[2 * per_epoch :]
    assert list(feed.epoch_batches()) == []
    feed.seek(0)
    assert ids(feed) == expected


def test_feed_restores_the_version_of_its_state(table):
    feed = table.feed(batch_size=10, epochs=1)
    next(feed)
    state = feed.state()
    expected = ids(feed)
    table.append(make_rows(50, ROWS))
    table.compact()
    table.cleanup(older_than=datetime.timedelta(0), delete_unverified=True)
    feed = table.feed(batch_size=10, epochs=1)
    assert feed.num_rows == ROWS + 50
    feed.restore(state)
    assert feed.num_rows == ROWS
    assert ids(feed) == expected


def test_feed_refuses_a_version_that_is_gone(table):
    feed = table.feed(pin=False)
    state = feed.state()
    table.append(make_rows(50, ROWS))
    other = table.feed(pin=False, seed=3)
    next(other)
    with pytest.raises(leman.ConflictError, match="seed is 0, the feed's 3"):
        other.restore(state)
    assert (other.num_rows, other.step) == (ROWS + 50, 1)
    table.cleanup(older_than=datetime.timedelta(0), delete_unverified=True)
    feed = table.feed(pin=False)
    with pytest.raises(leman.ConflictError, match="version 1 of the table, which is gone"):
        feed.restore(state)
    assert len(next(feed)["id"]) == 64


def test_feed_refuses_other_data(table, tmp_path):
    state = table.feed(seed=1, where="id < 200").state()
    with pytest.raises(leman.ConflictError, match='filter is "id < 200", the feed\'s "id < 100"'):
        table.feed(seed=1, where="id < 100").restore(state)
    with pytest.raises(leman.ConflictError, match="seed is 1, the feed's 2"):
        table.feed(seed=2, where="id < 200").restore(state)
    other = leman.create(tmp_path / "other", make_rows(200))
    with pytest.raises(leman.ConflictError, match="another table"):
        other.feed(seed=1, where="id < 200").restore(state)
    with pytest.raises(leman.CorruptError):
        table.feed(seed=1, where="id < 200").restore(state.replace('"epoch":0', '"epoch":1'))
    with pytest.raises(TypeError):
        table.feed().restore(b"{}")


def first_id(batch):
    return batch["id"].to_pylist()[0]


def other_first_id(batch):
    return batch["id"].to_pylist()[0] + 0


def test_feed_transform(table):
    expected = [batch[0] for batch in ids(table.feed(batch_size=20, epochs=1))]
    names = set()

    def transform(batch):
        names.add(threading.current_thread().name)
        return batch["id"].to_pylist()[0]

    feed = table.feed(batch_size=20, epochs=1, transform=transform, num_workers=2)
    got = [next(feed) for _ in range(4)]
    state = feed.state()
    assert json.loads(state)["step"] == 4
    assert got + list(feed) == expected
    assert threading.current_thread().name not in names
    feed.restore(state)
    assert list(feed) == expected[4:]
    assert feed.stats()["waited_for"]["transform"] > 0


def test_feed_transform_is_part_of_the_state(table):
    state = table.feed(transform=first_id).state()
    table.feed(transform=first_id).restore(state)
    with pytest.raises(leman.ConflictError, match="transform is .*first_id"):
        table.feed(transform=other_first_id).restore(state)
    with pytest.raises(leman.ConflictError, match="transform"):
        table.feed().restore(state)


def made_of_text(text):
    """A function without a source."""
    made = {}
    exec(text, made)
    return made["made"]


def taken(batch, rows):
    return batch.slice(0, rows)


def left(batch, rows):
    return batch.slice(rows)


@pytest.mark.parametrize(
    "first, other",
    [
        (lambda batch: batch.slice(1), lambda batch: batch.slice(2)),
        (functools.partial(taken, rows=1), functools.partial(left, rows=1)),
        (
            made_of_text("def made(batch): return batch.slice(1)"),
            made_of_text("def made(batch): return batch.slice(2)"),
        ),
    ],
)
def test_feed_transforms_are_told_apart(table, first, other):
    state = table.feed(transform=first).state()
    table.feed(transform=first).restore(state)
    with pytest.raises(leman.ConflictError, match="its transform is"):
        table.feed(transform=other).restore(state)


def test_feed_transform_with_values_of_a_rank(table):
    state = table.feed(transform=functools.partial(taken, rows=1)).state()
    table.feed(transform=functools.partial(taken, rows=2)).restore(state)


def test_feed_transform_in_processes(table):
    options = {"batch_size": 30, "epochs": 1, "num_workers": 2}
    feed = table.feed(transform=first_id, transform_in="processes", **options)
    with feed:
        assert list(feed) == [batch[0] for batch in ids(table.feed(batch_size=30, epochs=1))]


def test_feed_transform_that_fails(table):
    def transform(batch):
        raise RuntimeError("not this one")

    with pytest.raises(RuntimeError, match="not this one"):
        next(table.feed(transform=transform))


def test_feed_numpy_of_structs_that_are_null(tmp_path):
    structs = pa.array([{"n": 1, "text": "a"}, None, {"n": 0, "text": ""}])
    lists = pa.array([[{"n": 1}, None], None, []])
    table = leman.create(tmp_path / "t.lance", pa.table({"one": structs, "many": lists}))
    batch = next(table.feed(format="numpy", shuffle=False))
    assert batch["one"]["n"].tolist() == [1, None, 0]
    assert batch["one"]["text"].tolist() == ["a", None, ""]
    assert batch["many"][0]["n"].tolist() == [1, None] and batch["many"][1] is None


def test_feed_numpy(table):
    rows = make_rows().to_pylist()
    feed = table.feed(format="numpy", epochs=1, batch_size=40)
    for batch in feed:
        numbers = batch["id"].tolist()
        assert batch["id"].dtype == np.int64 and batch["id"].flags.writeable
        assert batch["value"].tolist() == [rows[i]["value"] for i in numbers]
        assert batch["half"].tolist() == [rows[i]["half"] for i in numbers]
        assert batch["flag"].tolist() == [rows[i]["flag"] for i in numbers]
        assert batch["text"].tolist() == [rows[i]["text"] for i in numbers]
        assert batch["label"].tolist() == [rows[i]["label"] for i in numbers]
        assert [value.tobytes() for value in batch["data"]] == [rows[i]["data"] for i in numbers]
        items = [None if item is None else item.tolist() for item in batch["items"]]
        assert items == [rows[i]["items"] for i in numbers]
        assert batch["vector"].shape == (len(numbers), 4)
        assert batch["vector"].tolist() == [rows[i]["vector"] for i in numbers]
        assert batch["info"]["width"].tolist() == [rows[i]["info"]["width"] for i in numbers]
        assert batch["info"]["name"].tolist() == [rows[i]["info"]["name"] for i in numbers]


def plain(rows):
    """What the core tells of the memory of a batch, in values."""
    names = {"l": "i8", "f": "f4", "C": "u1"}
    columns = _core.values_plain(*rows.__arrow_c_array__())
    return columns and [
        (name, np.frombuffer(memory, names[letter]).tolist(), width, sizes)
        for name, letter, memory, width, sizes in columns
    ]


def test_feed_memory_of_plain_batches():
    rows = pa.record_batch(
        {
            "id": pa.array([1, 2, 3, 4]),
            "pair": pa.array([[0, 1], [2, 3], [4, 5], [6, 7]], pa.list_(pa.float32(), 2)),
            "data": pa.array([b"a", b"bc", b"", b"def"]),
        }
    )
    assert plain(rows.slice(1, 2)) == [
        ("id", [2, 3], 0, None),
        ("pair", [2, 3, 4, 5], 2, None),
        ("data", list(b"bc"), 0, [2, 0]),
    ]
    memory = _core.values_plain(*rows.__arrow_c_array__())[0][2]
    assert not memoryview(memory).readonly
    for other in (
        pa.array(["a"]),
        pa.array([[1]]),
        pa.array([None], pa.int64()),
        pa.array([b""]),
        pa.array([[None]], pa.list_(pa.int8(), 1)),
        pa.array([{"a": 1}]),
        pa.array([1]).dictionary_encode(),
        pa.array([], pa.int64()),
        pa.array([1], pa.date32()),
    ):
        assert plain(pa.record_batch({"id": other})) is None
    with pytest.raises(ValueError, match="struct of columns"):
        _core.values_plain(*pa.array([1]).__arrow_c_array__())


def test_feed_begins(table):
    feed = table.feed(batch_size=100)
    assert feed.begins(0) and not feed.begins(1)
    next(feed)
    assert not feed.begins(0)
    feed.seek(3)
    assert feed.begins(3)
    for _ in feed.epoch_batches():
        pass
    assert feed.begins(4)


def test_feed_row_ids(table):
    feed = table.feed(batch_size=16, epochs=2, with_row_id=True, world_size=2, rank=0)
    other = table.feed(batch_size=16, epochs=2, with_row_id=True, world_size=2, rank=1)
    for step, (batch, second) in enumerate(zip(feed, other, strict=True)):
        mine = batch["_rowid"].to_pylist()
        assert feed.row_ids(step, 0) == mine
        assert feed.row_ids(step) == mine + second["_rowid"].to_pylist()
    with pytest.raises(leman.InvalidError):
        feed.row_ids(10**6)


def test_feed_replaces_what_cannot_be_read(table):
    """Damage some of the rows' bytes: the rest of the epoch is what it was."""
    plain = ids(table.feed(epochs=1, batch_size=20, columns=["id", "text"]))
    (name, *_) = sorted(os.listdir(os.path.join(table.path, "data")))
    os.truncate(os.path.join(table.path, "data", name), 100)
    with pytest.raises(leman.LemanError):
        ids(leman.open(table.path).feed(epochs=1, batch_size=20, columns=["id", "text"]))
    runs = []
    for workers in (1, 3):
        feed = leman.open(table.path).feed(
            epochs=1, batch_size=20, columns=["id", "text"], on_error="replace", num_workers=workers
        )
        runs.append(ids(feed))
    assert runs[0] == runs[1]
    flat = [[i for batch in run for i in batch] for run in (runs[0], plain)]
    changed = {want: got for got, want in zip(*flat, strict=True) if got != want}
    lost = {want // 70 for want in changed}  # fragments have 70 rows
    assert len(lost) == 1
    assert lost.isdisjoint(got // 70 for got in changed.values())
    assert feed.stats()["replaced"] == len(changed) in (70, ROWS % 70)


def test_feed_pickles(table):
    feed = table.feed(batch_size=10, epochs=1)
    next(feed)
    copy = pickle.loads(pickle.dumps(feed))
    assert ids(copy) == ids(feed)


def read_some(feed, queue):
    queue.put(ids(next(feed) for _ in range(3)))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("started", [False, True])
def test_feed_in_another_process(table, method, started):
    feed = table.feed(batch_size=10, num_workers=2)
    if started:
        next(feed)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=read_some, args=(feed, queue))
    child.start()
    got = queue.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    assert got == ids(next(feed) for _ in range(3))


def test_feed_survives_many_forks(table):
    """Children of a process whose threads are busy: each reads on, and none waits for ever."""
    feed = table.feed(batch_size=5, num_workers=2, prefetch=16)
    for _ in range(20):
        expected = feed.clone()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if ids([next(feed)]) == ids([next(expected)]) else 2
            finally:
                os._exit(status)
        next(feed)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_feed_cache(table, tmp_path):
    options = {"epochs": 1, "batch_size": 30, "cache_dir": tmp_path / "cache"}
    first = table.feed(**options)
    expected = ids(first)
    assert first.stats()["store_bytes"] > 0
    second = table.feed(**options)
    assert ids(second) == expected
    stats = second.stats()
    assert stats["store_bytes"] < first.stats()["store_bytes"] / 10
    assert stats["cache_hit_bytes"] > 0


READER = """
import sys
import leman

feed = leman.open("t").feed(
    epochs=2, seed=int(sys.argv[1]), cache_dir="cache", cache_bytes=4_000_000, num_workers=1
)
print("open", flush=True)
sys.stdin.readline()
for batch in feed:
    for i, data in zip(batch["id"].to_pylist(), batch["data"].to_pylist()):
        assert data == bytes([i % 256]) * 60_000
    print(batch.num_rows, flush=True)
"""


def test_feed_cache_has_one_limit_for_all_processes(tmp_path):
    rows = {"id": range(400), "data": [bytes([i % 256]) * 60_000 for i in range(400)]}
    leman.create(tmp_path / "t", pa.table(rows), max_rows_per_fragment=100)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "cwd": tmp_path}
    readers = [
        subprocess.Popen([sys.executable, "-c", READER, str(seed)], **pipes) for seed in range(4)
    ]
    for reader in readers:
        assert reader.stdout.readline() == b"open\n"
    for reader in readers:
        reader.stdin.write(b"\n")
        reader.stdin.flush()
    assert readers[0].stdout.readline() == b"64\n"
    readers[0].kill()  # in the middle of whatever it does
    for reader in readers:
        reader.communicate()
    assert [reader.returncode for reader in readers] == [-signal.SIGKILL, 0, 0, 0]
    pieces = [path.stat().st_size for path in (tmp_path / "cache").glob("*/*")]
    assert 2_000_000 < sum(pieces) <= 4_000_000 + len(readers) * ((1 << 20) + 8)


def test_feed_refuses_a_cache_that_is_none(table, tmp_path):
    (tmp_path / "file").write_text("")
    for options, kind, message in [
        ({"cache_dir": tmp_path / "file"}, leman.StoreError, "file cannot be the directory of a c"),
        ({"cache_dir": "/proc/nope"}, leman.StoreError, "/proc/nope cannot be the directory"),
        ({"cache_dir": tmp_path / "c", "cache_bytes": 9}, leman.InvalidError, "a cache of 9 bytes"),
    ]:
        with pytest.raises(kind, match=message):
            table.feed(**options)


def test_feed_cache_keeps_rows_that_match(table, tmp_path):
    options = {"where": "id % 3 = 1", "epochs": 1, "cache_dir": tmp_path / "cache", "columns": []}
    first = table.feed(**options)
    looked_up = first.stats()["store_bytes"]
    second = table.feed(**options)
    assert second.num_rows == first.num_rows == 100
    assert second.stats()["store_bytes"] == 0 < looked_up
    plain = table.feed(where="id % 3 = 1", epochs=1)
    assert second.row_ids(0) == plain.row_ids(0)
    assert table.feed(**dict(options, where="id % 3 = 2 or id = 1")).num_rows == 101
    table.delete("id = 4")
    assert table.feed(**options).num_rows == 99


def test_feed_block_is_the_read_group(tmp_path):
    field = pa.field("id", pa.int64(), metadata={"leman:group_size": "25"})
    rows = pa.table({"id": list(range(500))}, schema=pa.schema([field]))
    table = leman.create(tmp_path / "t", rows)
    state = json.loads(table.feed(shuffle="block").state())
    assert (state["block_rows"], state["window_rows"]) == (25, 1600)
    assert json.loads(table.feed(shuffle="block", block_size=10).state())["block_rows"] == 10


def test_feed_arguments(table):
    for options, message in [
        ({"shuffle": "rows"}, "shuffle"),
        ({"format": "list"}, "format"),
        ({"remainder": "keep"}, "remainder"),
        ({"on_error": "skip"}, "on_error"),
        ({"batch_size": 0}, "batch_size is at least 1, not 0"),
        ({"batch_size": "a"}, "batch_size is a whole number, not 'a'"),
        ({"batch_size": 2**32}, r"batch_size is less than 2\*\*32, not 4294967296"),
        ({"epochs": 1.5}, "epochs is a whole number, not 1.5"),
        ({"prefetch": None}, "prefetch is a whole number, not None"),
        ({"num_workers": -1}, "num_workers is at least 1, not -1"),
        ({"block_size": -1}, "block_size is at least 1, not -1"),
        ({"window_size": 0}, "window_size is at least 1, not 0"),
        ({"seed": -1}, "seed is at least 0, not -1"),
        ({"seed": 2**64}, r"seed is less than 2\*\*64"),
        ({"cache_bytes": -1}, "cache_bytes is at least 1, not -1"),
        ({"drop_last": True, "remainder": "pad"}, "drop_last"),
        ({"rank": 2, "world_size": 2}, "rank 2 of 2"),
        ({"rank": -1, "world_size": 2}, "rank is at least 0, not -1"),
        ({"where": "nothing > 1"}, "nothing"),
    ]:
        with pytest.raises((ValueError, TypeError, leman.LemanError), match=message):
            table.feed(**options)
    with pytest.raises(leman.NotFoundError):
        table.feed(columns=["nothing"])
    assert table.feed(batch_size=np.int64(7), seed=2**64 - 1, epochs=1).steps_per_epoch == 43


def test_feed_refuses_places_that_are_none(table):
    for epochs in (1, None):
        feed = table.feed(batch_size=16, epochs=epochs)
        for call, message in [
            (lambda feed: feed.row_ids(-1), "step is at least 0, not -1"),
            (lambda feed: feed.row_ids(0, -1), "rank is at least 0, not -1"),
            (lambda feed: feed.row_ids("0"), "step is a whole number, not '0'"),
            (lambda feed: feed.skip(-1), "batches is at least 0, not -1"),
            (lambda feed: feed.seek(-1), "epoch is at least 0, not -1"),
            (lambda feed: feed.clone(worker=-1, workers=2), "worker is at least 0, not -1"),
        ]:
            with pytest.raises((ValueError, TypeError), match=message):
                call(feed)
        assert len(next(feed)) == 16


@pytest.mark.parametrize("clock", ["now()", "current_timestamp", "current_date", "Today()"])
def test_feed_refuses_conditions_that_change_with_time(table, clock):
    name = re.escape(clock.removesuffix("()").lower() + "() in the condition of a feed")
    with pytest.raises(leman.InvalidError, match=name):
        table.feed(where=f"id < 5 or not cast({clock} as date) > date '2024-01-31'")
    assert table.feed(where="id < 5 and 'now()' <> ''").num_rows == 5


def test_feed_of_nothing(table):
    assert list(table.feed(where="id < 0")) == []
    with pytest.raises(leman.InvalidError, match="no row for rank 1"):
        table.feed(where="id = 5", rank=1, world_size=2, remainder="uneven")


def test_feed_tags_its_version(table):
    table.feed(pin=False)
    assert table.tags.list() == {}
    table.feed()
    assert table.tags.list()["leman-feed-1"]["version"] == 1
