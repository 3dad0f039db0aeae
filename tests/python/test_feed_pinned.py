# SPDX-License-Identifier: Apache-2.0
"""Pinned batches: tensors are views of memory that torch made, to which the feed has read.

Where there is no GPU, plain memory of torch's stands for pinned memory.
"""

import copy
import json
import subprocess
import sys
import threading
import warnings

import leman
import numpy as np
import pyarrow as pa
import pytest

torch = pytest.importorskip("torch")

from leman import torch_format  # noqa: E402

ROWS, BATCH, WIDTH = 240, 16, 9000
GPU = torch.cuda.is_available()


@pytest.fixture
def made(monkeypatch):
    """The memory that torch makes for feeds: (address, bytes) of each piece."""
    pieces = []
    make = torch_format.PinnedBytes() if GPU else plain_bytes

    def note(count):
        piece = make(count)
        pieces.append((piece[1], count))
        return piece

    monkeypatch.setattr(torch_format, "PinnedBytes", lambda: note)
    return pieces


def plain_bytes(count):
    tensor = torch.empty(count, dtype=torch.uint8)
    return tensor, tensor.data_ptr()


@pytest.fixture
def table(tmp_path):
    numbers = range(ROWS)
    rows = {
        "id": pa.array(numbers, pa.int64()),
        "x": pa.array([[i, -i] for i in numbers], pa.list_(pa.float32(), 2)),
        "data": pa.array([bytes([i]) * (WIDTH + i) for i in numbers]),
        "words": pa.array([list(range(i % 4)) for i in numbers]),
        "text": pa.array([str(i) for i in numbers]),
        "info": pa.array([{"size": i} for i in numbers]),
    }
    return leman.create(tmp_path / "t", pa.table(rows), max_rows_per_fragment=100)


def check(batch):
    numbers = batch["id"].tolist()
    if "x" in batch:
        assert batch["x"].tolist() == [[i, -i] for i in numbers]
    if "data" in batch:
        for i, data in zip(numbers, batch["data"], strict=True):
            assert len(data) == WIDTH + i and (data == i).all()
    if "words" in batch:
        assert [words.tolist() for words in batch["words"]] == [list(range(i % 4)) for i in numbers]
    if "text" in batch:
        assert batch["text"] == [str(i) for i in numbers]
    if "info" in batch:
        assert batch["info"]["size"].tolist() == numbers


def lies_in(tensor, made):
    storage = tensor.untyped_storage()
    return any(
        address == storage.data_ptr() and tensor.data_ptr() + tensor.nbytes <= address + count
        for address, count in made
    )


PLAIN = ["id", "x", "data"]
OTHER = ["id", "words", "text", "info"]


@pytest.mark.parametrize("columns", [PLAIN, OTHER])
@pytest.mark.parametrize("shuffle", [True, False, "block"])
def test_tensors_are_views_of_the_memory(table, made, columns, shuffle):
    options = {"format": "torch", "batch_size": BATCH, "window_size": 3 * BATCH}
    feed = table.feed(columns=columns, shuffle=shuffle, **options, pin_memory=True)
    for _ in range(60):
        batch = next(feed)
        check(batch)
        for tensor in [batch["id"], *batch.get("data", []), *batch.get("words", [])]:
            assert lies_in(tensor, made) and tensor.is_pinned() == GPU
    counts = feed.stats()["pinned"]
    assert counts["refused"] == 0
    assert counts["in_place"] > counts["copied"]


def test_dropped_batches_stay_whole_for_who_has_a_tensor(table, made):
    feed = table.feed(columns=PLAIN, format="torch", batch_size=BATCH, pin_memory=True)
    tensors = []
    for _ in range(100):
        batch = next(feed)
        tensors.append((batch["id"], batch["data"][3]))
    for numbers, data in tensors:
        assert (data == int(numbers[3])).all() and len(data) == WIDTH + int(numbers[3])


def test_pinned_feed_stops_and_goes_on(table, made):
    options = {"columns": PLAIN, "format": "torch", "batch_size": BATCH, "epochs": 2}
    whole = [batch["id"].tolist() for batch in table.feed(**options, pin_memory=False)]
    feed = table.feed(**options, pin_memory=True)
    for _ in range(5):
        check(next(feed))
    state = feed.state()
    feed.close()
    feed.skip(3)
    check(next(feed))
    feed.restore(state)
    assert [batch["id"].tolist() for batch in feed] == whole[5:]
    other = copy.copy(table).feed(**options, pin_memory=True, where="id < 50")
    assert sum(len(batch["id"]) for batch in other) == 100


def test_transforms_get_pinned_batches(table, made):
    threads = set()

    def double(batch):
        threads.add(threading.get_ident())
        assert batch["id"].is_pinned() == GPU
        check(batch)
        return batch["id"] * 2

    options = {"columns": PLAIN, "format": "torch", "batch_size": BATCH, "epochs": 1}
    feed = table.feed(**options, transform=double, num_workers=3, pin_memory=True)
    numbers = [number for batch in feed for number in batch.tolist()]
    assert sorted(numbers) == [2 * i for i in range(ROWS)] and feed.stats()["pinned"]["in_place"]
    apart = table.feed(
        **options, transform=ids_of, transform_in="processes", num_workers=1, pin_memory=True
    )
    assert sorted(i for batch in apart for i in batch) == list(range(ROWS))
    assert "pinned" not in apart.stats()


def ids_of(batch):
    return batch["id"].tolist()


def test_workers_leave_pinning_to_their_loader(table, made):
    dataset = table.feed(format="torch", columns=PLAIN, batch_size=BATCH, pin_memory=True).torch()
    for batch in dataset.loader(num_workers=2, pin_memory=GPU):
        check(batch)
        assert batch["x"].is_pinned() == GPU
    assert not made  # in this process


def test_no_pinned_memory_at_all(table, monkeypatch):
    """Ordinary memory, told once and counted."""
    monkeypatch.setattr(torch, "empty", refuse)
    feed = table.feed(columns=PLAIN, format="torch", batch_size=BATCH, epochs=2, pin_memory=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        batches = 0
        for batch in feed:
            check(batch)
            assert not batch["id"].is_pinned()
            batches += 1
    (told,) = [str(item.message) for item in caught if item.category is RuntimeWarning]
    assert "ordinary memory" in told and "no more pages" in told
    assert feed.stats()["pinned"] == {"in_place": 0, "copied": 0, "refused": 3 * batches}


def refuse(*_, **__):
    raise RuntimeError("CUDA error: no more pages\nand much advice")


@pytest.mark.skipif(GPU, reason="there is a GPU")
def test_pinning_is_asked_for_without_a_gpu(table):
    feed = table.feed(columns=["id"], format="torch", pin_memory=True)
    with pytest.warns(RuntimeWarning, match="ordinary memory"):
        batch = next(feed)
    check(batch)
    assert not batch["id"].is_pinned()


@pytest.mark.skipif(not GPU, reason="there is no GPU")
def test_copies_of_dropped_batches_arrive_whole(table):
    """Copies stand behind work of the GPU while their batches are gone and the feed goes on."""
    feed = table.feed(columns=PLAIN, format="torch", batch_size=BATCH, prefetch=8, seed=3)
    numbers = [i for i in range(200) if i % 15 != 14]
    side, copies, expected = torch.cuda.Stream(), [], []
    for i in numbers:
        stream = side if i % 2 else torch.cuda.current_stream()
        with torch.cuda.stream(stream):
            if i % 20 < 2:
                torch.cuda._sleep(200_000_000)
            batch = next(feed)
            expected.append(batch["id"].tolist())
            copies.append(
                (
                    batch["id"].to("cuda", non_blocking=True),
                    batch["x"].to("cuda", non_blocking=True),
                    [data.to("cuda", non_blocking=True) for data in batch["data"]],
                )
            )
            del batch
    torch.cuda.synchronize()
    for ids, (got, x, data) in zip(expected, copies, strict=True):
        check({"id": got, "x": x, "data": data})
        assert got.tolist() == ids
    counts = feed.stats()["pinned"]
    assert counts["in_place"] > counts["copied"] and counts["refused"] == 0


@pytest.mark.skipif(not GPU, reason="there is no GPU")
def test_pinned_memory_is_bounded(tmp_path):
    """What torch has pinned does not grow with the batches that were read."""
    code = """
import json, sys, leman, torch
feed = leman.open(sys.argv[1]).feed(format="torch", batch_size=64, columns=["id", "data"])
grown = []
for i in range(1200):
    batch = next(feed)
    for tensor in batch["id"], batch["data"][0]:
        tensor.to("cuda", non_blocking=True)
    if i in (600, 1199):
        torch.cuda.synchronize()
        grown.append(torch.cuda.memory.host_memory_stats()["allocated_bytes.peak"])
print(json.dumps(grown))
"""
    rows = {"id": list(range(5000)), "data": [np.random.bytes(5000 + i % 900) for i in range(5000)]}
    path = str(tmp_path / "t")
    leman.create(path, pa.table(rows))
    done = subprocess.run([sys.executable, "-c", code, path], stdout=subprocess.PIPE, check=True)
    first, last = json.loads(done.stdout)
    assert last <= first * 1.25 < 200e6
