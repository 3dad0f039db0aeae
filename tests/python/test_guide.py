# SPDX-License-Identifier: Apache-2.0
"""The examples of README.md and of guides, run as they stand."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "build/leman"


def blocks(path, language):
    text = (ROOT / path).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


CLUSTER_PAGES = ["docs/guide/clusters.md", "docs/guide/startup.md"]
PAGES = ["README.md", "docs/guide/tables.md", "docs/guide/feed.md"]
DATA_PAGES = ["docs/guide/files.md", "docs/guide/expressions.md"]
FUNCTION_PAGES = [f"docs/guide/{name}.md" for name in ("backfill", "functions", "paid", "media")]


@pytest.mark.parametrize("path", [*PAGES, *DATA_PAGES, *FUNCTION_PAGES, *CLUSTER_PAGES])
def test_python(path, tmp_path, monkeypatch):
    """All blocks of a page are one program."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    code = "\n".join(blocks(path, "python"))
    assert "import leman\n" in code
    exec(compile(code, path, "exec"), {})


@pytest.mark.parametrize("path", PAGES)
def test_shell(path, tmp_path):
    """Every line of a page succeeds."""
    (tmp_path / "pets.csv").write_text("id,kind,weight\n1,cat,4.5\n2,dog,\n3,fish,0.1\n4,cat,3\n")
    (tmp_path / "more.jsonl").write_text('{"id": 5, "kind": "bird"}\n')
    (tmp_path / "changed.csv").write_text("id,weight\n2,12\n")
    (tmp_path / "all.csv").write_text("id,kind\n2,dog\n7,cat\n")
    (tmp_path / "legs.csv").write_text("id,legs\n2,4\n")
    environment = dict(os.environ, PATH=f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "bin").mkdir()
    shutil.copy(COMMAND, tmp_path / "bin/leman")
    lines = "".join(blocks(path, "sh")).splitlines()
    assert any("leman create" in line for line in lines)
    for line in lines:
        done = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, timeout=60
        )
        assert done.returncode == 0, f"{line}: {done.stderr.decode()}"


def test_jobs(tmp_path):
    """The function of docs/guide/jobs.md is built, and every line of it succeeds."""
    page = "docs/guide/jobs.md"
    (tmp_path / "length.c").write_text(blocks(page, "c")[0])
    (tmp_path / "pets.csv").write_text("id,kind\n1,cat\n2,dog\n3,fish\n")
    (tmp_path / "more.csv").write_text("id,kind\n4,bird\n")
    environment = dict(os.environ, XDG_STATE_HOME=str(tmp_path / "state"))
    environment["PATH"] = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    said = {}
    for line in "".join(blocks(page, "sh")).splitlines():
        line = line.replace("$(pkg-config --cflags leman)", f"-I{ROOT}/include")
        done = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, timeout=60
        )
        assert done.returncode == 0, f"{line}: {done.stderr.decode()}"
        said[line] = done.stdout.decode()
    last = [text for line, text in said.items() if "--c ./liblength.so:length" in line][2]
    assert "1 of 1 rows committed" in last
