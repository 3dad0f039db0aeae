# SPDX-License-Identifier: Apache-2.0
"""What people see of a job while it runs."""

import io

import pytest
from leman.progress import duration, line_of, progress_for, size


def status(**changes):
    return {
        "state": "running",
        "message": "",
        "rows_planned": 10_000,
        "rows_resumed": 0,
        "rows_computed": 2_500,
        "rows_checkpointed": 2_000,
        "rows_committed": 1_000,
        "rows_failed": 3,
        "workers": 2,
        "workers_ready": 2,
        "memory_bytes": 300 * 2**20,
        "elapsed_ms": 5_000,
        "rate": 500.0,
        "rate_recent": 500.0,
        "eta_ms": 15_001,
        "eta_low_ms": 15_001,
        "eta_high_ms": 15_001,
        **changes,
    }


def test_progress__line():
    assert line_of("caption", status()) == (
        "caption: 25%  Rows checkpointed 2,000/10,000  Rows committed 1,000  Rows failed 3  "
        "500 rows/s  ETA 0:15  2 workers  300 MiB"
    )


def test_progress__resumed_rows_count_as_done():
    assert "75%" in line_of("caption", status(rows_resumed=5_000, rows_checkpointed=7_000))


def test_progress__the_mean_and_the_spread_where_they_differ():
    pace = {"rate_recent": 2.5, "rate": 7.5, "eta_low_ms": 9_000, "eta_high_ms": 4_000_000}
    line = line_of("caption", status(**pace))
    assert "2.5 rows/s (mean 7.5)  ETA 0:15 (0:09 to 1:06:40)" in line
    assert "ETA" not in line_of("caption", status(eta_ms=0))


def test_progress__waiting_and_planning():
    waiting = status(state="waiting", message="waiting 42 s of 600 s: needs 4 GPU, machine has 0")
    assert line_of("c", waiting) == "c: waiting 42 s of 600 s: needs 4 GPU, machine has 0"
    assert line_of("c", status(state="planning")) == "c: planning"
    assert line_of("c", status(message="loading 2/4")).endswith("loading 2/4")


def test_progress__nothing_to_do():
    line = line_of("c", status(state="done", rows_planned=0, rows_computed=0, elapsed_ms=0))
    assert line.startswith("c:  Rows checkpointed")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress__a_terminal_has_one_line():
    stream = Terminal()
    shown = progress_for("c", stream=stream)
    shown.update(status())
    shown.update(status())
    shown.end(status(state="done"), "a note")
    assert stream.getvalue().count("\n") == 2
    assert stream.getvalue().count("\r\x1b[2K") == 3
    assert stream.getvalue().endswith("a note\n")


def test_progress__a_pipe_has_plain_lines():
    stream = io.StringIO()
    shown = progress_for("c", stream=stream)
    for _ in range(50):
        shown.update(status())
    shown.end(status(state="done"))
    assert "\x1b" not in stream.getvalue()
    assert stream.getvalue().count("\n") == 1


def test_progress__silence_and_closed_streams():
    progress_for("c", wanted=False).end(status(state="done"))
    closed = io.StringIO()
    closed.close()
    shown = progress_for("c", stream=Terminal())
    shown.stream = closed
    shown.update(status())
    shown.end(status(state="done"))


@pytest.mark.parametrize("seconds, text", [(0, "0:00"), (75, "1:15"), (3725, "1:02:05")])
def test_progress__durations(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize("count, text", [(5, "5 B"), (2048, "2.0 KiB"), (3 * 2**40, "3072 GiB")])
def test_progress__sizes(count, text):
    assert size(count) == text
