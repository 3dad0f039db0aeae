# SPDX-License-Identifier: Apache-2.0
"""Lance tables of pylance around a data file that somebody else wrote."""

import shutil
from pathlib import Path

import lance
from lance.fragment import DataFile, FragmentMetadata
from projections import is_packed
from pyarrow import types


def has_no_field_of_its_own(field):
    """Fixed-size lists of plain values are one field."""
    kind = field.type
    return types.is_fixed_size_list(kind) and not types.is_struct(kind.value_type)


def children_of(field):
    kind = field.type
    if types.is_struct(kind):
        return [kind.field(i) for i in range(kind.num_fields)]
    if types.is_map(kind):
        return [kind.field(0)]
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return [] if has_no_field_of_its_own(field) else [kind.value_field]
    return []


def leaf_numbers(fields):
    """The numbers of the fields that are columns of a file; parents count before children."""
    numbers, count = [], 0

    def visit(field, in_packed):
        nonlocal count
        own, children = count, children_of(field)
        packed = is_packed(field)
        count += 1
        if not in_packed and (packed or not children):
            numbers.append(own)
        for child in children:
            visit(child, in_packed or packed)

    for field in fields:
        visit(field, False)
    return numbers


def table_of(root, file, schema, version, rows, numbers=None):
    """Make `root` a table whose only data file is (a copy of) `file`."""
    data = Path(root, "data")
    data.mkdir(parents=True)
    shutil.copy(file, data / "rows.lance")
    side = Path(file).with_suffix("")
    if side.is_dir():
        shutil.copytree(side, data / "rows")
    numbers = leaf_numbers(schema) if numbers is None else numbers
    major, minor = map(int, version.split("."))
    size = (data / "rows.lance").stat().st_size
    columns = list(range(len(numbers)))
    part = DataFile("rows.lance", numbers, columns, major, minor, file_size_bytes=size)
    fragment = FragmentMetadata(id=0, files=[part], physical_rows=rows)
    made = lance.LanceOperation.Overwrite(schema, [fragment])
    return lance.LanceDataset.commit(str(root), made)
