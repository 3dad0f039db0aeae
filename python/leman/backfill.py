# SPDX-License-Identifier: Apache-2.0
"""Run functions over the rows of a table: what ``table.backfill()`` does."""

import json
import math
import os
import shlex
import sys
import uuid

from leman import (
    _core,
    change,
    dependencies,
    function,
    installing_conda,
    limits,
    refill,
    registry,
    secret,
    watching,
)
from leman.decorator import parse_bytes, refuse_options
from leman.jobs import Job
from leman.manifest import Manifest
from leman.placement import Placement
from leman.plan import Plan, bytes_of

_GRACE_SECONDS = 5
_CHOICE = {None: 0, True: 1, False: 2}  # as the library asks for it, where it may be left open
_NARROWING = 12  # calls that narrowing a batch to one row may add


def _worker_command(language, conda=None):
    """The command that starts a worker; it finds this very package and imports nothing else.

    conda: an environment, whose Python the worker is of.
    """
    beside = os.path.join(os.path.dirname(sys.executable), "leman")
    if language == "c" and os.access(beside, os.X_OK):
        return [beside, "worker"]
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    main = "leman.worker import main" if language == "python" else "leman._core import c_worker_run"
    roots = [root] if conda is None else [root, *installing_conda.path_of_node()]
    code = f"import sys; sys.path.extend({roots!r}); from {main} as main; main()"
    command = [sys.executable, "-P", "-c", code]
    return command if conda is None else installing_conda.enter(conda, command)


def _whole(name, value, least=1):
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is a whole number of at least {least}, not {value!r}")
    return value


def _amount(name, value):
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and not (number and 0 <= value < math.inf):
        raise ValueError(f"{name} is a number of at least 0, not {value!r}")
    return value


def _seconds(name, value):
    if value is None:
        return 0
    if not isinstance(value, (int, float)) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} is a number of seconds, not {value!r}")
    return math.ceil(value * 1000)


def _choice(name, value):
    if not (value is None or isinstance(value, bool)):
        raise ValueError(f"{name} is True or False, not {value!r}")
    return _CHOICE[value]


class Request:
    """The arguments of a backfill, checked and as the library takes them."""

    def __init__(
        self,
        table,
        columns,
        *,
        where=None,
        recompute=False,
        retry_failed=True,
        concurrency=None,
        intra_applier_concurrency=1,
        batch_size=None,
        checkpoint_size=None,
        commit_granularity=None,
        first_commit=None,
        num_cpus=None,
        num_gpus=None,
        memory=None,
        read_version=None,
        max_rows=None,
        timeout=None,
        wait_timeout=600,
        max_worker_restarts=3,
        job_id=None,
        on_change=None,
        swap=None,
        stale_inputs="refuse",
        trust=None,
        keep_warm=None,
        max_calls=None,
        max_cost=None,
        **others,
    ):
        watched = watching.take(others)
        self.placement = Placement.of_job(others)
        refuse_options("backfill()", others)
        self.table = table
        self.columns = [columns] if isinstance(columns, str) else list(columns)
        if not self.columns:
            raise ValueError("name a column to fill")
        self.overrides = {
            "batch_size": _whole("batch_size", batch_size),
            "checkpoint_size": _whole("checkpoint_size", checkpoint_size),
            "num_cpus": _amount("num_cpus", num_cpus),
            "num_gpus": _amount("num_gpus", num_gpus),
            "memory": None if memory is None else parse_bytes(memory),
        }
        self.in_process = concurrency == 0
        concurrency = self.placement.concurrency if concurrency is None else concurrency
        self.threads = _whole("intra_applier_concurrency", intra_applier_concurrency)
        self.options = {
            "id": job_id,
            "where": where,
            "newest": read_version is None,
            "recompute": bool(recompute),
            "leave_failed": not retry_failed,
            "limited": max_rows is not None,
            "rows_max": _whole("max_rows", max_rows, 0),
            "concurrency": _whole("concurrency", concurrency, 0),
            "in_process": self.in_process,
            "threads": self.threads,
            "commit_granularity": _whole("commit_granularity", commit_granularity),
            "deadline_ms": _seconds("timeout", timeout),
            "wait_ms": _seconds("wait_timeout", wait_timeout),
            "worker_restarts_max": _whole("max_worker_restarts", max_worker_restarts),
            "first_commit": _choice("first_commit", first_commit),
            "keep_warm": _choice("keep_warm", keep_warm),
            "calls_max": _whole("max_calls", max_calls),
            "cost_max": limits.cost("max_cost", max_cost),
            **watched,
        }
        self.core = table._core if read_version is None else table.at(read_version)
        if read_version is None:
            table.refresh()  # others may have filled rows, or changed functions
        change.check_option(on_change)
        self.columns = dependencies.complete(table, self.columns, where, stale_inputs, on_change)
        self.name = ", ".join(self.columns)
        self._load(trust, on_change)
        self._give_secrets()
        self._choose_worker()
        change.decide(self, on_change, swap)

    def _load(self, trust, on_change):
        """The functions, each once; one that fills several columns is named by any of them."""
        self.functions = []
        self.parts = []  # (udf, inputs as it knows them, outputs) of each
        self.udfs = {}  # the same by code, which is one for all columns of a function in C
        covered = set()
        job = uuid.uuid4().hex
        for column in self.columns:
            if column in covered:
                continue
            found = registry.load(self.table, column, trust, on_change)
            covered.update(found.outputs)
            code = found.code
            if found.udf.language == "python":
                code = function.with_environment(code, found.udf, job)
            self.parts.append((found.udf, found.bound, found.outputs))
            self.udfs[code] = self.parts[-1]
            self.functions.append(self._describe(found.udf, found.inputs, found.outputs, code))

    def _give_secrets(self):
        """Values of secrets go into the environment of workers, and into no record of the job."""
        self.secrets = found = {}
        for udf, _, _ in self.udfs.values():
            found |= secret.demand(udf)
        secret.cover(found)
        if found:
            texts = [f"{name}={value}" for name, value in found.items()]
            self.options["worker_env"] = self.options["secret"] = texts
        self.options["command"] = shlex.join(map(secret.redact, sys.argv))
        where = self.options["where"]
        if where is not None and secret.redact(where) != where:
            raise ValueError(f"where= holds the value of a secret: {secret.redact(where)}")

    def _choose_worker(self):
        """Workers have Python where a function needs it, and run those in C beside it."""
        languages = {udf.language for udf, _, _ in self.udfs.values()}
        self.language = "python" if "python" in languages else "c"
        if not self.in_process:
            self.options["worker"] = _worker_command(self.language)

    def _describe(self, udf, inputs, outputs, code):
        options, given = udf.options, self.overrides
        rows = given["batch_size"] or options.batch_size
        described = {
            "name": udf.name,
            "version": udf.version,
            "output": list(outputs),
            "input": list(inputs),
            "code": code,
            "cpus": float(options.num_cpus if given["num_cpus"] is None else given["num_cpus"]),
            "gpus": float(options.num_gpus if given["num_gpus"] is None else given["num_gpus"]),
            "memory_bytes": options.memory if given["memory"] is None else given["memory"],
            "batch_rows": rows or self.placement.batch_size or 0,
            "checkpoint_rows": given["checkpoint_size"] or options.checkpoint_size or 0,
            **options.policy.limits(),
            **limits.of_function(udf, rows),
        }
        if options.timeout is not None:
            self._limit_calls(udf, described)
        return described

    def _limit_calls(self, udf, described):
        """The worker ends a call itself where it can; the job kills one that does not let it."""
        seconds = udf.options.policy.seconds_max(udf.options.timeout)
        if udf.language == "c":
            seconds = udf.options.timeout
        elif udf.signature.kind == "scalar":
            described["batch_rows"] = described["batch_rows"] or 1
            at_once = udf.options.async_concurrency if udf.is_async else 1
            seconds *= math.ceil(described["batch_rows"] / at_once)
        else:
            seconds *= _NARROWING
        described["call_timeout_ms"] = min(math.ceil((seconds + _GRACE_SECONDS) * 1000), 2**32 - 1)

    def _check_packages(self):
        """Workers of this machine use what is installed here."""
        for udf, _, _ in self.udfs.values():
            if udf.options.manifest is not None:
                Manifest.from_description(udf.options.manifest).check_here(f"{udf.name}()")

    def start(self):
        if self.placement.engine == "ray" and not self.in_process:
            from leman.ray_engine import start

            return start(self)
        self._check_packages()
        core = _core.Job(self.core, self.functions, self.options)
        return Job(core, self.name, self.table, self._serve() if self.in_process else None)

    def run(self, progress):
        """Run to the end, and say what is left to decide."""
        result = self.start().run(progress)
        left = refill.note(self.table, self.columns)
        if left and progress is not False:
            print(left, file=sys.stderr)
        return result

    def _serve(self):
        """What a job without workers calls in this process, where a debugger sees it."""
        current = []

        def setup(code):
            from leman.apply import Applier

            udf, inputs, outputs = self.udfs[code]
            with secret.guarded():
                current[:] = [Applier(udf, inputs, outputs)]

        def apply(*batch):
            with secret.guarded():
                return current[0](*batch)

        return setup, apply

    def plan(self, sample=0):
        options, cluster = self.options, None
        if self.placement.engine == "ray" and not self.in_process:
            from leman import ray_engine

            cluster = {"blocker": None} | ray_engine.plan(self)
            options = options | {"elsewhere": True, "concurrency": max(cluster["workers"], 1)}
        plan = Plan(json.loads(_core.job_plan(self.core, self.functions, options)))
        if cluster is not None:
            del plan["machine"]
            plan |= cluster
        dependencies.Following(self.table, self.options).add_to(plan)
        if sample:
            plan.add_sample(self._sample(sample))
        return plan

    def _sample(self, rows):
        """Time and bytes of some rows, in this process."""
        found = []
        for described in self.functions:
            udf = self.udfs[described["code"]][0]
            result = udf.test(
                self.table,
                rows=rows,
                where=self.options["where"],
                input_columns=described["input"],
            )
            count = max(len(result.row_ids), 1)
            found.append(
                {
                    "function": udf.name,
                    "rows": len(result.row_ids),
                    "failed": len(result.errors),
                    "seconds_per_row": result.seconds / count,
                    "bytes_per_row": sum(map(bytes_of, result.outputs)) / count,
                }
            )
        return found


if __name__ == "__main__":
    from leman.backfill_command import main

    sys.exit(main())
