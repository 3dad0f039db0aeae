# SPDX-License-Identifier: Apache-2.0
"""Clusters: what is described, what is refused, what a database keeps, what Kubernetes is told."""

import json
import socket

import leman
import pytest

yaml = pytest.importorskip("yaml")


def training():
    return (
        leman.cluster.kuberay("training", namespace="ml")
        .head(cpus=2, memory="4Gi", service_account="ray")
        .cpu_workers(replicas=2, max_replicas=8, cpus=4, memory="8GiB", env={"MODE": "yes"})
        .gpu_workers(
            gpus=1,
            min_replicas=1,
            max_replicas=3,
            idle_timeout_seconds=300,
            node_selector={"pool": "a100"},
            labels={"team": "vision"},
            env_from=["tokens"],
        )
    )


def test_resource():
    made = training().render()
    assert made["kind"] == "RayCluster" and made["apiVersion"] == "ray.io/v1"
    assert made["metadata"]["name"] == "training" and made["metadata"]["namespace"] == "ml"
    spec = made["spec"]
    head = spec["headGroupSpec"]["template"]
    assert head["spec"]["serviceAccountName"] == "ray"
    assert head["spec"]["nodeSelector"] == {"leman.dev/ray-head": "true"}
    assert head["metadata"]["labels"]["leman.dev/ray-head"] == "true"
    cpu, gpu = spec["workerGroupSpecs"]
    assert (cpu["groupName"], cpu["replicas"], cpu["minReplicas"], cpu["maxReplicas"]) == (
        "cpu",
        2,
        0,
        8,
    )
    assert cpu["idleTimeoutSeconds"] == 60 and gpu["idleTimeoutSeconds"] == 300
    container = cpu["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"] == {"cpu": "4", "memory": "8Gi"}
    assert container["env"] == [{"name": "MODE", "value": "yes"}]
    assert cpu["template"]["spec"]["nodeSelector"] == {"leman.dev/ray-worker-cpu": "true"}
    container = gpu["template"]["spec"]["containers"][0]
    assert container["resources"]["requests"]["nvidia.com/gpu"] == "1"
    assert container["envFrom"] == [{"secretRef": {"name": "tokens"}}]
    assert gpu["template"]["spec"]["nodeSelector"] == {"pool": "a100"}
    assert gpu["template"]["metadata"]["labels"]["team"] == "vision"
    assert gpu["template"]["spec"]["tolerations"][0]["key"] == "nvidia.com/gpu"
    assert spec["enableInTreeAutoscaling"] is True


def test_yaml_says_the_same():
    cluster = training()
    assert yaml.safe_load(cluster.to_yaml()) == cluster.render()


@pytest.mark.parametrize(
    "value",
    [
        {"a": "true", "b": "1.5", "c": "", "d": "x: y", "e": "- z", "f": "ü\n", "yes": "no"},
        {"a": [], "b": {}, "c": None, "d": [[1, 2], {"x": [{"y": 1, "z": "0x1f"}]}]},
    ],
)
def test_yaml_quotes(value):
    from leman.cluster_render import to_yaml

    assert yaml.safe_load(to_yaml(value)) == value


@pytest.mark.parametrize(
    ("size", "cpus", "concurrency", "batch_size"),
    [("small", 9, 2, 32), ("medium", 18, 4, 64), ("large", 68, 8, 128)],
)
def test_sizes(size, cpus, concurrency, batch_size):
    cluster = leman.cluster.kuberay("x", size=size)
    assert (cluster.concurrency, cluster.batch_size) == (concurrency, batch_size)
    workers = cluster.group("cpu")
    assert int(cluster.group("head").cpus) + workers.replicas * int(workers.cpus) == cpus


def kuberay():
    return leman.cluster.kuberay("x")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: leman.cluster.kuberay("Big_One"), ["cluster", "'Big_One'"]),
        (lambda: leman.cluster.kuberay("x", size="huge"), ["'x'", "'huge'", "small, medium"]),
        (lambda: kuberay().group("tpu"), ["'x'", "no group 'tpu'", "head"]),
        (lambda: kuberay().cpu_workers(replicas=-1), ["'cpu'", "replicas", "-1"]),
        (
            lambda: kuberay().gpu_workers(min_replicas=5, max_replicas=2),
            ["'gpu'", "min_replicas is 5", "max_replicas, which is 2"],
        ),
        (lambda: kuberay().cpu_workers(replicas=9, max_replicas=2), ["replicas is 9", "(2)"]),
        (lambda: kuberay().cpu_workers(memory="8 gigs"), ["memory", "'8 gigs'"]),
        (lambda: kuberay().cpu_workers(memory="100m"), ["memory", "'100m'"]),
        (lambda: kuberay().cpu_workers(memory="8 parsecs"), ['a text as "8Gi"', "'8 parsecs'"]),
        (lambda: kuberay().head(service_account="Bad Name"), ["service_account", "'Bad Name'"]),
        (lambda: kuberay().cpu_workers(cpus="0"), ["cpus", "'0'"]),
        (lambda: kuberay().gpu_workers(gpus=0.5), ["gpus", "0.5"]),
        (lambda: kuberay().cpu_workers(gpu=1), ["no option 'gpu'", "gpus"]),
        (lambda: kuberay().head(replicas=2), ["'head'", "no option 'replicas'"]),
        (lambda: kuberay().cpu_workers("head"), ["'head'"]),
        (lambda: kuberay().cpu_workers(node_selector="a=b"), ["node_selector", "'a=b'"]),
        (lambda: kuberay().cpu_workers(tolerations=[{"kye": 1}]), ["toleration", "'kye'"]),
        (
            lambda: kuberay().cpu_workers(tolerations=[{"key": "a", "operator": "Is"}]),
            ["toleration", "operator is Exists or Equal"],
        ),
        (lambda: kuberay().cpu_workers(labels={"a b": "c"}), ["labels", "'a b': 'c'"]),
        (lambda: kuberay().cpu_workers(node_selector={"a": "b c"}), ["'a': 'b c'", "no label"]),
        (lambda: kuberay().head(labels={"a": "b" * 64}), ["labels", "no label of Kubernetes"]),
        (lambda: kuberay().cpu_workers(env_from=["My Secret"]), ["env_from", "'My Secret'"]),
        (lambda: kuberay().cpu_workers(image="a b"), ["image", "'a b'"]),
        (lambda: leman.cluster.kuberay("x", ray_version=2.6), ["ray_version", "2.6"]),
        (lambda: kuberay().cpu_workers(env={"A-B": "1"}), ["env", "'A-B'"]),
        (lambda: leman.cluster.external("http://h:1"), ["'http://h:1'", "ray://host:port"]),
        (lambda: leman.cluster.external("ray://h:99999"), ["'ray://h:99999'"]),
        (lambda: leman.cluster.local(num_cpus=-1), ["num_cpus", "-1"]),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises((leman.InvalidError, leman.NotFoundError)) as error:
        make()
    for word in words:
        assert word in str(error.value)


def test_labels_of_kubernetes():
    """What its own rules allow is taken."""
    labels = {"team": "", "a.b/C_d.e": "X-1.y_Z", "k" * 63: "v" * 63}
    made = kuberay().cpu_workers(labels=labels, service_account="1.reader", min_replicas=3)
    assert labels.items() <= made.group("cpu").labels.items()
    assert made.group("cpu").replicas == 3  # as many as there always are


def test_the_kubernetes_api_is_refused_by_name():
    for verb in ("create", "delete", "watch"):
        with pytest.raises(leman.UnsupportedError, match="Kubernetes API.*kubectl apply"):
            getattr(training(), verb)()


def test_database_keeps_clusters(tmp_path):
    db = leman.connect(tmp_path)
    assert db.list_clusters() == []
    made = [training(), leman.cluster.local(num_cpus=2), leman.cluster.external("ray://h:1")]
    for cluster in made:
        db.define_cluster(cluster)
    assert sorted(c.name for c in made) == [c.name for c in db.list_clusters()]
    assert db.open_cluster("training").render() == training().render()
    assert db.open_cluster("h").address == "ray://h:1"
    db.define_cluster(leman.cluster.kuberay("training", size="small"))
    assert db.open_cluster("training").batch_size == 32
    db.delete_cluster("training")
    with pytest.raises(leman.NotFoundError, match="no cluster 'training'.*h, local"):
        db.delete_cluster("training")
    assert db.table_names() == []


def test_damaged_definition_is_named(tmp_path):
    db = leman.connect(tmp_path)
    db.define_cluster(training())
    path = tmp_path / "_leman/clusters/training.json"
    whole = path.read_text()
    for text in (whole[:40], "[]", "{}", whole.replace('"cpu"', '"cqu"'), "[" * 100000):
        path.write_text(text)
        with pytest.raises(leman.CorruptError, match="training.json"):
            db.open_cluster("training")
    for name in ("../x", "", ".x"):
        with pytest.raises(leman.InvalidError, match="no name of a cluster"):
            db.open_cluster(name)


def test_resolve(tmp_path):
    db = leman.connect(tmp_path)
    db.define_cluster(training())
    resolve = leman.cluster.resolve
    assert resolve(db, "training") == training()
    assert resolve(db, "ray://h:10001").address == "ray://h:10001"
    assert resolve(db, "h:6379").address == "h:6379"
    with pytest.raises(leman.NotFoundError, match="'nowhere'"):
        resolve(db, "nowhere")
    with pytest.raises(leman.InvalidError, match="no cluster: 7"):
        resolve(db, 7)


def test_address_nobody_answers():
    pytest.importorskip("ray")
    with socket.socket() as bound:  # bound, and not listening: connections are refused
        bound.bind(("127.0.0.1", 0))
        cluster = leman.cluster.external(f"ray://127.0.0.1:{bound.getsockname()[1]}")
        with pytest.raises(leman.UnavailableError, match="nobody answers at ray://127.0.0.1:"):
            cluster.init()


def test_description_is_json():
    for cluster in (training(), leman.cluster.local(), leman.cluster.external("h:1")):
        given = json.loads(json.dumps(cluster.describe()))
        assert leman.cluster.from_description(given) == cluster
