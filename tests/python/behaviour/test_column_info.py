# SPDX-License-Identifier: Apache-2.0
"""What a table says of the function that fills a column."""

import json
import platform
import subprocess
import sys
from pathlib import Path

import leman
import pyarrow as pa
import pytest

ROOT = Path(__file__).resolve().parents[3]
COMMAND = ROOT / "build/leman"

SCRIPT = """
import leman
import pyarrow as pa

SCALE = 3

def helper(x):
    return x * SCALE

@leman.udf
def out(id: int) -> int:
    import numpy
    return helper(id) + 1

table = leman.open("t.lance")
table.add_columns({"out": out})
table.backfill("out", progress=False, concurrency=1, job_id="my-job")
"""


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    (tmp_path / "gitconfig").write_text("[user]\nname = A\nemail = a@example.org\n")
    return leman.create(tmp_path / "t.lance", pa.table({"id": range(8)}))


def git(folder, *words):
    done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def run(table, script=SCRIPT, name="script.py"):
    folder = Path(table.path).parent
    (folder / name).write_text(script)
    done = subprocess.run(
        [sys.executable, name], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    table.refresh()
    return table.column_info("out")


def test_info__what_there_is(table):
    info = run(table)
    assert info["function"] == "out"
    assert info["column"] == "out"
    assert info["inputs"] == ["id"]
    assert info["source"].startswith("@leman.udf\ndef out(id: int) -> int:\n    import numpy\n")
    assert info["helpers"] == {"helper": "def helper(x):\n    return x * SCALE\n"}
    assert info["values"] == {"SCALE": "3"}
    assert len(info["version"]) == 64
    assert info["hash"].startswith("sha256:")
    assert info["python"] == platform.python_version()
    assert set(info["packages"]) == {"leman", "numpy"}
    assert info["packages"]["leman"] == leman.__version__
    assert info["job"] == "my-job"
    assert info["time"] > info["registered"][:10]
    assert info["git_commit"] is None and info["git_dirty"] is None
    text = repr(info)
    assert "version: " + info["version"] in text
    assert "\nhelper:\n    def helper(x):\n        return x * SCALE" in text


def test_info__commits(table):
    folder = Path(table.path).parent
    git(folder, "init", "-q")
    (folder / "script.py").write_text(SCRIPT)
    (folder / "notes.txt").write_text("a")
    git(folder, "add", "script.py", "notes.txt")
    git(folder, "commit", "-q", "-m", "first")
    info = run(table)
    assert info["git_commit"] == git(folder, "rev-parse", "HEAD")
    assert info["git_dirty"] is False
    for change in ("changed", "untracked"):
        table.drop_columns(["out"])
        if change == "changed":
            (folder / "notes.txt").write_text("b")
            assert run(table)["git_dirty"] is True
            git(folder, "commit", "-q", "-a", "-m", "second")
        else:
            assert run(table, name="other.py")["git_dirty"] is True


def test_info__a_column_that_no_function_fills(table):
    with pytest.raises(leman.NotFoundError, match="no function fills column 'id'"):
        table.column_info("id")


def test_info__before_a_job_and_without_what_was_kept(table):
    @leman.udf
    def out(id: int) -> int:
        return id

    table.add_columns({"out": out})
    info = table.column_info("out")
    assert info["job"] is None and info["time"] is None
    for path in Path(table.path).rglob("*"):
        if path.is_file() and b'"registered"' in path.read_bytes():
            path.unlink()
    info = table.column_info("out")
    assert info["version"] == out.version
    assert info["source"] is None
    assert "python: -" in repr(info)


def test_info__on_the_command_line(table):
    info = run(table)
    done = subprocess.run(
        [COMMAND, "columns", table.path, "--info", "out"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["function", "out"]
    assert f"version      {info['version']}" in lines
    assert f"hash         {info['hash']}" in lines
    assert "job          my-job" in lines
    assert "    return helper(id) + 1" in lines
    done = subprocess.run(
        [COMMAND, "columns", table.path, "--info", "out", "--json"], capture_output=True, text=True
    )
    assert json.loads(done.stdout) == info
    for column, text in (("id", "no function fills column"), ("nope", "nope")):
        done = subprocess.run(
            [COMMAND, "columns", table.path, "--info", column], capture_output=True, text=True
        )
        assert done.returncode == 2
        assert text in done.stderr
