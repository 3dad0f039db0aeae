# SPDX-License-Identifier: Apache-2.0
"""leman env: what it prints, ships and refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(__file__).resolve().parents[2] / "build/leman"


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    (folder / "pkg").mkdir(parents=True)
    (folder / "pyproject.toml").write_text("")
    (folder / "pkg/a.py").write_text("x = 1\n")
    (folder / "try.ipynb").write_text("{}")
    return folder


def run(*arguments, cwd):
    environment = dict(
        os.environ, LEMAN_PYTHON=sys.executable, XDG_STATE_HOME=str(Path(cwd) / "../state")
    )
    command = [COMMAND, "env", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=120, cwd=cwd
    )


def test_plan_ship_list_gc(work, tmp_path):
    done = run("plan", "--skip-site-packages", "--ship", tmp_path / "db", cwd=work)
    assert done.returncode == 0, done.stderr
    assert f"{work}: 2 files" in done.stdout
    assert "without try.ipynb (notebook)" in done.stdout
    assert "site-packages: not shipped: skip_site_packages" in done.stdout
    done = run("plan", "--skip-site-packages", "--json", cwd=work)
    said = json.loads(done.stdout)
    assert said["paths"][0]["kind"] == "workspace" and said["over"] is False
    listed = run("list", tmp_path / "db", "--json", cwd=work).stdout.splitlines()
    assert len(listed) == 1 and json.loads(listed[0])["missing"] == 0
    assert json.loads(listed[0])["hash"] in run("list", tmp_path / "db", cwd=work).stdout
    assert run("gc", tmp_path / "db", cwd=work).stdout == "0 removed\n"
    gone = json.loads(run("gc", tmp_path / "db", "--days", "0", "--json", cwd=work).stdout)
    assert gone["removed"] == [json.loads(listed[0])["hash"] + ".json"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan", "--skip-site-packages", "--bytes-max", "1"], "The largest:"),
        (["plan", "--bytes-max", "lots"], "'lots'"),
        (["gc", "x", "--days", "-1"], "--days"),
        (["list", "s3://x"], "s3://"),
        (["list", "nowhere"], "there is no such folder"),
        (["plan", "--workspace", "nowhere", "--bytes-max", "500kB"], "'nowhere'"),
        (["ship"], "ship"),
    ],
)
def test_bad_input(arguments, words, work):
    done = run(*arguments, cwd=work)
    assert done.returncode == 2
    assert words in done.stdout + done.stderr
