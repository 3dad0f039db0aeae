# SPDX-License-Identifier: Apache-2.0
"""Tables for Grain: rows by their number."""

import operator
import os

from leman import _core
from leman.arrow import Batch
from leman.feed_format import converter


class TableSource:
    """A table as a ``grain.python.RandomAccessDataSource``: ``len()``, ``[i]`` and ``[[i, j]]``.

    A row is a dict. Rows count as a scan gives them; the version is that of the table when the
    source was made. A source can be pickled, and used in a process that is forked.
    """

    def __init__(self, table, columns=None, *, format="python"):
        if format not in ("python", "numpy"):
            raise ValueError(f'format is "python" or "numpy", not {format!r}')
        self._place = table._place
        self._branch = table._branch
        self._version = table.version
        self._columns = [columns] if isinstance(columns, str) else columns
        self._format = format
        self._length = len(table)
        self._core = None
        self._process = None

    def __getstate__(self):
        return dict(self.__dict__, _core=None, _process=None)

    def __repr__(self):
        return f"TableSource({os.path.join(*filter(None, self._place))!r}, {self._version})"

    def __len__(self):
        return self._length

    def _rows(self, numbers):
        if self._process != os.getpid():
            self._core = _core.Table(*self._place, version=self._version, branch=self._branch)
            self._process = os.getpid()
        packed = b"".join(self._number(i).to_bytes(8, "little") for i in numbers)
        return Batch(*self._core.take(packed, columns=self._columns, blob_bytes=True))

    def _number(self, index):
        number = operator.index(index)
        if number < 0:
            number += self._length
        if not 0 <= number < self._length:
            raise IndexError(f"row {index} of {self._length}")
        return number

    def __getitem__(self, key):
        if hasattr(key, "__index__"):
            return self.__getitems__([key])[0]
        return self.__getitems__(key)

    def __getitems__(self, keys):
        rows = self._rows(keys)
        if self._format == "python":
            return rows.to_pylist()
        columns = converter("numpy")(rows)
        return [{name: column[i] for name, column in columns.items()} for i in range(len(keys))]
