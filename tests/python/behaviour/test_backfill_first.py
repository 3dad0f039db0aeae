# SPDX-License-Identifier: Apache-2.0
"""The first rows of a large fragment are in a version before the others are computed."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import leman
import pyarrow as pa
import pytest

ROWS = 640
FIRST = 10  # a 64th, for one worker
LARGE = 420 << 10  # bytes of a value, so that all of them have more than 256 MiB
ON_RAY = os.environ.get("LEMAN_ENGINE") == "ray"


@pytest.fixture
def table(tmp_path):
    db = leman.connect(tmp_path / "db")
    return db.create_table("t", pa.table({"id": range(ROWS)}))


@leman.udf
def text(id: int) -> str:
    return f"row {id}"


def filled(table, column):
    """How many rows of the column are computed, in each version since it was added."""
    table = leman.open(table.path)
    where = f"leman_state('{column}') = 'ok'"
    counts = []
    for version in range(1, table.version + 1):
        if column in table.scan(version=version).to_arrow().schema.names:
            counts.append(table.scan(["id"], where=where, version=version).to_arrow().num_rows)
    return counts


def values(table, column):
    return leman.open(table.path).to_arrow([column])[column].to_pylist()


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


@pytest.mark.parametrize("workers", [0, 2])
def test_first__asked_for(table, workers):
    table.add_columns({"text": text})
    result = table.backfill("text", concurrency=workers, first_commit=True, progress=False)
    assert result.state == "done"
    assert result.rows_planned == result.rows_computed == result.rows_committed == ROWS
    assert values(table, "text") == [f"row {i}" for i in range(ROWS)]
    assert filled(table, "text") == [0, FIRST, ROWS]
    assert len(table.jobs()) == 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"first_commit": False},
        {"first_commit": True, "where": "id < 600"},
        {"first_commit": True, "max_rows": 600},
        {"first_commit": True, "batch_size": ROWS},
    ],
    ids=["small", "not wanted", "where", "max_rows", "one call"],
)
def test_first__one_commit(table, options):
    table.add_columns({"text": text})
    result = table.backfill("text", concurrency=1, progress=False, **options)
    assert result.rows_committed == result.rows_planned
    assert filled(table, "text") == [0, result.rows_planned]


def test_first__by_the_size_of_results(table, tmp_path):
    @leman.udf
    def large(id: int) -> bytes:
        return id.to_bytes(4, "little") * (LARGE // 4)

    table.add_columns({"large": large})
    result = table.backfill("large", concurrency=1, progress=False)
    assert result.rows_committed == ROWS
    blocks = [os.stat(entry).st_blocks for entry in os.scandir(tmp_path / "db/t.lance/data")]
    assert sum(blocks) * 512 <= 1.02 * ROWS * LARGE
    table = leman.open(table.path)
    where = "leman_state('large') = 'ok'"
    first = table.scan(["id"], where=where, version=table.version - 1).to_arrow()
    assert first["id"].to_pylist() == list(range(FIRST))
    for i, value in enumerate(table.to_arrow(["large"])["large"]):
        assert value.as_buffer().equals(pa.py_buffer(i.to_bytes(4, "little") * (LARGE // 4)))


def test_first__blobs(table):
    """Payloads of both parts are where they belong."""

    @leman.udf(data_type=leman.blob(), batch_size=3)
    def data(id: int) -> bytes:
        return b"%d," % id * (id * 50)

    table.add_columns({"data": data})
    table.backfill("data", concurrency=2, first_commit=True, progress=False)
    table = leman.open(table.path)
    found = table.scan(columns=["data"], blobs="bytes").to_arrow()["data"].to_pylist()
    assert found == [b"%d," % i * (i * 50) for i in range(ROWS)]
    assert len(table.versions()) == 4
    assert not table.verify().findings


def test_first__columns_that_feed_columns(table):
    @leman.udf
    def size(text: str) -> int:
        return len(text)

    table.add_columns({"text": text, "size": size})
    result = table.backfill(["size", "text"], concurrency=2, first_commit=True, progress=False)
    assert result.rows_planned == result.rows_committed == 2 * ROWS
    assert values(table, "size") == [len(f"row {i}") for i in range(ROWS)]
    assert filled(table, "text")[-3:] == [FIRST, ROWS, ROWS]
    assert filled(table, "size")[-2:] == [0, ROWS]


def test_first__recomputed_values_change_together(table):
    """What is computed again is read as before until the end, whatever is asked for."""
    table.add_columns({"text": text})
    table.backfill("text", concurrency=1, progress=False)
    before = leman.open(table.path).version
    table.backfill("text", concurrency=1, first_commit=True, recompute=True, progress=False)
    assert leman.open(table.path).version == before + 1

    @leman.udf
    def other(id: int) -> str:
        return f"new {id}"

    table.alter_columns({"path": "text", "udf": other})
    table.backfill("text", on_change="recompute", first_commit=True, progress=False)
    table = leman.open(table.path)
    for version in range(before, table.version):
        old = table.scan(["text"], version=version).to_arrow()["text"].to_pylist()
        assert old == [f"row {i}" for i in range(ROWS)]
    assert values(table, "text") == [f"new {i}" for i in range(ROWS)]


FUNCTION = """
import os, time
import leman

@leman.udf(batch_size=5, checkpoint_size=5, paid=PAID)
def out(id: int) -> str:
    with open(os.environ["CALLS"], "a") as file:
        file.write(f"{id} {os.getpid()}\\n")
    while id >= 10 and not os.path.exists(os.environ["GATE"]):
        time.sleep(0.005)
    return f"row {id}"
"""


@pytest.fixture
def command(table, tmp_path, monkeypatch):
    """The command, whose function waits for a file behind the first rows; and what it notes."""
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("GATE", str(tmp_path / "gate"))
    return [
        os.path.join(os.path.dirname(sys.executable), "leman"), "backfill", table.path, "out",
        "--fn", f"{tmp_path}/functions.py:out", "--first-commit", "--concurrency", "1",
    ]  # fmt: skip


def calls(tmp_path):
    """The rows and the processes of all calls, in their order."""
    lines = (tmp_path / "calls").read_text().splitlines() if (tmp_path / "calls").exists() else []
    return [tuple(map(int, line.split())) for line in lines]


@pytest.mark.skipif(ON_RAY, reason="there the job goes on; see tests/ray/test_nodes.py")
@pytest.mark.parametrize(
    "whom, paid", [("worker", False), ("command", False), ("both", True), ("cancel", True)]
)
def test_first__ended_behind_it(table, tmp_path, command, whom, paid):
    """Whatever ends the job between the first commit and the rest: nothing is computed again."""
    (tmp_path / "functions.py").write_text(FUNCTION.replace("PAID", str(paid)))
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    until(lambda: any(id >= FIRST for id, _ in calls(tmp_path)))
    assert filled(table, "out")[-1] == FIRST
    if whom in ("worker", "both"):
        os.kill(calls(tmp_path)[-1][1], signal.SIGKILL)
    if whom in ("command", "both"):
        running.kill()
        running.wait()
    if whom == "cancel":
        running.send_signal(signal.SIGINT)
        until(lambda: table.jobs()[0].status()["state"] == "stopping")
    (tmp_path / "gate").touch()
    assert running.wait() == {"worker": 0, "cancel": 4}.get(whom, -9)
    if whom != "worker":
        subprocess.run(command, check=True, capture_output=True)
    assert values(table, "out") == [f"row {i}" for i in range(ROWS)]
    called = Counter(id for id, _ in calls(tmp_path))
    assert [called[i] for i in range(FIRST)] == [1] * FIRST
    assert called.total() <= ROWS + 5  # the call that was running
    assert filled(table, "out") == [0, FIRST, ROWS]


def test_first__bad_values_are_named(table):
    table.add_columns({"text": text})
    with pytest.raises(ValueError, match="first_commit is True or False, not 256"):
        table.backfill("text", first_commit=256)
