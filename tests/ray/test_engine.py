# SPDX-License-Identifier: Apache-2.0
"""Jobs on a Ray cluster of one node."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import leman
import pyarrow as pa
import pytest

ROWS = 500


@leman.udf
def next_one(x: int) -> int:
    return x + 1


@leman.udf
def killer(x: int) -> int:
    if x == 123:
        os.kill(os.getpid(), signal.SIGKILL)
    return x + 1


@leman.udf
def raiser(x: int) -> int:
    if x == 7:
        raise ValueError("seven")
    return x + 1


@leman.udf(data_type=pa.int64())
class unloadable:
    def setup(self):
        raise RuntimeError("no model here")

    def __call__(self, x):
        return x


@pytest.fixture
def table(tmp_path, one_node):
    db = leman.connect(tmp_path)
    return db.create_table("t", pa.table({"x": range(ROWS)}), max_rows_per_fragment=200)


@pytest.fixture
def gate(tmp_path):
    return tmp_path / "gate"


@pytest.fixture
def gated(gate):
    """A function that waits for a file to appear from row 8 on."""

    @leman.udf(batch_size=4)
    def waits(x: int) -> int:
        while x >= 8 and not gate.exists():
            time.sleep(0.005)
        return x + 1

    return waits


def values(table, name="y"):
    return table.to_arrow([name])[name].to_pylist()


def applier_count(ray):
    """Actors of jobs that are there."""
    from ray._private.state import actors

    return sum(
        actor["ActorClassName"] in ("Applier", "Tracker") and actor["State"] != "DEAD"
        for actor in actors().values()
    )


def wait_until(check, seconds=30):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)


def test_engine__fills(table, one_node):
    table.add_columns({"y": next_one})
    result = table.backfill("y", engine="ray", concurrency=2, keep_warm=False)
    assert result.state == "done"
    assert result.rows_committed == result.rows_computed == ROWS
    assert values(table) == list(range(1, ROWS + 1))
    record = table.jobs()[0].status()
    assert record["state"] == "done" and record["id"] == result.job_id
    wait_until(lambda: applier_count(one_node) == 0)


def test_engine__nothing_to_do(table):
    table.add_columns({"y": next_one})
    table.backfill("y")
    assert table.backfill("y", engine="ray").rows_planned == 0


def test_engine__context(table):
    class Cluster:
        address = None
        count = 0

        def init(self):
            self.count += 1

    cluster = Cluster()
    table.add_columns({"y": next_one})
    with leman.connect(os.path.dirname(table.uri)).context(cluster):
        job = table.backfill_async("y")
        assert job.wait().state == "done"
    assert cluster.count == 2
    assert type(job._core).__name__ == "Tracked"


def test_engine__poison_row(table):
    table.add_columns({"y": killer})
    result = table.backfill("y", engine="ray", concurrency=2)
    assert result.state == "done_failed" and result.rows_failed == 1
    assert result.worker_deaths >= 2
    found = table.errors("y").to_arrow().to_pylist()
    assert "signal 9" in found[0]["message"] and "(node " in found[0]["message"]
    expected = [x + 1 if x != 123 else None for x in range(ROWS)]
    assert values(table) == expected


def test_engine__exception(table):
    table.add_columns({"y": raiser})
    assert table.backfill("y", engine="ray", concurrency=1).rows_failed == 1
    found = table.errors("y").to_arrow().to_pylist()
    assert [(error["type"], error["message"]) for error in found] == [("ValueError", "seven")]


def test_engine__setup_fails(table):
    table.add_columns({"y": unloadable})
    with pytest.raises(leman.FunctionError, match="no model here"):
        table.backfill("y", engine="ray", concurrency=1)


def begin(table, function, **options):
    """A job whose calls wait for the gate, with some rows computed."""
    table.add_columns({"y": function})
    job = table.backfill_async("y", engine="ray", concurrency=2, **options)
    wait_until(lambda: not job._core.wait(100) and job.status()["rows_computed"] >= 8)
    return job


def test_engine__cancel_frees_all(table, gated, gate, one_node):
    """At once, whatever its calls are at."""
    job = begin(table, gated)
    wait_until(lambda: applier_count(one_node) == 3)  # those of tests before it have gone
    job.cancel(now=True)
    with pytest.raises(leman.CancelledError):
        job.wait(60)
    wait_until(lambda: applier_count(one_node) == 0)
    gate.touch()
    done = table.backfill("y", where="x < 50", concurrency=1)
    assert done.state == "done"


def test_engine__seen_and_cancelled_from_elsewhere(table, gated, gate):
    """Another process finds the job by its record, and may stop it."""
    job = begin(table, gated, job_id="there")
    code = f"""
        import pathlib, leman
        job = leman.connect({os.path.dirname(table.uri)!r}).job("there")
        assert job.status()["state"] == "running", job.status()
        job.cancel()
        while job.status()["state"] != "stopping":
            pass
        pathlib.Path({str(gate)!r}).touch()
        assert job.wait(60)["state"] == "stopped"
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=120)
    with pytest.raises(leman.CancelledError):
        job.wait(60)


WAITS = """
        import os, pathlib, signal, threading, time, ray, leman

        GATE = pathlib.Path({gate!r})

        @leman.udf(batch_size=4)
        def waits_here(x: int) -> int:
            while x >= 8 and not GATE.exists():
                time.sleep(0.005)
            return x + 1

        ray.init(address={address!r}, logging_level="error")
        table = leman.open({uri!r})
        table.add_columns({{"y": waits_here}})
"""


@pytest.fixture
def client(table, gate, tmp_path, one_node):
    """Runs a program of a user, which has a table with a column whose calls wait for the gate."""

    def run(code):
        address = one_node.get_runtime_context().gcs_address
        head = WAITS.format(gate=str(gate), address=address, uri=table.uri)
        script = tmp_path / "client.py"
        script.write_text(textwrap.dedent(head + code))
        command = [sys.executable, str(script)]
        return subprocess.run(
            command, check=True, timeout=120, stdout=subprocess.PIPE, text=True
        ).stdout

    return run


def test_engine__outlives_its_client(table, client, gate, tmp_path):
    """A client that goes leaves the job to the cluster."""
    client("""
        job = table.backfill_async("y", engine="ray", concurrency=4, job_id="left")
        while job.status()["rows_computed"] < 8:
            assert not job._core.wait(100)
    """)
    gate.touch()
    assert leman.connect(tmp_path).job("left").wait(60)["state"] == "done"
    table.refresh()
    assert values(table) == list(range(1, ROWS + 1))


def test_engine__interrupt_stops(client, one_node):
    """Ctrl-C checkpoints and stops, as on one machine."""
    said = client("""
        def await_status(check):
            while not table.jobs() or not check(table.jobs()[0].status()):
                time.sleep(0.02)

        def interrupt():
            await_status(lambda status: status["rows_computed"] >= 8)
            os.kill(os.getpid(), signal.SIGINT)
            await_status(lambda status: status["state"] == "stopping")
            GATE.touch()

        threading.Thread(target=interrupt, daemon=True).start()
        try:
            table.backfill("y", engine="ray", concurrency=2, progress=False)
        except KeyboardInterrupt as error:
            assert "goes on" in str(error), error
            print("stopped")
    """)
    assert "stopped" in said
    wait_until(lambda: applier_count(one_node) == 0)


def test_engine__environment(table, tmp_path, monkeypatch):
    """Modules of the client's path come from the environment that was shipped."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "pyproject.toml").write_text("")
    (workspace / "my_helper.py").write_text("def triple(x):\n    return 3 * x\n")
    monkeypatch.syspath_prepend(str(workspace))
    db = leman.connect(tmp_path)
    env = leman.environment.capture(
        db, workspace=str(workspace), skip_site_packages=True, path=[str(workspace)]
    )

    @leman.udf
    def helped(x: int) -> int:
        import my_helper

        assert "workspace" not in my_helper.__file__.split("/boot-")[0]
        return my_helper.triple(x)

    table.add_columns({"y": helped})
    job = table.backfill_async("y", engine="ray", concurrency=1, environment=env)
    assert job.wait(60).state == "done"
    assert values(table) == [3 * x for x in range(ROWS)]
    startup = job._core.status()["startup"]
    assert set(startup) == {"scan", "archive", "upload", "provision", "first task", "total"}
    with pytest.raises(TypeError, match="environment is what leman.environment.capture"):
        table.backfill("y", engine="ray", environment="mine")


def test_engine__other_versions_are_refused(table, monkeypatch):
    """A cluster of another Python or Leman is refused before anything is started."""
    from leman import shipping

    here = leman.environment.describe() | {"python": "3.9.1"}
    check_real = shipping.check
    monkeypatch.setattr(shipping, "check", lambda _, there, **o: check_real(here, there, **o))
    monkeypatch.setattr(shipping, "_looks", {})
    monkeypatch.setattr(shipping, "sight", lambda paths: ["elsewhere"])
    table.add_columns({"y": next_one})
    with pytest.raises(leman.InvalidError, match="python: CPython 3.9.1 here, CPython 3.11"):
        table.backfill("y", engine="ray")
    assert not table.jobs()


def test_engine__guide(tmp_path, monkeypatch, one_node):
    """The examples of docs/guide/ray.md, as they stand."""
    page = Path(__file__).resolve().parents[2] / "docs/guide/ray.md"
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.M | re.S))
    names = {}
    exec(compile(code, str(page), "exec"), names)
    assert names["dataset"].count() == 200
