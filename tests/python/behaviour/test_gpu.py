# SPDX-License-Identifier: Apache-2.0
"""GPUs of workers, on machines without any: what workers see, how models are loaded, batches that
do not fit. CUDA_VISIBLE_DEVICES of the process that starts a job says which GPUs there are."""

import os
import time

import leman
import pyarrow as pa
import pytest

gpus_of_this_machine = pytest.mark.skipif(
    os.environ.get("LEMAN_ENGINE") == "ray",
    reason="Ray says which GPUs there are, and who has which: test_seeds__gpu in tests/ray",
)
ROWS = 40


@pytest.fixture
def table(tmp_path):
    db = leman.connect(tmp_path / "db")
    return db.create_table("t", pa.table({"id": range(ROWS)}))


def seen_by(table, folder, workers, **options):
    """What each of so many workers sees; all of them are there at once."""

    @leman.udf(num_cpus=0.1, batch_size=1, **options)
    def look(id: int) -> str:
        (folder / f"here-{os.getpid()}").touch()
        while len(list(folder.glob("here-*"))) < workers:
            time.sleep(0.005)
        return f"{os.getpid()} {os.environ['CUDA_VISIBLE_DEVICES']}"

    folder.mkdir()
    table.add_columns({folder.name: look})
    result = table.backfill(folder.name, concurrency=workers, progress=False)
    assert result.rows_failed == 0
    pairs = {tuple(text.split(" ")) for text in table.to_arrow([folder.name])[0].to_pylist()}
    assert len(pairs) == workers
    return sorted(gpus for _, gpus in pairs)


@gpus_of_this_machine
def test_gpus__of_workers(table, tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
    assert seen_by(table, tmp_path / "one", 4, num_gpus=1) == ["4", "5", "6", "7"]
    assert seen_by(table, tmp_path / "two", 2, num_gpus=2) == ["4,5", "6,7"]
    assert seen_by(table, tmp_path / "half", 4, num_gpus=0.5) == ["4", "4", "5", "5"]
    assert seen_by(table, tmp_path / "none", 2) == ["", ""]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-aa,GPU-bb")
    assert seen_by(table, tmp_path / "named", 2, num_gpus=1) == ["GPU-aa", "GPU-bb"]


@gpus_of_this_machine
def test_gpus__more_than_there_are(table, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")

    @leman.udf(num_gpus=3)
    def greedy(id: int) -> int:
        return id

    table.add_columns({"out": greedy})
    with pytest.raises(leman.UnavailableError, match="needs 1 CPU, 3 GPU.*has .* 2 GPU"):
        table.backfill("out", progress=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(leman.UnavailableError, match="0 GPU"):
        table.backfill("out", num_gpus=0.5, progress=False)


@gpus_of_this_machine
@pytest.mark.parametrize("parallel", [False, True])
def test_gpus__models_are_loaded_in_turns(table, tmp_path, monkeypatch, parallel):
    """One worker at a time, or, where it is asked for, two that wait for each other."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    folder = tmp_path / "setup"
    folder.mkdir()

    def here(name):
        return len(list(folder.glob(f"{name}-*")))

    @leman.udf(num_gpus=1, num_cpus=0.1, batch_size=1, parallel_setup=parallel)
    class Model:
        def setup(self):
            begun = time.monotonic()
            (folder / f"begun-{os.getpid()}").touch()
            while parallel and here("begun") < 2:
                time.sleep(0.005)
            time.sleep(0.05)
            (folder / f"ready-{os.getpid()}").write_text(f"{begun} {time.monotonic()}")

        def __call__(self, id: int) -> int:
            while here("ready") < 2:
                time.sleep(0.005)
            return id

    table.add_columns({"out": Model()})
    assert table.backfill("out", concurrency=2, progress=False).rows_committed == ROWS
    first, second = sorted(
        tuple(map(float, path.read_text().split())) for path in folder.glob("ready-*")
    )
    assert (second[0] < first[1]) == parallel


class OutOfMemoryError(RuntimeError):
    __module__ = "torch.cuda"


@pytest.mark.parametrize("kind", ["class", "text"])
def test_gpus__out_of_memory_halves_the_batch(table, kind):
    """A batch that does not fit is halved, and those behind it are of that size from the start."""
    calls = []

    @leman.udf(data_type=pa.int64(), batch_size=20)
    def model(id: pa.Array) -> pa.Array:
        calls.append(len(id))
        if len(id) > 6:
            if kind == "class":
                raise OutOfMemoryError("no memory")
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return id

    table.add_columns({"out": model})
    result = table.backfill("out", concurrency=0, progress=False)
    assert result.rows_failed == 0
    assert table.to_arrow(["out"])["out"].to_pylist() == list(range(ROWS))
    assert calls == [20, 10, 5, 5, 5, 5, 5, 5, 5, 5]


def test_gpus__the_size_is_left_to_the_job_that_goes_on(table):
    calls = []

    @leman.udf(data_type=pa.int64(), batch_size=16)
    def model(id: pa.Array) -> pa.Array:
        calls.append(len(id))
        if len(id) > 4:
            raise OutOfMemoryError("no memory")
        return id

    table.add_columns({"out": model})
    with pytest.raises(leman.CancelledError, match="max_calls"):
        table.backfill("out", concurrency=0, progress=False, max_calls=6, job_id="first")
    assert calls == [16, 8, 4, 4, 4, 4]
    status = leman.open(table.path).jobs()[0].status()
    assert status["fills"][0]["batch_rows_max"] == 4
    assert any("has 4 rows in a call at most" in event["text"] for event in status["events"])
    del calls[:]
    result = table.backfill("out", concurrency=0, progress=False)
    assert result.rows_resumed == 16
    assert set(calls) == {4}
    assert table.to_arrow(["out"])["out"].to_pylist() == list(range(ROWS))


def test_gpus__a_row_that_never_fits_fails(table):
    """It says nothing about the size of batches."""
    calls = []

    @leman.udf(data_type=pa.int64(), batch_size=8, on_error=leman.skip_on_error())
    def model(id: pa.Array) -> pa.Array:
        calls.append(len(id))
        if 3 in id.to_pylist():
            raise OutOfMemoryError("one row is too much")
        return id

    table.add_columns({"out": model})
    result = table.backfill("out", concurrency=0, progress=False)
    assert result.rows_failed == 1
    (error,) = table.errors("out").to_pylist()
    assert error["type"] == "OutOfMemoryError" and "id=3" in error["inputs"]
    assert calls[-4:] == [8, 8, 8, 8]


def test_gpus__bad_numbers():
    with pytest.raises(ValueError, match="num_gpus is a number of at least 0, not -1"):
        leman.udf(num_gpus=-1)
