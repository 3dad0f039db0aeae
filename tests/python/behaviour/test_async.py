# SPDX-License-Identifier: Apache-2.0
"""Functions that are coroutines: in flight together, failing alone, limited in time, stopped."""

import asyncio
import time

import leman
import pyarrow as pa
import pytest

ROWS = 60


@pytest.fixture
def table(tmp_path):
    db = leman.connect(tmp_path / "db")
    return db.create_table("t", pa.table({"id": range(ROWS)}))


def fill(table, function, **options):
    table.add_columns({"out": function})
    result = table.backfill("out", progress=False, **{"concurrency": 1} | options)
    return result, table.to_arrow(["out"])["out"].to_pylist()


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


@pytest.mark.parametrize("concurrency", [0, 2])
def test_async__rows_are_in_flight_together(table, concurrency):
    """Each of 10 rows waits for the other 9; no more than 10 are ever there."""

    @leman.udf(async_concurrency=10, batch_size=30)
    class Together:
        async def setup(self):
            self.here = 0
            self.gate = asyncio.Event()

        async def __call__(self, id: int) -> int:
            self.here += 1
            assert self.here <= 10
            if self.here == 10:
                self.gate.set()
            await asyncio.wait_for(self.gate.wait(), 30)
            self.here -= 1
            return id * 2

    result, out = fill(table, Together(), concurrency=concurrency)
    assert out == [i * 2 for i in range(ROWS)]
    assert result.state == "done"


def test_async__errors_are_of_their_row(table):
    @leman.udf(on_error=leman.retry_all(max_attempts=3, backoff=0.001))
    class Shaky:
        def setup(self):
            self.tries = {}

        async def __call__(self, id: int) -> int:
            self.tries[id] = self.tries.get(id, 0) + 1
            await asyncio.sleep(0)
            if id == 7 or (id % 10 == 0 and self.tries[id] < 3):
                raise ValueError(f"bad {id}, try {self.tries[id]}")
            return id

    result, out = fill(table, Shaky())
    assert result.state == "done_failed" and result.rows_failed == 1
    assert out == [None if i == 7 else i for i in range(ROWS)]
    (error,) = table.errors("out").to_pylist()
    assert error["message"] == "bad 7, try 3"
    assert error["attempts"] == 3
    assert "id=7" in error["inputs"]


def test_async__time_limit_of_a_call(table):
    @leman.udf(timeout=0.05, on_error=leman.skip_on_error())
    async def slow(id: int) -> int:
        if id == 3:
            await asyncio.sleep(60)
        return id

    result, out = fill(table, slow)
    assert result.rows_failed == 1 and result.worker_deaths == 0
    assert out[3] is None and out[4] == 4
    (error,) = table.errors("out").to_pylist()
    assert error["type"] == "CallTimeoutError"
    assert "0.05 s" in error["message"]


def test_async__fail_fast(table):
    @leman.udf(on_error=leman.fail_fast())
    async def bad(id: int) -> int:
        if id == 5:
            raise ValueError("five")
        return id

    table.add_columns({"out": bad})
    with pytest.raises(leman.FunctionError, match="row 5: ValueError: five"):
        table.backfill("out", concurrency=1, progress=False)


def test_async__stop_begins_no_more_calls(table, tmp_path):
    """What runs when the job is stopped is waited for and kept; nothing else is begun."""
    calls, gate = tmp_path / "calls", tmp_path / "gate"
    calls.touch()

    @leman.udf(async_concurrency=4, batch_size=ROWS)
    async def noted(id: int) -> int:
        with open(calls, "a") as file:
            file.write(f"{id}\n")
        while id >= 8 and not gate.exists():
            await asyncio.sleep(0.005)
        return id

    table.add_columns({"out": noted})
    job = table.backfill_async("out", concurrency=1)
    until(lambda: len(calls.read_text().split()) == 12)
    job.cancel()
    until(lambda: job.status()["state"] == "stopping")
    gate.touch()
    with pytest.raises(leman.CancelledError):
        job.wait()
    made = [int(line) for line in calls.read_text().split()]
    assert sorted(made) == list(range(len(made))) and len(made) < ROWS
    assert job.status()["rows_checkpointed"] == len(made)
    result = table.backfill("out", concurrency=1, progress=False)
    assert result.rows_resumed == len(made)
    assert sorted(int(line) for line in calls.read_text().split()) == list(range(ROWS))


def test_async__functions_over_arrays(table):
    @leman.udf(data_type=pa.int64())
    async def doubled(id: pa.Array) -> pa.Array:
        await asyncio.sleep(0)
        return pa.array([value * 2 for value in id.to_pylist()])

    assert fill(table, doubled)[1] == [i * 2 for i in range(ROWS)]


def test_async__test_and_wrong_results(table):
    @leman.udf
    async def texts(id: int) -> str:
        await asyncio.sleep(0)
        return id if id == 1 else str(id)

    result = texts.test(table, rows=3)
    assert result.outputs == ["0", None, "2"]
    assert result.errors[0]["type"] == "WrongResultError"


@pytest.mark.parametrize("value", [0, -1, 2.5, "many", True])
def test_async__bad_concurrency(value):
    with pytest.raises(ValueError, match=f"async_concurrency is a whole number.*{value!r}"):
        leman.udf(async_concurrency=value)
