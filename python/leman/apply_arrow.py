# SPDX-License-Identifier: Apache-2.0
"""Functions over Arrow arrays and batches: called for many rows, narrowed to those that fail."""

import pyarrow as pa

from leman.apply import WrongResultError
from leman.arrow import Batch, SchemaCapsule
from leman.data import castable
from leman.exact import exact_array
from leman.gpu import give_back_memory, is_out_of_memory
from leman.meter import Stopped


def apply_batches(applier, schema, array, output, failure, port=None):
    """The results of a batch as a capsule; rows that fail are null and told to `failure`."""
    wanted = pa.schema(SchemaCapsule(output))
    batch = pa.record_batch(Batch(schema, array)).rename_columns(applier.inputs)
    pieces = []
    try:
        _Narrowing(applier, wanted, batch, failure, port).run(0, batch.num_rows, pieces)
    except Stopped:
        pieces.append([pa.nulls(0, field.type) for field in wanted])  # what is computed counts
    if port is not None and applier.rows_max is not None:
        port.rows_fit(applier.rows_max)  # other workers need not find it out
    columns = [
        pa.concat_arrays([piece[i] for piece in pieces]) if len(pieces) != 1 else pieces[0][i]
        for i in range(len(wanted))
    ]
    made = pa.RecordBatch.from_arrays(columns, schema=wanted)
    return made.__arrow_c_array__()[1]


class _Narrowing:
    """Halves what raises until the rows that cause it stand alone."""

    def __init__(self, applier, wanted, batch, failure, port):
        self.applier = applier
        self.port = port
        self.function = applier.asking(port)
        self.rows_before = applier.rows_max
        self.wanted = wanted
        self.batch = batch
        self.failure = failure

    def run(self, start, count, pieces):
        """Append the columns of rows [start, start + count) to `pieces`, a piece per call."""
        attempts = 1
        while True:
            most = self.applier.rows_max
            if most is not None and count > most:
                self._parts(start, count, most, pieces)
                return
            rows = self.batch.slice(start, count)
            try:
                pieces.append(self._call(rows))
                return
            except (Exception, SystemExit) as raised:
                error = raised
            if count > 1 and is_out_of_memory(error):
                give_back_memory(error)
                self.applier.rows_max = count // 2  # from now on
                continue
            action, seconds = self.applier.policy.decide(error, attempts)
            if action != "retry":
                break
            self.applier.pause(error, seconds, self.port)
            attempts += 1
        self._failed(start, count, error, attempts, action, pieces)

    def _parts(self, start, count, most, pieces):
        for first in range(start, start + count, most):
            self.run(first, min(most, start + count - first), pieces)

    def _failed(self, start, count, error, attempts, action, pieces):
        if count > 1 and not isinstance(error, WrongResultError):
            half = count // 2
            self.run(start, half, pieces)
            self.run(start + half, count - half, pieces)
            return
        if is_out_of_memory(error):  # of one row: other batches may be as large as before
            self.applier.rows_max = self.rows_before
        for row in range(start, start + count):
            inputs = [column[row].as_py() for column in self.batch.columns]
            self.failure.add(row, error, attempts, inputs)
        if action == "fail":
            raise self.failure.job_error(start) from error
        pieces.append([pa.nulls(count, field.type) for field in self.wanted])

    def _call(self, rows):
        applier = self.applier
        arguments = [rows] if applier.kind == "batch" else rows.columns
        result = self.function(*arguments)
        name = applier.udf.name
        if applier.single:
            return [as_column(name, result, self.wanted.field(0), rows.num_rows)]
        return as_columns(name, result, self.wanted, rows.num_rows)


class WrongLengthError(ValueError):
    """A function returned more or fewer values than it was given rows."""


def as_column(name, result, field, count):
    """What a function returned, as an array of the type wanted."""
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if not isinstance(result, pa.Array):
        if isinstance(result, (str, bytes, dict)) or not hasattr(result, "__len__"):
            raise WrongResultError(f"{name}() returned {type(result).__name__}, not a pa.Array")
        try:
            result = exact_array(result, field.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise WrongResultError(
                f"{name}() returned values that are not of the type {field.type}: {error}"
            ) from error
    if len(result) != count:
        raise WrongLengthError(f"{name}() returned {len(result)} values for {count} rows")
    if result.type.equals(field.type):
        return result
    if not castable(result.type, field.type):
        raise WrongResultError(
            f"{name}() returned {result.type} for column {field.name!r}, which is {field.type}"
        )
    try:
        return result.cast(field.type)
    except pa.ArrowException as error:
        raise WrongResultError(
            f"{name}() returned {result.type} for column {field.name!r}, which is {field.type}: "
            f"{error}"
        ) from error


def as_columns(name, result, wanted, count):
    """Several columns: a batch, a struct array, a dict or tuple of arrays."""
    if isinstance(result, pa.StructArray):
        result = {result.type.field(i).name: part for i, part in enumerate(result.flatten())}
    elif isinstance(result, pa.RecordBatch):
        result = dict(zip(result.schema.names, result.columns, strict=True))
    elif isinstance(result, tuple):
        if len(result) != len(wanted):
            raise WrongResultError(f"{name}() returned {len(result)} columns, not {len(wanted)}")
        result = dict(zip(wanted.names, result, strict=True))
    if not isinstance(result, dict):
        raise WrongResultError(
            f"{name}() returned {type(result).__name__}, not a batch of {', '.join(wanted.names)}"
        )
    missing = [field.name for field in wanted if field.name not in result]
    if missing or len(result) != len(wanted):
        raise WrongResultError(
            f"{name}() returned the columns {', '.join(result)}, not {', '.join(wanted.names)}"
        )
    return [as_column(name, result[field.name], field, count) for field in wanted]
