# SPDX-License-Identifier: Apache-2.0
"""Functions registered as columns: in the table, and in this process."""

import json
import os
import typing

from leman import _core, blobs, datatypes, function, manifest, provenance, trust, wording
from leman.binding import Binding
from leman.decorator import as_udf

# What this process has registered, by table and column: preferred to what is stored.
_bindings = {}

# What another process has handed over, by table and column: preferred to both.
_lent = {}


def _key(table, column):
    return os.path.realpath(table.path), column


def remember(table, binding):
    binding.version = binding.udf.version
    for column, _ in binding.outputs:
        _bindings[_key(table, column)] = binding


def registered(table, column):
    """The binding that this process has registered for a column; None without one."""
    return _bindings.get(_key(table, column))


def lend(table, column, code):
    """Use the function that another process has handed over together with its job."""
    _lent[_key(table, column)] = code


def binding_in(table, udf):
    """The binding of this very function in a table; None without one."""
    place = os.path.realpath(table.path)
    for (path, _), binding in _bindings.items():
        if path == place and binding.udf is udf:
            return binding
    return None


def columns_of(table):
    """The types of the table's columns; of blobs that of their bytes, marked as such."""
    places = _core.schema_describe(table._core.schema())[4]
    if not any(kind[0] == "+s" for kind in places):
        return places
    names = [kind[1] for kind in places]
    stream = table._core.scan(columns=names, limit=0, blob_bytes=True)
    return blobs.marked(places, _core.schema_describe(_core.stream_schema(stream))[4])


def recorded(table, column):
    """What the table says of the function that fills a column; None when none does."""
    text = table._core.function(column)
    return None if text is None else json.loads(text)


def split(columns):
    """Functions among what add_columns() is given: [(names or None, udf, inputs)] or None."""
    if as_udf(columns) is not None:
        return [(None, as_udf(columns), None)]
    if not isinstance(columns, dict):
        return None
    found = []
    for name, value in columns.items():
        inputs = None
        if isinstance(value, tuple) and len(value) == 2 and as_udf(value[0]) is not None:
            value, inputs = value
            if isinstance(inputs, str):
                raise TypeError(f"the inputs of {name!r} are a list of columns, not one text")
        udf = as_udf(value)
        if udf is not None:
            found.append(([name], udf, inputs))
    return found or None


def add_functions(table, wanted):
    """Register functions: each adds its columns, unless they are there with this function."""
    from leman import dependencies

    bindings, made = [], []
    for names, udf, inputs in dependencies.in_order(table, wanted):
        udf.refresh()
        if names is not None and udf.signature.outputs is not None:
            names = [name for name, _ in udf.signature.outputs] if len(names) == 1 else names
        fields = _without(table, names, udf)
        known = {field[1] for field in fields}
        fields += [field for field in made if field[1] not in known]
        bindings.append(_bind(table, udf, fields, names, inputs))
        made += bindings[-1].fields()
    packed = [function.pack(b.udf, b.inputs, [name for name, _ in b.outputs]) for b in bindings]
    for binding, code in zip(bindings, packed, strict=True):
        _add(table, binding, code)


def _bind(table, udf, fields, names, inputs):
    """The function bound to its inputs; those of a column that it fills may be renamed since."""
    try:
        return Binding(udf, fields, names, inputs)
    except _core.LemanError:
        column = (names or [name for name, _ in udf.signature.outputs or ()])[0]
        present = {field[1] for field in columns_of(table)}
        known = recorded(table, column) if column in present else None
        if known is None or known["version"] != udf.version:
            raise
        return Binding(udf, fields, names, known["inputs"])


def _without(table, names, udf):
    """The table's columns but those that the function fills: they are no inputs of their own."""
    outputs = set(names or [name for name, _ in udf.signature.outputs or ()])
    return [field for field in columns_of(table) if field[1] not in outputs]


def _add(table, binding, code):
    names = [name for name, _ in binding.outputs]
    present = {field[1]: field for field in columns_of(table)}
    there = [name for name in names if name in present]
    if there:
        _check_same(table, binding, present, there[0])
        remember(table, binding)
        return
    hashes = _store(table, binding.udf, code)
    text = function.describe(binding.udf, binding.inputs, names, hashes)
    schema = ("+s", "", False, {}, tuple(binding.fields()), None)
    table._core.add_function_columns(datatypes.capsule(schema), text)
    remember(table, binding)


def _store(table, udf, code):
    """Keep the code by content, and trust it; a table never says where a library lies."""
    if udf.options.manifest is not None:
        table._core.put_function(manifest.encode(udf.options.manifest))
    info = table._core.put_function(provenance.describe(udf))
    if udf.language == "c":
        return {"hash": udf.version, "info": info}
    code_hash = table._core.put_function(code)
    trust.remember(code_hash)
    return {"hash": code_hash, "info": info}


def _check_same(table, binding, present, column):
    """A column is there: fine when this very function fills it."""
    known = recorded(table, column)
    name = binding.udf.name
    if known is None:
        raise _core.ExistsError(f"column {column!r} is there, and no function fills it")
    wanted = dict(binding.outputs)
    if not datatypes.same(present[column], wanted[column]):
        raise _core.InvalidError(
            f"column {column!r} is {datatypes.type_name(present[column])}, and {name}() returns "
            f"{datatypes.type_name(wanted[column])}; drop the column, or return its type"
        )
    if known["version"] != binding.udf.version or known["inputs"] != binding.inputs:
        from leman import change

        raise _core.ExistsError(
            f"column {column!r} is filled by {known['name']}() in version "
            f"{known['version'][:12]}, and {name}() is version {binding.udf.version[:12]}; "
            f'alter_columns({{"path": "{column}", "udf": {name}}}) changes the function:\n'
            + change.describe(table, known, binding.udf).rstrip()
        )


def current_names(table, known, column):
    """The columns of a function, in its order; any may have been renamed since."""
    names = known.get("outputs") or [column]
    if len(names) == 1:
        return [column]
    filled = [name for name in table.schema.names if _same(recorded(table, name), known)]
    renamed = [name for name in filled if name not in names]
    if len(filled) != len(names) or not renamed:
        return names
    return [name if name in filled else renamed.pop(0) for name in names]


def _same(known, other):
    """Do both columns name the same function, bound once?"""
    keys = "version", "hash", "outputs"
    return known is not None and all(known.get(key) == other.get(key) for key in keys)


def alter_function(table, column, given):
    """Record another function for a column that one fills; no data changes."""
    inputs = None
    if isinstance(given, tuple) and len(given) == 2:
        given, inputs = given
    udf = as_udf(given)
    if udf is None:
        raise TypeError(f"udf is a function made by @leman.udf, not {given!r}")
    udf.refresh()
    known = recorded(table, column)
    if known is None:
        raise _core.InvalidError(f"no function fills column {column!r}; add_columns() adds one")
    from leman import dependencies

    names = current_names(table, known, column)
    dependencies.check_altered(table, names, dependencies.asked_for(udf, inputs))
    binding = Binding(udf, _without(table, names, udf), names, inputs)
    present = {field[1]: field for field in columns_of(table)}
    for name, kind in binding.outputs:
        if not datatypes.same(present[name], kind):
            raise _core.InvalidError(
                f"column {name!r} is {datatypes.type_name(present[name])}, and {udf.name}() "
                f"returns {datatypes.type_name(kind)}"
            )
    code = function.pack(udf, binding.inputs, names)
    hashes = _store(table, udf, code)
    outputs = known.get("outputs") or names
    text = function.describe(udf, binding.inputs, outputs, hashes, _before(known, udf))
    for name in names:
        table._core.set_function(name, text)
    remember(table, binding)


def _before(known, udf):
    """What is kept of the function that has filled cells until now."""
    before = known.get("before")
    if before is None or before.get("version") == udf.version:
        before = {key: known[key] for key in ("name", "version", "info") if key in known}
    return None if before.get("version") == udf.version else before


def settle(table, columns, known):
    """Values of the earlier function count as this one's: nobody is asked about them again."""
    kept = {key: value for key, value in known.items() if key != "before"}
    if len(kept) < len(known):
        text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
        for name in columns:
            table._core.set_function(name, text)


class Loaded(typing.NamedTuple):
    """The function of a column."""

    udf: typing.Any
    inputs: list  # columns by the names that they have
    bound: list  # the same by the names that they had when the function was bound to them
    outputs: list
    code: bytes


def load(table, column, trusted=None, on_change=None):
    """What fills a column, ``Loaded``: this process's own function, or what the table stores.

    trusted: the hash of stored code that may run where this user did not store it.
    on_change: a function of a module that has changed since is recorded; None refuses it.
    """
    known = recorded(table, column)
    if known is None:
        raise _core.NotFoundError(
            f"no function fills column {column!r}; {wording.register(column)}"
        )
    lent = _lent.get(_key(table, column))
    if lent is not None:
        udf, bound, outputs = function.unpack(lent)
        return Loaded(udf, known["inputs"], bound, outputs, lent)
    binding = registered(table, column)
    if binding is not None:
        binding.udf.refresh()
        if binding.udf.version != binding.version:
            given = binding.udf, binding.inputs
            return _load_changed(table, column, known, given, on_change)
        if binding.version != known["version"]:
            raise _core.ConflictError(
                f"column {column!r} is filled by {known['name']}() in version "
                f"{known['version'][:12]}, and this process has registered version "
                f'{binding.version[:12]}; alter_columns({{"path": "{column}", "udf": '
                f"{binding.udf.name}}}) changes the function"
            )
        names = current_names(table, known, column)
        code = function.pack(binding.udf, binding.inputs, names)
        return Loaded(binding.udf, known["inputs"], binding.inputs, names, code)
    if known.get("language") != "python":
        raise _core.InvalidError(
            f"column {column!r} is filled by {known['name']}(), which is not written in Python; "
            "give it as leman.c_udf()"
        )
    return _load_stored(table, column, known, trusted, on_change)


def _load_stored(table, column, known, trusted, on_change):
    told = provenance.stored(table, known).get("source")
    trust.demand(column, known, told or "", trusted)
    try:
        code = table._core.get_function(known["hash"])
    except _core.NotFoundError as error:
        raise _core.NotFoundError(
            f"column {column!r} is filled by {known['name']}(), whose code is not in the table "
            f"any more; {wording.register(column)}"
        ) from error
    try:
        udf, bound, _ = function.unpack(code)
    except Exception as error:
        raise _core.FunctionError(
            f"column {column!r}: the stored {known['name']}() does not load here: "
            f"{type(error).__name__}: {error}"
        ) from error
    udf.refresh()
    if udf.version != known["version"]:
        return _load_changed(table, column, known, (udf, known["inputs"]), on_change)
    return Loaded(udf, known["inputs"], bound, current_names(table, known, column), code)


def _load_changed(table, column, known, given, on_change):
    """Code that is imported, or what the function refers to, is another one now."""
    from leman import change

    if on_change is None:
        raise _core.ConflictError(
            change.question(table, column, known, given[0], change.counts_of(table, column))
        )
    alter_function(table, column, given)
    return load(table, column)


def manifest_of(table, column):
    """The manifest that is kept with a column; None without one."""
    name = (recorded(table, column) or {}).get("manifest")
    return None if name is None else manifest.decode(table._core.get_function(name))
