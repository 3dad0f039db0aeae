# SPDX-License-Identifier: Apache-2.0
"""Messages of `leman backfill` name what can be typed in the shell."""

import json
import re
import sys

import leman as package
import pytest

FIRST = """
import leman

@leman.udf
def size(n: int) -> int:
    return n + 1

@leman.udf
def double(size: int) -> int:
    return size * 2

@leman.udf(on_error=leman.skip_on_error())
def failing(n: int) -> int:
    raise ValueError("no")
"""


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LEMAN_PYTHON", sys.executable)
    path = tmp_path / "numbers.lance"
    package.create(path, {"n": list(range(10))})
    (tmp_path / "functions.py").write_text(FIRST)
    return path


@pytest.fixture
def fill(leman, path):
    def run(column, *options, code=0, function=None):
        given = ["--fn", f"{path.parent}/functions.py:{function or column}"] * (function != "")
        done = leman("backfill", path, column, *given, "--concurrency", "0", *options)
        assert done.returncode == code, done.stderr.decode()
        return done.stderr.decode()

    return run


def test_a_function_is_asked_for(fill, leman, path, tmp_path, monkeypatch):
    assert "--fn FILE.py:NAME or --c LIB.so:NAME gives it one" in fill("n", function="", code=2)
    fill("size", "--job-id", "mine")
    told = json.loads(leman("job", "mine", "--json").stdout)["command"]
    assert told.startswith(f"leman backfill {path} size --fn {tmp_path}/functions.py:size ")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    refused = fill("size", function="", code=1)
    assert "give the function by --fn" in refused
    named = re.search("--trust (sha256:[0-9a-f]{64})", refused)[1]
    shown = leman("columns", path, "--info", "size").stdout.decode()
    assert f"hash         {named}\n" in shown
    fill("size", "--trust", named, function="")


@pytest.mark.parametrize("how", [[], ["--detach"]], ids=["here", "detached"])
def test_a_change_is_asked_about(fill, leman, path, tmp_path, how):
    fill("size")
    (tmp_path / "functions.py").write_text(FIRST.replace("n + 1", "n + 2"))
    where = ["--concurrency", "1"] if how else []
    asked = fill("size", *how, *where, code=5)
    assert "  --on-change recompute  10 rows computed" in asked
    assert "(--no-swap)" in asked
    assert "  --on-change new_rows   0 rows computed" in asked
    assert "on_change" not in asked and "swap=" not in asked
    if not how:
        left = fill("size", "--on-change", "recompute", "--no-swap")
        assert f"leman compare {path} size shows the difference" in left
        assert f"leman compare {path} size --swap takes the new values" in left
        assert leman("compare", path, "size", "--swap").returncode == 0


def test_inputs_are_asked_for(fill, leman, path):
    fill("size")
    fill("double")
    package.open(path).update("n = 3", {"n": "30"})
    asked = fill("double", code=2)
    assert "say --stale-inputs refill to fill it first" in asked
    assert f"or leman backfill {path} size double" in asked


def test_failed_rows_are_told(fill, path):
    assert f"leman errors {path} failing says why" in fill("failing", code=3)


def test_options_of_other_functions(fill, leman):
    assert fill("size", "--call-timeout", "3", code=2) == (
        "leman backfill: --call-timeout is of functions in C; @leman.udf(timeout=) says it in "
        "Python; see leman backfill --help\n"
    )
    assert fill("size", "--colour", code=2) == (
        "leman backfill: unrecognized arguments: --colour; see leman backfill --help\n"
    )
    assert "memory is a number of bytes" in fill("size", "--memory", "much", code=2)
    fill("size", "--memory", "4GiB")


def test_help_has_what_the_parser_takes(leman):
    from leman.backfill_command import parser

    told = leman("backfill", "--help").stdout.decode()
    for action in parser()._actions:
        name = next(iter(action.option_strings), "")
        if name not in ("", "-h"):
            assert re.search(rf"^  {name}\b", told, re.MULTILINE), name
            plain = name.removeprefix("--")
            assert re.search(rf"\[--(\[no-\])?{plain}\b|\| --{plain}\b", told), name
