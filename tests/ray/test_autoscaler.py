# SPDX-License-Identifier: Apache-2.0
"""A job on nodes that are not there yet: Ray's own autoscaler, with nodes that are made up.

It runs in namespaces of its own: the provider of such nodes knows one port only, and all that it
starts has to end with the test.
"""

import json
import os
import subprocess
import sys
import tempfile
import textwrap

import pytest

HEAD = "ray.head.default"  # what the provider knows it by
CONFIG = {
    "cluster_name": "made-up",
    "max_workers": 4,
    "upscaling_speed": 100.0,
    "idle_timeout_minutes": 5,
    "provider": {
        "type": "fake_multinode",
        "use_node_id_as_ip": True,
        "disable_node_updaters": True,
        "disable_launch_config_check": True,
    },
    "head_node_type": HEAD,
    "available_node_types": {
        HEAD: {"resources": {"CPU": 1}, "node_config": {}, "max_workers": 0},
        "gpu": {
            "resources": {"CPU": 2, "GPU": 1},
            "labels": {"leman.dev/group": "gpu"},
            "node_config": {},
            "max_workers": 1,
        },
    },
    "auth": {},
    "file_mounts": {},
    **dict.fromkeys(
        "initialization_commands setup_commands head_setup_commands worker_setup_commands "
        "head_start_ray_commands worker_start_ray_commands cluster_synced_files rsync_exclude "
        "rsync_filter".split(),
        [],
    ),
}
START = [
    *("ray.scripts.scripts", "start", "--head", "--port=6379", "--num-cpus=1"),
    *("--include-dashboard=false", "--disable-usage-stats", "--labels=leman.dev/group=head"),
]
SCENARIO = """
    import ray, leman

    ray.init(address="127.0.0.1:6379", logging_level="error", log_to_driver=False)
    db = leman.connect({top!r})
    table = db.create_table("t", {{"x": list(range(100))}})

    @leman.udf(num_gpus=1)
    def next_one(x: int) -> int:
        return x + 1

    table.add_columns({{"y": next_one}})
    cluster = leman.cluster.kuberay("made-up").gpu_workers(gpus=1, cpus=2, max_replicas=1)
    with db.context(cluster):
        for options in ({{"num_gpus": 2}}, {{"node_labels": {{"leman.dev/group": "tpu"}}}}):
            try:
                table.backfill("y", **options)
            except leman.UnavailableError as error:
                print(error)
        assert not table.jobs() and len(ray.nodes()) == 1
        job = table.backfill_async(
            "y", concurrency=3, node_labels={{"leman.dev/group": "gpu"}}, environment=True
        )
        print(job.status()["message"])
        print(job.wait(120).state, len(ray.nodes()))
        print(job.status()["started"])
    groups = ray.util.placement_group_table().values()
    assert [group["state"] for group in groups] == ["REMOVED"], groups
"""


def in_namespaces(*command, **options):
    lo = 'ip link set lo up && exec "$0" "$@"'
    unshare = ["unshare", "--net", "--pid", "--mount-proc", "--kill-child", "sh", "-c", lo]
    return subprocess.run([*unshare, *command], capture_output=True, text=True, **options)


pytestmark = pytest.mark.skipif(
    in_namespaces("true").returncode != 0, reason="needs namespaces for network and processes"
)


@pytest.fixture
def folder():
    """A place for Ray's sockets, whose paths must be short."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        yield made


def test_autoscaler__nodes_of_a_group_come(tmp_path, folder):
    config, scenario = tmp_path / "config.json", tmp_path / "scenario.py"
    config.write_text(json.dumps(CONFIG))
    scenario.write_text(textwrap.dedent(SCENARIO).format(top=str(tmp_path / "db")))
    start = " ".join([sys.executable, "-m", *START, f"--autoscaling-config={config}"])
    done = in_namespaces(
        *("sh", "-c", f"{start} --temp-dir={folder} && {sys.executable} {scenario}"),
        env=os.environ | {"RAY_FAKE_CLUSTER": "1", "AUTOSCALER_UPDATE_INTERVAL_S": "1"},
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    too_large, unknown, shrunk, ended, started = done.stdout.splitlines()[-5:]
    assert "the largest node, of group gpu, has 1 GPU" in too_large
    assert "no node has the label leman.dev/group=tpu; the nodes have gpu, head" in unknown
    assert "1 workers instead of 3" in shrunk
    assert ended == "done 2"
    assert "shipped 1 of 1 archives" in started  # while the node was asked for
