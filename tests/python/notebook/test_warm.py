# SPDX-License-Identifier: Apache-2.0
"""Workers between jobs: kept, ended, and replaced when what they have imported has changed."""

import importlib
import os
import sys

import leman
import pyarrow as pa
import pytest


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.syspath_prepend(str(tmp_path))
    leman.shutdown()
    yield leman.create(tmp_path / "t.lance", pa.table({"id": range(6)}))
    sys.modules.pop("own_module", None)
    leman.shutdown()


@leman.udf
def process(id: int) -> int:
    return os.getpid()


def pids(table, **options):
    """The processes that have computed all rows."""
    if "pid" not in table.schema.names:
        table.add_columns({"pid": process})
    table.backfill("pid", recompute=True, concurrency=1, progress=False, **options)
    return set(table.to_arrow(["pid"])["pid"].to_pylist())


def test_warm__the_next_job_has_the_same_worker(table):
    assert pids(table) == pids(table)
    assert leman.shutdown() == 1
    assert leman.shutdown() == 0


def test_warm__shutdown_ends_them(table):
    (before,) = pids(table)
    leman.shutdown()
    assert not os.path.exists(f"/proc/{before}")
    assert pids(table) != {before}


def test_warm__ended_with_the_job(table):
    assert pids(table, keep_warm=False) != pids(table, keep_warm=False)
    assert leman.shutdown() == 0
    with pytest.raises(ValueError, match="keep_warm is True or False, not 'yes'"):
        pids(table, keep_warm="yes")


def test_warm__workers_with_gpus_end(table, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    pids(table, num_gpus=1)
    assert leman.shutdown() == 0
    pids(table, num_gpus=1, keep_warm=True)
    assert leman.shutdown() == 1


MODULE = """
import leman
import os

FACTOR = {factor}

def helper(x):
    return x * FACTOR

@leman.udf
def out(id: int) -> str:
    return f"{{helper(id)}} {{os.getpid()}}"
"""


def write(folder, factor):
    (folder / "own_module.py").write_text(MODULE.format(factor=factor))
    importlib.invalidate_caches()


def fill(table):
    """(values, the process that has computed them, what happened)"""
    job = table.backfill_async("out", recompute=True, concurrency=1)
    job.wait()
    said = [text.split() for text in table.to_arrow(["out"])["out"].to_pylist()]
    (pid,) = {pid for _, pid in said}
    return [int(value) for value, _ in said], pid, [event["text"] for event in job.events()]


def test_warm__a_worker_is_replaced_when_a_file_has_changed(table, tmp_path):
    write(tmp_path, 10)
    import own_module

    table.add_columns({"out": own_module.out})
    values, first, _ = fill(table)
    assert values == [10 * i for i in range(6)]
    assert fill(table)[1] == first
    write(tmp_path, 1000)
    importlib.reload(own_module)
    table.alter_columns({"path": "out", "udf": own_module.out})
    values, second, events = fill(table)
    assert values == [1000 * i for i in range(6)]
    assert second != first
    assert any("own_module.py has changed since it was imported" in text for text in events)
    assert not os.path.exists(f"/proc/{first}")


def test_warm__a_helper_of_a_script_has_changed(table, tmp_path):
    """The function travels by value, its helper is imported."""
    write(tmp_path, 10)
    code = """
import own_module
import leman
@leman.udf
def out(id: int) -> str:
    import os
    return f"{own_module.helper(id)} {os.getpid()}"
"""
    values = {"__name__": "__main__"}
    exec(code, values)
    table.add_columns({"out": values["out"]})
    assert fill(table)[0] == [10 * i for i in range(6)]
    write(tmp_path, 1000)
    importlib.reload(sys.modules["own_module"])
    exec(code, values)
    table.alter_columns({"path": "out", "udf": values["out"]})
    assert fill(table)[0] == [1000 * i for i in range(6)]


def test_warm__a_module_that_was_not_loaded_again_is_refused(table, tmp_path):
    """Workers would compute with other values than this process has."""
    write(tmp_path, 10)
    import own_module

    table.add_columns({"out": own_module.out})
    fill(table)
    own_module.FACTOR = 11
    table.alter_columns({"path": "out", "udf": own_module.out})
    with pytest.raises(leman.FunctionError, match="out.. of module 'own_module' is another"):
        table.backfill("out", recompute=True, concurrency=1, progress=False)
    assert table.to_arrow(["out"])["out"].to_pylist()[1].startswith("10 ")


def test_warm__another_folder_is_searched(table, tmp_path, monkeypatch):
    first = pids(table)
    assert pids(table) == first
    monkeypatch.syspath_prepend(str(tmp_path / "more"))
    assert pids(table) != first
