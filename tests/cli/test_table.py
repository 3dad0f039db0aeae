# SPDX-License-Identifier: Apache-2.0
"""Tables from the shell: each command, what it prints and its exit code."""

import json
import os
import subprocess
from pathlib import Path

import lance
import leman as package
import pyarrow as pa
import pytest
from shell import fails, lines, ok

COMMAND = Path(__file__).resolve().parents[2] / "build/leman"

COMMANDS = (
    "create append scan take count update upsert delete "
    "versions tag restore columns compact cleanup diff verify upgrade errors".split()
)
ROWS = [
    {"id": 1, "name": "a cat", "n": 0.5},
    {"id": 2, "name": None, "n": 1.5},
    {"id": 3, "name": "two, dogs", "n": None},
]


@pytest.fixture
def rows_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "db" / "pets.lance"
    package.create(path, ROWS, primary_key="id")
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_help(leman, command):
    assert ok(leman(command, "--help")).startswith(f"usage: leman {command} TABLE")
    assert f"  {command} " in ok(leman("--help"))


@pytest.mark.parametrize("command", COMMANDS)
def test_wrong_usage(leman, command):
    fails(leman(command), 2, f"leman {command}", "wanted", "--help")
    fails(leman(command, "--nope"), 2, "--nope")


@pytest.mark.parametrize(
    "arguments",
    [
        ["append", "TABLE", "FILE"],
        ["scan", "TABLE"],
        ["take", "TABLE", 0],
        ["count", "TABLE"],
        ["update", "TABLE", "--set", "n=1"],
        ["upsert", "TABLE", "FILE"],
        ["delete", "TABLE", "--where", "true"],
        ["versions", "TABLE"],
        ["tag", "TABLE", "x"],
        ["restore", "TABLE", 1],
        ["columns", "TABLE"],
        ["compact", "TABLE"],
        ["cleanup", "TABLE"],
        ["diff", "TABLE", 1],
    ],
)
def test_no_table(leman, tmp_path, rows_file, arguments):
    places = {"TABLE": tmp_path / "none", "FILE": rows_file}
    fails(leman(*(places.get(item, item) for item in arguments)), 2, "none")


def test_create_from_every_format(leman, tmp_path, rows_file):
    assert ok(leman("create", tmp_path / "t", rows_file)) == "version 1: 3 rows created, 3 in all\n"
    assert package.open(tmp_path / "t").to_arrow().to_pylist() == ROWS
    csv = b'id,name,n\n1,a cat,0.5\n2,,1.5\n3,"two, dogs",\n'
    ok(leman("create", tmp_path / "u", "-", "--primary-key", "id", stdin=csv))
    table = package.open(tmp_path / "u")
    assert (table.to_arrow().to_pylist(), table.primary_key) == (ROWS, ["id"])
    arrow = leman("scan", tmp_path / "t", "--arrow").stdout
    ok(leman("create", tmp_path / "v", "-", stdin=arrow))
    assert package.open(tmp_path / "v").to_arrow().to_pylist() == ROWS


def test_create__options(leman, tmp_path, rows_file):
    done = leman(
        *("create", tmp_path / "t", rows_file, "--data-version", "2.2", "--json"),
        *("--rows-per-fragment", 2, "--message", "first"),
    )
    assert lines(done) == [{"version": 1, "created": 3, "rows": 3}]
    table = package.open(tmp_path / "t")
    assert table.info()["data_version"] == "2.2"
    assert table.info()["num_fragments"] == 2
    assert table.versions()[0]["message"] == "first"


def test_create__a_table_that_is_there(leman, path, rows_file):
    fails(leman("create", path, rows_file), 2, "pets.lance")
    assert "version 1: 0 rows created, 3" in ok(leman("create", path, rows_file, "--exist-ok"))
    assert "version 2: 3 rows created" in ok(leman("create", path, rows_file, "--overwrite"))
    fails(leman("create", path, rows_file, "--overwrite", "--exist-ok"), 2, "not both")
    newest = min((path / "_versions").iterdir())
    newest.write_bytes(newest.read_bytes()[:50])
    fails(leman("create", path, rows_file, "--exist-ok"), 1, newest.name)


def test_nulls_of_the_primary_key(leman, tmp_path):
    """Messages name the column, and no data file, which is gone by then."""
    (tmp_path / "rows.jsonl").write_text('{"id": 1, "n": 1}\n{"id": null, "n": 2}\n')
    made = leman("create", tmp_path / "t", tmp_path / "rows.jsonl", "--primary-key", "id")
    text = 'primary key: column "id" is declared to have no nulls, and has 1'
    assert fails(made, 2) == f"leman: {text}\n"
    table = package.create(tmp_path / "t", [{"id": 1, "n": 1}], primary_key="id")
    for write in (table.append, lambda rows: table.upsert(rows, on="n")):
        with pytest.raises(package.InvalidError, match=text) as caught:
            write(pa.table({"id": pa.array([None], pa.int64()), "n": [5]}))
        assert ".lance" not in str(caught.value).replace(str(tmp_path), "")


def test_create__no_file(leman, tmp_path):
    fails(leman("create", tmp_path / "t", tmp_path / "none.csv"), 2, "none.csv")
    assert not (tmp_path / "t").exists()


def test_append__text_takes_the_types_of_the_table(leman, tmp_path):
    schema = {"id": pa.int8(), "code": pa.large_string(), "v": pa.list_(pa.float32(), 2)}
    table = package.create(tmp_path / "t", schema=schema)
    (tmp_path / "a.csv").write_text("code,id\n007,1\n008,2\n")
    (tmp_path / "b.jsonl").write_text('{"id": 3, "v": [1, 2]}\n')
    done = leman("append", tmp_path / "t", tmp_path / "a.csv", tmp_path / "b.jsonl", "--json")
    assert lines(done) == [
        {"version": 2, "appended": 2, "rows": 2},
        {"version": 3, "appended": 1, "rows": 3},
    ]
    table.refresh()
    assert table.to_arrow().to_pylist() == [
        {"id": 1, "code": "007", "v": None},
        {"id": 2, "code": "008", "v": None},
        {"id": 3, "code": None, "v": [1, 2]},
    ]


def piped(*arguments, text):
    """Run the command with a pipe, by its path, in the place of "PIPE"."""
    words = ['<(printf %s "$0")' if word == "PIPE" else str(word) for word in arguments]
    whole = ["bash", "-c", " ".join([str(COMMAND), *words]), text]
    return subprocess.run(whole, capture_output=True, timeout=60)


@pytest.mark.parametrize("how, text", [("csv", "id,name\n7,x\n"), ("jsonl", '{"id": 7.0}\n')])
def test_rows_of_a_pipe_are_read_once(leman, path, how, text):
    done = piped("append", path, "PIPE", "--format", how, "--json", text=text)
    assert lines(done) == [{"version": 2, "appended": 1, "rows": 4}]
    done = leman("append", path, "/dev/stdin", "--format", how, "--json", stdin=text.encode())
    assert lines(done) == [{"version": 3, "appended": 1, "rows": 5}]
    text = text.replace("7", "8")
    done = piped("upsert", path, "PIPE", "--on", "id", "--format", how, "--json", text=text)
    assert [row["inserted"] for row in lines(done)] == [1]
    assert len(lines(leman("scan", path, "--json", "--where", "id > 6"))) == 3


def test_ingest__pipes_are_refused(leman, path):
    os.mkfifo(path.parent / "p.csv")
    done = leman("ingest", "csv", path, path.parent / "p.csv")
    fails(done, 2, "p.csv", "pipe", "leman append")


def test_append__what_does_not_fit_changes_nothing(leman, path):
    fails(leman("append", path, "-", stdin=b"id,other\n1,2\n"), 2, "other")
    fails(leman("append", path, "-", stdin=b"id,name\nx,y\n"), 2, "id", "int64")
    done = leman("append", path, "-", stdin=b'{"id": 1.5}\n')
    fails(done, 2, 'line 1: field "id" of type int64 has no place for "1.5"\n')
    assert package.open(path).version == 1


def test_scan__for_people(leman, path):
    text = ok(leman("scan", path))
    assert [word in text for word in ("id", "a cat", "two, dogs", "3 rows")] == [True] * 4


def test_scan__json(leman, path):
    assert lines(leman("scan", path, "--json")) == ROWS
    assert lines(leman("scan", path, "--json", "--columns", "n,id", "--limit", 1)) == [
        {"n": 0.5, "id": 1}
    ]
    assert lines(leman("scan", path, "--json", "--where", "id > 1", "--offset", 1)) == ROWS[2:]
    assert lines(leman("scan", path, "--json", "--row-ids", "--columns", "id")) == [
        {"id": i + 1, "_rowid": i} for i in range(3)
    ]


def test_scan__versions_and_tags(leman, path):
    package.open(path).delete("true")
    ok(leman("tag", path, "full", 1))
    assert lines(leman("scan", path, "--json")) == []
    assert lines(leman("scan", path, "--json", "--version", 1)) == ROWS
    assert lines(leman("scan", path, "--json", "--version", "full")) == ROWS
    fails(leman("scan", path, "--version", 9), 2, "9")
    fails(leman("scan", path, "--version", "nope"), 2, "nope")
    fails(leman("scan", path, "--version", 0), 2, "0")


def test_scan__large_limit_is_no_large_memory(leman, path):
    assert "3 rows" in ok(leman("scan", path, "--limit", 2**62))


def test_scan__wrong_arguments(leman, path):
    fails(leman("scan", path, "--columns", "nope"), 2, "nope")
    fails(leman("scan", path, "--where", "id >"), 2, "end of the expression")
    fails(leman("scan", path, "--limit", "x"), 2, "--limit", "x")
    fails(leman("scan", path, "--json", "--arrow"), 2, "not both")
    fails(leman("scan", path, "--where"), 2, "--where wants a value")


def test_scan__a_field_of_a_column_without_fields(leman, path):
    fails(leman("scan", path, "--columns", "id.x"), 2, 'no column "id.x": "id" has no fields')
    fails(leman("scan", path, "--columns", "x"), 2, "there are: id, name, n")


def test_take(leman, path):
    assert lines(leman("take", path, 2, 0, 2, "--json")) == [ROWS[2], ROWS[0], ROWS[2]]
    package.open(path).delete("id = 1")
    assert lines(leman("take", path, 0, "--json")) == [ROWS[1]]
    assert lines(leman("take", path, 1, "--ids", "--json", "--columns", "id")) == [{"id": 2}]
    assert "two, dogs" in ok(leman("take", path, 1))
    arrow = pa.ipc.open_stream(leman("take", path, 1, 0, "--arrow").stdout).read_all()
    assert arrow.to_pylist() == [ROWS[2], ROWS[1]]
    fails(leman("take", path, 2), 2, "2")
    fails(leman("take", path, 0, "--ids"), 2, "0")
    fails(leman("take", path, "x"), 2, "x")


def test_count(leman, path):
    assert ok(leman("count", path)) == "3\n"
    assert ok(leman("count", path, "--where", "name is null")) == "1\n"
    assert lines(leman("count", path, "--json")) == [{"rows": 3}]
    package.open(path).delete("id = 1")
    assert ok(leman("count", path, "--version", 1)) == "3\n"
    fails(leman("count", path, "--where", "nope = 1"), 2, "nope")


def test_delete(leman, path):
    assert ok(leman("delete", path, "--where", "id < 3")) == "version 2: 2 rows deleted, 1 in all\n"
    assert lines(leman("delete", path, "--where", "id = 9", "--json")) == [
        {"version": 2, "deleted": 0, "rows": 1}
    ]
    fails(leman("delete", path), 2, "--where")
    assert package.open(path).to_arrow()["id"].to_pylist() == [3]


def test_update(leman, path):
    done = leman("update", path, "--set", "n=id + 0.5", "--set", "name='x=y'", "--where", "id > 1")
    assert ok(done) == "version 2: 2 rows updated, 3 in all\n"
    rows = {row["id"]: row for row in package.open(path).to_arrow().to_pylist()}
    assert (rows[1], rows[3]) == (ROWS[0], {"id": 3, "name": "x=y", "n": 3.5})
    fails(leman("update", path, "--set", "n"), 2, "COLUMN=EXPRESSION")
    fails(leman("update", path), 2, "--set")
    fails(leman("update", path, "--set", "nope=1"), 2, "nope")


def test_upsert(leman, path):
    text = b'{"id": 3, "n": 9}\n{"id": 4}\n'
    (path.parent / "rows.jsonl").write_bytes(text)
    done = leman("upsert", path, path.parent / "rows.jsonl")
    assert ok(done) == "version 2: 1 rows inserted, 1 updated\n"
    rows = {row["id"]: row for row in package.open(path).to_arrow().to_pylist()}
    assert (rows[3], rows[4]) == (
        {"id": 3, "name": "two, dogs", "n": 9.0},
        {"id": 4, "name": None, "n": None},
    )
    fails(leman("upsert", path, "-", "--insert", stdin=b'{"id": 4}\n'), 2, "4")
    done = leman("upsert", path, "-", "--on", "name", "--json", stdin=b"id,name\n7,a cat\n")
    assert lines(done) == [{"version": 3, "inserted": 0, "updated": 1, "deleted": 0}]


def test_upsert__without_a_key(leman, tmp_path, rows_file):
    package.create(tmp_path / "t", ROWS)
    fails(leman("upsert", tmp_path / "t", rows_file), 2, "key")


def test_versions__messages_do_not_move_the_cursor(leman, path):
    package.open(path).append(ROWS, message='two\nlines, "red": \x1b[31m \u009b é\\')
    assert ok(leman("versions", path)).endswith('  two\\nlines, "red": \\u001b[31m \\u009b é\\\n')


def test_versions(leman, path):
    package.open(path).append(ROWS, message="again")
    text = ok(leman("versions", path)).splitlines()
    assert len(text) == 3
    assert text[2].split()[0] == "2" and text[2].endswith("again")
    first, second = lines(leman("versions", path, "--json"))
    assert (first["version"], first["rows"], first["fragments"]) == (1, 3, 1)
    assert (second["operation"], second["message"]) == ("append", "again")
    assert first["time"] <= second["time"] and first["time"].endswith("Z")


def test_tag(leman, path):
    package.open(path).append(ROWS)
    ok(leman("tag", path, "a"))
    ok(leman("tag", path, "b", 1))
    assert lines(leman("tag", path, "--json")) == [
        {"tag": "a", "version": 2, "branch": ""},
        {"tag": "b", "version": 1, "branch": ""},
    ]
    assert ok(leman("tag", path)).split() == ["2", "a", "1", "b"]
    fails(leman("tag", path, "a", 1), 2, "a")
    ok(leman("tag", path, "a", 1, "--move"))
    ok(leman("tag", path, "b", "--delete"))
    assert package.open(path).tags.list() == {"a": {"version": 1, "branch": None}}
    fails(leman("tag", path, "b", "--delete"), 2, "b")


def test_tag__a_damaged_one_is_named_once(leman, path):
    ok(leman("tag", path, "here"))
    (path / "_refs/tags/here.json").write_text("nothing")
    for command in (["tag"], ["cleanup"]):
        text = fails(leman(*command, path), 1, 'tag "here"')
        assert text.count(str(path)) == 1


def test_restore(leman, path):
    package.open(path).delete("true")
    ok(leman("tag", path, "full", 1))
    assert ok(leman("restore", path, "full")) == "version 3 has the content of version 1\n"
    assert len(package.open(path)) == 3
    assert lines(leman("restore", path, 2, "--json")) == [{"version": 4, "restored": 2}]
    ok(leman("restore", path, 1))
    fails(leman("restore", path, 9), 2, "9")
    lance.dataset(path).create_branch("work").insert(pa.table({"id": [9]}))
    lance.dataset(path).tags.create("there", ("work", None))
    assert ok(leman("count", path, "--version", "there")) == "4\n"
    fails(leman("restore", path, "there"), 2, 'tag "there" is of branch "work"')


def test_columns(leman, path):
    assert lines(leman("columns", path, "--json")) == [
        {"name": "id", "type": "int64", "nullable": False},
        {"name": "name", "type": "string", "nullable": True},
        {"name": "n", "type": "double", "nullable": True},
    ]
    text = ok(leman("columns", path, "--add", "twice=id * 2", "--add", "eq=id = 1"))
    assert text.splitlines()[3].split() == ["twice", "int64"]
    ok(leman("columns", path, "--rename", "twice=double"))
    ok(leman("columns", path, "--drop", "name,n"))
    assert package.open(path).to_arrow().to_pylist()[1] == {"id": 2, "double": 4, "eq": False}
    assert len(ok(leman("columns", path, "--version", 1)).splitlines()) == 3


def test_columns__wrong_calls(leman, path):
    fails(leman("columns", path, "--add", "x"), 2, "NAME=EXPRESSION")
    fails(leman("columns", path, "--rename", "x"), 2, "OLD=NEW")
    fails(leman("columns", path, "--drop", "nope"), 2, "nope")
    fails(leman("columns", path, "--drop", "n", "--add", "x=1"), 2, "not several")
    fails(leman("columns", path, "--add", "n=1"), 2, "n")
    assert package.open(path).version == 1


def test_names_and_messages_are_utf8(leman, path, rows_file):
    bad = os.fsdecode(b"gr\xfcn")
    fails(leman("columns", path, "--rename", f"n={bad}"), 2, r"gr\xfcn")
    fails(leman("columns", path, "--add", f"{bad}=1"), 2, r"gr\xfcn")
    fails(leman("append", path, rows_file, "--message", bad), 2, r"gr\xfcn")
    assert package.open(path).version == 1


def test_compact(leman, path):
    for _ in range(3):
        package.open(path).append(ROWS)
    assert ok(leman("compact", path)) == ("version 5: 4 fragments became 1, 12 rows rewritten\n")
    assert lines(leman("compact", path, "--json")) == [
        {"version": 5, "fragments_removed": 0, "fragments_added": 0, "rows_rewritten": 0}
    ]
    assert package.open(path).to_arrow().to_pylist() == ROWS * 4


def test_inspect__table(leman, path):
    package.open(path).append(ROWS)
    package.open(path).delete("id = 1")
    text = ok(leman("inspect", path))
    assert f"{path}: version 3, 4 rows in 2 fragments" in text
    assert "2 deleted rows" in text
    assert [line.split()[0] for line in text.splitlines()[4:]] != []
    assert "largest" not in text
    assert len(ok(leman("inspect", path, "--fragments")).splitlines()) == 4 + 3 + 4 + 2 * 3
    report = lines(leman("inspect", path, "--json"))[0]
    assert (report["version"], report["rows"], report["deleted_rows"]) == (3, 4, 2)
    assert {column["name"] for column in report["columns"]} == {"id", "name", "n"}
    sizes = [column["bytes"] for column in report["columns"]]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] > 0
    assert [fragment["rows"] for fragment in report["fragments"]] == [2, 2]
    files = sum(file.stat().st_size for file in (path / "data").iterdir())
    assert sum(fragment["bytes"] for fragment in report["fragments"]) == files
    assert "version 1, 3 rows" in ok(leman("inspect", path, "--version", 1))


def test_inspect__largest_values(leman, path):
    table = package.open(path)
    table.append([{"id": 4, "name": "x" * 2000}])
    head, *rows = ok(leman("inspect", path, "--fragments")).split("\n\n")[1].splitlines()
    assert head.split()[-1] == "largest"
    assert {row.split()[0]: row.split()[-2:] for row in rows} == {
        "id": ["8", "B"],
        "name": ["2.0", "KiB"],
        "n": ["8", "B"],
    }
    report = lines(leman("inspect", path, "--fragments", "--json"))[0]
    largest = {column["name"]: column["value_bytes_max"] for column in report["columns"]}
    assert largest == {"id": 8, "name": 2000, "n": 8}
    for fragment, size in zip(report["fragments"], [9, 2000], strict=True):
        sizes = [column["bytes"] for column in fragment["columns"]]
        assert sizes == sorted(sizes, reverse=True) and 0 < sum(sizes) < fragment["bytes"]
        assert {c["name"]: c["value_bytes_max"] for c in fragment["columns"]} == {
            "id": 8,
            "name": size,
            "n": 8,
        }
    plain = lines(leman("inspect", path, "--json"))[0]
    assert "columns" not in plain["fragments"][0]
    assert "value_bytes_max" not in plain["columns"][0]


@pytest.mark.parametrize("storage", ["2.1", "2.2"])
def test_inspect__counts_the_bytes_of_blobs(leman, tmp_path, storage):
    field = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    values = [b"x" * size for size in (10, 300_000, 5 << 20)]
    rows = pa.table(
        [[1, 2, 3, 4], [*values, None]], schema=pa.schema([pa.field("id", pa.int64()), field])
    )
    package.create(tmp_path / "t", rows, data_storage_version=storage)
    report = lines(leman("inspect", tmp_path / "t", "--fragments", "--json"))[0]
    stored = sum(map(len, values))
    fragment = report["fragments"][0]
    for columns in (report["columns"], fragment["columns"]):
        assert [column["name"] for column in columns] == ["b", "id"]
        assert stored < columns[0]["bytes"] < stored + 1000
        assert columns[0]["value_bytes_max"] == 5 << 20
    files = sum(f.stat().st_size for f in (tmp_path / "t/data").rglob("*") if f.is_file())
    assert stored < fragment["bytes"] <= files < stored + 10_000
    text = ok(leman("inspect", tmp_path / "t", "--fragments"))
    assert " 99.9%" in text or "100.0%" in text


def test_inspect__options_of_the_other(leman, path):
    file = next((path / "data").iterdir())
    fails(leman("inspect", path, "--pages"), 2, "--pages")
    fails(leman("inspect", file, "--fragments"), 2, "--fragments")
    fails(leman("inspect", path.parent), 2, "db")
    for option in ("--fragments", "--version=1"):
        fails(leman("inspect", path.parent / "none", option), 2, "none is no table")
    fails(leman("inspect", path.parent / "none"), 2, "none")
    assert "version 1, 3 rows" in ok(leman("inspect", f"file://{path}"))
    assert "Lance file" in ok(leman("inspect", f"file://{file}"))


def test_cleanup(leman, path):
    for _ in range(3):
        package.open(path).append(ROWS)
    assert ok(leman("cleanup", path)) == "removed 0 versions, 0 files, 0 bytes\n"
    ok(leman("tag", path, "keep", 2))
    dry = lines(leman("cleanup", path, "--older-than", "0s", "--dry-run", "--json"))[0]
    assert (dry["versions"], dry["dry_run"]) == (2, True)
    assert "removed 2 versions" in ok(leman("cleanup", path, "--older-than", "0s"))
    assert [item["version"] for item in package.open(path).versions()] == [2, 4]
    assert "removed 1 versions" in ok(leman("cleanup", path, "--older-than", "0s", "--ignore-tags"))
    assert len(package.open(path)) == 12
    for age in ("x", "3", "3y", "3dd", "-3d"):
        fails(leman("cleanup", path, "--older-than", age), 2, "--older-than", age)


@pytest.mark.parametrize("age", ["999999999d", "999999999w", "300000000d"])
def test_cleanup__an_age_beyond_all_clocks_removes_nothing(leman, path, age):
    package.open(path).append(ROWS)
    assert (
        ok(leman("cleanup", path, "--older-than", age)) == "removed 0 versions, 0 files, 0 bytes\n"
    )
    assert len(package.open(path).versions()) == 2


def test_diff(leman, path):
    table = package.open(path)
    table.append([{"id": 4}])
    table.delete("id = 1")
    table.update("id = 2", values={"n": 9.0})
    rows = {row["id"]: row for row in lines(leman("diff", path, 1, "--json"))}
    assert {key: row["_change"] for key, row in rows.items()} == {
        1: "delete",
        2: "update",
        4: "insert",
    }
    assert (rows[2]["n"], rows[1]["name"]) == (9.0, "a cat")
    assert [row["id"] for row in lines(leman("diff", path, 1, 2, "--json"))] == [4]
    assert "insert" in ok(leman("diff", path, 1))
    fails(leman("diff", path, 1, 9), 2, "9")


def test_diff__a_column_of_its_own_name(leman, path):
    ok(leman("columns", path, "--add", "_change=id"))
    for form in ("--json", "--arrow"):
        fails(leman("diff", path, 1, form), 2, 'column "_change"', "rename it")
    assert ok(leman("diff", path, 1, 1, "--json")) == ""
    ok(leman("columns", path, "--rename", "_change=changed"))
    assert {row["_change"] for row in lines(leman("diff", path, 1, "--json"))} <= {"update"}


def test_verify(leman, path):
    assert ok(leman("verify", path)).startswith("0 findings in 2 files, 3 pages, ")
    data = next((path / "data").iterdir())
    content = bytearray(data.read_bytes())
    content[0] ^= 0xFF
    data.write_bytes(content)
    done = leman("verify", path)
    assert done.returncode == 1 and done.stderr == b""
    assert b"column 0, page 0: its bytes are not those that were written" in done.stdout
    done = leman("verify", path, "--json")
    assert done.returncode == 1
    assert "page 0" in json.loads(done.stdout)["findings"][0]
    fails(leman("verify", path.parent), 2, "is no table")


@pytest.mark.parametrize(
    "arguments",
    [
        ["scan", "TABLE"],
        ["take", "TABLE", 0],
        ["count", "TABLE", "--where", "id = 1"],
        ["inspect", "TABLE"],
        ["inspect", "TABLE", "--fragments"],
        ["delete", "TABLE", "--where", "id = 1"],
        ["update", "TABLE", "--set", "n=n + 1"],
        ["upsert", "TABLE", "FILE"],
        ["columns", "TABLE", "--add", "x=id + 1"],
        ["compact", "TABLE"],
    ],
)
@pytest.mark.parametrize("folder", ["data", "_deletions"])
def test_a_table_whose_files_are_missing_is_damaged(leman, path, rows_file, arguments, folder):
    package.open(path).append(ROWS)
    package.open(path).delete("id = 3")
    for file in (path / folder).iterdir():
        file.unlink()
    places = {"TABLE": path, "FILE": rows_file}
    done = leman(*(places.get(item, item) for item in arguments))
    if folder == "_deletions" and arguments == ["inspect", "TABLE"]:
        ok(done)  # it counts what the manifest says
    else:
        fails(done, 1, folder, "No such file", "which version 3 needs")


def test_verify__statistics(leman, path):
    data = next((path / "data").iterdir())
    content = bytearray(data.read_bytes())
    content[content.index(b"LMNSTATS") + 20] ^= 1
    data.write_bytes(content)
    fails(leman("count", path, "--where", "id = 1"), 1, "statistics are damaged")
    done = leman("verify", path)
    assert done.returncode == 1
    assert b"its statistics are damaged" in done.stdout and b"1 findings" in done.stdout


def test_verify__tags(leman, path):
    table = package.open(path)
    table.append(ROWS)
    for name in ("good", "gone", "damaged", "cut"):
        table.tags.create(name, 1)
    tags = path / "_refs/tags"
    tag = json.loads((tags / "gone.json").read_text())
    (tags / "gone.json").write_text(json.dumps({**tag, "version": 7}))
    (tags / "damaged.json").write_text('{"version": "one"}')
    (tags / "cut.json").write_text("")
    done = leman("verify", path, "--json")
    assert done.returncode == 1
    cut, damaged, gone = json.loads(done.stdout)["findings"]
    assert cut.startswith('tag "cut": ') and damaged.startswith('tag "damaged": ')
    assert gone.startswith('tag "gone": ') and gone.endswith("has no version 7")
    for name in ("gone", "damaged", "cut"):
        ok(leman("tag", path, name, "--delete"))
    assert "0 findings" in ok(leman("verify", path))


def test_verify__prints_text_whatever_it_finds(leman, path):
    data = next((path / "data").iterdir())
    content = bytearray(data.read_bytes())
    content[content.index(b"/lance.encodings21") + 8] = 0xFF
    data.write_bytes(content)
    done = leman("verify", path, "--json")
    assert done.returncode == 1
    assert any("\ufffd" in finding for finding in json.loads(done.stdout)["findings"])
    assert "\ufffd" in leman("verify", path).stdout.decode()


def test_errors_are_text_whatever_a_row_holds(leman, tmp_path):
    path = tmp_path / "t.lance"
    ok(leman("create", path, "-", "--format", "jsonl", stdin=b'{"s": "\\u001b[31mred\\nline"}\n'))
    fails(leman("scan", path, "--where", "cast(s as int) = 1"), 2, r"'\u001b[31mred")


def test_upgrade(leman, path, tmp_path):
    import lance

    assert ok(leman("upgrade", path)) == f"{path}: files are of version 2.1 already\n"
    old = tmp_path / "old.lance"
    lance.write_dataset(pa.table({"x": [1, 2]}), old, data_storage_version="2.0")
    assert ok(leman("upgrade", old)) == f"{old}: version 2 has files of version 2.1\n"
    assert lance.dataset(old).to_table().to_pydict() == {"x": [1, 2]}
    assert lance.dataset(old).data_storage_version == "2.1"
    assert lines(leman("upgrade", old, "--json")) == [{"version": 2, "data_version": "2.1"}]


def test_errors(leman, path):
    @package.udf
    def sound(name: str | None) -> str:
        if name is None:
            raise ValueError("nobody\nthere")
        return name.upper()

    table = package.open(path)
    fails(leman("errors", path, "name"), 2, "no function fills", "name")
    table.add_columns({"sound": sound})
    assert lines(leman("errors", path, "sound", "--json")) == []
    table.backfill("sound", concurrency=0, progress=False)
    (error,) = lines(leman("errors", path, "sound", "--json"))
    assert (error["type"], error["message"]) == ("ValueError", "nobody\nthere")
    assert lines(leman("take", path, error["row_id"], "--ids", "--json"))[0]["id"] == 2
    text = ok(leman("errors", path, "sound"))
    assert text.startswith(f"row {error['row_id']}: ValueError: nobody\n    there\n    inputs: ")
    assert text.endswith("\n1 failed cell\n") and "raise ValueError" in text
    assert ok(leman("errors", path, "sound", "--limit", 0)).startswith("1 failed cell, the first 0")
    assert ok(leman("count", path, "--where", "leman_state('sound') = 'failed'")) == "1\n"
    fails(leman("errors", path, "nothing"), 2, "nothing")


SCHEMA = 'id int16 not null, "a name" string, at timestamp[us, UTC], price decimal(10, 2)'


def test_create__columns_of_a_text_file(leman, tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("id,a name,at,price\n1,x,2024-01-02T03:04:05Z,1.50\n2,,,\n")
    ok(leman("create", tmp_path / "t", file, "--schema", SCHEMA))
    table = package.open(tmp_path / "t")
    assert table.schema.types == [
        pa.int16(),
        pa.string(),
        pa.timestamp("us", "UTC"),
        pa.decimal128(10, 2),
    ]
    assert table.schema.names == ["id", "a name", "at", "price"]
    assert [field.nullable for field in table.schema] == [False, True, True, True]
    assert [str(row["price"]) for row in table.to_arrow().to_pylist()] == ["1.50", "None"]


def test_create__columns_of_json_lines(leman, tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text('{"v": [1, 2], "s": {"w": 1, "t": ["a"]}, "left": "out"}\n{"s": null}\n')
    schema = "v: list<float>[2], s: struct<w: int8, t: list<large_string>>, b binary"
    ok(leman("create", tmp_path / "t", file, "--schema", schema))
    assert package.open(tmp_path / "t").to_arrow().to_pylist() == [
        {"v": [1.0, 2.0], "s": {"w": 1, "t": ["a"]}, "b": None},
        {"v": None, "s": None, "b": None},
    ]


def test_create__columns_without_rows(leman, tmp_path):
    kinds = "bool int8 uint64 halffloat float32 float64 binary date32 time64[ns] duration[ms]"
    kinds = [*kinds.split(), "binary[16]", "decimal(40, 3)", "large_list<struct<x: int32>>"]
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(kinds))
    printed = lines(leman("create", tmp_path / "t", "--schema", columns, "--json"))
    assert printed[0]["created"] == 0
    again = lines(leman("columns", tmp_path / "t", "--json"))
    kinds[4:6] = ["float", "double"]
    assert [column["type"] for column in again] == kinds
    again = ", ".join(f"{column['name']} {column['type']}" for column in again)
    ok(leman("create", tmp_path / "u", "--schema", again))
    assert package.open(tmp_path / "u").schema == package.open(tmp_path / "t").schema


def test_create__maps_and_dictionaries(leman, tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text(
        '{"m": {"a": 1, "b": null}}\n{"m": null}\n{"m": {}}\n{"m": [{"key": "c", "value": 2}]}\n'
    )
    schema = "m map<string, int16>, d dictionary<int8, large_string> not null"
    made = ("create", tmp_path / "t", "--schema", schema, "--data-version", "2.2")
    ok(leman(*made))
    assert package.open(tmp_path / "t").schema == pa.schema(
        [
            pa.field("m", pa.map_(pa.string(), pa.int16())),
            pa.field("d", pa.dictionary(pa.int8(), pa.large_string()), nullable=False),
        ]
    )
    kinds = [column["type"] for column in lines(leman("columns", tmp_path / "t", "--json"))]
    assert kinds == ["map<string, int16>", "dictionary<int8, large_string>"]
    options = ("--schema", f"m {kinds[0]}", "--data-version", "2.2")
    ok(leman("create", tmp_path / "u", file, *options))
    values = [[("a", 1), ("b", None)], None, [], [("c", 2)]]
    assert package.open(tmp_path / "u").to_arrow()["m"].to_pylist() == values
    file.write_text('{"m": {"a": "x"}}\n')
    fails(leman("create", tmp_path / "v", file, *options), 2, "value", "int16", "a string")
    options = ("--schema", "m dictionary<int8, int64>")
    fails(leman("create", tmp_path / "v", file, *options), 2, "text cannot fill", "<int64>")
    assert not (tmp_path / "v").exists()


def test_create__keys_of_a_map_are_there_once(leman, tmp_path):
    file = tmp_path / "rows.jsonl"
    for key, text in {
        "string": '{"m": {"a": 1, "b": 2, "a": 3}}',
        "dictionary<int8, string>": '{"m": {"a": 1, "b": 2, "a": 3}}',
        "int64": '{"m": {"1": 1, "2": 2, "1.0": 3}}',
    }.items():
        file.write_text('{"m": {"1": 1}}\n{"m": {}}\n' + text + "\n")
        made = ("create", tmp_path / "t", file, "--data-version", "2.2")
        done = leman(*made, "--schema", f"m map<{key}, int64>")
        fails(done, 2, "rows.jsonl: line 3", 'field "m" has a key twice')
    rows = [{"m": {f"k{i}": i for i in range(n)}} for n in (1, 2, 500)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ok(leman(*made, "--schema", "m map<string, int64>"))
    stored = package.open(tmp_path / "t").to_arrow().column("m").to_pylist()
    assert [dict(keys) for keys in stored] == [row["m"] for row in rows]


@pytest.mark.parametrize("depth, code", [(58, 0), (59, 2)])
def test_create__as_deep_as_a_table_takes(leman, tmp_path, depth, code):
    file = tmp_path / "rows.jsonl"
    for text in (
        '{"a":' * depth + "1" + "}" * depth,
        '{"a":' + "[" * (depth - 1) + "1" + "]" * (depth - 1) + "}",
    ):
        file.write_text(text + "\n")
        done = leman("create", tmp_path / "t", file, "--overwrite")
        if code == 0:
            ok(done)
            assert ok(leman("count", tmp_path / "t")) == "1\n"
        else:
            fails(done, 2, "rows.jsonl: line 1", "nest deeper than 58")


def test_create__deep_types_are_told_by_their_column(leman, tmp_path):
    schema = "a int64, b " + "list<" * 60 + "int64" + ">" * 60
    text = fails(leman("create", tmp_path / "t", "--schema", schema), 2)
    assert text == 'leman: column "b": types nest deeper than 58\n'


def test_create__exact_decimals(leman, tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text('{"d": 1e1}\n{"d": 1.25e-1}\n{"d": "3.140"}\n')
    fails(
        leman("create", tmp_path / "t", file, "--schema", "d decimal(5, 2)"), 2, "line 2", "1.25e-1"
    )
    file.write_text('{"d": 1e1}\n{"d": 125e-2}\n{"d": "3.140"}\n')
    ok(leman("create", tmp_path / "t", file, "--schema", "d decimal(5, 2)"))
    stored = package.open(tmp_path / "t").to_arrow().column("d").to_pylist()
    assert [str(value) for value in stored] == ["10.00", "1.25", "3.14"]


def test_create__dictionaries_of_a_text_file(leman, tmp_path):
    """More batches than one, each with values of its own."""
    file = tmp_path / "rows.csv"
    words = [None if i % 7 == 0 else f"w{i // 500 % 90}" for i in range(20_000)]
    file.write_text("d,id\n" + "".join(f"{word or ''},{i}\n" for i, word in enumerate(words)))
    options = ("--schema", "d dictionary<int16, string>, id int32")
    ok(leman("create", tmp_path / "t", file, *options))
    table = package.open(tmp_path / "t")
    assert table.schema.field("d").type == pa.dictionary(pa.int16(), pa.string())
    assert table.to_arrow()["d"].to_pylist() == words
    file.write_text("d,id\n" + "".join(f"x{i},{i}\n" for i in range(200)))
    options = ("--schema", "d dictionary<int8, string>, id int32")
    fails(leman("create", tmp_path / "u", file, *options), 2, "more than 128 values")


@pytest.mark.parametrize(
    ("schema", "part"),
    [
        ("", "the name of a column"),
        ("id", "a type"),
        ("id nope", '"nope"'),
        ("id int64 x string", '"," is wanted at "x string"'),
        ("id int64,", "the name of a column"),
        ("id list<int64", '">"'),
        ("id list<int64>[x]", "number of items"),
        ("id map<string>", '"," is wanted at ">"'),
        ("id map<string, int64", '">"'),
        ("id dictionary<string, int64>", "whole number"),
        ("id dictionary<list<int8>, int64>", "whole number"),
        ("id struct<>", "the name of a column"),
        ("id timestamp[y]", "a type"),
        ("id time32[ns]", "a type"),
        ("id decimal(1)", "a type"),
        ('"id int64', "the name of a column"),
        ("id " + "list<" * 50, "a type"),
    ],
)
def test_create__wrong_columns(leman, tmp_path, rows_file, schema, part):
    fails(leman("create", tmp_path / "t", rows_file, "--schema", schema), 2, part)
    assert not (tmp_path / "t").exists()


def test_create__columns_of_a_file_that_has_types(leman, tmp_path):
    file = tmp_path / "rows.arrow"
    table = pa.table({"id": [1]})
    with pa.OSFile(str(file), "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
        writer.write(table)
    fails(leman("create", tmp_path / "t", file, "--schema", "id int8"), 2, "a schema of its own")


def test_columns__widen(leman, tmp_path):
    columns = "id int8, s struct<x: int16>, tags list<int8>, boxes list<struct<x: float>>"
    ok(leman("create", tmp_path / "t", "--schema", columns))
    ok(leman("columns", tmp_path / "t", "--widen", "id=int64", "--widen", "s.x=double"))
    ok(leman("columns", tmp_path / "t", "--widen", "tags=list<int32>", "--widen", "boxes.x=double"))
    assert package.open(tmp_path / "t").schema == pa.schema(
        {
            "id": pa.int64(),
            "s": pa.struct({"x": pa.float64()}),
            "tags": pa.list_(pa.int32()),
            "boxes": pa.list_(pa.struct({"x": pa.float64()})),
        }
    )
    fails(leman("columns", tmp_path / "t", "--widen", "id=int8"), 2, "int64", "int8")
    fails(leman("columns", tmp_path / "t", "--widen", "id=nope"), 2, "a type")
    fails(leman("columns", tmp_path / "t", "--widen", "id"), 2, "NAME=TYPE")


def test_tables(leman, path):
    folder = path.parent
    package.create(folder / "toys.lance", {"id": [1]})
    assert ok(leman("tables", folder)) == "pets\ntoys\n"
    assert lines(leman("tables", folder, "--rename", "toys=games", "--json")) == [
        {"table": "games"},
        {"table": "pets"},
    ]
    assert ok(leman("tables", folder, "--drop", "games")) == "pets\n"
    assert ok(leman("tables", f"file://{folder}")) == "pets\n"
    (folder / "some.csv").write_text("a\n")
    for place in ("nowhere", "some.csv"):
        fails(leman("tables", folder / place), 2, f"no directory {folder / place}")
    fails(leman("tables", folder, "--drop", "games"), 2, "games")
    fails(leman("tables", folder, "--rename", "pets"), 2, "OLD=NEW", "pets")
    fails(leman("tables", folder, "--rename", "pets=../pets"), 2, "../pets")
    fails(leman("tables", folder, "--rename", "a=b", "--drop", "a"), 2, "not both")
    fails(leman("tables"), 2, "one directory is wanted")
    assert ok(leman("tables", folder)) == "pets\n"


def test_places_of_other_kinds(leman, path, rows_file, monkeypatch):
    monkeypatch.chdir(path.parent)
    fails(leman("create", "s3://bucket/t.lance", rows_file), 2, "s3://bucket/t.lance", "machine")
    assert not (path.parent / "s3:").exists()
    assert ok(leman("count", f"file://{path}")) == "3\n"


def test_versions_by_time(leman, path):
    made = lines(leman("versions", path, "--json"))[0]["time"]
    ok(leman("delete", path, "--where", "id = 1"))
    assert ok(leman("count", path)) == "2\n"
    assert ok(leman("count", path, "--version", made)) == "3\n"
    shown = ok(leman("versions", path)).splitlines()[-1].split()
    assert shown[0] == "2" and ok(leman("count", path, "--version", shown[1])) == "2\n"
    assert ok(leman("count", path, "--version", "2999-01-01T00:00")) == "2\n"
    assert lines(leman("diff", path, made, "--json"))[0]["_change"] == "delete"
    ok(leman("restore", path, made))
    assert ok(leman("count", path)) == "3\n"
    fails(leman("count", path, "--version", "1999-01-01T00:00:00Z"), 2, "old enough")
    for tag in ("2024-01-31", "2024-01-31T25:00", "2024-13-31T12:00Z", "2024-01-31T12:00+01"):
        fails(leman("count", path, "--version", tag), 2, tag)


def test_tags_of_digits(leman, path):
    package.open(path).append(ROWS)
    ok(leman("tag", path, "7", 1))
    assert ok(leman("count", path, "--version", "tag:7")) == "3\n"
    fails(leman("count", path, "--version", 7), 2, "no version 7")
    fails(leman("count", path, "--version", "tag:8"), 2, '"8"')
    ok(leman("restore", path, "tag:7"))
    assert ok(leman("count", path)) == "3\n"


@pytest.mark.parametrize(
    "time",
    ["2024-02-31T00:00Z", "2023-02-29T00:00", "2024-01-31T24:00Z", "2024-01-31T12:60", "1:2"],
)
def test_times_that_no_calendar_has(leman, path, time):
    fails(leman("count", path, "--version", time), 2, f'"{time}" is no version')


def test_times(leman, path):
    for time in ("2999-02-28T00:00", "2996-02-29T23:59:59.5Z", "2999-12-31T23:59:59.123456Z"):
        assert ok(leman("count", path, "--version", time)) == "3\n"


def test_branches(leman, path):
    dataset = lance.dataset(str(path))
    branch = dataset.create_branch("trial")
    branch.delete("id = 1")
    assert lines(leman("versions", path, "--branches", "--json")) == [
        {"branch": "trial", "version": branch.latest_version}
    ]
    assert "trial" in ok(leman("versions", path, "--branches"))
    assert ok(leman("count", path, "--version", "branch:trial")) == "2\n"
    assert ok(leman("count", path)) == "3\n"
    fails(leman("count", path, "--version", "branch:other"), 2, "other")
    fails(leman("restore", path, "branch:trial"), 2, "trial", "read, not written")


def test_upsert__choices(leman, path, tmp_path):
    file = tmp_path / "more.jsonl"
    file.write_text('{"id": 1, "n": 9.5}\n{"id": 2, "n": 0.5}\n{"id": 7, "n": 7.5}\n')
    done = leman("upsert", path, file, "--matched", "skip", "--json")
    assert lines(done)[0] == {"version": 2, "inserted": 1, "updated": 0, "deleted": 0}
    ok(leman("delete", path, "--where", "id = 7"))
    done = leman(
        "upsert", path, file, "--matched-where", "source.n > target.n", "--not-matched", "skip"
    )
    assert ok(done) == "version 4: 0 rows inserted, 1 updated\n"
    done = leman(
        "upsert",
        path,
        file,
        "--matched",
        "delete",
        "--not-matched",
        "skip",
        "--delete-rest",
        "true",
    )
    assert ok(done) == "version 5: 0 rows inserted, 0 updated, 3 deleted\n"
    fails(leman("upsert", path, file, "--not-matched", "fail"), 2, "id")
    fails(
        leman("upsert", path, file, "--matched", "keep"), 2, "update, skip, delete or fail", "keep"
    )
    fails(leman("upsert", path, file, "--not-matched", "update"), 2, "insert, skip or fail")
    fails(leman("upsert", path, file, "--insert", "--matched", "skip"), 2, "not both")


def test_upsert__deletes_where(leman, path, tmp_path):
    file = tmp_path / "more.jsonl"
    file.write_text('{"id": 1, "n": 9.5}\n{"id": 2, "n": 0.5}\n')
    where = "--matched-where", "source.n > target.n"
    done = leman("upsert", path, file, "--matched", "delete", *where)
    assert ok(done) == "version 2: 0 rows inserted, 0 updated, 1 deleted\n"
    assert [row["id"] for row in package.open(path).to_arrow().to_pylist()] == [2, 3]
    for other in (["--matched", "skip"], ["--matched", "fail"], ["--insert"]):
        fails(leman("upsert", path, file, *other, *where), 2, "--matched update or delete")


def test_columns__joined(leman, path, tmp_path):
    by_key, in_order = tmp_path / "legs.csv", tmp_path / "names.jsonl"
    by_key.write_text("id,legs\n3,8\n1,4\n")
    in_order.write_text('{"short": "a"}\n{"short": "b"}\n{"short": null}\n')
    ok(leman("columns", path, "--join", by_key, "--on", "id"))
    ok(leman("columns", path, "--join", in_order))
    ok(leman("columns", path, "--add", "note=cast(null as string)"))
    assert [(r["legs"], r["short"], r["note"]) for r in lines(leman("scan", path, "--json"))] == [
        (4, "a", None),
        (None, "b", None),
        (8, None, None),
    ]
    in_order.write_text('{"other": "a"}\n')
    fails(leman("columns", path, "--join", in_order), 2, "the stream has 1 rows, fewer")
    fails(leman("columns", path, "--join", by_key, "--on", "nothing"), 2, "nothing")
    fails(leman("columns", path, "--on", "id"), 2, "--join")
    fails(leman("columns", path, "--join", in_order, "--drop", "n"), 2, "not several")
    assert package.open(path).version == 4


def manifest_of(path, version):
    return path / "_versions" / f"{2**64 - 1 - version:020}.manifest"


@pytest.fixture
def damaged(path):
    """A table of four versions, of which the newest is cut to nothing."""
    table = package.open(path)
    table.append(ROWS[:1])
    table.append(ROWS[:2])
    table.tags.create("two", 2)
    ids = table.scan(with_row_id=True).to_arrow()["_rowid"].to_pylist()
    table.append(ROWS)
    manifest_of(path, 4).write_bytes(b"")
    return path, max(ids)


def test_damaged_newest__is_told(leman, damaged):
    path, _ = damaged
    told = ("18446744073709551611.manifest", "version 3 can be read", "leman restore")
    for command in (["scan"], ["columns"], ["cleanup"], ["append", "-"], ["compact"]):
        fails(leman(command[0], path, *command[1:], stdin=b'{"id": 9}\n'), 1, *told)
    fails(leman("diff", path, 1), 1, *told)
    fails(leman("tag", path, "new"), 1, *told)
    with pytest.raises(package.CorruptError, match="version 3 can be read"):
        package.open(path)


def test_damaged_newest__the_others_are_there(leman, damaged):
    path, _ = damaged
    listed = lines(leman("versions", path, "--json"))
    assert [item["operation"] for item in listed] == ["overwrite", "append", "append", "unreadable"]
    assert "unreadable" in ok(leman("versions", path)).splitlines()[-1]
    assert ok(leman("count", path, "--version", 3)) == "6\n"
    assert len(lines(leman("diff", path, 1, 3, "--json"))) == 3
    assert ok(leman("tag", path)).split() == ["2", "two"]
    ok(leman("tag", path, "three", 3))
    ok(leman("tag", path, "two", "--delete"))
    assert ok(leman("tag", path)).split() == ["3", "three"]


def test_damaged_newest__a_restore_brings_it_back(leman, damaged):
    path, last_id = damaged
    assert ok(leman("restore", path, 3)) == "version 5 has the content of version 3\n"
    assert "0 findings" in ok(leman("verify", path))
    table = package.open(path)
    table.append(ROWS)
    assert len(table) == 9
    rows = table.scan(with_row_id=True).to_arrow()["_rowid"].to_pylist()
    assert min(rows[6:]) > last_id + len(ROWS)  # those of the damaged version are not given again
    dataset = lance.dataset(str(path))
    assert dataset.count_rows() == 9
    fragments = [fragment.fragment_id for fragment in dataset.get_fragments()]
    assert fragments[:3] == [0, 1, 2] and fragments[3] > 3
    assert len(lines(leman("diff", path, 3, "--json"))) == 3
    table.delete("id = 1")
    table.compact()
    assert "0 findings" in ok(leman("verify", path))
    # What the damaged one needs is not known, so everything stays until it is given up.
    told = fails(leman("cleanup", path, "--older-than", "0s"), 1, "version 4 needs are not known")
    assert str(manifest_of(path, 4)) in told and "nothing is removed" in told
    manifest_of(path, 4).unlink()
    ok(leman("cleanup", path, "--older-than", "0s"))


def test_damaged_newest__in_python(damaged):
    path, _ = damaged
    table = package.open(path, version=3)
    assert [item["operation"] for item in table.versions()][-1] == "unreadable"
    with pytest.raises(package.CorruptError, match="version 3 can be read"):
        table.append(ROWS)
    table.restore(2)
    assert (table.version, len(package.open(path))) == (5, 4)


def test_damaged_newest__several(leman, damaged):
    path, _ = damaged
    manifest_of(path, 3).write_bytes(b"nothing that could be a manifest")
    fails(leman("scan", path), 1, "version 2 can be read")
    ok(leman("restore", path, "two"))
    assert ok(leman("count", path)) == "4\n"
    for version in (1, 2, 5):
        manifest_of(path, version).write_bytes(b"")
    fails(leman("scan", path), 1, "no other version can be read")
    fails(leman("versions", path), 2, "no version that can be read")


def test_damaged_between__is_a_conflict_to_those_who_write(path):
    """What it did is not known."""

    def pieces():
        yield pa.Table.from_pylist(ROWS[:1])
        package.open(path).append(ROWS)
        manifest_of(path, 2).write_bytes(b"")
        package.open(path, version=1).restore(1)

    with pytest.raises(package.ConflictError, match="what version 2 did is not known"):
        package.open(path).append(pieces())
    table = package.open(path)
    table.update("id = 1", values={"n": 7.0})
    assert (len(table), table.version) == (3, 4)
    assert len(table.diff(1).to_pylist()) == 1
