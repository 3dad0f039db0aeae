# SPDX-License-Identifier: Apache-2.0
"""Functions that fill columns: the decorator, and what it knows of a function."""

import copy
import functools
import inspect
import os
import re
import typing

from leman import _core, datatypes, manifest, secret, source
from leman.identity import Identity
from leman.placement import Placement
from leman.policy import Policy
from leman.rate import as_rate_limit

T = typing.TypeVar("T")

ASYNC_CONCURRENCY = 32  # calls in flight of a worker's thread, unless a function says

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {f"{letter}i": 1 << (10 * power) for power, letter in enumerate("KMGT", 1)}

# What users of Geneva try, and what takes its place.
NOT_OFFERED = {
    "num_frags": "rows are chosen by where= and max_rows=, not by fragments",
    "skip_frags": "rows are chosen by where= and max_rows=, not by fragments",
    "task_size": "tasks are cut by time and bytes; checkpoint_size fixes the rows of a checkpoint",
    "min_checkpoint_size": "checkpoints are cut by time and bytes, or by checkpoint_size",
    "max_checkpoint_size": "checkpoints are cut by time and bytes, or by checkpoint_size",
    "batch_checkpoint_flush_interval_seconds": "results are durable about every ten seconds",
    "task_shuffle_diversity": "there is no such setting",
    "use_cpu_only_pool": "workers run on this machine",
    "update_mode": "rows that are not computed again keep their values without being rewritten",
    "error_handling": "say it with on_error=",
    "auto_backfill": "nothing runs by itself; call backfill()",
    "manifest": "give it to udf()",
    "cluster": "workers run on this machine",
    "cuda": "say num_gpus=1",
    "refresh_status_secs": "progress moves with every batch",
    "_admission_check": "it is always checked that a job fits",
    "_admission_strict": "a job that cannot fit is always refused",
    "job_tracker_min_update_interval_secs": "the record of a job is kept up to date by itself",
    "_enable_job_tracker_saves": "the record of a job is always kept",
}


def refuse_options(where, options):
    """Raise for keyword arguments that there are not, saying why where others have them."""
    for name in options:
        if name in NOT_OFFERED:
            raise TypeError(f"{where} does not offer {name}=: {NOT_OFFERED[name]}")
        raise TypeError(f"{where} got an unexpected keyword argument {name!r}")


def parse_bytes(value, name="memory"):
    """Bytes as a number, or as text: "4GiB"."""
    if value is None:
        return 0
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        return int(value)
    match = re.fullmatch(r"\s*([\d.]+)\s*([kKMGT]?i?)B?\s*", str(value))
    unit = match and match[2].replace("k", "K")
    if unit not in _UNITS:
        raise ValueError(f'{name} is a number of bytes or a text as "4GiB", not {value!r}')
    return int(float(match[1]) * _UNITS[unit])


class Columns(typing.Generic[T]):
    """What a function returns that fills several columns: ``-> leman.Columns[MyNamedTuple]``."""


def _number(name, value, least, whole=False):
    kinds = int if whole else (int, float)
    if value is None:
        return None
    if not isinstance(value, kinds) or isinstance(value, bool) or value < least:
        kind = "a whole number" if whole else "a number"
        raise ValueError(f"{name} is {kind} of at least {least}, not {value!r}")
    return value


class Options:
    """What the decorator was given; the signature of ``udf()`` has the defaults."""

    def __init__(self, **others):
        given = {name: others.pop(name, value) for name, value in udf.__kwdefaults__.items()}
        self.placement = Placement.of_function(others)
        self.manifest = manifest.of_function(others)
        refuse_options("udf()", others)
        self._take_columns(given["input_columns"], given["field_metadata"])
        self._take_resources(given)
        self.data_type = given["data_type"]
        self.version = given["version"]
        self.timeout = _number("timeout", given["timeout"], 0.001)
        self.policy = Policy(given["on_error"])
        self.secrets = secret.check_names(given["secrets"])
        in_flight = given["async_concurrency"]
        in_flight = ASYNC_CONCURRENCY if in_flight is None else in_flight
        self.async_concurrency = _number("async_concurrency", in_flight, 1, True)
        self.rate_limit = as_rate_limit(given["rate_limit"])
        self.paid = bool(given["paid"])
        self.parallel_setup = bool(given["parallel_setup"])
        self.setup_timeout = _number("setup_timeout", given["setup_timeout"], 0.001)

    def _take_columns(self, input_columns, field_metadata):
        if isinstance(input_columns, str) or not all(
            isinstance(name, str) for name in input_columns or ()
        ):
            raise TypeError(f"input_columns is a list of names, not {input_columns!r}")
        for key, value in (field_metadata or {}).items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise TypeError(f"field_metadata is texts by text, unlike {key!r}: {value!r}")
        self.input_columns = None if input_columns is None else list(input_columns)
        self.field_metadata = dict(field_metadata or {})

    def _take_resources(self, given):
        for name in ("num_cpus", "num_gpus"):
            value = udf.__kwdefaults__[name] if given[name] is None else given[name]
            setattr(self, name, _number(name, value, 0))
        self.memory = parse_bytes(given["memory"])
        self.batch_size = _number("batch_size", given["batch_size"], 1, True)
        self.checkpoint_size = _number("checkpoint_size", given["checkpoint_size"], 1, True)

    # Of functions that were stored before these were there.
    secrets = ()
    manifest = None
    async_concurrency = ASYNC_CONCURRENCY
    rate_limit = None
    paid = False
    parallel_setup = False
    setup_timeout = None

    def __getstate__(self):
        """Without the type, which the signature holds: workers need no pyarrow to read this."""
        return self.__dict__ | {"data_type": None}


def _arrow_class(annotation):
    """ "Array" or "RecordBatch" of pyarrow, which need not be imported; None for others."""
    if isinstance(annotation, str):
        name = annotation.rpartition(".")[2]
        return name if name.endswith("Array") or name == "RecordBatch" else None
    annotation, _ = datatypes.strip_optional(annotation)
    module = getattr(annotation, "__module__", "") or ""
    name = getattr(annotation, "__name__", "") or ""
    if not module.startswith("pyarrow"):
        return None
    if name == "RecordBatch":
        return name
    return "Array" if name.endswith("Array") else None


def _hints(function):
    """Annotations; texts that cannot be resolved stay texts."""
    try:
        return typing.get_type_hints(function)
    except Exception:
        return dict(getattr(function, "__annotations__", {}))


class Signature:
    """How a function is called: its kind, parameters, and what it returns."""

    def __init__(self, name, function, options):
        hints = _hints(function)
        parameters = list(inspect.signature(function).parameters.values())
        self.name = name
        self.kind = "scalar"
        self.annotations = {}
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.KEYWORD_ONLY):
                continue
            self.annotations[parameter.name] = hints.get(parameter.name)
        self.optional = {p.name for p in parameters if p.default is not p.empty}
        self.variadic = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
        self._find_kind()
        self._find_output(hints.get("return"), options)

    def _find_kind(self):
        if not self.annotations:
            raise TypeError(f"{self.name}() has no arguments; they name the columns it is given")
        classes = [_arrow_class(annotation) for annotation in self.annotations.values()]
        if "RecordBatch" in classes:
            if len(classes) > 1:
                raise TypeError(f"{self.name}() takes a RecordBatch and nothing else")
            self.kind = "batch"
        elif any(classes):
            for name, found in zip(self.annotations, classes, strict=True):
                if not found and self.annotations[name] is not None:
                    raise TypeError(
                        f"{self.name}(): {name!r} is no pa.Array, and other arguments are; "
                        "arguments are all arrays, or all values of one row"
                    )
            self.kind = "array"

    def _find_output(self, returned, options):
        """`outputs`: names and types of several columns, or None; `output`: the type of one."""
        self.outputs = None
        self.output = None
        data_type = options.data_type
        if typing.get_origin(returned) is Columns:
            kind, _ = datatypes.from_annotation(typing.get_args(returned)[0])
            if kind is None or kind[0] != "+s":
                raise TypeError(f"{self.name}(): Columns[...] takes a NamedTuple or dataclass")
            self.outputs = [(child[1], child) for child in kind[4]]
        if type(data_type).__name__ == "Schema":
            spec = datatypes.from_data_type(data_type)
            self.outputs = [(child[1], child) for child in spec[4]]
        elif data_type is not None and self.outputs is not None:
            raise TypeError(f"{self.name}(): give data_type= as a pa.schema(), or leave it out")
        elif data_type is not None:
            self.output = datatypes.from_data_type(data_type)
        elif self.outputs is None:
            self.output = self._from_returned(returned)

    def _from_returned(self, returned):
        if returned is None or _arrow_class(returned):
            raise TypeError(
                f"{self.name}() does not say what it returns; give data_type=, e.g. "
                "@leman.udf(data_type=pa.int64())"
                + ("" if self.kind != "scalar" else ", or annotate it: -> int")
            )
        kind, _ = datatypes.from_annotation(returned)
        if kind is None:
            raise TypeError(
                f"{self.name}() returns {returned!r}, which names no type of Arrow; give data_type="
            )
        return kind


class Udf:
    """A function that fills a column. It is still callable as it was."""

    language = "python"

    def __init__(self, function, options, signature=None, identity=None):
        self._leman_function = function
        self._identity = identity or Identity(function, options.version)
        self.options = options
        is_object = not inspect.isroutine(function)
        self.name = type(function).__name__ if is_object else function.__name__
        if is_object and not callable(function):
            raise TypeError(f"{self.name} has no __call__(), which computes the rows")
        self.signature = signature or Signature(
            self.name, function.__call__ if is_object else function, options
        )
        self._live = None
        if not is_object:
            functools.update_wrapper(self, function)
            source.keep(function)

    def __repr__(self):
        return f"<leman.udf {self.name}: {self.signature.kind}>"

    def __call__(self, *args, **kwargs):
        return self.live()(*args, **kwargs)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self):
        if source.travels_by_name(self):
            return self.__qualname__
        return Udf, (self._leman_function, self.options, self.signature, self._identity)

    @property
    def is_async(self):
        """Is calling it the making of a coroutine?"""
        function = self._leman_function
        return inspect.iscoroutinefunction(type(function).__call__ if self.is_object else function)

    @property
    def is_object(self):
        """An object with state, rather than a function."""
        return not inspect.isroutine(self._leman_function)

    def fresh(self):
        """What is called, set up anew; an object is copied, so that what is stored stays bare."""
        self._identity.settle()
        if not self.is_object:
            return self._leman_function
        live = copy.copy(self._leman_function)
        if hasattr(live, "setup"):
            made = live.setup()
            if inspect.iscoroutine(made):
                from leman.apply_async import run

                run(made)
        return live

    def live(self):
        """What is called in this process, set up once."""
        if self._live is None:
            self._live = self.fresh()
        return self._live

    @property
    def version(self):
        """The hash that results belong to: 64 hexadecimal digits."""
        return self._identity.version

    def refresh(self):
        """See what has changed since the version was found: globals, helpers, modules."""
        self._identity.refresh()

    def changed_modules(self):
        """Names in modules that are not what they were where the function comes from."""
        return self._identity.changed_modules()

    def test(self, table, rows=5, where=None, row_ids=None, *, input_columns=None):
        """Run over some rows of a table, in this process, and write nothing.

        rows: how many, of those that match `where`; row_ids: these rows.
        Returns a ``TestResult``.
        """
        from leman.trial import run_trial

        return run_trial(self, table, rows, where, row_ids, input_columns)


class UdfClass:
    """A decorated class: its objects are functions with state."""

    def __init__(self, kind, options):
        self._leman_function = kind
        self.options = options
        functools.update_wrapper(self, kind, updated=())

    def __repr__(self):
        return f"<leman.udf class {self._leman_function.__name__}>"

    def __call__(self, *args, **kwargs):
        return Udf(self._leman_function(*args, **kwargs), self.options)

    def __getattr__(self, name):
        if name.startswith("_leman") or name == "options":
            raise AttributeError(name)
        return getattr(self._leman_function, name)


class CUdf:
    """A function of a shared object, over Arrow arrays; see ``leman.c_udf()``."""

    language = "c"

    def __init__(self, library, name, options):
        self.library = os.path.abspath(library)
        self.name = name
        self.options = options
        self.signature = _CSignature()
        self.version, self.code = _core.c_function(self.library, name)
        self._leman_function = self

    def refresh(self):
        """A library is read once."""

    def __repr__(self):
        return f"<leman.c_udf {self.name} of {self.library}>"

    def bind(self, inputs):
        """The type that it gives for a struct of inputs."""
        return _core.c_function_bind(self.library, self.name, datatypes.capsule(inputs))

    def test(self, table, rows=5, where=None, row_ids=None, *, input_columns=None):
        """As ``test()`` of a function in Python: in this process, and nothing is written.

        input_columns: what it is given, unless a column of the table is filled by it.
        """
        from leman.trial import run_trial

        return run_trial(self, table, rows, where, row_ids, input_columns)


class _CSignature:
    """What a function in C does not say before it is bound."""

    kind = "c"
    outputs = None
    output = None
    annotations = {}


def c_udf(library, name, **options):
    """A function written in C, of a shared object that exports ``leman_functions``.

    library: the file. name: the function in it. Other arguments are those of ``udf()``; types and
    version are the function's own. It runs in threads of worker processes without Python.
    """
    for unfit in ("data_type", "version"):
        if unfit in options:
            raise TypeError(f"c_udf() takes no {unfit}=: the function says it itself")
    return CUdf(library, name, Options(**options))


def udf(
    function=None,
    *,
    data_type=None,
    input_columns=None,
    version=None,
    num_cpus=1,
    num_gpus=0,
    memory=None,
    batch_size=None,
    checkpoint_size=None,
    timeout=None,
    on_error=None,
    field_metadata=None,
    secrets=None,
    async_concurrency=None,
    rate_limit=None,
    paid=False,
    parallel_setup=False,
    setup_timeout=None,
    **others,
):
    """Make a function, or a class with ``__call__``, one that fills columns.

    Arguments are columns by name: values of one row by default, whole arrays when annotated as
    ``pa.Array``, all in one when annotated as ``pa.RecordBatch``. A class may have ``setup()``,
    which is called once in each worker. Functions may be ``async``: many rows are called at once.

    data_type: what it returns, a type of pyarrow; else the annotation says it.
    input_columns: the columns it is given, in order, instead of the names of its arguments; paths
        reach into structs ("info.url").
    version: a text that names the version, instead of a hash of the code.
    num_cpus, num_gpus, memory: what a worker needs; memory in bytes or as "4GiB".
    resources, node_labels: on a cluster, what its node must have: ``{"accelerator": 1}``,
        ``{"zone": "a"}``.
    batch_size: rows per call; adapted unless given.
    checkpoint_size: rows per checkpoint; about ten seconds' worth unless given.
    timeout: seconds for a call.
    on_error: what happens when it raises; see ``leman.skip_on_error()`` and its like.
    field_metadata: texts that are kept with the column.
    manifest: what it needs installed: leman.environment.pip(), conda() or image(); kept with the
        column, and checked before a job.
    secrets: names of environment variables that it needs, whose values are kept nowhere.
    async_concurrency: calls of an ``async`` function that each worker has in flight; 32.
    rate_limit: a ``leman.RateLimit``, kept by all workers of a job together.
    paid: each result is durable before the next call is made in its place.
    parallel_setup: workers with GPUs run ``setup()`` beside each other, not one after the other.
    setup_timeout: seconds for ``setup()``, and for what the function imports; 600.
    """
    given = {name: value for name, value in locals().items() if name in udf.__kwdefaults__}
    options = Options(**given, **others)

    def decorate(target):
        if isinstance(target, type):
            return UdfClass(target, options)
        return Udf(target, options)

    return decorate if function is None else decorate(function)


def as_udf(function):
    """What users give where a function is wanted, as a Udf; None for what is not one."""
    if isinstance(function, (Udf, CUdf)):
        return function
    if isinstance(function, UdfClass):
        return function()
    return None
