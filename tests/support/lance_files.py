# SPDX-License-Identifier: Apache-2.0
"""Lance files written by pylance."""

import pyarrow as pa
from lance.file import LanceFileWriter


def cut(table, rows):
    """The table in batches of so many rows, each with buffers of its own.

    pylance cannot write every array that is a slice of another one.
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows or None)
    return pa.ipc.open_stream(sink.getvalue())


def write(path, table, version, batch_rows=0, page_bytes=0):
    """Write a table as a file; `batch_rows` at a time, pages cut above `page_bytes` in memory."""
    options = {"data_cache_bytes": page_bytes} if page_bytes else {}
    with LanceFileWriter(str(path), table.schema, version=version, **options) as writer:
        for batch in cut(table, batch_rows):
            writer.write_batch(batch)
    return path


def write_plan(path, plan, version):
    """Write a `strategies.TablePlan` and return its table."""
    table = plan.table()
    write(path, table, version, plan.batch_rows, plan.page_bytes)
    return table
