# SPDX-License-Identifier: Apache-2.0
"""Jobs on a Ray cluster of several nodes, and what becomes of them when parts of it die."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time

import leman
import pyarrow as pa
import pytest
from test_engine import applier_count, values, wait_until

ROWS = 240


@pytest.fixture(scope="module")
def cluster():
    """A head without room for workers, and nodes that tests add and remove."""
    import ray
    from ray.cluster_utils import Cluster

    if ray.is_initialized():
        ray.shutdown()
    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "resources": {"head": 1}, "include_dashboard": False},
    )
    ray.init(address=made.address, logging_level="error", log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


_nodes = {}


@pytest.fixture
def nodes(cluster):
    """Two nodes for workers, with labels of their own; one that a test has removed is new."""
    for i in range(2):
        if _nodes.get(i) not in cluster.worker_nodes:
            _nodes[i] = cluster.add_node(
                num_cpus=2, resources={f"worker{i}": 8}, labels={"pool": f"p{i}"}
            )
    cluster.wait_for_nodes()
    return list(_nodes.values())


@pytest.fixture
def table(tmp_path):
    db = leman.connect(tmp_path)
    return db.create_table("t", pa.table({"x": range(ROWS)}), max_rows_per_fragment=80)


@pytest.fixture
def gate(tmp_path):
    return tmp_path / "gate"


def gated(gate):
    """A function that waits for a file to appear in the second half of each fragment."""

    @leman.udf(batch_size=4, checkpoint_size=4)
    def waits(x: int) -> int:
        while x % 80 >= 40 and not gate.exists():
            time.sleep(0.005)
        return x + 1

    return waits


def begin(table, gate, **options):
    """A job with some rows computed, whose other calls wait for the gate."""
    table.add_columns({"y": gated(gate)})
    job = table.backfill_async("y", engine="ray", **options)
    wait_until(lambda: not job._core.wait(100) and job.status()["rows_checkpointed"] >= 16)
    return job


def check_done(table, job, gate):
    gate.touch()
    assert job.wait(120).state == "done"
    assert values(table) == list(range(1, ROWS + 1))


def actor_pid(name):
    """The process of an actor that runs, of any applier; None when there is none."""
    from ray._private.state import actors

    for actor in actors().values():
        if actor["ActorClassName"] == name and actor["State"] == "ALIVE":
            return actor["Pid"]
    return None


def test_nodes__both_work_at_once(table, nodes, tmp_path):
    """A function runs on both nodes at the same time: its calls wait for those of the other."""
    met = tmp_path / "met"
    met.mkdir()

    @leman.udf(batch_size=4)
    def meets(x: int) -> int:
        (met / str(os.getppid())).touch()
        while len(os.listdir(met)) < 2:
            time.sleep(0.005)
        return os.getppid()

    table.add_columns({"place": meets})
    result = table.backfill("place", engine="ray", num_cpus=2, concurrency=2, timeout=120)
    assert result.state == "done"
    assert {str(place) for place in values(table, "place")} == set(os.listdir(met))


def test_nodes__segments_elsewhere(table, nodes, gate):
    """Workers on other nodes than the tracker's write objects of their own."""
    job = begin(table, gate, num_cpus=2, concurrency=2)
    fills = os.path.join(table.uri, "_leman", "fills")
    found = [name for _, _, names in os.walk(fills) for name in names]
    assert any(".hold." in name for name in found), found
    check_done(table, job, gate)


@pytest.mark.soak
def test_nodes__labels_and_resources_pick_nodes(table, nodes, gate):
    gate.touch()
    table.add_columns({"y": gated(gate)})
    result = table.backfill(
        "y", engine="ray", concurrency=2, node_labels={"pool": "p1"}, resources={"worker1": 4}
    )
    assert result.state == "done"
    job_id = result.job_id
    with pytest.raises(leman.UnavailableError, match="no node has the label pool=p7; the nodes"):
        table.backfill("y", engine="ray", node_labels={"pool": "p7"}, recompute=True)
    with pytest.raises(leman.UnavailableError, match="the largest node, .* has 0 x tpu"):
        table.backfill("y", engine="ray", resources={"tpu": 1}, recompute=True)
    assert [job.id for job in table.jobs()] == [job_id]


def test_nodes__worker_killed(table, nodes, gate):
    """An applier and its worker die: another takes its place."""
    job = begin(table, gate, num_cpus=2, concurrency=2)
    os.kill(actor_pid("Applier"), signal.SIGKILL)
    wait_until(lambda: not job._core.wait(100) and job.status()["worker_deaths"] >= 1)
    check_done(table, job, gate)
    assert any("connection to its node" in event["text"] for event in job.events())


def test_nodes__node_killed(table, nodes, cluster, gate):
    """A node dies in mid-job: its workers come back on another."""
    job = begin(table, gate, num_cpus=1, concurrency=4)
    victim = nodes[0]
    cluster.remove_node(victim, allow_graceful=False)
    check_done(table, job, gate)


def test_nodes__tracker_killed(table, nodes, gate):
    """The tracker dies: Ray starts it again, and it goes on from the journal."""
    job = begin(table, gate, num_cpus=2, concurrency=2)
    kept = job.status()["rows_checkpointed"]
    first = actor_pid("Tracker")
    os.kill(first, signal.SIGKILL)
    check_done(table, job, gate)
    assert job.status()["rows_resumed"] >= kept
    assert job.status()["rows_computed"] <= ROWS - kept


def test_nodes__tracker_killed_behind_the_first_rows(nodes, gate, tmp_path):
    """Rows that were committed ahead of their fragment are not computed again."""
    from ray._private.state import actors

    rows, first, calls = 640, 10, tmp_path / "calls"
    table = leman.connect(tmp_path).create_table("one", pa.table({"x": range(rows)}))

    @leman.udf(batch_size=5)
    def waits(x: int) -> str:
        with open(calls, "a") as file:
            file.write(f"{x}\n")
        while x >= first and not gate.exists():
            time.sleep(0.005)
        return f"row {x}"

    table.add_columns({"y": waits})
    job = table.backfill_async("y", engine="ray", num_cpus=2, concurrency=1, first_commit=True)
    wait_until(lambda: not job._core.wait(100) and job.status()["rows_committed"] == first)
    assert values(leman.open(table.path)) == [f"row {x}" for x in range(first)] + [None] * 630
    os.kill(actors()[job._core._actor._actor_id.hex()]["Pid"], signal.SIGKILL)
    gate.touch()
    assert job.wait(120).state == "done"
    assert values(leman.open(table.path)) == [f"row {x}" for x in range(rows)]
    called = calls.read_text().split()
    assert [called.count(str(x)) for x in range(first)] == [1] * first


def test_nodes__client_killed(table, nodes, cluster, gate, tmp_path):
    """The driver process dies: the job goes on, and another process finds it."""
    script = tmp_path / "client.py"
    script.write_text(
        textwrap.dedent(f"""
        import pathlib, sys
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        import ray, leman
        from test_nodes import gated

        ray.init(address={cluster.address!r}, logging_level="error")
        table = leman.open({table.uri!r})
        table.add_columns({{"y": gated(pathlib.Path({str(gate)!r}))}})
        table.backfill("y", engine="ray", num_cpus=2, concurrency=2, job_id="orphan")
        """)
    )
    client = subprocess.Popen([sys.executable, str(script)])
    job = None

    def computes():
        nonlocal job
        job = job or next(iter(table.jobs()), None)
        return job is not None and job.status().get("rows_checkpointed", 0) >= 16

    wait_until(computes, 60)
    client.kill()
    client.wait()
    gate.touch()
    assert job.id == "orphan"
    assert job.wait(60)["state"] == "done"
    table.refresh()
    assert values(table) == list(range(1, ROWS + 1))


@pytest.mark.soak
def test_nodes__cluster_lost(table, nodes, gate):
    """Tracker and workers die for good: the same call goes on, on the other engine too."""
    import ray

    job = begin(table, gate, num_cpus=2, concurrency=2)
    ray.kill(job._core._actor)
    gate.touch()
    with pytest.raises(leman.UnavailableError, match="its tracker ended"):
        job.wait(60)
    kept = table.jobs()[0].status()["rows_checkpointed"]
    wait_until(lambda: applier_count(ray) == 0)
    result = table.backfill("y", concurrency=1, timeout=1000, where="x < 200")
    assert result.rows_resumed >= min(kept, 16)
    result = table.backfill("y", engine="ray", concurrency=2)
    assert result.state == "done"
    assert values(table) == list(range(1, ROWS + 1))


# A worker that outlives its applier


def state_of(pid):
    """The letter that the system has for what a process does; "Z" when it has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def test_nodes__zombie_is_fenced(table, nodes, gate, tmp_path):
    """A worker whose applier is dead goes on when its rows have been computed by another: what it
    then writes changes nothing."""
    note = tmp_path / "zombie"

    @leman.udf(batch_size=4, checkpoint_size=4)
    def wrong_by_zombies(x: int) -> int:
        import ctypes

        if x == 100 and not note.exists():
            ctypes.CDLL(None).prctl(1, 0)  # PR_SET_PDEATHSIG: outlive who started it
            with contextlib.suppress(PermissionError):
                os.setsid()  # Ray ends what is in the group of a process that has died
            note.write_text(f"{os.getppid()} {os.getpid()}")
            os.kill(os.getpid(), signal.SIGSTOP)
            return -1
        return x + 1

    table.add_columns({"y": wrong_by_zombies})
    job = table.backfill_async("y", engine="ray", num_cpus=1, concurrency=2)
    wait_until(lambda: not job._core.wait(50) and note.exists() and note.read_text().count(" "))
    applier, zombie = map(int, note.read_text().split())
    wait_until(lambda: state_of(zombie) == "T")
    os.kill(applier, signal.SIGKILL)
    check_done(table, job, gate)
    assert job.status()["worker_deaths"] == 1
    version = table.version
    with contextlib.suppress(ProcessLookupError):  # it writes nothing when somebody has ended it
        os.kill(zombie, signal.SIGCONT)
    wait_until(lambda: state_of(zombie) == "Z")
    table.refresh()
    assert table.version == version
    assert values(table) == list(range(1, ROWS + 1))
    assert table.backfill("y", engine="ray", concurrency=1).rows_planned == 0
