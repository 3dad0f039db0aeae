# SPDX-License-Identifier: Apache-2.0
"""Functions registered as columns: in the table, and in this process."""

import json
import os

from leman import _core, datatypes, function
from leman.binding import Binding
from leman.decorator import as_udf

# What this process has registered, by table and column: preferred to what is stored.
_bindings = {}


def _key(table, column):
    return os.path.realpath(table.path), column


def remember(table, binding):
    for column, _ in binding.outputs:
        _bindings[_key(table, column)] = binding


def registered(table, column):
    """The binding that this process has registered for a column; None without one."""
    return _bindings.get(_key(table, column))


def binding_in(table, udf):
    """The binding of this very function in a table; None without one."""
    place = os.path.realpath(table.path)
    for (path, _), binding in _bindings.items():
        if path == place and binding.udf is udf:
            return binding
    return None


def columns_of(table):
    """The types of the table's columns."""
    return _core.schema_describe(table._core.schema())[4]


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
    bindings = []
    for names, udf, inputs in wanted:
        if names is not None and udf.signature.outputs is not None:
            names = [name for name, _ in udf.signature.outputs] if len(names) == 1 else names
        bindings.append(Binding(udf, _without(table, names, udf), names, inputs))
    packed = [function.pack(b.udf, b.inputs, [name for name, _ in b.outputs]) for b in bindings]
    for binding, code in zip(bindings, packed, strict=True):
        _add(table, binding, code)


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
    code_hash = _store(table, binding.udf, code)
    text = function.describe(binding.udf, binding.inputs, names, code_hash)
    schema = ("+s", "", False, {}, tuple(binding.fields()), None)
    table._core.add_function_columns(datatypes.capsule(schema), text)
    remember(table, binding)


def _store(table, udf, code):
    """Keep the code by content, and trust it; a table never says where a library lies."""
    if udf.language == "c":
        return udf.version
    code_hash = table._core.put_function(code)
    function.trust(code_hash)
    return code_hash


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
        raise _core.ExistsError(
            f"column {column!r} is filled by {known['name']}() in version "
            f"{known['version'][:12]}, and {name}() is version {binding.udf.version[:12]}; "
            f'alter_columns({{"path": "{column}", "udf": {name}}}) changes the function'
        )


def _current_names(known, column):
    """The columns of a function; the only one may have been renamed since."""
    names = known.get("outputs") or [column]
    return [column] if len(names) == 1 else names


def alter_function(table, column, given):
    """Record another function for a column that one fills; no data changes."""
    inputs = None
    if isinstance(given, tuple) and len(given) == 2:
        given, inputs = given
    udf = as_udf(given)
    if udf is None:
        raise TypeError(f"udf is a function made by @leman.udf, not {given!r}")
    known = recorded(table, column)
    if known is None:
        raise _core.InvalidError(f"no function fills column {column!r}; add_columns() adds one")
    names = _current_names(known, column)
    binding = Binding(udf, _without(table, names, udf), names, inputs)
    present = {field[1]: field for field in columns_of(table)}
    for name, kind in binding.outputs:
        if not datatypes.same(present[name], kind):
            raise _core.InvalidError(
                f"column {name!r} is {datatypes.type_name(present[name])}, and {udf.name}() "
                f"returns {datatypes.type_name(kind)}"
            )
    code = function.pack(udf, binding.inputs, names)
    code_hash = _store(table, udf, code)
    text = function.describe(udf, binding.inputs, known.get("outputs") or names, code_hash, True)
    for name in names:
        table._core.set_function(name, text)
    remember(table, binding)


def load(table, column, trust=None):
    """(udf, inputs, outputs, code) of a column: this process's own, or what the table stores.

    trust: True, or the hash of the stored code, lets it run where this user did not store it.
    """
    known = recorded(table, column)
    if known is None:
        raise _core.NotFoundError(
            f"no function fills column {column!r}; add_columns({{{column!r}: fn}}) registers one"
        )
    binding = registered(table, column)
    if binding is not None:
        if binding.udf.version != known["version"]:
            raise _core.ConflictError(
                f"column {column!r} is filled by {known['name']}() in version "
                f"{known['version'][:12]}, and this process has registered version "
                f'{binding.udf.version[:12]}; alter_columns({{"path": "{column}", "udf": '
                f"{binding.udf.name}}}) changes the function"
            )
        names = [name for name, _ in binding.outputs]
        return binding.udf, binding.inputs, names, function.pack(binding.udf, binding.inputs, names)
    if known.get("language") != "python":
        raise _core.InvalidError(
            f"column {column!r} is filled by {known['name']}(), which is not written in Python; "
            "give it as leman.c_udf()"
        )
    return _load_stored(table, column, known, trust)


def _load_stored(table, column, known, trust):
    code_hash = known["hash"]
    if trust is not True and trust != code_hash and not function.is_trusted(code_hash):
        raise _core.FunctionError(
            f"column {column!r} is filled by {known['name']}(), which is stored in the table and "
            f"was not put there by you; to run code of others say trust={code_hash!r}, or register "
            "the function by add_columns()"
        )
    try:
        code = table._core.get_function(code_hash)
    except _core.NotFoundError as error:
        raise _core.NotFoundError(
            f"column {column!r} is filled by {known['name']}(), whose code is not in the table "
            "any more; register it again by add_columns()"
        ) from error
    try:
        udf, inputs, _ = function.unpack(code)
    except Exception as error:
        raise _core.FunctionError(
            f"column {column!r}: the stored {known['name']}() does not load here: "
            f"{type(error).__name__}: {error}"
        ) from error
    if udf.version != known["version"]:
        raise _core.ConflictError(
            f"column {column!r} is filled by {known['name']}() in version {known['version'][:12]}, "
            f"and the module that it is imported from holds version {udf.version[:12]} now; "
            f'alter_columns({{"path": "{column}", "udf": {udf.name}}}) changes the function'
        )
    return udf, inputs, _current_names(known, column), code


def cells_of_others(table, column, version):
    """How many cells of a column another version of its function has computed."""
    known = recorded(table, column)
    if not known.get("altered"):
        return 0
    number = int(version[:16], 16)
    try:
        return table.count_rows(f"_leman_{known['outputs'][0]}.function <> {number}")
    except _core.LemanError:
        return 0  # another program has dropped the ledger, and with it what there was to know
