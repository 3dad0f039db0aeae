# SPDX-License-Identifier: Apache-2.0
"""Stored functions of others: asked about once at a terminal, checked before they are loaded."""

import os
import subprocess
import sys

import leman
import pyarrow as pa
import pytest
from leman import function

ROWS = 12


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table whose function a stranger has stored."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "theirs"))
    made = leman.create(tmp_path / "t.lance", pa.table({"id": range(ROWS)}))
    base = 5

    @leman.udf
    def out(id: int) -> int:
        # \x1b[2J would clear the screen
        return id + base

    made.add_columns({"out": out})
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))
    return made


def at_terminal(table, answer):
    """(exit code, what the terminal shows) of a backfill by somebody who gives the answer."""
    code = f"import leman; leman.open({str(table.path)!r}).backfill('out', concurrency=1)"
    terminal, end = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", code], stdin=end, stdout=end, stderr=end, close_fds=True
    )
    os.close(end)
    shown = b""
    answered = False
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
        if b"[y/N]" in shown and not answered:
            answered = True
            os.write(terminal, answer)
    os.close(terminal)
    return process.wait(timeout=60), shown.decode()


def test_trust__a_terminal_is_asked_once(table):
    code, shown = at_terminal(table, b"n\n")
    assert code == 1
    assert "filled by a function that is stored in the table, and not by you" in shown
    assert f"out()  {table.column_info('out')['hash']}" in shown
    assert "return id + base" in shown
    assert "was not put there by you" in shown
    code, shown = at_terminal(table, b"y\n")
    assert code == 0
    assert "[y/N]" in shown
    table.refresh()
    assert table.to_arrow(["out"])["out"].to_pylist() == [i + 5 for i in range(ROWS)]
    code, shown = at_terminal(table, b"")
    assert code == 0
    assert "[y/N]" not in shown


def test_trust__the_command_takes_a_hash(table):
    command = [sys.executable, "-m", "leman.backfill", str(table.path), "out", "--concurrency", "1"]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1
    named = table.column_info("out")["hash"]
    assert f"--trust {named}" in refused.stderr
    done = subprocess.run([*command, "--trust", named], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    wrong = subprocess.run([*command, "--trust", "yes"], capture_output=True, text=True, timeout=60)
    assert wrong.returncode == 2
    assert "trust is \"sha256:\" and 64 hexadecimal digits, not 'yes'" in wrong.stderr


def test_trust__workers_check_the_hash_before_they_load():
    @leman.udf
    def out(id: int) -> int:
        return id

    code = function.with_environment(function.pack(out, ["id"], ["out"]), out, "job")
    assert function.split_environment(code)[0]["version"] == out.version
    changed = code[:-10] + b"0" + code[-9:]
    with pytest.raises(
        leman.FunctionError, match="has the hash sha256:.* is trusted to run sha256:"
    ):
        function.split_environment(changed)


def test_trust__code_that_was_changed_in_the_table_does_not_run(table):
    named = table.column_info("out")["hash"].removeprefix("sha256:")
    (place,) = [
        os.path.join(parent, name)
        for parent, _, names in os.walk(table.path)
        for name in names
        if named in os.path.join(parent, name)
    ]
    with open(place, "ab") as file:
        file.write(b"x")
    code = (
        f"import leman; leman.open({str(table.path)!r}).backfill('out', progress=False, "
        f"concurrency=1, trust='sha256:{named}')"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert "CorruptError" in done.stderr
    table.refresh()
    assert table.to_arrow(["out"])["out"].to_pylist() == [None] * ROWS
