# SPDX-License-Identifier: Apache-2.0
"""Limits of calls that all workers of a job share: rates, budgets, what calls say they used."""

import asyncio
import datetime
import http.server
import json
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import leman
import pyarrow as pa
import pytest
from leman.rate import parse_rate, retry_after

ROWS = 40


class Server(http.server.ThreadingHTTPServer):
    """Answers each request with a number, and remembers when it came."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.record = []  # (time, path)
        self.refuse = {}  # path: seconds of Retry-After, once
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def times(self):
        with self.lock:
            return sorted(at for at, _ in self.record)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with self.server.lock:
            self.server.record.append((time.monotonic(), self.path))
            refused = self.server.refuse.pop(self.path, None)
        self.send_response(200 if refused is None else 429)
        if refused is not None:
            self.send_header("Retry-After", str(refused))
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"42")

    def log_message(self, *unused):
        pass


@pytest.fixture
def server():
    made = Server()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def table(tmp_path):
    db = leman.connect(tmp_path / "db")
    return db.create_table("t", pa.table({"id": range(ROWS)}))


def fetching(url, **options):
    @leman.udf(**options)
    def fetch(id: int) -> int:
        with urllib.request.urlopen(f"{url}/{id}", timeout=30) as answer:
            return int(answer.read())

    return fetch


def fetching_async(url, **options):
    @leman.udf(**options)
    async def fetch(id: int) -> int:
        def get():
            import urllib.request  # a worker knows what the function itself names

            with urllib.request.urlopen(f"{url}/{id}", timeout=30) as answer:
                return int(answer.read())

        return await asyncio.to_thread(get)

    return fetch


@pytest.mark.parametrize("make", [fetching, fetching_async])
def test_rate__one_bucket_for_all_workers(table, server, make):
    """Two workers with a limit each would be done in half of the time that one limit allows."""
    limit = leman.RateLimit(requests="20/s")
    table.add_columns({"out": make(server.url, rate_limit=limit)})
    result = table.backfill("out", concurrency=2, progress=False)
    times = server.times()
    assert len(times) == ROWS and result.rows_committed == ROWS
    # They take 39 intervals, less what the first was late; with two limits they would take 19.
    assert times[-1] - times[0] >= 0.7 * (ROWS - 1) / 20
    status = table.jobs()[0].status()
    assert status["calls"] == ROWS
    assert status["verdict"].startswith("bound by rate_limit")


def test_rate__retry_after_pauses_everybody(table, server):
    """While one row waits for what it was told, no other row of any worker is asked for."""
    server.refuse["/5"] = 2
    limit = leman.RateLimit(requests="1000/s")
    table.add_columns({"out": fetching(server.url, rate_limit=limit, batch_size=1)})
    result = table.backfill("out", concurrency=2, progress=False)
    assert result.state == "done" and result.rows_failed == 0
    record = sorted(server.record)
    first, again = [at for at, path in record if path == "/5"]
    assert again - first >= 2.0
    # Those that were on their way when the answer came may still arrive, and no others.
    meanwhile = [path for at, path in record if first + 1.0 < at < first + 2.0]
    assert meanwhile == []


def test_rate__tokens_are_corrected(table):
    """Calls that take more than was thought slow down those behind them."""
    limit = leman.RateLimit(tokens="6000/min", estimate=lambda id: 1)

    @leman.udf(rate_limit=limit)
    def hungry(id: int) -> int:
        leman.usage(tokens=100)
        return id

    table.add_columns({"out": hungry})
    start = time.monotonic()
    result = table.backfill("out", concurrency=1, max_rows=4, progress=False)
    # 100 tokens come back in a second; each of the three calls behind the first waits for them.
    assert time.monotonic() - start >= 1.5
    assert result.rows_committed == 4
    assert table.jobs()[0].status()["tokens"] == 400


def test_usage__is_summed_in_the_record(table, tmp_path):
    died = tmp_path / "died"

    @leman.udf(batch_size=4, checkpoint_size=4)
    def costly(id: int) -> int:
        leman.usage(tokens=10)
        leman.usage(tokens=5, cost=0.25)
        if id == 20 and not died.exists():
            died.touch()
            import os
            import signal

            os.kill(os.getpid(), signal.SIGKILL)
        return id

    table.add_columns({"out": costly})
    job = table.backfill_async("out", concurrency=1)
    job.wait()
    status = table.jobs()[0].status()
    assert status["worker_deaths"] == 1
    # Calls of the batch that died are made, and told, again.
    assert ROWS * 15 <= status["tokens"] <= (ROWS + 4) * 15
    assert status["cost"] == status["tokens"] / 15 * 0.25
    assert job.status()["tokens"] == status["tokens"]
    command = [sys.executable.replace("python", "leman"), "job", job.id, "--table", table.path]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"{status['tokens']} tokens, cost {status['cost']:g}" in " ".join(shown.split())


def test_usage__in_threads_of_the_function(table):
    @leman.udf(data_type=pa.int64(), batch_size=8)
    def threaded(id: pa.Array) -> pa.Array:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: leman.usage(tokens=3), range(len(id))))
        return id

    table.add_columns({"out": threaded})
    table.backfill("out", concurrency=1, progress=False)
    assert table.jobs()[0].status()["tokens"] == 3 * ROWS


def test_usage__outside_of_a_job_and_wrong():
    leman.usage(tokens=3, cost=1)
    with pytest.raises(ValueError, match="tokens is not negative.*-1"):
        leman.usage(tokens=-1)
    with pytest.raises(TypeError, match="tokens is a number, not 1.5"):
        leman.usage(tokens=1.5)
    with pytest.raises(ValueError, match="cost .*nan"):
        leman.usage(cost=float("nan"))


@pytest.mark.parametrize("kind", ["plain", "async", "array"])
def test_budget__max_calls(table, tmp_path, kind):
    """Exactly so many calls; the next run goes on behind them."""
    calls = tmp_path / "calls"

    def note(*ids):
        with open(calls, "a") as file:
            file.write("".join(f"{id} " for id in ids) + "\n")

    if kind == "plain":

        @leman.udf(batch_size=8)
        def noted(id: int) -> int:
            note(id)
            return id

    elif kind == "async":

        @leman.udf(async_concurrency=5)
        async def noted(id: int) -> int:
            note(id)
            return id

    else:

        @leman.udf(data_type=pa.int64(), batch_size=2)
        def noted(id: pa.Array) -> pa.Array:
            note(*id.to_pylist())
            return id

    table.add_columns({"out": noted})
    with pytest.raises(leman.CancelledError, match=r"7 calls.*max_calls.*goes on") as stopped:
        table.backfill("out", concurrency=2, max_calls=7, progress=False)
    assert len(calls.read_text().splitlines()) == 7
    rows = 14 if kind == "array" else 7
    assert stopped.value.result.rows_checkpointed == rows
    result = table.backfill("out", concurrency=2, max_calls=1000, progress=False)
    assert result.rows_resumed == rows and result.state == "done"
    assert sorted(map(int, calls.read_text().split())) == list(range(ROWS))


def test_budget__max_cost_from_the_shell(table, tmp_path):
    """The command stops with 4 and goes on when it is run again."""
    (tmp_path / "functions.py").write_text(
        "import leman\n"
        "@leman.udf\n"
        "def costly(id: int) -> int:\n"
        "    leman.usage(cost=0.5)\n"
        "    return id\n"
    )
    command = [
        sys.executable.replace("python", "leman"), "backfill", table.path, "out",
        "--fn", f"{tmp_path}/functions.py:costly", "--concurrency", "1",
        "--max-cost", "5", "--json", "--metrics", str(tmp_path / "metrics"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 4, done.stderr
    assert json.loads(done.stdout)["rows_checkpointed"] == 10
    assert "cost 5 of the 5" in done.stderr
    assert re.search(r"leman_job_cost_total{.*} 5\n", (tmp_path / "metrics").read_text())
    for code in (4, 4, 0):
        assert subprocess.run(command, capture_output=True).returncode == code


def test_budget__bad(table):
    table.add_columns({"out": leman.udf(lambda id: id, data_type=pa.int64())})
    with pytest.raises(ValueError, match="max_calls is a whole number of at least 1, not 0"):
        table.backfill("out", max_calls=0)
    with pytest.raises(ValueError, match="max_cost is a number above 0, not 'much'"):
        table.backfill("out", max_cost="much")


def test_rate__parsed():
    assert parse_rate("requests", "500/min") == (500, 60_000)
    assert parse_rate("tokens", "200k/min") == (200_000, 60_000)
    assert parse_rate("tokens", "1.5M / hour") == (1_500_000, 3_600_000)
    assert parse_rate("requests", "3/s") == (3, 1000)
    assert repr(leman.RateLimit("3/s", "2k/min")) == "RateLimit(requests=3/1s, tokens=2000/60s)"


@pytest.mark.parametrize("text", ["500", "0/min", "-5/min", "5/fortnight", "/min", "", 500])
def test_rate__bad(text):
    with pytest.raises(ValueError, match='requests is a number and a time as "500/min"'):
        leman.RateLimit(requests=text)


def test_rate__bad_arguments():
    with pytest.raises(ValueError, match="requests=, tokens=, or both"):
        leman.RateLimit()
    with pytest.raises(TypeError, match="estimate is a function"):
        leman.RateLimit(tokens="5/s", estimate=5)
    with pytest.raises(ValueError, match="estimate= is for tokens="):
        leman.RateLimit(requests="5/s", estimate=len)
    with pytest.raises(TypeError, match="rate_limit is leman.RateLimit"):
        leman.udf(rate_limit="5/s")


def test_rate__estimate_that_fails(table):
    """It fails its row, and names what it returned."""
    limit = leman.RateLimit(tokens="1M/s", estimate=lambda id: "many" if id == 3 else 1)
    table.add_columns({"out": leman.udf(lambda id: id, data_type=pa.int64(), rate_limit=limit)})
    result = table.backfill("out", concurrency=1, progress=False)
    assert result.rows_failed == 1
    (error,) = table.errors("out").to_pylist()
    assert "estimate() of the rate limit returned 'many'" in error["message"]


def test_retry_after__of_exceptions():
    class Waits(Exception):
        retry_after = 7

    class Answer:
        headers = {"retry-after": "2.5"}

    class Refused(Exception):
        response = Answer

    at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=60)
    dated = urllib.error.HTTPError(
        "", 503, "", {"Retry-After": at.strftime("%a, %d %b %Y %H:%M:%S GMT")}, None
    )
    headers = {"Retry-After": "3"}
    assert retry_after(Waits()) == 7
    assert retry_after(Refused()) == 2.5
    assert retry_after(urllib.error.HTTPError("", 429, "", headers, None)) == 3
    assert 55 < retry_after(dated) <= 60
    assert retry_after(ValueError("no")) is None
    Waits.retry_after = "soon"
    assert retry_after(Waits()) is None
    Waits.retry_after = 10**9
    assert retry_after(Waits()) == 3600
