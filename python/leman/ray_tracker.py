# SPDX-License-Identifier: Apache-2.0
"""What runs inside a Ray cluster for a job: the tracker, and the appliers that it owns.

The tracker is a detached actor that drives the job; each applier is an actor that starts a worker
process on its node. They talk over connections of their own: Ray places, restarts and ends them,
and no row passes through its object store.
"""

import os
import secrets
import socket
import threading
import time

import ray

from leman import _core
from leman.ray_admission import survey

NAMESPACE = "leman"
CPUS = 0.1
MEMORY = 128 << 20
_LOOK_SECONDS = 0.5
_LINGER_SECONDS = 30  # for a client that asks how it ended
_ANSWER_SECONDS = 0.5  # until the answer has left
_START_SECONDS = 5  # that an actor may take without a reason
_END_SECONDS = 1
_DEATHS_MAX = 20  # of an applier's actor, one right after the other


def actor_name(job_id):
    return f"leman-{job_id}"


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


class Applier:
    """Runs workers on its node until the job needs none."""

    def run(self, place, language, variables):
        """variables: texts NAME=value, added to the environment of workers."""
        from leman.backfill import _worker_command

        os.environ.update(text.split("=", 1) for text in variables)
        _core.agent_run(
            node=node_name(), machine=machine_name(), worker=_worker_command(language), **place
        )


class Tracker:
    """Drives a job, and keeps as many appliers as it wants."""

    def __init__(self, spec):
        self._spec = spec
        self._told = threading.Event()  # a client knows how it ended
        token = secrets.token_hex(16)
        address = ray.util.get_node_ip_address()
        self._hub = _core.Hub(address, token, machine_name())
        table = _core.Table(*spec["place"], **spec["version"])
        self._job = _core.Job(table, spec["functions"], spec["options"], self._hub)
        self._place = {
            "host": address,
            "port": self._hub.port,
            "token": token,
            "root": self._hub.root,
            "job": spec["options"]["id"],
            "threads": spec["options"]["threads"],
        }
        self._thread = threading.Thread(target=self._supervise, daemon=True)
        self._thread.start()

    def look(self, milliseconds=0):
        """How the job stands, at its end or after a while; (has it ended, status)."""
        ended = self._job.wait(milliseconds)
        if ended:
            self._told.set()
        return ended, plain(self._job.status())

    def stop(self, now):
        self._job.stop(now)

    def process(self):
        return os.getpid()

    # The rest runs in a thread of its own.

    def _supervise(self):
        appliers = _Appliers(self._spec, self._place)
        try:
            for _ in range(self._spec["workers"]):
                appliers.add()
            while not self._job.wait(int(_LOOK_SECONDS * 1000)):
                appliers.renew()
                self._explain(appliers)
        finally:
            appliers.end()
        if self._told.wait(_LINGER_SECONDS):
            time.sleep(_ANSWER_SECONDS)
        ray.kill(ray.get_runtime_context().current_actor)

    def _explain(self, appliers):
        """Why workers do not come, where Ray has no place for them."""
        status = self._job.status()
        missing = status["workers"] - status["workers_ready"]
        if status["state"] not in ("waiting", "running") or missing <= 0:
            return
        self._hub.explain(appliers.reason())


class _Appliers:
    """The actors that run workers; one whose actor ends is made anew."""

    def __init__(self, spec, place):
        self._need = spec["need"]
        self._language = spec["language"]
        self._runtime_env = spec["runtime_env"]
        self._place = place
        self._variables = spec["options"].get("worker_env") or []
        self._runs = {}
        self._deaths = 0
        self._failure = None
        self._began = time.monotonic()

    def add(self):
        need = self._need
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
        if self._runtime_env:
            options["runtime_env"] = self._runtime_env
        actor = ray.remote(Applier).options(**options).remote()
        self._runs[actor.run.remote(self._place, self._language, self._variables)] = actor

    def renew(self):
        """Make those anew that have ended."""
        done, _ = ray.wait(list(self._runs), num_returns=len(self._runs), timeout=0)
        for run in done:
            actor = self._runs.pop(run)
            try:
                ray.get(run)
            except Exception as error:  # whatever ended it, the job is told
                self._failure = str(error).strip().splitlines()[-1]
            ray.kill(actor)
            self._deaths += 1
            if self._deaths < _DEATHS_MAX:
                self._began = time.monotonic()
                self.add()

    def reason(self):
        """Why workers are missing."""
        if time.monotonic() < self._began + _START_SECONDS:
            return self._failure or "they are being started"
        blocker = self._need.blocker(survey())
        return blocker or self._failure or "they are being started"

    def end(self):
        """Appliers end with their job; those that do not are killed."""
        ray.wait(list(self._runs), num_returns=len(self._runs), timeout=_END_SECONDS)
        for actor in self._runs.values():
            ray.kill(actor)
