# SPDX-License-Identifier: Apache-2.0
"""Blobs as files: in tables, and as arguments of functions that read what they need of them."""

import io
import os

import leman
import pyarrow as pa
import pytest
from http_files import payload

MIB = 1 << 20
SIZES = [0, 10, 64 << 10, (64 << 10) + 1, 300_000, 5 * MIB]


@pytest.fixture(params=["2.1", "2.2", "references"])
def table(request, tmp_path):
    """Six rows of blobs of growing size, and a null."""
    values = [payload(n, size) for n, size in enumerate(SIZES)]
    if request.param == "references":
        folder = tmp_path / "files"
        folder.mkdir()
        for n, value in enumerate(values):
            (folder / f"{n}.bin").write_bytes(value)
        made = leman.create(tmp_path / "t.lance", leman.files(folder, references=True))
        made.add_columns({"n": "length(path)"})
        return made
    field = pa.field("bytes", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    rows = pa.table(
        [pa.array([*values, None], pa.large_binary()), list(range(7))],
        schema=pa.schema([field, pa.field("n", pa.int64())]),
    )
    return leman.create(tmp_path / "t.lance", rows, data_storage_version=request.param)


def whole(table):
    return table.scan(columns=["bytes"], blobs="bytes").to_arrow()["bytes"].to_pylist()


def test_take_blobs__gives_files(table):
    wanted = whole(table)
    found = table.take_blobs("bytes", range(len(wanted)))
    for blob, value in zip(found, wanted, strict=True):
        if value is None:
            assert blob is None
            continue
        assert isinstance(blob, leman.BlobFile) and blob.size == len(value)
        assert blob.read() == value
        blob.seek(-5, io.SEEK_END) if value else blob.seek(0)
        assert blob.read(3) == value[-5:][:3]
    ids = table.scan(columns=["n"], with_row_id=True).to_arrow()["_rowid"].to_pylist()
    again = table.take_blobs("bytes", row_ids=ids[::-1])
    assert [blob and blob.read() for blob in again] == wanted[::-1]


def test_take_blobs__follows_deletes_and_renames(table):
    wanted = whole(table)
    kept = table.take_blobs("bytes", [4])[0]
    table.alter_columns({"path": "bytes", "rename": "other"})
    first = table.scan(columns=["n"], with_row_id=True).to_arrow()["_rowid"].to_pylist()
    table.delete("n = 1") if len(wanted) == 7 else None
    table.compact()
    table.refresh()
    position = 3 if len(wanted) == 7 else 4
    assert table.take_blobs("other", [position])[0].read() == wanted[4]
    assert table.take_blobs("other", row_ids=[first[4]])[0].read() == wanted[4]
    assert kept.read(100) == wanted[4][:100]


def test_take_blobs__wrong_arguments_are_named(table):
    with pytest.raises(leman.InvalidError, match='column "n" holds no blobs'):
        table.take_blobs("n", [0])
    with pytest.raises(leman.NotFoundError, match="nope"):
        table.take_blobs("nope", [0])
    with pytest.raises(leman.InvalidError, match="row 99 of a table"):
        table.take_blobs("bytes", [99])
    with pytest.raises(leman.NotFoundError, match="no row with id 99"):
        table.take_blobs("bytes", row_ids=[99])
    with pytest.raises(TypeError, match="positions, or row_ids"):
        table.take_blobs("bytes")


def test_arguments__are_files(table):
    wanted = whole(table)

    @leman.udf
    def ends(bytes: leman.BlobFile) -> str:
        if bytes is None:
            return "none"
        assert isinstance(bytes, leman.BlobFile) and bytes.tell() == 0
        head = bytes.read(4)
        bytes.seek(max(bytes.size - 4, 0))
        buffer = bytearray(4)
        count = bytes.readinto(buffer)
        return f"{bytes.size} {head.hex()} {buffer[:count].hex()}"

    def expected(value):
        if value is None:
            return "none"
        return f"{len(value)} {value[:4].hex()} {value[-4:].hex() if value else ''}"

    assert ends.test(table, rows=10).outputs == [expected(value) for value in wanted]
    table.add_columns({"ends": ends})
    assert table.backfill("ends", concurrency=1).rows_failed == 0
    table.refresh()
    assert table.to_arrow(["ends"])["ends"].to_pylist() == [expected(value) for value in wanted]
    # Nothing has changed; and compaction, which moves the bytes, changes nothing.
    table.compact()
    table.refresh()
    assert table.cells("ends")["stale"] == 0
    assert table.backfill("ends").rows_planned == 0


def test_arguments__of_objects_and_coroutines(table):
    wanted = whole(table)

    @leman.udf
    class Sizes:
        def setup(self):
            self.more = 1

        def __call__(self, bytes: leman.BlobFile | None) -> int:
            return self.more + (0 if bytes is None else len(bytes.read()))

    @leman.udf
    async def last(bytes: leman.BlobFile) -> int:
        return -1 if bytes is None or not bytes.size else bytes.read()[-1]

    table.add_columns({"length": Sizes(), "last": last})
    table.backfill(["length", "last"])
    table.refresh()
    rows = table.to_arrow(["length", "last"]).to_pylist()
    assert [row["length"] for row in rows] == [1 + len(value or b"") for value in wanted]
    assert [row["last"] for row in rows] == [value[-1] if value else -1 for value in wanted]


def test_arguments__that_changed_are_stale(tmp_path):
    field = pa.field("data", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    schema = pa.schema([pa.field("id", pa.int64()), field])
    big = payload(1, 400_000)
    table = leman.create(
        tmp_path / "t.lance", pa.table([[1, 2, 3], [big, b"small", big]], schema=schema)
    )

    @leman.udf
    def first(data: leman.BlobFile) -> int:
        return data.read(1)[0]

    @leman.udf
    def size(data: bytes) -> int:
        return len(data)

    table.add_columns({"first": first, "size": size})
    table.backfill(["first", "size"])
    assert table.cells("first")["stale"] == table.cells("size")["stale"] == 0
    changed = bytearray(big)
    changed[200_000] ^= 1
    table.upsert(pa.table([[1, 2], [bytes(changed), b"Small"]], schema=schema), on="id")
    table.refresh()
    for column in ("first", "size"):
        assert table.cells(column)["stale"] == 2
        assert table.backfill(column).rows_computed == 2
        table.refresh()
        assert table.cells(column)["stale"] == 0


def test_arguments__a_reference_whose_file_is_gone_fails_its_row(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    for n in range(3):
        (folder / f"{n}.bin").write_bytes(payload(n, 1000))
    table = leman.create(tmp_path / "t.lance", leman.files(folder, references=True))
    os.remove(folder / "1.bin")

    @leman.udf(on_error=leman.skip_on_error())
    def length(bytes: leman.BlobFile) -> int:
        return len(bytes.read())

    table.add_columns({"length": length})
    assert table.backfill("length").rows_failed == 1
    assert "1.bin" in table.errors("length").to_pylist()[0]["message"]
    table.refresh()
    assert sorted(table.to_arrow(["length"])["length"].to_pylist(), key=str) == [1000, 1000, None]


def test_arguments__that_are_no_blobs_are_refused(table):
    @leman.udf
    def wrong(n: leman.BlobFile) -> int:
        return 0

    with pytest.raises(leman.InvalidError, match="'n' is annotated as BlobFile, and column 'n'"):
        table.add_columns({"wrong": wrong})

    @leman.udf(input_columns=["bytes", "bytes"])
    def mixed(one: leman.BlobFile, two: bytes) -> int:
        return 0

    with pytest.raises(leman.InvalidError, match="'two', of column 'bytes', holds blobs"):
        table.add_columns({"mixed": mixed})
