# SPDX-License-Identifier: Apache-2.0
"""The Python faces of one file: writer, reader, blobs, and how they fail."""

import copy
import errno
import io
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import lance
import leman
import numpy as np
import pyarrow as pa
import pytest
from tables import check_same

TABLE = pa.table({"n": pa.array(range(1000)), "s": [f"row {i}" for i in range(1000)]})
SCHEMA = TABLE.schema
BLOB_FIELD = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})


def blobs(*values):
    array = pa.array(values, pa.large_binary())
    return pa.Table.from_arrays([array], schema=pa.schema([BLOB_FIELD]))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.lance"


@pytest.fixture
def written(path):
    leman.write_file(path, TABLE)
    return path


class Stop(Exception):
    pass


def left_behind(folder):
    return sorted(os.listdir(folder))


def test_writer__file_appears_when_finished(path):
    with leman.FileWriter(path, SCHEMA) as writer:
        writer.write(TABLE)
        assert writer.num_rows == 1000
        assert not path.exists()
    check_same(leman.LanceFile(path).to_arrow(), TABLE)
    assert left_behind(path.parent) == ["a.lance"]


def test_writer__finish_returns_the_size(path):
    writer = leman.FileWriter(path, SCHEMA)
    writer.write(TABLE)
    assert writer.finish() == path.stat().st_size


@pytest.mark.parametrize("threads", (1, 2))
def test_writer__exception_leaves_nothing(path, threads):
    with pytest.raises(Stop):
        with leman.FileWriter(path, SCHEMA, threads=threads, page_bytes=1024) as writer:
            writer.write(TABLE)
            raise Stop
    assert left_behind(path.parent) == []


def test_writer__that_is_forgotten_leaves_nothing(path):
    writer = leman.FileWriter(path, SCHEMA)
    writer.write(TABLE)
    del writer
    assert left_behind(path.parent) == []


def test_writer__abort_leaves_nothing_of_blobs(path):
    writer = leman.FileWriter(path, pa.schema([BLOB_FIELD]), version="2.2")
    writer.write(blobs(b"x" * 70_000, b"y" * 5_000_000, b"z"))
    writer.abort()
    assert left_behind(path.parent) == []


@pytest.mark.parametrize("replace", (False, True))
def test_writer__keeps_the_blobs_of_an_older_file(path, replace):
    values = [b"x" * 70_000, b"y" * 5_000_000]
    leman.write_file(path, blobs(*values), version="2.2")
    with pytest.raises(leman.ExistsError, match="blob is there already"):
        leman.write_file(path, blobs(b"z" * 80_000), version="2.2", replace=replace)
    found = leman.LanceFile(path).scan(blobs="bytes").to_arrow()
    assert found["b"].to_pylist() == values
    assert left_behind(path.parent) == ["a", "a.lance"]


def test_writer__older_file_is_kept_or_replaced(written):
    with pytest.raises(leman.ExistsError, match="a.lance"):
        leman.write_file(written, TABLE.slice(5))
    assert leman.LanceFile(written).num_rows == 1000
    leman.write_file(written, TABLE.slice(5), replace=True)
    assert leman.LanceFile(written).num_rows == 995
    assert left_behind(written.parent) == ["a.lance"]


@pytest.mark.parametrize("end", ("finish", "abort"))
def test_writer__that_has_ended_says_so(path, end):
    writer = leman.FileWriter(path, SCHEMA)
    getattr(writer, end)()
    for call in (lambda: writer.write(TABLE), writer.finish, lambda: writer.num_rows):
        with pytest.raises(ValueError, match="finished"):
            call()
    writer.abort()


MISMATCHES = {
    "type": pa.table({"n": pa.array([1], pa.int8()), "s": ["x"]}),
    "name": pa.table({"m": [1], "s": ["x"]}),
    "order": pa.table({"s": ["x"], "n": [1]}),
    "fewer": pa.table({"n": [1]}),
    "more": pa.table({"n": [1], "s": ["x"], "t": [1]}),
    "view": pa.table({"n": [1], "s": pa.array(["x"], pa.string_view())}),
    "dictionary": pa.table({"n": [1], "s": pa.array(["x"]).dictionary_encode()}),
    "struct": pa.table({"n": [1], "s": [{"x": 1}]}),
    "unit": pa.table({"n": pa.array([1], pa.timestamp("s")), "s": ["x"]}),
}


@pytest.mark.parametrize("name", MISMATCHES)
@pytest.mark.parametrize("form", ("stream", "batch"))
def test_writer__rows_of_another_type_are_refused(path, name, form):
    rows = MISMATCHES[name]
    with leman.FileWriter(path, SCHEMA) as writer:
        writer.write(TABLE)
        with pytest.raises(leman.InvalidError, match="a.lance"):
            writer.write(rows if form == "stream" else rows.to_batches()[0])
    check_same(leman.LanceFile(path).to_arrow(), TABLE)


def test_writer__takes_lists_whatever_their_items_are_called(path):
    def rows(name):
        return pa.table({"a": pa.array([[1], [2, 3]], pa.list_(pa.field(name, pa.int8())))})

    with leman.FileWriter(path, rows("item").schema) as writer:
        writer.write(rows("element"))
    check_same(leman.LanceFile(path).to_arrow(), rows("item"))


def test_writer__nulls_that_the_schema_forbids_are_refused(path):
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    writer = leman.FileWriter(path, schema)
    with pytest.raises(leman.InvalidError, match='"n" is declared to have no nulls, and has 1'):
        writer.write(pa.table({"n": [1, None]}))
    writer.write(pa.table({"n": [1, 2]}))
    writer.finish()
    assert leman.LanceFile(path).num_rows == 2


NOT_NULL = pa.field("item", pa.int64(), nullable=False)
FORBIDDEN_INSIDE = {  # where a null stands, and the values
    "s.item": pa.StructArray.from_arrays([pa.array([1, None])], fields=[NOT_NULL]),
    "l.item": pa.ListArray.from_arrays([0, 1, 2], pa.array([1, None]), type=pa.list_(NOT_NULL)),
}


@pytest.mark.parametrize("field", FORBIDDEN_INSIDE)
def test_writer__nulls_that_the_schema_forbids_inside_are_refused(path, field):
    values = FORBIDDEN_INSIDE[field]
    schema = pa.schema([(field[0], values.type)])
    with leman.FileWriter(path, schema) as writer:
        with pytest.raises(leman.InvalidError, match=f'"{field}" is declared to have no nulls'):
            writer.write(pa.table([values], schema=schema))
        writer.write(pa.table([values[:1]], schema=schema))
    check_same(leman.LanceFile(path).to_arrow(), pa.table([values[:1]], schema=schema))
    good = pa.table([values.take(pa.array([0]))], schema=schema)  # pylance looks behind slices
    lance.write_dataset(good, path.parent / "t.lance")
    table = leman.open(path.parent / "t.lance")
    with pytest.raises(leman.InvalidError, match=f'"{field}" is declared to have no nulls'):
        table.append(pa.table({field[0]: values.to_pylist()}))
    assert table.count_rows() == 1


def test_writer__half_a_batch_cannot_be_finished(path):
    packed = pa.struct([pa.field("x", pa.int8())])
    metadata = {"lance-encoding:packed": "true"}
    schema = pa.schema([pa.field("n", pa.int64()), pa.field("p", packed, metadata=metadata)])
    rows = pa.table([list(range(500)), pa.array([{"x": None}] * 500, packed)], schema=schema)
    writer = leman.FileWriter(path, schema, page_bytes=1024, threads=1)
    with pytest.raises(leman.UnsupportedError, match='column "p"'):
        while writer.num_rows < 100_000:
            writer.write(rows)
    for call in (lambda: writer.write(rows), writer.finish):
        with pytest.raises(leman.InvalidError, match="an earlier write failed"):
            call()
    assert left_behind(path.parent) == []


def reader_of(batches):
    return pa.RecordBatchReader.from_batches(SCHEMA, batches)


class OnlyArray:
    """Rows of a library that speaks no more than the array half of the interface."""

    def __init__(self, batch):
        self._batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


FORMS = {
    "table": lambda: TABLE,
    "reader": lambda: reader_of(TABLE.to_batches(max_chunksize=300)),
    "batch": lambda: TABLE.combine_chunks().to_batches()[0],
    "array": lambda: OnlyArray(TABLE.combine_chunks().to_batches()[0]),
    "scan": None,
}


@pytest.mark.parametrize("form", FORMS)
def test_write_file__takes_any_arrow_data(tmp_path, written, form):
    rows = leman.LanceFile(written).scan() if form == "scan" else FORMS[form]()
    size = leman.write_file(tmp_path / "b.lance", rows)
    assert size == (tmp_path / "b.lance").stat().st_size
    check_same(leman.LanceFile(tmp_path / "b.lance").to_arrow(), TABLE)


@pytest.mark.parametrize("rows", ({"n": [1]}, [1, 2], None, [TABLE.to_batches()[0]], "n"))
def test_write_file__refuses_what_is_no_arrow_data(path, rows):
    with pytest.raises(TypeError, match=f"rows come as Arrow data, not as {type(rows).__name__}"):
        leman.write_file(path, rows)
    with leman.FileWriter(path, SCHEMA) as writer, pytest.raises(TypeError, match="Arrow data"):
        writer.write(rows)


def test_write_file__error_of_the_stream_is_told_and_leaves_nothing(path):
    def batches():
        yield TABLE.to_batches()[0]
        raise ValueError("the source broke")

    with pytest.raises(leman.LemanError, match="the source broke"):
        leman.write_file(path, reader_of(batches()))
    assert left_behind(path.parent) == []


BAD_OPTIONS = [
    {"version": "2.0"},
    {"version": "3"},
    {"page_bytes": 10},
    {"compression": "lz4"},
    {"compression": "zstd:x"},
    {"compression": "zstd:23"},
]


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=str)
def test_write_file__options_out_of_range_are_value_errors(path, options):
    with pytest.raises(ValueError):
        leman.write_file(path, TABLE, **options)
    assert left_behind(path.parent) == []


def test_write_file__missing_folders_are_made(tmp_path):
    leman.write_file(tmp_path / "x/y/a.lance", TABLE)
    assert leman.LanceFile(tmp_path / "x/y/a.lance").num_rows == 1000


def test_errors__have_classes(written):
    with pytest.raises(leman.NotFoundError, match="b.lance") as caught:
        leman.LanceFile(written.parent / "b.lance")
    assert isinstance(caught.value, LookupError) and isinstance(caught.value, leman.LemanError)
    (written.parent / "c.lance").write_bytes(b"x" * 100)
    with pytest.raises(leman.CorruptError, match="c.lance"):
        leman.LanceFile(written.parent / "c.lance")
    with pytest.raises(leman.NotFoundError, match="nope"):
        leman.LanceFile(written).scan(["nope"])
    with pytest.raises(ValueError, match="blobs is"):
        leman.LanceFile(written).scan(blobs="no")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_errors__of_the_system_have_its_number(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(leman.StoreError) as caught:
        leman.write_file(tmp_path / "a.lance", TABLE)
    assert isinstance(caught.value, OSError) and caught.value.errno == errno.EACCES


def test_errors__have_the_number_that_the_system_gave(tmp_path):
    with pytest.raises(leman.StoreError, match="^cannot create .*File name too long") as caught:
        leman.write_file(tmp_path / ("a" * 300), TABLE)
    assert isinstance(caught.value, OSError) and caught.value.errno == errno.ENAMETOOLONG


def test_errors__of_the_system_name_a_folder_that_is_a_file(written):
    with pytest.raises(leman.LemanError, match="a.lance"):
        leman.write_file(written / "b.lance", TABLE)


@pytest.mark.parametrize("what", ("file", "writer", "scan", "batch", "blob"))
@pytest.mark.parametrize("how", (pickle.dumps, copy.copy))
def test_pickle__is_refused(tmp_path, written, what, how):
    file = leman.LanceFile(written)
    leman.write_file(tmp_path / "b.lance", blobs(b"abc"))
    made = {
        "file": lambda: file._file,
        "writer": lambda: leman.FileWriter(tmp_path / "c.lance", SCHEMA)._writer,
        "scan": lambda: file.scan().__arrow_c_stream__(),
        "batch": lambda: file.take([1]).__arrow_c_array__()[1],
        "blob": lambda: leman.LanceFile(tmp_path / "b.lance").blob("b", 0)._file,
    }
    with pytest.raises(TypeError, match="cannot (be )?pickle"):
        how(made[what]())


def test_file__says_what_it_is(written):
    file = leman.LanceFile(written)
    assert (len(file), file.num_rows, file.version) == (1000, 1000, "2.1")
    assert file.nbytes == written.stat().st_size
    assert file.schema == SCHEMA
    assert "a.lance" in repr(file) and "1000 rows" in repr(file)
    assert pa.table(file.scan(["s"])).column_names == ["s"]
    assert file.scan(["s"]).schema == pa.schema([SCHEMA.field("s")])


def test_batch__is_handed_over_once(written):
    batch = leman.LanceFile(written).take([3, 1])
    assert pa.record_batch(batch)["n"].to_pylist() == [3, 1]
    with pytest.raises(ValueError, match="once"):
        batch.to_arrow()


def test_file__is_read_by_many_threads(written):
    file = leman.LanceFile(written)

    def work(seed):
        rows = np.random.default_rng(seed).integers(0, 1000, 50)
        assert file.take(rows).to_arrow()["n"].to_pylist() == rows.tolist()
        check_same(file.scan(batch_size=77, threads=2).to_arrow(), TABLE)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(40)))


def test_writers__run_side_by_side(tmp_path):
    def work(i):
        leman.write_file(tmp_path / f"{i}.lance", TABLE.slice(i), page_bytes=2048, threads=2)
        check_same(leman.LanceFile(tmp_path / f"{i}.lance").to_arrow(), TABLE.slice(i))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(16)))


def test_writer__one_name_is_taken_once(path):
    def work(i):
        try:
            leman.write_file(path, TABLE.slice(i))
        except leman.ExistsError:
            return None
        return 1000 - i

    with ThreadPoolExecutor(8) as pool:
        won = [rows for rows in pool.map(work, range(16)) if rows is not None]
    assert [leman.LanceFile(path).num_rows] == won
    assert left_behind(path.parent) == ["a.lance"]


def test_writer__in_use_by_a_thread_is_refused_to_others(path):
    inside, leave = threading.Event(), threading.Event()

    def batches():
        inside.set()
        assert leave.wait(60)
        yield from TABLE.to_batches()

    writer = leman.FileWriter(path, SCHEMA)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(writer.write, reader_of(batches()))
        try:
            assert inside.wait(60)
            for call in (lambda: writer.write(TABLE), writer.finish, writer.abort):
                with pytest.raises(RuntimeError, match="another thread"):
                    call()
        finally:
            leave.set()
        done.result()
    writer.finish()
    check_same(leman.LanceFile(path).to_arrow(), TABLE)


DATA = np.random.default_rng(3).bytes(100_000)


@pytest.fixture(params=["2.1", "2.2"])
def blob_file(path, request):
    leman.write_file(path, blobs(b"", None, b"abc", DATA, DATA * 50), version=request.param)
    return leman.LanceFile(path)


def test_blob__of_a_null_is_none(blob_file):
    assert blob_file.blob("b", 1) is None
    assert blob_file.blob("b", 0).read() == b""


@pytest.mark.parametrize("row", (3, 4))
def test_blob__is_a_binary_file(blob_file, row):
    whole = DATA if row == 3 else DATA * 50
    with blob_file.blob("b", row) as blob:
        assert blob.readable() and blob.seekable() and not blob.writable()
        assert blob.size == len(whole)
        assert blob.read(10) == whole[:10] and blob.tell() == 10
        assert blob.seek(-7, io.SEEK_END) == len(whole) - 7
        assert blob.read() == whole[-7:] and blob.read(5) == b""
        blob.seek(100)
        assert blob.seek(50, io.SEEK_CUR) == 150
        assert blob.read(64) == whole[150:214]
        assert blob.seek(len(whole) + 10) == len(whole) + 10 and blob.read(1) == b""
        blob.seek(0)
        assert blob.readall() == whole
    with pytest.raises(ValueError, match="closed"):
        blob.read(1)


def test_blob__reads_into_buffers(blob_file):
    blob = blob_file.blob("b", 3)
    buffer = np.zeros(100, np.int16)
    blob.seek(5)
    assert blob.readinto(buffer) == 200
    assert buffer.tobytes() == DATA[5:205]
    blob.seek(len(DATA) - 3)
    short = bytearray(b"." * 8)
    assert blob.readinto(short) == 3
    assert short == DATA[-3:] + b"....."
    with pytest.raises(TypeError):
        blob.readinto(b"read only")


def test_blob__is_buffered_by_io(blob_file):
    with io.BufferedReader(blob_file.blob("b", 4), 4096) as file:
        file.seek(99_990)
        assert file.read(20) == (DATA * 2)[99_990:100_010]


def test_blob__wrong_places_are_refused(blob_file):
    blob = blob_file.blob("b", 2)
    with pytest.raises(ValueError, match="cannot seek"):
        blob.seek(-1)
    with pytest.raises(ValueError):
        blob.seek(0, 9)
    with pytest.raises(leman.LemanError, match="5"):
        blob_file.blob("b", 5)
    with pytest.raises(leman.NotFoundError, match="nope"):
        blob_file.blob("nope", 0)
    with pytest.raises(leman.InvalidError):
        leman.LanceFile(blob_file._path).blob("b", 2**63)


def test_blobs__are_read_by_many_threads(blob_file):
    blob = blob_file.blob("b", 4)

    def work(i):
        own = blob_file.blob("b", 4)
        own.seek(i * 1000)
        return own.read(1000) == (DATA * 50)[i * 1000 :][:1000]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(100)))
    assert blob.tell() == 0
