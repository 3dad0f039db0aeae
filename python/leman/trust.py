# SPDX-License-Identifier: Apache-2.0
"""Trust: which functions that tables store this user runs.

Stored code can do whatever the user can. It runs when this user has stored it from this machine,
has said yes to it once at a terminal, or names its hash.
"""

import os
import re
import sys
from pathlib import Path

from leman import _core
from leman.wording import in_shell, option

_HASH = re.compile(r"sha256:[0-9a-f]{64}")
_SHOWN_LINES = 40


def _folder():
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base, "leman", "trusted")


def remember(code_hash):
    """Let the code of this hash run in backfills of this user."""
    folder = _folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / code_hash).touch()
    except OSError:
        pass  # without a home the function runs where it is registered


def is_remembered(code_hash):
    return re.fullmatch("[0-9a-f]{64}", code_hash) is not None and (_folder() / code_hash).exists()


def check_given(given):
    """The hashes that ``trust=`` names, as a list."""
    named = [] if given is None else [given] if isinstance(given, str) else given
    if not isinstance(named, (list, tuple)) or not all(
        isinstance(text, str) and _HASH.fullmatch(text) for text in named
    ):
        raise ValueError(f'trust is "sha256:" and 64 hexadecimal digits, not {given!r}')
    return list(named)


def _printable(text):
    """Text of others on a terminal, without what moves its cursor."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


def _asks():
    """Is somebody at a terminal who can be asked?"""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def _agrees(column, known, source):
    """Ask; an answer other than yes is no."""
    lines = source.splitlines()
    print(
        f"Column {column!r} is filled by a function that is stored in the table, and not by you:\n"
        f"    {_printable(known['name'])}()  sha256:{known['hash']}",
        file=sys.stderr,
    )
    if lines:
        print("The table says that this is its source:", file=sys.stderr)
        for line in lines[:_SHOWN_LINES]:
            print(f"    {_printable(line)}", file=sys.stderr)
        if len(lines) > _SHOWN_LINES:
            print(f"    ... ({len(lines)} lines)", file=sys.stderr)
    print("It can do whatever you can do on this machine. Run it? [y/N] ", end="", file=sys.stderr)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def demand(column, known, source, given=None):
    """Raise unless the stored function of a column may run.

    known: what the column's metadata says of it. source: its text, for people. given: what
    ``trust=`` names.
    """
    code_hash = known["hash"]
    wanted = f"sha256:{code_hash}"
    named = check_given(given)
    if wanted in named or is_remembered(code_hash):
        return
    if not named and _asks() and _agrees(column, known, source):
        remember(code_hash)
        return
    other = f"; {named[0]} is another one" if named else ""
    raise _core.FunctionError(
        f"column {column!r} is filled by {known['name']}(), which is stored in the table and "
        f"was not put there by you{other}; to run code of others say {option('trust', wanted)}, or "
        + ("give the function by --fn" if in_shell() else "register the function by add_columns()")
    )
