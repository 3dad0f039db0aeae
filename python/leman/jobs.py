# SPDX-License-Identifier: Apache-2.0
"""Jobs: the one that this process runs, and the records of all."""

import atexit
import json
import signal
import threading
import time
from dataclasses import dataclass

from leman import _core
from leman.arrow import Batch
from leman.progress import progress_for
from leman.wording import look

_TICK_MS = 100
_ENDED = {"done", "done_failed", "stopped", "failed", "interrupted"}

# Jobs of this process that have not ended: one that is forgotten still runs to its end.
_running = set()


@dataclass(frozen=True)
class BackfillResult:
    """How a job ended. Counters are of this run; `rows_resumed` had a result before it."""

    job_id: str
    state: str
    rows_planned: int
    rows_resumed: int
    rows_computed: int
    rows_checkpointed: int
    rows_committed: int
    rows_failed: int
    bytes_written: int
    worker_deaths: int
    seconds: float
    version: int | None

    @classmethod
    def of(cls, status):
        counters = {
            name: status[name]
            for name in cls.__dataclass_fields__
            if name in status and name not in ("state", "version")
        }
        return cls(
            job_id=status["id"],
            state=status["state"],
            seconds=status["elapsed_ms"] / 1000,
            version=status["version"] or None,
            **counters,
        )


class Job:
    """A job that this process runs."""

    def __init__(self, core, name, table, serve=None):
        self._core = core
        self._name = name
        self._table = table
        self._serve = serve
        self._thread = None
        self.id = core.status()["id"]
        if not getattr(core, "detached", False):
            _running.add(self)

    def __repr__(self):
        status = self.status()
        return (
            f"<leman.Job {self.id}: {self._name}, {status['state']}, "
            f"{status['rows_checkpointed']} of {status['rows_planned']} rows>"
        )

    def status(self):
        """How it stands, as a dict: state, counters, rates, times, workers, what stands out."""
        status = self._core.status()
        status["error"] = None if status["error"] is None else str(status["error"])
        return {**_record(self._table, self.id), **status}

    def events(self):
        """What happened, oldest first, as dicts."""
        return _events(self._table, self.id)

    def peek(self, rows=20, *, column=None):
        """Values that are checkpointed and not committed, with their row ids, as a ``Batch``.

        rows: how many at most. column: of the function that fills it, where the job has several.
        """
        return _peek(self._table, self.id, rows, column)

    def logs(self, *, worker=None, row=None):
        """What its functions have printed and logged, oldest first, as dicts.

        worker: of that worker only. row: of calls with that row id only.
        """
        return _logs(self._table, self.id, worker, row)

    def cancel(self, now=False):
        """Checkpoint what runs and stop; the same backfill goes on from there.

        now: kill the workers and wait for nothing.
        """
        self._core.stop(now)

    def _start_serving(self):
        """A job without workers, in a thread of its own."""
        if self._serve is not None and self._thread is None:
            self._thread = threading.Thread(target=self._run_serve, daemon=True)
            self._thread.start()

    def _run_serve(self):
        try:
            self._core.serve(*self._serve)
        except _core.LemanError:
            pass  # the job's own state says why

    def wait(self, timeout=None, *, progress=False):
        """Wait for the end; returns a ``BackfillResult``.

        Raises what made it fail, ``leman.CancelledError`` when it was stopped, and ``TimeoutError``
        after `timeout` seconds, while the job goes on.
        """
        shown = progress_for(self._name, progress)
        end = None if timeout is None else time.monotonic() + timeout
        while not self._core.wait(_TICK_MS):
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"job {self.id} still runs after {timeout:g} s")
            shown.update(self._core.status())
        return self._finish(shown)

    result = wait

    def _finish(self, shown):
        _running.discard(self)
        status = self._core.status()
        self._table._core.refresh()
        notes = _note(self._name, status, self._table), _said(status), status.get("started")
        shown.end(status, "\n".join(filter(None, notes)))
        if status["state"] in ("failed", "stopped"):
            raise _ended(self._name, status)
        return BackfillResult.of(status)

    def run(self, progress=None):
        """Run to the end in the foreground: with progress, and interrupts that stop it cleanly."""
        shown = progress_for(self._name, progress)
        with _Interrupts(self._core) as interrupts:
            if self._serve is None:
                while not self._core.wait(_TICK_MS):
                    shown.update(self._core.status())
            else:
                self._serve_here(shown)
        try:
            return self._finish(shown)
        except _core.CancelledError as error:
            if interrupts.number:
                raise KeyboardInterrupt(str(error)) from None
            raise

    def _serve_here(self, shown):
        ended = threading.Event()

        def show():
            while not ended.wait(_TICK_MS / 1000):
                shown.update(self._core.status())

        watcher = threading.Thread(target=show, daemon=True)
        watcher.start()
        try:
            self._run_serve()
        finally:
            ended.set()
            watcher.join()
        while not self._core.wait(_TICK_MS):
            pass


def _note(name, status, table=None):
    if status["state"] == "done_failed":
        rows = "1 row" if status["rows_failed"] == 1 else f"{status['rows_failed']:,} rows"
        errors = look(table, "errors", name)
        return f"{rows} failed: {errors} says why, and the same backfill tries again"
    if status["state"] == "stopped":
        reason = "it was stopped" if status["error"] is None else str(status["error"])
        return (
            f"stopped: {reason}; {status['rows_checkpointed']:,} rows are kept, and the same "
            f"backfill goes on from there (job {status['id']})"
        )
    return None


def _said(status):
    """Where to find what functions have printed; None when they have not."""
    lines = status["log_lines"] + status["log_lines_dropped"]
    return f"functions printed {lines:,} lines: leman logs {status['id']}" if lines else None


def _ended(name, status):
    """The exception of a job that did not get to its end."""
    error = status["error"]
    if status["state"] == "stopped":
        made = _core.CancelledError(f"backfill of {name!r} {_note(name, status)}")
    elif error is None:
        made = _core.LemanError(f"backfill of {name!r} failed (job {status['id']})")
    else:
        made = type(error)(f"backfill of {name!r}: {error}")
    made.result = BackfillResult.of(status)
    return made


class _Interrupts:
    """The first Ctrl-C, SIGTERM or SIGHUP stops a job cleanly, the second kills it."""

    def __init__(self, core):
        self._core = core
        self._before = {}
        self.number = 0

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def _handle(self, number, frame):
        if self.number == 0:
            self.number = number
            self._core.stop(False)
            return
        self._core.stop(True)
        raise KeyboardInterrupt

    def __exit__(self, *unused):
        for number, before in self._before.items():
            signal.signal(number, before)


@atexit.register
def _stop_running():
    """At the end of the process jobs in the background checkpoint what they have."""
    for job in list(_running):
        job._core.stop(False)
    for job in list(_running):
        job._core.wait(60_000)


def records(table, job_id=None):
    """The records of a table's jobs, newest first, as dicts; of one job none or one."""
    try:
        found = json.loads(_core.job_records(table._core, job_id))
    except _core.NotFoundError:
        return []
    return found if isinstance(found, list) else [found]


def _record(table, job_id):
    found = records(table, job_id)
    return found[0] if found else {}


def _events(table, job_id):
    return _record(table, job_id).get("events", [])


def _logs(table, job_id, worker, row):
    for name, value in (("worker", worker), ("row", row)):
        if value is not None and (not isinstance(value, int) or value < 0):
            raise ValueError(f"{name} is a number, not {value!r}")
    return json.loads(_core.job_logs(table._core, job_id, worker, row))


def _peek(table, job_id, rows, column):
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 0:
        raise ValueError(f"peek() takes a number of rows, not {rows!r}")
    return Batch(*_core.job_peek(table._core, job_id, column, rows))


class JobRecord:
    """A job of any process, by what it has written down."""

    def __init__(self, table, record):
        self._table = table
        self._record = record
        self.id = record["id"]

    def __repr__(self):
        state = self._record.get("state")
        return f"<leman.Job {self.id}: {self._table.name}, {state}>"

    def status(self):
        """How it stands, as a dict."""
        found = records(self._table, self.id)
        if found:
            self._record = found[0]
        return dict(self._record)

    def events(self):
        """What happened, oldest first, as dicts."""
        return self.status().get("events", [])

    def peek(self, rows=20, *, column=None):
        """Values that are checkpointed and not committed, with their row ids, as a ``Batch``.

        rows: how many at most. column: of the function that fills it, where the job has several.
        """
        return _peek(self._table, self.id, rows, column)

    def logs(self, *, worker=None, row=None):
        """What its functions have printed and logged, oldest first, as dicts.

        worker: of that worker only. row: of calls with that row id only.
        """
        return _logs(self._table, self.id, worker, row)

    def cancel(self, now=False):
        """Ask it to checkpoint and stop; the same backfill goes on from there."""
        _core.job_cancel(self._table._core, self.id)

    def discard(self):
        """Drop what it has computed and not committed."""
        _core.job_discard(self._table._core, self.id)

    def wait(self, timeout=None):
        """Wait until it has ended; returns its status. ``TimeoutError`` after `timeout` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            status = self.status()
            if status.get("state") in _ENDED:
                return status
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"job {self.id} still runs after {timeout:g} s")
            time.sleep(_TICK_MS / 1000)


def jobs_of(tables):
    """The jobs of some tables, newest first."""
    found = [JobRecord(table, record) for table in tables for record in records(table)]
    return sorted(found, key=lambda job: job._record.get("started", ""), reverse=True)


def job_of(tables, job_id):
    for table in tables:
        found = records(table, job_id)
        if found:
            return JobRecord(table, found[0])
    raise _core.NotFoundError(f"there is no job {job_id!r}")
