# SPDX-License-Identifier: Apache-2.0
"""What jobs that nobody sits beside tell: pace, times, tasks, errors, stalls, metrics, the end."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import leman as package
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

COMMAND = Path(__file__).resolve().parents[2] / "build/leman"
ROWS = 400

FUNCTIONS = """
import os, time
import leman

@leman.udf
def plain(n: int) -> int:
    return n + 1

@leman.udf(on_error=leman.skip_on_error())
def failing(n: int) -> int:
    if n % 10 == 3:
        raise ValueError(f"row {n} is odd")
    if n == 50:
        raise KeyError("other")
    return n + 1

@leman.udf(batch_size=1)
def gated(n: int) -> int:
    while n == 5 and not os.path.exists(os.environ["GATE"]):
        time.sleep(0.01)
    return n + 1
"""


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("GATE", str(tmp_path / "gate"))
    monkeypatch.setenv("LEMAN_PYTHON", sys.executable)
    path = tmp_path / "numbers.lance"
    package.create(path, [{"n": n} for n in range(ROWS)], max_rows_per_fragment=200)
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    return path


def command(path, function, *options):
    return [
        "backfill", path, "m", "--fn", f"{path.parent}/functions.py:{function}", "--inputs", "n",
        "--concurrency", "1", "--job-id", "mine", *options,
    ]  # fmt: skip


def record(leman):
    return json.loads(leman("job", "mine", "--json").stdout)


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come true")


def test_record_and_report(leman, path):
    done = leman(*command(path, "failing"))
    assert done.returncode == 3, done.stderr.decode()
    found = record(leman)
    assert found["rate"] > 0 and found["rate_recent"] > 0
    assert found["eta_ms"] == 0  # nothing is left
    assert found["checkpoint_age_ms"] >= found["commit_age_ms"]
    assert found["verdict"]
    tasks = found["largest_tasks"]
    assert tasks == sorted(tasks, key=lambda task: -task["bytes"])
    assert all(task["first_row"] + task["rows"] <= 200 for task in tasks)  # of a fragment
    assert {task["fragment"] for task in tasks + found["slowest_tasks"]} <= {0, 1}
    first, second = found["top_errors"]
    assert first == {"error": "ValueError: row 3 is odd", "count": 40}
    assert second == {"error": "KeyError: 'other'", "count": 1}
    assert found["disk"]["needed_bytes"] == 0 and found["disk"]["free_bytes"] > 0
    shown = leman("job", "mine").stdout.decode()
    for line in [
        "Rate               ",
        "Verdict            ",
        "Slowest tasks      fragment ",
        "Largest tasks      fragment ",
        "Errors             40 times ValueError: row 3 is odd",
        "Disk               about 0 bytes to come",
        "Time               0:",
    ]:
        assert line in shown, shown
    assert "reading" in shown and "function" in shown and "waiting" in shown


def test_a_stall_is_an_event_that_names_worker_and_row(leman, path):
    job = subprocess.Popen(
        [COMMAND, *command(path, "gated", "--stall-after", "0.5")], stderr=subprocess.PIPE
    )
    wait_for((path / "_leman/jobs/mine/record.json").exists)
    events = wait_for(
        lambda: [e["text"] for e in record(leman)["events"] if "no batch" in e["text"]]
    )
    running = record(leman)["slowest_tasks"][0]
    Path(os.environ["GATE"]).touch()
    job.communicate(timeout=60)
    assert job.returncode == 0
    (event,) = events
    assert event.startswith("worker 0 has finished no batch for ")
    assert event.endswith("in a call of 1 row, the first of them row 5 of fragment 0")
    assert running["running"] and running["fragment"] == 0
    assert sum("no batch" in event["text"] for event in record(leman)["events"]) == 1


def test_on_finish(leman, path, tmp_path):
    said = tmp_path / "said"
    variables = "$LEMAN_JOB $LEMAN_JOB_STATE $LEMAN_JOB_COLUMN $LEMAN_JOB_ROWS_FAILED"
    finish = f'echo "{variables} $LEMAN_JOB_ROWS_COMMITTED $LEMAN_JOB_TABLE" > {said}'
    done = leman(*command(path, "failing", "--on-finish", finish))
    assert done.returncode == 3, done.stderr.decode()
    assert said.read_text() == f"mine done_failed m 41 {ROWS} {path}\n"
    done = leman(*command(path, "failing", "--on-finish", "exit 7"))
    assert done.returncode == 3
    assert record(leman)["events"][-1]["text"] == "on_finish ended with exit code 7"
    with pytest.raises(ValueError, match="on_finish is a command"):
        package.open(path).backfill("m", on_finish="")


def test_metrics(leman, path, tmp_path):
    file = tmp_path / "metrics/leman.txt"
    done = leman(*command(path, "failing", "--metrics", file))
    assert done.returncode == 2 and b"there is no folder" in done.stderr
    file.parent.mkdir()
    done = leman(*command(path, "failing", "--metrics", file))
    assert done.returncode == 3, done.stderr.decode()
    families = {f.name: f for f in text_string_to_metric_families(file.read_text())}
    values = {name: family.samples[0].value for name, family in families.items()}
    assert values["leman_job_rows_planned"] == ROWS
    assert values["leman_job_rows_failed"] == 41
    assert values["leman_job_rows_computed"] == ROWS
    assert families["leman_job_rows_computed"].type == "counter"
    assert values["leman_job_cost"] == 0
    info = families["leman_job"].samples[0].labels
    assert info == {"job": "mine", "table": str(path), "column": "m", "function": "failing"}
    states = {s.labels["leman_job_state"]: s.value for s in families["leman_job_state"].samples}
    assert states.pop("done_failed") == 1 and set(states.values()) == {0}
    assert [entry.name for entry in file.parent.iterdir()] == ["leman.txt"]


def test_metrics_that_cannot_be_written_do_not_end_a_job(leman, path, tmp_path):
    (tmp_path / "folder").mkdir()
    done = leman(*command(path, "plain", "--metrics", tmp_path / "folder"))
    assert done.returncode == 0, done.stderr.decode()
    assert record(leman)["events"][0]["text"].startswith("metrics: ")


def test_peek(leman, path):
    (path.parent / "functions.py").write_text(
        FUNCTIONS.replace(
            "if n == 50:", "if n == 150:\n        raise SystemError\n    if n == 50:"
        ).replace("leman.skip_on_error()", "[leman.Fail(SystemError), *leman.skip_on_error()]")
    )
    done = leman(*command(path, "failing", "--batch-size", "1", "--checkpoint-size", "10"))
    assert done.returncode == 1, done.stderr.decode()
    lines = leman("job", "mine", "--peek", "5", "--json").stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    assert rows == [{"m": None if n == 3 else n + 1, "_rowid": n} for n in range(5)]
    assert b"_rowid" in leman("job", "mine", "--peek", "2").stdout


NVML = """
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device) { *device = device; return i != 3; }
int nvmlDeviceGetUtilizationRates(void *d, unsigned *used) { used[0] = 73; return 0; }
int nvmlDeviceGetMemoryInfo(void *d, unsigned long long *b) { b[0] = 8; b[2] = 5; return 0; }
"""


def test_gpus_are_told_where_a_driver_tells_them(leman, path, tmp_path):
    assert leman(*command(path, "plain")).returncode == 0
    assert "gpus" not in record(leman)
    (tmp_path / "nvml.c").write_text(NVML)
    library = tmp_path / "libnvidia-ml.so.1"
    subprocess.run(["cc", "-shared", "-o", library, tmp_path / "nvml.c"], check=True)
    env = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "CUDA_VISIBLE_DEVICES": "3,4"}
    assert leman(*command(path, "plain", "--recompute"), env=env).returncode == 0
    (gpu,) = record(leman)["gpus"]
    assert gpu == {"id": 3, "busy_percent": 73, "memory_used_bytes": 5, "memory_bytes": 8}
    assert "73% busy, 5 bytes of 8 bytes" in leman("job", "mine").stdout.decode()


def test_options_of_c_functions(leman, path):
    done = leman("backfill", path, "m", "--c", "x.so:y", "--stall-after", "soon")
    assert done.returncode == 2 and b"--stall-after are seconds" in done.stderr
