# SPDX-License-Identifier: Apache-2.0
"""Functions that misbehave: each has a message, and nothing that was committed is lost."""

import ctypes
import os
import signal
import sys
import threading
import time

import leman
import pyarrow as pa
import pytest

ROWS = 120
BAD = 57


@pytest.fixture
def table(tmp_path):
    return leman.create(tmp_path / "t.lance", pa.table({"id": range(ROWS)}))


def fill(table, column, **options):
    return table.backfill(column, progress=False, **options)


def column(table, name):
    return table.to_arrow([name])[name].to_pylist()


def good(value=lambda i: i):
    return [None if i == BAD else value(i) for i in range(ROWS)]


def errors(table, name):
    return table.errors(name).to_pylist()


def run_bad(table, act, **options):
    """Fill a column by a function that does `act` for one row; all others have their value."""

    @leman.udf(on_error=leman.skip_on_error(), **options)
    def fill_bad(id: int) -> int:
        if id == BAD:
            act()
        return id

    table.add_columns({"out": fill_bad})
    result = fill(table, "out", concurrency=2)
    assert result.state == "done_failed"
    assert result.rows_failed == 1
    assert result.rows_committed == ROWS
    assert column(table, "out") == good()
    assert table.cells("out") == {"pending": 0, "ok": ROWS - 1, "failed": 1, "stale": 0}
    (record,) = errors(table, "out")
    assert record["inputs"] == f"id={BAD}"
    assert record["repeat"] == f"fill_bad.test(table, row_ids=[{BAD}])"
    return result, record


def test_bad__raises(table):
    def act():
        raise ValueError("no such thing")

    _, record = run_bad(table, act)
    assert record["type"] == "ValueError"
    assert record["message"] == "no such thing"
    assert "raise ValueError" in record["traceback"]
    assert "leman/apply.py" not in record["traceback"]
    assert "id=57" in record["inputs"]
    assert record["attempts"] == 1


def test_bad__failed_rows_are_tried_again(table, tmp_path):
    flag = tmp_path / "flag"

    @leman.udf(on_error=leman.skip_on_error())
    def fickle(id: int) -> int:
        if id == BAD and not flag.exists():
            raise ValueError("not yet")
        return id

    table.add_columns({"out": fickle})
    assert fill(table, "out", concurrency=0).rows_failed == 1
    assert fill(table, "out", concurrency=0, retry_failed=False).rows_computed == 0
    again = fill(table, "out", concurrency=0)
    assert (again.state, again.rows_computed, again.rows_failed) == ("done_failed", 1, 1)
    flag.touch()
    assert fill(table, "out", concurrency=0).rows_computed == 1
    assert column(table, "out") == list(range(ROWS))
    assert errors(table, "out") == []


def test_bad__wrong_type(table):
    @leman.udf(on_error=leman.skip_on_error())
    def wrong(id: int) -> int:
        return "fifty-seven" if id == BAD else id

    table.add_columns({"out": wrong})
    assert fill(table, "out").rows_failed == 1
    (record,) = errors(table, "out")
    assert record["message"] == ("wrong() returned 'fifty-seven' (str) is not of the type int64")
    assert column(table, "out") == good()


def test_bad__values_that_lose_something(table):
    """A list of a batch is not cut to its type."""

    @leman.udf(data_type=pa.int64(), on_error=leman.skip_on_error())
    def wrong(id: pa.Array) -> pa.Array:
        return [i + 0.5 if i == BAD else i for i in id.to_pylist()]

    table.add_columns({"out": wrong})
    assert 0 < fill(table, "out").rows_failed < ROWS
    told = "wrong() returned values that are not of the type int64"
    assert told in errors(table, "out")[0]["message"]
    assert column(table, "out")[BAD] is None


def test_bad__wrong_length(table):
    @leman.udf(data_type=pa.int64(), on_error=leman.skip_on_error())
    def wrong(id: pa.Array) -> pa.Array:
        return id.filter(pa.compute.not_equal(id, BAD))

    import pyarrow.compute  # noqa: F401

    table.add_columns({"out": wrong})
    assert fill(table, "out").rows_failed == 1
    (record,) = errors(table, "out")
    assert record["message"] == "wrong() returned 0 values for 1 rows"
    assert column(table, "out") == good()


def test_bad__first_rows_all_fail(table):
    @leman.udf
    def broken(id: int) -> int:
        raise KeyError("model")

    table.add_columns({"out": broken})
    with pytest.raises(leman.FunctionError) as caught:
        fill(table, "out")
    message = str(caught.value)
    assert message.startswith("backfill of 'out': the first ")
    assert (
        " rows all failed: KeyError: 'model'; repeat it by broken.test(table, row_ids=[" in message
    )
    assert column(table, "out") == [None] * ROWS


def test_bad__fail_fast_keeps_what_is_computed(table):
    @leman.udf(on_error=leman.fail_fast(), batch_size=8, checkpoint_size=8)
    def fail(id: int) -> int:
        if id == BAD:
            raise ValueError("enough")
        return id

    table.add_columns({"out": fail})
    with pytest.raises(leman.FunctionError, match="row 57: ValueError: enough .id=57.") as caught:
        fill(table, "out", concurrency=0)
    assert caught.value.result.rows_checkpointed >= 8


def test_bad__exits(table):
    _, record = run_bad(table, lambda: sys.exit(3))
    assert record["type"] == "SystemExit"


def test_bad__ends_its_process(table):
    result, record = run_bad(table, lambda: os._exit(3))
    assert result.worker_deaths >= 1
    assert "3" in record["message"]


def test_bad__segfault(table):
    result, record = run_bad(table, lambda: ctypes.string_at(0))
    assert result.worker_deaths >= 1
    assert "SIGSEGV" in record["message"] or "Segmentation" in record["message"]


def test_bad__killed(table):
    _, record = run_bad(table, lambda: os.kill(os.getpid(), signal.SIGKILL))
    assert "SIGKILL" in record["message"] or "Killed" in record["message"]


def test_bad__hangs(table):
    _, record = run_bad(table, lambda: time.sleep(600), timeout=0.3)
    assert record["type"] == "CallTimeoutError"
    assert "0.3 s" in record["message"]


def test_bad__takes_memory_without_end(table):
    def act():
        hoard = []
        while True:
            hoard.append(b"x" * 2**20)

    result, record = run_bad(table, act, memory="300MiB")
    assert result.worker_deaths >= 1
    assert "memory" in record["message"] or "MiB" in record["message"]


def test_bad__prints(table, capfd):
    @leman.udf
    def chatty(id: int) -> int:
        print("out", id)
        print("err", id, file=sys.stderr)
        os.write(1, b"raw\n")
        return id

    table.add_columns({"out": chatty})
    assert fill(table, "out").rows_committed == ROWS
    assert column(table, "out") == list(range(ROWS))


def test_bad__reads_standard_input(table):
    @leman.udf
    def asks(id: int) -> str:
        return sys.stdin.readline()

    table.add_columns({"out": asks})
    fill(table, "out", concurrency=1, timeout=30)
    assert column(table, "out") == [""] * ROWS


def test_bad__forks(table):
    @leman.udf
    def forks(id: int) -> int:
        if id == BAD and os.fork() > 0:  # the child returns as well, and goes on for a while
            os.wait()
        return id

    table.add_columns({"out": forks})
    assert fill(table, "out", concurrency=1).rows_committed == ROWS
    assert column(table, "out") == list(range(ROWS))


def test_bad__setup_raises(table):
    @leman.udf
    class Model:
        def setup(self):
            raise OSError("no weights here")

        def __call__(self, id: int) -> int:
            return id

    table.add_columns({"out": Model()})
    with pytest.raises(leman.LemanError, match="no weights here"):
        fill(table, "out", concurrency=1)
    with pytest.raises(leman.LemanError, match="no weights here"):
        fill(table, "out", concurrency=0)


def test_bad__a_second_job_on_the_column(table, tmp_path):
    gate = tmp_path / "gate"

    @leman.udf(batch_size=1)
    def slow(id: int) -> int:
        while not gate.exists():
            time.sleep(0.01)
        return id

    table.add_columns({"out": slow})
    job = table.backfill_async("out", concurrency=1)
    while job.status()["state"] != "running":
        time.sleep(0.01)
    with pytest.raises(leman.LemanError, match=job.id):
        fill(leman.open(table.path), "out", concurrency=1)
    gate.touch()
    assert job.wait(60).rows_committed == ROWS
    assert column(table, "out") == list(range(ROWS))


def test_bad__column_dropped_in_mid_job(table, tmp_path):
    gate = tmp_path / "gate"

    @leman.udf(batch_size=1)
    def slow(id: int) -> int:
        while not gate.exists():
            time.sleep(0.01)
        return id

    table.add_columns({"out": slow, "other": slow})
    fill(table, "other", concurrency=0, where="id < 0")
    job = table.backfill_async("out", concurrency=1)
    while job.status()["state"] != "running":
        time.sleep(0.01)
    leman.open(table.path).drop_columns("out")
    gate.touch()
    with pytest.raises(leman.LemanError, match="out"):
        job.wait(60)
    table.refresh()
    assert table.schema.names == ["id", "other"]
    assert fill(table, "other").rows_committed == ROWS


def test_bad__a_request_that_never_fits(table):
    @leman.udf(num_gpus=64)
    def big(id: int) -> int:
        return id

    table.add_columns({"out": big})
    start = time.monotonic()
    with pytest.raises(leman.UnavailableError, match="64 GPU"):
        fill(table, "out")
    with pytest.raises(leman.UnavailableError, match="CPU"):
        fill(table, "out", num_gpus=0, num_cpus=4096)
    with pytest.raises(leman.UnavailableError, match="MiB|GiB"):
        fill(table, "out", num_gpus=0, memory="900TiB")
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"num_cpus": -1}, "num_cpus is a number of at least 0, not -1"),
        ({"num_gpus": "x"}, "num_gpus is a number of at least 0, not 'x'"),
        ({"node_labels": "a"}, "node_labels is a dict, not 'a'"),
        ({"engine": "local", "node_labels": {"a": "b"}}, "node_labels= is about workers of a clus"),
    ],
)
def test_bad__options_of_resources(table, options, text):
    table.add_columns({"out": leman.udf(lambda id: id, data_type=pa.int64())})
    with pytest.raises((TypeError, ValueError), match=text):
        table.backfill("out", progress=False, **options)
    assert table.cells("out")["pending"] == table.count_rows()


def test_bad__threads_are_not_the_main_one(table):
    """Timeouts by signals need the main thread; elsewhere the job runs without them."""

    @leman.udf(timeout=60)
    def steady(id: int) -> int:
        return id

    table.add_columns({"out": steady})
    results = []
    thread = threading.Thread(target=lambda: results.append(fill(table, "out", concurrency=0)))
    thread.start()
    thread.join()
    assert results[0].rows_committed == ROWS
