# SPDX-License-Identifier: Apache-2.0
"""Environments and functions are loaded on every node before a job does."""

import os
import sys

import leman
import pytest
from leman import environment


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A module that only this process's path has."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    (folder / "shipped_helper.py").write_text("def where():\n    return __file__\n")
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("shipped_helper", None)


def test_warmup(one_node, work, tmp_path):
    @leman.udf
    class Counts:
        def __init__(self, folder):
            self.folder = folder

        def setup(self):
            import shipped_helper

            with open(os.path.join(self.folder, "set-up"), "a") as file:
                file.write(shipped_helper.where() + "\n")

        def __call__(self, x: int) -> int:
            return x

    env = environment.capture(
        tmp_path / "db", skip_site_packages=True, workspace=str(work), path=[str(work)]
    )
    cluster = leman.cluster.local()
    done = cluster.warmup(Counts(str(tmp_path)), environment=env)
    assert len(done) == 1 and all(seconds >= 0 for seconds in done.values())
    assert "/environments/boot-" in (tmp_path / "set-up").read_text()
    with pytest.raises(TypeError, match="warmup"):
        cluster.warmup(len)

    @leman.udf
    class Broken(Counts._leman_function):
        def setup(self):
            raise RuntimeError("no weights")

    with pytest.raises(leman.UnavailableError, match="node .*no weights"):
        cluster.warmup(Broken("/"))
