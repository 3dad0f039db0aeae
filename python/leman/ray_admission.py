# SPDX-License-Identifier: Apache-2.0
"""Whether a job fits a Ray cluster: the sum of what it asks for, beside what there is."""

from dataclasses import dataclass, field

_NEARLY = 1e-6


def amounts_text(amounts):
    """{"CPU": 1, "memory": 2**30} as people say it."""
    parts = []
    for name, amount in amounts.items():
        if name == "memory":
            parts.append(f"{amount / 2**20:.0f} MiB")
        elif name in ("CPU", "GPU"):
            parts.append(f"{amount:g} {name}")
        else:
            parts.append(f"{amount:g} x {name}")
    return ", ".join(parts) or "nothing"


@dataclass
class Node:
    """A node that is there, or one that an autoscaler may add."""

    name: str
    total: dict
    free: dict
    labels: dict = field(default_factory=dict)
    group: str | None = None  # of nodes that may be added


@dataclass
class Need:
    """What one worker asks for."""

    cpus: float = 1.0
    gpus: float = 0.0
    memory: int = 0
    resources: dict = field(default_factory=dict)
    labels: dict = field(default_factory=dict)

    def amounts(self):
        asked = {"CPU": self.cpus, "GPU": self.gpus, "memory": self.memory, **self.resources}
        return {name: amount for name, amount in asked.items() if amount}

    def text(self):
        labels = ", ".join(f"label {name}={value}" for name, value in self.labels.items())
        return amounts_text(self.amounts()) + (f" on a node with {labels}" if labels else "")

    def matches(self, node):
        """Has the node the labels?"""
        return all(node.labels.get(name) == value for name, value in self.labels.items())

    def count_in(self, room):
        """How many such workers fit into what a node has; many where nothing is asked for."""
        counts = [
            int((room.get(name, 0) + _NEARLY) / amount) for name, amount in self.amounts().items()
        ]
        return min(counts, default=1 << 20)

    def blocker(self, nodes):
        """Why a worker has no place at the moment, for people; None when it has one."""
        fitting = [node for node in nodes if node.group is None and self.matches(node)]
        if not fitting:
            return f"each needs {self.text()}, and no node is there that has it"
        free = max(fitting, key=lambda node: (self.count_in(node.free), node.free.get("CPU", 0)))
        if self.count_in(free.free):
            return None
        names = self.amounts()
        return (
            f"each needs {self.text()}; most is free on node {free.name}: "
            f"{amounts_text({name: free.free.get(name, 0) for name in names})} of "
            f"{amounts_text({name: free.total.get(name, 0) for name in names})}"
        )


@dataclass
class Admission:
    """How many workers a job may have, and what to say of it."""

    workers: int
    wanted: int
    note: str | None = None


def _less(room, amounts):
    return {name: room.get(name, 0) - amounts.get(name, 0) for name in room}


def _places(nodes, need, tracker):
    """How many workers fit, with the tracker on the node where it costs the fewest."""
    counts = [need.count_in(node.total) if need.matches(node) else 0 for node in nodes]
    costs = []
    for node, count in zip(nodes, counts, strict=True):
        if tracker.count_in(node.total) and node.group is None:
            left = need.count_in(_less(node.total, tracker.amounts()))
            costs.append(count - left if need.matches(node) else 0)
    return sum(counts) - min(costs) if costs else 0


def admit(nodes, need, tracker, wanted, most):
    """Fit, shrink or explain. `wanted` None asks for as many as fit, `most` at most.

    Raises ValueError with the reason when not one worker can ever have a place.
    """
    asked = wanted or most
    count = min(_places(nodes, need, tracker), asked)
    if count > 0:
        note = None
        if wanted and count < wanted:
            note = (
                f"{count} workers instead of {wanted}: each needs {need.text()}, the tracker "
                f"{tracker.text()}; more do not fit the cluster's {len(nodes)} nodes"
            )
        return Admission(count, asked, note)
    raise ValueError(_complaint(nodes, need, tracker, asked))


def _complaint(nodes, need, tracker, asked):
    """The sum, and the first thing that is missing."""
    total = amounts_text({name: amount * asked for name, amount in need.amounts().items()})
    lines = [
        "it can never start",
        f"tracker 1 x {tracker.text()}",
        f"workers {asked} x {need.text()}" + (f" = {total}" if asked > 1 else ""),
    ]
    return "; ".join(lines) + ": " + _missing(nodes, need, tracker)


def _missing(nodes, need, tracker):
    if not nodes:
        return "the cluster has no node"
    for name, value in need.labels.items():
        known = sorted({node.labels[name] for node in nodes if name in node.labels})
        if value not in known:
            found = f"the nodes have {', '.join(known)}" if known else "none has any such label"
            return f"no node has the label {name}={value}; {found}"
    fitting = [node for node in nodes if need.matches(node)]
    if not fitting:
        return "no node has all of these labels"
    for name, amount in need.amounts().items():
        best = max(fitting, key=lambda node: node.total.get(name, 0))
        if best.total.get(name, 0) + _NEARLY < amount:
            has = amounts_text({name: best.total.get(name, 0)})
            return f"the largest node, {best.name}, has {has}"
    holding = [node for node in fitting if need.count_in(node.total)]
    if not holding:
        return "no single node has all of it together"
    if not any(node.group is None and tracker.count_in(node.total) for node in nodes):
        return "no node that is there has room for the tracker"
    has = amounts_text({name: holding[0].total[name] for name in need.amounts()})
    return f"{holding[0].name} has {has}, which is not enough for a worker beside the tracker"


def survey():
    """The nodes of the cluster that this is called in, and those that an autoscaler may add."""
    import ray
    from ray._private.state import available_resources_per_node

    free = available_resources_per_node()
    nodes = []
    for node in ray.nodes():
        if not node["Alive"]:
            continue
        name = node.get("NodeName") or node["NodeManagerAddress"]
        nodes.append(
            Node(
                name,
                dict(node["Resources"]),
                dict(free.get(node["NodeID"], {})),
                dict(node.get("Labels") or {}),
            )
        )
    return nodes + _addable(len(nodes))


def _addable(present):
    """Nodes that the autoscaler's groups allow beside those that are there."""
    from ray._private.state import state

    try:
        config = state.get_cluster_config()
    except Exception:
        return []  # there is no autoscaler, or it does not say
    added = []
    for group in getattr(config, "node_group_configs", None) or ():
        resources = {name: float(amount) for name, amount in dict(group.resources).items()}
        room = min(int(group.max_count), 1000) if group.max_count > 0 else 0
        labels = dict(getattr(group, "labels", None) or {})
        added += [
            Node(f"of group {group.name}", resources, {}, labels, group.name) for _ in range(room)
        ]
    return added
