# SPDX-License-Identifier: Apache-2.0
"""Generators that tasks of a cluster load: as one version, and none of them twice."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from functools import partial
from pathlib import Path

import leman
import pyarrow as pa
import pytest
from leman import ArrayRecordOptions, FileOptions, RayOptions, ray_loads
from leman.ingest import Generators
from test_engine import values, wait_until

SOURCES, ROWS = 5, 20


def counted(folder, number):
    """Some rows, or an error among them while a file asks for it; every call is counted."""
    with open(folder / f"calls-{number}", "a") as file:
        file.write("x")
    yield pa.table({"x": range(ROWS * number, ROWS * number + 5)})
    if (folder / f"breaks-{number}").exists():
        raise ValueError(f"generator {number} breaks")
    yield pa.table({"x": range(ROWS * number + 5, ROWS * (number + 1))})


@pytest.fixture
def table(tmp_path, one_node, monkeypatch):
    monkeypatch.setattr(ray_loads, "GROUP_SECONDS", 0)  # each generator has a task of its own
    return leman.connect(tmp_path).create_table("n", schema=pa.schema([("x", pa.int64())]))


@pytest.fixture
def load(table, tmp_path):
    def call(**options):
        sources = [partial(counted, tmp_path, number) for number in range(SOURCES)]
        return table.ray(RayOptions(max_parallelism=1)).append_from(sources, **options)

    return call


@pytest.fixture
def broken(load, tmp_path):
    """A load whose fourth generator has raised."""
    (tmp_path / "breaks-3").touch()
    with pytest.raises(Exception, match="generator 3 breaks"):
        load()
    (tmp_path / "breaks-3").unlink()


def calls(folder):
    return [
        len(path.read_text()) if (path := folder / f"calls-{number}").exists() else 0
        for number in range(SOURCES)
    ]


def check_loaded(table, times=1):
    assert sorted(values(table, "x")) == sorted(times * list(range(SOURCES * ROWS)))


def notes(table):
    return sorted(Path(table.path, "_leman/loads").glob("*/*.json"))


def test_loads__go_on_after_a_failure(table, load, broken, tmp_path):
    before = table.version
    assert len(table) == 0 and calls(tmp_path) == [1, 1, 1, 1, 0]
    result = load()
    assert calls(tmp_path) == [1, 1, 1, 2, 1]
    assert (result.parts, result.parts_before, result.parts_done) == (5, 3, 2)
    assert (result.rows, result.rows_committed, result.commits) == (2 * ROWS, 5 * ROWS, 1)
    assert table.version == before + 1
    check_loaded(table)
    assert values(table, "x") == list(range(SOURCES * ROWS))  # in the order of the generators
    assert notes(table) == []
    load()  # a load that is done is another one when it is made again
    check_loaded(table, 2)


def test_loads__begin_anew_when_told(table, load, broken, tmp_path):
    assert load(again=True).parts_before == 0
    assert calls(tmp_path) == [2, 2, 2, 2, 1]
    check_loaded(table)


def test_loads__committed_once(table, load, broken, monkeypatch):
    """Killed between the commit and the end of its notes, it finds that all is there."""
    with monkeypatch.context() as patched:

        def die(notes):
            raise SystemExit("killed")

        patched.setattr(ray_loads.Notes, "clear", die)
        with pytest.raises(SystemExit):
            load()
    version = table.version
    result = load()
    assert (result.parts_before, result.rows_committed) == (5, 5 * ROWS)
    assert table.version == version and notes(table) == []
    check_loaded(table)


def test_loads__notes_that_are_no_use(table, load, broken, tmp_path):
    """A note that is cut is none; files that are gone are written again."""
    first, second, _ = notes(table)
    first.write_text(first.read_text()[:-40])
    second.write_text("{}")
    for path in Path(table.path, "data").iterdir():
        path.unlink()
    assert load().parts_before == 0
    assert calls(tmp_path) == [3, 3, 2, 3, 2]
    check_loaded(table)


def test_loads__small_generators_share_tasks(table, load, monkeypatch):
    monkeypatch.setattr(ray_loads, "GROUP_SECONDS", 600)
    load()
    check_loaded(table)
    assert table.info()["num_fragments"] == 2  # the first shows how long one takes


CLIENT = """
    import sys
    from functools import partial
    from pathlib import Path
    import leman, ray
    from leman import RayOptions, ray_loads

    ray_loads.GROUP_SECONDS = 0
    FOLDER = Path({folder!r})

    def numbers(number):
        with open(FOLDER / f"calls-{{number}}", "a") as file:
            file.write("x")
        while number == 3 and not (FOLDER / "gate").exists():
            pass
        yield [{{"x": 20 * number + i}} for i in range(20)]

    ray.init({address!r}, logging_level="error", log_to_driver=False)
    table = leman.open({uri!r})
    sources = [partial(numbers, number) for number in range(5)]
    table.ray(RayOptions(max_parallelism=2)).append_from(sources)
"""


@pytest.fixture
def client(table, tmp_path, one_node):
    """Starts the program above; it is ended with the test."""
    address = one_node.get_runtime_context().gcs_address
    script = tmp_path / "client.py"
    code = CLIENT.format(folder=str(tmp_path), address=address, uri=table.uri)
    script.write_text(textwrap.dedent(code))
    started = []

    def start():
        started.append(subprocess.Popen([sys.executable, str(script)]))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def loaders(ray):
    found = ray.util.list_named_actors(all_namespaces=True)
    return [actor["name"] for actor in found if actor["name"].startswith("leman-load-")]


def check_one_version(table, folder):
    before = table.version
    table.refresh()
    assert table.version == before + 1
    assert calls(folder) == [1, 1, 1, 1, 1]
    check_loaded(table)


def test_loads__go_on_without_their_client(table, tmp_path, one_node, client):
    """The client is killed while a generator runs; its load ends, and the same call knows."""
    first = client()
    wait_until(lambda: len(notes(table)) == 4, 90)
    first.kill()
    first.wait()
    (tmp_path / "gate").touch()
    wait_until(lambda: len(leman.open(table.uri)) == SOURCES * ROWS, 90)
    assert client().wait(120) == 0
    check_one_version(table, tmp_path)
    assert notes(table) == []
    wait_until(lambda: loaders(one_node) == [], 60)
    assert list(Path(table.path, "_leman/loads").glob("nonce-*")) == []


def test_loads__the_same_call_meanwhile(table, tmp_path, one_node, client):
    """Other processes make the same call while it runs, and wait for the same end."""
    processes = [client()]
    wait_until(lambda: len(notes(table)) == 4, 90)
    processes += [client(), client()]
    (name,) = loaders(one_node)
    loader = one_node.get_actor(name, namespace="leman")
    wait_until(lambda: one_node.get(loader.asked.remote()) == 3, 90)
    processes.pop().kill()
    (tmp_path / "gate").touch()
    assert [process.wait(120) for process in processes] == [0, 0]
    check_one_version(table, tmp_path)


def test_loads__go_on_after_their_loader(table, tmp_path, one_node, client):
    """The actor that drives it is killed: another one goes on with what is noted."""
    process = client()
    wait_until(lambda: len(notes(table)) == 4, 90)
    (name,) = loaders(one_node)
    one_node.kill(one_node.get_actor(name, namespace="leman"))
    wait_until(lambda: calls(tmp_path)[3] == 2, 90)
    (tmp_path / "gate").touch()
    assert process.wait(120) == 0
    table.refresh()
    assert calls(tmp_path) == [1, 1, 1, 2, 1]
    check_loaded(table)


def test_loads__go_on_after_a_task_is_lost(table, tmp_path):
    def killed():
        if not (tmp_path / "again").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        yield from counted(tmp_path, 1)

    runner = table.ray(RayOptions(max_parallelism=1))
    sources = [partial(counted, tmp_path, 0), killed]
    with pytest.raises(leman.UnavailableError, match="a task was lost, and the same call goes on"):
        runner.append_from(sources)
    (tmp_path / "again").touch()
    assert runner.append_from(sources).rows_committed == 2 * ROWS
    assert calls(tmp_path)[:2] == [1, 1]


def test_loads__one_that_fails_ends_the_others(table, tmp_path):
    """When the error is told no task is left, so that the same call may be made at once."""
    begun, ended = tmp_path / "begun", tmp_path / "ended"

    def endless():
        try:
            while True:
                begun.touch()
                yield [{"x": 1}]
        finally:
            ended.touch()

    def breaks():
        while not begun.exists():
            time.sleep(0.005)
        raise ValueError("it breaks")
        yield

    with pytest.raises(ValueError, match="it breaks"):
        table.ray(RayOptions(max_parallelism=2)).append(Generators([endless, breaks]))
    assert ended.exists()
    assert list(Path(table.path, "_leman/loads").glob("nonce-*")) == []


# FileOptions


def test_loads__group_size_is_noted(tmp_path, one_node):
    """What Space calls the group size of records is what a feed reads together."""
    schema = pa.schema([("x", pa.int64()), ("image", pa.binary())])
    table = leman.connect(tmp_path).create_table("n", schema=schema)
    asked = FileOptions(array_record_options=ArrayRecordOptions(options="group_size:3,zstd:1"))
    runner = table.ray(RayOptions(max_parallelism=1), asked)
    runner.append_from([lambda: [{"x": i, "image": bytes([i])} for i in range(12)]])
    noted = {field.name: (field.metadata or {}).get(b"leman:group_size") for field in table.schema}
    assert noted == {"x": None, "image": b"3"}
    version = table.version
    runner.append(pa.table({"x": [12], "image": [b""]}))
    assert table.version == version + 1  # it is noted already
    assert json.loads(table.feed(shuffle="block").state())["block_rows"] == 3
    with pytest.raises(ValueError, match="no option 'group_sze:64'; it has group_size, "):
        ArrayRecordOptions(options="group_sze:64")
    with pytest.raises(TypeError, match="give the function that makes it"):
        runner.append_from([iter([{"x": 1}])])
    other = FileOptions(array_record_options=ArrayRecordOptions(options="group_size:64"))
    with pytest.raises(leman.InvalidError, match="feeds read 3 rows of 'image' together.*asks for"):
        table.ray(file_options=other).append_from([lambda: []])
    table.alter_columns({"path": "image", "group_size": 64})
    assert table.schema.field("image").metadata == {b"leman:group_size": b"64"}
    table.ray(file_options=other).append(pa.table({"x": [13], "image": [b""]}))
    with pytest.raises(ValueError, match="group_size is a whole number of at least 1, not 0"):
        table.alter_columns({"path": "image", "group_size": 0})
