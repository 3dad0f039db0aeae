# SPDX-License-Identifier: Apache-2.0
"""leman cluster: what it prints, and what it refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(__file__).resolve().parents[2] / "build/leman"


def run(*arguments):
    environment = dict(os.environ, LEMAN_PYTHON=sys.executable)
    command = [COMMAND, "cluster", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)


def test_render():
    done = run("render", "demo", "--size", "medium", "--namespace", "ml", "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["metadata"]["name"] == "demo" and made["metadata"]["namespace"] == "ml"
    text = run("render", "demo", "--size", "medium", "--namespace", "ml").stdout
    assert text.startswith("apiVersion: ray.io/v1\nkind: RayCluster\n")
    assert "replicas: 4" in text


def test_defined_clusters(tmp_path):
    import leman

    db = leman.connect(tmp_path)
    db.define_cluster(leman.cluster.kuberay("big", size="large"))
    db.define_cluster(leman.cluster.external("ray://h:1", name="there"))
    assert [line.split()[0] for line in run("list", tmp_path).stdout.splitlines()] == [
        "big",
        "there",
    ]
    assert json.loads(run("render", "big", "--db", tmp_path, "--json").stdout) == (
        db.open_cluster("big").render()
    )
    assert run("delete", tmp_path, "big").returncode == 0
    assert [c.name for c in db.list_clusters()] == ["there"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["render", "Demo"], "no name of a cluster: 'Demo'"),
        (["render", "demo", "--db", "{db}"], "defines no cluster 'demo'"),
        (["render", "there", "--db", "{db}"], "'there' is external"),
        (["render", "there", "--db", "{db}", "--size", "small"], "--size"),
        (["render", "demo", "--size", "huge"], "huge"),
        (["list", "{db}/nowhere"], "there is no such database"),
        (["delete", "{db}", "demo"], "defines no cluster 'demo'; it defines: there"),
    ],
)
def test_bad_input(arguments, words, tmp_path):
    import leman

    leman.connect(tmp_path).define_cluster(leman.cluster.external("ray://h:1", name="there"))
    done = run(*[argument.replace("{db}", str(tmp_path)) for argument in arguments])
    assert done.returncode == 2
    assert words in done.stderr
