# SPDX-License-Identifier: Apache-2.0
"""Tables for Ray Data."""

import ray
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask

from leman import _core
from leman.arrow import Batch, StreamCapsule, pyarrow

_ROWS_PER_TASK_MIN = 1024


class TableDatasource(Datasource):
    """The rows of a table's version, read by Ray's tasks, each some of the rows.

    ``ray.data.read_datasource(TableDatasource(table))``, or ``read_table(table)``.
    """

    def __init__(self, table, columns=None, where=None, batch_size=1024):
        super().__init__()
        self._place = table._place
        self._branch = table._branch
        self._version = table.version
        self._options = {
            "columns": [columns] if isinstance(columns, str) else columns,
            "blob_bytes": True,
        }
        self._where = where
        self._batch_size = batch_size
        self._num_rows = len(table)
        self._bytes = table.info()["data_bytes"]
        names = self._options["columns"]
        self._schema = table.scan(columns=names, blobs="bytes", limit=0).schema

    def get_name(self):
        return "Leman"

    def estimate_inmemory_data_size(self):
        return self._bytes

    def get_read_tasks(self, parallelism, per_task_row_limit=None, data_context=None):
        ids = None if self._where is None else self._matching_ids()
        total = self._num_rows if ids is None else len(ids)
        count = max(1, min(parallelism, -(-total // _ROWS_PER_TASK_MIN)))
        tasks = []
        for i in range(count):
            first, end = total * i // count, total * (i + 1) // count
            metadata = BlockMetadata(
                num_rows=end - first,
                size_bytes=self._bytes * (end - first) // max(self._num_rows, 1),
                input_files=None,
                exec_stats=None,
            )
            chosen = None if ids is None else ids[first:end].tobytes()
            read = _Read(self, first, end - first, chosen)
            tasks.append(
                ReadTask(read, metadata, self._schema, per_task_row_limit=per_task_row_limit)
            )
        return tasks

    def _matching_ids(self):
        """The ids of the rows that match, looked up once for all tasks."""
        core = _core.Table(*self._place, version=self._version, branch=self._branch)
        stream = core.scan(columns=[], where=self._where, with_row_id=True)
        rows = pyarrow().RecordBatchReader.from_stream(StreamCapsule(stream)).read_all()
        return rows["_rowid"].to_numpy()


class _Read:
    """Reads rows [first, first + count) of the table, or those with ids; sent to a task of Ray."""

    def __init__(self, source, first, count, ids):
        self._place, self._branch, self._version = source._place, source._branch, source._version
        self._options, self._batch_size = source._options, source._batch_size
        self._first, self._count, self._ids = first, count, ids

    def __call__(self):
        pa = pyarrow()
        core = _core.Table(*self._place, version=self._version, branch=self._branch)
        if self._ids is None:
            stream = core.scan(
                offset=self._first,
                limit=self._count,
                batch_rows=self._batch_size,
                threads=1,
                **self._options,
            )
            for batch in pa.RecordBatchReader.from_stream(StreamCapsule(stream)):
                yield pa.Table.from_batches([batch])
            return
        for at in range(0, len(self._ids), 8 * self._batch_size):
            ids = self._ids[at : at + 8 * self._batch_size]
            yield pa.Table.from_batches([Batch(*core.take_ids(ids, **self._options)).to_arrow()])


def read_table(table, columns=None, where=None, **options):
    """A ``ray.data.Dataset`` of a table; `options` are those of ``ray.data.read_datasource()``."""
    return ray.data.read_datasource(TableDatasource(table, columns, where), **options)
