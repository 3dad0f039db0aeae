# SPDX-License-Identifier: Apache-2.0
"""Write the Arrow IPC files of this folder with pyarrow: make.py"""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa

HERE = Path(__file__).resolve().parent


def write_file(name, table, compression=None):
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(HERE / name), "wb") as out:
        with pa.ipc.new_file(out, table.schema, options=options) as writer:
            writer.write_table(table)


def write_stream(name, table, compression=None):
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(HERE / name), "wb") as out:
        with pa.ipc.new_stream(out, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=3)


def row_ids(count):
    return pa.table({"row_id": pa.array([3 * i for i in range(count)], pa.uint32())})


def types():
    return pa.table(
        {
            "n": pa.array([1, None, 3, 4, 5], pa.int16()),
            "null": pa.nulls(5),
            "flag": pa.array([True, None, False, True, True]),
            "text": pa.array(["a", None, "", "four", "f" * 40]),
            "view": pa.array(["a", None, "", "longer than twelve", "f" * 40], pa.string_view()),
            "word": pa.array(["x", "y", None, "x", "x"]).dictionary_encode(),
            "list": pa.array([[1], None, [], [2, None], [3]]),
            "map": pa.array([[("k", 1)], None, [], [("a", None)], []], pa.map_("string", "int8")),
            "pair": pa.array([[1, 2], None, [3, 4], [5, 6], [7, 8]], pa.list_(pa.int8(), 2)),
            "struct": pa.array([{"x": 1.5}, None, {"x": None}, {"x": 2.0}, {"x": 3.0}]),
            "price": pa.array([Decimal("1.25"), None] + [Decimal("-3.00")] * 3),
        }
    )


def main():
    write_file("row_ids_plain.arrow", row_ids(100))
    write_file("row_ids_zstd.arrow", row_ids(5000), "zstd")
    write_file("row_ids_few_zstd.arrow", row_ids(2), "zstd")
    write_file("row_ids_lz4.arrow", row_ids(20000), "lz4")
    write_stream("types.arrows", types())
    write_stream("types_lz4.arrows", types(), "lz4")


if __name__ == "__main__":
    main()
