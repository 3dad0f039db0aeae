# SPDX-License-Identifier: Apache-2.0
"""Parts of tables, by the paths that a read takes: "a" or "a.b", lists looked through."""

import pyarrow as pa
from pyarrow import types


def is_packed(field):
    return (field.metadata or {}).get(b"lance-encoding:packed") == b"true"


def fields_of(kind):
    """The fields that a path can name below a type."""
    if types.is_struct(kind):
        return [kind.field(i) for i in range(kind.num_fields)]
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return fields_of(kind.value_type)
    return []


def paths(fields, prefix=""):
    """All paths, parents before what is in them."""
    for field in fields:
        yield prefix + field.name
        if not is_packed(field):
            yield from paths(fields_of(field.type), f"{prefix}{field.name}.")


def tree_of(chosen):
    """{"a": {"b": {}}, "c": {}} of ["a.b", "c"]; an empty tree stands for everything."""
    tree = {}
    for path in chosen:
        at = tree
        for name in path.split("."):
            at = at.setdefault(name, {})
    return tree


def part_of(array, field, tree):
    """What a tree leaves of an array and its field; the array is no slice."""
    kind = field.type
    if not tree:
        return array, field
    assert array.offset == 0
    if types.is_struct(kind):
        kept = [part_of(array.field(name), kind.field(name), tree[name]) for name in tree]
        made = pa.struct([child for _, child in kept])
        buffers, children = array.buffers()[:1], [child for child, _ in kept]
    else:
        item, item_field = part_of(array.values, kind.value_field, tree)
        if types.is_fixed_size_list(kind):
            made, buffers = pa.list_(item_field, kind.list_size), array.buffers()[:1]
        else:
            make = pa.large_list if types.is_large_list(kind) else pa.list_
            made, buffers = make(item_field), array.buffers()[:2]
        children = [item]
    part = pa.Array.from_buffers(made, len(array), buffers, children=children)
    return part, field.with_type(made)


def part(table, chosen):
    """The part of a table, each column in one piece, that these paths name, in their order."""
    kept = [
        part_of(table[name].chunk(0), table.schema.field(name), tree)
        for name, tree in tree_of(chosen).items()
    ]
    schema = pa.schema([field for _, field in kept], table.schema.metadata)
    return pa.Table.from_arrays([array for array, _ in kept], schema=schema)
