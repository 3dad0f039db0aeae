# SPDX-License-Identifier: Apache-2.0
"""How a job stands, while it runs: one line that moves, or plain lines where nobody watches."""

import html
import os
import sys
import time

_PLAIN_SECONDS = (2.0, 10.0)  # to the first plain line, and between them


def duration(seconds):
    seconds = int(seconds)
    if seconds < 3600:
        return f"{seconds // 60}:{seconds % 60:02}"
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def size(count):
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if value >= 10 or unit == "B" else f"{value:.1f} {unit}"


def _count(rate):
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def rate_of(status):
    """Rows per second: of the last five minutes, and of the whole run where that is another."""
    recent, mean = status["rate_recent"], status["rate"]
    text = f"{_count(recent)} rows/s"
    if recent and mean and not 0.9 < recent / mean < 1.1:
        text += f" (mean {_count(mean)})"
    return text


def eta_of(status):
    """The time left, with its spread where there is one; None when it is not known."""
    if not status["eta_ms"]:
        return None
    low, middle, high = (
        duration(status[name] / 1000) for name in ("eta_low_ms", "eta_ms", "eta_high_ms")
    )
    return f"ETA {middle}" if low == high else f"ETA {middle} ({low} to {high})"


def line_of(name, status):
    """One line for people."""
    state = status["state"]
    if state == "waiting" and status["message"]:
        return f"{name}: {status['message']}"
    if state == "planning":
        return f"{name}: planning"
    planned = status["rows_planned"]
    done = max(
        status["rows_checkpointed"],
        min(planned, status["rows_resumed"] + status["rows_computed"]),
    )
    part = f" {100 * done // planned}%" if planned else ""
    parts = [
        f"{name}:{part}",
        f"Rows checkpointed {status['rows_checkpointed']:,}/{planned:,}",
        f"Rows committed {status['rows_committed']:,}",
        f"Rows failed {status['rows_failed']:,}",
    ]
    if state in ("running", "stopping"):
        if status["rate"]:
            parts.append(rate_of(status))
        if left := eta_of(status):
            parts.append(left)
        if status["workers"]:
            parts.append(f"{status['workers']} workers")
        if status["memory_bytes"]:
            parts.append(size(status["memory_bytes"]))
    if status["message"] and state in ("running", "stopping"):
        parts.append(status["message"])
    return "  ".join(parts)


class _Silent:
    """Shows nothing."""

    def update(self, status):
        pass

    def end(self, status, note=None):
        pass


class _Terminal:
    """One line that is written over."""

    def __init__(self, name, stream):
        self.name = name
        self.stream = stream

    def _write(self, text):
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):
            pass  # nobody is there to see it

    def update(self, status):
        try:
            columns = os.get_terminal_size(self.stream.fileno()).columns
        except OSError:
            columns = 120
        self._write(f"\r\x1b[2K{line_of(self.name, status)[: columns - 1]}")

    def end(self, status, note=None):
        self._write(f"\r\x1b[2K{line_of(self.name, status)}\n")
        if note:
            self._write(note + "\n")


class _Plain(_Terminal):
    """A line now and then."""

    def __init__(self, name, stream):
        super().__init__(name, stream)
        self._next = time.monotonic() + _PLAIN_SECONDS[0]

    def update(self, status):
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _PLAIN_SECONDS[1]
            self._write(line_of(self.name, status) + "\n")

    def end(self, status, note=None):
        self._write(line_of(self.name, status) + "\n")
        if note:
            self._write(note + "\n")


def _bar_of(name, status, text):
    """The same for a notebook: a bar, and the line below it."""
    planned = status["rows_planned"]
    done = min(planned, max(status["rows_checkpointed"], status["rows_resumed"]))
    ended = status["state"] in ("done", "done_failed", "stopped", "failed")
    value = f' value="{done}" max="{planned}"' if planned else ' value="1"' if ended else ""
    lines = "<br>".join(html.escape(line) for line in text.splitlines())
    return (
        f'<div><progress style="width: 100%" title="{html.escape(name)}"{value}></progress>'
        f"<pre>{lines}</pre></div>"
    )


class _Notebook:
    """One output of a cell, updated in place."""

    def __init__(self, name):
        from IPython.display import display

        self.name = name
        self._shown = f"{name}: starting"
        self._handle = display({"text/plain": self._shown}, raw=True, display_id=True)

    def _show(self, status, text):
        if text != self._shown:
            self._shown = text
            made = {"text/plain": text, "text/html": _bar_of(self.name, status, text)}
            self._handle.update(made, raw=True)

    def update(self, status):
        self._show(status, line_of(self.name, status))

    def end(self, status, note=None):
        text = line_of(self.name, status)
        self._show(status, f"{text}\n{note}" if note else text)


def _in_notebook():
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return any(kind.__name__ == "ZMQInteractiveShell" for kind in type(shell).__mro__)


def progress_for(name, wanted=None, stream=None):
    """What shows the progress of a job; `wanted` False is silent."""
    stream = sys.stderr if stream is None else stream
    if wanted is False or stream is None:
        return _Silent()
    if _in_notebook():
        return _Notebook(name)
    if hasattr(stream, "isatty") and stream.isatty():
        return _Terminal(name, stream)
    return _Plain(name, stream)
