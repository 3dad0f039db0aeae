# SPDX-License-Identifier: Apache-2.0
"""Results that are paid for: after a kill of whatever, only calls in flight are made again."""

import contextlib
import http.server
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import urllib.request
from collections import Counter, defaultdict

import leman
import pyarrow as pa
import pytest

ROWS = 48
IN_FLIGHT = 4


class Till(http.server.ThreadingHTTPServer):
    """A server that is paid by the request: /row/process. Some requests it answers with a kill."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.calls = []  # (row, process), in order
        self.busy = 0  # requests that are not answered yet
        self.changed = threading.Condition(self.lock)
        self.kill_at = {}  # number of the call: what kills
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def paid(self):
        return Counter(row for row, _ in self.calls)

    def rows_of(self, process):
        return {row for row, asking in self.calls if asking == process}

    def again(self, begin, end):
        """Of each process that called between two calls: how many of its rows it asked for that
        were asked for once more later. So many it may have had in flight when it was killed."""
        later = {row for row, _ in self.calls[end:]}
        rows = defaultdict(set)
        for row, process in self.calls[begin:end]:
            rows[process].add(row)
        return [len(asked & later) for asked in rows.values()]

    def process_request(self, request, client_address):
        with self.lock:
            self.busy += 1
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        super().shutdown_request(request)
        with self.changed:
            self.busy -= 1
            self.changed.notify_all()

    def settle(self):
        """Hear what the dead have asked for: it stands in line before this request."""
        urllib.request.urlopen(self.url, timeout=60).close()
        with self.changed:
            assert self.changed.wait_for(lambda: self.busy == 0, 60)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/":
            row, process = map(int, self.path.strip("/").split("/"))
            with self.server.lock:
                self.server.calls.append((row, process))
                kill = self.server.kill_at.pop(len(self.server.calls), None)
            if kill is not None:
                kill(process)
        try:
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"42")
        except OSError:
            pass  # who asked is dead

    def log_message(self, *unused):
        pass


@pytest.fixture
def till():
    made = Till()
    yield made
    made.shutdown()
    made.server_close()


FUNCTIONS = """
    import asyncio, os, urllib.request
    import leman

    def get(url, id):
        with urllib.request.urlopen(f"{url}/{id}/{os.getpid()}", timeout=60) as answer:
            answer.read()
        return f"answer {id}"

    def plain(url):
        @leman.udf(paid=True)
        def ask(id: int) -> str:
            return get(url, id)
        return ask

    def in_flight(url):
        @leman.udf(paid=True, async_concurrency=4, batch_size=16)
        async def ask(id: int) -> str:
            return await asyncio.to_thread(get, url, id)
        return ask
"""


class Place:
    def __init__(self, folder, till, kind):
        self.till = till
        db = leman.connect(folder / "db")
        self.table = db.create_table("t", pa.table({"id": range(ROWS)}))
        (folder / "functions.py").write_text(textwrap.dedent(FUNCTIONS))
        (folder / "run.py").write_text(
            f"import leman, functions\n"
            f"table = leman.open({self.table.path!r})\n"
            f"table.add_columns({{'out': functions.{kind}({till.url!r})}})\n"
            f"table.backfill('out', concurrency=2, progress=False)\n"
        )
        self.command = [sys.executable, str(folder / "run.py")]

    def start(self):
        return subprocess.Popen(self.command, start_new_session=True)

    def run_killed(self, calls):
        """Run until so many calls have come, and kill all of it; the number of all calls then."""
        driver = self.start()
        kill_at = len(self.till.calls) + calls
        dead = threading.Event()

        def kill(_):
            os.killpg(driver.pid, signal.SIGKILL)
            if os.environ.get("LEMAN_ENGINE") == "ray":
                self.kill_what_the_cluster_has()
            dead.set()

        self.till.kill_at[kill_at] = kill
        assert driver.wait(60) == -signal.SIGKILL
        assert dead.wait(60)
        self.till.settle()
        return len(self.till.calls)

    def kill_what_the_cluster_has(self):
        """Workers, appliers and the tracker, which Ray is not to start again."""
        import ray

        for process in {process for _, process in self.till.calls}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        trackers = ray.util.list_named_actors(all_namespaces=True)
        for actor in (ray.get_actor(**named) for named in trackers):
            ray.kill(actor)
        tracker = self.table.jobs()[0].status()["pid"]
        end = time.monotonic() + 30
        while os.path.exists(f"/proc/{tracker}"):
            assert time.monotonic() < end, "the tracker does not die"
            time.sleep(0.01)

    def check_finished(self):
        values = leman.open(self.table.path).to_arrow(["out"])["out"].to_pylist()
        assert values == [f"answer {i}" for i in range(ROWS)]


@pytest.mark.parametrize(("kind", "most"), [("plain", 1), ("in_flight", IN_FLIGHT)])
def test_paid__everything_killed(tmp_path, till, kind, most):
    """Killed twice; a process has not lost more calls than it may have in flight."""
    place = Place(tmp_path, till, kind)
    ends = [place.run_killed(calls) for calls in (5, 17)]
    assert place.start().wait(60) == 0
    place.check_finished()
    assert set(till.paid()) == set(range(ROWS))
    for end in ends:
        assert max(till.again(0, end)) <= most


@pytest.mark.parametrize(("kind", "most"), [("plain", 1), ("in_flight", IN_FLIGHT)])
def test_paid__workers_killed(tmp_path, till, kind, most):
    """The job goes on by itself; what its workers had paid for is not paid for again."""
    place = Place(tmp_path, till, kind)
    killed = []

    def kill(process):
        killed.append(process)
        os.kill(process, signal.SIGKILL)

    till.kill_at = {9: kill, 25: kill}
    assert place.start().wait(60) == 0
    place.check_finished()
    assert len(killed) == 2
    paid = till.paid()
    again = {row for row, count in paid.items() if count > 1}
    assert again <= till.rows_of(killed[0]) | till.rows_of(killed[1])
    assert sum(paid.values()) <= ROWS + 2 * most


def test_paid__recompute_pays_again(tmp_path, till):
    """What was kept before is not taken for the new computation, and what it keeps itself is."""
    place = Place(tmp_path, till, "in_flight")  # 16 rows of a task: none has a receipt by then
    script = tmp_path / "run.py"
    before = place.run_killed(10)
    script.write_text(script.read_text().replace("progress", "recompute=True, progress"))
    end = place.run_killed(12)
    assert place.start().wait(60) == 0
    place.check_finished()
    assert {row for row, _ in till.calls[before:]} == set(range(ROWS))
    assert max(till.again(before, end)) <= IN_FLIGHT


def test_paid__failed_rows_are_not_kept(tmp_path):
    """A row that failed is called again, one that did not is not; errors say which row."""
    db = leman.connect(tmp_path / "db")
    table = db.create_table("t", pa.table({"id": range(ROWS)}))
    gate = tmp_path / "gate"

    @leman.udf(paid=True, on_error=leman.skip_on_error())
    def ask(id: int) -> int:
        if id % 10 == 3 and not gate.exists():
            raise ValueError(f"not {id}")
        return id

    table.add_columns({"out": ask})
    assert table.backfill("out", concurrency=1, progress=False).rows_failed == 5
    gate.touch()
    result = table.backfill("out", concurrency=1, progress=False)
    assert result.rows_computed == 5 and result.rows_failed == 0
    assert table.to_arrow(["out"])["out"].to_pylist() == list(range(ROWS))


def test_paid__a_job_that_fails_keeps_what_was_paid_for(tmp_path):
    """Its worker dies before there is a checkpoint; the next job begins with what it had."""
    db = leman.connect(tmp_path / "db")
    table = db.create_table("t", pa.table({"id": range(8)}))
    broken, calls = tmp_path / "broken", tmp_path / "calls"

    @leman.udf(paid=True)
    class Ask:
        def setup(self):
            assert not broken.exists(), "no weights"

        def __call__(self, id: int) -> int:
            with open(calls, "a") as file:
                file.write(f"{id}\n")
            if calls.read_text().split() == ["0", "1", "2", "3", "4", "5"]:
                broken.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return id

    table.add_columns({"out": Ask()})
    with pytest.raises(leman.LemanError, match="no weights"):
        table.backfill("out", concurrency=1, progress=False)
    broken.unlink()
    table.backfill("out", concurrency=1, progress=False)
    assert table.to_arrow(["out"])["out"].to_pylist() == list(range(8))
    paid = Counter(calls.read_text().split())
    assert {row for row, count in paid.items() if count > 1} == {"5"}
    assert not list((tmp_path / "db").glob("*/_leman/fills/*/kept-*"))
