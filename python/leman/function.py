# SPDX-License-Identifier: Apache-2.0
"""Functions on their way to workers and into tables: packed and described."""

import functools
import hashlib
import io
import json
import os
import sys
import types

from leman import _core, manifest, secret, source

METADATA_BYTES_MAX = 1024


def pack(udf, inputs, outputs):
    """The function as bytes: code of notebooks and scripts by value, of modules by reference."""
    if udf.language == "c":
        return udf.code
    try:
        code = dumps((udf, list(inputs), list(outputs)))
    except Exception as error:
        where = _what_stays(udf._leman_function, udf.name)
        raise _core.InvalidError(
            f"{where} cannot be sent to workers: {error}. Make it inside of the function, or in "
            "setup() of a class"
        ) from error
    secret.refuse_held(udf, code)
    return code


def pack_plain(function):
    """A function that is called with what it is given, and nothing else of it known, as bytes."""
    try:
        return dumps(function)
    except Exception as error:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        raise _core.InvalidError(
            f"{_what_stays(function, name)} cannot be sent to other processes: {error}. Make it "
            "inside of the function"
        ) from error


def dumps(thing, buffer_callback=None):
    """As cloudpickle does, and what functools makes of functions that travel by value."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):
        def reducer_override(self, value):
            if isinstance(value, functools._lru_cache_wrapper):
                if not source.travels_by_name(value):
                    return _cached, (value.__wrapped__, value.cache_parameters())
            elif isinstance(value, functools.cached_property):
                return _cached_property, (value.func, value.attrname)
            elif source.dispatched(value) and not source.travels_by_name(value):
                return _dispatched, (value.__wrapped__, dict(value.registry))
            return super().reducer_override(value)

    packed = io.BytesIO()
    Pickler(packed, protocol=5, buffer_callback=buffer_callback).dump(thing)
    return packed.getvalue()


def _cached(function, parameters):
    return functools.lru_cache(**parameters)(function)


def _cached_property(function, name):
    made = functools.cached_property(function)
    made.attrname = name
    return made


def _dispatched(function, registry):
    made = functools.singledispatch(function)
    for kind, called in registry.items():
        made.register(kind, called)
    return made


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


def _what_stays(function, called):
    """What of a function cannot be packed, as people call it."""
    for name, value in _parts(function):
        try:
            dumps(value)
        except Exception:
            return f"{name} of {called}()"
    return f"{called}()"


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
