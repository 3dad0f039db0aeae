# SPDX-License-Identifier: Apache-2.0
"""Disks that are full and directories that cannot be written: clear errors, tables as they were."""

import os
import subprocess
import sys
from pathlib import Path

import leman
import pyarrow as pa
import pytest

# A limit of the size of files stands for the end of the disk; both fail in the middle of a write.
LIMITED = """
import resource, signal, sys
import leman, pyarrow as pa
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
table = leman.open(sys.argv[1])
many = pa.table({"id": range(1000, 101_000), "text": [str(i) * 20 for i in range(100_000)]})
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
operations = {
    "append": lambda: table.append(many),
    "overwrite": lambda: table.overwrite(many),
    "upsert": lambda: table.upsert(many, on="id"),
    "join": lambda: table.add_columns({"big": "'" + "x" * 500 + "' || text"}),
}
try:
    operations[sys.argv[2]]()
except leman.StoreError as error:
    print(error)
else:
    sys.exit("it did not fail")
"""


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in Path(folder).rglob("*") if p.is_file())


@pytest.fixture
def path(tmp_path):
    path = str(tmp_path / "t.lance")
    leman.create(path, pa.table({"id": range(1000), "text": [f"r{i}" for i in range(1000)]}))
    return path


@pytest.mark.parametrize("operation", ["append", "overwrite", "upsert", "join"])
def test_full_disk(path, operation):
    before, rows = files(path), leman.open(path).to_arrow()
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, path, operation], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "File too large" in done.stdout and ".lance" in done.stdout
    assert files(path) == before
    table = leman.open(path)
    assert table.version == 1 and table.to_arrow().equals(rows)
    table.append({"id": [1], "text": ["after"]})
    assert len(table) == 1001


# There is room for data, but not for what a commit writes last.
COMMITTING = """
import resource, signal, sys
import leman
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
table = leman.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
operations = {
    "append": lambda: table.append({"id": [-1]}),
    "delete": lambda: table.delete("id % 2 = 0"),
    "update": lambda: table.update("id = 3", {"text": "'x'"}),
    "upsert": lambda: table.upsert({"id": [3], "text": ["x"]}, on="id"),
    "compact": lambda: table.compact(),
    "add": lambda: table.add_columns({"more": "id + 1"}),
}
try:
    operations[sys.argv[2]]()
except leman.StoreError as error:
    print(error)
else:
    sys.exit("it did not fail")
"""


@pytest.mark.parametrize("operation", ["append", "delete", "update", "upsert", "compact", "add"])
def test_full_disk_at_the_commit(tmp_path, operation):
    path = str(tmp_path / "t.lance")
    table = leman.create(path, {"id": range(80), "text": ["x"] * 80}, max_rows_per_fragment=2)
    table.delete("id in (7, 9)")
    before, rows = files(path), table.to_arrow()
    done = subprocess.run(
        [sys.executable, "-c", COMMITTING, path, operation], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "File too large" in done.stdout and ".manifest" in done.stdout
    assert files(path) == before
    assert leman.open(path).to_arrow().equals(rows)


# Root may write everywhere, but not without its capabilities, which a thread hands on to those that
# it starts. (The header of capset() is a version and a process; the sets are empty.)
READING = """
import ctypes, sys
sets = (ctypes.c_uint32 * 6)()
if ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(0x20080522, 0), sets) != 0:
    sys.exit("no capset()")
import datetime
import leman, pyarrow as pa
table = leman.open(sys.argv[1])
database = leman.connect(sys.argv[2])
row = {"id": [1], "text": ["no"]}
changes = [
    lambda: table.append(row),
    lambda: table.overwrite(row),
    lambda: table.upsert(row, on="id"),
    lambda: table.insert({"id": [-1], "text": ["no"]}, on="id"),
    lambda: table.update("id = 1", {"text": "'no'"}),
    lambda: table.delete("id = 1"),
    lambda: table.add_columns({"more": "id + 1"}),
    lambda: table.add_columns(pa.field("more", pa.int8())),
    lambda: table.rename_column("text", "other"),
    lambda: table.drop_columns("text"),
    lambda: table.tags.create("name"),
    lambda: table.restore(1),
    lambda: table.compact(),
    lambda: table.cleanup(datetime.timedelta(0)),
    lambda: database.create_table("other", row),
    lambda: database.rename_table("t", "other"),
    lambda: database.drop_table("t"),
]
for number, change in enumerate(changes):
    try:
        change()
    except leman.StoreError as error:
        if "Permission denied" not in str(error) or sys.argv[2] not in str(error):
            sys.exit(f"change {number}: {error}")
    else:
        sys.exit(f"change {number} did not fail")
table.refresh()
print(len(table), table.scan(where="id < 10").to_arrow().num_rows, len(table.verify().findings))
print(table.cleanup(datetime.timedelta(0), dry_run=True).versions_removed, table.tags.list())
"""


def test_read_only_directory(path, tmp_path):
    leman.open(path).delete("id >= 500")
    before = files(tmp_path)
    for folder, _, names in os.walk(tmp_path):
        for name in names:
            os.chmod(Path(folder, name), 0o444)
        os.chmod(folder, 0o555)
    done = subprocess.run(
        [sys.executable, "-c", READING, path, str(tmp_path)], capture_output=True, text=True
    )
    for folder, _, _ in os.walk(tmp_path):
        os.chmod(folder, 0o755)
    assert done.stdout == "500 10 0\n1 {}\n", done.stderr
    assert files(tmp_path) == before


# Each table has more files than the process may open, and the program needs some of its own.
CROWDED = """
import resource, sys
import leman
resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))
tables = [leman.open(path) for path in sys.argv[1:]]
for table in tables:
    assert table.take(range(0, 120)).to_arrow()["id"].to_pylist() == list(range(120))
    assert table.take(range(119, -1, -1), columns=["id"]).to_arrow().num_rows == 120
    assert table.scan(where="id >= 20").to_arrow().num_rows == 100
    assert table.delete("id % 7 = 0") == 18
    assert not table.verify().findings
own = [open("/dev/null") for _ in range(30)]
"""


def test_few_files_may_be_open(tmp_path):
    paths = [str(tmp_path / f"{name}.lance") for name in "ab"]
    for path in paths:
        leman.create(path, {"id": range(120)}, max_rows_per_fragment=1)
    done = subprocess.run([sys.executable, "-c", CROWDED, *paths], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_file_where_a_table_should_be(tmp_path):
    place = tmp_path / "t.lance"
    place.write_text("no table")
    with pytest.raises(leman.NotFoundError, match="t.lance is no table"):
        leman.open(place)
    with pytest.raises(leman.LemanError, match="t.lance"):
        leman.create(place, {"x": [1]})
    assert place.read_text() == "no table"
