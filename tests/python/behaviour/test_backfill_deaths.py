# SPDX-License-Identifier: Apache-2.0
"""Workers that die: what they had finished is not computed again."""

import decimal
import os
import signal
import time
from collections import Counter

import leman
import pyarrow as pa
import pytest

ROWS, BATCH = 100, 32


def die_once(folder):
    """End this process the first time that it is called in any."""
    try:
        (folder / "died").touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def calls(folder):
    return Counter(int(line) for line in (folder / "calls").read_text().split())


def fill(table, function, **options):
    table.add_columns({"out": function})
    return table.backfill("out", progress=False, concurrency=1, **options)


@pytest.fixture
def table(tmp_path):
    return leman.create(tmp_path / "t.lance", {"id": range(ROWS)})


@pytest.mark.parametrize("row", [0, 20, 52, ROWS - 1])
def test_only_the_row_in_progress_is_called_again(table, tmp_path, row):
    @leman.udf(batch_size=BATCH)
    def noted(id: int) -> str:
        with open(tmp_path / "calls", "a") as file:
            file.write(f"{id}\n")
        if id == row:
            die_once(tmp_path)
        return f"<{id}>"

    assert fill(table, noted).worker_deaths == 1
    assert calls(tmp_path) == Counter({**dict.fromkeys(range(ROWS), 1), row: 2})
    assert table.to_arrow(["out"])["out"].to_pylist() == [f"<{i}>" for i in range(ROWS)]


def test_a_row_that_kills_is_found_at_once(table, tmp_path):
    """No other row is called twice on the way to it, and it ends two workers."""

    @leman.udf(batch_size=BATCH)
    def noted(id: int) -> int:
        with open(tmp_path / "calls", "a") as file:
            file.write(f"{id}\n")
        if id == 41:
            os.kill(os.getpid(), signal.SIGKILL)
        return id

    status = fill(table, noted)
    assert (status.rows_failed, status.worker_deaths) == (1, 2)
    assert calls(tmp_path) == Counter({**dict.fromkeys(range(ROWS), 1), 41: 2})


VALUES = [None, "täxt", b"\x00\xff", -(2**40), 0.5, True, {"a": 1}, decimal.Decimal("1.25")]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_of_all_types_are_kept(table, tmp_path, value):
    types = {str: pa.string(), bytes: pa.binary(), int: pa.int64(), float: pa.float64(),
             bool: pa.bool_(), dict: pa.struct([("a", pa.int64())]),
             decimal.Decimal: pa.decimal128(10, 2), type(None): pa.string()}  # fmt: skip

    @leman.udf(data_type=types[type(value)], batch_size=8)
    def noted(id: int):
        with open(tmp_path / "calls", "a") as file:
            file.write(f"{id}\n")
        if id == 5:
            die_once(tmp_path)
        return value

    fill(table, noted, where="id < 8")
    assert calls(tmp_path) == Counter({**dict.fromkeys(range(8), 1), 5: 2})
    assert table.to_arrow(["out"], where="id < 8")["out"].to_pylist() == [value] * 8


def test_failed_rows_and_retries_go_on_behind_them(table, tmp_path):
    @leman.udf(batch_size=BATCH, on_error=leman.skip_on_error())
    def noted(id: int) -> int:
        with open(tmp_path / "calls", "a") as file:
            file.write(f"{id}\n")
        if id == 50:
            die_once(tmp_path)
        if id % 10 == 3:
            raise ValueError(id)
        return id

    status = fill(table, noted)
    assert status.rows_failed == ROWS // 10
    again = {row for row, count in calls(tmp_path).items() if count > 1}
    assert again <= {3, 13, 23, 33, 43, 50}  # failed ones may be tried again, good ones not
    out = table.to_arrow(["id", "out"], where="id % 10 != 3")
    assert out["out"].to_pylist() == out["id"].to_pylist()


def test_batches_that_take_too_much_memory_shrink(tmp_path):
    """No row is to blame: all have their value, in smaller batches."""

    @leman.udf(data_type=pa.int64(), batch_size=8, memory="300MiB")
    def hungry(id: pa.Array) -> pa.Array:
        taken = b"x" * (len(id) * 30 * 2**20)
        while len(id) > 4:
            time.sleep(60)  # until it is killed
        return id if taken else None

    table = leman.create(tmp_path / "t.lance", {"id": range(8)})
    result = fill(table, hungry)
    assert (result.rows_failed, result.rows_committed) == (0, 8)
    assert result.worker_deaths == 1
    assert table.to_arrow(["out"])["out"].to_pylist() == list(range(8))
    events = [event["text"] for event in table.jobs()[0].events()]
    assert any("over its limit of 300 MiB" in text for text in events)


@pytest.mark.parametrize("columns", [["out"], ["first", "out"]])
def test_a_setup_that_does_not_end(table, columns):
    """Of the first function, and of one that is loaded for its first task."""

    @leman.udf
    def first(id: int) -> int:
        return id

    @leman.udf(setup_timeout=0.3)
    class Slow:
        def setup(self):
            time.sleep(600)

        def __call__(self, id: int) -> int:
            return id

    table.add_columns({"first": first, "out": Slow()})
    with pytest.raises(leman.FunctionError, match="the function was not loaded after 0.3 s"):
        table.backfill(columns, progress=False, concurrency=1, max_worker_restarts=1)
    with pytest.raises(ValueError, match="setup_timeout is a number of at least 0.001, not 0"):
        leman.udf(setup_timeout=0)
