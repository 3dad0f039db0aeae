# SPDX-License-Identifier: Apache-2.0
"""Write the tables that the unit tests of scan and take read: make_tables.py [FOLDER]

Every value follows from the row's `id`, so that a test can tell what a row should hold:

    id     int64
    text   string         "text <id>", null where id is a multiple of 7
    info   struct         w: int32 = id + 1
    tags   list<int32>    id mod 4 items: id, id + 1, ...
    twice  int64          2 id where the table has it
    empty  int32          null in every row

Run with the pylance that tests/requirements.txt pins.
"""

import shutil
import sys
from datetime import timedelta
from pathlib import Path

import lance
import pyarrow as pa

HERE = Path(__file__).parent


def rows(first, count, added=False, whole=True):
    """Rows with these ids; `whole`: with the columns that are dropped or renamed later."""
    ids = list(range(first, first + count))
    text = [None if i % 7 == 0 else f"text {i}" for i in ids]
    tags = pa.array([[i + k for k in range(i % 4)] for i in ids], pa.list_(pa.int32()))
    width = pa.array([i + 1 for i in ids], pa.int32())
    height = pa.array([i + 2 for i in ids], pa.int32())
    if whole:
        info = pa.StructArray.from_arrays([height, width], names=["h", "w"])
        columns = {"id": ids, "dropped": [i * 1.5 for i in ids], "name": text, "info": info}
        return pa.table({**columns, "tags": tags})
    info = pa.StructArray.from_arrays([width], names=["w"])
    columns = {"id": ids, "text": text, "info": info, "tags": tags}
    if added:
        columns["twice"] = [2 * i for i in ids]
    return pa.table(columns)


def history(path, version, stable):
    """Fragments of 20 rows; deletions of both kinds; columns renamed, dropped and added."""
    table = lance.write_dataset(
        rows(0, 60),
        path,
        max_rows_per_file=20,
        data_storage_version=version,
        enable_stable_row_ids=stable,
    )
    table.delete("id = 3 or id = 59")
    table.delete("id >= 20 and id < 38 and id != 25")
    table.alter_columns({"path": "name", "name": "text"})
    table.drop_columns(["dropped"])
    table.drop_columns(["info.h"])
    table.add_columns({"twice": "id * 2"})
    table.add_columns([pa.field("empty", pa.int32())])
    lance.write_dataset(rows(60, 10, added=True, whole=False), path, mode="append")
    return lance.dataset(path)


def keep_newest(path):
    """Leave what readers of the newest version need."""
    lance.dataset(path).cleanup_old_versions(timedelta(0))
    shutil.rmtree(path / "_transactions")


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for version in ("2.0", "2.1", "2.2"):
        path = folder / f"history-{version}"
        shutil.rmtree(path, ignore_errors=True)
        history(path, version, stable=False)
        keep_newest(path)
    for name in ("stable", "compacted"):
        path = folder / name
        shutil.rmtree(path, ignore_errors=True)
        table = history(path, "2.1", stable=True)
        table.update({"twice": "id * 2 + 1000"}, where="id = 5 or id = 45 or id = 62")
        if name == "compacted":
            table = lance.dataset(path)
            table.optimize.compact_files(target_rows_per_fragment=100)
        keep_newest(path)


if __name__ == "__main__":
    main()
