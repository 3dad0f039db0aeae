# SPDX-License-Identifier: Apache-2.0
"""Secrets: values of environment variables that a function is given, and that nothing else holds.

A function names them: ``secrets=["OPENAI_API_KEY"]``. Names are stored with it. Values are taken
from the environment of whoever starts a job, reach workers through theirs, and are cut out of
everything that is kept or shown of a job.
"""

import json
import os
import re
import sys
import urllib.parse

from leman import _core

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")  # arrays have texts so
_LINE_CHARS = 16  # lines of a secret that are at least so long are secrets of their own

# Texts that must not be seen, and what stands in their place; the longest first. Threads read it:
# it is replaced as a whole.
_covered = {}


def check_names(names):
    """The names that a function was given. A wrong one may be a value, and is not shown."""
    if names is None:
        return []
    if isinstance(names, str) or not all(
        isinstance(name, str) and _NAME.fullmatch(name) for name in names
    ):
        raise TypeError(
            'secrets is a list of names of environment variables, as ["OPENAI_API_KEY"]; what was '
            "given is none, and is not shown here"
        )
    return list(dict.fromkeys(names))


def present(names):
    """{name: value} of those that the environment has."""
    return {name: os.environ[name] for name in names if os.environ.get(name)}


def demand(udf):
    """{name: value} of all secrets of a function; raises where one is missing."""
    names = udf.options.secrets
    found = present(names)
    for name in names:
        if name not in found:
            raise _core.InvalidError(
                f"{udf.name}() needs the secret {name}, and the environment has no such variable; "
                f"set {name} where the job is started"
            )
    return found


def refuse_held(udf, code):
    """Raise when a function that is about to be stored holds the value of one of its secrets."""
    values = present(udf.options.secrets)
    if not values:
        return
    from leman.fingerprint import walk_of

    for name, value in values.items():
        held = walk_of(udf._leman_function, [value]).held
        if held is None and any(value.encode(kind) in code for kind in _ENCODINGS):
            held = "its code"
        if held is not None:
            raise _core.InvalidError(
                f"{udf.name}() holds the value of the secret {name} in {held}, and would be stored "
                f'with it; read os.environ["{name}"] inside of the function, or in setup()'
            )


def _forms(value):
    """A value as it may stand in texts."""
    yield value
    yield repr(value)[1:-1]
    yield json.dumps(value)[1:-1]
    yield urllib.parse.quote(value, safe="")
    yield urllib.parse.quote_plus(value)
    for line in value.splitlines():
        if len(line.strip()) >= _LINE_CHARS:
            yield line.strip()


def cover(names):
    """From now on cut the values of these variables out of what ``redact()`` is given."""
    global _covered
    found = dict(_covered)
    for name, value in present(names).items():
        found |= {form: f"[{name}]" for form in _forms(value)}
    _covered = dict(sorted(found.items(), key=lambda pair: -len(pair[0])))


def redact(text):
    """The text, with names in the place of secrets."""
    for form, shown in _covered.items():
        text = text.replace(form, shown)
    return text


class guarded:
    """Lets no exception out whose text holds a secret."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if not isinstance(error, Exception) or not _covered:
            return
        text = str(error)
        if redact(text) != text:
            raise _core.FunctionError(redact(f"{type(error).__name__}: {text}")) from None


class _Stream:
    """A stream of text that secrets are cut out of."""

    def __init__(self, stream):
        self._stream = stream

    def write(self, text):
        self._stream.write(redact(text))
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def __getattr__(self, name):
        return getattr(self._stream, name)


def cover_output():
    """What functions print in this process goes through ``redact()``."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, _Stream):
            setattr(sys, name, _Stream(stream))
