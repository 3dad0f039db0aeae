# SPDX-License-Identifier: Apache-2.0
"""What `leman cluster render` prints, created on a real API server with KubeRay's operator."""

import json
import subprocess
import sys
import urllib.error

import leman
import pytest

PLACE = "/apis/ray.io/v1/namespaces/default/rayclusters"


def rendered(db, name):
    """The resource as the command prints it."""
    command = [sys.executable, "-m", "leman.cluster_command", "render", name]
    done = subprocess.run([*command, "--db", db, "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)


def pods_of(kubernetes, name):
    found = kubernetes.get(
        f"/api/v1/namespaces/default/pods?labelSelector=leman.dev%2Fcluster%3D{name}"
    )
    return found["items"]


def make_running(kubernetes, pod):
    """What a kubelet would report."""
    status = {
        "phase": "Running",
        "podIP": "10.0.0.9",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": "x",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {}},
            }
            for container in pod["spec"]["containers"]
        ],
    }
    name = pod["metadata"]["name"]
    kubernetes.call(
        "PATCH",
        f"/api/v1/namespaces/default/pods/{name}/status",
        {"status": status},
        "application/merge-patch+json",
    )


def test_pods_that_were_asked_for(kubernetes, tmp_path):
    cluster = (
        leman.cluster.kuberay("training")
        .head(cpus=1, memory="2Gi", env={"MODE": "test"})
        .cpu_workers(replicas=2, min_replicas=2, max_replicas=3, cpus=0.5, memory="1Gi")
        .gpu_workers(
            gpus=2,
            min_replicas=1,
            node_selector={"pool": "a100"},
            labels={"team": "vision"},
            env_from=["tokens"],
        )
    )
    leman.connect(tmp_path).define_cluster(cluster)
    kubernetes.create(PLACE, rendered(tmp_path, "training"))
    pods = kubernetes.wait(
        "four pods",
        lambda: len(pods_of(kubernetes, "training")) >= 4 and pods_of(kubernetes, "training"),
    )
    assert len(pods) == 4
    by_kind = {}
    for pod in pods:
        labels = pod["metadata"]["labels"]
        kind = next(key for key in labels if key.startswith("leman.dev/ray-"))
        by_kind.setdefault(kind, []).append(pod)
    assert {kind: len(found) for kind, found in by_kind.items()} == {
        "leman.dev/ray-head": 1,
        "leman.dev/ray-worker-cpu": 2,
        "leman.dev/ray-worker-gpu": 1,
    }
    head, gpu = by_kind["leman.dev/ray-head"][0], by_kind["leman.dev/ray-worker-gpu"][0]
    assert head["spec"]["nodeSelector"] == {"leman.dev/ray-head": "true"}
    assert gpu["spec"]["nodeSelector"] == {"pool": "a100"}
    assert gpu["metadata"]["labels"]["team"] == "vision"
    container = next(c for c in gpu["spec"]["containers"] if c["name"] == "ray-worker")
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "2"
    assert container["envFrom"] == [{"secretRef": {"name": "tokens"}}]
    assert any("leman.dev/group=gpu" in word for word in container["args"])
    assert any(t["key"] == "nvidia.com/gpu" for t in gpu["spec"]["tolerations"])
    assert any(c["name"] == "autoscaler" for c in head["spec"]["containers"])


def test_it_becomes_ready_at_its_address(kubernetes, tmp_path):
    cluster = leman.cluster.kuberay("ready", size="small")
    leman.connect(tmp_path).define_cluster(cluster)
    kubernetes.create(PLACE, rendered(tmp_path, "ready"))

    def is_ready():
        for pod in pods_of(kubernetes, "ready"):
            if pod["status"].get("phase") != "Running":
                make_running(kubernetes, pod)
        return kubernetes.get(f"{PLACE}/ready").get("status", {}).get("state") == "ready"

    kubernetes.wait("cluster that is ready", is_ready)
    assert len(pods_of(kubernetes, "ready")) == 1 + cluster.group("cpu").replicas
    host = cluster.address.removeprefix("ray://").partition(".")[0]
    service = kubernetes.get(f"/api/v1/namespaces/default/services/{host}")
    assert 10001 in [port["port"] for port in service["spec"]["ports"]]


@pytest.mark.parametrize("size", list(leman.cluster.PRESETS))
def test_presets_have_no_field_that_the_schema_lacks(kubernetes, size):
    made = leman.cluster.kuberay(f"preset-{size}", size=size).gpu_workers().render()
    kubernetes.create(PLACE, made)
    kubernetes.call("DELETE", f"{PLACE}/preset-{size}")


def test_schema_errors_are_seen(kubernetes):
    """The check above can fail: unknown fields, and values of another type, are refused."""
    made = leman.cluster.kuberay("wrong", size="small").render()
    made["spec"]["workerGroupSpecs"][0]["idleTimeout"] = 60
    with pytest.raises(urllib.error.HTTPError) as error:
        kubernetes.create(PLACE, made)
    assert error.value.code == 400 and b"idleTimeout" in error.value.read()
    made = leman.cluster.kuberay("wrong", size="small").render()
    made["spec"]["workerGroupSpecs"][0]["replicas"] = "four"
    with pytest.raises(urllib.error.HTTPError) as error:
        kubernetes.create(PLACE, made)
    assert error.value.code == 422 and b"replicas" in error.value.read()
