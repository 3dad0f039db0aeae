# SPDX-License-Identifier: Apache-2.0
"""A cluster as the RayCluster resource that KubeRay's operator reads, and as YAML."""

import json
import re
import sys

RAY_VERSION = "2.60.0"
GROUP_LABEL = "leman.dev/group"  # of Ray's nodes: what a function picks a group by
_PORTS = {"gcs": 6379, "dashboard": 8265, "client": 10001}


def _image(cluster, group):
    if group.image or cluster.image:
        return group.image or cluster.image
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    version = cluster.ray_version or RAY_VERSION
    return f"rayproject/ray:{version}-{python}" + ("-gpu" if group.gpus else "")


def _template(cluster, group):
    amounts = {"cpu": group.cpus, "memory": group.memory}
    if group.gpus:
        amounts["nvidia.com/gpu"] = str(group.gpus)
    container = {
        "name": "ray-head" if group.kind == "head" else "ray-worker",
        "image": _image(cluster, group),
        "resources": {"limits": amounts, "requests": dict(amounts)},
    }
    if group.kind == "head":
        container["ports"] = [
            {"name": name, "containerPort": port} for name, port in _PORTS.items()
        ]
    if group.env:
        container["env"] = [{"name": name, "value": value} for name, value in group.env.items()]
    if group.env_from:
        container["envFrom"] = [{"secretRef": {"name": name}} for name in group.env_from]
    spec = {"containers": [container]}
    if group.node_selector:
        spec["nodeSelector"] = group.node_selector
    if group.tolerations:
        spec["tolerations"] = group.tolerations
    if group.service_account:
        spec["serviceAccountName"] = group.service_account
    labels = group.labels | {"leman.dev/cluster": cluster.name}
    return {"metadata": {"labels": labels}, "spec": spec}


def _head(cluster, group):
    return {
        "rayStartParams": {"dashboard-host": "0.0.0.0"},
        "labels": {GROUP_LABEL: group.name},
        "template": _template(cluster, group),
    }


def _workers(cluster, group):
    return {
        "groupName": group.name,
        "replicas": group.replicas,
        "minReplicas": group.min_replicas,
        "maxReplicas": group.max_replicas,
        "idleTimeoutSeconds": group.idle_timeout_seconds,
        "rayStartParams": {},
        "labels": {GROUP_LABEL: group.name},
        "template": _template(cluster, group),
    }


def resource(cluster):
    """The resource, as dicts and lists."""
    workers = [group for group in cluster.groups.values() if group.kind != "head"]
    spec = {"rayVersion": cluster.ray_version or RAY_VERSION}
    if any(group.min_replicas < group.max_replicas for group in workers):
        spec["enableInTreeAutoscaling"] = True
        # The one that heeds the idle time of each group.
        spec["autoscalerOptions"] = {"version": "v2"}
    spec["headGroupSpec"] = _head(cluster, cluster.group("head"))
    if workers:
        spec["workerGroupSpecs"] = [_workers(cluster, group) for group in workers]
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {
            "name": cluster.name,
            "namespace": cluster.namespace,
            "labels": {"leman.dev/cluster": cluster.name},
        },
        "spec": spec,
    }


_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def _scalar(value):
    """A value on one line. What YAML could take for something else is quoted as in JSON."""
    if isinstance(value, str) and _BARE.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value)


def _lines(value, indent):
    pad = "  " * indent
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, (dict, list)) and item:
                yield f"{pad}{_scalar(key)}:"
                yield from _lines(item, indent + 1)
            else:
                yield f"{pad}{_scalar(key)}: {_scalar(item)}"
        return
    for item in value:
        if isinstance(item, (dict, list)) and item:
            first, *rest = _lines(item, indent + 1)
            yield f"{pad}- {first.lstrip()}"
            yield from rest
        else:
            yield f"{pad}- {_scalar(item)}"


def to_yaml(value):
    """A dict of dicts, lists, texts, numbers and truth values, as YAML."""
    return "\n".join(_lines(value, 0)) + "\n"
