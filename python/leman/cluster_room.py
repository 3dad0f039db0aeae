# SPDX-License-Identifier: Apache-2.0
"""Nodes that the groups of a cluster may still add, as admission counts them.

Ray's autoscaler does not tell its limits; those of a cluster that KubeRay makes are in its
definition.
"""

import math

from leman.cluster_render import GROUP_LABEL
from leman.decorator import parse_bytes
from leman.ray_admission import Node

_NODES_MAX = 1000


def _count(text):
    """Processors that Ray counts for a quantity of Kubernetes."""
    return math.ceil(float(text[:-1]) / 1000 if text.endswith("m") else float(text))


def _amounts(group):
    """What a node of a group gives to Ray; KubeRay takes it from the limits of its pod."""
    made = {"CPU": _count(group.cpus), "memory": parse_bytes(group.memory.replace("k", "K"))}
    return made | ({"GPU": group.gpus} if group.gpus else {})


def addable(cluster, nodes):
    """[``Node``] that the groups of a cluster allow beside the nodes that are there."""
    groups = getattr(cluster, "groups", None) or {}
    if any(node.group is not None for node in nodes):
        return []  # the autoscaler has told them
    added = []
    for name, group in groups.items():
        if group.kind == "head":
            continue
        present = sum(node.labels.get(GROUP_LABEL) == name for node in nodes)
        room = min(group.max_replicas - present, _NODES_MAX)
        made = Node(f"of group {name}", _amounts(group), {}, {GROUP_LABEL: name}, name)
        added += [made] * max(room, 0)
    return added
