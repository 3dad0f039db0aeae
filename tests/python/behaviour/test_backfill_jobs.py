# SPDX-License-Identifier: Apache-2.0
"""Jobs: how they stand, how they are stopped, and how they go on; seen from several processes."""

import datetime
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import contextmanager

import leman
import pyarrow as pa
import pytest
from leman.backfill import Request

ROWS = 60


@pytest.fixture
def table(tmp_path):
    db = leman.connect(tmp_path / "db")
    return db.create_table("t", pa.table({"id": range(ROWS)}))


@pytest.fixture
def gate(tmp_path):
    return tmp_path / "gate"


@pytest.fixture
def gated(gate):
    """A function that waits for a file to appear from row 10 on."""

    @leman.udf(batch_size=1, checkpoint_size=1)
    def slow(id: int) -> int:
        while id >= 10 and not gate.exists():
            time.sleep(0.005)
        return id * 2

    return slow


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def column(table, name):
    return leman.open(table.path).to_arrow([name])[name].to_pylist()


def test_jobs__in_the_background(table, gate, gated):
    table.add_columns({"out": gated})
    job = table.backfill_async("out", concurrency=1)
    until(lambda: job.status()["rows_checkpointed"] == 10)
    status = job.status()
    assert status["state"] == "running"
    assert status["rows_planned"] == ROWS
    assert status["rows_committed"] == 0
    assert status["workers"] == status["workers_ready"] == 1
    assert status["memory_bytes"] > 0
    with pytest.raises(TimeoutError, match=job.id):
        job.wait(0.05)
    gate.touch()
    result = job.wait(60)
    assert result.rows_committed == ROWS
    assert result.job_id == job.id
    assert column(table, "out") == [2 * i for i in range(ROWS)]


def test_jobs__go_on_when_others_compact_and_clean_up(table, gate, gated):
    for start in (ROWS, 2 * ROWS):
        table.append({"id": list(range(start, start + ROWS))})
    table.add_columns({"out": gated})
    other = leman.open(table.path)
    job = table.backfill_async("out", concurrency=1)
    until(lambda: job.status()["rows_checkpointed"] == 10)
    other.delete("id % 7 = 6")
    other.compact()
    other.append({"id": [1000]})
    assert other.cleanup(datetime.timedelta(0)).versions_removed > 0  # those before the job
    gate.touch()
    job.wait(60)
    other.refresh()
    done = other.to_arrow().to_pylist()
    kept = [i for i in range(3 * ROWS) if i % 7 != 6]
    assert [row["id"] for row in done] == [*kept, 1000]
    assert [row["out"] for row in done[:-1]] == [2 * i for i in kept]
    assert other.cleanup(datetime.timedelta(0)).versions_removed > 0  # those of the job
    assert len(other.versions()) == 1


def test_jobs__what_others_have_filled_is_not_computed_again(table):
    """A handle that stands at an earlier version, and a job that was described before."""

    @leman.udf
    def out(id: int) -> int:
        return 2 * id

    table.add_columns({"out": out})
    others = leman.open(table.path), leman.open(table.path)
    described = Request(others[0], "out", concurrency=1)
    assert table.backfill("out", concurrency=1).rows_computed == ROWS
    version = table.version
    result = described.run(False)
    assert (result.rows_planned, result.rows_committed) == (0, 0)
    assert others[1].backfill("out", concurrency=1).rows_planned == 0
    assert leman.open(table.path).version == version
    again = table.backfill("out", concurrency=1, read_version=version - 1)
    assert again.rows_computed == ROWS  # as it was asked for


@pytest.mark.parametrize("concurrency", [0, 1])
def test_jobs__cancelled_and_resumed(table, gate, gated, concurrency):
    table.add_columns({"out": gated})
    job = table.backfill_async("out", concurrency=concurrency)
    until(lambda: job.status()["rows_computed"] >= 10)
    job.cancel()
    until(lambda: job.status()["state"] == "stopping")
    gate.touch()
    with pytest.raises(leman.CancelledError, match="the same backfill goes on") as caught:
        job.wait(60)
    kept = caught.value.result.rows_checkpointed
    assert 10 <= kept < ROWS
    result = table.backfill("out", concurrency=concurrency, progress=False)
    assert result.rows_planned == ROWS
    assert result.rows_resumed == kept
    assert result.rows_computed == ROWS - kept
    assert column(table, "out") == [2 * i for i in range(ROWS)]


def test_jobs__deadline(table):
    @leman.udf(batch_size=1)
    def steady(id: int) -> int:
        time.sleep(0.1)
        return id

    table.add_columns({"out": steady})
    with pytest.raises(leman.CancelledError) as caught:
        table.backfill("out", concurrency=1, timeout=1, progress=False)
    assert caught.value.result.state == "stopped"
    assert caught.value.result.rows_checkpointed < ROWS


def test_jobs__records_are_read_by_others(table, gate, gated, tmp_path):
    table.add_columns({"out": gated})
    job = table.backfill_async("out", concurrency=1, job_id="nightly")
    assert job.id == "nightly"
    db = leman.connect(tmp_path / "db")
    until(lambda: [found.id for found in db.jobs()] == ["nightly"])
    seen = db.job("nightly")
    until(lambda: seen.status()["rows_checkpointed"] == 10)
    assert seen.status()["state"] == "running"
    if os.environ.get("LEMAN_ENGINE") != "ray":  # there the tracker's process has it
        assert seen.status()["pid"] == os.getpid()
    plan = table.plan_backfill("out")  # which does not disturb who drives the fill
    assert (plan["functions"][0]["todo"], plan["functions"][0]["resumed"]) == (ROWS, 10)
    whole = table.plan_backfill("out", where="id < 5", concurrency=1)
    assert (whole["todo"], whole["tasks"]) == (0, 0)  # nothing is left of these
    seen.cancel()
    until(lambda: job.status()["state"] == "stopping")
    gate.touch()
    with pytest.raises(leman.CancelledError):
        job.wait(60)
    assert seen.wait(60)["state"] == "stopped"
    assert [event["text"] for event in seen.events()]
    with pytest.raises(leman.NotFoundError, match="tomorrow"):
        db.job("tomorrow")


def test_jobs__plan(table, gated):
    table.add_columns({"out": gated})
    plan = table.plan_backfill("out", where="id < 5", sample=3)
    assert plan["functions"][0]["todo"] == 5
    assert plan["sample"][0]["rows"] == 3
    assert plan["fits"] is True
    assert plan["disk"]["needed_bytes"] > 0 and plan["seconds"] > 0
    lines = str(plan).splitlines()
    assert lines[0] == "slow() fills out: 5 rows in 1 fragment"
    assert lines[1] == f"  5 pending; of {ROWS} rows"
    workers = "1 worker" if plan["workers"] == 1 else f"{plan['workers']} workers"
    assert plan["tasks"] == 5 and lines[2] == f"about 5 tasks for {workers}"
    for at, name in enumerate(("driver", "tracker", "workers", "writers", "queues", "total"), 3):
        assert lines[at].split()[0] == name
    assert lines[7].endswith("nothing stands between workers and files")
    assert lines[9].startswith(("machine: ", "node ")) and lines[10].endswith(" workers fit")
    assert lines[11].startswith("disk: about ") and lines[11].endswith(" free")
    assert lines[12].startswith("sample of 3 rows: slow() takes ")
    assert lines[13].startswith("time: about ")
    assert table.cells("out")["pending"] == ROWS


# Scripts in processes of their own


SCRIPT = """
import os, sys, time
import leman

GATE = {gate!r}
BASE = 7

@leman.udf(batch_size=1, checkpoint_size=1)
def slow(id: int) -> int:
    while id >= 10 and not os.path.exists(GATE):
        time.sleep(0.005)
    return id + BASE

table = leman.open({path!r})
table.add_columns({{"out": slow}})
result = table.backfill("out", concurrency=1)
print(result.rows_resumed, result.rows_computed)
"""


@contextmanager
def script(table, gate, tmp_path, text=SCRIPT):
    """A running script without a guard for its main module, which writes to a pipe."""
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(text).format(gate=str(gate), path=str(table.path)))
    process = subprocess.Popen(
        [sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def state(table):
    """What the only job of the table does."""
    return table.jobs()[0].status()["state"]


def checkpointed(table):
    """Rows that the only job of the table has checkpointed."""
    jobs = table.jobs()
    return jobs[0].status()["rows_checkpointed"] if jobs else 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_jobs__interrupted_and_run_again(table, gate, tmp_path, number):
    with script(table, gate, tmp_path) as process:
        until(lambda: checkpointed(table) == 10)
        process.send_signal(number)
        until(lambda: state(table) == "stopping")
        gate.touch()
        _, said = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in said
    assert "rows are kept, and the same backfill goes on" in said
    with script(table, gate, tmp_path) as process:
        printed, said = process.communicate(timeout=60)
    resumed, computed = map(int, printed.split())
    assert resumed >= 10
    assert resumed + computed == ROWS
    assert f"Rows committed {ROWS}" in said
    assert column(table, "out") == [i + 7 for i in range(ROWS)]


def test_jobs__a_second_interrupt_kills(table, gate, tmp_path):
    with script(table, gate, tmp_path) as process:
        until(lambda: checkpointed(table) == 10)
        process.send_signal(signal.SIGINT)
        until(lambda: state(table) == "stopping")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        assert process.returncode != 0


@pytest.mark.skipif(
    os.environ.get("LEMAN_ENGINE") == "ray",
    reason="there the job goes on: test_nodes__client_killed in tests/ray",
)
def test_jobs__killed_and_run_again(table, gate, tmp_path):
    with script(table, gate, tmp_path) as process:
        until(lambda: checkpointed(table) == 10)
        process.kill()
        process.communicate()
    gate.touch()
    with script(table, gate, tmp_path) as process:
        printed, _ = process.communicate(timeout=60)
    resumed, computed = map(int, printed.split())
    assert (resumed, computed) == (10, ROWS - 10)
    assert column(table, "out") == [i + 7 for i in range(ROWS)]


RERUN = """
import leman
table = leman.open({path!r})
print(table.backfill("out", concurrency=1, progress=False{more}).rows_computed)
"""


def rerun(table, more="", **environment):
    code = RERUN.format(path=str(table.path), more=more)
    return subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | environment,
    )


def test_jobs__stored_functions_need_trust(table, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))
    base = 3

    @leman.udf
    def add(id: int) -> int:
        return id + base

    table.add_columns({"out": add})
    stranger = {"XDG_STATE_HOME": str(tmp_path / "theirs")}
    refused = rerun(table, **stranger)
    assert "was not put there by you" in refused.stderr
    assert column(table, "out") == [None] * ROWS
    named = re.search("sha256:[0-9a-f]{64}", refused.stderr)[0]
    other = rerun(table, f", trust='sha256:{'0' * 64}'", **stranger)
    assert f"sha256:{'0' * 64} is another one" in other.stderr
    assert 'trust is "sha256:' in rerun(table, ", trust=True", **stranger).stderr
    assert rerun(table, f", where='id < 5', trust='{named}'", **stranger).stdout == "5\n"
    assert rerun(table).stdout == f"{ROWS - 5}\n"
    assert column(table, "out") == [i + 3 for i in range(ROWS)]


def test_jobs__a_function_that_is_not_found_on_rerun(table, tmp_path, monkeypatch):
    module = tmp_path / "helpers_of_test.py"
    module.write_text("import leman\n\n@leman.udf\ndef add(id: int) -> int:\n    return id + 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))
    import helpers_of_test

    table.add_columns({"out": helpers_of_test.add})
    assert table.backfill("out", where="id < 5", progress=False).rows_computed == 5
    gone = rerun(table)
    assert "the stored add() does not load here: ModuleNotFoundError" in gone.stderr
    found = rerun(table, ", where='id < 10'", PYTHONPATH=str(tmp_path))
    assert found.stdout == "5\n"
    module.write_text(module.read_text().replace("id + 1", "id + 2"))
    changed = rerun(table, PYTHONPATH=str(tmp_path))
    assert 'on_change="recompute"' in changed.stderr
    assert column(table, "out") == [i + 1 for i in range(10)] + [None] * (ROWS - 10)


def test_command__file_and_name(table, tmp_path):
    (tmp_path / "more.py").write_text("STEP = 5\n")
    (tmp_path / "functions.py").write_text(
        "import leman\nfrom more import STEP\n\n"
        "@leman.udf\ndef add(id: int) -> int:\n"
        "    if id == 3:\n        raise ValueError('three')\n    return id + STEP\n"
    )

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "leman.backfill", str(table.path), "out", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
        )

    fn = ["--fn", f"{tmp_path}/functions.py:add"]
    assert run(*fn, "--where", "id < 3").returncode == 0
    planned = run("--dry-run", "--json")
    assert planned.returncode == 0
    assert f'"pending": {ROWS - 3}' in planned.stdout
    failed = run(*fn)
    assert failed.returncode == 3
    assert "1 row failed" in failed.stderr
    assert column(table, "out") == [None if i == 3 else i + 5 for i in range(ROWS)]
    assert run("--fn", f"{tmp_path}/functions.py:nothing").returncode == 2
    assert run("--fn", f"{tmp_path}/nothing.py:add").returncode == 2
    assert run("--where", "no such").returncode == 2


def test_jobs__loading_is_shown(table, gate, tmp_path):
    """Of two workers one is loaded at once, and the other when the gate opens."""

    @leman.udf(batch_size=1)
    class Model:
        def setup(self):
            try:
                (tmp_path / "first").touch(exist_ok=False)
            except FileExistsError:
                until(gate.exists)

        def __call__(self, id: int) -> int:
            until(gate.exists)
            return id

    table.add_columns({"out": Model()})
    job = table.backfill_async("out", concurrency=2)
    until(lambda: job.status()["message"] == "loading 1/2")
    gate.touch()
    assert job.wait(60).rows_committed == ROWS
    assert job.status()["message"] == ""


@pytest.mark.soak
def test_jobs__threads_that_wait_for_each_other_are_told(table, gate):
    """Threads of Python that compute take turns: the job says so, on a machine that is idle."""

    @leman.udf(batch_size=1, num_cpus=0.1)
    def busy(id: int) -> int:
        while not gate.exists():
            sum(range(100_000))
        return id

    table.add_columns({"out": busy})
    job = table.backfill_async("out", concurrency=1, intra_applier_concurrency=3)
    until(lambda: any("wait for the GIL" in event["text"] for event in job.events()), 120)
    gate.touch()
    assert job.wait(60).rows_committed == ROWS
    (told,) = (event["text"] for event in job.events() if "GIL" in event["text"])
    assert told.startswith("the 3 threads of a worker take turns")
    assert "with concurrency=3 and one thread each" in told
