# SPDX-License-Identifier: Apache-2.0
"""ArrayRecord files: numbered records in groups."""

import array
import os

from leman import _core
from leman.arrow import StreamCapsule, pyarrow
from leman.data import Rows
from leman.ingest import Problem, Source, check_on_error, expand, file_parts


class ArrayRecordFile:
    """An ArrayRecord file that is read: all records in order, or some by their numbers."""

    def __init__(self, path):
        self._core = _core.ArrayRecord(os.fspath(path))
        self._count, self.group_count, self.group_size, self.options = self._core.info()

    def __len__(self):
        return self._count

    def __arrow_c_stream__(self, requested_schema=None):
        return self._core.stream("record", 0)

    def to_arrow(self):
        """All records as a ``pyarrow.Table`` of one column, "record"."""
        return pyarrow().table(self)

    def take(self, numbers):
        """Records by number, as a ``pyarrow.LargeBinaryArray``."""
        pa = pyarrow()
        if hasattr(numbers, "to_numpy"):
            numbers = numbers.to_numpy(zero_copy_only=False).tolist()
        capsule = self._core.take(array.array("Q", numbers))
        return pa.array(_LargeBinaries(capsule))


class _LargeBinaries:
    def __init__(self, capsule):
        self._capsule = capsule

    def __arrow_c_array__(self, requested_schema=None):
        return pyarrow().large_binary().__arrow_c_schema__(), self._capsule


class _ArrayRecords(Source):
    def __init__(self, paths, column, on_error):
        self._files = expand(paths, ".array_record")
        self._column = column
        self._on_error = on_error
        self.problems = []
        self.title = f"array_record {self._files[0]}"

    def _note(self, *values):
        self.problems.append(Problem(*values))

    @property
    def parts(self):
        return file_parts(self._files)

    def open(self, number):
        path = self._files[number]
        report = None if self._on_error == "fail" else self._note
        try:
            return StreamCapsule(_core.ArrayRecord(path).stream(self._column, 1, report))
        except _core.LemanError as error:
            if report is None:
                raise
            return self._nothing(path, str(error))

    def _nothing(self, path, message):
        """No rows, of a file that is told of when they are read."""
        pa = pyarrow()

        def batches():
            self._note(path, 0, "", "", message)
            yield from ()

        schema = pa.schema([(self._column, pa.large_binary())])
        return self.reader(schema, batches())


def array_record(paths, column="record", *, on_error="fail"):
    """The records of ArrayRecord files, one row each.

    paths: a file, a pattern as for ``webdataset()``, a folder, or a list of them.
    column: what the column of records is called.
    on_error: "fail", or "skip" groups of records that cannot be read and files without a footer;
        they are in ``problems`` then, with their offset. "null" does the same.
    """
    check_on_error(on_error)
    return _ArrayRecords(paths, column, on_error)


def write_array_record(path, data, column=None, options="group_size:1", *, durable=True):
    """Write a column of bytes as an ArrayRecord file; returns the number of records.

    data: see ``Table.append()``; a table or a scan too.
    column: which one; None takes the only one that holds bytes or texts.
    options: as the array_record library takes them: "group_size:64,zstd:3", "uncompressed",
        "brotli:5", "snappy", "max_parallelism:4".
    """
    with Rows(data) as stream:
        return _core.write_array_record(os.fspath(path), stream, column, options, durable)
