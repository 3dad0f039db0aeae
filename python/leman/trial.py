# SPDX-License-Identifier: Apache-2.0
"""``fn.test()``: a function over a few rows, in this process, writing nothing."""

import json
import resource
import time
from dataclasses import dataclass, field

from leman import _core, datatypes
from leman.apply import Applier, show
from leman.binding import Binding, find_field
from leman.file import row_numbers


@dataclass
class TestResult:
    """What a function made of some rows."""

    row_ids: list
    inputs: list
    outputs: list
    errors: list = field(default_factory=list)
    seconds: float = 0.0
    memory_bytes: int = 0

    __test__ = False  # pytest collects classes named Test...

    def __repr__(self):
        failed = {record["row"]: record for record in self.errors}
        lines = []
        for row_id, given, made in zip(self.row_ids, self.inputs, self.outputs, strict=True):
            shown = ", ".join(f"{name}={show(value)}" for name, value in given.items())
            lines.append(f"row {row_id}: {shown}")
            if row_id in failed:
                lines.append(f"    {failed[row_id]['type']}: {failed[row_id]['message']}")
                trace = failed[row_id]["traceback"].rstrip().splitlines()
                lines += [f"    {line}" for line in trace]
            else:
                lines.append(f"    -> {show(made)}")
        rate = len(self.row_ids) / self.seconds if self.seconds else 0
        lines.append(
            f"{len(self.row_ids)} rows, {len(self.errors)} failed, {self.seconds:.3f} s "
            f"({rate:.0f} rows/s), {self.memory_bytes / 2**20:.1f} MiB more memory at most"
        )
        return "\n".join(lines)


def _top_of(fields, path):
    """The column that a path begins with."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        name = ".".join(parts[:end])
        if any(known[1] == name for known in fields):
            return name, parts[end:]
    return path, []


def _inside(value, steps):
    for step in steps:
        value = None if value is None else value[step]
    return value


def _read(table, columns, rows, where, row_ids):
    """(row ids, {column: values}) of the rows asked for."""
    options = {"columns": columns, "with_row_id": True, "blob_bytes": True}
    core = table._core
    if row_ids is not None:
        pairs = [core.take_ids(row_numbers(row_ids), **options)]
    else:
        stream = core.scan(where=where, limit=rows, **options)
        pairs = []
        while (pair := core.next(stream)) is not None:
            pairs.append(pair)
    values = {}
    for schema, array in pairs:
        names = [child[1] for child in _core.schema_describe(schema)[4]]
        count = _core.array_length(array)
        for name, column in zip(names, _core.values_columns(schema, array, 0, count), strict=True):
            values.setdefault(name, []).extend(column)
    ids = values.pop("_rowid", [])
    return ids, values


def read_inputs(table, fields, inputs, rows, where, row_ids):
    """(row ids, one tuple of inputs per row, their type)"""
    places = [_top_of(fields, path) for path in inputs]
    tops = list(dict.fromkeys(name for name, _ in places))
    ids, values = _read(table, tops, rows, where, row_ids)
    columns = [[_inside(value, steps) for value in values.get(top, [])] for top, steps in places]
    kind = datatypes.struct_of([(path, find_field(fields, path, "test()")) for path in inputs])
    return ids, list(zip(*columns, strict=True)), kind


def _bind(udf, table, fields, inputs):
    """The function bound to the inputs given, to those of its column, or to what it asks for."""
    from leman.registry import binding_in, recorded

    known = binding_in(table, udf) if inputs is None else None
    names = None if udf.signature.outputs else [udf.name]
    if known is not None:
        names = [name for name, _ in known.outputs]
        present = names[0] in {field[1] for field in fields}
        kept = recorded(table, names[0]) if present else None
        inputs = (kept or {}).get("inputs", known.inputs)
    return Binding(udf, fields, names, inputs), known


class _CApplier:
    """A function in C, called once."""

    def __init__(self, udf, inputs, outputs):
        self.udf = udf
        self.inputs = inputs
        self.column = ", ".join(outputs)

    def __call__(self, schema, array, row_ids, output):
        given = _core.values_columns(schema, array, 0, len(row_ids))
        made, failed = _core.c_function_apply(self.udf.code, schema, array, output)
        errors = []
        for row, record in failed:
            inputs = zip(self.inputs, (column[row] for column in given), strict=True)
            told = {
                "traceback": "",
                "column": self.column,
                "row": row_ids[row],
                "inputs": ", ".join(f"{name}={show(value)}" for name, value in inputs),
            }
            errors.append((row, json.dumps({**json.loads(record), **told})))
        return made, errors


def _applier(udf, binding, known):
    names = [name for name, _ in binding.outputs]
    if udf.language == "c":
        return _CApplier(udf, binding.inputs, names)
    return Applier(udf, (known or binding).inputs, names, udf.live())


def run_trial(udf, table, rows=5, where=None, row_ids=None, inputs=None):
    """See ``Udf.test()``."""
    from leman.registry import columns_of

    fields = columns_of(table)
    binding, known = _bind(udf, table, fields, inputs)
    ids, given, kind = read_inputs(table, fields, binding.inputs, rows, where, row_ids)
    schema = datatypes.capsule(kind)
    array, wrong = _core.values_array(schema, given, False)
    if wrong:
        raise _core.InvalidError(f"row {ids[wrong[0][0]]}: {wrong[0][1]}")
    output = datatypes.struct_of(binding.outputs)
    names = [name for name, _ in binding.outputs]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    applier = _applier(udf, binding, known)
    start = time.perf_counter()
    made, errors, *_ = applier(schema, array, ids, datatypes.capsule(output))
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    columns = _core.values_columns(datatypes.capsule(output), made, 0, len(ids))
    outputs = (
        columns[0]
        if len(names) == 1
        else [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    )
    return TestResult(
        row_ids=ids,
        inputs=[dict(zip(binding.inputs, row, strict=True)) for row in given],
        outputs=outputs,
        errors=[json.loads(record) for _, record in errors],
        seconds=seconds,
        memory_bytes=memory * 1024,
    )
