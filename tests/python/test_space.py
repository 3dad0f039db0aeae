# SPDX-License-Identifier: Apache-2.0
"""A dataset that Space has written, tests/golden/space, becomes a table."""

import json
import os
import pathlib
import tarfile

import leman
import pyarrow.parquet as pq
import pytest
from leman.ingest_command import main

GOLDEN = pathlib.Path(__file__).parents[1] / "golden/space/dataset.tar.gz"


@pytest.fixture
def dataset(tmp_path):
    with tarfile.open(GOLDEN) as tar:
        tar.extractall(tmp_path, filter="data")
    return tmp_path / "dataset"


def rows(ids, other=()):
    """What tests/golden/space/make.py has written; `other`: rows that were upserted."""
    return [
        {
            "id": i,
            "name": f"né{i}" if i % 5 else None,
            "nested": {"a": i, "b": str(i)} if i % 7 else None,
            "list": [float(i)] * (i % 4),
            "raw": b"raw %d" % i,
            "image": b"%s %d " % (b"other" if i in other else b"image", i) * i,
            "mask": b"mask %d" % i if i % 3 else b"",
        }
        for i in ids
    ]


def rows_of(table):
    return sorted(table.scan(blobs="bytes").to_arrow().to_pylist(), key=lambda row: row["id"])


KEPT = [*range(5), *range(8, 30)]  # after the delete


@pytest.mark.parametrize(
    "version, expected, tags",
    [
        (None, rows(KEPT, other=(10, 11)), []),
        ("first", rows(range(20)), ["first"]),
        (1, rows(range(20)), ["first"]),
        ("best", rows(KEPT), ["best"]),
        ("dev", rows([*KEPT, 30, 31, 32]), []),
    ],
)
def test_snapshots(dataset, tmp_path, version, expected, tags):
    source = leman.space(dataset, version)
    assert set(source.tags) == {"first", "best", "after/delete"}
    table = leman.create(tmp_path / "t.lance", source, primary_key=source.primary_key)
    assert rows_of(table) == expected and table.primary_key == ["id"]
    if version == "best":  # a name that no tag can have is told when the others are there
        with pytest.raises(leman.InvalidError, match='"after/delete" is no name for a tag'):
            source.tag(table)
    else:
        source.tag(table)
    assert list(table.tags.list()) == tags


def test_tags_of_the_command(dataset, tmp_path, capsys):
    command = ["ingest", "space", str(tmp_path / "t.lance"), str(dataset), "--version"]
    assert main([*command, "best"]) == 3
    assert '"after/delete" is no name for a tag' in capsys.readouterr().err
    table = leman.open(tmp_path / "t.lance")
    assert list(table.tags.list()) == ["best"]
    table.tags.delete("best")  # as if the first command had been killed behind its last commit
    assert main([*command, "best"]) == 3
    assert list(leman.open(tmp_path / "t.lance").tags.list()) == ["best"]
    assert main([*command, "99"]) == 2 and main([*command, "0"]) == 2
    errors = capsys.readouterr().err
    assert "there is no snapshot 99" in errors and "snapshot 0 has no rows" in errors


def record_files(dataset, field):
    return sorted((dataset / "data").glob(f"{field}_*.array_record"))


def damage(path, text):
    content = bytearray(path.read_bytes())
    content[content.index(text)] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("on_error", ["fail", "skip", "null"])
def test_records_that_cannot_be_read(dataset, tmp_path, on_error):
    bad = next(p for p in record_files(dataset, "mask") if b"mask 22" in p.read_bytes())
    damage(bad, b"mask 22")
    gone = next(p for p in record_files(dataset, "image") if b"other 10" in p.read_bytes())
    gone.unlink()
    source = leman.space(dataset, on_error=on_error)
    if on_error == "fail":
        with pytest.raises(leman.LemanError, match=r"(mask|image)_.*array_record"):
            leman.create(tmp_path / "t.lance", source)
        return
    table = leman.create(tmp_path / "t.lance", source)
    expected = rows(KEPT, other=(10, 11))
    if on_error == "skip":
        expected = [row for row in expected if row["id"] not in (10, 11, 22)]
    for row in expected:
        if row["id"] in (10, 11):
            row["image"] = None
        if row["id"] == 22:
            row["mask"] = None
    assert rows_of(table) == expected
    found = sorted((os.path.basename(p.part), p.key, p.field) for p in table.loaded.problems)
    assert found == [(gone.name, "0 to 1", "image"), (bad.name, "2", "mask")]


def test_index_files_without_a_record_field(dataset, tmp_path):
    path = leman.space(dataset).parts[0][0]
    index = pq.read_table(path)
    pq.write_table(index.drop_columns(["mask"]), path)
    without = set(index.column("id").to_pylist())
    expected = rows(KEPT, other=(10, 11))
    for row in expected:
        row["mask"] = None if row["id"] in without else row["mask"]
    assert rows_of(leman.create(tmp_path / "t.lance", leman.space(dataset))) == expected


def test_index_files_that_cannot_be_read(dataset, tmp_path, capsys):
    """A file of the index is a part: it is left out as one."""
    command = ["ingest", "space", str(tmp_path / "t.lance"), str(dataset), "--version", "first"]
    live = leman.space(dataset, "first").parts[0][0]
    os.truncate(live, 100)
    assert main(command) == 1 and live in capsys.readouterr().err
    os.remove(live)
    assert main(command) == 2
    assert f"{live}: there is no such file" in capsys.readouterr().err
    report = tmp_path / "report.jsonl"
    current = leman.space(dataset).parts
    os.truncate(current[0][0], 100)
    skipped = [*command[:-2], "--on-error", "skip", "--report", str(report)]
    assert main(skipped) == 3
    (problem,) = map(json.loads, report.read_text().splitlines())
    assert problem["part"] == current[0][0]
    assert 0 < leman.open(tmp_path / "t.lance").count_rows() < len(KEPT)


def test_metadata_that_cannot_be_read(dataset):
    manifests = list((dataset / "metadata").glob("index_manifest_*"))
    for path in manifests:
        os.truncate(path, 10)
    with pytest.raises(leman.CorruptError, match="index_manifest_"):
        leman.space(dataset)
    for path in manifests:
        path.unlink()
    with pytest.raises(leman.NotFoundError, match=r"index_manifest_.*: there is no such file"):
        leman.space(dataset)
    entry = dataset / "metadata/entrypoint.txtpb"
    entry.write_text("")
    with pytest.raises(leman.CorruptError, match="entrypoint.txtpb: it names no metadata file"):
        leman.space(dataset)
    entry.unlink()
    entry.mkdir()
    with pytest.raises(leman.StoreError, match="entrypoint.txtpb: Is a directory"):
        leman.space(dataset)
