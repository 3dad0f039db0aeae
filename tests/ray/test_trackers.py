# SPDX-License-Identifier: Apache-2.0
"""Trackers: used again by the next job, found by the same command, and what they are told."""

import itertools
import os
import subprocess
import sys
import textwrap
import time
from types import SimpleNamespace

import leman
import pyarrow as pa
import pytest
from leman.ray_admission import Need
from test_engine import applier_count, values, wait_until

ROWS = 60
NAME, VALUE = "LEMAN_TEST_KEY", "sk-hush-4711-quiet"


@leman.udf
def process(x: int) -> int:
    return os.getpid()


@leman.udf
def process_again(x: int) -> int:
    return os.getpid()


@pytest.fixture
def table(tmp_path, one_node):
    return leman.connect(tmp_path).create_table("t", pa.table({"x": range(ROWS)}))


@pytest.fixture
def gated(tmp_path):
    """A function that waits for a file to appear from row 10 on."""
    gate = tmp_path / "gate"

    @leman.udf(batch_size=1, checkpoint_size=1)
    def slow(x: int) -> int:
        while x >= 10 and not gate.exists():
            time.sleep(0.005)
        return 2 * x

    slow.gate = gate
    return slow


def begin(table, function, **options):
    table.add_columns({"y": function})
    job = table.backfill_async("y", engine="ray", concurrency=1, **options)
    wait_until(lambda: not job._core.wait(100) and job.status()["rows_checkpointed"] == 10)
    return job


def test_trackers__the_next_job_has_warm_workers(table, one_node):
    table.add_columns({"y": process, "z": process_again})
    table.backfill("y", engine="ray", concurrency=1, keep_warm=True)
    table.backfill("z", engine="ray", concurrency=1, keep_warm=False)
    assert len(set(values(table, "y"))) == 1
    assert values(table, "y") == values(table, "z")
    wait_until(lambda: applier_count(one_node) == 0)


def test_trackers__more_and_fewer_workers(table, one_node):
    """Those that wait are taken first; those that are too many go."""
    table.add_columns({"y": process, "z": process_again})
    table.backfill("y", engine="ray", concurrency=3, keep_warm=True)
    assert table.backfill("z", engine="ray", concurrency=1, keep_warm=True).state == "done"
    wait_until(lambda: applier_count(one_node) == 2)
    again = table.backfill("z", engine="ray", concurrency=2, recompute=True, keep_warm=False)
    assert again.rows_committed == ROWS


def test_trackers__the_same_command_sees_the_same_job(table, gated, tmp_path, one_node):
    """From another process, which gives no id; this one is told that it has it."""
    job = begin(table, gated)
    with pytest.raises(leman.UnavailableError, match=f"job {job.id}, which this process"):
        table.backfill("y", engine="ray", concurrency=2)
    with pytest.raises(leman.ConflictError, match=f"job {job.id} runs on the cluster"):
        table.backfill("y", engine="ray", where="x < 5", job_id=job.id)
    script = textwrap.dedent(f"""
        import ray, leman
        ray.init({one_node.get_runtime_context().gcs_address!r}, logging_level="error")
        job = leman.open({table.uri!r}).backfill_async("y", engine="ray")
        print(job.id, flush=True)
        print(job.wait(60).rows_committed)
    """)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline().strip() == job.id
        gated.gate.touch()
        assert other.stdout.readline().strip() == str(ROWS)
    assert job.wait(60).rows_committed == ROWS
    assert values(table) == [2 * x for x in range(ROWS)]
    assert table.backfill("y", engine="ray").job_id != job.id


def test_trackers__another_command_is_told_who_has_the_rows(table, gated):
    job = begin(table, gated)
    with pytest.raises(leman.UnavailableError, match=f"job {job.id} is filling it"):
        table.backfill("y", engine="ray", concurrency=1, where="x < 5")
    gated.gate.touch()
    assert job.wait(60).state == "done"


def test_trackers__prints_are_kept(table):
    @leman.udf
    def loud(x: int) -> int:
        if x in (3, ROWS - 1):
            print("row", x)
        return x

    table.add_columns({"y": loud})
    job = table.backfill_async("y", engine="ray", concurrency=1)
    job.wait(60)
    assert [(line["row"], line["text"]) for line in job.logs()] == [
        (3, "row 3"),
        (ROWS - 1, f"row {ROWS - 1}"),
    ]


def test_trackers__plan(table):
    """What a plan says of resources is the cluster's."""
    table.add_columns({"y": process})
    plan = table.plan_backfill("y", engine="ray", concurrency=2, num_cpus=2)
    assert "\nnode " in str(plan) and "\n2 workers fit\n" in str(plan)
    assert [line["count"] for line in plan["resources"][1:3]] == [1, 2]
    assert plan["total"]["cpus"] == 4.1 and plan["workers"] == 2 and plan["fits"]
    assert {"8 CPU", "2 GPU"} <= set(plan["cluster"][0]["has"].split(", "))
    assert "machine" not in plan
    small = table.plan_backfill("y", engine="ray", concurrency=40)
    assert small["tasks"] > plan["tasks"] > 0  # more workers, and smaller tasks
    assert small["workers"] == 7 and "7 workers instead of 40" in small["blocker"]
    never = table.plan_backfill("y", engine="ray", num_gpus=3)
    assert not never["fits"] and "has 2 GPU" in never["blocker"]
    assert not table.jobs()


def test_trackers__path_map(table, tmp_path):
    """A client whose own path is not that of the nodes."""
    here = tmp_path / "here"
    here.symlink_to(tmp_path)
    mine = leman.open(here / os.path.basename(table.uri))
    mine.add_columns({"y": process})
    options = {"engine": "ray", "concurrency": 1}
    with pytest.raises(leman.UnavailableError, match="node .* does not see the table.*path_map"):
        mine.backfill("y", path_map={str(here): "/nowhere"}, **options)
    assert mine.backfill("y", path_map={str(here): str(tmp_path)}, **options).state == "done"
    assert table.jobs()[0].status()["table"] == str(tmp_path / os.path.basename(table.uri))


# Appliers that end


class EndingActors:
    """What a tracker calls of Ray, whose actors end as soon as they run."""

    def __init__(self):
        self.made = 0

    def remote(self, _):
        made = SimpleNamespace(run=SimpleNamespace(remote=lambda *_: object()))
        self.made += 1
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda: made))

    def wait(self, runs, **_):
        return runs, []

    def get(self, _):
        return "it has ended"

    def kill(self, _):
        pass


@pytest.mark.parametrize(("seconds", "made"), [(1, 20), (600, 101)])
def test_trackers__appliers_that_end(monkeypatch, seconds, made):
    """One that ends at once is made anew some times; nodes that leave after a while cost none."""
    from leman import ray_tracker

    actors, clock = EndingActors(), itertools.count(0, seconds)
    monkeypatch.setattr(ray_tracker, "ray", actors)
    monkeypatch.setattr(ray_tracker, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    appliers = ray_tracker._Appliers()
    spec = {"kind": "k", "workers": 1, "need": Need(), "language": "python", "inside": None}
    appliers.begin(spec, {})
    for _ in range(100):
        appliers.renew()
    assert actors.made == made


# Secrets


def texts_of_the_cluster(ray):
    """Everything of a session that others can read, but for processes' memory: (where, bytes)."""
    from ray._private.state import actors
    from ray.experimental import internal_kv as kv

    yield "actors", repr(actors()).encode()
    for namespace in (None, "leman", "fun"):
        for key in kv._internal_kv_list("", namespace=namespace):
            yield key, kv._internal_kv_get(key, namespace=namespace) or b""
    session = ray._private.worker.global_worker.node.get_session_dir_path()
    for folder, _, names in os.walk(session):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    yield path, file.read()


def check_nowhere(ray, folder):
    for place, content in texts_of_the_cluster(ray):
        assert VALUE.encode() not in content, place
    for parent, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(parent, name), "rb") as file:
                assert VALUE.encode() not in file.read(), name


@leman.udf(secrets=[NAME], on_error=leman.skip_on_error())
def keyed(x: int) -> int:
    print("key", os.environ[NAME])
    os.system(f"printenv {NAME}")
    if x == 3:
        raise ValueError(f"401 for {os.environ[NAME]}")
    return len(os.environ[NAME])


def test_trackers__secrets_reach_workers_and_nothing_else(table, tmp_path, monkeypatch, one_node):
    table.add_columns({"y": keyed})
    with pytest.raises(leman.InvalidError, match=f"keyed.* needs the secret {NAME}"):
        table.backfill("y", engine="ray", where="x < 5")
    assert not table.jobs()
    monkeypatch.setenv(NAME, VALUE)
    job = table.backfill_async("y", engine="ray", concurrency=1, where="x < 5")
    assert job.wait(60).rows_failed == 1
    assert values(table)[:5] == [len(VALUE)] * 3 + [None, len(VALUE)]
    assert {line["text"] for line in job.logs()} == {f"key [{NAME}]", f"[{NAME}]"}
    assert table.errors("y").to_pylist()[0]["message"] == f"401 for [{NAME}]"
    check_nowhere(one_node, tmp_path)


def test_trackers__secrets_are_given_again(table, tmp_path, monkeypatch, one_node):
    """A tracker that Ray has started again asks its client."""
    monkeypatch.setenv(NAME, VALUE)
    gate = tmp_path / "gate"

    @leman.udf(secrets=[NAME], batch_size=1, checkpoint_size=1)
    def slow(x: int) -> int:
        while x >= 10 and not gate.exists():
            time.sleep(0.005)
        return len(os.environ[NAME])

    job = begin(table, slow)
    os.kill(one_node.get(job._core._actor.process.remote()), 9)
    gate.touch()
    assert job.wait(60).rows_resumed >= 10
    assert values(table) == [len(VALUE)] * ROWS
    check_nowhere(one_node, tmp_path)
