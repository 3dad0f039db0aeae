# SPDX-License-Identifier: Apache-2.0
"""Which tracker of a cluster drives which job, and those that this process may use again.

It is written down in the cluster's own store of keys and values: a tracker that Ray starts again
finds its job there, and the same command finds a job that runs already, from any process. Values of
secrets are never written down.
"""

import hashlib
import json
import pickle
import secrets
import time
from dataclasses import dataclass

from leman import _core

NAMESPACE = "leman"
_ANSWER_SECONDS = 10
_SAME = ("where", "recompute", "leave_failed", "limited", "rows_max", "keep_refills")

# Seconds that a tracker and its appliers wait for the next job of their client.
IDLE_SECONDS = 5
IDLE_SECONDS_WARM = 60  # keep_warm=True


def _kv():
    from ray.experimental import internal_kv

    return internal_kv


def note(tracker, spec):
    """A tracker drives a job from now on."""
    entry = {"tracker": tracker, "same": spec["same"]}
    kv = _kv()
    kv._internal_kv_put(f"tracker/{tracker}", pickle.dumps(spec), namespace=NAMESPACE)
    kv._internal_kv_put(f"job/{spec['options']['id']}", json.dumps(entry), namespace=NAMESPACE)


def recall(tracker):
    """The job that a tracker drives; None when it drives none."""
    packed = _kv()._internal_kv_get(f"tracker/{tracker}", namespace=NAMESPACE)
    return None if packed is None else pickle.loads(packed)


def forget(tracker, job_id):
    kv = _kv()
    kv._internal_kv_del(f"job/{job_id}", namespace=NAMESPACE)
    kv._internal_kv_del(f"tracker/{tracker}", namespace=NAMESPACE)


def sameness(folder, branch, functions, options):
    """What two commands have in common that ask for the same."""
    asked = {
        "folder": folder,
        "branch": branch,
        "functions": [[f["name"], f["version"], *f["output"]] for f in functions],
        "options": {name: options.get(name) for name in _SAME},
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _entries():
    """(job id, what is known of it) of jobs that run, or whose tracker is gone."""
    kv = _kv()
    for key in kv._internal_kv_list("job/", namespace=NAMESPACE):
        found = kv._internal_kv_get(key, namespace=NAMESPACE)
        if found is not None:
            yield key.decode().removeprefix("job/"), json.loads(found)


def find(ray, job_id, same):
    """(job id, is it the same, tracker) of a job that runs and asks for the same, or has the id;
    None: there is none."""
    for found_id, entry in _entries():
        if entry["same"] != same and found_id != job_id:
            continue
        try:
            actor = ray.get_actor(entry["tracker"], namespace=NAMESPACE)
            look = ray.get(actor.look.remote(found_id), timeout=_ANSWER_SECONDS)
        except ray.exceptions.GetTimeoutError:
            raise _core.UnavailableError(
                f"job {found_id} runs on the cluster, and its tracker does not answer"
            ) from None
        except (ValueError, ray.exceptions.RayError):
            forget(entry["tracker"], found_id)  # it has gone without a word
            continue
        if look is not None and not look[0]:
            return found_id, entry["same"] == same, actor
    return None


@dataclass
class _Idle:
    """A tracker that waits for the next job of this process."""

    cluster: str
    kind: tuple
    actor: object
    until: float


_idle = []


def idle_seconds(keep_warm, gpus):
    """How long workers wait for the next job; keep_warm as in the options of a job."""
    if keep_warm == 1:
        return IDLE_SECONDS_WARM
    return 0 if keep_warm == 2 or gpus else IDLE_SECONDS


def keep(ray, actor, spec):
    """The job of a tracker is done; it waits for another one."""
    until = time.monotonic() + spec["idle_seconds"]
    cluster = ray.get_runtime_context().gcs_address
    _idle.append(_Idle(cluster, spec["kind"], actor, until))


def _take_idle(ray, spec, values):
    """One that waits and has the right workers; the others need not wait any longer."""
    cluster = ray.get_runtime_context().gcs_address
    while _idle:
        found = _idle.pop()
        if found.cluster != cluster or found.until < time.monotonic():
            continue
        try:
            if found.kind != spec["kind"]:
                found.actor.leave.remote()
            elif ray.get(found.actor.take.remote(spec, values), timeout=_ANSWER_SECONDS):
                return found.actor
        except ray.exceptions.RayError:
            pass  # it has gone
    return None


def obtain(ray, spec, values):
    """A tracker that has the job; `values` of its secrets, by name."""
    actor = _take_idle(ray, spec, values)
    if actor is not None:
        return actor
    from leman.ray_tracker import CPUS, MEMORY, Tracker

    actor = (
        ray.remote(Tracker)
        .options(
            name=f"leman-{spec['options']['id']}-{secrets.token_hex(3)}",
            namespace=NAMESPACE,
            lifetime="detached",
            num_cpus=CPUS,
            memory=MEMORY,
            max_concurrency=8,
            max_restarts=3,
            max_task_retries=-1,
        )
        .remote()
    )
    actor.take.remote(spec, values)
    return actor
