# SPDX-License-Identifier: Apache-2.0
"""``python -m leman.backfill``: what ``leman backfill`` runs for functions of Python."""

import argparse
import dataclasses
import importlib.util
import json
import os
import sys

import leman
from leman import _core, change, dependencies, registry, watching, wording
from leman.decorator import as_udf

DONE, FAILED, USAGE, DONE_FAILED, STOPPED, CONFLICT, KILLED = 0, 1, 2, 3, 4, 5, 130


def load_function(text):
    """The function that FILE.py:NAME names; it travels to workers by value."""
    import cloudpickle

    path, _, name = text.rpartition(":")
    if not path or not name:
        raise ValueError(f"--fn is FILE.py:NAME, not {text!r}")
    path = os.path.abspath(path)
    if not os.path.isfile(path):
        raise ValueError(f"--fn: there is no file {path}")
    sys.path.insert(0, os.path.dirname(path))
    stem = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[stem] = module
    with open(path, "rb") as file:  # bytecode that Python has cached may be older by a second
        exec(compile(file.read(), path, "exec"), vars(module))
    cloudpickle.register_pickle_by_value(module)
    udf = as_udf(getattr(module, name, None))
    if udf is None:
        found = sorted(key for key, value in vars(module).items() if as_udf_like(value))
        raise ValueError(
            f"{path} has no function {name!r} made by @leman.udf; it has: {', '.join(found)}"
        )
    return udf


def as_udf_like(value):
    return hasattr(value, "_leman_function") and hasattr(value, "options")


class _Parser(argparse.ArgumentParser):
    """What is wrong with the words; `leman backfill --help` tells the rest."""

    def error(self, message):
        self.exit(USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")


def parser():
    made = _Parser(prog="leman backfill", allow_abbrev=False)
    made.add_argument("table")
    made.add_argument("column", nargs="+")
    made.add_argument("--fn", help="FILE.py:NAME, the function of the column")
    made.add_argument("--inputs", help="columns that it is given, separated by commas")
    made.add_argument("--where")
    made.add_argument("--recompute", action="store_true")
    made.add_argument("--leave-failed", action="store_true")
    made.add_argument("--concurrency", type=int)
    made.add_argument("--threads", type=int, default=1)
    made.add_argument("--batch-size", type=int)
    made.add_argument("--checkpoint-size", type=int)
    made.add_argument("--commit-granularity", type=int)
    made.add_argument("--first-commit", action=argparse.BooleanOptionalAction)
    made.add_argument("--max-rows", type=int)
    made.add_argument("--max-calls", type=int)
    made.add_argument("--max-cost", type=float)
    made.add_argument("--timeout", type=float)
    made.add_argument("--wait-timeout", type=float, default=600)
    made.add_argument("--call-timeout")
    made.add_argument("--memory")
    made.add_argument("--job-id")
    made.add_argument("--on-change", choices=list(change.ON_CHANGE))
    made.add_argument("--no-swap", action="store_true")
    made.add_argument("--stale-inputs", choices=dependencies.STALE_INPUTS, default="refuse")
    made.add_argument("--trust")
    made.add_argument("--engine", choices=["local", "ray"])
    made.add_argument("--dry-run", action="store_true")
    made.add_argument("--sample", type=int, default=0)
    made.add_argument("--json", action="store_true")
    made.add_argument("--detach", action="store_true")
    watching.add_arguments(made)
    return made


def _options(given):
    return {
        "where": given.where,
        "recompute": given.recompute,
        "retry_failed": not given.leave_failed,
        "concurrency": given.concurrency,
        "intra_applier_concurrency": given.threads,
        "batch_size": given.batch_size,
        "checkpoint_size": given.checkpoint_size,
        "commit_granularity": given.commit_granularity,
        "first_commit": given.first_commit,
        "max_rows": given.max_rows,
        "max_calls": given.max_calls,
        "max_cost": given.max_cost,
        "timeout": given.timeout,
        "wait_timeout": given.wait_timeout,
        "memory": given.memory,
        "job_id": given.job_id,
        "on_change": given.on_change,
        "swap": False if given.no_swap else None,
        "stale_inputs": given.stale_inputs,
        "trust": given.trust,
        **watching.arguments_of(given),
        "engine": given.engine,
    }


def _register(table, given):
    if given.fn is None:
        return
    udf = load_function(given.fn)
    inputs = None if given.inputs is None else wording.names(given.inputs)
    names = given.column if udf.signature.outputs is None else None
    if not change.register(table, given.column[0], udf, inputs, given.on_change):
        registry.add_functions(table, [(names, udf, inputs)])


def _print(result, as_json):
    if as_json:
        print(json.dumps(dataclasses.asdict(result)))


def run(given):
    """Do what was asked for; returns the exit code."""
    table = leman.open(given.table)
    _register(table, given)
    if given.dry_run:
        plan = table.plan_backfill(given.column, sample=given.sample, **_options(given))
        print(json.dumps(plan) if given.json else plan)
        return DONE
    if given.detach:
        job = table.backfill(given.column, detach=True, **_options(given))
        print(json.dumps({"id": job.id}) if given.json else f"job {job.id}")
        return DONE
    try:
        result = table.backfill(given.column, **_options(given))
    except _core.CancelledError as error:
        _print(error.result, given.json)
        return STOPPED
    except KeyboardInterrupt as error:
        return STOPPED if error.args else KILLED
    _print(result, given.json)
    return DONE_FAILED if result.state == "done_failed" else DONE


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    made = parser()
    given = made.parse_args(arguments)
    if given.call_timeout is not None:
        made.error("--call-timeout is of functions in C; @leman.udf(timeout=) says it in Python")
    wording.enter_shell(arguments)
    try:
        return run(given)
    except (_core.ConflictError, _core.UnavailableError) as error:
        code, said = CONFLICT, error
    except (_core.InvalidError, _core.NotFoundError, TypeError, ValueError) as error:
        code, said = USAGE, error
    except (_core.LemanError, OSError) as error:
        code, said = FAILED, error
    print(f"leman backfill: {said}", file=sys.stderr)
    return code
