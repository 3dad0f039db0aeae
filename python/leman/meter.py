# SPDX-License-Identifier: Apache-2.0
"""The worker's side of a job's limits: calls are asked for before they are made, and settled."""

import threading
import time

from leman.rate import retry_after
from leman.spent import counting

_LOOK_SECONDS = 0.25  # a wait looks so often whether the job stops


class Stopped(BaseException):
    """The job makes no more calls: it stops, or has spent what it may. No failure of a row."""


class Meter:
    """What a function of this process has asked for and used; threads share it."""

    def __init__(self, limit=None):
        self.estimate = None if limit is None else limit.estimate
        self._lock = threading.Lock()
        self._done = self._charged = self._used = 0
        self._pause_seconds = 0.0

    def tokens_of(self, arguments):
        """Tokens to count for a call before it is made; 0: as the job has learnt."""
        if self.estimate is None:
            return 0
        tokens = self.estimate(*arguments)
        if not isinstance(tokens, (int, float)) or isinstance(tokens, bool) or tokens < 0:
            raise ValueError(f"estimate() of the rate limit returned {tokens!r}, not a number")
        return max(1, round(tokens))

    def ask(self, port, calls, tokens=0):
        """(calls that may start at once, seconds until it is worth asking again, tokens of each).

        Raises ``Stopped`` when no call will be granted any more.
        """
        with self._lock:
            told = self._done, self._charged, self._used, round(self._pause_seconds * 1000)
            self._done = self._charged = self._used = 0
            self._pause_seconds = 0.0
        granted, wait_ms, each, ended = port.permit(calls, tokens, *told)
        if ended:
            raise Stopped
        return granted, wait_ms / 1000, each

    def wait(self, port, tokens=0):
        """Wait until one call may start; the tokens that are counted for it."""
        while True:
            granted, seconds, each = self.ask(port, 1, tokens)
            if granted:
                return each
            rest(port, seconds)

    def settle(self, charged, spent):
        """A call that was counted with `charged` tokens is over."""
        with self._lock:
            self._done += 1
            self._charged += charged
            self._used += spent.tokens

    def note(self, error):
        """The other side may have asked all of us to wait; the seconds, or None."""
        seconds = retry_after(error)
        if seconds is not None:
            with self._lock:
                self._pause_seconds = max(self._pause_seconds, seconds)
        return seconds


def rest(port, seconds):
    """Sleep, and raise ``Stopped`` when the job stops meanwhile; without a job there is no port."""
    end = time.monotonic() + seconds
    while True:
        if port is not None and port.stops():
            raise Stopped
        left = end - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(left, _LOOK_SECONDS))


def metered(function, meter, port):
    """`function`, made to ask before each call and to tell what it used."""

    def call(*arguments):
        charged = meter.wait(port, meter.tokens_of(arguments))
        with counting() as spent:
            try:
                return function(*arguments)
            except BaseException as error:
                if meter.note(error) is not None:
                    meter.ask(port, 0)  # the others are to wait, too
                raise
            finally:
                meter.settle(charged, spent)
                port.used(1, spent.tokens, spent.cost)

    return call
