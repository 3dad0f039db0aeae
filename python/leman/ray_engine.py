# SPDX-License-Identifier: Apache-2.0
"""Jobs on a Ray cluster, as the client sees them."""

import os
import secrets
import socket
import time
import weakref

from leman import _core, shipping
from leman import ray_trackers as trackers
from leman.cluster import connection_of, start_ray
from leman.cluster_room import addable
from leman.context import current_cluster
from leman.jobs import Job, records
from leman.placement import place_of
from leman.ray_admission import Need, admit, amounts_text, survey
from leman.startup import Startup

WORKERS_MAX = 8
ROWS_PER_WORKER_MIN = 32
_ANSWER_SECONDS = 5
_ENDED = ("done", "done_failed", "stopped", "failed")


def _ray():
    try:
        import ray
    except ImportError:
        raise _core.UnsupportedError(
            "jobs on a cluster need Ray, which is not installed: pip install 'leman[ray]'"
        ) from None
    return ray


def check_address(address):
    """Raise when nobody listens at the address of a cluster; Ray itself waits long for that."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise _core.InvalidError(
            f'{address!r} is no address of a cluster; they look like "ray://host:10001" or '
            '"host:6379"'
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
    except OSError as error:
        raise _core.UnavailableError(
            f"nobody answers at {address!r}: {error}. Is the cluster up, and is that its address?"
        ) from None


def init(address=None):
    """Connect this process to a cluster: the one at `address`, or one on this machine alone."""
    ray = _ray()
    if address is None:
        options = {"include_dashboard": False, "logging_level": "warning"}
        start_ray(ray, "a Ray of this machine", address="local", **options)
        return
    check_address(address)
    start_ray(ray, f"the cluster at {address!r}", address=address, logging_level="warning")


def connect():
    """Ray, connected: to the cluster of the context, as it is, to RAY_ADDRESS, or to one here."""
    ray = _ray()
    cluster = current_cluster()
    if cluster is not None:
        cluster.init()
    elif not ray.is_initialized():
        address = os.environ.get("RAY_ADDRESS")
        init(None if address in (None, "", "local") else address)
    return ray


def look_around(ray):
    """The cluster's nodes, and those it may add; seen from inside where this process is outside."""
    if ray.util.client.ray.is_connected():
        nodes = ray.get(ray.remote(num_cpus=0)(survey).remote())
    else:
        nodes = survey()
    return nodes + addable(current_cluster(), nodes)


def need_of(request):
    """What one worker of the request asks for."""
    need = Need(0.0, 0.0, 0, {}, {})
    for described in request.functions:
        need.cpus = max(need.cpus, (described["cpus"] or 1) * (request.threads or 1))
        need.gpus = max(need.gpus, described["gpus"])
        need.memory = max(need.memory, described["memory_bytes"])
    placements = [udf.options.placement for udf, _, _ in request.udfs.values()]
    for placement in [*placements, request.placement]:
        need.resources |= placement.resources
        need.labels |= placement.node_labels
    return need


def check_need(ray, need):
    """Raise for amounts that Ray does not share out so."""
    from leman.ray_tracker import Applier, applier_options

    if need.gpus > 1 and need.gpus % 1:
        raise _core.InvalidError(
            f"num_gpus is a part of one GPU, or a whole number of them, not {need.gpus:g}"
        )
    try:
        ray.remote(Applier).options(**applier_options(need))
    except ValueError as error:
        raise _core.InvalidError(f"Ray has no worker with {need.text()}: {error}") from None


def tracker_need():
    from leman.ray_tracker import CPUS, MEMORY

    return Need(CPUS, 0.0, MEMORY)


def workers_of(nodes, request, need):
    """How many workers, and what to say of it; ValueError says why there can be none."""
    rows = len(request.table)
    most = min(WORKERS_MAX, rows // ROWS_PER_WORKER_MIN + 1)
    return admit(nodes, need, tracker_need(), request.options["concurrency"] or None, most)


def _line(what, count, need, why):
    return {
        "what": what,
        "count": count,
        "cpus_each": need.cpus,
        "cpus": need.cpus * count,
        "gpus": need.gpus * count,
        "memory_bytes": need.memory * count,
        "why": why,
    }


def plan(request):
    """What a job asks of the cluster, and what it has: members of a plan."""
    nodes = look_around(connect())
    need, tracker, none = need_of(request), tracker_need(), Need(0.0, 0.0, 0)
    blocker, workers = None, 0
    try:
        admission = workers_of(nodes, request, need)
        workers, blocker = admission.workers, admission.note
    except ValueError as error:
        blocker = str(error)
    wanted = request.options["concurrency"] or workers or 1
    resources = [
        _line("driver", 1, none, "this process"),
        _line("tracker", 1, tracker, "an actor of the cluster"),
        _line("workers", wanted, need, "actors that run the function"),
        _line("writers", 0, none, "workers write their results to their final place"),
        _line("queues", 0, none, "nothing stands between workers and files"),
    ]
    made = {
        "resources": resources,
        "total": {name: sum(line[name] for line in resources) for name in _AMOUNTS},
        "cluster": [
            {"node": node.name, "has": amounts_text(_shown(node.total)), "group": node.group}
            for node in nodes
        ],
        "workers": workers,
        "threads_per_worker": request.threads or 1,
        "fits": workers > 0,
    }
    return made if blocker is None else made | {"blocker": blocker}


_AMOUNTS = ("cpus", "gpus", "memory_bytes")


def _shown(amounts):
    """What people ask nodes for; not the names that Ray itself gives them."""
    hidden = ("node:", "object_store_memory", "accelerator_type:")
    first = {name: amounts[name] for name in ("CPU", "GPU", "memory") if name in amounts}
    return first | {name: amounts[name] for name in amounts if not name.startswith(hidden)}


def start(request):
    """Start a job on a cluster, or attach to the one that runs and does the same; a ``Job``."""
    startup = Startup()
    ahead = shipping.begin(request)
    with startup.phase("provision"):
        ray = connect()
    need = need_of(request)
    check_need(ray, need)
    try:
        admission = workers_of(look_around(ray), request, need)
    except ValueError as error:
        raise _core.UnavailableError(str(error)) from None
    spec = _spec(request, need, admission)
    actor = _running(ray, spec)
    if actor is None:
        crate = shipping.pack(ray, request, need, admission.workers, ahead, startup)
        spec["functions"] = crate.functions(request.functions)
        spec["inside"] = crate.inside
        given = crate.inside, crate.shipped, crate.packages
        spec["kind"] = (*spec["kind"], repr(given))
        actor = trackers.obtain(ray, spec, request.secrets)
    tracked = Tracked(ray, actor, spec, request.secrets, request.table, admission, startup)
    return Job(tracked, request.name, request.table)


_here = weakref.WeakValueDictionary()  # jobs of this process that run, by id


def running(connection):
    """Ids of the jobs that this process has started by a connection of Ray, and that run."""
    found = [(job_id, job) for job_id, job in _here.items() if job.connection == connection]
    return [job_id for job_id, job in found if not job.wait(0)]


def _running(ray, spec):
    """The tracker of a job that runs and does the same, whose id is that of `spec` from now on."""
    asked = spec["options"]["id"]
    found = trackers.find(ray, asked, spec["same"])
    spec["options"]["id"] = asked or secrets.token_hex(5)
    if found is None:
        return None
    job_id, same, actor = found
    if not same:
        raise _core.ConflictError(f"job {job_id} runs on the cluster, and does something else")
    if job_id in _here:
        raise _core.UnavailableError(f"job {job_id}, which this process has started, fills it")
    spec["options"]["id"] = job_id
    return actor


def _spec(request, need, admission):
    """A job as its tracker gets it, without the values of its secrets."""
    kept = set(request.options) - {"worker", "worker_env", "secret"}
    options = {name: request.options[name] for name in kept}
    options["concurrency"] = admission.workers
    options["threads"] = options["threads"] or 1
    table = request.table
    root, name = place_of(table)
    folder = request.placement.path_there(os.path.abspath(table.path))
    return {
        "place": (request.placement.path_there(root), name),
        "version": {"version": request.core.version, "branch": table._branch},
        "pinned": request.core is not table._core,
        "options": options,
        "language": request.language,
        "need": need,
        "workers": admission.workers,
        "secrets": list(request.secrets),
        "kind": (need.text(), request.language, options["threads"]),
        "idle_seconds": trackers.idle_seconds(options["keep_warm"], need.gpus),
        "same": trackers.sameness(folder, table._branch, request.functions, options),
    }


class Tracked:
    """A job that a tracker drives, with the calls that ``Job`` makes."""

    detached = True

    def __init__(self, ray, actor, spec, values, table, admission, startup):
        self._ray = ray
        self.connection = connection_of(ray)
        self._actor = actor
        self._spec = spec
        self._values = values  # of secrets
        self.startup = startup
        self._table = table
        self._id = spec["options"]["id"]
        self._look = None
        self._stop_asked = None
        self._ended = False
        self._met = False  # the tracker has answered
        self._began = time.monotonic()
        self._note = admission.note
        self._wait_seconds = spec["options"]["wait_ms"] / 1000
        self._status = _first_status(self._id, admission)
        _here[self._id] = self

    def status(self):
        self.wait(0)
        return dict(self._status)

    def wait(self, milliseconds):
        """Ask how it stands; True when it has ended."""
        if self._ended:
            return True
        if self._stop_asked is not None:
            self._actor.stop.remote(self._id, self._stop_asked)
            self._stop_asked = None
        if self._look is None:
            self._look = self._actor.look.remote(self._id, 100)
        done, _ = self._ray.wait([self._look], timeout=milliseconds / 1000)
        if done:
            self._hear()
        elif not self._met:
            self._say_waiting()
        return self._ended

    def stop(self, now=False):
        """Heard at the next look: this may be called by a signal's handler."""
        self._stop_asked = now
        if now:
            self._actor.stop.remote(self._id, True)

    def _hear(self):
        look, self._look = self._look, None
        self._met = True
        wanted = False
        try:
            heard = self._ray.get(look) or (True, self._last_words("it has gone"), False)
            self._ended, status, wanted = heard
        except self._ray.exceptions.RayError as error:
            self._ended, status = True, self._last_words(error)
        if wanted:  # the tracker was started again, and nobody else knows them
            self._actor.take.remote(self._spec, self._values)
        if self._note and "message" in status:
            status["message"] = "; ".join(filter(None, (status["message"], self._note)))
        status = self._status | status
        status["error"] = _error_of(status["error"])
        self._note_startup(status)
        self._status = status
        if self._ended:
            self._let_go()

    def _let_go(self):
        """The tracker waits for another job, or need not be there any more."""
        _here.pop(self._id, None)
        if self._status["state"] in ("done", "done_failed") and self._spec["idle_seconds"]:
            trackers.keep(self._ray, self._actor, self._spec)
            return
        try:
            self._ray.kill(self._actor)
        except Exception:
            pass  # it has gone by itself

    def _note_startup(self, status):
        """Count what it takes until the first row is computed; said once."""
        passed = time.monotonic() - self._began
        self.startup.follow(passed, status["workers_ready"], status["rows_computed"])
        status["startup"] = self.startup.to_dict()
        status["started"] = str(self.startup) if self.startup.has_ended else ""

    def _say_waiting(self):
        """The tracker itself has no place yet."""
        waited = time.monotonic() - self._began
        if waited < 1:
            return
        blocker = tracker_need().blocker(look_around(self._ray)) or "it is being started"
        self._status["elapsed_ms"] = int(waited * 1000)
        self._status["message"] = (
            f"waiting {waited:.0f} s of {self._wait_seconds:.0f} s for the tracker: {blocker}"
        )
        if waited >= self._wait_seconds:
            self._ended = True
            self._let_go()
            self._status["state"] = "failed"
            self._status["error"] = _core.UnavailableError(self._status["message"])

    def _last_words(self, error):
        """What is known of a job whose tracker is gone for good."""
        status = dict(self._status)
        found = records(self._table, self._id)
        if found:
            status |= {name: found[0].get(name, status[name]) for name in status}
        if status["state"] in ("done", "done_failed"):
            status["error"] = None
        elif status["state"] in _ENDED and found:
            status["error"] = ("CancelledError", found[0].get("error") or "it was stopped")
        else:
            reason = str(error).strip().splitlines()[-1]
            status["state"] = "failed"
            status["error"] = ("UnavailableError", f"its tracker ended: {reason}")
        return status


def _error_of(pair):
    """The exception that a tracker has named."""
    if pair is None or isinstance(pair, Exception):
        return pair
    name, message = pair
    return getattr(_core, name, _core.LemanError)(message)


def _first_status(job_id, admission):
    counters = (
        "rows_planned rows_resumed rows_computed rows_checkpointed rows_committed rows_failed "
        "bytes_written workers workers_ready worker_deaths memory_bytes elapsed_ms read_ms call_ms "
        "write_ms wait_ms eta_ms eta_low_ms eta_high_ms checkpoint_age_ms commit_age_ms version "
        "rate rate_recent read_rate write_rate log_lines log_lines_dropped calls tokens cost"
    )
    status = dict.fromkeys(counters.split(), 0)
    message = "the tracker starts" + (f"; {admission.note}" if admission.note else "")
    texts = {"state": "waiting", "id": job_id, "message": message, "verdict": "", "error": None}
    return status | texts
