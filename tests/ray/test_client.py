# SPDX-License-Identifier: Apache-2.0
"""Ray Client: this process is no part of the cluster that runs its jobs."""

import socket
import subprocess
import sys
import textwrap

import leman
import pyarrow as pa
import pytest


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="module")
def address():
    """A cluster of two nodes that listens to clients."""
    from ray.cluster_utils import Cluster

    port = free_port()
    made = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 2,
            "ray_client_server_port": port,
            "runtime_env_agent_port": free_port(),  # the server of clients has to know it
            "include_dashboard": False,
        },
    )
    made.add_node(num_cpus=4)
    made.wait_for_nodes()
    yield f"ray://127.0.0.1:{port}"
    made.shutdown()


def run(code, tmp_path, **names):
    """A program of a user, as a process of its own."""
    script = tmp_path / "client.py"
    script.write_text(textwrap.dedent(code).format(**names))
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, str(script)], timeout=150, capture_output=True, text=True, cwd=tmp_path
        )
        if "Starting Ray client server failed" not in done.stderr:
            break  # Ray forks a server for a client, which now and then dies at once
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_client__job_read_and_dataset(address, tmp_path):
    table = leman.connect(tmp_path).create_table("t", pa.table({"x": range(300)}))
    said = run(
        """
        import leman, ray
        from leman import RayOptions, ReadOptions

        @leman.udf
        def double(x: int) -> int:
            return 2 * x

        ray.init({address!r}, logging_level="error", log_to_driver=False)
        table = leman.open({uri!r})
        table.add_columns({{"y": double}})
        print(table.backfill("y", engine="ray", concurrency=2, progress=False).state)
        read = table.ray(RayOptions(max_parallelism=2)).read(batch_size=64, columns=["y"])
        print([part.num_rows for part in read])
        ray_ds = table.ray_dataset(RayOptions(max_parallelism=2), ReadOptions(batch_size=64))
        print(ray_ds.count(), ray_ds.filter(lambda row: row["x"] < 5).count())
        print([batch["y"].tolist() for batch in ray_ds.limit(3).iter_batches(batch_size=2)])
        """,
        tmp_path,
        address=address,
        uri=table.uri,
    )
    assert said.splitlines() == [
        "done",
        "[64, 64, 64, 64, 44]",
        "300 5",
        "[[0, 2], [4]]",
    ]


def test_client__one_cluster_after_the_other(address, tmp_path):
    """Each context is of the cluster that it was given, unless a job would be lost sight of."""
    leman.connect(tmp_path).create_table("t", pa.table({"x": range(3)}))
    said = run(
        """
        import os, time, leman, ray

        @leman.udf
        def waits(x: int) -> int:
            while not os.path.exists("gate"):
                time.sleep(0.005)
            return x

        def say():
            print(ray.cluster_resources()["CPU"])

        db = leman.connect({db!r})
        table = db.open_table("t")
        table.add_columns({{"y": waits}})
        here = leman.cluster.local("here", num_cpus=3)
        with db.context({address!r}):
            say()
            with db.context(here):
                say()
                job = table.backfill_async("y", concurrency=1)
                try:
                    db.context({address!r}).__enter__()
                except leman.ConflictError as error:
                    print(error)
                open("gate", "w").close()
                print(job.wait(60).state)
            print(table.backfill("y", progress=False).state)
            say()
        ray.shutdown()
        ray.init("local", num_cpus=1, include_dashboard=False)
        with db.context(here):
            say()
        """,
        tmp_path,
        address=address,
        db=str(tmp_path),
    )
    first, second, refused, *more = said.splitlines()
    assert [first, second, *more] == ["6.0", "3.0", "done", "done", "6.0", "1.0"]
    assert "this process is connected to cluster 'here', where its job " in refused


def test_client__nobody_answers(tmp_path, monkeypatch):
    """An address at which nobody answers is refused within seconds, by name."""
    from leman.ray_engine import init

    port = free_port()
    with pytest.raises(leman.UnavailableError, match=f"nobody answers at 'ray://127.0.0.1:{port}'"):
        init(f"ray://127.0.0.1:{port}")
    with pytest.raises(leman.InvalidError, match="'ray://nowhere' is no address of a cluster"):
        init("ray://nowhere")
    table = leman.connect(tmp_path).create_table("t", pa.table({"x": range(3)}))
    said = run(
        """
        import os, leman
        os.environ["RAY_ADDRESS"] = "127.0.0.1:{port}"

        @leman.udf
        def double(x: int) -> int:
            return 2 * x

        table = leman.open({uri!r})
        table.add_columns({{"y": double}})
        try:
            table.backfill("y", engine="ray")
        except leman.UnavailableError as error:
            print(error)
        """,
        tmp_path,
        port=port,
        uri=table.uri,
    )
    assert f"nobody answers at '127.0.0.1:{port}'" in said
    assert not table.jobs()
