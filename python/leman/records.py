# SPDX-License-Identifier: Apache-2.0
"""ArrayRecord files: numbered records in groups."""

import array
import os

from leman import _core
from leman.arrow import StreamCapsule, pyarrow
from leman.data import Rows
from leman.ingest import Source, expand, file_parts


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
    def __init__(self, paths, column):
        self._files = expand(paths, ".array_record")
        self._column = column
        self.title = f"array_record {self._files[0]}"

    @property
    def parts(self):
        return file_parts(self._files)

    def open(self, number):
        return StreamCapsule(_core.ArrayRecord(self._files[number]).stream(self._column, 1))


def array_record(paths, column="record"):
    """The records of ArrayRecord files, one row each.

    paths: a file, a pattern as for ``webdataset()``, a folder, or a list of them.
    column: what the column of records is called.
    """
    return _ArrayRecords(paths, column)


def write_array_record(path, data, column=None, options="group_size:1", *, durable=True):
    """Write a column of bytes as an ArrayRecord file; returns the number of records.

    data: see ``Table.append()``; a table or a scan too.
    column: which one; None takes the only one that holds bytes or texts.
    options: as the array_record library takes them: "group_size:64,zstd:3", "uncompressed",
        "brotli:5", "snappy", "max_parallelism:4".
    """
    with Rows(data) as stream:
        return _core.write_array_record(os.fspath(path), stream, column, options, durable)
