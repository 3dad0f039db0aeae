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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_directory(path):
    for folder, _, _ in os.walk(path):
        os.chmod(folder, 0o555)
    table = leman.open(path)
    with pytest.raises(leman.StoreError, match="Permission denied"):
        table.append({"id": [1], "text": ["no"]})
    with pytest.raises(leman.StoreError, match="Permission denied"):
        table.delete("id = 1")
    assert len(table) == 1000
    for folder, _, _ in os.walk(path):
        os.chmod(folder, 0o755)


def test_a_file_where_a_table_should_be(tmp_path):
    place = tmp_path / "t.lance"
    place.write_text("no table")
    with pytest.raises(leman.NotFoundError, match="t.lance is no table"):
        leman.open(place)
    with pytest.raises(leman.LemanError, match="t.lance"):
        leman.create(place, {"x": [1]})
    assert place.read_text() == "no table"
