# SPDX-License-Identifier: Apache-2.0
"""Jobs that outlive the process that started them, seen and stopped from others."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import leman as package
import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "build/leman"
ROWS = 60

# The function waits for a file, so that a test decides when the job goes on.
FUNCTIONS = """
import os, time
import leman

@leman.udf(batch_size=1)
def gated(n: int) -> int:
    while n >= 5 and not os.path.exists(os.environ["GATE"]):
        time.sleep(0.01)
    return n + 1
"""


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("GATE", str(tmp_path / "gate"))
    monkeypatch.setenv("LEMAN_PYTHON", sys.executable)
    path = tmp_path / "numbers.lance"
    package.create(path, [{"n": n} for n in range(ROWS)])
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    return path


def open_gate():
    Path(os.environ["GATE"]).touch()


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come true")


def record(leman, job):
    return json.loads(leman("job", job, "--json").stdout)


def detach(leman, path, *options):
    done = leman(
        "backfill", path, "m", "--fn", f"{path.parent}/functions.py:gated", "--inputs", "n",
        "--concurrency", "1", "--detach", "--json", *options,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)["id"]


def test_a_job_goes_on_without_its_terminal(leman, path):
    job = detach(leman, path)
    found = wait_for(lambda: (r := record(leman, job))["rows_computed"] >= 5 and r)
    assert found["state"] == "running"
    stat = Path(f"/proc/{found['pid']}/stat").read_text().rpartition(")")[2].split()
    assert int(stat[3]) not in (os.getsid(0), found["pid"])  # a session of its own, without leader
    assert stat[4] == "0"  # and without a terminal
    with subprocess.Popen([COMMAND, "job", job, "--follow"], stdout=subprocess.PIPE) as follow:
        assert b"of 60" in follow.stdout.readline()
        open_gate()
        out = follow.stdout.read()
    assert b"State              done" in out and follow.returncode == 0
    assert package.open(path).to_arrow()["m"].to_pylist() == [n + 1 for n in range(ROWS)]


def test_a_detached_job_is_cancelled_and_goes_on(leman, path):
    job = detach(leman, path, "--checkpoint-size", "1")
    wait_for(lambda: record(leman, job)["rows_checkpointed"] >= 5)
    done = leman("cancel", job)
    assert done.returncode == 0
    wait_for(lambda: record(leman, job)["state"] == "stopping")
    open_gate()  # a call that runs is waited for
    follow = leman("job", job, "--follow")
    assert follow.returncode == 4 and b"stopped" in follow.stdout
    again = detach(leman, path)
    assert leman("job", again, "--follow").returncode == 0
    assert record(leman, again)["rows_resumed"] >= 5


def test_what_keeps_a_job_from_running_is_said_at_once(leman, path):
    function = f"{path.parent}/functions.py:gated"
    done = leman("backfill", path, "m", "--fn", function, "--inputs", "x", "--detach")
    assert done.returncode == 2 and b"'x'" in done.stderr and done.stdout == b""
    first = detach(leman, path)
    done = leman("backfill", path, "m", "--detach")
    assert done.returncode == 5 and first.encode() in done.stderr and done.stdout == b""
    open_gate()
    assert leman("job", first, "--follow").returncode == 0


def test_a_killed_process_leaves_an_interrupted_job(leman, path):
    job = detach(leman, path, "--checkpoint-size", "1")
    found = wait_for(lambda: (r := record(leman, job))["rows_checkpointed"] >= 5 and r)
    os.kill(found["pid"], 9)
    wait_for(lambda: record(leman, job)["state"] == "interrupted")
    follow = leman("job", job, "--follow")
    assert follow.returncode == 4 and b"interrupted" in follow.stdout
    open_gate()
    assert leman("backfill", path, "m").returncode == 0


SCRIPT = """
import sys, leman

@leman.udf
def gated(n: int) -> int:
    import os, time
    while not os.path.exists(os.environ["GATE"]):
        time.sleep(0.01)
    return n * FACTOR

FACTOR = 3
table = leman.open(sys.argv[1])
table.add_columns({"m": gated})
job = table.backfill("m", detach=True, concurrency=1, job_id="mine")
print(job.id, job.status()["state"], flush=True)
try:
    table.backfill("m", detach=True, where=lambda: 1)
except TypeError as error:
    print(error)
"""


def test_detach_from_python(path, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, path], capture_output=True, text=True, timeout=60
    )
    first, second = done.stdout.splitlines()
    assert first == "mine running", done.stderr
    assert "where" in second
    job = package.open(path).jobs()[0]
    assert job.id == "mine"
    open_gate()
    assert job.wait(60)["state"] == "done"
    assert package.open(path).to_arrow()["m"].to_pylist() == [n * 3 for n in range(ROWS)]


@pytest.fixture
def library(tmp_path):
    library = tmp_path / "libfunctions.so"
    source = ROOT / "tests/cli/functions/functions.c"
    command = ["cc", "-O1", "-shared", "-fPIC", f"-I{ROOT}/include", "-o", library, source]
    subprocess.run(command, check=True)
    return library


def test_detach_of_functions_of_both_kinds(path, library):
    """One in C for two columns, with its options, beside one in Python."""
    add = package.c_udf(library, "next", rate_limit=package.RateLimit(requests="600/s"))

    @package.udf
    def twice(n: int) -> int:
        return 2 * n

    table = package.open(path)
    table.add_columns({"a": (add, ["n"]), "b": (add, ["n"]), "c": twice})
    status = table.backfill(["a", "b", "c"], detach=True, concurrency=1).wait(60)
    assert status["state"] == "done", status
    assert status["calls"] > 0  # as only those are counted that limits have to allow
    table.refresh()
    assert table.to_arrow(["a", "b", "c"]).to_pylist() == [
        {"a": n + 1, "b": n + 1, "c": 2 * n} for n in range(ROWS)
    ]


def test_detach_of_a_c_function(leman, path, library):
    column = ("backfill", path, "out", "--c", f"{library}:next", "--inputs", "n", "--detach")
    done = leman(*column)
    assert done.returncode == 0, done.stderr
    job = done.stdout.decode().split()[1]
    assert leman("job", job, "--follow").returncode == 0
    assert package.open(path).to_arrow()["out"].to_pylist() == [n + 1 for n in range(ROWS)]
    done = leman(*column, "--memory", "100000GiB", "--recompute")
    assert done.returncode == 5 and b"this machine has" in done.stderr and done.stdout == b""
