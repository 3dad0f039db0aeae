# SPDX-License-Identifier: Apache-2.0
"""What runs inside a Ray cluster for jobs: trackers, and the appliers that they own.

A tracker is a detached actor that drives a job; each applier is an actor that starts a worker
process on its node. They talk over connections of their own: Ray places, restarts and ends them,
and no row passes through its object store. A tracker whose job is done waits a few seconds, with
its appliers, for the next job of its client.
"""

import os
import secrets
import socket
import threading
import time
from dataclasses import dataclass

import ray

from leman import _core, container, environment, secret
from leman import ray_trackers as trackers
from leman.ray_admission import survey

CPUS = 0.1
MEMORY = 128 << 20
_LOOK_SECONDS = 0.5
_PLAN_MS = 20  # after which a job without work is over
_FIRST_SECONDS = 60  # for the first job to come
_OVERTAKE_SECONDS = 5
_LINGER_SECONDS = 30  # for a client that asks how it ended
_SILENT_SECONDS = 5  # after which a client has gone: it asks several times a second
_ANSWER_SECONDS = 0.5  # until the answer has left
_START_SECONDS = 5  # that an actor may take without a reason
_DEATHS_MAX = 20  # of an applier's actor, one right after the other
_LIVED_SECONDS = 60  # after which a death is not right after the one before


def node_name():
    """What people call this node."""
    return f"{socket.gethostname()} ({ray.util.get_node_ip_address()})"


def machine_name():
    """What tells machines apart: processes of one node share files in place."""
    return ray.get_runtime_context().get_node_id()


def plain(status):
    """A status without objects that need this package to be read."""
    error = status["error"]
    status["error"] = None if error is None else (type(error).__name__, str(error))
    return status


def _command(language, inside):
    """The command of workers; inside: of what, a ``Crate`` says."""
    from leman.backfill import _worker_command

    if inside is None:
        return _worker_command(language)
    kind, content, folders = inside
    if kind == "image":
        return container.command(content, [*folders, *environment.folders()])
    return _worker_command(language, environment.install_conda(content))


class Applier:
    """Runs workers on its node until a job needs none."""

    def run(self, place, language, inside):
        """Returns when the job is over, or why it cannot be reached."""
        command = _command(language, inside)
        try:
            _core.agent_run(node=node_name(), machine=machine_name(), worker=command, **place)
        except _core.UnavailableError as error:
            return str(error)
        return None


def applier_options(need):
    """What an actor of appliers is made with."""
    options = {
        "num_cpus": need.cpus,
        "num_gpus": need.gpus,
        "resources": need.resources or None,
        "max_restarts": 0,
    }
    if need.memory:
        options["memory"] = need.memory
    if need.labels:
        options["label_selector"] = need.labels
    return options


class Tracker:
    """Drives jobs, one after the other, and keeps as many appliers as they want."""

    def __init__(self):
        self._name = ray.get_runtime_context().get_actor_name()
        self._changed = threading.Condition()
        self._asked = None  # the run that comes next
        self._run = None
        self._leaves = False
        spec = trackers.recall(self._name)
        if spec is not None:  # Ray has started it again
            self._asked = _Run(_spec_again(spec), None)
        threading.Thread(target=self._live, daemon=True).start()

    def take(self, spec, values):
        """Drive a job, with these values of its secrets. False: there is another one to drive."""
        with self._changed:
            current = self._asked or self._run
            if current is not None and current.id == spec["options"]["id"] and not current.ended():
                current.give(values)
                return True
            if self._leaves or self._asked or (self._run and not self._run.ended()):
                return False
            self._asked = _Run(spec, values)
            self._changed.notify_all()
            return True

    def look(self, job_id, milliseconds=0):
        """(has the job ended, its status, are its secrets wanted); at the end of it, or after a
        while. None when it is not driven here."""
        run = self._find(job_id)
        if run is None:
            return None
        look = run.look(milliseconds)
        if look[0]:
            with self._changed:
                if run is self._run:  # what is noted is not of the next one yet
                    trackers.forget(self._name, job_id)
                run.told = True
                self._changed.notify_all()
        return look

    def stop(self, job_id, now):
        run = self._find(job_id)
        if run is not None:
            run.stop(now)

    def _find(self, job_id):
        """A job that it has; calls may overtake the one that brings it."""

        def known():
            return [run for run in (self._asked, self._run) if run and run.id == job_id]

        with self._changed:
            self._changed.wait_for(known, _OVERTAKE_SECONDS)
            return next(iter(known()), None)

    def leave(self):
        """End, unless there is something to do."""
        with self._changed:
            if self._asked is None and (self._run is None or self._run.ended()):
                self._leaves = True
                self._changed.notify_all()

    def process(self):
        return os.getpid()

    # The rest runs in a thread of its own.

    def _live(self):
        appliers = _Appliers()
        try:
            while self._next(appliers):
                self._drive(self._run, appliers)
        finally:
            appliers.end()
            time.sleep(_ANSWER_SECONDS)
            ray.kill(ray.get_runtime_context().current_actor)

    def _next(self, appliers):
        """Wait for the next job; False when none comes."""
        idle = _FIRST_SECONDS if self._run is None else self._run.idle_seconds()
        if self._await(idle, lambda: False):
            return True
        appliers.end()
        linger = 0 if self._run is None or self._run.is_alone() else _LINGER_SECONDS
        if self._await(linger, lambda: self._run is not None and self._run.told):
            return True
        with self._changed:
            self._leaves = self._asked is None
            return self._begin()

    def _await(self, seconds, enough):
        with self._changed:
            self._changed.wait_for(lambda: self._asked or self._leaves or enough(), seconds)
            return self._begin()

    def _begin(self):
        if self._asked is None:
            return False
        self._run, self._asked = self._asked, None
        return True

    def _drive(self, run, appliers):
        trackers.note(self._name, run.spec)
        if run.begin() and not run.job.wait(_PLAN_MS):
            appliers.begin(run.spec, run.place)
            while not run.job.wait(int(_LOOK_SECONDS * 1000)):
                appliers.renew()
                run.explain(appliers)
        trackers.forget(self._name, run.id)
        appliers.settle(run.idle_seconds() > 0)


def _spec_again(spec):
    """A job that goes on: it reads what it has committed, unless it was told what to read."""
    if spec["pinned"]:
        return spec
    return spec | {"version": spec["version"] | {"version": 0}}


class _Run:
    """A job that a tracker drives."""

    def __init__(self, spec, values):
        self.spec = spec
        self.id = spec["options"]["id"]
        self.told = False  # a client knows how it ended
        self._looked = time.monotonic()
        self.job = self.place = self._hub = None
        self._failure = None
        self._begun = threading.Event()
        self._values = None
        self._given = threading.Event()
        self._stop = None
        if not spec["secrets"]:
            values = {}
        elif values is None and len(secret.present(spec["secrets"])) == len(spec["secrets"]):
            values = secret.present(spec["secrets"])  # this node has them
        self.give(values)

    def give(self, values):
        """The values of its secrets."""
        if values is not None and self._values is None:
            self._values = values
            self._given.set()

    def begin(self):
        """Start the job; False when there is none to drive."""
        try:
            if not self._given.wait(self.spec["options"]["wait_ms"] / 1000):
                self._stop = False  # nobody has them: it is stopped, and goes on when it is run
                self._values = {}
            self._start()
        except Exception as error:  # whatever it is, the client is told
            self._failure = type(error).__name__, str(error)
        if self.job is not None and self._stop is not None:
            self.job.stop(self._stop)
        self._begun.set()
        return self.job is not None

    def _start(self):
        spec = self.spec
        address, token = ray.util.get_node_ip_address(), secrets.token_hex(16)
        self._hub = _core.Hub(address, token, machine_name())
        texts = [f"{name}={value}" for name, value in self._values.items()]
        options = spec["options"] | ({"worker_env": texts, "secret": texts} if texts else {})
        self.job = _core.Job(self._table(), spec["functions"], options, self._hub)
        self.place = {
            "host": address,
            "port": self._hub.port,
            "token": token,
            "root": self._hub.root,
            "job": self.id,
            "threads": options["threads"],
        }

    def _table(self):
        root, name = self.spec["place"]
        try:
            return _core.Table(root, name, **self.spec["version"])
        except _core.NotFoundError as error:
            raise _core.UnavailableError(
                f"node {node_name()} does not see the table: {error}: mount its folder there on "
                'every node, or say path_map={"/path/here": "/path/on/nodes"}'
            ) from None

    def ended(self):
        return self._failure is not None or (self.job is not None and self.job.wait(0))

    def idle_seconds(self):
        """How long its appliers wait for the next job."""
        done = self.job is not None and self.job.status()["state"] in ("done", "done_failed")
        return self.spec["idle_seconds"] if done else 0

    def is_alone(self):
        """No client follows it."""
        return time.monotonic() > self._looked + _SILENT_SECONDS

    def look(self, milliseconds):
        self._looked = time.monotonic()
        if not self._begun.wait(milliseconds / 1000):
            return False, {}, not self._given.is_set()
        if self.job is None:
            return True, {"state": "failed", "error": self._failure}, False
        return self.job.wait(milliseconds), plain(self.job.status()), False

    def stop(self, now):
        self._stop = now
        if self.job is not None:
            self.job.stop(now)

    def explain(self, appliers):
        """Why workers do not come, where Ray has no place for them."""
        status = self.job.status()
        missing = status["workers"] - status["workers_ready"]
        if status["state"] in ("waiting", "running") and missing > 0:
            self._hub.explain(appliers.reason())


@dataclass(frozen=True)
class _Sent:
    """An actor that was told to run workers."""

    actor: object
    deaths: int  # of those in its place before, one right after the other
    at: float


class _Appliers:
    """The actors that run workers; one whose actor ends is made anew."""

    def __init__(self):
        self._kind = None
        self._waiting = []  # actors without a job
        self._runs = {}  # {what a run gives: _Sent}
        self._failure = None

    def begin(self, spec, place):
        """Run workers for a job: as many as it wants, those that wait first."""
        if spec["kind"] != self._kind:
            self.end()
        self._kind, self._spec, self._place = spec["kind"], spec, place
        self._failure = None
        self._began = time.monotonic()
        for actor in self._waiting[spec["workers"] :]:
            ray.kill(actor)
        waiting, self._waiting = self._waiting[: spec["workers"]], []
        for actor in waiting:
            self._send(actor)
        for _ in range(spec["workers"] - len(waiting)):
            self._add()

    def _add(self, deaths=0):
        options = applier_options(self._spec["need"])
        self._send(ray.remote(Applier).options(**options).remote(), deaths)

    def _send(self, actor, deaths=0):
        spec = self._spec
        run = actor.run.remote(self._place, spec["language"], spec["inside"])
        self._runs[run] = _Sent(actor, deaths, time.monotonic())

    def renew(self):
        """Make those anew that have ended."""
        runs = list(self._runs)
        done = ray.wait(runs, num_returns=len(runs), timeout=0)[0] if runs else []
        for run in done:
            sent = self._runs.pop(run)
            self._note_failure(run)
            ray.kill(sent.actor)
            now = time.monotonic()
            deaths = 1 if now - sent.at > _LIVED_SECONDS else sent.deaths + 1
            if deaths < _DEATHS_MAX:
                self._began = now
                self._add(deaths)

    def _note_failure(self, run):
        """Whatever ended it, the job is told."""
        try:
            self._failure = ray.get(run) or self._failure
        except Exception as error:
            self._failure = str(error).strip().splitlines()[-1]

    def reason(self):
        """Why workers are missing."""
        if time.monotonic() < self._began + _START_SECONDS:
            return self._failure or "they are being started"
        blocker = self._spec["need"].blocker(survey())
        return blocker or self._failure or "they are being started"

    def settle(self, stay):
        """The job is over: those that are to stay are through with it in a moment."""
        if not stay:
            self.end()
        self._waiting += self._actors()
        self._runs = {}

    def end(self):
        for actor in [*self._actors(), *self._waiting]:
            ray.kill(actor)
        self._runs, self._waiting = {}, []

    def _actors(self):
        return [sent.actor for sent in self._runs.values()]
