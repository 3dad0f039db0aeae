# SPDX-License-Identifier: Apache-2.0
"""What users of a distributed feature engine type, under our names, on one machine.

Each trouble that their guide warns of has a named cause here instead of a hang.
"""

import os
import time

import leman
import pyarrow as pa
import pytest

ROWS = 200


@pytest.fixture
def table(tmp_path):
    db = leman.connect(tmp_path)
    rows = {
        "text": [f"row {i}" for i in range(ROWS)],
        "x": range(ROWS),
        "image": [bytes([i]) * 3 for i in range(ROWS)],
    }
    return db.create_table("t", pa.table(rows), max_rows_per_fragment=80)


@leman.udf(num_cpus=1)
def my_cpu_udf(text: str) -> str:
    return text.upper()


@leman.udf(num_cpus=0.5)
def simple_transform(x: int) -> int:
    return x + 1


@leman.udf(num_gpus=1, num_cpus=1)
def my_gpu_udf(image: bytes) -> list[float]:
    return [float(byte) for byte in image]


def values(table, name):
    return table.to_arrow([name])[name].to_pylist()


# Decorator options


def test_seeds__cpu_function(table):
    table.add_columns({"upper": my_cpu_udf})
    table.backfill("upper")
    assert values(table, "upper") == [f"ROW {i}" for i in range(ROWS)]


def test_seeds__lightweight_function(table):
    table.add_columns({"next": simple_transform})
    table.backfill("next", concurrency=2)
    assert values(table, "next") == list(range(1, ROWS + 1))


def test_seeds__memory_in_bytes_and_as_text():
    assert leman.udf(memory=2**30)(simple_transform._leman_function).options.memory == 2**30
    assert leman.udf(memory="1GiB")(simple_transform._leman_function).options.memory == 2**30


# Options of backfill


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"concurrency": 2},
        {"batch_size": 16, "concurrency": 2},
        {"concurrency": 2, "batch_size": 32},
        {"batch_size": 64},
        {"concurrency": 1, "intra_applier_concurrency": 2},
        {"commit_granularity": 1},
        {"checkpoint_size": 10},
    ],
)
def test_seeds__options(table, options):
    table.add_columns({"next": simple_transform})
    result = table.backfill("next", **options)
    assert result.rows_committed == ROWS
    assert values(table, "next") == list(range(1, ROWS + 1))


def test_seeds__concurrency_beyond_the_machine_is_cut(table, capfd):
    """8 appliers on a machine of fewer processors: fewer run, and the job says so."""
    table.add_columns({"upper": my_cpu_udf})
    job = table.backfill_async("upper", concurrency=64)
    assert job.wait(120).rows_committed == ROWS
    if (os.cpu_count() or 1) < 64:
        assert any("64" in event["text"] for event in job.events())


def test_seeds__partial_results_are_visible(table, tmp_path):
    """commit_granularity: fragments are there for readers while the job runs."""
    gate = tmp_path / "gate"

    @leman.udf(batch_size=10)
    def slow(x: int) -> int:
        while x >= 160 and not gate.exists():
            time.sleep(0.01)
        return x

    table.add_columns({"out": slow})
    job = table.backfill_async("out", concurrency=1, commit_granularity=1)
    end = time.monotonic() + 60
    while leman.open(table.path).count_rows("out is not null") < 160:
        assert time.monotonic() < end
        time.sleep(0.05)
    gate.touch()
    assert job.wait(60).rows_committed == ROWS


# The sum of resources, line by line


def test_seeds__resource_sum(table):
    table.add_columns({"upper": my_cpu_udf})
    plan = table.plan_backfill("upper", concurrency=1)
    lines = {line["what"]: line for line in plan["resources"]}
    assert set(lines) == {"driver", "tracker", "workers", "writers", "queues"}
    assert lines["workers"]["cpus"] == 1
    for name in ("driver", "tracker", "writers", "queues"):
        assert lines[name]["cpus"] == 0
        assert lines[name]["why"]
    assert plan["total"]["cpus"] == 1


# Troubles


def test_seeds__hangs_at_zero_percent(table):
    """Resources that are not there: refused at once, with what is asked for and what there is."""
    table.add_columns({"embedding": my_gpu_udf})
    with pytest.raises(leman.UnavailableError, match="1 GPU.*this machine has"):
        table.backfill("embedding", concurrency=4)
    result = table.backfill("embedding", concurrency=1, num_gpus=0)
    assert result.rows_committed == ROWS


def test_seeds__stalls_partway(table):
    """Workers that die: the row is found and named, and the others go on."""

    @leman.udf(on_error=leman.skip_on_error())
    def dies(x: int) -> int:
        if x == 123:
            os.abort()
        return x

    table.add_columns({"out": dies})
    result = table.backfill("out", concurrency=1)
    assert (result.rows_committed, result.rows_failed) == (ROWS, 1)
    (record,) = table.errors("out").to_pylist()
    assert record["row_id"] == 123
    assert "signal 6" in record["message"]


def test_seeds__workers_do_not_start(table):
    """A setup that fails ends the job with its message instead of starting workers for ever."""

    @leman.udf
    class Model:
        def setup(self):
            raise RuntimeError("weights.bin is missing")

        def __call__(self, x: int) -> int:
            return x

    table.add_columns({"out": Model()})
    with pytest.raises(leman.LemanError, match="weights.bin is missing"):
        table.backfill("out", concurrency=1)


def test_seeds__fails_after_many_restarts(table):
    """Workers that die again and again outside of any call: the job fails and says how."""

    @leman.udf
    class Dies:
        def setup(self):
            os._exit(9)

        def __call__(self, x: int) -> int:
            return x

    table.add_columns({"out": Dies()})
    with pytest.raises(leman.LemanError, match="9"):
        table.backfill("out", concurrency=1, max_worker_restarts=2)


@pytest.mark.parametrize("name", ["num_frags", "skip_frags", "task_size", "min_checkpoint_size"])
def test_seeds__options_that_are_not_offered_say_why(table, name):
    table.add_columns({"next": simple_transform})
    with pytest.raises(TypeError, match=f"does not offer {name}=: "):
        table.backfill("next", **{name: 1})
