# SPDX-License-Identifier: Apache-2.0
"""How messages name what a user can say: in Python, or in the shell."""

import csv
import json
import shlex
import sys

_COMMAND = ["leman", "backfill"]


def enter_shell(arguments):
    """From now on, and in a process that the job is handed to, messages speak of the command."""
    sys.argv = [*_COMMAND, *arguments]


def in_shell():
    return sys.argv[:2] == _COMMAND


def option(name, value=None):
    """An option of a backfill: on_change="keep", --on-change keep; without a value its name."""
    if not in_shell():
        shown = json.dumps(value) if isinstance(value, str) else value
        return f"{name}=" if value is None else f"{name}={shown}"
    words = f"--{'no-' * (value is False)}{name.replace('_', '-')}"
    return words if value is None or isinstance(value, bool) else f"{words} {value}"


def fill(table, columns):
    """The call that fills columns."""
    if in_shell():
        return shlex.join([*_COMMAND, table.path, *columns])
    return f"backfill({list(columns)!r})"


def register(column):
    """What gives a column its function."""
    if in_shell():
        return "--fn FILE.py:NAME or --c LIB.so:NAME gives it one"
    return f"add_columns({{{column!r}: fn}}) registers one"


def look(table, verb, column):
    """The call about what a job has left: "errors", "compare", "swap" or "discard"."""
    if not in_shell():
        return f"table.{verb}({column!r})"
    words = ["compare", table.path, column, f"--{verb}"]
    return shlex.join(["leman", *(words if verb in ("swap", "discard") else [verb, *words[1:3]])])


def names(text):
    """The names in an option of the command: commas part them, one with a comma is in quotes."""
    return next(csv.reader([text]), [""])
