# SPDX-License-Identifier: Apache-2.0
"""Rows of a table as files of other formats."""

import os
import secrets

from leman.arrow import pyarrow
from leman.records import write_array_record

COMPRESSIONS = ("snappy", "zstd", "gzip", "brotli", "lz4", "none")


def export_parquet(scan, path, *, rows_per_group=None, compression="snappy"):
    """Write a scan as one Parquet file, which is there as a whole or not at all; its rows."""
    import pyarrow.parquet as pq

    if compression not in COMPRESSIONS:
        raise ValueError(f"compression is one of {', '.join(COMPRESSIONS)}; not {compression!r}")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{os.fspath(path)} cannot be written: there is no folder {folder}")
    reader = pyarrow().RecordBatchReader.from_stream(scan)
    draft = f"{os.fspath(path)}.{secrets.token_hex(8)}.tmp"
    rows = 0
    try:
        with pq.ParquetWriter(draft, reader.schema, compression=compression) as writer:
            for batch in reader:
                writer.write_batch(batch, row_group_size=rows_per_group)
                rows += batch.num_rows
        with open(draft, "rb") as file:
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        if os.path.exists(draft):
            os.remove(draft)
        raise
    return rows


def export_array_record(scan, path, *, column=None, options="group_size:1"):
    """Write a column of a scan as an ArrayRecord file; the number of records."""
    return write_array_record(path, scan, column, options)
