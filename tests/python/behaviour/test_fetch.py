# SPDX-License-Identifier: Apache-2.0
"""``leman.functions.fetch``: URLs become blobs, of one fragment by several workers, resumably."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import leman
import pyarrow as pa
import pytest
from http_files import payload, serving

MIB = 1 << 20
QUICK = leman.retry_transient(max_attempts=3, backoff=0.01)


@pytest.fixture
def server(tmp_path, monkeypatch):
    # What other jobs of this user hold of the machine does not count.
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with serving() as running:
        yield running


def fetched(tmp_path, urls, **options):
    """(values, {row: message of its error}) of a column that was fetched."""
    options = {"on_error": QUICK} | options
    table = leman.create(tmp_path / "t.lance", pa.table({"url": pa.array(urls, pa.string())}))
    table.add_columns({"data": (leman.functions.fetch(**options), ["url"])})
    table.backfill("data", concurrency=2)
    table.refresh()
    values = table.scan(columns=["data"], blobs="bytes").to_arrow()["data"].to_pylist()
    errors = {row["row_id"]: row for row in table.errors("data").to_pylist()}
    return values, errors


def test_fetch__reads_urls(tmp_path, server):
    local = tmp_path / "a file.bin"
    local.write_bytes(b"local")
    urls = [
        f"{server.url}/1?size=10",
        f"{server.url}/2?size={3 * MIB}",
        None,
        f"{server.url}/3?size=0",
        f"{server.url}/4?size=20&plain=1",
        f"{server.url}/7?size=500000&chunked=1",
        f"{server.url}/5?to={server.url}/6",
        local.as_uri(),
    ]
    values, errors = fetched(tmp_path, urls)
    assert errors == {}
    assert values == [
        payload(1, 10),
        payload(2, 3 * MIB),
        None,
        b"",
        payload(4, 20),
        payload(7, 500_000),
        payload(6, 100),
        b"local",
    ]


def test_fetch__is_used_as_it_is(tmp_path, server):
    table = leman.create(tmp_path / "t.lance", pa.table({"url": [f"{server.url}/1"]}))
    table.add_columns({"data": (leman.functions.fetch, ["url"])})
    assert table.backfill("data").rows_committed == 1
    # Options are no part of the version: nothing is fetched again.
    other = leman.functions.fetch(timeout=5, retries=1, per_host=None)
    table.alter_columns({"path": "data", "udf": other})
    assert table.backfill("data").rows_planned == 0
    assert len(server.asked) == 1


def test_fetch__retries_what_may_pass_and_nothing_else(tmp_path, server):
    paths = [
        "/1?fail=503&times=1",
        "/2?cut=10",
        "/3?fail=404",
        "/4?fail=500",
        "/5?fail=403",
        "/6?cut=50&chunked=1",
    ]
    values, errors = fetched(tmp_path, [server.url + path for path in paths])
    assert [value is not None for value in values] == [True, True, False, False, False, True]
    assert values[1] == payload(2, 100)
    assert values[5] == payload(6, 100)
    assert [server.count(path) for path in paths] == [2, 2, 1, 3, 1, 2]
    assert errors[2]["message"] == f"{server.url}{paths[2]}: HTTP 404 Not Found"
    assert errors[3]["message"].endswith("HTTP 500 Internal Server Error")
    assert [errors[row]["attempts"] for row in (2, 3, 4)] == [1, 3, 1]


def test_fetch__refuses_what_it_should_not_read(tmp_path, server):
    urls = [
        "ftp://host/file",
        "no url",
        "http:///path",
        f"{server.url}/1?to=file:///etc/hostname",
        f"{server.url}/2?size=5000",
        f"{server.url}/3?size=5000&plain=1",
        f"{server.url}/4?loop=1",
        "file://elsewhere/file",
        (tmp_path / "missing").as_uri(),
        "http://a b/space",
        f"http://{'ü' * 70}/long",
        "http://me:word@host/1",
        "http://host:port/1",
        f"{server.url}/5?to=http://host:port/1",
        "http://127.0.0.1:1/refused",
    ]
    values, errors = fetched(tmp_path, urls, max_bytes="1KB", max_redirects=3)
    assert values == [None] * len(urls)
    wanted = [
        "'ftp://host/file' is no URL of http, https or file",
        "'no url' is no URL of http, https or file",
        "'http:///path' names no host",
        "'file:///etc/hostname' is not allowed",
        "it has 5000 bytes, more than max_bytes=1000",
        "it has more than max_bytes=1000",
        "HTTP 302 after 3 redirects",
        "'file://elsewhere/file' is a file of another machine",
        "No such file",
        "'http://a b/space' is no URL: its host has a space",
        "/long' is no URL: ",
        "names a user; headers= takes",
        "'http://host:port/1' is no URL: ",
        "it is redirected to 'http://host:port/1', which is no URL: ",
        "Connection refused",
    ]
    for row, text in enumerate(wanted):
        assert text in errors[row]["message"], errors[row]
    assert [errors[row]["attempts"] for row in range(len(urls))] == [1] * 14 + [3]


def test_fetch__encodes_what_http_does_not_have(tmp_path, server):
    urls = [
        f" {server.url}/ 1?size=10 ",
        f"{server.url}/\u0662?size=10&name=\xe9 a&done=%20%C3%A9#top",
        server.url.replace("127", "\uff11\uff12\uff17") + "/3?size=10",
    ]
    values, errors = fetched(tmp_path, urls)
    assert errors == {}
    assert values == [payload(number, 10) for number in (1, 2, 3)]
    assert sorted(server.asked) == [
        "/%201?size=10",
        "/%D9%A2?size=10&name=%C3%A9%20a&done=%20%C3%A9",
        "/3?size=10",
    ]


def test_fetch__headers_are_given_secrets_where_they_are_sent(tmp_path, server, monkeypatch):
    monkeypatch.setenv("FETCH_TOK", "hdr-secretzz-1234567890")
    values, errors = fetched(
        tmp_path,
        [f"{server.url}/1", f"{server.url}/2?fail=403"],
        headers={"Authorization": "Bearer {FETCH_TOK}", "X-Tag": '{"a": 1}'},
        secrets=["FETCH_TOK"],
    )
    assert values == [payload(1, 100), None]
    for headers in server.headers:
        assert headers["Authorization"] == "Bearer hdr-secretzz-1234567890"
        assert headers["X-Tag"] == '{"a": 1}'
    for path in (tmp_path / "t.lance").rglob("*"):
        assert path.is_dir() or b"hdr-secretzz" not in path.read_bytes(), path


def test_fetch__headers_that_hold_secrets_are_refused(monkeypatch):
    monkeypatch.setenv("FETCH_TOK", "hdr-secretzz-1234567890")
    monkeypatch.setenv("FETCH_PLACE", "elsewhere")
    for secrets in (None, ["FETCH_TOK"]):
        with pytest.raises(leman.InvalidError, match="FETCH_TOK") as caught:
            leman.functions.fetch(
                headers={"Authorization": "Bearer hdr-secretzz-1234567890"}, secrets=secrets
            )
        assert "hdr-secretzz" not in str(caught.value)
    leman.functions.fetch(headers={"X-Place": "elsewhere"})
    for headers, secrets, text in [
        ({"A": "{FETCH_TOK}"}, None, "headers has {FETCH_TOK}, and secrets= does not name"),
        ({"A": "x"}, ["FETCH_TOK"], "secrets has 'FETCH_TOK', and no header has {FETCH_TOK}"),
        ({"A": 1}, None, "headers is texts by text, unlike that of 'A'"),
    ]:
        with pytest.raises((ValueError, TypeError), match=text):
            leman.functions.fetch(headers=headers, secrets=secrets)
    with pytest.raises(TypeError, match=r"^leman.functions.fetch\(\) got .* 'foo'"):
        leman.functions.fetch(foo=1)


def test_fetch__credentials_stay_with_their_server(tmp_path, server, monkeypatch):
    monkeypatch.setenv("FETCH_TOK", "hdr-secretzz-1234567890")
    sent = {"Authorization": "Bearer T", "Cookie": "c=1", "X-Key": "{FETCH_TOK}", "X-Tag": "t"}
    with serving() as other:
        urls = [
            f"{server.url}/1?to={other.url}/2",
            f"{server.url}/3?to={server.url.replace('127.0.0.1', 'localhost')}/4",
            f"{server.url}/5?to=/6",
        ]
        values, errors = fetched(tmp_path, urls, headers=sent, secrets=["FETCH_TOK"])
        assert errors == {}
        assert values == [payload(number, 100) for number in (2, 4, 6)]
        seen = dict(zip(server.asked + other.asked, server.headers + other.headers, strict=True))
    for path, headers in seen.items():
        kept = {"X-Tag"} if path in ("/2", "/4") else set(sent)
        assert {name for name in sent if name in headers} == kept, path


def test_fetch__wrong_options_are_named():
    for options, text in [
        ({"timeout": 0}, "timeout is a number of at least 0.001, not 0"),
        ({"retries": -1}, "retries is a number of at least 0, not -1"),
        ({"per_host": 0}, "per_host is a number of at least 1, not 0"),
        ({"max_bytes": "many"}, "max_bytes is a number of bytes"),
        ({"max_redirects": "x"}, "max_redirects is a number of at least 0"),
    ]:
        with pytest.raises(ValueError, match=text):
            leman.functions.fetch(**options)


def test_fetch__limits_requests_per_host_over_all_workers(tmp_path, server):
    table = leman.create(
        tmp_path / "t.lance",
        pa.table({"url": [f"{server.url}/{i}?size=300000" for i in range(24)]}),
    )
    table.add_columns({"data": (leman.functions.fetch(per_host=1), ["url"])})
    table.backfill("data", concurrency=2, intra_applier_concurrency=2)
    assert server.most_running == 1


# One small fragment that expands hugely.

ROWS, ROW_BYTES, LARGE = 60, 4 * MIB, 48 * MIB
JOB = textwrap.dedent(
    """
    import json, os, sys
    import leman

    def tree():
        mine, found = str(os.getpid()), [os.getpid()]
        for name in os.listdir("/proc"):
            try:
                fields = open(f"/proc/{name}/stat").read().rpartition(")")[2].split()
                if fields[1] == mine:
                    found.append(int(name))
            except (OSError, IndexError):
                pass
        return found

    def number(path, key):
        lines = dict(line.split(":", 1) for line in open(path))
        return int(lines[key].split()[0])

    table = leman.open(sys.argv[1])
    result = table.backfill("data", concurrency=2, checkpoint_size=4, progress=False)
    tree = tree()
    print(json.dumps({
        "resumed": result.rows_resumed,
        "committed": result.rows_committed,
        "processes": len(tree),
        "written": sum(number(f"/proc/{pid}/io", "wchar") for pid in tree),
        "memory": max(number(f"/proc/{pid}/status", "VmHWM") for pid in tree[1:]) * 1024,
    }))
    """
)


def start(path):
    return subprocess.Popen(
        [sys.executable, "-c", JOB, str(path)], stdout=subprocess.PIPE, text=True
    )


def size_of(row):
    return LARGE if row == 7 else ROW_BYTES


here_only = pytest.mark.skipif(
    os.environ.get("LEMAN_ENGINE") == "ray",
    reason="looks at the processes below the caller's; a cluster's are its own",
)


@here_only
@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_fetch__one_fragment_that_expands_hugely(tmp_path, server, version):
    urls = [f"{server.url}/{row}?size={size_of(row)}" for row in range(ROWS)]
    path = tmp_path / "t.lance"
    table = leman.create(path, pa.table({"url": urls}), data_storage_version=version)
    table.add_columns({"data": (leman.functions.fetch, ["url"])})
    total = sum(size_of(row) for row in range(ROWS))

    # Killed in the middle, with receipts and with rows under way.
    server.hold_after = ROWS // 2
    killed = start(path)
    assert server.held.wait(60)
    wait_for_receipts(path)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    with server.lock:
        asked = len(server.asked)
        server.hold_after = None
    server.release.set()

    resumed = start(path)
    output, _ = resumed.communicate()
    assert resumed.returncode == 0
    seen = json.loads(output)
    assert seen["committed"] == ROWS
    assert 0 < seen["resumed"] < ROWS
    # Rows with a receipt are not asked for again. (A request that the killed worker had sent may
    # be read by the server only now: it is of a row without a receipt, so it adds none.)
    assert len(set(server.asked[asked:])) == ROWS - seen["resumed"]
    assert seen["processes"] == 3
    assert seen["memory"] < 160 * MIB
    written = sum(size_of(row) for row in range(ROWS)) * (ROWS - seen["resumed"]) / ROWS
    assert seen["written"] < 1.02 * (written + LARGE)

    table.refresh()
    files = [file.stat().st_blocks * 512 for file in (path / "data").iterdir()]
    assert sum(files) < 1.1 * total + 10 * MIB
    for row in range(ROWS):
        value = table.take([row], ["data"], blobs="bytes").to_pylist()[0]["data"]
        assert value == payload(row, size_of(row))


def wait_for_receipts(path):
    """Until the journal has some: they are entered while the server holds the others back."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for journal in path.glob("_leman/fills/*/journal"):
            if journal.stat().st_size > 500:
                return
        time.sleep(0.05)
    raise AssertionError("no receipt was entered")


@here_only
@pytest.mark.parametrize("rows, size, more", [(24, ROW_BYTES, ""), (12, 11 * MIB, "&chunked=1")])
def test_fetch__writes_each_byte_once(tmp_path, server, rows, size, more):
    """Whether its size is known before it comes or not."""
    urls = [f"{server.url}/{row}?size={size}{more}" for row in range(rows)]
    path = tmp_path / "t.lance"
    table = leman.create(path, pa.table({"url": urls}))
    table.add_columns({"data": (leman.functions.fetch, ["url"])})
    job = start(path)
    output, _ = job.communicate()
    seen = json.loads(output)
    assert seen["committed"] == rows
    assert seen["memory"] < 160 * MIB
    assert seen["written"] <= 1.02 * rows * size
    files = [file.stat() for file in (path / "data").iterdir()]
    assert max(file.st_blocks for file in files) * 512 <= 1.02 * rows * size
    if not more:
        assert max(file.st_size for file in files) <= 1.02 * rows * size
    assert os.path.isdir(path / "_leman")
    table.refresh()
    for row in range(rows):
        value = table.take([row], ["data"], blobs="bytes").to_pylist()[0]["data"]
        assert value == payload(row, size)
