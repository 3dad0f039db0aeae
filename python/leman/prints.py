# SPDX-License-Identifier: Apache-2.0
"""What functions print in a worker: each line goes to the job with the row that printed it.

Lines are marked as ``src/engine/log_lines.h`` says. What C code and other programs write to the
descriptors arrives unmarked, with the rows of the call.
"""

import contextvars
import io
import logging
import os
import sys
import threading

from leman import secret

_LINE_BYTES = 4000  # a write of a pipe that is not torn apart has at most 4096
_FD = 2

# The row that runs: set by whoever calls functions for one row at a time.
row = contextvars.ContextVar("leman_row", default=None)

_here = threading.local()


class Call:
    """The rows of a call, while it runs in this thread."""

    def __init__(self, row_ids):
        self.row_ids = row_ids
        self.results = None  # of a call by rows: a list that grows by one with each of them

    def __enter__(self):
        _here.call = self

    def __exit__(self, *unused):
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, _Stream):
                stream.finish()
        _here.call = None


def by_rows(results):
    """The call that runs goes row by row; `results` grows by one with each that is done."""
    call = getattr(_here, "call", None)
    if call is not None:
        call.results = results
    return results


def _place():
    """(first row, number of rows) of what runs here; None outside of calls."""
    current = row.get()
    if current is not None:
        return current, 1
    call = getattr(_here, "call", None)
    if call is None or len(call.row_ids) == 0:
        return None
    if call.results is not None and len(call.results) < len(call.row_ids):
        return call.row_ids[len(call.results)], 1
    return call.row_ids[0], len(call.row_ids)


def emit(text, level):
    """Send one line."""
    first, count = _place() or ("-", 0)
    text = secret.redact(text)
    line = f"\x1e{first} {count} {level}\x1f{text}".encode(errors="replace")[:_LINE_BYTES]
    try:
        os.write(_FD, line.replace(b"\n", b" ") + b"\n")
    except OSError:
        pass  # nobody reads it


class _Stream(io.TextIOBase):
    """Standard output or error of a worker, line by line; each thread has its own line."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, fd, level, buffer):
        self._fd = fd
        self._level = level
        self._lines = threading.local()
        self.buffer = buffer

    def writable(self):
        return True

    def fileno(self):
        return self._fd

    def write(self, text):
        held = getattr(self._lines, "text", "") + text
        *lines, rest = held.split("\n")
        for line in lines:
            emit(line.rstrip("\r").rpartition("\r")[2], self._level)
        rest = rest.rpartition("\r")[2]  # what a progress bar has overwritten
        if len(rest) > _LINE_BYTES:
            emit(rest, self._level)
            rest = ""
        self._lines.text = rest
        return len(text)

    def finish(self):
        """A line without an end counts when its call is over."""
        rest = getattr(self._lines, "text", "")
        if rest:
            self._lines.text = ""
            emit(rest, self._level)


class _Handler(logging.Handler):
    """What loggers say that nobody has given a handler."""

    def emit(self, record):
        try:
            text = self.format(record)
        except Exception:
            text = str(record.msg)
        for line in text.split("\n"):
            emit(f"{record.name}: {line}", record.levelname.replace(" ", "_")[:15] or "log")


def are_kept():
    """Does what is printed go to a job that keeps it?"""
    return isinstance(sys.stderr, _Stream)


def install():
    """Take over the streams of this process, where its job keeps what they say."""
    if not os.environ.pop("LEMAN_WORKER_LOG", None):
        return
    sys.stdout = _Stream(1, "out", sys.stdout.buffer)
    sys.stderr = _Stream(2, "err", sys.stderr.buffer)
    logging.lastResort = _Handler()
    logging.getLogger().setLevel(logging.INFO)
