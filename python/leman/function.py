# SPDX-License-Identifier: Apache-2.0
"""Functions on their way to workers and into tables: packed, described, trusted."""

import hashlib
import json
import os
import sys
import types
from pathlib import Path

from leman import _core

METADATA_BYTES_MAX = 1024


def pack(udf, inputs, outputs):
    """The function as bytes: code of notebooks and scripts by value, of modules by reference."""
    if udf.language == "c":
        return udf.code
    import cloudpickle

    try:
        return cloudpickle.dumps((udf, list(inputs), list(outputs)), protocol=5)
    except Exception as error:
        culprit = _unpicklable_part(udf._leman_function)
        where = f"{culprit} of {udf.name}()" if culprit else f"{udf.name}()"
        raise _core.InvalidError(
            f"{where} cannot be sent to workers: {error}. Make it inside of the function, or in "
            "setup() of a class"
        ) from error


def _parts(function):
    """(what people call it, value) of everything that travels with a function."""
    if not isinstance(function, types.FunctionType):
        for name, value in getattr(function, "__dict__", {}).items():
            yield f"attribute {name!r}", value
        function = type(function).__call__
        if not isinstance(function, types.FunctionType):
            return
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield f"closure variable {name!r}", cell.cell_contents
        except ValueError:
            continue
    for name in code.co_names:
        if name in function.__globals__:
            yield f"global {name!r}", function.__globals__[name]
    for value in function.__defaults__ or ():
        yield f"default {value!r:.60}", value


def _unpicklable_part(function):
    import cloudpickle

    for name, value in _parts(function):
        try:
            cloudpickle.dumps(value)
        except Exception:
            return name
    return None


def unpack(code):
    """(udf, inputs, outputs)"""
    import pickle

    return pickle.loads(code)


def environment():
    """What a worker needs to find the modules that a function names."""
    path = [os.path.abspath(folder) for folder in sys.path]
    return {"path": path, "cwd": os.getcwd()}


def with_environment(code):
    """Code for workers: a line that says where modules lie, then the function."""
    return json.dumps(environment()).encode() + b"\n" + code


def enter_environment(code):
    """The function of `with_environment()`, after its modules can be found."""
    line, _, rest = code.partition(b"\n")
    given = json.loads(line)
    known = set(sys.path)
    sys.path.extend(folder for folder in given["path"] if folder not in known)
    try:
        os.chdir(given["cwd"])
    except OSError:
        pass  # the folder is gone; only relative paths of the function would miss it
    return rest


def describe(udf, inputs, outputs, code_hash, altered=False):
    """What the table keeps of a function in the metadata of its columns.

    altered: another function was there before, and cells may be of it.
    """
    kept = {
        "name": udf.name,
        "version": udf.version,
        "hash": code_hash,
        "language": udf.language,
        "inputs": list(inputs),
        "outputs": list(outputs),
    }
    if altered:
        kept["altered"] = True
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    if len(text.encode()) > METADATA_BYTES_MAX:
        raise _core.InvalidError(
            f"{udf.name}() has {len(inputs)} inputs and {len(outputs)} outputs, whose names "
            f"take more than {METADATA_BYTES_MAX} bytes"
        )
    return text


# Trust: which stored functions this user may run without being asked.


def _trusted_folder():
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(base, "leman", "trusted")


def trust(code_hash):
    """Let functions stored under this hash run in backfills of this user."""
    folder = _trusted_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / code_hash).touch()
    except OSError:
        pass  # without a home the function runs where it is registered


def is_trusted(code_hash):
    return len(code_hash) == 64 and (_trusted_folder() / code_hash).exists()


def hash_of(code):
    return hashlib.sha256(code).hexdigest()
