# SPDX-License-Identifier: Apache-2.0
"""Whether jobs fit clusters that need not be there."""

import leman
import pytest
from leman.cluster_room import addable
from leman.ray_admission import Need, Node, admit

GIB = 1 << 30
TRACKER = Need(0.1, 0.0, 128 << 20)


def node(name, cpus=4, gpus=0, memory=8 * GIB, labels=None, group=None, **others):
    total = {"CPU": cpus, "GPU": gpus, "memory": memory, **others}
    return Node(name, total, dict(total), labels or {}, group)


def count(nodes, need, wanted=None, most=8):
    return admit(nodes, need, TRACKER, wanted, most).workers


def test_admission__fits():
    assert count([node("a"), node("b")], Need(1.0), 4) == 4
    assert admit([node("a"), node("b")], Need(1.0), TRACKER, 4, 8).note is None


def test_admission__the_tracker_takes_its_share():
    assert count([node("a", cpus=2)], Need(1.0), 2) == 1
    assert count([node("a", cpus=2), node("head", cpus=1)], Need(1.0), 8) == 2
    assert count([node("a", cpus=2), node("head", cpus=0.5)], Need(1.0), 8) == 2


def test_admission__default_is_bounded():
    nodes = [node("a", cpus=64)]
    assert count(nodes, Need(1.0)) == 8
    assert count(nodes, Need(1.0), most=3) == 3
    assert count(nodes, Need(1.0), 40) == 40


def test_admission__shrinks_and_says_so():
    found = admit([node("a"), node("b")], Need(3.0), TRACKER, 4, 8)
    assert found.workers == 2
    assert "2 workers instead of 4: each needs 3 CPU, the tracker 0.1 CPU, 128 MiB" in found.note


def test_admission__fractions():
    assert count([node("a", cpus=2, gpus=1)], Need(0.5, 0.25), 8) == 3
    assert count([node("a", cpus=8, gpus=1)], Need(0.5, 0.25), 8) == 4


def test_admission__no_worker_is_split_over_nodes():
    with pytest.raises(ValueError, match="the largest node, a, has 4 CPU$"):
        count([node("a"), node("b")], Need(6.0))
    mixed = [node("a", cpus=8, gpus=0), node("b", cpus=1, gpus=2)]
    with pytest.raises(ValueError, match="no single node has all of it together"):
        count(mixed, Need(4.0, 1.0))


def test_admission__no_room_beside_the_tracker():
    with pytest.raises(ValueError, match="a has 1 CPU, which is not enough for a worker beside"):
        count([node("a", cpus=1)], Need(1.0))
    assert count([node("a", cpus=1)], Need(0.9)) == 1
    with pytest.raises(ValueError, match="no node that is there has room for the tracker"):
        count([node("a", cpus=0, gpus=1)], Need(0.0, 1.0))


def test_admission__memory():
    assert count([node("a", cpus=64, memory=8 * GIB)], Need(1.0, 0.0, 3 * GIB), 8) == 2
    with pytest.raises(ValueError, match="the largest node, a, has 8192 MiB"):
        count([node("a")], Need(1.0, 0.0, 9 * GIB))


def test_admission__labels_and_resources():
    nodes = [node("a", labels={"zone": "a"}), node("b", labels={"zone": "b"}, tpu=2)]
    assert count(nodes, Need(1.0, labels={"zone": "b"}), 8) == 4
    assert count(nodes, Need(1.0, resources={"tpu": 1}), 8) == 2
    with pytest.raises(ValueError, match="no node has the label zone=c; the nodes have a, b"):
        count(nodes, Need(1.0, labels={"zone": "c"}))
    with pytest.raises(ValueError, match="no node has the label rack=1; none has any such label"):
        count(nodes, Need(1.0, labels={"rack": "1"}))
    with pytest.raises(ValueError, match="the largest node, a, has 0 x tpu"):
        count(nodes, Need(1.0, resources={"tpu": 1}, labels={"zone": "a"}))


def test_admission__what_an_autoscaler_may_add_counts():
    nodes = [node("head", cpus=1)] + [
        node("of group gpu", cpus=8, gpus=1, group="gpu") for _ in range(3)
    ]
    assert count(nodes, Need(1.0, 1.0), 8) == 3
    with pytest.raises(ValueError, match="the largest node, of group gpu, has 1 GPU"):
        count(nodes, Need(1.0, 2.0))


def test_admission__groups_of_a_definition():
    """What KubeRay may add is in the definition of the cluster, less what is there."""
    cluster = (
        leman.cluster.kuberay("x")
        .cpu_workers(cpus="1500m", memory="4Gi", max_replicas=3)
        .gpu_workers(gpus=2, cpus=8, memory="16G", max_replicas=1)
    )
    there = [
        node("head", cpus=1, labels={"leman.dev/group": "head"}),
        node("one", cpus=2, memory=4 * GIB, labels={"leman.dev/group": "cpu"}),
    ]
    nodes = there + addable(cluster, there)
    assert [n.group for n in nodes] == [None, None, "cpu", "cpu", "gpu"]
    assert nodes[2].total == {"CPU": 2, "memory": 4 * GIB} and nodes[4].total["GPU"] == 2
    assert count(nodes, Need(2.0, labels={"leman.dev/group": "cpu"}), 9) == 3
    assert count(nodes, Need(1.0, 1.0), 9) == 2
    with pytest.raises(ValueError, match="leman.dev/group=tpu; the nodes have cpu, gpu, head"):
        count(nodes, Need(1.0, labels={"leman.dev/group": "tpu"}))
    with pytest.raises(ValueError, match="the largest node, of group gpu, has 2 GPU"):
        count(nodes, Need(1.0, 4.0))
    assert addable(leman.cluster.local(), there) == addable(None, there) == []


def test_admission__blocker():
    busy = Node("a", {"CPU": 4, "GPU": 1}, {"CPU": 1.5, "GPU": 0})
    assert Need(1.0).blocker([busy]) is None
    assert Need(1.0, 1.0).blocker([busy]) == (
        "each needs 1 CPU, 1 GPU; most is free on node a: 1.5 CPU, 0 GPU of 4 CPU, 1 GPU"
    )
    assert "no node is there that has it" in Need(1.0, labels={"x": "y"}).blocker([busy])


def test_admission__no_nodes():
    with pytest.raises(ValueError, match="the cluster has no node"):
        count([], Need(1.0))
