# SPDX-License-Identifier: Apache-2.0
"""Who drives a load inside of a Ray cluster: a detached actor, named by what is loaded.

It starts the tasks and commits what they have written, also when its client is gone; the same call,
from any process, finds it by its name and waits for the same end. A loader that is lost is made
anew and goes on from what is noted in the table's folder. It asks for no processor, so that a
cluster of one has room for a task beside it.
"""

import contextlib
import hashlib
import json
import secrets
import threading
from dataclasses import dataclass, replace

from leman import _core, shipping
from leman.ingest import Generators, LoadResult, Source
from leman.ray_loads import Notes, commit, run_all, run_groups, stage
from leman.ray_sight import Place
from leman.ray_trackers import NAMESPACE

_MEMORY = 128 << 20
_STARTS = 3
_LINGER_SECONDS = 30  # for a client that asks how it ended
_ANSWER_SECONDS = 2  # until the answers of others have left
_CALLS = 16  # at once


@dataclass(frozen=True)
class Load:
    """What a loader is told."""

    name: str
    place: Place
    packed: tuple  # the source; see shipping.pack_source()
    parts: int
    tasks: int  # at once
    options: dict
    notes: str | None = None  # all parts become one version, and are noted under this name
    group_seconds: float = 0.0  # see run_groups()


def load_name(place, source, options):
    """The name of a load: another one of the same parts to the same table is the same load."""
    if options.get("again"):
        return f"leman-load-{secrets.token_hex(16)}"
    asked = [place.folder, place.branch, source.title, [list(part) for part in source.parts]]
    if isinstance(source, Generators):
        from leman.fingerprint import contents_of

        asked.append(contents_of(source.sources))
    text = json.dumps([*asked, sorted(map(repr, options.items()))], default=str)
    return f"leman-load-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


class Loader:
    """Drives one load. Several may ask for it; all of them are given its end."""

    def __init__(self):
        self._driving = threading.Lock()
        self._result = None
        self._changing = threading.Lock()
        self._asked = 0
        self._timer = None

    def asked(self):
        """How many have asked for it."""
        return self._asked

    def sees(self, place):
        """Is the table that is meant at its place on this node?"""
        return place.is_seen()

    def run(self, load):
        """The ``LoadResult``, of the load that runs where there is one."""
        with self._changing:
            self._asked += 1
        try:
            with self._driving:
                if self._result is None:
                    self._result = _drive(load)
                return self._result
        finally:
            load.place.forget()
            self._leave_after(_LINGER_SECONDS)

    def leave(self):
        """A client knows how it ended."""
        import ray

        if self._asked <= 1:
            ray.actor.exit_actor()
        self._leave_after(_ANSWER_SECONDS)

    def _leave_after(self, seconds):
        with self._changing:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(seconds, self._leave)
            self._timer.daemon = True
            self._timer.start()

    def _leave(self):
        import ray

        if not self._driving.locked():
            ray.kill(ray.get_runtime_context().current_actor)


def run(ray, load):
    """Have a load driven, and wait for its end: its ``LoadResult``."""
    for left in reversed(range(_STARTS)):
        loader = None
        try:
            loader = _obtain(ray, load)
            with causes(ray):
                result = ray.get(loader.run.remote(load))
        except ray.exceptions.RayActorError as error:
            if left == 0:
                raise _lost(str(error).strip().splitlines()[0]) from None
            continue
        except Exception:
            _end(ray, loader)
            raise
        except BaseException:  # an interrupt: its tasks end with it
            if loader is not None:
                ray.kill(loader)
            raise
        _end(ray, loader)
        return result


def _obtain(ray, load):
    """The loader of a load, on a node that sees the table; where none does, it says so."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    nodes = [n["NodeID"] for n in ray.nodes() if n["Alive"] and n["Resources"].get("CPU")]
    for place in ["DEFAULT", *(NodeAffinitySchedulingStrategy(node, soft=True) for node in nodes)]:
        loader = _make(ray, load, place)
        if ray.get(loader.sees.remote(load.place)):
            return loader
        _end(ray, loader)
    return _make(ray, load, "DEFAULT")


def _make(ray, load, place):
    options = {"num_cpus": 0, "memory": _MEMORY, "max_concurrency": _CALLS}
    return (
        ray.remote(Loader)
        .options(
            name=load.name,
            namespace=NAMESPACE,
            lifetime="detached",
            get_if_exists=True,
            scheduling_strategy=place,
            **options,
        )
        .remote()
    )


def _end(ray, loader):
    if loader is not None:
        with contextlib.suppress(ray.exceptions.RayActorError):
            ray.get(loader.leave.remote())


def _lost(reason):
    return _core.UnavailableError(
        f"a task was lost, and the same call goes on from there: {reason}"
    )


@contextlib.contextmanager
def causes(ray):
    """What a task has raised is raised as it is; one that is lost is told as such."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        raise cause if isinstance(cause, _core.LemanError) else error from None
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError) as error:
        raise _lost(str(error).strip().splitlines()[0]) from None


# In the loader's process


def _drive(load):
    import ray

    table = load.place.open_table()
    task = ray.remote(num_cpus=1, max_retries=0)(_load_some if load.notes is None else _stage_some)

    def start(numbers):
        return task.remote(load.place, load.packed, numbers, load.options)

    try:
        with causes(ray):
            if load.notes is None:
                return _sum(run_all(ray, start, load.parts, load.tasks))
            return _drive_staged(ray, load, table, start)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None


def _drive_staged(ray, load, table, start):
    """What was noted before, and the rest, as one version; the notes stay until it is told."""
    notes = Notes(table, load.notes, load.parts)
    before = notes.read()
    known = {number for found in before for number in found.numbers}
    left = [number for number in range(load.parts) if number not in known]

    stages = list(before)

    def heard(found):
        notes.add(found)
        stages.append(found)

    run_groups(ray, start, left, load.tasks, load.group_seconds, heard)
    if not commit(table, stages, is_noted=bool(before)):
        notes.clear()
        return _drive_staged(ray, load, table, start)
    rows = sum(found.result.rows for found in stages)
    counts = _sum([found.result for found in stages[len(before) :]])
    counts = replace(counts, parts=load.parts, parts_before=len(known))
    return replace(counts, commits=1 if rows else 0, rows_committed=rows)


def _sum(results):
    names = [name for name in LoadResult.__dataclass_fields__ if name != "problems"]
    counts = {name: sum(getattr(result, name) for result in results) for name in names}
    return LoadResult(**counts, problems=[p for result in results for p in result.problems])


# In tasks


class _Some(Source):
    """Some parts of a source."""

    def __init__(self, source, numbers):
        self._source, self._numbers = source, numbers
        self.title = source.title

    @property
    def problems(self):
        return self._source.problems

    @property
    def parts(self):
        parts = self._source.parts
        return [parts[number] for number in self._numbers]

    @property
    def schema(self):
        return self._source.schema

    def open(self, number):
        return self._source.open(self._numbers[number])


def _unpack(place, packed, numbers):
    """On a node: the table, and some parts of a source."""
    table = place.open_table()
    return table, _Some(shipping.unpack_source(packed), numbers)


def _load_some(place, packed, numbers, options):
    """A task: load these parts of a source."""
    table, source = _unpack(place, packed, numbers)
    return table.append(source, max_parallelism=1, **options)


def _stage_some(place, packed, numbers, options):
    """A task: write these parts of a source, and commit nothing."""
    table, source = _unpack(place, packed, numbers)
    return stage(table, source, numbers, options)
