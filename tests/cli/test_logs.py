# SPDX-License-Identifier: Apache-2.0
"""What functions print, with worker and row, by `leman logs` and job.logs()."""

import json
import subprocess
import sys
from pathlib import Path

import leman as package
import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "build/leman"
ROWS = 100

FUNCTIONS = """
import logging, os, sys
import leman
import pyarrow as pa

@leman.udf
def printing(n: int) -> int:
    if n == 7:
        print("seven", n)
        print("and", end=" ")
        print("eight")
        sys.stderr.write("to err")
    if n == 8:
        logging.getLogger("mine").info("logged %d", n)
        os.write(1, b"by descriptor\\n")
        os.system("echo from a program")
    return n + 1

@leman.udf
def coloured(n: int) -> int:
    if n == 7:
        print("a\\tb \\x1b[31mred\\x1b[0m \\\\ \\"q\\"")
    if n == 8:
        raise ValueError("a\\tb \\x1b[31mred")
    return n

@leman.udf(data_type=pa.int64(), batch_size=25)
def batch(n: pa.Array) -> pa.Array:
    if n[0].as_py() == 25:
        print("in a batch")
    return n

@leman.udf
def loud(n: int) -> int:
    for i in range(200):
        print("line", i)
    return n

@leman.udf
def dying(n: int) -> int:
    if n == 50:
        os.write(2, b"last words")
        os._exit(3)
    return n

@leman.udf
class Unloaded:
    def setup(self):
        print("never loaded", flush=True)
        os._exit(9)

    def __call__(self, n: int) -> int:
        return n
"""


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LEMAN_PYTHON", sys.executable)
    path = tmp_path / "numbers.lance"
    package.create(path, [{"n": n} for n in range(ROWS)])
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    return path


@pytest.fixture
def fill(leman, path):
    def run(function, *options, code=0):
        done = leman(
            "backfill", path, "m", "--fn", f"{path.parent}/functions.py:{function}", "--inputs",
            "n", "--concurrency", "1", "--job-id", "mine", *options,
        )  # fmt: skip
        assert done.returncode == code, done.stderr.decode()
        return done

    return run


def logs(leman, *options):
    return json.loads(leman("logs", "mine", "--json", *options).stdout)


def test_lines_have_their_row(leman, fill, path):
    done = fill("printing")
    assert b"seven" not in done.stdout + done.stderr  # the line of progress stays clean
    assert b"functions printed 6 lines: leman logs mine" in done.stderr
    found = logs(leman)
    marked = [(e["row"], e["rows"], e["level"], e["text"]) for e in found if e["level"] != "raw"]
    assert marked == [
        (7, 1, "out", "seven 7"),
        (7, 1, "out", "and eight"),
        (8, 1, "INFO", "mine: logged 8"),
        (marked[3][0], marked[3][1], "err", "to err"),  # at the end of its call
    ]
    raw = [e for e in found if e["level"] == "raw"]
    assert [e["text"] for e in raw] == ["by descriptor", "from a program"]
    assert all(e["worker"] == 0 for e in found)
    assert [e["text"] for e in logs(leman, "--row", "7") if e["rows"] == 1] == [
        "seven 7",
        "and eight",
    ]
    assert logs(leman, "--worker", "1") == []
    text = leman("logs", "mine").stdout.decode()
    assert "  worker 0  row 7  out  seven 7\n" in text
    job = package.open(path).jobs()[0]
    assert job.logs(row=7) == logs(leman, "--row", "7")
    assert job.status()["log_lines"] == 6
    with pytest.raises(ValueError, match="row is a number"):
        job.logs(row="7")


def test_colours_are_shown_and_not_obeyed(leman, fill, path):
    fill("coloured", code=3)
    assert logs(leman)[0]["text"] == 'a\tb \x1b[31mred\x1b[0m \\ "q"'
    assert 'out  a b \\u001b[31mred\\u001b[0m \\ "q"\n' in leman("logs", "mine").stdout.decode()
    assert "a b \\u001b[31mred" in leman("errors", path, "m").stdout.decode()


def test_lines_of_a_batch_are_of_all_its_rows(leman, fill):
    fill("batch")
    (entry,) = logs(leman)
    assert (entry["row"], entry["rows"], entry["text"]) == (25, 25, "in a batch")
    assert logs(leman, "--row", "49") == [entry] and logs(leman, "--row", "50") == []


def test_what_is_too_much_is_counted(leman, fill):
    fill("loud")
    found = logs(leman)
    kept = [e["text"] for e in found if "text" in e]
    dropped = sum(e.get("dropped", 0) for e in found)
    assert len(kept) >= 2000 and dropped > 0
    assert len(kept) + dropped == 200 * ROWS
    record = json.loads(leman("job", "mine", "--json").stdout)
    assert (record["log_lines"], record["log_lines_dropped"]) == (len(kept), dropped)
    assert b"lines were dropped" in leman("logs", "mine").stdout


def test_last_words_of_a_worker(leman, fill):
    fill("dying", code=3)
    found = [e for e in logs(leman) if e["text"] == "last words"]
    assert found and all(e["row"] <= 50 < e["row"] + e["rows"] for e in found)
    assert found[-1]["row"] == 50 and found[-1]["rows"] == 1


def test_a_worker_that_does_not_load_says_why(fill):
    done = fill("Unloaded", code=1)
    assert b"exit code 9 before it was loaded: never loaded" in done.stderr


def test_c_functions(leman, path, tmp_path):
    library = tmp_path / "libfunctions.so"
    source = ROOT / "tests/cli/functions/functions.c"
    command = ["cc", "-O1", "-shared", "-fPIC", f"-I{ROOT}/include", "-o", library, source]
    subprocess.run(command, check=True)
    options = ("--inputs", "n", "--batch-size", "10", "--concurrency", "1", "--job-id", "mine")
    done = leman("backfill", path, "o", "--c", f"{library}:next", *options)
    assert done.returncode == 0 and b"prints" not in done.stdout + done.stderr
    found = logs(leman)
    assert {e["text"] for e in found} == {"a function that prints"}
    assert len(found) == ROWS // 10


WAITING = """
import os, time
import leman

@leman.udf(batch_size=1)
def waiting(n: int) -> int:
    print("begun", n, flush=True)
    while not os.path.exists(os.environ["GATE"]):
        time.sleep(0.01)
    return n
"""


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_follow_shows_lines_as_they_come(path, tmp_path, monkeypatch, form):
    gate = tmp_path / "gate"
    monkeypatch.setenv("GATE", str(gate))
    (tmp_path / "waiting.py").write_text(WAITING)
    fill = [COMMAND, "backfill", path, "m", "--fn", f"{tmp_path}/waiting.py:waiting"]
    fill += ["--concurrency", "1", "--job-id", "mine", "--detach"]
    subprocess.run(fill, check=True, capture_output=True)
    follow = [COMMAND, "logs", "mine", "--follow", *form]
    with subprocess.Popen(follow, stdout=subprocess.PIPE, text=True) as watching:
        first = watching.stdout.readline()  # while the job waits
        gate.touch()
        lines = [first, *watching.stdout]
    assert watching.returncode == 0
    if form:
        assert [json.loads(line)["text"] for line in lines] == [f"begun {n}" for n in range(ROWS)]
    else:
        assert [line.split("  ")[-1] for line in lines] == [f"begun {n}\n" for n in range(ROWS)]


def test_wrong_calls(leman, path):
    done = leman("logs", "none")
    assert done.returncode == 2 and b'no job "none"' in done.stderr
    done = leman("logs", "none", "--table", path)
    assert done.returncode == 2 and b'has no job "none"' in done.stderr
    assert leman("logs").returncode == 2
    assert leman("logs", "mine", "--row", "x").returncode == 2


def test_a_line_that_was_cut_is_passed_over(leman, fill, path):
    fill("batch")
    found = logs(leman)
    with open(path / "_leman/jobs/mine/log.jsonl", "a") as file:
        file.write('{"time": "now", "worker": 0, "text": "cut}')
    assert logs(leman) == found
    fill("batch", "--recompute")
    assert [e["text"] for e in logs(leman)] == ["in a batch", "in a batch"]


def test_discard_takes_the_logs_along(leman, fill, path):
    fill("printing")
    assert (path / "_leman/jobs/mine/log.jsonl").exists()
    assert leman("discard", "mine").returncode == 0
    assert not list((path / "_leman/jobs/mine").glob("log*"))
