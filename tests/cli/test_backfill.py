# SPDX-License-Identifier: Apache-2.0
"""Jobs from the shell: C functions, interrupts, kills, records, and the exit codes of each end."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import leman as package
import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "build/leman"
ROWS = 1000


def compile_functions(folder, name, *flags):
    library = folder / name
    source = ROOT / "tests/cli/functions/functions.c"
    command = ["cc", "-O1", "-shared", "-fPIC", f"-I{ROOT}/include", *flags, "-o", library, source]
    subprocess.run(command, check=True)
    return library


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    return compile_functions(tmp_path_factory.mktemp("functions"), "libfunctions.so")


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "numbers.lance"
    rows = [{"n": n, "name": f"row {n}"} for n in range(ROWS)]
    package.create(path, rows, max_rows_per_fragment=400)
    return path


@pytest.fixture
def fill(leman, path, library):
    """Run `leman backfill` with a function of the library."""

    def run(function, *options, column="out"):
        return leman("backfill", path, column, "--c", f"{library}:{function}", *options)

    return run


def result(done, code=0):
    assert done.returncode == code, done.stderr.decode()
    return json.loads(done.stdout.splitlines()[-1])  # the function may print before


def values(path):
    table = package.open(path).to_arrow()
    return dict(zip(table["n"].to_pylist(), table["out"].to_pylist(), strict=True))


def check_values(path, without=()):
    assert values(path) == {n: None if n in without else n + 1 for n in range(ROWS)}


def start(path, library, function, *options):
    """A job in the background, of small calls, so that it can be interrupted in the middle.

    "slow" waits at row 100 until open_gate().
    """
    return subprocess.Popen(
        [COMMAND, "backfill", path, "out", "--c", f"{library}:{function}", "--inputs", "n",
         "--batch-size", "5", "--concurrency", "1", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        env=os.environ | {"LEMAN_TEST_GATE": str(gate_of(path))},
    )  # fmt: skip


def gate_of(path):
    return path.with_suffix(".gate")


def open_gate(path):
    gate_of(path).touch()


def record(leman, path):
    """The record of the only job, or None."""
    if not (path / "_leman/jobs").exists():
        return None
    found = json.loads(leman("jobs", path, "--json").stdout)
    return found[0] if found else None


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come true")


def wait_for_rows(leman, path, rows=100):
    def enough():
        found = record(leman, path)
        return found if found and found["rows_computed"] >= rows else None

    return wait_for(enough)


@pytest.mark.parametrize("concurrency", [[], ["--concurrency", "0"], ["--threads", "2"]])
def test_fill(fill, path, concurrency):
    if concurrency == ["--threads", "2"] and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two threads need two processors")
    done = result(fill("next", "--inputs", "n", "--json", *concurrency))
    assert done["state"] == "done" and done["rows_committed"] == ROWS
    check_values(path)
    again = fill("next")
    assert again.returncode == 0 and b"nothing to do" in again.stdout


def test_where_narrows_and_max_rows_limits(fill, path):
    done = result(fill("next", "--inputs", "n", "--where", "n < 100", "--json"))
    assert done["rows_committed"] == 100
    done = result(fill("next", "--max-rows", "50", "--json"))
    assert done["rows_committed"] == 50
    assert sum(value is not None for value in values(path).values()) == 150
    done = result(fill("next", "--where", "n < 10", "--recompute", "--json"))
    assert done["rows_committed"] == 10


def test_dry_run(fill, path):
    version = package.open(path).version
    done = fill("next", "--inputs", "n", "--dry-run", "--concurrency", "2")
    assert done.returncode == 0
    text = done.stdout.decode()
    assert "1000 rows to compute in 3 fragments: 1000 pending" in text
    assert re.search(r"^about \d\d+ tasks for \d workers$", text, re.MULTILINE)
    assert "workers    2       2 CPU" in text and "driver     1       0 CPU" in text
    assert "disk:" in text
    plan = result(fill("next", "--dry-run", "--json"))
    assert plan["todo"] == ROWS and plan["fits"]
    plan = result(fill("next", "--dry-run", "--json", "--batch-size", "100", "--concurrency", "1"))
    assert plan["tasks"] == 9  # three calls of about 100 rows in each fragment
    assert [line["what"] for line in plan["resources"]] == [
        "driver", "tracker", "workers", "writers", "queues"
    ]  # fmt: skip
    assert package.open(path).version == version + 1  # the column was added, nothing else


def test_failed_row(leman, fill, path):
    done = result(fill("bad", "--inputs", "n", "--json"), 3)
    assert done["state"] == "done_failed" and done["rows_failed"] == 1
    check_values(path, without=[13])
    shown = leman("errors", path, "out", "--json").stdout.decode()
    assert '\\"13\\" is not for me' in shown
    assert "\n    inputs: n=13\n" in leman("errors", path, "out").stdout.decode()
    assert (
        "\n    repeat: bad.test(table, row_ids=[13])\n"
        in leman("errors", path, "out").stdout.decode()
    )


def test_crash(leman, fill, path):
    done = result(fill("crash", "--inputs", "n", "--json"), 3)
    assert done["rows_failed"] == 1 and done["worker_deaths"] >= 2
    check_values(path, without=[13])
    shown = leman("errors", path, "out").stdout.decode()
    assert "signal 11" in shown
    assert "\n    inputs: n=13\n" in shown
    assert "\n    repeat: crash.test(table, row_ids=[13])\n" in shown


def test_timeout_of_a_call(leman, fill, path):
    options = ["--inputs", "n", "--call-timeout", "0.2", "--max-rows", "1", "--json"]
    done = result(fill("hang", *options), 3)
    assert done["rows_failed"] == 1
    assert "TimeoutError" in leman("errors", path, "out", "--json").stdout.decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_stops_resumably(leman, fill, path, library, number):
    job = start(path, library, "slow")
    wait_for_rows(leman, path)
    job.send_signal(number)
    while b"stopping" not in job.stderr.readline():
        assert job.poll() is None
    open_gate(path)
    out, err = job.communicate(timeout=60)
    assert job.returncode == 4, err
    assert b"to go on: leman backfill" in out
    found = record(leman, path)
    assert found["state"] == "stopped"
    kept = found["rows_checkpointed"] - found["rows_committed"]
    assert kept >= 100
    done = result(fill("slow", "--json"))
    assert done["rows_resumed"] == kept
    assert done["rows_computed"] == done["rows_planned"] - kept
    check_values(path)


def test_second_interrupt_kills(leman, path, library):
    job = start(path, library, "hang")
    wait_for(lambda: (found := record(leman, path)) and found["workers_ready"])
    job.send_signal(signal.SIGINT)
    while b"stopping" not in job.stderr.readline():
        pass
    job.send_signal(signal.SIGINT)
    assert job.wait(timeout=60) == 130
    job.communicate()


def test_kill_of_the_driver(leman, fill, path, library):
    job = start(path, library, "slow", "--checkpoint-size", "10")
    wait_for_rows(leman, path)
    workers = subprocess.run(["ps", "-o", "pid=", "--ppid", str(job.pid)], capture_output=True)
    pids = [int(pid) for pid in workers.stdout.split()]
    assert pids
    job.kill()
    job.communicate()
    wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))
    assert record(leman, path)["state"] == "interrupted"
    done = result(fill("slow", "--json"))
    assert 0 < done["rows_resumed"] <= done["rows_planned"] - done["rows_computed"]
    check_values(path)


def test_jobs_job_cancel_discard(leman, path, library):
    job = start(path, library, "slow", "--job-id", "mine")
    wait_for_rows(leman, path)
    assert leman("discard", "mine").returncode == 5
    follow = subprocess.Popen([COMMAND, "job", "mine", "--follow"], stdout=subprocess.PIPE)
    done = leman("cancel", "mine")
    assert done.returncode == 0 and b"asked to stop" in done.stdout
    wait_for(lambda: record(leman, path)["state"] == "stopping")
    open_gate(path)
    out, _ = job.communicate(timeout=60)
    assert job.returncode == 4
    followed, _ = follow.communicate(timeout=60)
    assert b"State              stopped" in followed
    listed = leman("jobs").stdout.decode()
    assert listed.startswith("mine") and "stopped" in listed and "out" in listed
    shown = leman("job", "mine").stdout.decode()
    assert "Rows checkpointed" in shown and "cancelled from outside" in shown
    assert leman("cancel", "mine").returncode == 2
    assert leman("discard", "mine").returncode == 0
    assert leman("job", "mine").returncode == 2
    assert not list((path / "_leman/fills").glob("*/journal"))


def test_jobs_of_tables_that_are_gone_are_forgotten(leman, fill, path, tmp_path):
    job = result(fill("next", "--inputs", "n", "--json"))["id"]
    assert job in leman("jobs").stdout.decode()
    assert (tmp_path / "state/leman/jobs" / job).exists()
    shutil.rmtree(path)
    assert job not in leman("jobs").stdout.decode()
    assert not (tmp_path / "state/leman/jobs" / job).exists()


def test_jobs_are_listed_newest_first(leman, fill, path, tmp_path):
    ids = ["b", "c", "a"]
    for number, job in enumerate(ids):
        assert fill("next", "--inputs", "n", "--recompute", "--job-id", job).returncode == 0
        # As if a minute had passed between them.
        for entry in (tmp_path / "state/leman/jobs" / job, path / f"_leman/jobs/{job}/record.json"):
            os.utime(entry, (number * 60, number * 60))
    for words in (["jobs"], ["jobs", path]):
        listed = leman(*words).stdout.decode().splitlines()
        assert [line.split()[0] for line in listed] == ids[::-1]


def test_second_job_on_a_column(leman, fill, path, library):
    job = start(path, library, "slow", "--job-id", "first")
    wait_for_rows(leman, path)
    done = fill("slow")
    assert done.returncode == 5 and b"first" in done.stderr
    open_gate(path)
    job.send_signal(signal.SIGTERM)
    job.communicate(timeout=60)


def test_wrong_functions(leman, fill, path, library, tmp_path):
    def fails(done, code, *parts):
        assert done.returncode == code
        assert all(part in done.stderr.decode() for part in parts), done.stderr

    column = ("backfill", path, "out", "--inputs", "n", "--c")
    fails(leman(*column, "libnone.so:f"), 2, "no library libnone.so")
    fails(leman(*column, "next"), 2, "LIB.so:NAME")
    fails(fill("none", "--inputs", "n"), 2, 'no function "none"', "next, bad, crash")
    fails(fill("next"), 2, "--inputs")
    fails(fill("next", "--inputs", "name"), 2, "one int64 is wanted")
    fails(fill("next", "--inputs", "nothing"), 2, 'no column "nothing"')
    fails(fill("next", column="name"), 2, "no function fills it")
    other = compile_functions(tmp_path, "libold.so", "-DABI=99")
    fails(leman(*column, f"{other}:next"), 2, "version 99", "build it again")
    assert fill("next", "--inputs", "n").returncode == 0
    fails(fill("bad"), 5, "values are of version", "bad is version", "--on-change recompute")
    fails(fill("bad", "--on-change", "maybe"), 2, "--on-change is recompute, keep or new_rows")


def test_too_large_for_the_machine(fill):
    done = fill("next", "--inputs", "n", "--memory", "100000GiB")
    assert done.returncode == 5
    assert b"one worker needs 1 CPU, 0 GPU, 102400000 MiB; this machine has" in done.stderr


def test_full_disk(tmp_path, library):
    """A disk of its own for the table, which the results do not fit; then it grows."""
    script = f"""
        mount -t tmpfs -o size=1200k none {tmp_path} || exit 77
        export XDG_STATE_HOME={tmp_path}/state
        seq 0 19999 | sed '1i n' > {tmp_path}/n.csv
        {COMMAND} create {tmp_path}/t.lance {tmp_path}/n.csv > {tmp_path}/said || exit 1
        fill="{COMMAND} backfill {tmp_path}/t.lance out --c {library}:next --inputs n"
        dd if=/dev/zero of={tmp_path}/ballast bs=1k 2> /dev/null
        truncate -s -40k {tmp_path}/ballast
        $fill
        echo "code $?"
        rm {tmp_path}/ballast
        $fill
        echo "code $?"
    """
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, timeout=120
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no file system of its own for the test")
    assert "the disk is full: make room and run it again" in done.stderr
    assert "code 4" in done.stdout
    assert "20000 of 20000 rows committed" in done.stdout
    assert done.stdout.rstrip().endswith("code 0")


def test_worker_is_not_for_people(leman):
    done = leman("worker")
    assert done.returncode == 2 and b"started by an engine" in done.stderr
