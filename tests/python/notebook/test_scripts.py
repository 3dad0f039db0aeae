# SPDX-License-Identifier: Apache-2.0
"""Functions of scripts, as people run them: no guard, and no worker runs the program again."""

import os
import re
import subprocess
import sys

import leman
import pyarrow as pa
import pytest

ROWS = 40

# Each run of the program leaves a line in runs.txt; a worker that ran it would leave another.
PROGRAM = """
import os
import leman
import helpers

with open("runs.txt", "a") as runs:
    runs.write(f"{os.getpid()}\\n")

OFFSET = 5

def twice(x):
    return 2 * x

@leman.udf
class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, id: int) -> int:
        return twice(id) * self.factor + OFFSET + helpers.more(id)

table = leman.open("t.lance")
table.add_columns({"out": Scaled(3)})
result = table.backfill("out", concurrency=2, progress=False)
print(result.rows_committed, Scaled(3).version)
"""


@pytest.fixture
def folder(tmp_path):
    leman.create(tmp_path / "t.lance", pa.table({"id": range(ROWS)}))
    (tmp_path / "helpers.py").write_text("def more(x):\n    return x % 7\n")
    return tmp_path


def run(folder, words, **options):
    done = subprocess.run(
        words,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"XDG_STATE_HOME": str(folder / "state")},
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(said):
    """(rows committed, version) of what the program has printed."""
    count, version = re.search(r"(\d+) ([0-9a-f]{64})", said).groups()
    return int(count), version


def check(folder, said):
    """All rows have their value, the program ran once; returns the version of its function."""
    values = leman.open(folder / "t.lance").to_arrow(["out"])["out"].to_pylist()
    assert values == [2 * i * 3 + 5 + i % 7 for i in range(ROWS)]
    assert len((folder / "runs.txt").read_text().splitlines()) == 1
    count, version = told(said)
    assert count == ROWS
    return version


@pytest.fixture(scope="module")
def script_version(tmp_path_factory):
    """The version that the function has as a script: it is the same in whatever way it is run."""
    folder = tmp_path_factory.mktemp("script")
    leman.create(folder / "t.lance", pa.table({"id": range(ROWS)}))
    (folder / "helpers.py").write_text("def more(x):\n    return x % 7\n")
    (folder / "program.py").write_text(PROGRAM)
    return check(folder, run(folder, [sys.executable, "program.py"]))


def test_script__without_a_guard(script_version):
    assert len(script_version) == 64


def test_script__in_another_folder(folder, script_version):
    """The modules beside a script are found by workers, wherever it was started from."""
    (folder / "code").mkdir()
    (folder / "helpers.py").rename(folder / "code/helpers.py")
    (folder / "code/program.py").write_text(PROGRAM)
    assert check(folder, run(folder, [sys.executable, "code/program.py"])) == script_version


def test_script__as_an_argument(folder, script_version):
    said = run(folder, [sys.executable, "-c", PROGRAM, "-x", "more words"])
    assert check(folder, said) == script_version


def test_script__as_input(folder):
    said = run(folder, [sys.executable, "-"], input=PROGRAM)
    version = check(folder, said)
    # A second run finds the column filled by this very function.
    assert told(run(folder, [sys.executable], input=PROGRAM)) == (0, version)


def test_script__as_a_file_at_the_input(folder, script_version):
    (folder / "program.py").write_text(PROGRAM)
    with open(folder / "program.py") as program:
        assert check(folder, run(folder, [sys.executable], stdin=program)) == script_version


def test_script__typed_into_ipython(folder, script_version):
    words = ["env", f"IPYTHONDIR={folder / 'ipython'}", sys.executable, "-m", "IPython"]
    words += ["--no-banner", "--quick", "--simple-prompt", "--colors=NoColor"]
    typed = "%cpaste -q\n" + PROGRAM + "--\n"
    assert check(folder, run(folder, words, input=typed)) == script_version


def test_script__a_module_that_shadows_an_installed_one(folder):
    """What the script finds first, workers find first."""
    (folder / "pyarrow.py").write_text("WHO = 'mine'\n")
    (folder / "program.py").write_text(
        "import leman, pyarrow\n"
        "@leman.udf\n"
        "def who(id: int) -> str:\n"
        "    return pyarrow.WHO\n"
        "table = leman.open('t.lance')\n"
        "table.add_columns({'out': who})\n"
        "table.backfill('out', progress=False, concurrency=1)\n"
    )
    run(folder, [sys.executable, "program.py"])
    values = leman.open(folder / "t.lance").to_arrow(["out"])["out"].to_pylist()
    assert set(values) == {"mine"}


def test_script__a_module_that_workers_do_not_find(folder):
    (folder / "program.py").write_text(
        "import leman, sys\n"
        "sys.path.insert(0, 'hidden')\n"
        "import deep\n"
        "sys.path.remove('hidden')\n"
        "table = leman.open('t.lance')\n"
        "table.add_columns({'out': deep.fill})\n"
        "table.backfill('out', progress=False, concurrency=1)\n"
    )
    (folder / "hidden").mkdir()
    (folder / "hidden/deep.py").write_text(
        "import leman\n\n@leman.udf\ndef fill(id: int) -> int:\n    return id\n"
    )
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode != 0
    assert "No module named 'deep'" in done.stderr
