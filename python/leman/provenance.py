# SPDX-License-Identifier: Apache-2.0
"""Where the values of a filled column come from: what ``table.column_info()`` says.

Text, values, packages and commit of a function are stored beside its code when it is registered;
the metadata of the column holds the hash of that.
"""

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys

from leman import __version__, _core, secret
from leman.apply import show

_SOURCE_CHARS = 100_000
_VALUES_MAX = 100
_GIT_SECONDS = 10


def _git(folder, *words):
    """What git says; None when it fails or is not there."""
    try:
        done = subprocess.run(
            ["git", "-C", folder, *words],
            capture_output=True,
            text=True,
            timeout=_GIT_SECONDS,
            env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


def _commit(path):
    """{"commit", "dirty"} of the repository that holds a file, or this folder for code of none."""
    is_file = os.path.isfile(path)
    folder = os.path.dirname(os.path.abspath(path)) if is_file else os.getcwd()
    commit = _git(folder, "rev-parse", "--verify", "HEAD")
    if commit is None:
        return {"commit": None, "dirty": None}
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    dirty = None if changes is None else changes != ""
    if is_file and _git(folder, "ls-files", "--error-unmatch", os.path.abspath(path)) is None:
        dirty = True  # no commit has it
    return {"commit": commit.strip(), "dirty": dirty}


def _distribution(module_name):
    """(package, version) that an imported module is of; None for those of Python."""
    if module_name in sys.stdlib_module_names or module_name == "leman":
        return None
    try:
        return module_name, importlib.metadata.version(module_name)
    except importlib.metadata.PackageNotFoundError:
        pass
    for name in importlib.metadata.packages_distributions().get(module_name, ()):
        return name, importlib.metadata.version(name)
    return None


def describe(udf):
    """What is kept of a function beside its code, as JSON."""
    from leman.change import parts_of

    kept = {
        "registered": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "packages": {"leman": __version__},
        "secrets": list(udf.options.secrets),
    }
    if udf.language == "python":
        kept |= _describe_python(udf._leman_function)
    kept["parts"] = parts_of(udf)
    text = json.dumps(kept, ensure_ascii=False, sort_keys=True)
    return text.encode("utf-8", "replace")


def _describe_python(function):
    from leman.fingerprint import walk_of

    walk = walk_of(function)
    own = function if hasattr(function, "__qualname__") else type(function)
    first = walk.sources.get(own.__qualname__)
    found = [_distribution(name) for name in sorted(walk.packages)]
    values = {
        name: secret.redact(show(value))
        for name, value in sorted(walk.values.items())[:_VALUES_MAX]
        if not callable(value) and not isinstance(value, type(sys))
    }
    return {
        "source": None if first is None else first.text[:_SOURCE_CHARS],
        "helpers": {
            name: found.text[:_SOURCE_CHARS]
            for name, found in walk.sources.items()
            if name != own.__qualname__
        },
        "values": values,
        "packages": {"leman": __version__} | dict(pair for pair in found if pair is not None),
        "git": _commit(first.path if first is not None else ""),
    }


def stored(table, known):
    """What is kept of a function; empty where nothing is, or it is lost."""
    try:
        return json.loads(table._core.get_function(known["info"]))
    except (KeyError, _core.LemanError, ValueError):
        return {}


def _last_job(table, column, version):
    """(id, time) of the newest job that has committed values of the column by this function."""
    from leman.jobs import records

    for record in records(table):
        for fill in record.get("fills", ()):
            if column in fill["columns"] and fill["version"] == version:
                if record.get("rows_committed"):
                    return record["id"], record.get("ended") or record.get("updated")
    return None, None


def column_info(table, column):
    """See ``Table.column_info()``."""
    from leman.registry import recorded

    known = recorded(table, column)
    if known is None:
        raise _core.NotFoundError(f"no function fills column {column!r}")
    kept = stored(table, known)
    job, time = _last_job(table, column, known["version"])
    git = kept.get("git") or {}
    return ColumnInfo(
        column=column,
        function=known["name"],
        language=known.get("language"),
        inputs=known.get("inputs"),
        version=known["version"],
        hash=f"sha256:{known['hash']}",
        source=kept.get("source"),
        helpers=kept.get("helpers", {}),
        values=kept.get("values", {}),
        secrets=kept.get("secrets", []),
        git_commit=git.get("commit"),
        git_dirty=git.get("dirty"),
        python=kept.get("python"),
        packages=kept.get("packages", {}),
        registered=kept.get("registered"),
        job=job,
        time=time,
    )


class ColumnInfo(dict):
    """What fills a column, by name; its text is for people."""

    def __repr__(self):
        lines = [f"{key}: {_line(value)}" for key, value in self.items() if key not in _TEXTS]
        for name, text in {self["function"]: self["source"], **self["helpers"]}.items():
            if text:
                lines += ["", f"{name}:", *("    " + line for line in text.rstrip().splitlines())]
        return "\n".join(lines)


_TEXTS = {"source", "helpers"}


def _line(value):
    if isinstance(value, dict):
        return ", ".join(f"{name} {part}" for name, part in value.items()) or "-"
    if isinstance(value, list):
        return ", ".join(value) or "-"
    return "-" if value is None else str(value)
