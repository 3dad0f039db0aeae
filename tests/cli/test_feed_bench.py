# SPDX-License-Identifier: Apache-2.0
"""leman feed-bench and leman cache."""

import io
import json
import os
import signal
import subprocess
import tarfile
import time

import pytest
from conftest import COMMAND

ROWS = 1000


@pytest.fixture
def path(leman, tmp_path):
    rows = tmp_path / "rows.jsonl"
    with open(rows, "w") as file:
        for i in range(ROWS):
            file.write(json.dumps({"id": i, "text": f"row number {i}"}) + "\n")
    done = leman("create", tmp_path / "t", rows)
    assert done.returncode == 0, done.stderr
    return tmp_path / "t"


def result(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_help(leman):
    for command, use in [("feed-bench", "feed-bench TABLE"), ("cache", "cache warm TABLE")]:
        assert leman(command, "--help").stdout.decode().startswith(f"usage: leman {use}")
        assert f"  {command} ".encode() in leman("--help").stdout


def test_wrong_usage(leman, path, tmp_path):
    for arguments, part in [
        (["feed-bench"], "one table"),
        (["feed-bench", path, "--shuffle", "rows"], "--shuffle"),
        (["feed-bench", path, "--where", "nothing > 1"], "nothing"),
        (["feed-bench", path, "--where", "id < 0"], "no rows"),
        (["cache", "cool", path, "--to", tmp_path / "c"], "warm"),
        (["cache", "warm", path], "--to"),
        (["cache", "warm", tmp_path / "none", "--to", tmp_path / "c"], "none"),
        (["cache", "warm", path, "--to", tmp_path / "c", "--columns", "nothing"], "nothing"),
        (["cache", "warm", path, "--to", tmp_path / "c", "--bytes", 10], "a cache of 10 bytes"),
    ]:
        done = leman(*arguments)
        assert done.returncode == 2, arguments
        assert part in done.stderr.decode()


def test_feed_bench(leman, path):
    stats = result(leman("feed-bench", path, "--json", "--batch-size", 30))
    assert (stats["rows"], stats["batches"]) == (ROWS, 34)
    assert stats["bytes"] > ROWS * 8 and stats["store_bytes"] > 0
    stats = result(leman("feed-bench", path, "--json", "--batches", 50, "--shuffle", "block"))
    assert stats["batches"] == 50
    text = leman("feed-bench", path, "--where", "id < 100", "--threads", 1).stdout.decode()
    assert text.startswith("rows        100 in 2 batches")
    assert "rows/s" in text and "% store" in text
    assert not os.path.exists(path / "_refs")


def test_cache(leman, path, tmp_path):
    cache = tmp_path / "cache"
    first = result(leman("cache", "warm", path, "--to", cache, "--json"))
    assert first["rows"] == ROWS and first["hit_bytes"] == 0 and not first["full"]
    pieces = [name for name in cache.glob("*/*") if name.name != "used"]
    assert first["cache_bytes"] == sum(name.stat().st_size for name in pieces)
    assert first["store_bytes"] == first["cache_bytes"] - 8 * len(pieces) > 0
    again = result(leman("cache", "warm", path, "--to", cache, "--json"))
    assert again["store_bytes"] == 0 and again["hit_bytes"] == first["store_bytes"]
    assert again["cache_bytes"] == first["cache_bytes"]
    stats = result(leman("feed-bench", path, "--cache", cache, "--json"))
    assert stats["store_bytes"] == 0 and stats["cache_hit_bytes"] > 0
    done = leman("cache", "warm", path, "--to", tmp_path / "rows.jsonl")
    assert done.returncode == 1
    assert b"rows.jsonl cannot be the directory of a cache" in done.stderr


def test_cache_leaves_references(leman, tmp_path):
    with tarfile.open(tmp_path / "0.tar", "w") as archive:
        for number in range(20):
            info = tarfile.TarInfo(f"{number}.jpg")
            info.size = 100
            archive.addfile(info, io.BytesIO(bytes(100)))
    done = leman("ingest", "webdataset", tmp_path / "t", tmp_path / "0.tar", "--references")
    assert done.returncode == 0, done.stderr
    (tmp_path / "0.tar").unlink()
    told = result(leman("cache", "warm", tmp_path / "t", "--to", tmp_path / "cache", "--json"))
    assert told["rows"] == 20


def test_cache_after_kills(leman, tmp_path):
    """Killed at any time and started again: in the end the cache has all, and all of it right."""
    import leman as library
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(1)
    data = [rng.bytes(50_000) for _ in range(400)]
    table = library.create(tmp_path / "t", pa.table({"id": list(range(400)), "data": data}))
    command = [COMMAND, "cache", "warm", tmp_path / "t", "--to", tmp_path / "cache", "--json"]
    for wait in (0.002, 0.005, 0.01, 0.02):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait)  # any moment will do: the sooner the kill, the more is left to do
        process.send_signal(signal.SIGKILL)
        process.wait()
    result(leman(*command[1:]))
    again = result(leman(*command[1:]))
    assert again["store_bytes"] == 0
    small = result(leman(*command[1:-3], "--to", tmp_path / "c", "--bytes", 5_000_000, "--json"))
    assert small["full"] and 0 < small["cache_bytes"] <= 5_000_000
    feed = table.feed(cache_dir=tmp_path / "cache", epochs=1, pin=False)
    for batch in feed:
        assert batch["data"].to_pylist() == [data[i] for i in batch["id"].to_pylist()]
    assert feed.stats()["store_bytes"] == 0
