# SPDX-License-Identifier: Apache-2.0
"""Call a function over the rows of a batch: values in, a column and failed rows out."""

import functools
import json
import os
import signal
import threading
import traceback

from leman import _core, datatypes, prints, secret
from leman import blobs as blob_values
from leman.meter import Meter, Stopped, metered, rest
from leman.rate import retry_after
from leman.spent import counting

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_CHUNK_ROWS = 1024  # rows that are values of Python at a time: what a processor's cache holds
_SHOWN_CHARS = 200
_FRAMES_MAX = 20
_TRACEBACK_CHARS = 4000

# Letters of the Arrow C data interface as numpy names its types.
_NUMPY = {
    "c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8",
    "e": "f2", "f": "f4", "g": "f8",
}  # fmt: skip


class WrongResultError(TypeError):
    """A function returned something of another type or length than it said."""


class CallTimeoutError(TimeoutError):
    """A call took longer than the function's timeout."""


def _shorten(text, most=_SHOWN_CHARS):
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def show(value):
    """A value for people, cut where it is long, and never failing."""
    if isinstance(value, (bytes, str)) and len(value) > _SHOWN_CHARS:
        unit = "bytes" if isinstance(value, bytes) else "characters"
        return f"{value[:64]!r}… ({len(value)} {unit})"
    try:
        return _shorten(repr(value))
    except Exception as error:
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"


def own_frames(error):
    """The lines of a traceback that are not of this package."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not os.path.abspath(frame.filename).startswith(_PACKAGE)
    ]
    lines = traceback.format_list(frames[-_FRAMES_MAX:])
    lines += traceback.format_exception_only(type(error), error)
    return _shorten(secret.redact("".join(lines)), _TRACEBACK_CHARS)


class _Alarm:
    """Raises in the main thread when a call takes too long; elsewhere the job kills the worker."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.usable = seconds is not None and threading.current_thread() is threading.main_thread()
        self._before = None

    def __enter__(self):
        if self.usable:
            self._before = signal.signal(signal.SIGALRM, self._fire)
            signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def _fire(self, number, frame):
        raise CallTimeoutError(f"the call took longer than {self.seconds:g} s")

    def __exit__(self, *unused):
        if self.usable:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)


class Failure:
    """Rows that a function could not compute, as records for the journal."""

    def __init__(self, udf, column, row_ids, names):
        self.udf = udf
        self.column = column
        self.row_ids = row_ids
        self.names = names
        self.records = {}

    def add(self, row, error, attempts, inputs):
        """inputs: the values that the call was given."""
        row_id = self.row_ids[row]
        shown = ", ".join(
            f"{name}={show(value)}" for name, value in zip(self.names, inputs, strict=False)
        )
        self.records[row] = {
            "type": secret.redact(type(error).__name__),
            "message": _shorten(secret.redact(str(error)), 2000),
            "traceback": own_frames(error),
            "column": self.column,
            "row": row_id,
            "inputs": secret.redact(shown),
            "attempts": attempts,
            "repeat": f"{self.udf.name}.test(table, row_ids=[{row_id}])",
        }

    def job_error(self, row):
        """What ends the job, from the record of a row."""
        record = self.records[row]
        return _core.FunctionError(
            f"column {self.column!r}, row {record['row']}: {record['type']}: {record['message']} "
            f"({record['inputs']}); repeat it by {record['repeat']}"
        )

    def sorted(self):
        return [
            (row, json.dumps(record, ensure_ascii=False))
            for row, record in sorted(self.records.items())
        ]


class Applier:
    """A function, set up, with how it is called and what happens when it raises."""

    def __init__(self, udf, inputs, outputs, function=None):
        """inputs: names of columns as the function knows them; outputs: those that it fills."""
        self.udf = udf
        self.inputs = inputs
        self.column = ", ".join(outputs)
        self.kind = udf.signature.kind
        self.single = udf.signature.outputs is None
        self.policy = udf.options.policy
        self.timeout = udf.options.timeout
        self.fills_blobs = blob_values.fills_blobs(udf)
        self.function = udf.fresh() if function is None else function
        self.meter = Meter(udf.options.rate_limit)
        self.rows_max = None  # of a call, where a GPU had no memory for more
        self.is_async = udf.is_async
        self.in_flight = udf.options.async_concurrency
        if self.is_async and self.kind != "scalar":
            from leman.apply_async import blocking

            self.function = blocking(self.function, self.timeout)
            self.timeout = None
        annotations = list(udf.signature.annotations.values())
        self.files = [
            position
            for position, annotation in enumerate(annotations)
            if blob_values.is_blob_file(annotation)
        ]
        self.numpy = [
            position
            for position, annotation in enumerate(annotations)
            if datatypes.is_numpy_array(datatypes.strip_optional(annotation)[0])
        ]

    def __call__(self, schema, array, row_ids, output, port=None, keeping=None):
        """Capsules of a batch, the id of each row, the capsule of the struct wanted.

        row_ids: a sequence, or bytes of 64-bit numbers. port: what the job lets calls ask, or None.
        keeping: rows that are finished, row -> value, begin(row) and keep(value), which say what
        becomes of the others one by one.

        The capsules are used up. Returns (capsule of the results, [(row, record of its failure)],
        rows at the end that the job left because it stops, whether results are durable already).
        """
        if isinstance(row_ids, bytes):
            row_ids = memoryview(row_ids).cast("Q")
        failure = Failure(self.udf, self.column, row_ids, self.inputs)
        with counting() as spent, prints.Call(row_ids):
            if self.kind == "scalar":
                made = self._by_rows(schema, array, len(row_ids), output, failure, port, keeping)
            else:
                from leman.apply_arrow import apply_batches

                made = apply_batches(self, schema, array, output, failure, port)
        if port is not None and (spent.tokens or spent.cost):
            port.used(0, spent.tokens, spent.cost)
        kept = self.is_async and self.kind == "scalar"
        left = len(row_ids) - _core.array_length(made)
        return made, failure.sorted() if failure.records else [], left, kept

    def asking(self, port):
        """What is called: the function, with its limit of time, asking the job before each call."""
        function = self.function
        if self.fills_blobs and self.kind == "scalar":
            function = blob_values.storing(function, self.udf, self._sink(port))
        if self.timeout is not None:
            function = functools.partial(self._timed, function)
        if port is None or not port.metered:
            return function
        return metered(function, self.meter, port)

    @staticmethod
    def _sink(port):
        """Where blobs are streamed to; None: they are values."""
        return None if port is None else port.blobs

    def pause(self, error, seconds, port):
        """Wait before another attempt."""
        if port is None or not port.metered:  # otherwise all calls of the job wait for it
            seconds = max(seconds, retry_after(error) or 0.0)
        rest(port, seconds)

    # One row at a time

    def _columns(self, schema, array, start, count, port):
        columns = _core.values_columns(schema, array, start, count, self.numpy)
        for position in self.numpy:
            columns[position] = numpy_column(schema, array, position, start, count)
        if self.files:
            names = [child[1] for child in _core.schema_describe(schema)[4]]
        for position in self.files:
            columns[position] = blob_values.files(columns[position], names[position], start, port)
        return columns

    def _by_rows(self, schema, array, count, output, failure, port, keeping):
        results = [] if self.is_async else prints.by_rows([])
        try:
            for start in range(0, count, _CHUNK_ROWS):
                columns = self._columns(schema, array, start, min(_CHUNK_ROWS, count - start), port)
                if self.is_async:
                    self._in_flight(columns, start, results, failure, output, port)
                else:
                    self._chunk(columns, start, results, failure, port, keeping)
        except Stopped:
            pass  # what is computed counts
        if self._sink(port) is not None:
            output = blob_values.placed(output)
        made, wrong = _core.values_array(output, results, self.single)
        if wrong:
            made = self._wrong(schema, array, output, results, wrong, failure)
        return made

    def _in_flight(self, columns, start, results, failure, output, port):
        """Append the results of the rows from `start` on, many of which are called at once."""
        from leman.apply_async import Keeper, Rows

        store = None
        if self.fills_blobs:
            store = blob_values.storing(lambda value: value, self.udf, self._sink(port))
            if port is not None:
                output = blob_values.placed(output)

        def make(value):
            made, wrong = _core.values_array(output, [value], self.single)
            return None if wrong else made

        keep = Keeper(port, make) if port is not None and port.paid else None
        made = Rows(self, columns, start, failure, port, keep, store).run()
        results.extend(made)
        if len(made) < len(columns[0]):
            raise Stopped

    def _chunk(self, columns, start, results, failure, port, keeping):
        """Append the results of the rows from `start` on."""
        iterators = [iter(column) for column in columns]
        function = asking = self.asking(port)
        end = start + len(columns[0])
        # What stands for a blob is good in this call only, and not kept beyond it.
        finished, begin, keep = (not self.fills_blobs and keeping) or (None, None, None)
        if finished:
            function = recalled(function, finished)
            iterators.insert(0, iter(range(start, end)))
        if begin:
            begin(start)
        while len(results) < end:
            try:
                # What map() has given before a row raises stays, and the iterators stand behind it.
                rows = map(function, *iterators)
                results.extend(map(keep, rows) if keep else rows)
                if len(results) == end:
                    break
                raise RuntimeError("the function raised StopIteration")
            except (Exception, SystemExit) as error:
                row = len(results)
                arguments = [column[row - start] for column in columns]
                again = functools.partial(self._again, asking, port)
                results.append(again(row, arguments, error, failure))
                if begin and row in failure.records:
                    begin(row + 1)
                elif keep:
                    keep(results[row])

    def _timed(self, function, *arguments):
        with _Alarm(self.timeout):
            return function(*arguments)

    def _again(self, function, port, row, arguments, error, failure):
        """A row has raised: what the policy says. None where it stays failed."""
        attempts = 1
        while True:
            action, seconds = self.policy.decide(error, attempts)
            if action != "retry":
                break
            self.pause(error, seconds, port)
            attempts += 1
            try:
                return function(*arguments)
            except (Exception, SystemExit) as again:
                error = again
        failure.add(row, error, attempts, arguments)
        if action == "fail":
            raise failure.job_error(row) from error
        return None

    def _wrong(self, schema, array, output, results, wrong, failure):
        """Values of another type than declared fail their rows."""
        for row, text in wrong:
            if row in failure.records:
                continue
            results[row] = None
            error = WrongResultError(f"{self.udf.name}() returned {text}")
            failure.add(row, error, 1, [c[0] for c in self._columns(schema, array, row, 1, None)])
            if self.policy.decide(error, 1)[0] == "fail":
                raise failure.job_error(row) from None
        made, left = _core.values_array(output, results, self.single)
        if left:
            raise _core.FunctionError(f"{self.udf.name}() returned {left[0][1]}")
        return made


def recalled(function, finished):
    """The function, given the number of the row first, but for rows whose value is known."""

    def recall(row, *arguments):
        return finished[row] if row in finished else function(*arguments)

    return recall


def numpy_column(schema, array, position, start, count):
    """A column of lists of numbers as read-only numpy arrays that share its memory."""
    import numpy

    memory, letter, places = _core.values_lists(schema, array, position, start, count)
    flat = numpy.frombuffer(memory, dtype=_NUMPY[letter])
    return [None if place is None else flat[place[0] : place[1]] for place in places]
