# SPDX-License-Identifier: Apache-2.0
"""Functions on their way to workers and into tables: packed and described."""

import hashlib
import json
import os
import sys
import types

from leman import _core, manifest, secret

METADATA_BYTES_MAX = 1024


def pack(udf, inputs, outputs):
    """The function as bytes: code of notebooks and scripts by value, of modules by reference."""
    if udf.language == "c":
        return udf.code
    import cloudpickle

    try:
        code = cloudpickle.dumps((udf, list(inputs), list(outputs)), protocol=5)
    except Exception as error:
        culprit = _unpicklable_part(udf._leman_function)
        where = f"{culprit} of {udf.name}()" if culprit else f"{udf.name}()"
        raise _core.InvalidError(
            f"{where} cannot be sent to workers: {error}. Make it inside of the function, or in "
            "setup() of a class"
        ) from error
    secret.refuse_held(udf, code)
    return code


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


def with_environment(code, udf, job):
    """Code for workers: a line that says what belongs to it, then the function.

    job: a text that is another one for each job.
    """
    given = {
        "job": job,
        "hash": hash_of(code),
        "version": udf.version,
        "secrets": list(udf.options.secrets),
        "path": [os.path.abspath(folder) for folder in sys.path],
        "cwd": os.getcwd(),
    }
    return json.dumps(given).encode() + b"\n" + code


def split_environment(code):
    """(what belongs to it, function) of `with_environment()`; nothing is loaded."""
    line, _, packed = code.partition(b"\n")
    given = json.loads(line)
    if hash_of(packed) != given["hash"]:
        raise _core.FunctionError(
            f"the function that arrived has the hash sha256:{hash_of(packed)}, and the job is "
            f"trusted to run sha256:{given['hash']}"
        )
    return given, packed


def describe(udf, inputs, outputs, hashes, before=None):
    """What the table keeps of a function in the metadata of its columns.

    hashes: of what is stored of it elsewhere, its code and what is told of it.
    before: the function whose values nobody has decided on, if there is one.
    """
    kept = {
        "name": udf.name,
        "version": udf.version,
        **hashes,
        "language": udf.language,
        "inputs": list(inputs),
        "outputs": list(outputs),
    }
    if before is not None:
        kept["before"] = before
    if udf.options.manifest is not None:
        kept["manifest"] = hash_of(manifest.encode(udf.options.manifest))
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    if len(text.encode()) > METADATA_BYTES_MAX:
        raise _core.InvalidError(
            f"{udf.name}() has {len(inputs)} inputs and {len(outputs)} outputs, whose names "
            f"take more than {METADATA_BYTES_MAX} bytes"
        )
    return text


def hash_of(code):
    return hashlib.sha256(code).hexdigest()
