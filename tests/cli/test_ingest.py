# SPDX-License-Identifier: Apache-2.0
"""leman ingest and leman export."""

import json
import os
import sys

import leman as library
import pyarrow as pa
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
    wrong = leman("ingest", "xml", tmp_path / "t.lance", tmp_path)
    assert wrong.returncode == 2 and b'no kind "xml"' in wrong.stderr
    assert leman("ingest", "csv", tmp_path / "t.lance", tmp_path / "no*").returncode == 2


def test_what_cannot_be_read_is_reported(leman, tmp_path):
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
    (tmp_path / "0.arrow").write_bytes(b"")
    done = leman("ingest", "arrow", tmp_path / "a.lance", tmp_path, "--on-error", "skip")
    assert done.returncode == 2 and b"--on-error skip is not for files of Arrow IPC" in done.stderr


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
