# SPDX-License-Identifier: Apache-2.0
"""Feeds in other libraries' loaders; those that are not installed are passed over.

tests/requirements.txt has all but torch, which tests/requirements-training.txt installs.
"""

import copy
import json
import pickle
import subprocess
import sys

import leman
import pyarrow as pa
import pytest

ROWS = 400


@pytest.fixture
def table(tmp_path):
    numbers = range(ROWS)
    rows = {
        "id": pa.array(numbers, pa.int64()),
        "x": pa.array([[i / ROWS, 1.0] for i in numbers], pa.list_(pa.float32(), 2)),
        "y": pa.array([3 * i / ROWS + 2 for i in numbers], pa.float32()),
        "words": pa.array([list(range(i % 4)) for i in numbers]),
        "text": pa.array([str(i) for i in numbers]),
    }
    return leman.create(tmp_path / "t", pa.table(rows), max_rows_per_fragment=150)


def ids(batches):
    return [batch["id"].tolist() for batch in batches]


def test_torch_format(table):
    torch = pytest.importorskip("torch")
    batch = next(table.feed(format="torch", batch_size=8))
    assert batch["id"].dtype == torch.int64 and batch["x"].shape == (8, 2)
    numbers = batch["id"].tolist()
    assert [item.tolist() for item in batch["words"]] == [list(range(i % 4)) for i in numbers]
    assert batch["text"] == [str(i) for i in numbers]
    batch["y"] += 1  # the consumer's own memory
    table.add_columns({"gap": "case when id > 3 then id end"})
    with pytest.raises(ValueError, match="gap"):
        for _ in table.feed(format="torch", epochs=1):
            pass


NUMBERS = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()


def test_torch_format_of_plain_columns(tmp_path):
    torch = pytest.importorskip("torch")
    rows = {name: pa.array([1, 2, 3, 4], getattr(pa, name)()) for name in NUMBERS}
    rows["pair"] = pa.array([[i, -i] for i in range(4)], pa.list_(pa.int16(), 2))
    rows["data"] = pa.array([b"a", b"", b"ccc", b"dd"])
    rows["large"] = pa.array([b"", b"b", b"", b""], pa.large_binary())
    table = leman.create(tmp_path / "t", pa.table(rows))
    batch = next(table.feed(format="torch", shuffle=False, batch_size=3, pin_memory=False))
    for name in NUMBERS:
        assert batch[name].dtype == getattr(torch, name) and batch[name].tolist() == [1, 2, 3]
    assert batch["pair"].tolist() == [[0, 0], [1, -1], [2, -2]]
    assert [bytes(item.tolist()) for item in batch["data"]] == [b"a", b"", b"ccc"]
    assert [bytes(item.tolist()) for item in batch["large"]] == [b"", b"b", b""]
    batch["data"][2][0] = 7  # the consumer's own memory
    table.append(pa.table({**rows, "data": pa.array([b"e", None, b"", b""])}))
    *_, last = table.feed(format="torch", shuffle=False, batch_size=4, epochs=1)
    items = [item if item is None else item.tolist() for item in last["data"]]
    assert items == [[101], None, [], []]


def test_torch_rows_travel_as_one(table):
    """Tensors of a list are pieces of one, also behind a process; what was changed stays so."""
    torch = pytest.importorskip("torch")
    batch = next(table.feed(columns=["words"], format="torch", batch_size=8, shuffle=False))
    words = batch["words"]
    again = pickle.loads(pickle.dumps(copy.copy(words)))
    assert [item.tolist() for item in again] == [list(range(i % 4)) for i in range(8)]
    assert len({item.untyped_storage().data_ptr() for item in again}) == 1
    words[3] = torch.tensor([9])
    del words[5:]
    again = pickle.loads(pickle.dumps(words))
    assert [item.tolist() for item in again] == [[], [0], [0, 1], [9], []]


def test_torch_pins_where_there_is_a_gpu(table):
    torch = pytest.importorskip("torch")
    batch = next(table.feed(format="torch", batch_size=8))
    assert batch["x"].is_pinned() == batch["words"][0].is_pinned() == torch.cuda.is_available()
    places = {item.untyped_storage().data_ptr() for item in batch["words"]}
    assert len(places) == 1  # the rows are pieces of one tensor, which is copied at once
    batch = next(table.feed(format="torch", batch_size=8, pin_memory=False))
    assert not batch["x"].is_pinned()


def test_torch_copies_while_a_gpu_computes(table):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    feed = table.feed(format="torch", batch_size=ROWS, columns=["id", "words"], shuffle=False)
    batch = next(feed)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(2_000_000_000)  # cycles: the copies stand behind about a second of work
        copies = [batch["id"].to("cuda", non_blocking=True)]
        copies += [words.to("cuda", non_blocking=True) for words in batch["words"][:8]]
        assert not stream.query()  # the calls came back before the work was done
    stream.synchronize()
    assert copies[0].tolist() == list(range(ROWS))
    assert [copy.tolist() for copy in copies[1:]] == [list(range(i % 4)) for i in range(8)]


def test_torch_ranks_of_a_group(table, tmp_path):
    """Rank and world size are those of torch.distributed, in processes of their own."""
    torch = pytest.importorskip("torch")
    if not torch.distributed.is_available():
        pytest.skip("torch has no distributed part")
    program = """
import sys
import leman, torch
torch.distributed.init_process_group(
    "gloo", init_method=f"file://{sys.argv[2]}", rank=int(sys.argv[3]), world_size=2)
feed = leman.open(sys.argv[1]).feed(columns="id", seed=5, epochs=1, batch_size=30, pin=False)
print(*(i for batch in feed for i in batch["id"].to_pylist()))
torch.distributed.destroy_process_group()
"""
    words = [sys.executable, "-c", program, table.path, str(tmp_path / "group")]
    ranks = [subprocess.Popen([*words, str(i)], stdout=subprocess.PIPE) for i in range(2)]
    seen = [[int(word) for word in rank.communicate(timeout=120)[0].split()] for rank in ranks]
    options = {"columns": "id", "seed": 5, "epochs": 1, "batch_size": 30, "world_size": 2}
    for rank in range(2):
        expected = table.feed(rank=rank, **options)
        assert seen[rank] == [i for batch in expected for i in batch["id"].to_pylist()]


def test_torch_trains(table):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    dataset = table.feed(format="torch", batch_size=20, columns=["x", "y"]).torch()
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2)
    for epoch in range(12):
        dataset.set_epoch(epoch)
        for batch in loader:
            loss = ((model(batch["x"])[:, 0] - batch["y"]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert loss.item() < 0.01


@pytest.mark.parametrize("method", [None, "fork", "spawn", "forkserver"])
def test_torch_loader_keeps_the_order(table, method):
    torch = pytest.importorskip("torch")
    expected = ids(table.feed(format="numpy", seed=3, epochs=1, batch_size=16))
    feed = table.feed(format="torch", seed=3, batch_size=16, num_workers=1)
    next(feed)  # its threads run when the workers are forked
    feed.seek(0)
    loader = torch.utils.data.DataLoader(
        feed.torch(),
        batch_size=None,
        num_workers=0 if method is None else 2,
        multiprocessing_context=method,
    )
    assert ids(loader) == expected


@pytest.mark.parametrize("workers", [0, 2])
def test_torch_loader_of_the_feed(table, workers):
    """Epoch after epoch, told or not, as the feed gives them; batches are not looked into."""
    pytest.importorskip("torch")
    expected = ids(table.feed(seed=3, epochs=4, batch_size=150, remainder="uneven"))
    dataset = table.feed(format="torch", seed=3, batch_size=150).torch()
    loader = dataset.loader(num_workers=workers)
    seen = []
    for epoch in (0, 1, None, 3):
        if epoch is not None or workers:  # workers that do not persist start where they are told
            dataset.set_epoch(2 if epoch is None else epoch)
        seen += ids(loader)
    assert seen == expected
    dataset.set_epoch(1)
    assert ids(loader) == expected[3:6]
    sizes = dataset.loader(num_workers=workers, collate_fn=len)
    dataset.set_epoch(0)
    assert list(sizes) == [5, 5, 5]  # columns


def test_torch_loader_with_more_workers_than_batches(table):
    torch = pytest.importorskip("torch")
    dataset = table.feed(format="torch", batch_size=300).torch()
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=None, num_workers=3, persistent_workers=True
    )
    for _ in range(3):
        assert sorted(i for batch in ids(loader) for i in batch) == list(range(ROWS))


def test_torch_state_with_other_workers(table):
    torch = pytest.importorskip("torch")
    options = {"format": "torch", "seed": 3, "batch_size": 16}
    dataset = table.feed(**options).torch()
    loader = iter(torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=2))
    head = ids(next(loader) for _ in range(7))
    state = dataset.state(7)
    assert json.loads(state)["step"] == 7
    del loader
    dataset = table.feed(**options).torch()
    dataset.restore(state)
    rest = ids(torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=3))
    assert head + rest == ids(table.feed(epochs=1, **options))


@pytest.mark.parametrize("workers", [0, 2])
def test_torchdata_resumes(table, workers):
    pytest.importorskip("torchdata")
    from torchdata.stateful_dataloader import StatefulDataLoader

    def loader():
        dataset = table.feed(format="torch", seed=3, batch_size=16).torch()
        return StatefulDataLoader(dataset, batch_size=None, num_workers=workers)

    first = loader()
    batches = iter(first)
    ids(next(batches) for _ in range(7))
    state = first.state_dict()
    rest = ids(batches)
    second = loader()
    second.load_state_dict(state)
    assert ids(second) == rest


def test_adapters_are_there_after_import():
    """Each is imported when it is used; without its library nothing else misses it."""
    code = "import leman, sys; leman.grain.TableSource; assert 'leman.ray_data' not in sys.modules"
    subprocess.run([sys.executable, "-c", code + "; from leman import *"], check=True)
    pytest.importorskip("ray")
    subprocess.run([sys.executable, "-c", "import leman; leman.ray_data.read_table"], check=True)


def test_grain_iterates(table):
    grain = pytest.importorskip("grain.python")
    source = leman.grain.TableSource(table, columns=["id", "text"])
    assert isinstance(source, grain.RandomAccessDataSource)
    assert source[-1] == {"id": ROWS - 1, "text": str(ROWS - 1)}
    assert [row["id"] for row in source[[5, 3]]] == [5, 3]
    with pytest.raises(IndexError):
        source[ROWS]
    sampler = grain.IndexSampler(ROWS, grain.NoSharding(), shuffle=True, num_epochs=1, seed=1)
    loader = grain.DataLoader(
        data_source=source,
        sampler=sampler,
        operations=[grain.Batch(batch_size=20)],
        worker_count=1,
    )
    seen = [int(i) for batch in loader for i in batch["id"]]
    assert sorted(seen) == list(range(ROWS)) and seen != list(range(ROWS))


def test_ray_reads(table):
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    read_table = leman.ray_data.read_table

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        rows = read_table(table, columns=["id", "text"]).take_all()
        assert {row["id"]: row["text"] for row in rows} == {i: str(i) for i in range(ROWS)}
        some = read_table(table, columns="id", where="id < 37")
        assert sorted(row["id"] for row in some.take_all()) == list(range(37))
        assert some.count() == 37
    finally:
        ray.shutdown()
