# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/guide/ingest.md and docs/guide/space.md, run as they stand."""

import os
import subprocess
from pathlib import Path

import pytest
from shards import write_shards
from test_guide import COMMAND, blocks
from test_sources import space_dataset


@pytest.mark.parametrize("path", ["docs/guide/ingest.md", "docs/guide/space.md"])
def test_pages(path, tmp_path, monkeypatch, capsys):
    """All blocks of a page are one program; every line for the shell succeeds."""
    write_shards(tmp_path / "shards", 4, 5)
    space_dataset(tmp_path / "space_dataset")
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join(blocks(path, "python")), path, "exec"), {})
    assert capsys.readouterr().out
    folder = str(Path(COMMAND).parent)
    environment = dict(os.environ, PATH=f"{folder}{os.pathsep}{os.environ['PATH']}")
    for line in "".join(blocks(path, "sh")).splitlines():
        done = subprocess.run(["sh", "-c", line], env=environment, capture_output=True, timeout=60)
        assert done.returncode == 0, f"{line}: {done.stderr.decode()}"
