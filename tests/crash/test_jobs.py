# SPDX-License-Identifier: Apache-2.0
"""Jobs that are killed: the command, its workers, all of them at once, at every step.

Every process of a job runs with steps.c, which counts the steps that change files and kills at one
of them. What is left is then finished by the same command, and the table is that of a job that
nobody disturbed. A function that notes its calls shows how little was done twice.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import timedelta
from pathlib import Path

import lance
import leman
import pyarrow as pa
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LEMAN = Path(sys.executable).parent / "leman"

ROWS, FRAGMENT_ROWS, WORKERS = 240, 30, 2


@pytest.fixture(scope="session")
def memory():
    """A folder in memory, where there is one: thousands of syncs take no time there."""
    shared = "/dev/shm"
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None) as name:
        yield Path(name)


@pytest.fixture(scope="session")
def built(memory):
    """The functions, and what counts the steps."""
    folder = memory / "built"
    folder.mkdir()
    compiler = os.environ.get("CC", "cc")
    for name in ("counted", "steps"):
        subprocess.run(
            [compiler, "-O2", "-shared", "-fPIC", f"-I{ROOT}/include", f"{HERE}/{name}.c",
             "-o", folder / f"{name}.so", "-ldl"],
            check=True,
        )  # fmt: skip
    return folder


class Place:
    """A table, and jobs that fill a column of it."""

    def __init__(self, folder, built, rows=ROWS, fragment_rows=FRAGMENT_ROWS):
        self.folder, self.built = folder, built
        self.path = folder / "t.lance"
        self.calls_path, self.steps_path = folder / "calls", folder / "steps"
        values = [None if i % 50 == 7 else i for i in range(rows)]
        schema = pa.schema([("id", pa.int64()), ("value", pa.int64())])
        table = leman.create(
            self.path,
            pa.table({"id": range(rows), "value": values}, schema=schema),
            max_rows_per_fragment=fragment_rows,
        )
        table.delete("id in (11, 130)")

    def copy(self, folder):
        """Another place with the same table."""
        other = Place.__new__(Place)
        other.folder, other.built = folder, self.built
        other.path = folder / "t.lance"
        other.calls_path, other.steps_path = folder / "calls", folder / "steps"
        other.pages = []
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        shutil.copytree(self.path, other.path)
        return other

    def command(self, *options, function="square"):
        return [
            LEMAN, "backfill", self.path, "out", "--c", f"{self.built}/counted.so:{function}",
            "--inputs", "id", "--concurrency", str(WORKERS), "--json", *options,
        ]  # fmt: skip

    def run(self, command, step=0, whom="self"):
        """Run it to its end, whatever that is; its exit code and what it prints."""
        self.steps_path.write_bytes(bytes(8192))
        environment = dict(
            os.environ,
            LD_PRELOAD=str(self.built / "steps.so"),
            LEMAN_STEPS=str(self.steps_path),
            LEMAN_STEP=str(step),
            LEMAN_KILL=whom,
            LEMAN_CALLS=str(self.calls_path),
            PYTHONDONTWRITEBYTECODE="1",
            XDG_STATE_HOME=str(self.folder),
        )
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout, done.stderr

    def finish(self, command):
        code, out, err = self.run(command)
        assert code == 0, (out, err)
        return json.loads(out.splitlines()[-1])

    def steps(self):
        return struct.unpack("<Q", self.steps_path.read_bytes()[:8])[0]

    def calls(self):
        """How often the function was called for each row."""
        data = self.calls_path.read_bytes() if self.calls_path.exists() else b""
        return Counter(value for (value,) in struct.iter_unpack("<q", data))

    def rows(self):
        """Everything in the table, as pylance sees it, ledger included."""
        return lance.dataset(self.path).to_table().sort_by("id")


def kill_and_finish(place, command, step, whom, lost_max=FRAGMENT_ROWS):
    """Kill at a step, then run the same command again: no row that had a receipt is called again.

    A job outlives the death of a worker, which loses one task at most.
    """
    code, _, err = place.run(command, step, whom)
    assert code in (0, -9), (step, err)
    place.pages = list(place.path.glob("_leman/fills/*/*.pages"))
    before = place.calls().total()
    if code == 0:
        assert before <= len(place.rows()) + lost_max
    else:
        result = place.finish(command)
        again = place.calls().total() - before
        assert again == result["rows_planned"] - result["rows_resumed"], step
    return code


def check_finished(place, reference_rows):
    """The table is that of the undisturbed job, and a cleanup finds what lies around."""
    assert place.rows().equals(reference_rows)
    assert set(place.calls()) == set(reference_rows["id"].to_pylist())
    table = leman.open(place.path)
    assert not table.verify().findings
    table.cleanup(timedelta(0), delete_unverified=True)
    fragments = lance.dataset(place.path).get_fragments()
    used = {file.path for fragment in fragments for file in fragment.data_files()}
    assert {path.name for path in (place.path / "data").iterdir()} == used
    assert not list(place.path.glob("_leman/fills/*/*"))


@pytest.fixture(scope="session")
def base(memory, built):
    (memory / "base").mkdir()
    return Place(memory / "base", built)


@pytest.fixture(scope="session")
def reference(memory, base):
    """A job that nobody disturbs: the table, and the number of its steps."""
    place = base.copy(memory / "reference")
    result = place.finish(place.command())
    assert result["rows_committed"] == ROWS - 2
    rows = place.rows()
    ids = rows["id"].to_pylist()
    assert ids == [i for i in range(ROWS) if i not in (11, 130)]
    assert rows["out"].to_pylist() == [i * i for i in ids]
    assert set(rows["_leman_out"].combine_chunks().field("state").to_pylist()) == {1}
    assert place.calls() == Counter(ids)
    return rows, place.steps()


@pytest.mark.parametrize(
    "whom, stride, options",
    [
        ("self", 1, []),
        ("all", 1, ["--commit-granularity", "2"]),
        ("torn", 2, ["--checkpoint-size", "7", "--first-commit"]),
    ],
    ids=["process", "everything", "torn write"],
)
def test_jobs__killed_at_every_step(memory, base, reference, whom, stride, options):
    rows, steps = reference
    assert steps > 100
    codes = Counter()
    for step in range(1, steps + 1, stride):
        place = base.copy(memory / "place")
        codes[kill_and_finish(place, place.command(*options), step, whom)] += 1
        check_finished(place, rows)
    assert codes[-9] > codes.total() // 3
    if whom == "self":
        assert codes[0] > 5  # a worker's death, which the job outlives


def test_jobs__killed_again_and_again(memory, base, reference):
    """Each run comes a few steps further than the one before."""
    rows, steps = reference
    place = base.copy(memory / "place")
    for step in range(1, 40 * steps, 7):
        code, _, err = place.run(place.command(), step, "all")
        assert code in (0, -9), (step, err)
        if code == 0:
            break
    check_finished(place, rows)


def test_jobs__a_kill_costs_what_is_in_flight(memory, base):
    """A task for each worker that has begun, and the few whose receipts are not durable yet."""
    place = base.copy(memory / "place")
    command = place.command(function="lag")
    place.finish(command)
    rows, steps = place.rows(), place.steps()
    for step in range(20, steps, steps // 6):
        place = base.copy(memory / "place")
        kill_and_finish(place, command, step, "all")
        check_finished(place, rows)
        task_rows = ROWS // (8 * WORKERS) + 1
        assert place.calls().total() - len(rows) <= 3 * WORKERS * task_rows


def test_jobs__killed_while_pages_are_written(memory, built):
    """Results that are large enough for pages in their final place; half of them first."""
    folder = memory / "large"
    folder.mkdir()
    base = Place(folder, built, rows=80, fragment_rows=80)
    place = base.copy(memory / "place")
    command = place.command("--batch-size", "20", "--first-commit", function="blow")
    place.finish(command)
    before = lance.dataset(place.path, version=lance.dataset(place.path).version - 1)
    assert before.count_rows("out is not null") == WORKERS * 20
    rows, steps = place.rows(), place.steps()
    assert rows["out"].nbytes > 4_000_000
    pages = 0
    for step in range(1, steps + 1):
        place = base.copy(memory / "place")
        whom = "all" if step % 2 else "torn"
        kill_and_finish(place, command, step, whom, lost_max=40)
        check_finished(place, rows)
        pages += len(place.pages)
    assert pages > steps // 4


def change_table(path):
    """Another program deletes, updates and compacts."""
    dataset = lance.dataset(path)
    dataset.delete("id in (5, 200)")
    dataset.optimize.compact_files(target_rows_per_fragment=90)
    dataset = lance.dataset(path)
    dataset.update({"id": "100000"}, where="id = 100")


def test_jobs__the_table_changes_before_the_next_run(memory, base, reference):
    """What was computed before the kill is found where the rows have gone."""
    _, steps = reference
    for step in range(1, steps + 1, 8):
        place = base.copy(memory / "place")
        code, _, err = place.run(place.command(), step, "all")
        assert code in (0, -9), (step, err)
        twin = place.copy(memory / "twin")
        twin.finish(twin.command())
        place.calls_path.unlink(missing_ok=True)
        change_table(place.path)
        place.finish(place.command())
        rows = place.rows()
        ids = rows["id"].to_pylist()
        gone = {5, 11, 100, 130, 200}
        assert ids == [i for i in range(ROWS) if i not in gone] + [100000]
        assert rows["out"].to_pylist() == [i * i for i in ids]
        assert set(place.calls()) <= set(twin.calls()) | {100000}, step


SCRIPT = """
import json, os, sys
import leman

@leman.udf
def out(id: int) -> int:
    with open(os.environ["LEMAN_CALLS"], "ab", buffering=0) as file:
        file.write(id.to_bytes(8, "little"))
    return id * id

table = leman.open(sys.argv[1])
table.add_columns({"out": out})
result = table.backfill("out", concurrency=2, progress=False)
counts = {name: getattr(result, name) for name in ("rows_planned", "rows_resumed")}
print(json.dumps(counts))
"""


def test_jobs__a_script_is_killed(memory, base):
    script = memory / "script.py"
    script.write_text(SCRIPT)
    place = base.copy(memory / "place")
    command = [sys.executable, script, place.path]
    assert place.finish(command)["rows_planned"] == ROWS - 2
    rows, steps = place.rows(), place.steps()
    assert rows["out"].to_pylist() == [i * i for i in rows["id"].to_pylist()]
    for number, step in enumerate(range(1, steps, steps // 8)):
        place = base.copy(memory / "place")
        kill_and_finish(place, command, step, "all" if number % 2 else "self")
        check_finished(place, rows)
