# SPDX-License-Identifier: Apache-2.0
"""What the workers of a job on a cluster import, and how it gets there.

Nodes that are this very machine, with the same Python and the same files, need nothing. To others
the workspace is shipped, and installed packages where functions need some that a node has not in
the same version; lists of pip are installed there. What differs and cannot be shipped is refused
before anything is started.
"""

import contextlib
import functools
import json
import os
import sys
import threading

import cloudpickle

from leman import _core, container, environment, manifest
from leman.context import current_ahead, current_cluster
from leman.environment import Environment
from leman.environment_check import check, describe
from leman.environment_path import classify
from leman.needs import needs_of
from leman.placement import Placement, place_of
from leman.ray_admission import Need
from leman.ray_environment import look, on_each_node, prepare, sight
from leman.startup import Startup
from leman.workspace import enter_path

_PREPARE_SECONDS = 3600
_ASKED = ("workspace", "bytes_max")  # options of plan() that are not decided here
_looks = {}  # what nodes have shown: {((cluster, paths, sight), node): (name, machine, sight)}


class ReadAhead:
    """Hashes the workspace in the background, so that a plan made later finds it hashed."""

    def __init__(self, asked):
        self._options = _plan_options(asked)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            environment.plan(skip_site_packages=True, **self._options)
        except Exception:
            pass  # the plan that is made later raises it

    def wait(self):
        self._thread.join()


def _plan_options(asked):
    given = asked if isinstance(asked, dict) else {}
    return {name: given[name] for name in _ASKED if name in given}


def read_ahead(cluster, asked):
    """Begin to read what may be shipped to a cluster; None where nothing will be."""
    if asked is False or isinstance(asked, Environment):
        return None
    if asked is None and getattr(cluster, "kind", "local") == "local":
        return None
    return ReadAhead(asked)


def begin(request):
    """Begin to read ahead for a job, before Ray is connected."""
    if request.language != "python":
        return None
    asked = request.placement.environment
    if current_cluster() is not None:
        return current_ahead()
    if asked is None and os.environ.get("RAY_ADDRESS") in (None, "", "local"):
        return None
    return None if asked is False or isinstance(asked, Environment) else ReadAhead(asked)


class Crate:
    """What workers are given to import from."""

    def __init__(self):
        self.shipped = None  # the place of an environment on the nodes, and its hash
        self.packages = []  # of pip
        self.inside = None  # of what workers run: kind and content of a manifest, folders
        self.codes = set()  # of the functions that import: those of Python

    def functions(self, described):
        """The functions of a request as workers get them."""
        return [item | {"code": self._dressed(item["code"])} for item in described]

    def _dressed(self, code):
        if code not in self.codes or not (self.shipped or self.packages or self.inside):
            return code
        line, _, packed = code.partition(b"\n")
        given = json.loads(line)
        if self.shipped is not None:
            given |= {"shipped": self.shipped, "path": []}
        if self.packages:
            given["packages"] = self.packages
        if self.inside is not None:
            kind, content, _ = self.inside
            given |= {"path": []} if kind == "image" else {"conda": content}
        return json.dumps(given).encode() + b"\n" + packed


class _Nodes:
    """The nodes of a cluster, compared with this process.

    ids: of those that workers may run on; of all where nodes for them have yet to come.
    """

    def __init__(self, ray, paths, need):
        self._sight = sight(paths)
        cluster = ray.get_runtime_context().gcs_address
        asked = cluster, paths, tuple(self._sight)
        known = {node: (place, node) for place, node in _looks if place == asked}
        for answer in on_each_node(ray, look, paths, self._sight, skip=set(known)):
            if answer.value[1] != self._sight:
                check(self.here, answer.value[0], where=f"node {answer.node}")
            known[answer.id] = asked, answer.id
            _looks[known[answer.id]] = answer.node, *answer.value
        alive = {node["NodeID"]: node for node in ray.nodes() if node["Alive"]}
        self._found = {node: _looks[key] for node, key in known.items() if node in alive}
        fitting = {node for node in self._found if _fits(alive[node], need)}
        self.ids = fitting or set(self._found)

    def __len__(self):
        return len(self._found)

    @functools.cached_property
    def here(self):
        """This process; reading the versions of all packages takes a moment."""
        return describe()

    @property
    def are_here(self):
        """Do all nodes see what this process sees?"""
        return all(seen == self._sight for _, _, seen in self._found.values())

    @property
    def elsewhere(self):
        """[(name, machine)] of nodes for workers that do not see what this process sees."""
        found = [self._found[node] for node in self._found if node in self.ids]
        return [(name, there) for name, there, seen in found if seen != self._sight]

    def check_packages(self, needs):
        """Raise where a node has not the packages that functions need."""
        for name, there in self.elsewhere:
            check(self.here, there, where=f"node {name}", needs=needs, ships_packages=False)

    def lacking(self, needs):
        """Packages that functions need and that some node has not in the same version."""
        return {
            name
            for _, there in self.elsewhere
            for name in needs
            if there["packages"].get(name) != self.here["packages"].get(name)
        }


class _Load:
    """A load of a table by tasks, as what is to be packed."""

    language = "python"
    udfs = {}

    def __init__(self, table, path_map):
        self.table = table
        self.placement = Placement.of_job({"engine": "ray", "path_map": path_map})


def pack_source(ray, table, source, tasks, path_map=None):
    """A source of rows as tasks take it, with what it imports."""
    crate = pack(ray, _Load(table, path_map), Need(), tasks, current_ahead(), Startup())
    path = [] if crate.shipped else [os.path.abspath(folder) for folder in sys.path]
    return path, {"shipped": crate.shipped, "packages": crate.packages}, cloudpickle.dumps(source)


def unpack_source(packed):
    """In a task: the source, once its modules are found."""
    path, given, code = packed
    sys.path.extend(folder for folder in path if folder not in sys.path)
    enter_path(given)
    return cloudpickle.loads(code)


def _fits(node, need):
    """Is there room on a node for one worker at least, were it empty?"""
    labels = dict(node.get("Labels") or {})
    has_labels = all(labels.get(name) == value for name, value in need.labels.items())
    return has_labels and need.count_in(node["Resources"]) > 0


def pack(ray, request, need, workers, ahead, startup):
    """The ``Crate`` of a job. Raises where its functions would not run on the cluster.

    need: of one of its `workers`. ahead: of ``begin()``. startup: is told what it takes.
    """
    crate = Crate()
    asked = request.placement.environment
    found = {code: udf for code, (udf, _, _) in request.udfs.items() if udf.language == "python"}
    crate.codes, udfs = set(found), list(found.values())
    is_python = request.language == "python"
    with startup.phase("provision"):
        options = _plan_options(asked)
        roots = classify(None, options.get("workspace"))[0] if is_python else []
        nodes = _Nodes(ray, tuple(root.path for root in roots), need)
    if not is_python:
        return crate
    made = asked if isinstance(asked, Environment) else None
    wanted = _wanted(udfs, made, asked, crate)
    is_inside = wanted is not None and wanted.kind == "image" and not _is_image_of_cluster(wanted)
    if is_inside:
        with startup.phase("provision"):
            _look_inside(ray, wanted, need, nodes)
    needs = _needs(udfs, wanted, nodes)
    if made is not None:
        startup.add_environment(made)
        startup.note = f"environment {made.hash[:12]} is there"
    elif asked is False:
        startup.note = "nothing is shipped, as environment=False says"
    elif asked is None and nodes.are_here and not is_inside:
        count = "its node is" if len(nodes) == 1 else f"its {len(nodes)} nodes are"
        startup.note = f"nothing is shipped: {count} this machine, with the same Python and files"
    else:
        with _places(ray, need, workers):
            made = _ship(request, nodes, wanted, needs, ahead)
        _say(made, nodes.lacking(needs), startup)
    if made is None or not made.has_packages:
        nodes.check_packages(needs)
    if made is not None:
        root = request.placement.path_there(os.path.abspath(made.root))
        crate.shipped = root, made.hash
    _enter(request, wanted, crate)
    given = crate.shipped, crate.packages, crate.inside
    if any(given):
        with startup.phase("provision"):
            on_each_node(ray, prepare, *given, only=nodes.ids, seconds=_PREPARE_SECONDS)
    return crate


def _wanted(udfs, made, asked, crate):
    """What functions and environment want installed; a manifest, or None."""
    others = [made.manifest] if made is not None else []
    if isinstance(asked, dict):
        others.append(asked.get("manifest"))
    wanted = manifest.merged(udfs, others)
    if wanted is None:
        return None
    for udf in udfs:
        if udf.options.manifest is not None:
            manifest.Manifest.from_description(udf.options.manifest).check_carriers(f"{udf.name}()")
    wanted.check_carriers("the environment")
    if wanted.kind == "pip":  # that of an environment is installed with it
        functions = manifest.merged(udfs, others[1:] if made is not None else others)
        crate.packages = [] if functions is None else functions.packages
    return wanted


def _look_inside(ray, wanted, need, nodes):
    """Raise where an image does not run on a node, or has another Python or Leman."""
    if need.gpus:
        raise _core.InvalidError(
            f"a worker wants {need.gpus:g} GPUs, which containers of the image {wanted.content} "
            "are not given: make the cluster of that image (leman.cluster.kuberay(image=...))"
        )
    found = on_each_node(
        ray, container.look, wanted.content, only=nodes.ids, seconds=_PREPARE_SECONDS
    )
    for answer in found:
        where = f"node {answer.node} in the image {wanted.content}"
        without = {"ray": None}  # which workers do not need
        check(nodes.here | without, answer.value | without, where=where)


def _enter(request, wanted, crate):
    """Note of what workers run inside."""
    if wanted is None or wanted.kind == "pip" or _is_image_of_cluster(wanted):
        return
    roots = [request.placement.path_there(place_of(request.table)[0])]
    roots += [crate.shipped[0]] if crate.shipped else []
    crate.inside = wanted.kind, wanted.content, sorted(set(map(os.path.abspath, roots)))


def _is_image_of_cluster(wanted):
    """Do all nodes of the context's cluster run in that image?"""
    groups = getattr(current_cluster(), "groups", None)
    if wanted.kind != "image" or not groups:
        return False
    cluster = current_cluster()
    return all((group.image or cluster.image) == wanted.content for group in groups.values())


def _needs(udfs, wanted, nodes):
    """Names of the packages that nodes must have as they are here."""
    if not nodes.elsewhere or (wanted is not None and wanted.kind != "pip"):
        return set()
    needs = needs_of(udfs, nodes.here["packages"]) - {"ray", "leman"}
    return needs - (set() if wanted is None else set(wanted.pins()))


def _ship(request, nodes, wanted, needs, ahead):
    """Plan and ship; the ``Environment``."""
    asked = request.placement.environment
    given = asked if isinstance(asked, dict) else {}
    lacking = nodes.lacking(needs)
    skip = given.get("skip_site_packages", wanted is not None) or not lacking
    if skip and lacking:
        nodes.check_packages(needs)
    if ahead is not None:
        ahead.wait()
    plan = environment.plan(skip_site_packages=skip, **_plan_options(asked))
    return plan.ship(given.get("env_store") or store_of(request.table))


@contextlib.contextmanager
def _places(ray, need, workers):
    """Ask for the places of workers, so that an autoscaler adds nodes while files are shipped."""
    asked = need.amounts()
    if not asked:
        yield
        return
    labels = [need.labels] * workers if need.labels else None
    group = ray.util.placement_group([asked] * workers, bundle_label_selector=labels)
    try:
        yield
    finally:
        ray.util.remove_placement_group(group)


def _say(made, lacking, startup):
    startup.add_environment(made)
    startup.note = (
        f"shipped {len(made.shipped)} of {len(made.archives)} archives, "
        f"{environment.size_text(made.shipped_bytes)}"
    )
    if made.has_packages:
        startup.note += f", with packages, as nodes lack {', '.join(sorted(lacking)[:3])}"


def store_of(table):
    """The database of a table, which holds environments; the folder it lies in, if opened alone."""
    root, name = place_of(table)
    return root if name is not None else os.path.dirname(root)
