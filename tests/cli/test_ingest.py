# SPDX-License-Identifier: Apache-2.0
"""leman ingest and leman export."""

import json
import os
import sys

import leman as library
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from shards import sample, write_shard, write_shards


@pytest.fixture
def environment():
    return dict(os.environ, LEMAN_PYTHON=sys.executable)


def test_webdataset(leman, tmp_path):
    samples = write_shards(tmp_path / "shards", 3, 5)
    table, pattern = tmp_path / "t.lance", f"{tmp_path}/shards/{{000..002}}.tar"
    columns = "key=__key__,jpg,caption=json.caption,png?"
    arguments = ["ingest", "webdataset", table, pattern, "--columns", columns]
    done = leman(*arguments, "--max-parallelism", 2)
    assert done.returncode == 0, done.stderr
    assert b"15 rows of 3 parts loaded" in done.stdout
    again = json.loads(leman(*arguments, "--json").stdout)
    assert (again["rows"], again["parts_before"], again["problems"]) == (0, 3, 0)
    rows = library.open(table).to_arrow().to_pylist()
    assert {row["key"]: row["jpg"] for row in rows} == {k: m["jpg"] for k, m in samples.items()}
    assert all(row["png"] is None for row in rows)


def test_schema_of_text_files(leman, tmp_path):
    (tmp_path / "1.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "2.jsonl").write_text('{"a": 1.5, "c": 2}\n')
    arguments = ["ingest", "jsonl", tmp_path / "t.lance", f"{tmp_path}/{{1,2}}.jsonl"]
    failed = leman(*arguments)
    assert failed.returncode == 2 and b'2.jsonl: line 1: field "a" of type int64' in failed.stderr
    done = leman(*arguments[:2], tmp_path / "u.lance", arguments[3], "--schema", "a double, c int8")
    assert done.returncode == 0, done.stderr
    rows = library.open(tmp_path / "u.lance").to_arrow()
    assert rows.schema.types == [pa.float64(), pa.int8()]
    assert sorted(rows["a"].to_pylist()) == [1.0, 1.5]


def test_bad_samples_are_reported(leman, tmp_path):
    samples = [(str(i), sample(i)) for i in range(4)]
    samples[2][1]["json"] = b'{"a'
    shard = write_shard(tmp_path / "x.tar", samples)
    arguments = ["ingest", "webdataset", tmp_path / "t.lance", shard]
    failed = leman(*arguments, "--sample", 2)
    assert failed.returncode == 2 and b'sample "2"' in failed.stderr
    report = tmp_path / "report.jsonl"
    done = leman(*arguments, "--sample", 2, "--on-error", "skip", "--report", report)
    assert done.returncode == 3 and b"3 rows" in done.stdout
    (problem,) = map(json.loads, report.read_text().splitlines())
    assert (problem["part"], problem["key"], problem["field"]) == (str(shard), "2", "json")
    wrong = leman(*arguments, "--on-error", "ignore")
    assert wrong.returncode == 2 and b"fail, skip or null" in wrong.stderr


def test_a_key_that_is_no_text_is_reported(leman, tmp_path):
    shard = write_shard(tmp_path / "x.tar", [(str(i), sample(i)) for i in range(3)])
    content = shard.read_bytes()
    for name in (b"1.jpg", b"1.json", b"1.cls"):
        at = content.index(b"\0" + name + b"\0") + 1
        header = bytearray(content[at : at + 512])
        header[0] = 0xFF
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
        content = content[:at] + header + content[at + 512 :]
    shard.write_bytes(content)
    report = tmp_path / "report.jsonl"
    arguments = ["ingest", "webdataset", tmp_path / "t.lance", shard]
    failed = leman(*arguments)
    assert failed.returncode == 2 and b": the name is not UTF-8" in failed.stderr
    done = leman(*arguments, "--on-error", "skip", "--report", report)
    assert done.returncode == 3 and b"2 rows" in done.stdout
    (problem,) = map(json.loads, report.read_text().splitlines())
    assert (problem["key"], problem["field"]) == ("\ufffd", "")


def test_one_file_by_several_names(leman, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.csv").write_text("x\n1\n")
    for pattern in ("in", "in/", "./in//", f"{tmp_path}/in/./a.csv", "{in,in/*,in/a.csv}"):
        done = leman("ingest", "csv", "t.lance", pattern)
        assert done.returncode == 0, done.stderr
    assert library.open(tmp_path / "t.lance").count_rows() == 1


def test_a_load_that_failed_and_other_columns(leman, tmp_path):
    (tmp_path / "1.csv").write_text("a\n1\n")
    (tmp_path / "2.csv").write_text("a\n1.5\n")
    arguments = ["ingest", "csv", tmp_path / "t.lance", tmp_path, "--max-parallelism", 1]
    assert leman(*arguments).returncode == 2
    other = leman(*arguments, "--schema", "a double")
    assert other.returncode == 2 and b"has begun this table and not finished it" in other.stderr
    (tmp_path / "2.csv").write_text("a\n2\n")
    assert leman(*arguments).returncode == 0
    assert library.open(tmp_path / "t.lance").count_rows() == 2


def test_options_of_other_kinds(leman, tmp_path, environment):
    (tmp_path / "1.csv").write_text("a\n1\n")
    wrong = {
        "csv": ["--columns a", "--references", "--sample 3", "--group-size 3", "--format csv"],
        "jsonl": ["--delimiter ;", "--no-header", "--null x"],
        "webdataset": ["--schema a"],
        "parquet": ["--references", "--version 3", "--schema a"],
        "files": ["--columns a", "--version 3"],
        "space": ["--columns a", "--references"],
    }
    for kind, options in wrong.items():
        for option in options:
            arguments = ["ingest", kind, tmp_path / "t.lance", tmp_path, *option.split()]
            done = leman(*arguments, env=environment)
            assert done.returncode == 2 and option.split()[0].encode() in done.stderr
    assert not (tmp_path / "t.lance").exists()


def test_references(leman, tmp_path):
    samples = write_shards(tmp_path / "shards", 2, 5)
    done = leman("ingest", "webdataset", tmp_path / "t.lance", tmp_path / "shards", "--references")
    assert done.returncode == 0, done.stderr
    rows = library.open(tmp_path / "t.lance").scan(blobs="bytes").to_arrow().to_pylist()
    assert all(row["jpg"] == samples[row["__key__"]]["jpg"] for row in rows)


def test_text_files_and_unknown_kinds(leman, tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text(f"a,b\n{number},x\n")
    done = leman("ingest", "csv", tmp_path / "t.lance", tmp_path, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["rows"] == 3
    (tmp_path / "0.jsonl").write_text("")
    done = leman("ingest", "jsonl", tmp_path / "j.lance", tmp_path)
    assert done.returncode == 2 and b"0.jsonl: there are no rows to take columns" in done.stderr
    (tmp_path / "1.jsonl").write_text('{"a": 1}\n')
    done = leman("ingest", "jsonl", tmp_path / "j.lance", tmp_path, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["rows"] == 1
    wrong = leman("ingest", "xml", tmp_path / "t.lance", tmp_path)
    assert wrong.returncode == 2 and b'no kind "xml"' in wrong.stderr
    assert leman("ingest", "csv", tmp_path / "t.lance", tmp_path / "no*").returncode == 2


def test_what_cannot_be_read_is_reported(leman, tmp_path, environment):
    (tmp_path / "0.csv").write_bytes(b"")
    (tmp_path / "1.csv").write_text("a,b\n1,x\n2\n3,y\n")
    arguments = ["ingest", "csv", tmp_path / "t.lance", tmp_path, "--json"]
    assert leman(*arguments).returncode == 2
    report = tmp_path / "report"
    done = leman(*arguments, "--on-error", "skip", "--report", report)
    assert done.returncode == 3, done.stderr
    counts = json.loads(done.stdout)
    assert (counts["rows"], counts["problems"]) == (2, 2)
    problems = sorted(map(json.loads, report.read_text().splitlines()), key=lambda p: p["part"])
    assert [p["part"] for p in problems] == [f"{tmp_path}/0.csv", f"{tmp_path}/1.csv"]
    assert problems[1]["offset"] == 8 and "line 3" in problems[1]["message"]
    (tmp_path / "0.array_record").write_bytes(b"no records")
    library.write_array_record(tmp_path / "1.array_record", {"r": [b"x"]})
    arguments = ["ingest", "array_record", tmp_path / "r.lance", tmp_path, "--on-error", "skip"]
    done = leman(*arguments, "--json")
    assert done.returncode == 3 and json.loads(done.stdout)["rows"] == 1
    assert b"0.array_record" in done.stderr
    rows = pa.table({"a": [1, 2]})
    for number in range(2):
        with pa.ipc.new_file(tmp_path / f"{number}.arrow", rows.schema) as writer:
            writer.write_table(rows)
    os.truncate(tmp_path / "0.arrow", 100)
    arguments = ["ingest", "arrow", tmp_path / "a.lance", tmp_path]
    assert leman(*arguments).returncode != 0
    done = leman(*arguments, "--on-error", "skip", "--json", env=environment)
    assert done.returncode == 3 and json.loads(done.stdout)["rows"] == 2, done.stderr
    assert b"0.arrow" in done.stderr


def test_what_python_reads(leman, tmp_path, environment):
    pq.write_table(pa.table({"x": [1, 2, 3]}), tmp_path / "a.parquet")
    table = tmp_path / "t.lance"
    done = leman("ingest", "parquet", table, tmp_path / "a.parquet", "--json", env=environment)
    assert done.returncode == 0 and json.loads(done.stdout)["rows"] == 3, done.stderr
    out = tmp_path / "out.parquet"
    done = leman("export", "parquet", table, out, "--where", "x > 1", env=environment)
    assert done.returncode == 0 and pq.read_table(out).to_pydict() == {"x": [2, 3]}, done.stderr
    done = leman("ingest", "files", tmp_path / "f.lance", tmp_path / "a.parquet/x", env=environment)
    assert done.returncode == 2 and b"no files" in done.stderr
    nowhere = dict(environment, LEMAN_PYTHON="/nowhere/python")
    done = leman("ingest", "parquet", table, tmp_path, env=nowhere)
    assert done.returncode == 1 and b"LEMAN_PYTHON" in done.stderr


def test_export_of_records(leman, tmp_path):
    library.create(tmp_path / "t.lance", {"x": [b"a", b"bc", b""], "n": [1, 2, 3]})
    out = tmp_path / "out.array_record"
    arguments = ["export", "array_record", tmp_path / "t.lance", out, "--column", "x"]
    done = leman(*arguments, "--options", "group_size:2,snappy")
    assert done.returncode == 0 and b"3 records" in done.stdout
    assert library.ArrayRecordFile(out).to_arrow().column(0).to_pylist() == [b"a", b"bc", b""]
    again = leman("ingest", "array_record", tmp_path / "u.lance", out, "--json")
    assert json.loads(again.stdout)["rows"] == 3
    assert leman(*arguments, "--options", "group_size:none").returncode == 2
    assert leman(*arguments[:-1], "n").returncode == 2


def test_a_place_is_named_once(leman, tmp_path):
    (tmp_path / "bad.csv").write_text("a\n1\nx\n")
    (tmp_path / "empty.csv").write_text("")
    load = ("ingest", "csv", tmp_path / "t", tmp_path / "*.csv", "--schema", "a int64")
    text = leman(*load).stderr.decode()
    assert text.count(str(tmp_path)) == 1, text
    text = leman(*load, "--on-error", "skip").stderr.decode()
    assert sorted(text.splitlines()) == [
        f'leman: {tmp_path}/bad.csv: offset 4: line 3: field "a" of type int64 has no place '
        'for "x"',
        f"leman: {tmp_path}/empty.csv: offset 0: line 1: an empty file, without a header",
    ]
