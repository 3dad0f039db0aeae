# SPDX-License-Identifier: Apache-2.0
"""Files of other programs become tables, and tables such files."""

import os

import lance
import leman
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from array_record.python.array_record_module import ArrayRecordReader, ArrayRecordWriter
from hypothesis import given, settings
from hypothesis import strategies as st
from leman.ingest_command import main


def parquet_files(folder, count=3):
    folder.mkdir()
    for number in range(count):
        rows = pa.table({"x": range(number * 10, number * 10 + 10), "s": ["text"] * 10})
        pq.write_table(rows, folder / f"{number}.parquet")


def test_parquet_files(tmp_path):
    parquet_files(tmp_path / "in")
    table = leman.create(tmp_path / "t.lance", leman.parquet(tmp_path / "in"), max_parallelism=2)
    assert sorted(table.to_arrow().column("x").to_pylist()) == list(range(30))
    assert table.append(leman.parquet(f"{tmp_path}/in/*.parquet")).parts_before == 3
    one = leman.parquet(tmp_path / "in/1.parquet", columns=["s"])
    assert pa.table(one).column_names == ["s"]
    assert table.append(one, again=True).rows == 10
    assert table.to_arrow().column("x").null_count == 10


def test_parquet_files_that_cannot_be_read(tmp_path):
    parquet_files(tmp_path / "in")
    for bad in ("1.parquet", "0.parquet"):
        (tmp_path / "in" / bad).write_bytes(b"PAR1 and nothing else")
        with pytest.raises(leman.CorruptError, match=bad):
            leman.create(tmp_path / "t.lance", leman.parquet(tmp_path / "in"))
    source = leman.parquet(tmp_path / "in", on_error="skip")
    table = leman.create(tmp_path / "u.lance", source)
    assert table.count_rows() == 10
    told = sorted(os.path.basename(problem.part) for problem in table.loaded.problems)
    assert told == ["0.parquet", "1.parquet"]


def test_rows_behind_damage_are_told(tmp_path):
    rows = pa.table({"x": list(range(40))})
    for folder in ("p", "a"):
        (tmp_path / folder).mkdir()
    pq.write_table(rows, tmp_path / "p/0.parquet", row_group_size=10)
    group = pq.ParquetFile(tmp_path / "p/0.parquet").metadata.row_group(2).column(0)
    damaged = bytearray((tmp_path / "p/0.parquet").read_bytes())
    start = group.dictionary_page_offset or group.data_page_offset
    damaged[start : start + 8] = bytes(8)
    (tmp_path / "p/0.parquet").write_bytes(damaged)
    with pa.OSFile(f"{tmp_path}/a/0.arrow", "wb") as file:
        with pa.ipc.new_stream(file, rows.schema) as writer:
            for first in (0, 10, 20):
                writer.write_table(rows.slice(first, 10))
            cut = file.tell() + 100
            writer.write_table(rows.slice(30, 10))
    os.truncate(tmp_path / "a/0.arrow", cut)
    parquet = leman.parquet(tmp_path / "p", batch_rows=5, on_error="skip")
    for source, kept in ((parquet, 20), (leman.arrow_ipc(tmp_path / "a", on_error="skip"), 30)):
        table = leman.create(tmp_path / f"{kept}.lance", source)
        assert table.to_arrow().column("x").to_pylist() == list(range(kept))
        (problem,) = table.loaded.problems
        assert problem.key == f"{kept} to the end" and problem.part.startswith(str(tmp_path))


def test_parquet_files_whose_columns_differ(tmp_path):
    """Nothing that a later file brings is lost."""
    must = pa.schema([pa.field("must", pa.int64(), nullable=False)])
    rows = [
        {"i": pa.array([1], pa.int32()), "s": [{"a": 1}], "n": pa.nulls(1), "v": [[1.0, 2.0]]},
        {"i": [2**40], "s": [{"a": 2, "b": 3}], "n": ["x"], "v": [[3.0, 4.0]], "extra": [5]},
    ]
    for number, columns in enumerate(rows):
        columns["v"] = pa.array(columns["v"], pa.list_(pa.float32(), 2))
        columns["must"] = [number]
        table = pa.table(columns)
        place = table.schema.get_field_index("must")
        table = table.cast(table.schema.set(place, must.field(0)))
        pq.write_table(table, tmp_path / f"{number}.parquet")
    source = leman.parquet(tmp_path)
    assert leman.create(tmp_path / "t.lance", source).to_arrow().sort_by("i").to_pylist() == [
        {"i": 1, "s": {"a": 1, "b": None}, "n": None, "v": [1, 2], "must": 0, "extra": None},
        {"i": 2**40, "s": {"a": 2, "b": 3}, "n": "x", "v": [3, 4], "must": 1, "extra": 5},
    ]
    assert pa.types.is_fixed_size_list(source.schema.field("v").type)
    assert not source.schema.field("must").nullable and source.schema.field("extra").nullable
    picked = leman.parquet(tmp_path, columns=["extra", "i"])
    assert pa.table(picked).to_pydict() == {"extra": [None, 5], "i": [1, 2**40]}
    with pytest.raises(leman.InvalidError, match='no column "other"; there are: i, s, n'):
        leman.create(tmp_path / "u.lance", leman.parquet(tmp_path, columns=["other"]))
    pq.write_table(pa.table({"s": ["1"]}), tmp_path / "2.parquet")
    with pytest.raises(leman.InvalidError, match='2.parquet: column "s" is struct<a: .* in other'):
        leman.create(tmp_path / "u.lance", leman.parquet(tmp_path))
    assert not (tmp_path / "u.lance").exists()
    table = leman.create(tmp_path / "v.lance", leman.parquet(tmp_path, on_error="skip"))
    assert table.count_rows() == 2
    (problem,) = table.loaded.problems
    assert problem.part.endswith("2.parquet") and 'column "s"' in problem.message


def text(values, kind=None):
    """Strings of these bytes, whatever they are."""
    made = pa.array(values, pa.binary())
    made = pa.Array.from_buffers(pa.string(), len(made), made.buffers(), made.null_count)
    return made if kind is None else made.cast(kind)


BAD = [b"a", None, "\u00fc".encode(), b"\xff"]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (text(BAD), r'row 3: "c": a string that is not UTF-8: "\\xff"'),
        (text([b"\xc3", b"\xbc", b"a", b"b"]), r'row 0: "c": .*"\\xc3"'),
        (pa.ListArray.from_arrays([0, 1, 1, 4, 4], text(BAD)), r'row 2: "c": "item": '),
        (pa.StructArray.from_arrays([text(BAD)], ["x"]), r'row 3: "c": "x": '),
        (
            pa.FixedSizeListArray.from_arrays(
                pa.StructArray.from_arrays([text([*BAD, *BAD])], ["x"]), 2
            ),
            r'row 1: "c": "item": "x": ',
        ),
        (
            pa.DictionaryArray.from_arrays(pa.array([0, 0, 1, 1]), text([b"a", b"\x80"])),
            r'dictionary 0: value 1: "c": .*"\\x80"',
        ),
    ],
)
def test_arrow__strings_that_are_not_utf8(tmp_path, column, message):
    rows = pa.table({"i": [1, 2, 3, 4], "c": column})
    with pa.ipc.new_file(tmp_path / "rows.arrow", rows.schema) as writer:
        writer.write_table(rows)
    source = leman.arrow_ipc(f"{tmp_path}/rows.arrow")
    with pytest.raises(leman.CorruptError, match=message):
        leman.create(tmp_path / "t.lance", source, data_storage_version="2.2")


def test_arrow__what_lies_under_nulls_is_no_string(tmp_path):
    made = text([b"a", b"\xff", b"b"])
    valid = pa.py_buffer(b"\x05")
    column = pa.Array.from_buffers(pa.string(), 3, [valid, *made.buffers()[1:]])
    with pa.ipc.new_file(tmp_path / "rows.arrow", pa.schema([("c", pa.string())])) as writer:
        writer.write_table(pa.table({"c": column}))
    table = leman.create(tmp_path / "t.lance", leman.arrow_ipc(f"{tmp_path}/rows.arrow"))
    assert table.to_arrow()["c"].to_pylist() == ["a", None, "b"]


def test_text_and_arrow_files(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text(f"a;b\n{number};x\n")
        (tmp_path / f"{number}.jsonl").write_text(f'{{"a": {number}, "b": "x"}}\n')
        rows = pa.table({"a": [number], "b": ["x"]})
        with pa.ipc.new_file(tmp_path / f"{number}.arrow", rows.schema) as writer:
            writer.write_table(rows)
    sources = [
        leman.csv(tmp_path, delimiter=";"),
        leman.jsonl(tmp_path),
        leman.arrow_ipc(f"{tmp_path}/{{0..2}}.arrow"),
    ]
    for number, source in enumerate(sources):
        table = leman.create(tmp_path / f"{number}.lance", source)
        rows = table.to_arrow().sort_by("a").to_pydict()
        assert rows == {"a": [0, 1, 2], "b": ["x"] * 3}


def test_files_whose_columns_differ(tmp_path):
    """Types are common to all files, and columns are known by name."""
    (tmp_path / "1.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "2.jsonl").write_text('{"a": 1.5, "c": 2}\n')
    (tmp_path / "1.csv").write_text("a,b\n1,x\n")
    (tmp_path / "2.csv").write_text("b,a\ny,2.5\n")
    rows = leman.create(tmp_path / "j.lance", leman.jsonl(tmp_path)).to_arrow().to_pylist()
    assert sorted(rows, key=lambda row: row["a"]) == [{"a": 1.0, "c": None}, {"a": 1.5, "c": 2}]
    rows = leman.create(tmp_path / "c.lance", leman.csv(tmp_path)).to_arrow().to_pylist()
    assert sorted(rows, key=lambda row: row["a"]) == [{"a": 1.0, "b": "x"}, {"a": 2.5, "b": "y"}]
    (tmp_path / "3.jsonl").write_text('{"a": "text"}\n')
    with pytest.raises(leman.InvalidError, match='3.jsonl: column "a" is double in other files'):
        leman.create(tmp_path / "k.lance", leman.jsonl(tmp_path))
    assert not (tmp_path / "k.lance").exists()


def test_a_new_table_has_the_schema_that_is_asked_for(tmp_path):
    (tmp_path / "1.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "2.jsonl").write_text('{"a": 1.5, "c": 2}\n')
    (tmp_path / "1.csv").write_text("a,b\n01,x\n")
    pq.write_table(pa.table({"x": [1, 2], "s": ["u", "v"]}), tmp_path / "1.parquet")
    asked = pa.schema({"a": pa.float32(), "c": pa.int64(), "d": pa.string()})
    table = leman.create(tmp_path / "j.lance", leman.jsonl(tmp_path), schema=asked)
    assert table.schema.types == asked.types and table.count_rows() == 2
    asked = pa.schema({"b": pa.string(), "a": pa.string()})
    table = leman.create(tmp_path / "c.lance", leman.csv(tmp_path), schema=asked)
    assert table.to_arrow().to_pylist() == [{"b": "x", "a": "01"}]
    source = leman.parquet(tmp_path)
    asked = pa.schema({"x": pa.int16(), "s": pa.string(), "k": pa.string()})
    table = leman.create(tmp_path / "p.lance", source, schema=asked)
    assert table.schema.types == asked.types
    for asked, text in [
        ({"x": pa.int64(), "s": pa.int64()}, 'column "s" is int64, and these rows have string'),
        ({"x": pa.int64()}, 'column "s" is not in the table, which has: x'),
    ]:
        with pytest.raises(leman.InvalidError, match=text):
            leman.create(tmp_path / "q.lance", source, schema=asked)
        assert not (tmp_path / "q.lance").exists()


def test_errors_of_sources_are_for_people(tmp_path):
    pq.write_table(pa.table({"x": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": ["one"]}), tmp_path / "2.parquet")
    with pytest.raises(leman.InvalidError, match='2.parquet: column "x" is int64') as raised:
        leman.create(tmp_path / "t.lance", leman.parquet(tmp_path))
    assert "Traceback" not in str(raised.value)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/gone").symlink_to(tmp_path / "nowhere")
    with pytest.raises(leman.StoreError, match="in/gone: No such file") as raised:
        leman.create(tmp_path / "f.lance", leman.files(tmp_path / "in"))
    assert "Traceback" not in str(raised.value)
    with pytest.raises(TypeError, match="on_error= is given to the source"):
        leman.create(tmp_path / "t.lance", leman.parquet(tmp_path), on_error="skip")


def test_what_cannot_be_read_is_left_out(tmp_path):
    (tmp_path / "0.csv").write_bytes(b"\xff")
    (tmp_path / "1.csv").write_text("a,b\n1,x\n2\n3,y\n")
    (tmp_path / "0.jsonl").write_text('{"a": 1}\n[]\n{"a": 3}\n')
    for number in range(2):
        with pa.ipc.new_stream(tmp_path / f"{number}.arrow", pa.schema({"a": pa.int64()})) as sink:
            sink.write_batch(pa.record_batch({"a": [1]}))
            sink.write_batch(pa.record_batch({"a": [3]}))
    os.truncate(tmp_path / "0.arrow", 40)
    for number in range(2):
        records = {"r": [b"%d" % i * 100 for i in range(10)]}
        path = tmp_path / f"{number}.array_record"
        leman.write_array_record(path, records, options="group_size:4,uncompressed")
    os.truncate(tmp_path / "0.array_record", 1000)
    damaged = bytearray(path.read_bytes())
    damaged[damaged.index(b"5" * 100)] ^= 1
    path.write_bytes(damaged)
    kept = {
        leman.csv: [["0.csv", 0], ["1.csv", 8]],
        leman.jsonl: [["0.jsonl", 9]],
        leman.arrow_ipc: [["0.arrow", 0]],
    }
    for source, expected in kept.items():
        with pytest.raises((leman.LemanError, pa.ArrowException)):
            leman.create(tmp_path / "fails.lance", source(tmp_path))
        target = tmp_path / f"{source.__name__}.lance"
        table = leman.create(target, source(tmp_path, on_error="skip"))
        assert table.to_arrow().column("a").to_pylist() == [1, 3]
        found = sorted([os.path.basename(p.part), p.offset] for p in table.loaded.problems)
        assert found == expected
    source = leman.array_record(tmp_path, on_error="skip")
    table = leman.create(tmp_path / "records.lance", source)
    assert sorted({int(r[:1]) for r in table.to_arrow().column(0).to_pylist()}) == [
        0,
        1,
        2,
        3,
        8,
        9,
    ]
    first, second = sorted(table.loaded.problems, key=lambda problem: problem.part)
    assert first.part.endswith("0.array_record") and second.key == "4 to 7" and second.offset > 64
    with pytest.raises(leman.CorruptError, match="array_record"):
        leman.create(tmp_path / "fails.lance", leman.array_record(tmp_path))
    with pytest.raises(ValueError, match="on_error"):
        leman.csv(tmp_path, on_error="ignore")


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a").write_bytes(b"x")
    (tmp_path / "in/b").symlink_to(tmp_path / "nowhere")
    for references in (False, True):
        options = {"references": references}
        with pytest.raises(leman.StoreError, match="in/b"):
            leman.create(tmp_path / f"{references}.lance", leman.files(tmp_path / "in", **options))
        for on_error, count in (("skip", 1), ("null", 2)):
            source = leman.files(tmp_path / "in", on_error=on_error, **options)
            table = leman.create(tmp_path / f"{references}-{on_error}.lance", source)
            assert table.count_rows() == count
            assert [problem.part for problem in table.loaded.problems] == [f"{tmp_path}/in/b"]


def test_odd_names_and_folders_that_cannot_be_read(tmp_path, monkeypatch):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "é %.bin").write_bytes(b"x")
    monkeypatch.chdir(folder)
    for _ in range(17):  # longer than a path may be
        os.mkdir("d" * 250)
        os.chdir("d" * 250)
    with pytest.raises(leman.StoreError, match="dddd: File name too long"):
        leman.create(tmp_path / "t.lance", leman.files(folder))
    (folder / os.fsdecode(b"\xff.bin")).write_bytes(b"y")
    with pytest.raises(leman.InvalidError, match=r"in/\\xff.bin: the name is not UTF-8"):
        leman.create(tmp_path / "u.lance", leman.files(folder))
    for on_error in ("skip", "null"):
        for references in (False, True):
            source = leman.files(folder, on_error=on_error, references=references)
            table = leman.create(tmp_path / f"{on_error}-{references}.lance", source)
            (row,) = table.scan(blobs="bytes").to_arrow().to_pylist()
            assert (row["path"], row["bytes"], row["size"]) == ("é %.bin", b"x", 1)
            told = [(p.part[-8:], p.field, p.message) for p in table.loaded.problems]
            assert told == [
                ("\\xff.bin", "path", "the name is not UTF-8"),
                ("d" * 8, "bytes", "File name too long"),
            ]


@pytest.mark.parametrize("references", [False, True])
def test_a_folder_of_files(tmp_path, references):
    contents = {f"{i}/file {i}.bin": os.urandom(i * 100) for i in range(5)}
    for name, data in contents.items():
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    source = leman.files(tmp_path / "files", references=references)
    table = leman.create(tmp_path / "t.lance", source)
    rows = table.scan(blobs="bytes").to_arrow().to_pylist()
    assert {row["path"]: row["bytes"] for row in rows} == contents
    assert all(row["size"] == len(row["bytes"]) for row in rows)
    if references:
        blobs = lance.dataset(table.path).take_blobs("bytes", indices=list(range(5)))
        assert [blob.readall() for blob in blobs] == [row["bytes"] for row in rows]


record_lists = st.lists(
    st.one_of(st.binary(max_size=40), st.integers(0, 70_000).map(lambda n: b"ab" * n)), max_size=20
)


@settings(max_examples=40)
@given(
    records=record_lists,
    group=st.sampled_from([1, 3, 64]),
    codec=st.sampled_from(["uncompressed", "zstd:3", "snappy", "brotli:2"]),
    pad=st.booleans(),
)
def test_array_records_both_ways(tmp_path_factory, records, group, codec, pad):
    folder = tmp_path_factory.mktemp("records")
    options = f"group_size:{group},{codec},pad_to_block_boundary:{str(pad).lower()}"
    theirs, ours = str(folder / "theirs.array_record"), str(folder / "ours.array_record")
    writer = ArrayRecordWriter(theirs, options)
    for record in records:
        writer.write(record)
    writer.close()
    file = leman.ArrayRecordFile(theirs)
    assert file.to_arrow().column(0).to_pylist() == records
    assert leman.write_array_record(
        ours, {"r": pa.array(records, pa.binary())}, options=options
    ) == len(records)
    assert leman.ArrayRecordFile(ours).to_arrow().column(0).to_pylist() == records
    order = list(range(len(records)))[::-2]
    assert leman.ArrayRecordFile(ours).take(order).to_pylist() == [records[i] for i in order]
    if records:
        reader = ArrayRecordReader(ours)
        assert reader.num_records() == len(records)
        assert reader.read_all() == records
        reader.close()


def test_array_record_files(tmp_path):
    for number in range(3):
        records = [b"%d" % (number * 10 + i) for i in range(10)]
        options = f"group_size:{number + 1}"
        leman.write_array_record(
            tmp_path / f"{number}.array_record", {"r": records}, options=options
        )
    source = leman.array_record(tmp_path, column="value")
    table = leman.create(tmp_path / "t.lance", source)
    values = [int(value) for value in table.to_arrow().column("value").to_pylist()]
    assert sorted(values) == list(range(30))
    out = tmp_path / "out.array_record"
    assert table.to_array_record(out, "value", options="group_size:64,max_parallelism:2") == 30
    assert leman.ArrayRecordFile(out).group_size == 30
    reader = ArrayRecordReader(str(out))
    assert [int(value) for value in reader.read_all()] == values
    with pytest.raises(leman.InvalidError, match="group_size:x"):
        table.to_array_record(out, "value", options="group_size:x")
    with pytest.raises(leman.UnsupportedError, match="transpose"):
        table.to_array_record(out, "value", options="transpose:true")


def test_export_of_parquet(tmp_path):
    rows = pa.table({"x": [1, 2, 3], "s": ["a", None, "c"], "l": [[1], [], None]})
    table = leman.create(tmp_path / "t.lance", rows)
    assert table.to_parquet(tmp_path / "t.parquet", where="x > 1") == 2
    assert pq.read_table(tmp_path / "t.parquet").to_pydict() == rows.slice(1).to_pydict()
    assert os.listdir(tmp_path / ".") and not list(tmp_path.glob("*.tmp"))
    with pytest.raises(ValueError, match="compression is one of snappy, .*; not 'foo'"):
        table.to_parquet(tmp_path / "u.parquet", compression="foo")
    with pytest.raises(FileNotFoundError, match="u.parquet cannot be written: there is no folder"):
        table.to_parquet(tmp_path / "nowhere/u.parquet")


def space_dataset(folder):
    """A dataset as Space lays it out: two index files of one snapshot, one more of a tag."""
    for name in ("metadata", "data"):
        (folder / name).mkdir(parents=True)
    address = pa.struct([("_FILE", pa.string()), ("_ROW_ID", pa.int32())])
    manifests = {}
    for number in range(3):
        records = [b"record %d" % (number * 4 + i) for i in range(4)]
        writer = ArrayRecordWriter(
            str(folder / f"data/image_{number}.array_record"), "group_size:1"
        )
        for record in records:
            writer.write(record)
        writer.close()
        places = [
            {"_FILE": f"data/image_{number}.array_record", "_ROW_ID": i} for i in (2, 0, 3, 1)
        ]
        index = pa.table(
            {"id": [number * 4 + i for i in (2, 0, 3, 1)], "image": pa.array(places, address)}
        )
        pq.write_table(index, folder / f"data/index_{number}.parquet")
        manifests[number] = f"metadata/index_manifest_{number}.parquet"
        pq.write_table(
            pa.table({"_FILE": [f"data/index_{number}.parquet"], "_NUM_ROWS": [4]}),
            folder / manifests[number],
        )
    (folder / "metadata/entrypoint.txtpb").write_text('metadata_file: "metadata/m.txtpb"\n')
    (folder / "metadata/m.txtpb").write_text(f"""
type: DATASET
schema {{
  fields {{ names: "id" names: "image" }}
  primary_keys: "id"
  record_fields: "image"
}}
current_snapshot_id: 2
snapshots {{ key: 0 value {{ manifest_files {{ }} }} }}
snapshots {{
  key: 2
  value {{
    snapshot_id: 2
    manifest_files {{
      index_manifest_files: "{manifests[0]}"
      index_manifest_files: "{manifests[1]}"
    }}
  }}
}}
snapshots {{
  key: 3
  value {{ manifest_files {{ index_manifest_files: "metadata/index\\137manifest_2.parquet" }} }}
}}
refs {{ key: "best" value {{ reference_name: "best" snapshot_id: 3 type: TAG }} }}
""")
    return folder


def test_a_space_dataset(tmp_path):
    source = leman.space(space_dataset(tmp_path / "space"))
    assert source.tags == {"best": 3} and source.primary_key == ["id"]
    table = leman.create(tmp_path / "t.lance", source, primary_key=source.primary_key)
    rows = table.scan(blobs="bytes").to_arrow().to_pylist()
    assert sorted(row["id"] for row in rows) == list(range(8))
    assert all(row["image"] == b"record %d" % row["id"] for row in rows)
    tagged = pa.table(leman.space(tmp_path / "space", "best"))
    assert tagged.column("id").to_pylist() == [10, 8, 11, 9]
    command = ["ingest", "space", str(tmp_path / "u.lance"), str(tmp_path / "space")]
    assert main([*command, "--version", "best"]) == 0
    assert leman.open(tmp_path / "u.lance", version="best").count_rows() == 4
    with pytest.raises(leman.NotFoundError, match="worst"):
        leman.space(tmp_path / "space", "worst")
    with pytest.raises(leman.NotFoundError, match="entrypoint"):
        leman.space(tmp_path)
    (tmp_path / "space/metadata/m.txtpb").write_text("schema { fields: ")
    with pytest.raises(leman.CorruptError, match="m.txtpb"):
        leman.space(tmp_path / "space")
