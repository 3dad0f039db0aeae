# SPDX-License-Identifier: Apache-2.0
"""Tables for Ray Data.

Ray Data has no use for small blocks: a block holds BLOCK_BYTES of rows, whatever the number of rows
that is read at a time, and a task of Ray makes one block or a few.
"""

import ray
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask

from leman.arrow import Batch, StreamCapsule, pyarrow
from leman.ray_sight import Place

BLOCK_BYTES = 64 << 20
BLOCK_BYTES_MIN = 16 << 20


class TableDatasource(Datasource):
    """The rows of a table's version, read by Ray's tasks, each some of the rows.

    ``ray.data.read_datasource(TableDatasource(table))``, or ``read_table(table)``.
    """

    def __init__(
        self, table, columns=None, where=None, batch_size=None, version=None, path_map=None
    ):
        super().__init__()
        if version is not None:
            table = type(table)._open(*table._place, version, table._branch)
        self._place = Place.of(table, path_map)
        self._version, self._info = table.version, table.info()
        self._options = {
            "columns": [columns] if isinstance(columns, str) else columns,
            "blob_bytes": True,
        }
        self._ids = _matching_ids(table, where)
        self._batch_size = batch_size or 1024
        self._num_rows = len(table)
        self._bytes = self._info["data_bytes"]
        names = self._options["columns"]
        self._schema = table.scan(columns=names, blobs="bytes", limit=0).schema

    def get_name(self):
        return "Leman"

    def estimate_inmemory_data_size(self):
        return self._bytes

    def ranges(self, parallelism):
        """(first, count, ids) of the rows of each task: a block of them, or as few tasks."""
        ids = self._ids
        total = self._num_rows if ids is None else len(ids)
        share = self._bytes * total // max(self._num_rows, 1)
        count = max(1, min(max(parallelism, -(-share // BLOCK_BYTES)), share // BLOCK_BYTES_MIN))
        found = []
        for i in range(count):
            first, end = total * i // count, total * (i + 1) // count
            chosen = None if ids is None else ids[first:end].tobytes()
            found.append((first, end - first, chosen))
        return found

    def reader(self, first, count, ids):
        return _Read(self, first, count, ids)

    def get_read_tasks(self, parallelism, per_task_row_limit=None, data_context=None):
        tasks = []
        for first, count, ids in self.ranges(parallelism):
            metadata = BlockMetadata(
                num_rows=count,
                size_bytes=self._bytes * count // max(self._num_rows, 1),
                input_files=None,
                exec_stats=None,
            )
            read = self.reader(first, count, ids)
            tasks.append(
                ReadTask(read, metadata, self._schema, per_task_row_limit=per_task_row_limit)
            )
        return tasks


def _matching_ids(table, where):
    """The ids of the rows that match, looked up once for all tasks; None: all rows do."""
    if where is None:
        return None
    stream = table._core.scan(columns=[], where=where, with_row_id=True)
    rows = pyarrow().RecordBatchReader.from_stream(StreamCapsule(stream)).read_all()
    return rows["_rowid"].to_numpy()


class _Read:
    """Reads rows [first, first + count) of the table, or those with ids; sent to a task of Ray."""

    def __init__(self, source, first, count, ids):
        self._place, self._version, self._info = source._place, source._version, source._info
        self._options, self._batch_size = source._options, source._batch_size
        self._first, self._count, self._ids = first, count, ids
        self._schema = source._schema

    def __call__(self):
        """Blocks, each a table."""
        pa = pyarrow()
        batches, size = [], 0
        for batch in self.batches():
            batches.append(batch)
            size += batch.nbytes
            if size >= BLOCK_BYTES:
                yield pa.Table.from_batches(batches).combine_chunks()
                batches, size = [], 0
        if batches or not self._count:
            yield pa.Table.from_batches(batches, schema=self._schema).combine_chunks()

    def batches(self):
        core = self._place.open_core(self._version, self._info)
        if self._ids is None:
            stream = core.scan(
                offset=self._first,
                limit=self._count,
                batch_rows=self._batch_size,
                threads=1,
                **self._options,
            )
            yield from pyarrow().RecordBatchReader.from_stream(StreamCapsule(stream))
            return
        for at in range(0, len(self._ids), 8 * self._batch_size):
            ids = self._ids[at : at + 8 * self._batch_size]
            yield Batch(*core.take_ids(ids, **self._options)).to_arrow()


def read_table(
    table, columns=None, where=None, *, batch_size=None, version=None, path_map=None, **options
):
    """A ``ray.data.Dataset`` of a table; `options` are those of ``ray.data.read_datasource()``.

    path_map: as for ``backfill()``.
    """
    source = TableDatasource(table, columns, where, batch_size, version, path_map)
    # Without a number Ray would cut the blocks into smaller ones.
    options.setdefault("override_num_blocks", len(source.ranges(1)))
    return ray.data.read_datasource(source, **options)
