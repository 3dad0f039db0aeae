# SPDX-License-Identifier: Apache-2.0
"""Blobs in functions: values that are streamed into a table."""

import io
import os
import signal

import leman
import pyarrow as pa
import pytest
from http_files import payload

MIB = 1 << 20


@pytest.fixture(params=["2.1", "2.2"])
def version(request):
    return request.param


def make(path, version, **columns):
    return leman.create(path, pa.table(columns), data_storage_version=version)


def check_blobs(table, column, wanted):
    """Leman and pylance read what they should."""
    import lance

    table.refresh()
    rows = table.scan(columns=[column], blobs="bytes").to_arrow()[column].to_pylist()
    assert [len(row) if row is not None else None for row in rows] == [
        len(value) if value is not None else None for value in wanted
    ]
    assert rows == wanted
    places = [place for place, value in enumerate(wanted) if value is not None]
    found = lance.dataset(table.path).take_blobs(column, indices=places)
    assert [blob.readall() for blob in found] == [wanted[place] for place in places]


class Dribble:
    """A file that knows neither its size nor how to seek."""

    def __init__(self, data):
        self._file = io.BytesIO(data)
        self.closed = False

    def read(self, count):
        return self._file.read(min(count, 300_000))

    def close(self):
        self.closed = True


def test_values__may_be_bytes_or_files(tmp_path, version):
    sizes = [0, 10, 70_000, 3 * MIB, 9 * MIB, 100]
    table = make(tmp_path / "t.lance", version, n=list(range(24)))

    @leman.udf(data_type=leman.blob())
    def made(n: int):
        if n % 6 == 1:
            return None
        data = payload(n, sizes[n % 6])
        kinds = [bytes, io.BytesIO, Dribble, memoryview]
        return kinds[n % 4](data)

    table.add_columns({"data": made})
    result = table.backfill("data", concurrency=2, checkpoint_size=5)
    assert result.rows_failed == 0
    wanted = [None if n % 6 == 1 else payload(n, sizes[n % 6]) for n in range(24)]
    check_blobs(table, "data", wanted)


def test_values__of_several_columns(tmp_path):
    table = make(tmp_path / "t.lance", "2.1", n=[1, 2, 3])
    blob = pa.field("data", pa.large_binary(), metadata={"lance-encoding:blob": "true"})

    @leman.udf(data_type=pa.schema([pa.field("size", pa.int64()), blob]))
    def both(n: int):
        return {"size": n, "data": io.BytesIO(b"x" * n)} if n != 2 else None

    table.add_columns(both)
    table.backfill(["size", "data"])
    check_blobs(table, "data", [b"x", None, b"xxx"])
    assert table.to_arrow(columns=["size"])["size"].to_pylist() == [1, None, 3]


def test_values__of_arrays_are_blobs_too(tmp_path, version):
    table = make(tmp_path / "t.lance", version, n=[1, 2, 3])

    @leman.udf(data_type=leman.blob())
    def made(n: pa.Array) -> pa.Array:
        return pa.array([b"y" * value.as_py() for value in n], pa.large_binary())

    table.add_columns({"data": made})
    table.backfill("data")
    check_blobs(table, "data", [b"y", b"yy", b"yyy"])


def test_values__in_this_process_and_in_a_trial(tmp_path):
    table = make(tmp_path / "t.lance", "2.1", n=[1, 2, 3])

    @leman.udf(data_type=leman.blob())
    def made(n: int):
        return io.BytesIO(b"z" * n)

    assert made.test(table).outputs == [b"z", b"zz", b"zzz"]
    table.add_columns({"data": made})
    table.backfill("data", concurrency=0)
    check_blobs(table, "data", [b"z", b"zz", b"zzz"])


def test_values__that_are_no_blobs_fail_their_rows(tmp_path):
    table = make(tmp_path / "t.lance", "2.1", n=list(range(6)))

    class Short(io.BytesIO):
        remaining = 7

    class Text:
        def read(self, count):
            return "text"

    @leman.udf(data_type=leman.blob(), on_error=leman.skip_on_error())
    def made(n: int):
        return [b"good", "text", 5, Text(), Short(b"short"), Short(b"too long to fit")][n]

    table.add_columns({"data": made})
    result = table.backfill("data")
    assert result.rows_failed == 5
    messages = {row["row_id"]: row["message"] for row in table.errors("data").to_pylist()}
    assert messages[1] == "made() returned 'text' (str), which is neither bytes nor a file"
    assert messages[2] == "made() returned 5 (int), which is neither bytes nor a file"
    assert "neither bytes nor a file" in messages[3]
    assert "a blob of 7 bytes ends after 5" in messages[4]
    assert "a blob of 7 bytes has more" in messages[5]
    check_blobs(table, "data", [b"good", None, None, None, None, None])


def test_values__that_lie_apart_in_memory(tmp_path):
    """Whatever becomes of one blob, those behind it are as they should be."""
    table = make(tmp_path / "t.lance", "2.1", n=list(range(6)))

    @leman.udf(data_type=leman.blob())
    def made(n: int):
        return memoryview(b"%d_" % n * 9)[:: 1 + n % 2]

    table.add_columns({"data": made})
    table.backfill("data", concurrency=1)
    check_blobs(table, "data", [(b"%d_" % n * 9)[:: 1 + n % 2] for n in range(6)])


def test_values__that_come_too_late_leave_nothing_open(tmp_path):
    """A limit of time that ends while a blob is written fails its row, and no other."""
    table = make(tmp_path / "t.lance", "2.1", n=list(range(6)))

    @leman.udf(data_type=leman.blob(), timeout=60, batch_size=6, on_error=leman.skip_on_error())
    def made(n: int):
        if n == 2:
            import signal as signals

            from leman import _core

            def write(sink, piece, before=_core.blobs_write):
                _core.blobs_write = before
                signals.raise_signal(signals.SIGALRM)  # as the clock does

            _core.blobs_write = write
        return b"%d" % n

    table.add_columns({"data": made})
    assert table.backfill("data", concurrency=1).rows_failed == 1
    check_blobs(table, "data", [None if n == 2 else b"%d" % n for n in range(6)])


def test_refill__keeps_the_other_payloads(tmp_path, version):
    table = make(tmp_path / "t.lance", version, n=list(range(8)))

    @leman.udf(data_type=leman.blob())
    def made(n: int):
        return payload(n, 200_000 + n)

    table.add_columns({"data": made})
    assert table.backfill("data", where="n < 3").rows_committed == 3
    assert table.backfill("data", where="n > 5").rows_committed == 2
    wanted = [payload(n, 200_000 + n) if n < 3 or n > 5 else None for n in range(8)]
    check_blobs(table, "data", wanted)
    assert table.backfill("data").rows_computed == 3
    check_blobs(table, "data", [payload(n, 200_000 + n) for n in range(8)])


def test_values__of_coroutines(tmp_path):
    table = make(tmp_path / "t.lance", "2.1", n=list(range(20)))

    @leman.udf(data_type=leman.blob(), on_error=leman.skip_on_error())
    async def made(n: int):
        return 5 if n == 3 else io.BytesIO(payload(n, 1000 * n))

    table.add_columns({"data": made})
    assert table.backfill("data").rows_failed == 1
    assert "5 (int)" in table.errors("data").to_pylist()[0]["message"]
    check_blobs(table, "data", [None if n == 3 else payload(n, 1000 * n) for n in range(20)])


def test_values__of_coroutines_are_read_again_when_their_file_breaks(tmp_path):
    table = make(tmp_path / "t.lance", "2.1", n=list(range(6)))
    broken = tmp_path / "broken"

    class Breaking(Dribble):
        def read(self, count):
            if not broken.exists():
                broken.touch()
                raise ConnectionResetError("gone")
            return super().read(count)

    @leman.udf(data_type=leman.blob(), on_error=leman.retry_transient(backoff=0.01))
    async def made(n: int):
        return (Breaking if n == 3 else Dribble)(payload(n, 1000))

    table.add_columns({"data": made})
    assert table.backfill("data", concurrency=1, progress=False).rows_failed == 0
    assert broken.exists()
    check_blobs(table, "data", [payload(n, 1000) for n in range(6)])


@pytest.mark.parametrize("paid", [False, True])
def test_values__of_coroutines_are_not_gathered(tmp_path, paid):
    """A batch of them is more than its worker ever has in memory."""
    table = make(tmp_path / "t.lance", "2.1", n=list(range(14)))

    @leman.udf(data_type=leman.blob(), async_concurrency=1, batch_size=14, paid=paid)
    async def made(n: int):
        if n in (0, 13):
            with open("/proc/self/status", "rb") as status:
                return next(line for line in status if line.startswith(b"VmHWM"))
        return bytes([n]) * (16 * MIB)

    table.add_columns({"data": made})
    table.backfill("data", concurrency=1, progress=False, keep_warm=False)
    table.refresh()
    told = table.take([0, 13], ["data"], blobs="bytes").to_pylist()
    before, after = (int(row["data"].split()[1]) * 1024 for row in told)
    assert after - before < 4 * 16 * MIB  # one is made while the one before it is written
    for n in (1, 7, 12):
        value = table.take([n], ["data"], blobs="bytes").to_pylist()[0]["data"]
        assert value == bytes([n]) * (16 * MIB)


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_paid__blobs_are_not_paid_for_twice(tmp_path, version, kind):
    """Killed in the middle: what was given before is there, as long as it is."""
    table = make(tmp_path / "t.lance", version, n=list(range(12)))
    calls = tmp_path / "calls"

    def value(n):
        with open(calls, "a") as file:
            file.write(f"{n}\n")
        if n == 7 and calls.read_text().count("7\n") == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return io.BytesIO(payload(n, 300_000 + n)) if n % 2 else payload(n, 1000)

    @leman.udf(data_type=leman.blob(), paid=True)
    def plain(n: int):
        return value(n)

    @leman.udf(data_type=leman.blob(), paid=True, async_concurrency=1)
    async def in_flight(n: int):
        return value(n)

    table.add_columns({"data": (plain if kind == "plain" else in_flight, ["n"])})
    assert table.backfill("data", concurrency=1, progress=False).rows_failed == 0
    check_blobs(table, "data", [payload(n, 300_000 + n if n % 2 else 1000) for n in range(12)])
    made = calls.read_text().split()
    assert sorted(made, key=int) == sorted([*map(str, range(12)), "7"], key=int)


def test_a_worker_that_dies_takes_no_blob_along(tmp_path):
    """Rows that it had finished are computed again: their payloads were its own."""
    table = make(tmp_path / "t.lance", "2.1", n=list(range(20)))

    @leman.udf(data_type=leman.blob(), batch_size=20, on_error=leman.skip_on_error())
    def made(n: int):
        if n == 12:
            os.kill(os.getpid(), signal.SIGKILL)
        return payload(n, 1000 * n)

    table.add_columns({"data": made})
    assert table.backfill("data", concurrency=1).rows_failed == 1
    check_blobs(table, "data", [None if n == 12 else payload(n, 1000 * n) for n in range(20)])
