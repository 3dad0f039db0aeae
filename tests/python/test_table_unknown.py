# SPDX-License-Identifier: Apache-2.0
"""What a manifest says that Leman does not know stays in it, whatever is done to the table."""

import struct
from pathlib import Path

import leman
import pyarrow as pa
import pytest
from lance_pages import varint

UNKNOWN = 900  # the number of a field that no message has
FIELD, FRAGMENT, FORMAT, FILE, DELETION = 1, 2, 15, 2, 3  # numbers of messages in others


def number(value):
    text = b""
    while value > 127:
        text += bytes([value & 127 | 128])
        value >>= 7
    return text + bytes([value])


def put(field, text):
    return number(field << 3 | 2) + number(len(text)) + text


def marked(text, name, inside=None):
    """A message with a field more, and so the messages in it that `inside` names."""
    made, at = b"", 0
    while at < len(text):
        start = at
        tag, at = varint(text, at)
        if tag & 7 == 2:
            size, at = varint(text, at)
            part, at = text[at : at + size], at + size
            if tag >> 3 in (inside or {}):
                made += put(tag >> 3, marked(part, *inside[tag >> 3]))
                continue
        elif tag & 7 == 0:
            _, at = varint(text, at)
        else:
            at += 8 if tag & 7 == 1 else 4
        made += text[start:at]
    return made + put(UNKNOWN, name)


MARKS = {
    FIELD: (b"<field>",),
    FRAGMENT: (b"<fragment>", {FILE: (b"<file>",), DELETION: (b"<deletion>",)}),
    FORMAT: (b"<format>",),
}


def manifest(path):
    """The newest manifest: its path, its bytes, and where the message in it begins and ends."""
    newest = min(Path(path, "_versions").glob("*.manifest"))
    data = newest.read_bytes()
    (start,) = struct.unpack("<Q", data[-16:-8])
    (size,) = struct.unpack("<I", data[start : start + 4])
    return newest, data, start + 4, start + 4 + size


def marks(path):
    _, data, start, end = manifest(path)
    names = ("manifest", "format", "field", "fragment", "file", "deletion")
    return [data[start:end].count(f"<{name}>".encode()) for name in names]


@pytest.fixture
def table(tmp_path):
    """Three fragments of three columns, two with deleted rows."""
    rows = {"id": range(30), "text": [f"row {i}" for i in range(30)], "small": range(30)}
    kinds = pa.schema([("id", pa.int64()), ("text", pa.string()), ("small", pa.int16())])
    path = str(tmp_path / "t.lance")
    leman.create(path, rows, kinds, max_rows_per_fragment=10).delete("id in (3, 25)")
    newest, data, start, end = manifest(path)
    text = marked(data[start:end], b"<manifest>", MARKS)
    newest.write_bytes(data[: start - 4] + struct.pack("<I", len(text)) + text + data[end:])
    assert marks(path) == [1, 1, 3, 3, 3, 2]
    return leman.open(path)


ROWS = {"id": [15, 99], "text": ["x", "y"], "small": [1, 2]}


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda table: table.append(ROWS), [1, 1, 3, 3, 3, 2]),
        (lambda table: table.delete("id = 15"), [1, 1, 3, 3, 3, 2]),
        (lambda table: table.update("id = 15", {"text": "'x'"}), [1, 1, 3, 3, 3, 2]),
        (lambda table: table.upsert(ROWS, on="id"), [1, 1, 3, 3, 3, 2]),
        (lambda table: table.upsert({"id": [15], "small": [7]}, on="id"), [1, 1, 3, 3, 3, 2]),
        (lambda table: table.add_columns({"more": "id + 1"}), [1, 1, 3, 3, 3, 2]),
        (lambda table: table.add_columns(pa.field("more", pa.int8())), [1, 1, 3, 3, 3, 2]),
        (lambda table: table.add_columns({"more": range(28)}), [1, 1, 3, 3, 3, 2]),
        (lambda table: table.drop_columns("small"), [1, 1, 2, 3, 3, 2]),
        (lambda table: table.rename_column("small", "other"), [1, 1, 3, 3, 3, 2]),
        (
            lambda table: table.alter_columns({"path": "small", "data_type": pa.int32()}),
            [1, 1, 3, 3, 3, 2],
        ),
        (lambda table: table.restore(2), [1, 1, 3, 3, 3, 2]),
        (lambda table: table.compact(), [1, 1, 3, 0, 0, 0]),
    ],
)
def test_unknown_fields_are_kept(table, change, left):
    change(table)
    assert table.version == 3
    assert marks(table.path) == left
    assert not table.verify().findings


def test_no_transaction_files_where_the_table_says_so(table):
    """Flag 32 asks writers to keep transactions in the manifest, however large they are."""
    newest, data, start, end = manifest(table.path)
    text = data[start:end] + number(10 << 3) + number(1 | 2 | 32)  # the last one counts
    newest.write_bytes(data[: start - 4] + struct.pack("<I", len(text)) + text + data[end:])
    table = leman.open(table.path)
    table.append(ROWS, message="x" * 100_000)
    assert not list(Path(table.path, "_transactions").glob("*"))
    assert table.versions()[-1]["message"] == "x" * 100_000
