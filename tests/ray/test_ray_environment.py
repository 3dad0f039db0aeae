# SPDX-License-Identifier: Apache-2.0
"""Environments and functions are loaded on every node before a job does."""

import importlib
import json
import os
import subprocess
import sys
import textwrap

import conda_channel
import leman
import pyarrow as pa
import pytest
from leman import environment, function, ray_environment
from leman.backfill import Request


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


@leman.udf(data_type=pa.int64())
def rows_of_call(x: pa.Array) -> pa.Array:
    return pa.array([len(x)] * len(x))


def test_sizes_are_defaults(one_node, tmp_path):
    """A job in the context of a cluster with a size takes its concurrency and batch size."""
    db = leman.connect(tmp_path)
    table = db.create_table("t", pa.table({"x": range(640)}))
    table.add_columns({"y": rows_of_call, "z": rows_of_call})
    db.define_cluster(leman.cluster.kuberay("little", size="small"))
    with db.context("little"):
        assert Request(table, "y").options["concurrency"] == 2
        assert Request(table, "y", concurrency=5).options["concurrency"] == 5
        job = table.backfill_async("y")
        assert job.wait(60).state == "done"
        assert table.backfill("z", batch_size=10, concurrency=1).state == "done"
    assert Request(table, "y").options["concurrency"] == 0
    found = table.to_arrow(["y", "z"])
    assert set(found["y"].to_pylist()) == {32} and set(found["z"].to_pylist()) == {10}
    started = job._core.status()["started"]
    assert "nothing is shipped: its node is this machine" in started
    with pytest.raises(leman.NotFoundError, match="no cluster 'tiny'; it defines: little"):
        db.context("tiny")


def test_other_versions_are_refused_when_it_is_connected(one_node, tmp_path):
    """Of a cluster that says to be of another Python; Ray compares before anything else."""
    address = one_node.get_runtime_context().gcs_address
    client = one_node._private.worker.global_worker.gcs_client
    before = client.internal_kv_get(b"CLUSTER_METADATA", b"cluster")
    other = json.dumps(json.loads(before) | {"python_version": "3.9.1"}).encode()
    client.internal_kv_put(b"CLUSTER_METADATA", other, True, b"cluster")
    code = f"""
        import leman
        try:
            leman.cluster.external({address!r}).init()
        except leman.InvalidError as error:
            print(error)
    """
    try:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True
        )
    finally:
        client.internal_kv_put(b"CLUSTER_METADATA", before, True, b"cluster")
    assert "has another Python or Ray than this process" in done.stdout, done.stderr
    assert "Python: 3.9.1" in done.stdout and "take an image that has what is here" in done.stdout


def test_warmup_in_an_environment_of_conda(tmp_path, monkeypatch):
    """On a node: functions are set up in its Python, and what fails there is told."""
    conda_channel.make(tmp_path)
    for name, value in conda_channel.variables(tmp_path).items():
        monkeypatch.setenv(name, value)
    channel = f"file://{tmp_path}/channel"
    made = environment.conda({"channels": [channel], "dependencies": ["evenly=2.0"]})

    @leman.udf
    class Loads:
        def __init__(self, name):
            self.name = name

        def setup(self):
            module = importlib.import_module(self.name)
            (tmp_path / "set-up").write_text(f"{sys.prefix} {module.NUMBER}")

        def __call__(self, x: int) -> int:
            return x

    def warm(name):
        code = function.pack(Loads(name), [], [])
        return ray_environment._warm_inside("conda", made.content, None, [code])

    assert warm("evenly") > 0
    prefix, number = (tmp_path / "set-up").read_text().split()
    assert number == "200" and prefix.startswith(f"{tmp_path}/state/leman/packages/boot-")
    with pytest.raises(leman.FunctionError, match="No module named 'no_such_module'"):
        warm("no_such_module")
    assert (tmp_path / "conda.log").read_text().count("env create") == 1
