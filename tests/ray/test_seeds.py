# SPDX-License-Identifier: Apache-2.0
"""What users of Geneva and Space type on a cluster, under our names."""

import io
import tarfile

import leman
import pyarrow as pa
import pytest
from leman import ArrayRecordOptions, FileOptions, RayOptions, ReadOptions
from test_engine import values, wait_until

ROWS = 300


@pytest.fixture
def table(tmp_path, one_node):
    rows = {
        "text": [f"row {i}" for i in range(ROWS)],
        "x": range(ROWS),
        "image": [bytes([i % 256]) * 3 for i in range(ROWS)],
    }
    return leman.connect(tmp_path).create_table("t", pa.table(rows), max_rows_per_fragment=100)


@leman.udf(num_cpus=1)
def my_cpu_udf(text: str) -> str:
    return text.upper()


@leman.udf(num_gpus=1, num_cpus=1)
def my_gpu_udf(image: bytes) -> list[float]:
    import os

    if os.environ["CUDA_VISIBLE_DEVICES"] not in ("0", "1"):
        raise ValueError("it sees other GPUs than its own")
    return [float(byte) for byte in image]


@leman.udf(num_cpus=0.5)
def simple_transform(x: int) -> int:
    return x + 1


# Sizes and options of jobs


def test_seeds__functions_and_options(table):
    table.add_columns({"upper": my_cpu_udf, "next": simple_transform})
    result = table.backfill(["upper"], engine="ray", concurrency=2, batch_size=32)
    assert result.state == "done"
    table.backfill("next", engine="ray", concurrency=2, intra_applier_concurrency=2)
    assert values(table, "upper") == [f"ROW {i}" for i in range(ROWS)]
    assert values(table, "next") == list(range(1, ROWS + 1))


def test_seeds__gpu_function(table):
    """GPUs are asked for, and each worker sees its own."""
    table.add_columns({"embeddings": my_gpu_udf})
    assert table.backfill("embeddings", engine="ray", concurrency=2).state == "done"
    assert values(table, "embeddings")[7] == [7.0, 7.0, 7.0]


def test_seeds__gpu_fractions(table):
    table.add_columns({"embeddings": my_gpu_udf})
    job = table.backfill_async("embeddings", engine="ray", concurrency=4, num_gpus=0.5)
    assert job.wait(60).state == "done"
    assert "instead of" not in job.status()["message"]  # all of them fit


# Symptom: a job hangs at 0 %


def test_seeds__more_than_fits_shrinks(table):
    table.add_columns({"upper": my_cpu_udf})
    job = table.backfill_async("upper", engine="ray", concurrency=64)
    assert "7 workers instead of 64: each needs 1 CPU" in job.status()["message"]
    assert job.wait(60).state == "done"
    assert "7 workers instead of 64" in job.status()["message"]


def test_seeds__what_never_fits_is_refused_with_the_sum(table):
    table.add_columns({"upper": my_cpu_udf})
    with pytest.raises(leman.UnavailableError) as caught:
        table.backfill("upper", engine="ray", concurrency=4, num_gpus=4)
    said = str(caught.value)
    assert "tracker 1 x 0.1 CPU, 128 MiB" in said
    assert "workers 4 x 1 CPU, 4 GPU = 4 CPU, 16 GPU" in said
    assert "the largest node" in said and said.endswith("has 2 GPU")
    assert not table.jobs()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"num_gpus": 1.5}, "num_gpus is a part of one GPU, or a whole number of them, not 1.5"),
        ({"num_cpus": 0.00001}, "Ray has no worker with 1e-05 CPU: .*0.0001"),
        ({"resources": {"accelerator": 0.00001}}, "1e-05 x accelerator: .*0.0001"),
        ({"node_labels": {"a zone": "a"}}, "label a zone=a: Invalid label key"),
    ],
)
def test_seeds__amounts_that_ray_does_not_have(table, asked, words):
    """They are refused before anything is started."""
    table.add_columns({"upper": my_cpu_udf})
    with pytest.raises(leman.InvalidError, match=words):
        table.backfill("upper", engine="ray", **asked)
    assert not table.jobs()


def test_seeds__what_others_hold_is_named(table, one_node):
    """While it waits, the blocker is named and the deadline runs."""

    @one_node.remote(num_gpus=2)
    class Holder:
        def ready(self):
            return True

    holder = Holder.remote()
    one_node.get(holder.ready.remote())
    table.add_columns({"embeddings": my_gpu_udf})
    job = table.backfill_async("embeddings", engine="ray", concurrency=1, wait_timeout=12)
    seen = []

    def is_named():
        job._core.wait(100)
        seen.append(job.status()["message"])
        return "s of 12 s for a worker: each needs 1 CPU, 1 GPU; most is free" in seen[-1]

    wait_until(is_named)
    assert "0 GPU of" in seen[-1] and seen[-1].endswith("2 GPU")
    with pytest.raises(leman.UnavailableError, match="waited 12 s for a worker: each needs"):
        job.wait(60)
    one_node.kill(holder)
    assert table.backfill("embeddings", engine="ray", concurrency=1).state == "done"


# Space: reading


def test_seeds__read(table):
    ray_option = RayOptions(max_parallelism=4)
    tables = list(table.ray(ray_option).read(batch_size=64))
    assert [part.num_rows for part in tables] == [64, 64, 64, 64, 44]
    assert pa.concat_tables(tables)["x"].to_pylist() == list(range(ROWS))
    some = table.ray(ray_option).read_all(where="x >= 290", columns=["text"])
    assert some["text"].to_pylist() == [f"row {i}" for i in range(290, ROWS)]


def test_seeds__ray_dataset(table):
    ray_ds = table.ray_dataset(RayOptions(max_parallelism=4), ReadOptions(batch_size=64))
    assert ray_ds.count() == ROWS
    assert sorted(row["x"] for row in ray_ds.take_all()) == list(range(ROWS))


def test_seeds__blocks_are_large_whatever_the_batch(tmp_path, one_node):
    """50 MB of rows in batches of 64 are few blocks, and tasks are capped."""
    from leman.ray_data import TableDatasource

    rows = pa.table({"x": range(800), "image": [bytes(64 << 10)] * 800})
    table = leman.connect(tmp_path).create_table("large", rows)
    source = TableDatasource(table, batch_size=64)
    assert 1 <= len(source.ranges(200)) <= 3
    blocks = [block for found in source.ranges(200) for block in source.reader(*found)()]
    assert all(16 << 20 <= block.nbytes <= 128 << 20 for block in blocks)
    assert sum(block.num_rows for block in blocks) == 800


def test_seeds__no_node_for_a_task(table, monkeypatch):
    """What never has a place is refused at once."""
    from leman import ray_runner
    from leman.ray_admission import Node

    monkeypatch.setattr(ray_runner, "look_around", lambda _: [Node("a", {"GPU": 1}, {})])
    told = "a task needs 1 CPU, and none of the cluster's 1 nodes has it"
    with pytest.raises(leman.UnavailableError, match=told):
        table.ray().read()
    with pytest.raises(leman.UnavailableError, match=told):
        table.ray().append_from([lambda: [{"x": 1}]])


# Space: loading


def numbers(first):
    for start in range(first, first + 100, 25):
        yield pa.table({"x": range(start, start + 25)})


def test_seeds__append_from(tmp_path, one_node):
    from functools import partial

    table = leman.connect(tmp_path).create_table("n", schema=pa.schema([("x", pa.int64())]))
    runner = table.ray(
        ray_options=RayOptions(max_parallelism=2),
        file_options=FileOptions(array_record_options=ArrayRecordOptions(options="group_size:64")),
    )
    before = table.version
    result = runner.append_from([partial(numbers, 100 * i) for i in range(4)])
    assert result.rows == result.rows_committed == 400
    assert sorted(values(table, "x")) == list(range(400))
    assert table.version == before + 1

    def breaks():
        yield from numbers(0)
        raise ValueError("no more numbers")

    with pytest.raises(Exception, match="no more numbers"):
        runner.append_from([partial(numbers, 400), breaks])
    table.refresh()
    assert table.version == before + 1 and len(table) == 400


def test_seeds__webdataset(tmp_path, one_node):
    for shard in range(3):
        with tarfile.open(tmp_path / f"{shard}.tar", "w") as tar:
            for i in range(10):
                for ending, data in (("txt", f"{shard} {i}".encode()), ("bin", bytes([i]))):
                    info = tarfile.TarInfo(f"{shard}-{i:03}.{ending}")
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
    source = leman.webdataset(str(tmp_path / "*.tar"))
    table = leman.connect(tmp_path).create_table("w", schema=source.schema)
    result = table.ray(RayOptions(max_parallelism=2)).append(source)
    assert result.parts_done == 3 and result.rows == 30
    again = table.ray(RayOptions(max_parallelism=2)).append(source)
    assert again.rows == 0 and len(table) == 30


# Bad input


def test_seeds__bad_options(table):
    with pytest.raises(ValueError, match="max_parallelism is a whole number of at least 1, not 0"):
        RayOptions(max_parallelism=0)
    with pytest.raises(ValueError, match="group_size is a whole number of at least 1, not 'x'"):
        FileOptions(array_record_options=ArrayRecordOptions(options="group_size:x"))
    with pytest.raises(ValueError, match="batch_size is a whole number of at least 1, not 0"):
        ReadOptions(batch_size=0)
    with pytest.raises(TypeError, match="takes leman.RayOptions, not 4"):
        table.ray(4)
    with pytest.raises(
        ValueError, match='engine is "local" or "ray", not "dask"'.replace('"dask"', "'dask'")
    ):
        table.backfill("x", engine="dask")
    with pytest.raises(ValueError, match="resources: GPU is asked for by"):
        table.backfill("x", engine="ray", resources={"GPU": 1})
