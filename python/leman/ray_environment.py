# SPDX-License-Identifier: Apache-2.0
"""What functions need, loaded on every node of a Ray cluster before a job does."""

import time

from leman import _core, function

_ANSWER_SECONDS = 120  # of a node that a task is sent to


def _nodes(ray):
    return [node for node in ray.nodes() if node["Alive"]]


def _name(node):
    return f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"


def on_each_node(ray, call, *arguments):
    """[(name, result)] of a function run once on every node. UnavailableError names a node."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = ray.remote(num_cpus=0, max_retries=0)(call)
    sent = []
    for node in _nodes(ray):
        there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        sent.append((_name(node), task.options(scheduling_strategy=there).remote(*arguments)))
    answers = []
    for name, answer in sent:
        try:
            answers.append((name, ray.get(answer, timeout=_ANSWER_SECONDS)))
        except Exception as error:
            reason = str(error).strip().splitlines()[-1]
            raise _core.UnavailableError(f"node {name}: {reason}") from error
    return answers


def _warm(shipped, codes):
    """On a node: unpack the environment, import and set up the functions; the seconds it took."""
    begun = time.monotonic()
    if shipped is not None:
        from leman import environment

        environment.load(*shipped).activate()
    for code in codes:
        udf, _, _ = function.unpack(code)
        udf.fresh()
    return time.monotonic() - begun


def warm_up(ray, functions, environment=None, path_map=None):
    """{node: seconds} of loading an environment and functions on every node of a cluster."""
    from leman.decorator import as_udf
    from leman.placement import Placement

    codes = []
    for given in functions:
        udf = as_udf(given)
        if udf is None or udf.language != "python":
            raise TypeError(f"warmup() takes functions made by @leman.udf, not {given!r}")
        codes.append(function.pack(udf, [], []))
    shipped = None
    if environment is not None:
        mapped = Placement({}, path_map=path_map)
        shipped = mapped.path_there(environment.root), environment.hash
    return dict(on_each_node(ray, _warm, shipped, codes))
