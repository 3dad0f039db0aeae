# SPDX-License-Identifier: Apache-2.0
"""The nodes of a Ray cluster: what they are, what they see of this machine, and what they load."""

import os
import pickle
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from leman import _core, function
from leman.environment_check import describe


@dataclass(frozen=True)
class Answer:
    """What a node has answered."""

    node: str  # what people call it
    id: str
    value: object


def _is_alive(ray, node_id):
    return any(node["Alive"] and node["NodeID"] == node_id for node in ray.nodes())


def _answer(call, arguments):
    """On a node: the result, or the kind and the text of what went wrong."""
    try:
        return True, call(*arguments)
    except Exception as error:
        return False, (type(error).__name__, str(error))


def _value_of(ray, name, answer, seconds):
    try:
        done, value = ray.get(answer, timeout=seconds)
    except ray.exceptions.GetTimeoutError:
        raise _core.UnavailableError(f"node {name} did not answer within {seconds:g} s") from None
    except Exception as error:
        reason = str(error).strip().splitlines()[-1]
        raise _core.InvalidError(
            f"Leman does not run on node {name}: {reason}. Install leman=={_core.__version__} on "
            "the cluster's nodes, or take an image that has it"
        ) from None
    if not done:
        kind, text = value
        kind = getattr(_core, kind, None)
        if not (isinstance(kind, type) and issubclass(kind, _core.LemanError)):
            kind = _core.UnavailableError
        raise kind(f"node {name}: {text}")
    return value


def on_each_node(ray, call, *arguments, skip=(), only=None, seconds=120, once=False):
    """[``Answer``] of a function run on every node; one that goes meanwhile is left out.

    skip: ids of nodes that are not asked. only: of those that are, all unless given. once: in a
        process that ends with the call.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    options = {"num_cpus": 0, "max_retries": 0} | ({"max_calls": 1} if once else {})
    task = ray.remote(**options)(_answer)
    sent = []
    for node in ray.nodes():
        is_asked = node["NodeID"] not in skip and (only is None or node["NodeID"] in only)
        if node["Alive"] and is_asked:
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            answer = task.options(scheduling_strategy=there).remote(call, arguments)
            sent.append((node, answer))
    answers, names = [], set()
    for node, answer in sent:
        name = f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
        name = f"{name} {node['NodeID'][:8]}" if name in names else name
        names.add(name)
        try:
            value = _value_of(ray, name, answer, seconds)
        except _core.LemanError:
            if _is_alive(ray, node["NodeID"]):
                raise
            continue
        answers.append(Answer(name, node["NodeID"], value))
    return answers


def _mark(path):
    """What tells a file from all others of a machine that runs."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _machine():
    """What tells a machine that runs from all others."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"{uuid.getnode():x}"


def sight(paths):
    """The machine, this Python, and these files: equal for processes that see the same."""
    own = sys.executable, sys.prefix, os.path.dirname(os.path.abspath(__file__))
    return [_machine(), sys.prefix, *map(_mark, (*own, *paths))]


def look(paths, theirs):
    """On a node: what it is, and what it sees; it is what the client is where it sees the same."""
    mine = sight(paths)
    return None if mine == theirs else describe(), mine


def prepare(shipped, packages, inside):
    """On a node: make what workers import from; the seconds it took."""
    from leman import environment

    begun = time.monotonic()
    if shipped is not None:
        try:
            environment.load(*shipped).prepare()
        except _core.NotFoundError as error:
            raise _core.InvalidError(
                f"the environment that was shipped to {shipped[0]} is not seen: {error}. Mount "
                "that folder on every node, or ship to one that is: "
                'environment={"env_store": DIR}, path_map={"/path/here": "/path/on/nodes"}'
            ) from None
    if packages:
        environment.install(packages)
    if inside is not None and inside[0] == "conda":
        environment.install_conda(inside[1])
    return time.monotonic() - begun


def _warm(shipped, packages, codes, is_conda=False):
    """On a node: the same, then import and set up the functions; the seconds it took."""
    from leman.workspace import enter_path

    begun = time.monotonic()
    enter_path({"shipped": shipped, "packages": packages, "conda": is_conda})
    for code in codes:
        udf, _, _ = function.unpack(code)
        udf.fresh()
    return time.monotonic() - begun


def _warm_inside(kind, content, shipped, codes):
    """On a node: the same inside of an environment of conda; an image is pulled only."""
    from leman import container, environment, installing_conda

    begun = time.monotonic()
    if kind == "image":
        container.look(content)
    else:
        place = environment.install_conda(content)
        roots = installing_conda.path_of_node()
        code = (
            f"import sys; sys.path.extend({roots!r}); from leman.ray_environment import _warm_here"
        )
        command = installing_conda.enter(place, [sys.executable, "-P", "-c", f"{code} as f; f()"])
        done = subprocess.run(command, input=pickle.dumps((shipped, codes)), capture_output=True)
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise _core.FunctionError("".join(said) or f"it ended with {done.returncode}")
    return time.monotonic() - begun


def _warm_here():
    """In a process of an environment of conda."""
    shipped, codes = pickle.load(sys.stdin.buffer)
    _warm(shipped, [], codes, is_conda=True)


def warm_up(ray, functions, environment=None, path_map=None):
    """{node: seconds} of loading an environment and functions on every node of a cluster."""
    from leman import manifest
    from leman.decorator import as_udf
    from leman.placement import Placement

    udfs = [as_udf(given) for given in functions]
    for udf, given in zip(udfs, functions, strict=True):
        if udf is None or udf.language != "python":
            raise TypeError(f"warmup() takes functions made by @leman.udf, not {given!r}")
    codes = [function.pack(udf, [], []) for udf in udfs]
    shipped = None
    if environment is not None:
        mapped = Placement({}, path_map=path_map)
        shipped = mapped.path_there(environment.root), environment.hash
    wanted = manifest.merged(udfs)
    call = _warm, shipped, [] if wanted is None else wanted.packages, codes
    if wanted is not None and wanted.kind != "pip":
        call = _warm_inside, wanted.kind, wanted.content, shipped, codes
    answers = on_each_node(ray, *call, seconds=3600, once=True)
    return {answer.node: answer.value for answer in answers}
