#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the golden row ids and deletion files of tables that pylance made.

    .venv/bin/python tests/golden/table/make.py

    row_ids-<case>.bin    a RowIdSequence, as the manifest holds it
    row_ids-<case>.u64    its ids, as pylance scans them; 64-bit numbers
    versions-<case>.bin   the RowDatasetVersionSequence of the last updates of a fragment
    versions-<case>.u64   its versions
    deletion-<case>.bin   a deletion file of bitmap form: an array and a bitmap container
    deletion-<case>.arrow   of Arrow form

Which rows the deletion files name is in tests/unit/table/test_deletion.c as it is here.
"""

import struct
import tempfile
from pathlib import Path

import lance
import pyarrow as pa

HERE = Path(__file__).resolve().parent
FIELD_FRAGMENT, FIELD_ID, FIELD_ROW_IDS, FIELD_UPDATED_AT = 2, 1, 5, 7


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def read_message(data):
    """The fields of a message as (number, value) pairs."""
    at = 0
    fields = []
    while at < len(data):
        tag, at = read_varint(data, at)
        value, at = read_varint(data, at)
        if tag & 7 == 2:
            value, at = data[at : at + value], at + value
        fields.append((tag >> 3, value))
    return fields


def read_fragment(root, fragment_id):
    """The fields of a fragment of the newest manifest; its names fall as versions rise."""
    data = min((root / "_versions").glob("*.manifest")).read_bytes()
    (position,) = struct.unpack("<Q", data[-16:-8])
    (length,) = struct.unpack("<I", data[position : position + 4])
    for number, value in read_message(data[position + 4 : position + 4 + length]):
        if number == FIELD_FRAGMENT:
            fields = dict(read_message(value))
            if fields.get(FIELD_ID, 0) == fragment_id:
                return fields
    raise KeyError(fragment_id)


def rows(count):
    return pa.table({"i": pa.array(range(count), pa.int64())})


def put_numbers(name, format_code, numbers):
    (HERE / name).write_bytes(struct.pack(f"<{len(numbers)}{format_code}", *numbers))


def put_ids(case, root, fragment_id):
    fragment = read_fragment(root, fragment_id)
    columns = ["_rowid", "_row_last_updated_at_version"]
    found = lance.dataset(root).get_fragment(fragment_id).to_table(columns=columns).to_pydict()
    (HERE / f"row_ids-{case}.bin").write_bytes(fragment[FIELD_ROW_IDS])
    put_numbers(f"row_ids-{case}.u64", "Q", found[columns[0]])
    (HERE / f"versions-{case}.bin").write_bytes(fragment[FIELD_UPDATED_AT])
    put_numbers(f"versions-{case}.u64", "Q", found[columns[1]])


def make_ids(case, folder, count, change):
    """Change a table of `count` rows; the fragment that comes of it is kept."""
    root = Path(folder) / f"{case}.lance"
    change(lance.write_dataset(rows(count), root, enable_stable_row_ids=True))
    put_ids(case, root, lance.dataset(root).get_fragments()[-1].fragment_id)


def update(where):
    return lambda table: table.update({"i": "i + 1000000"}, where=where)


def delete_and_compact(where):
    def change(table):
        table.delete(where)
        table.optimize.compact_files(materialize_deletions_threshold=0.0)

    return change


def update_and_compact(table):
    table.update({"i": "i + 1000000"}, where="i < 200 AND i % 20 = 7")
    table.delete("i = 5 OR i = 150")
    table.optimize.compact_files(materialize_deletions_threshold=0.0)


def make_deletion(case, folder, count, where):
    root = Path(folder) / f"deletion-{case}.lance"
    table = lance.write_dataset(rows(count), root)
    table.delete(where)
    (path,) = (root / "_deletions").iterdir()
    (HERE / f"deletion-{case}{path.suffix}").write_bytes(path.read_bytes())


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_ids("range", folder, 100, lambda table: None)
        make_ids("holes", folder, 200, delete_and_compact("i IN (5, 77)"))
        make_ids("bitmap", folder, 200, update("i % 3 = 1"))
        make_ids("sorted", folder, 20000, update("i % 3000 = 17"))
        make_ids("many", folder, 300, update_and_compact)
        make_deletion("few", folder, 1000, "i IN (900, 3, 44)")
        make_deletion("half", folder, 2000, "i % 2 = 1")
        make_deletion("many", folder, 70000, "i % 13 = 4")


if __name__ == "__main__":
    main()
