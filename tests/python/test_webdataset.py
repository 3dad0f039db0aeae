# SPDX-License-Identifier: Apache-2.0
"""WebDataset shards become tables; tarfile and pylance are the judges."""

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import textwrap

import lance
import leman
import pyarrow as pa
import pytest
from shards import sample, write_shard, write_shards


@pytest.fixture
def shards(tmp_path):
    return write_shards(tmp_path / "shards", 5, 20)


def rows_by_key(table):
    return {row["__key__"]: row for row in table.scan(blobs="bytes").to_arrow().to_pylist()}


def check_rows(table, samples):
    rows = rows_by_key(table)
    assert table.count_rows() == len(samples) and rows.keys() == samples.keys()
    for key, members in samples.items():
        assert rows[key]["jpg"] == members["jpg"]
        assert rows[key]["json"] == json.loads(members["json"])
        assert rows[key]["cls"] == int(members["cls"])


@pytest.mark.parametrize(
    "format", [tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT, tarfile.GNU_FORMAT], ids=str
)
def test_every_format_of_tar(tmp_path, format):
    samples = {("d" * 60 + "/" + "é" * 30 + str(i)): sample(i) for i in range(3)}
    write_shard(tmp_path / "a.tar", samples.items(), format=format)
    table = leman.create(tmp_path / "t.lance", leman.webdataset(tmp_path / "a.tar"))
    check_rows(table, samples)


def test_shards_that_are_compressed(tmp_path, shards):
    for number, path in enumerate(sorted((tmp_path / "shards").iterdir())):
        packed = path.with_suffix(".tgz" if number == 0 else ".tar.gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    source = leman.webdataset(tmp_path / "shards")
    check_rows(leman.create(tmp_path / "t.lance", source), shards)
    linked = leman.webdataset(tmp_path / "shards", references=True)
    with pytest.raises(leman.UnsupportedError, match=r"00\d.t.*gz is compressed with gzip"):
        leman.create(tmp_path / "linked.lance", linked)
    damaged = tmp_path / "shards/001.tar.gz"
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 4
    damaged.write_bytes(content)
    with pytest.raises(leman.CorruptError, match=r"001.tar.gz"):
        leman.create(tmp_path / "u.lance", leman.webdataset(damaged))
    rest = leman.webdataset(tmp_path / "shards", on_error="skip")
    table = leman.create(tmp_path / "v.lance", rest)
    assert 80 <= table.count_rows() < 100
    assert {os.path.basename(p.part) for p in table.loaded.problems} == {"001.tar.gz"}


def test_a_table_of_shards(tmp_path, shards):
    db = leman.connect(tmp_path / "db")
    seen = []
    table = db.create_table(
        "imgs",
        leman.webdataset(f"{tmp_path}/shards/{{000..004}}.tar"),
        max_parallelism=3,
        progress=seen.append,
    )
    check_rows(table, shards)
    assert table.loaded.rows_committed == 100 and table.loaded.problems == []
    assert all(isinstance(item, leman.LoadProgress) for item in seen)
    assert (seen[-1].parts_done, seen[-1].rows) == (5, 100)  # the end is told, too
    assert table.verify().findings == []
    judge = lance.dataset(table.path).to_table()
    assert judge.schema == table.schema
    assert sorted(judge.column("__key__").to_pylist()) == sorted(shards)


def test_columns_that_are_asked_for(tmp_path, shards):
    source = leman.webdataset(
        tmp_path / "shards",
        columns={"id": "__key__", "caption": "json.caption", "image": "jpg", "label": "cls"},
        schema={"label": pa.int32()},
    )
    table = leman.create(tmp_path / "t.lance", source)
    assert table.schema.names == ["id", "caption", "image", "label"]
    assert table.schema.field("label").type == pa.int32()
    for row in table.scan().to_arrow().to_pylist():
        members = shards[row["id"]]
        assert row["caption"] == json.loads(members["json"])["caption"]
        assert (row["image"], row["label"]) == (members["jpg"], int(members["cls"]))
    listed = leman.webdataset(tmp_path / "shards", columns=["json.width", "png?", "geojson.gz?"])
    assert listed.schema.names == ["width", "png", "geojson_gz"]
    typed = leman.webdataset(tmp_path / "shards", schema={"cls": pa.int8(), "JPG": pa.binary()})
    assert typed.schema.types == [pa.int8(), pa.binary()] and typed.schema.names == ["cls", "JPG"]
    assert len(pa.table(typed)) == 100
    with pytest.raises(leman.InvalidError, match='two columns are named "seg_png"'):
        leman.webdataset(tmp_path / "shards", columns=["seg.png?", "seg_png?"])
    with pytest.raises(leman.InvalidError, match="an empty list names no files"):
        leman.webdataset([])
    assert pa.table(listed).column("png").null_count == 100
    assert sorted(pa.table(listed).column("width").to_pylist()) == list(range(100))


def test_group_size_is_a_note_of_binary_columns(tmp_path, shards):
    plain = leman.create(tmp_path / "p.lance", leman.webdataset(tmp_path / "shards"))
    source = leman.webdataset(tmp_path / "shards", group_size=64)
    table = leman.create(tmp_path / "t.lance", source, max_parallelism=1)
    assert table.schema.field("jpg").metadata == {b"leman:group_size": b"64"}
    assert not table.schema.field("cls").metadata
    assert lance.dataset(table.path).schema.field("jpg").metadata[b"leman:group_size"] == b"64"
    assert rows_by_key(table) == rows_by_key(plain)


def test_shards_are_loaded_once(tmp_path, shards):
    source = leman.webdataset(tmp_path / "shards")
    table = leman.create(tmp_path / "t.lance", source)
    version = table.version
    result = table.append(leman.webdataset(tmp_path / "shards"))
    assert (result.parts_before, result.rows, table.version) == (5, 0, version)
    write_shard(tmp_path / "shards/005.tar", [("new", sample(7))])
    assert table.append(leman.webdataset(tmp_path / "shards")).rows == 1
    assert table.count_rows() == 101
    with pytest.raises(leman.ExistsError):
        leman.create(tmp_path / "t.lance", source)
    assert table.append(leman.webdataset(tmp_path / "shards"), again=True).rows == 101


KILLED = """
    import os, signal, sys, leman
    count = 0
    def progress(_):
        global count
        count += 1
        if count == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
    source = leman.webdataset(sys.argv[2], references=sys.argv[4] == "True")
    leman.create(sys.argv[1], source, progress=progress, max_parallelism=2, commit_mb=0.02)
"""


@pytest.mark.parametrize("references", [False, True])
def test_a_killed_load_goes_on(tmp_path, references):
    samples = write_shards(tmp_path / "shards", 12, 8)
    program = textwrap.dedent(KILLED)
    place = [str(tmp_path / "t.lance"), str(tmp_path / "shards")]
    killed = 0
    for step in (1, 2, 4, 4, 5, 6, 10**9):
        arguments = [*place, str(step), str(references)]
        done = subprocess.run([sys.executable, "-c", program, *arguments], timeout=60)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        killed += 1
        if leman.open(place[0]).count_rows() == len(samples):
            break  # killed behind its last commit: the table is made
    assert killed >= 1
    check_rows(leman.open(place[0]), samples)


def test_progress_stops_the_load(tmp_path, shards):
    def raises(_):
        raise KeyboardInterrupt

    source = leman.webdataset(tmp_path / "shards")
    with pytest.raises(KeyboardInterrupt):
        leman.create(tmp_path / "t.lance", source, progress=raises)
    table = leman.create(tmp_path / "u.lance", schema=source.schema)
    with pytest.raises(leman.CancelledError):
        table.append(source, progress=lambda _: False, one_commit=True)
    assert table.count_rows() == 0
    table.append(source)
    check_rows(table, shards)


@pytest.mark.parametrize("on_error", ["fail", "skip", "null"])
def test_bad_samples_as_asked(tmp_path, on_error):
    samples = [(f"{i}", sample(i)) for i in range(6)]
    del samples[3][1]["jpg"]
    samples[4][1]["json"] = b"{"
    path = write_shard(tmp_path / "bad.tar", samples)
    source = leman.webdataset(path, on_error=on_error, sample_rows=2)
    if on_error == "fail":
        with pytest.raises(leman.InvalidError, match=r'bad.tar: sample "3" at offset \d+.*"jpg"'):
            leman.create(tmp_path / "t.lance", source)
        return
    table = leman.create(tmp_path / "t.lance", source)
    rows = rows_by_key(table)
    assert len(rows) == (4 if on_error == "skip" else 6)
    if on_error == "null":
        assert rows["3"]["jpg"] is None and rows["4"]["json"] is None and rows["4"]["cls"] == 4
    assert [(p.key, p.field) for p in table.loaded.problems] == [("3", "jpg"), ("4", "json")]
    assert all(p.part == str(path) and p.offset > 0 for p in table.loaded.problems)


def test_a_truncated_shard_and_a_missing_one(tmp_path, shards):
    path = tmp_path / "shards/002.tar"
    os.truncate(path, os.path.getsize(path) // 2)
    (tmp_path / "shards/000.tar").unlink()
    pattern = f"{tmp_path}/shards/{{000..004}}.tar"
    with pytest.raises((leman.CorruptError, leman.NotFoundError), match=r"00[02].tar"):
        leman.create(tmp_path / "t.lance", leman.webdataset(pattern))
    table = leman.create(tmp_path / "u.lance", leman.webdataset(pattern, on_error="skip"))
    rows = rows_by_key(table)
    assert 60 < len(rows) < 80
    for key, row in rows.items():
        assert row["jpg"] == shards[key]["jpg"]
    told = sorted(os.path.basename(p.part) for p in table.loaded.problems)
    assert told == ["000.tar", "002.tar"]


def test_a_truncated_shard_that_is_compressed(tmp_path, shards):
    data = gzip.compress((tmp_path / "shards/002.tar").read_bytes())
    (tmp_path / "cut.tar.gz").write_bytes(data[: len(data) // 2])
    source = leman.webdataset(tmp_path / "cut.tar.gz", on_error="skip")
    table = leman.create(tmp_path / "t.lance", source)
    rows = rows_by_key(table)
    assert 0 < len(rows) < 20 and len(table.loaded.problems) == 1
    for key, row in rows.items():
        assert row["jpg"] == shards[key]["jpg"]


def test_samples_that_are_not_like_the_others(tmp_path):
    """Fields that half of the samples have are columns, and each must have them."""
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for number in range(6):
            names = ["txt", *(["cls"] if number != 4 else []), *(["more"] if number == 2 else [])]
            for name in names:
                member = tarfile.TarInfo(f"{number}.{name}")
                member.size = 1
                tar.addfile(member, io.BytesIO(b"7"))
    for wrong, columns in [("2", None), ("4", ["txt", "cls"])]:
        with pytest.raises(leman.InvalidError, match=rf'a.tar: sample "{wrong}" at offset \d+: '):
            source = leman.webdataset(tmp_path / "a.tar", columns)
            leman.create(tmp_path / "t.lance", source)
    told = {}
    for on_error in ("skip", "null"):
        source = leman.webdataset(tmp_path / "a.tar", on_error=on_error)
        table = leman.create(tmp_path / f"{on_error}.lance", source)
        told[on_error] = [(p.key, p.field) for p in table.loaded.problems]
        assert table.schema.names == ["__key__", "txt", "cls"]
        assert table.count_rows() == (4 if on_error == "skip" else 6)
    assert [key for key, _ in told["skip"]] == [key for key, _ in told["null"]] == ["2", "4"]
    source = leman.webdataset(tmp_path / "a.tar", ["txt", "cls?"])
    assert leman.create(tmp_path / "u.lance", source).count_rows() == 6


def test_generators_in_parallel(tmp_path):
    def numbers(start):
        for i in range(start, start + 50):
            yield {"x": i}

    table = leman.create(tmp_path / "t.lance", schema={"x": pa.int64()})
    version = table.version
    sources = [lambda start=start: numbers(start) for start in range(0, 400, 50)]
    assert table.append_from(sources, max_parallelism=4).rows == 400
    assert table.version == version + 1
    assert sorted(table.to_arrow().column("x").to_pylist()) == list(range(400))

    def fails():
        yield {"x": 1}
        raise ZeroDivisionError("in a generator")

    with pytest.raises(ZeroDivisionError, match="in a generator"):
        table.append_from([*sources, fails])
    table.refresh()
    assert table.count_rows() == 400
    table.append_from(numbers(400))
    assert table.count_rows() == 450
    with pytest.raises(ValueError, match="max_parallelism is not negative, and -1 is"):
        table.append_from(numbers(0), max_parallelism=-1)
    wide = leman.create(tmp_path / "w.lance", schema={"x": pa.int64(), "y": pa.int64()})
    wide.append_from([{"x": [1]}, {"x": [2], "y": [3]}, {"x": [4]}], max_parallelism=1)
    assert (wide.version, wide.to_arrow().column("y").to_pylist()) == (2, [None, 3, None])


def test_references_to_shards(tmp_path):
    folder = tmp_path / "with space & é"
    samples = write_shards(folder, 3, 10)
    table = leman.create(tmp_path / "t.lance", leman.webdataset(folder, references=True))
    assert table.info()["data_version"] == "2.2"
    more = write_shards(tmp_path / "more", 4, 10)  # three of them have the same keys
    table.append(leman.webdataset(tmp_path / "more/003.tar", references=True))
    samples.update(more)
    rows = table.scan(blobs="bytes").to_arrow().to_pylist()
    assert {row["__key__"]: row["jpg"] for row in rows} == {
        key: members["jpg"] for key, members in samples.items()
    }
    judge = lance.dataset(table.path)
    keys = judge.to_table(columns=["__key__"]).column(0).to_pylist()
    blobs = judge.take_blobs("jpg", indices=list(range(len(keys))))
    assert [blob.readall() for blob in blobs] == [samples[key]["jpg"] for key in keys]
    assert table.verify().findings == []
    table.update("cls = 3", values={"cls": 5})
    table.compact(deleted_share=0)
    kinds = table.to_arrow(columns=["jpg"]).column(0).combine_chunks().field("kind").to_pylist()
    assert set(kinds) == {3}
    rows = table.scan(blobs="bytes").to_arrow().to_pylist()
    assert {row["__key__"]: row["jpg"] for row in rows} == {
        key: members["jpg"] for key, members in samples.items()
    }


def test_references_need_their_version_and_their_files(tmp_path):
    write_shards(tmp_path / "shards", 1, 5)
    source = leman.webdataset(tmp_path / "shards", references=True)
    with pytest.raises(leman.UnsupportedError, match=r'"jpg".*2\.2'):
        leman.create(tmp_path / "t.lance", source, data_storage_version="2.1")
    plain = pa.table({"jpg": pa.array([b"x"], pa.large_binary())})
    blob = pa.schema([pa.field("jpg", pa.large_binary(), metadata={"lance-encoding:blob": "true"})])
    old = leman.create(tmp_path / "old.lance", plain.cast(blob))
    only = leman.webdataset(tmp_path / "shards", columns=["jpg"], references=True)
    with pytest.raises(leman.UnsupportedError, match="refer to bytes elsewhere"):
        old.append(only)
    table = leman.create(tmp_path / "t.lance", source)
    os.truncate(tmp_path / "shards/000.tar", 600)
    with pytest.raises(leman.CorruptError, match="000.tar"):
        table.take([4], blobs="bytes")
    (tmp_path / "shards/000.tar").unlink()
    with pytest.raises(leman.NotFoundError, match="000.tar"):
        table.take([4], blobs="bytes")


def test_references_are_read_one_by_one(tmp_path):
    """Those of rows that nobody asks for may be large, and may be gone."""
    (tmp_path / "shards").mkdir()
    rows = {f"{number:06d}": {"jpg": b"%06d" % number * 100} for number in range(60)}
    for shard in range(3):
        some = list(rows.items())[shard * 20 : shard * 20 + 20]
        write_shard(tmp_path / f"shards/{shard}.tar", some)
    source = leman.webdataset(tmp_path / "shards", references=True)
    table = leman.create(tmp_path / "t.lance", source, max_parallelism=1)
    feed = table.feed(shuffle="block", batch_size=4, num_workers=1, prefetch=1)
    next(feed)
    assert feed.stats()["bytes"] < 30 * 600
    (tmp_path / "shards/1.tar").unlink()
    taken = table.take([15, 45], blobs="bytes").to_pylist()
    assert [row["jpg"][:6] for row in taken] == [b"000015", b"000045"]
    for shuffle in (True, False, "block"):
        feed = table.feed(shuffle=shuffle, batch_size=8, epochs=1, on_error="replace")
        got = [row for batch in feed for row in batch.to_pylist()]
        assert len(got) == 60 and feed.stats()["replaced"] == 20
        assert all(row["jpg"] == rows[row["__key__"]]["jpg"] for row in got)
        again = table.feed(
            shuffle=shuffle, batch_size=3, epochs=1, on_error="replace", num_workers=1
        )
        assert [row for batch in again for row in batch.to_pylist()] == got
