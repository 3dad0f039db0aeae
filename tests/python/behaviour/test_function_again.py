# SPDX-License-Identifier: Apache-2.0
"""A function whose surroundings change in one process, or between two: nothing is mixed."""

import subprocess
import sys
import textwrap

import leman
import pytest

SCRIPT = """
import functools, importlib, sys
import leman
import pets

SCALE = 2
seen = {}
model = None

def double(x):
    return x * SCALE

@functools.cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

@functools.singledispatch
def size(x):
    return 1

@size.register
def _(x: list):
    return sum(size(part) for part in x)

class Box:
    @functools.cached_property
    def weight(self):
        return SCALE

@leman.udf
def fill(id: int) -> int:
    global model
    model = seen[id] = id
    return double(id)

@leman.udf
def imported(id: int) -> int:
    return pets.legs(id)

@leman.udf
def kept(id: int) -> int:
    return fib(id) + size([id, [id]]) + Box().weight

table = leman.open("t.lance")

def told(call):
    try:
        call()
        print("done")
    except leman.LemanError as error:
        print(type(error).__name__, str(error).replace("\\n", "|"))

def run(column, **options):
    told(lambda: table.backfill(column, progress=False, concurrency=1, **options))

def column(name):
    print(*(str(value) for value in table.to_arrow([name])[name].to_pylist()))
"""


@pytest.fixture
def script(tmp_path):
    """Run lines behind the script; returns what they print."""
    (tmp_path / "pets.py").write_text("def legs(x):\n    return x + 4\n")
    leman.create(tmp_path / "t.lance", {"id": [1, 2, 3]})

    def run(lines):
        program = tmp_path / "program.py"
        program.write_text(SCRIPT + textwrap.dedent(lines))
        command = [sys.executable, program.name]
        found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert found.returncode == 0, found.stderr
        return found.stdout.splitlines()

    return run


def test_again__a_global_that_is_set_again(script):
    told = script("""
    table.add_columns({"f": fill})
    run("f")
    before = fill.version
    SCALE = 3
    table.append({"id": [4]})
    told(lambda: table.add_columns({"f": fill}))
    run("f")
    column("f")
    run("f", on_change="recompute")
    column("f")
    print(fill.version != before)
    """)
    assert told[0] == "done"
    assert told[1].startswith("ExistsError") and "value of SCALE: 2 -> 3" in told[1]
    assert told[2].startswith("ConflictError") and "value of SCALE: 2 -> 3" in told[2]
    assert told[3:] == ["2 4 6 None", "done", "3 6 9 12", "True"]


def test_again__a_helper_that_is_defined_again(script):
    told = script("""
    table.add_columns({"f": fill})
    run("f")
    fill.test(table)
    def double(x):
        return x + 100
    table.append({"id": [4]})
    run("f")
    run("f", on_change="new_rows")
    column("f")
    """)
    assert told[0] == "done" and told[1].startswith("ConflictError")
    assert "double()" in told[1]
    assert told[2:] == ["done", "2 4 6 104"]


def test_again__what_calls_leave_behind_is_no_change(script):
    told = script("""
    before = fill.version
    fill(7)
    fill.test(table)
    print(fill.version == before, model, seen[7])
    table.add_columns({"f": fill})
    run("f")
    table.add_columns({"f": fill})
    """)
    assert told[0].startswith("True") and told[0].endswith(" 7") and told[1] == "done"


MODULE_EDITED = """
from pathlib import Path
Path("pets.py").write_text("def legs(x):\\n    return x + 1000\\n")
table.append({"id": [4]})
"""


def test_again__a_module_that_is_edited(script):
    told = script(f"""
    table.add_columns({{"f": imported}})
    run("f")
    {textwrap.indent(MODULE_EDITED, "    ").strip()}
    run("f")
    importlib.reload(pets)
    run("f")
    run("f", on_change="recompute")
    column("f")
    """)
    assert told[0] == "done"
    assert all(line.startswith("ConflictError") and "legs()" in line for line in told[1:3])
    assert told[3:] == ["done", "1001 1002 1003 1004"]


def test_again__a_stored_function_whose_module_is_edited(script):
    assert script('table.add_columns({"f": imported})\nrun("f")') == ["done"]
    told = script(f"""
    run("f")
    {textwrap.indent(MODULE_EDITED, "    ").strip()}
    """)
    assert told == ["done"]
    told = script("""
    run("f")
    column("f")
    run("f", on_change="recompute")
    column("f")
    told(lambda: table.add_columns({"f": imported}))
    """)
    assert told[0].startswith("ConflictError")
    assert "-    return x + 4|" in told[0] and "+    return x + 1000|" in told[0]
    assert "the function" not in told[0].split("|", 1)[1]
    assert told[1:] == ["5 6 7 None", "done", "1001 1002 1003 1004", "done"]


def test_again__helpers_of_functools_travel(script):
    assert script("""
    table.add_columns({"f": kept})
    run("f")
    column("f")
    """) == ["done", "5 5 6"]


def test_again__a_value_that_workers_do_not_have(script):
    told = script("""
    pets.legs = lambda x: x
    table.add_columns({"f": imported})
    run("f")
    """)
    assert told[0].startswith("FunctionError") and "pets.legs" in told[0]
    assert "is another one in workers" in told[0]
