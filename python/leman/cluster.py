# SPDX-License-Identifier: Apache-2.0
"""Where jobs run: a Ray on this machine, one that is there, or one that KubeRay makes.

A cluster is a description; making one starts nothing. ``init()`` connects Ray to it, and
``with db.context(cluster):`` does that for the jobs inside. ``db.define_cluster(cluster)`` keeps it
with a database, by its name.
"""

import copy
import re
import socket
import urllib.parse
from dataclasses import dataclass

from leman import _core
from leman.cluster_group import Group, check_name

PRESETS = {
    # name: (head, workers, replicas, concurrency, batch size)
    "small": ({"cpus": 1, "memory": "3G"}, {"cpus": 2, "memory": "4G"}, 4, 2, 32),
    "medium": ({"cpus": 2, "memory": "4G"}, {"cpus": 4, "memory": "8G"}, 4, 4, 64),
    "large": ({"cpus": 4, "memory": "8G"}, {"cpus": 8, "memory": "16G"}, 8, 8, 128),
}
_ANSWER_SECONDS = 5
_NO_SERVER = "Starting Ray client server failed"
_STARTS = 3  # of a connection
_CLIENT_PORT = 10001


def _ray():
    try:
        import ray
    except ImportError as error:
        raise _core.UnsupportedError(
            "clusters need Ray, which is not installed: pip install 'leman[ray]'"
        ) from error
    return ray


class Cluster:
    """What the kinds share: a name, an address, and how Ray is connected to it."""

    kind = None
    address = None  # as ray.init() takes it; None: a Ray of this machine

    # What backfill() takes where it is not told.
    concurrency = None
    batch_size = None

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        place = f" at {self.address}" if self.address else ""
        return f"<leman.cluster.{self.kind} {self.name!r}{place}>"

    def __eq__(self, other):
        return isinstance(other, Cluster) and self.describe() == other.describe()

    def __hash__(self):
        return hash((self.kind, self.name))

    def init(self, **options):
        """Connect Ray to the cluster and return the module; options are those of ray.init().

        A Ray that you have connected is taken as it is; one that Leman has connected to another
        cluster is left, unless a job of this process runs there. One that nobody answers at is
        refused within seconds.
        """
        ray = _ray()
        self._leave_another(ray)
        if not ray.is_initialized():
            if self.address is not None:
                self._check_answer()
            self._start(ray, options)
        return ray

    def warmup(self, *functions, environment=None, path_map=None):
        """Load functions, and an environment that was captured, on every node, before a job does.

        Archives are unpacked there, modules imported and ``setup()`` of functions run, so that what
        they download is there. Returns seconds by node. path_map: as for ``backfill()``.
        """
        from leman.ray_environment import warm_up

        return warm_up(self.init(), functions, environment, path_map)

    def _start(self, ray, options):
        start_ray(ray, f"cluster {self.name!r}", address=self.address, **options)

    def _is_at(self, options):
        """Is it what Ray was connected to with these options?"""
        return options["address"] == self.address

    def _leave_another(self, ray):
        if not ray.is_initialized() or _made is None or _made.id != connection_of(ray):
            return  # it is not ours
        if self._is_at(_made.options):
            return
        from leman.ray_engine import running

        jobs = running(_made.id)
        if jobs:
            raise _core.ConflictError(
                f"cluster {self.name!r}: this process is connected to {_made.what}, where its job "
                f"{jobs[0]} runs: wait for that, or take another process"
            )
        ray.shutdown()

    def _check_answer(self):
        host, port = _endpoint(self.address)
        try:
            socket.create_connection((host, port), timeout=_ANSWER_SECONDS).close()
        except OSError as error:
            raise _core.UnavailableError(
                f"cluster {self.name!r}: nobody answers at {self.address}: "
                f"{error.strerror or error}. {self._remedy()}"
            ) from error

    def _remedy(self):
        return "Start it, or give the address of one that runs"

    def describe(self):
        """What ``define_cluster()`` keeps; ``from_description()`` reads it."""
        return {"kind": self.kind, "name": self.name, "address": self.address}


@dataclass(frozen=True)
class _Connection:
    """A connection of Ray that Leman has made; what: the cluster, for people."""

    id: str
    what: str
    options: dict


_made = None  # the last of them


def connection_of(ray):
    """What tells connections of this process apart."""
    return ray.get_runtime_context().get_job_id()


def start_ray(ray, what, **options):
    """Connect Ray; its client server, which does not come up in time now and then, is asked again.

    what: the cluster, for people.
    """
    global _made
    for left in reversed(range(_STARTS)):
        try:
            ray.init(**options)
            _made = _Connection(connection_of(ray), what, options)
            return
        except (ConnectionError, RuntimeError) as error:
            if left == 0 or _NO_SERVER not in str(error):
                raise refusal(what, error) from error


def refusal(what, error):
    """The exception for what Ray says when it does not connect."""
    if _NO_SERVER in str(error):
        return _core.UnavailableError(
            f"{what}: its client server did not start in {_STARTS} tries; the head node is busy, "
            "or short of memory: look at ray_client_server.err in its logs, and try again"
        )
    if "Version mismatch" in str(error):
        return _core.InvalidError(
            f"{what} has another Python or Ray than this process: {error}\nInstall here what the "
            "cluster has, or take an image that has what is here"
        )
    return _core.UnavailableError(f"{what}: {error}")


def _endpoint(address):
    """(host, port) of an address of Ray; raises for what is none."""
    text = address if "://" in address else f"gcs://{address}"
    try:
        parts = urllib.parse.urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _core.InvalidError(f"no address of a Ray cluster: {address!r}: {error}") from error
    if parts.scheme not in ("ray", "gcs") or not host or parts.path or parts.query:
        raise _core.InvalidError(
            f'no address of a Ray cluster: {address!r}; it is "ray://host:port", or "host:port" '
            "from a machine of the cluster"
        )
    return host, port or (_CLIENT_PORT if parts.scheme == "ray" else 6379)


class Local(Cluster):
    """A Ray on this machine, started when it is needed and stopped with the process."""

    kind = "local"

    def __init__(self, name, num_cpus=None, num_gpus=None):
        super().__init__(name)
        for what, value in (("num_cpus", num_cpus), ("num_gpus", num_gpus)):
            if value is not None and (
                not isinstance(value, int) or isinstance(value, bool) or value < 0
            ):
                raise _core.InvalidError(f"{what} is a whole number of at least 0, not {value!r}")
        self.num_cpus = num_cpus
        self.num_gpus = num_gpus

    def _start(self, ray, options):
        given = {"num_cpus": self.num_cpus, "num_gpus": self.num_gpus, "include_dashboard": False}
        given = {name: value for name, value in given.items() if value is not None}
        start_ray(ray, f"cluster {self.name!r}", address="local", **(given | options))

    def _is_at(self, options):
        given = options.get("num_cpus"), options.get("num_gpus")
        return options["address"] == "local" and given == (self.num_cpus, self.num_gpus)

    def describe(self):
        return super().describe() | {"num_cpus": self.num_cpus, "num_gpus": self.num_gpus}


class External(Cluster):
    """A Ray that runs already."""

    kind = "external"

    def __init__(self, address, name=None):
        if not isinstance(address, str):
            raise _core.InvalidError(f'an address is a text as "ray://host:port", not {address!r}')
        host, _ = _endpoint(address)
        super().__init__(name or host)
        self.address = address


class KubeRay(Cluster):
    """A Ray that the KubeRay operator makes from the resource that ``render()`` gives.

    The calls that add to it return it, so that they can be chained.
    """

    kind = "kuberay"

    def __init__(self, name, namespace="default", size=None, image=None, ray_version=None):
        check_name("cluster", name)
        check_name("namespace", namespace)
        if size is not None and size not in PRESETS:
            raise _core.InvalidError(
                f"cluster {name!r}: no size {size!r}; there are: {', '.join(PRESETS)}"
            )
        for what, text in (("image", image), ("ray_version", ray_version)):
            if text is not None and (not isinstance(text, str) or not text):
                raise _core.InvalidError(f"cluster {name!r}: {what} is a text, not {text!r}")
        super().__init__(name)
        self.namespace = namespace
        self.size = size
        self.image = image
        self.ray_version = ray_version
        self._address = None
        self._head = None
        self._workers = {}
        if size is not None:
            head, workers, replicas, self.concurrency, self.batch_size = PRESETS[size]
            self.head(**head)
            self._add("cpu", "cpu", workers | {"replicas": replicas, "max_replicas": replicas})
        else:
            self.head()

    def head(self, **options):
        """Say what the head is given: cpus (4), memory ("8G"), gpus, image, node_selector, labels,
        tolerations, service_account, env, env_from."""
        self._head = Group("head", "head", self.name, options)
        return self

    def cpu_workers(self, name="cpu", **options):
        """A group of workers without GPUs, in place of one of that name.

        cpus (4), memory ("8G"): of each worker.
        replicas (1), min_replicas (0), max_replicas (100): how many there are at first, and how
            many the autoscaler keeps.
        idle_timeout_seconds (60): after so long without work a worker goes.
        node_selector: labels of the nodes it runs on, {"leman.dev/ray-worker-cpu": "true"} unless
            given; {} takes any node. labels: of its pods. tolerations, service_account, image: as
            Kubernetes has them. env: variables by name. env_from: names of Secrets whose entries
            become variables.
        """
        return self._add(name, "cpu", options)

    def gpu_workers(self, name="gpu", **options):
        """The same with GPUs: gpus (1) of each worker, cpus (8), memory ("16G")."""
        return self._add(name, "gpu", options)

    def _add(self, name, kind, options):
        self._workers[name] = Group(name, kind, self.name, options)
        return self

    @property
    def groups(self):
        """The head and the groups of workers, by name."""
        return {"head": self._head, **self._workers}

    def group(self, name):
        """A group by its name. NotFoundError names those that there are."""
        if name not in self.groups:
            raise _core.NotFoundError(
                f"cluster {self.name!r} has no group {name!r}; there are: {', '.join(self.groups)}"
            )
        return self.groups[name]

    @property
    def address(self):
        """Where its clients connect: the service that KubeRay makes, unless ``at()`` told."""
        if self._address is not None:
            return self._address
        return f"ray://{self.name}-head-svc.{self.namespace}.svc.cluster.local:{_CLIENT_PORT}"

    def at(self, address):
        """Connect there instead, e.g. through ``kubectl port-forward``."""
        _endpoint(address)
        self._address = address
        return self

    def _remedy(self):
        return (
            "Make it with `leman cluster render` and `kubectl apply -f`; from outside of "
            "Kubernetes, forward the port and say at('ray://127.0.0.1:10001')"
        )

    def create(self, *_, **__):
        """Not offered: ``leman cluster render`` prints what ``kubectl apply`` creates."""
        raise _core.UnsupportedError(
            f"cluster {self.name!r}: creating clusters through the Kubernetes API is not offered; "
            f"`leman cluster render {self.name} --db DIR | kubectl apply -f -` creates it"
        )

    delete = watch = create

    def render(self):
        """The RayCluster resource, as dicts and lists."""
        from leman.cluster_render import resource

        return resource(self)

    def to_yaml(self):
        """The RayCluster resource as YAML, for ``kubectl apply``."""
        from leman.cluster_render import to_yaml

        return to_yaml(self.render())

    def describe(self):
        return {
            "kind": self.kind,
            "name": self.name,
            "namespace": self.namespace,
            "size": self.size,
            "image": self.image,
            "ray_version": self.ray_version,
            "address": self._address,
            "head": self._head.describe(),
            "workers": [group.describe() for group in self._workers.values()],
        }

    @classmethod
    def _from(cls, given):
        made = cls(
            given["name"], given["namespace"], given["size"], given["image"], given["ray_version"]
        )
        if given["address"] is not None:
            made.at(given["address"])
        made.head(**given["head"]["options"])
        made._workers = {}
        for group in given["workers"]:
            made._add(group["name"], group["kind"], group["options"])
        return made


def local(name="local", *, num_cpus=None, num_gpus=None):
    """A Ray on this machine; num_cpus and num_gpus are what it shares out, all unless given."""
    return Local(name, num_cpus, num_gpus)


def external(address, *, name=None):
    """A Ray that runs: "ray://host:port" from anywhere, "host:port" from its own machines."""
    return External(address, name)


def kuberay(name, *, namespace="default", size=None, image=None, ray_version=None):
    """A Ray in Kubernetes: add ``.head(...)``, ``.cpu_workers(...)``, ``.gpu_workers(...)``.

    size: "small", "medium" or "large" is a head and a group "cpu", with a concurrency and a batch
        size that suit them.
    image: of all pods; one of Ray's own unless given.
    """
    return KubeRay(name, namespace, size, image, ray_version)


def from_description(given):
    """The cluster that ``describe()`` described. InvalidError when it is none."""
    given = copy.deepcopy(given)
    try:
        if given["kind"] == "local":
            return local(given["name"], num_cpus=given["num_cpus"], num_gpus=given["num_gpus"])
        if given["kind"] == "external":
            return external(given["address"], name=given["name"])
        if given["kind"] == "kuberay":
            return KubeRay._from(given)
    except (KeyError, TypeError, AttributeError) as error:
        raise _core.InvalidError(f"no description of a cluster: {error!r}") from error
    raise _core.InvalidError(f"no kind of cluster: {given['kind']!r}")


def resolve(db, cluster):
    """The cluster that is meant: an object, an address, or a name that the database defines."""
    if isinstance(cluster, Cluster):
        return cluster
    if isinstance(cluster, str):
        if "://" in cluster or re.search(r":\d+$", cluster):
            return external(cluster)
        return db.open_cluster(cluster)
    raise _core.InvalidError(
        f"no cluster: {cluster!r}; leman.cluster.local(), external() and kuberay() make one"
    )
