# SPDX-License-Identifier: Apache-2.0
"""Generators that are loaded by tasks of a Ray cluster, as one version.

A task writes the rows of some generators and commits nothing. What it has written is noted in the
table's folder, so the same call goes on with the others after whatever has stopped it; the client
that knows of the commit of all of it ends the notes. Files that are noted and never committed are
removed by cleanup().
"""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from leman import _core
from leman.fingerprint import contents_of
from leman.ingest import LoadResult, Problem

GROUP_SECONDS = 2.0  # of generators that one task runs, where it is known how long they take
GROUP_PARTS_MAX = 64
_NOTE_BYTES_MAX = 64 << 20
_END_SECONDS = 30  # that a task may take to end when it is cancelled


@dataclass(frozen=True)
class Stage:
    """What a task has written: the numbers of its generators, counts, and what to commit."""

    numbers: list
    result: LoadResult
    text: str
    seconds: float = 0.0

    def to_json(self):
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text):
        found = json.loads(text)
        result = found.pop("result")
        problems = [Problem(**problem) for problem in result.pop("problems")]
        stage = Stage(result=LoadResult(**result, problems=problems), **found)
        numbers, counted = stage.numbers, (stage.result.rows, stage.result.bytes)
        if not numbers or not all(isinstance(n, int) and n >= 0 for n in [*numbers, *counted]):
            raise ValueError("no numbers of generators")
        return stage


def notes_name(table, sources):
    """32 hexadecimal digits of a call of append_from()."""
    asked = [str(table._branch), str(table.schema), contents_of(sources)]
    return hashlib.sha256("\n".join(asked).encode()).hexdigest()[:32]


class Notes:
    """The stages of one call of append_from(), in ``_leman/loads/<its name>/``."""

    def __init__(self, table, name, count):
        self._folder = Path(table.path, "_leman", "loads", name)
        self._count = count

    def read(self):
        """Stages that are noted; none of them has a generator of another."""
        stages, known = [], set()
        for path in sorted(self._folder.glob("*.json")):
            try:
                if path.stat().st_size > _NOTE_BYTES_MAX:
                    continue
                stage = Stage.from_json(path.read_text())
            except (OSError, ValueError, TypeError, KeyError, AttributeError):
                continue  # no note of ours, or one that is cut
            if max(stage.numbers) < self._count and known.isdisjoint(stage.numbers):
                known.update(stage.numbers)
                stages.append(stage)
        return stages

    def add(self, stage):
        """Durable when it returns."""
        self._folder.mkdir(parents=True, exist_ok=True)
        draft = self._folder / f".{secrets.token_hex(8)}.tmp"
        with open(draft, "x") as file:
            file.write(stage.to_json())
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self._folder / f"{stage.numbers[0]:08}.json")
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def clear(self):
        shutil.rmtree(self._folder, ignore_errors=True)


def run_groups(ray, start, numbers, tasks, group_seconds, heard):
    """Run `start(numbers)`, a task that gives a ``Stage``, for all numbers, `tasks` at once.

    Small generators are run together, so that they share files: as many as take `group_seconds`.
    `heard` is called with each stage.
    """
    left, running, seconds = list(numbers), [], None
    try:
        while left or running:
            while left and len(running) < tasks:
                share = -(-len(left) // tasks)
                fits = 1 if seconds is None else int(group_seconds / max(seconds, 1e-3))
                count = max(1, min(fits, share, GROUP_PARTS_MAX))
                running.append(start(left[:count]))
                del left[:count]
            done, running = ray.wait(running)
            for stage in ray.get(done):
                seconds = stage.seconds / len(stage.numbers)
                heard(stage)
    except BaseException:
        end_tasks(ray, running)
        raise


def end_tasks(ray, tasks):
    """Cancel tasks, and wait until they are over: the same call may be made at once.

    One that is over is not cancelled: while its end is being noted, Ray aborts the process.
    """
    if not tasks:
        return
    _, left = ray.wait(tasks, num_returns=len(tasks), timeout=0)
    for task in left:
        ray.cancel(task)
    ended, _ = ray.wait(tasks, num_returns=len(tasks), timeout=_END_SECONDS)
    for task in ended:
        with contextlib.suppress(Exception):  # what Ray would print otherwise
            ray.get(task)


def run_all(ray, start, count, tasks):
    """Run `start(numbers)` for `count` numbers, dealt out to `tasks` tasks; what they give."""
    running = [start(list(range(first, count, tasks))) for first in range(tasks)]
    try:
        return ray.get(running)
    except BaseException:
        end_tasks(ray, running)
        raise


def stage(table, source, numbers, options):
    """In a task: write these generators of a source."""
    began = time.monotonic()
    result, text = table._stage(source, max_parallelism=1, **options)
    return Stage(list(numbers), result, text, time.monotonic() - began)


def commit(table, stages, is_noted):
    """All of it as one version, in the order of the generators.

    False: what was noted before cannot be committed. Its files are gone, or the table has changed.
    """
    texts = [stage.text for stage in sorted(stages, key=lambda stage: stage.numbers)]
    try:
        table._core.load_commit(texts)
    except (_core.InvalidError, _core.NotFoundError, _core.ConflictError):
        if not is_noted:
            raise
        return False
    return True
