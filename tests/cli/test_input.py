# SPDX-License-Identifier: Apache-2.0
"""Rows on their way into a table: what is counted, what is shown, what Ctrl-C leaves."""

import json
import os
import pty
import shutil
import signal
import subprocess
from pathlib import Path

import leman as package
import pytest
from shell import fails, lines, ok

COMMAND = Path(__file__).resolve().parents[2] / "build/leman"
MANY = 60_000  # rows: more than the sample that types are taken from, and a batch


def rows_text(count):
    return b"".join(b'{"id": %d, "text": "row %d"}\n' % (i, i) for i in range(count))


@pytest.fixture
def path(tmp_path):
    package.create(tmp_path / "t", [{"id": 1, "text": "one"}], primary_key="id")
    return tmp_path / "t"


@pytest.fixture
def fifo(tmp_path):
    os.mkfifo(tmp_path / "rows.jsonl")
    return tmp_path / "rows.jsonl"


def all_files(folder):
    return sorted(str(item.relative_to(folder)) for item in folder.rglob("*") if item.is_file())


COMMANDS = {
    "create": ["create", "NEW", "FIFO"],
    "overwrite": ["create", "OLD", "FIFO", "--overwrite"],
    "append": ["append", "OLD", "FIFO"],
    "upsert": ["upsert", "OLD", "FIFO"],
    "insert": ["upsert", "OLD", "FIFO", "--insert"],
    "join": ["columns", "OLD", "--join", "FIFO", "--on", "id"],
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_signal_leaves_nothing(path, fifo, tmp_path, command, number):
    places = {"NEW": tmp_path / "new", "OLD": path, "FIFO": fifo}
    before = all_files(path)
    arguments = [str(places.get(word, word)) for word in COMMANDS[command]]
    with subprocess.Popen([COMMAND, *arguments], stderr=subprocess.PIPE) as run:
        with open(fifo, "wb") as file:  # opens when the command has opened it
            file.write(rows_text(MANY))
            file.flush()  # all but what a pipe holds was read
            run.send_signal(number)
            _, text = run.communicate(timeout=60)
    assert run.returncode == 130
    assert text.decode().startswith("leman: ") and text.count(b"\n") == 1, text
    assert b"rows.jsonl" in text and b"stopped" in text
    assert all_files(path) == before
    assert not (tmp_path / "new").exists()
    assert len(package.open(path)) == 1


def test_a_second_signal_ends_at_once(path, fifo):
    """Also where the first one has come to a command that waits for nothing."""
    with subprocess.Popen([COMMAND, "append", path, fifo], stderr=subprocess.PIPE) as run:
        with open(fifo, "wb") as file:
            file.write(rows_text(MANY))
            file.flush()
            run.send_signal(signal.SIGINT)
            run.send_signal(signal.SIGTERM)
            run.wait(timeout=60)
    assert run.returncode == 130


CHANGES = {
    "upsert": ["upsert", "OLD", "FILE"],  # when the file is read
    "update": ["update", "OLD", "--set", "n=n + 1"],
    "columns": ["columns", "OLD", "--add", "m=md5(repeat(cast(id as string), 50))"],
    "compact": ["compact", "OLD"],
}


@pytest.mark.parametrize("command", CHANGES)
def test_a_signal_while_files_are_written_leaves_nothing(leman, tmp_path, command):
    places = {"OLD": tmp_path / "t", "FILE": tmp_path / "rows.csv"}
    places["FILE"].write_text("id,n\n" + "".join(f"{i},0\n" for i in range(MANY * 10)))
    ok(leman("create", places["OLD"], places["FILE"], "--primary-key", "id"))
    ok(leman("append", places["OLD"], "-", stdin=b"id\n-1\n"))
    before = all_files(places["OLD"])
    shutil.copytree(places["OLD"], tmp_path / "kept")
    arguments = [str(places.get(word, word)) for word in CHANGES[command]]
    for _ in range(20):  # until the signal comes before the command is done
        with subprocess.Popen([COMMAND, *arguments], stderr=subprocess.PIPE) as run:
            while run.poll() is None and all_files(places["OLD"]) == before:
                pass
            run.send_signal(signal.SIGINT)
            _, text = run.communicate(timeout=60)
        if run.returncode != 0:
            break
        shutil.rmtree(places["OLD"])
        shutil.copytree(tmp_path / "kept", places["OLD"])
    assert run.returncode == 130
    assert text.decode().startswith("leman: ") and text.endswith(b"interrupted\n"), text
    assert all_files(places["OLD"]) == before


def test_files_before_a_signal_are_there(path, fifo, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 2}\n')
    arguments = [COMMAND, "append", path, tmp_path / "a.jsonl", fifo]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        with open(fifo, "wb"):
            run.send_signal(signal.SIGINT)
            out, _ = run.communicate(timeout=60)
    assert (run.returncode, out) == (130, b"version 2: 1 row appended, 2 in all\n")


def test_progress_is_a_line_that_changes(path):
    master, slave = pty.openpty()
    run = subprocess.Popen([COMMAND, "append", path, "-"], stdin=subprocess.PIPE, stderr=slave)
    os.close(slave)
    run.stdin.write(b'{"id": 7, "text": "' + b"x" * 100_000)
    run.stdin.flush()
    shown = b""
    while b"MB/s" not in shown:  # it comes while the command waits for the rest of the row
        shown += os.read(master, 1000)
    assert b"\r" in shown and b"0 rows, 0.1 MB" in shown and b"\n" not in shown
    run.stdin.write(b'"}\n')
    run.stdin.close()
    assert run.wait(timeout=60) == 0
    try:
        while piece := os.read(master, 1000):
            shown += piece
    except OSError:  # the other end is closed
        pass
    os.close(master)
    assert shown.endswith(b"\r\x1b[K")


def test_rows_that_are_typed_end_with_one_ctrl_d(path):
    master, slave = pty.openpty()
    run = subprocess.Popen([COMMAND, "append", path, "-"], stdin=slave, stderr=subprocess.DEVNULL)
    os.write(master, b'{"id": 7}\n')
    os.write(master, b"\x04")
    try:
        assert run.wait(timeout=10) == 0
    finally:
        run.kill()
        os.close(master)
        os.close(slave)
    assert len(package.open(path)) == 2


def test_progress_is_for_terminals(leman, tmp_path):
    assert ok(leman("create", tmp_path / "t", "-", stdin=rows_text(MANY))).startswith("version 1")


def test_rows_of_others_are_not_counted(leman, path, fifo):
    """Another writer appends while the command reads."""
    run = subprocess.Popen([COMMAND, "append", path, fifo, "--json"], stdout=subprocess.PIPE)
    with open(fifo, "wb") as file:
        file.write(rows_text(MANY))
        ok(leman("append", path, "-", stdin=b'{"id": 5}\n{"id": 6}\n'))
    out, _ = run.communicate(timeout=60)
    assert json.loads(out) == {"version": 3, "appended": MANY, "rows": MANY + 3}


def test_rows_of_others_are_not_created(leman, tmp_path, fifo):
    made = lines(leman("create", tmp_path / "n", "-", "--json", stdin=rows_text(3)))
    assert made == [{"version": 1, "created": 3, "rows": 3}]
    run = subprocess.Popen(
        [COMMAND, "create", tmp_path / "n", fifo, "--overwrite", "--json"], stdout=subprocess.PIPE
    )
    with open(fifo, "wb") as file:
        file.write(rows_text(4))
        ok(leman("append", tmp_path / "n", "-", stdin=rows_text(2)))
    out, _ = run.communicate(timeout=60)
    assert json.loads(out) == {"version": 3, "created": 4, "rows": 4}


def test_files_without_rows(leman, path, tmp_path):
    for name, text in {
        "a": '{"id": 2}\n',
        "empty": "",
        "blank": "\n\n",
        "b": '{"id": 3}\n',
    }.items():
        (tmp_path / f"{name}.jsonl").write_text(text)
    files = [tmp_path / f"{name}.jsonl" for name in ("a", "empty", "blank", "b")]
    done = lines(leman("append", path, *files, "--json"))
    assert [(item["version"], item["appended"]) for item in done] == [
        (2, 1),
        (2, 0),
        (2, 0),
        (3, 1),
    ]
    assert lines(leman("upsert", path, files[1], "--json")) == [
        {"version": 3, "inserted": 0, "updated": 0, "deleted": 0}
    ]
    rest = leman("upsert", path, files[1], "--delete-rest", "id = 3", "--json")
    assert lines(rest)[0]["deleted"] == 1
    part = ("empty.jsonl", "no rows to take columns from")
    fails(leman("create", tmp_path / "n", files[1]), 2, *part)
    fails(leman("columns", path, "--join", files[1]), 2, *part)
    ok(leman("create", tmp_path / "n", files[1], "--schema", "id int64"))
    (tmp_path / "bare.jsonl").write_text("{}\n")
    fails(leman("append", path, tmp_path / "bare.jsonl"), 2, "no columns")
    assert not ok(leman("show", files[1], "--json"))


def test_join__takes_the_types_of_the_table(leman, tmp_path):
    ok(leman("create", tmp_path / "t", "--schema", "id int32 not null, code string"))
    ok(leman("append", tmp_path / "t", "-", stdin=b"id,code\n1,007\n2,008\n"))
    ok(leman("columns", tmp_path / "t", "--join", "-", "--on", "id", stdin=b"id,legs\n2,4\n"))
    by_text = leman(
        *("columns", tmp_path / "t", "--join", "-", "--on", "code", "--json"),
        *("--schema", "wings int8, seen string"),
        stdin=b"code,wings,seen\n007,2,2024-01-31\n",
    )
    types = {item["name"]: item["type"] for item in lines(by_text)}
    assert types == {
        **{"id": "int32", "code": "string", "legs": "int64"},
        **{"wings": "int8", "seen": "string"},
    }
    assert package.open(tmp_path / "t").to_arrow().to_pylist() == [
        {"id": 1, "code": "007", "legs": None, "wings": 2, "seen": "2024-01-31"},
        {"id": 2, "code": "008", "legs": 4, "wings": None, "seen": None},
    ]
    wrong = ("columns", tmp_path / "t", "--join", "-", "--schema", "x int8")
    fails(leman(*wrong, stdin=b"a\n1\n2\n"), 2, 'no column "x"')
    fails(leman("columns", tmp_path / "t", "--schema", "x int8"), 2, "--join")


def test_upsert__without_a_key_says_how_to_give_one(leman, tmp_path):
    package.create(tmp_path / "t", [{"id": 1}])
    fails(leman("upsert", tmp_path / "t", "none.csv"), 2, "no primary key", "--on NAME")
