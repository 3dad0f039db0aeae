# SPDX-License-Identifier: Apache-2.0
"""What happens when a function raises: retry, skip the row, or fail the job."""

import errno
import random
import re

from leman.rate import retry_after

BACKOFF_SECONDS_MAX = 60.0
_BACKOFFS = {"exponential", "linear", "fixed"}

_TRANSIENT_ERRNO = {
    getattr(errno, name)
    for name in (
        "EAGAIN EINTR ETIMEDOUT ECONNRESET ECONNREFUSED ECONNABORTED EPIPE EHOSTUNREACH "
        "EHOSTDOWN ENETUNREACH ENETDOWN ENETRESET EBUSY ENOBUFS EMFILE ENFILE"
    ).split()
}
_TRANSIENT_HTTP = {408, 425, 429, 500, 502, 503, 504}


def is_transient(error):
    """May the same call succeed a little later?"""
    if isinstance(error, (ConnectionError, TimeoutError)) or retry_after(error) is not None:
        return True
    if not isinstance(error, OSError):
        return False
    response = getattr(error, "response", None)
    code = getattr(error, "code", None) or getattr(response, "status_code", None)
    if isinstance(code, int):
        return code in _TRANSIENT_HTTP
    reason = getattr(error, "reason", None)
    if isinstance(reason, OSError):
        return is_transient(reason)
    return error.errno is None or error.errno in _TRANSIENT_ERRNO


class _Rule:
    def __init__(self, exceptions, match):
        for kind in exceptions:
            if not isinstance(kind, type) or not issubclass(kind, BaseException):
                raise TypeError(f"{type(self).__name__} takes types of exceptions, not {kind!r}")
        self.exceptions = exceptions
        self.match = match
        self._pattern = re.compile(match) if match is not None else None

    def __repr__(self):
        names = [kind.__name__ for kind in self.exceptions]
        if self.match is not None:
            names.append(f"match={self.match!r}")
        return f"{type(self).__name__}({', '.join(names)})"

    def matches(self, error):
        if self.exceptions and not isinstance(error, self.exceptions):
            return False
        return self._pattern is None or self._pattern.search(str(error)) is not None


class Retry(_Rule):
    """Call again, up to `max_attempts` times in all, with a pause between.

    backoff: "exponential" (1, 2, 4 ... seconds), "linear" (1, 2, 3 ...), "fixed" (1 second), or a
        number of seconds that is doubled each time. Pauses end at a minute and are jittered.
    """

    def __init__(self, *exceptions, match=None, max_attempts=3, backoff="exponential"):
        super().__init__(exceptions, match)
        if not isinstance(max_attempts, int) or max_attempts < 1:
            raise ValueError(f"max_attempts is 1 or more, not {max_attempts!r}")
        is_number = isinstance(backoff, (int, float)) and not isinstance(backoff, bool)
        if not (is_number and backoff >= 0) and backoff not in _BACKOFFS:
            raise ValueError(
                f'backoff is "exponential", "linear", "fixed" or seconds, not {backoff!r}'
            )
        self.max_attempts = max_attempts
        self.backoff = backoff

    def pause(self, attempts):
        """Seconds to wait after so many attempts, before the jitter."""
        if self.backoff == "fixed":
            return 1.0
        if self.backoff == "linear":
            return min(float(attempts), BACKOFF_SECONDS_MAX)
        base = 1.0 if self.backoff == "exponential" else float(self.backoff)
        return min(base * 2.0 ** (attempts - 1), BACKOFF_SECONDS_MAX)


class _TransientRetry(Retry):
    def matches(self, error):
        return is_transient(error)


class Skip(_Rule):
    """Mark the row failed and go on.

    max_skip_count, max_skip_fraction: the job stops when more rows than that, and a larger part of
        those computed, have failed; one that is not given does not count.
    """

    def __init__(self, *exceptions, match=None, max_skip_count=None, max_skip_fraction=None):
        super().__init__(exceptions, match)
        if max_skip_count is not None and max_skip_count < 0:
            raise ValueError(f"max_skip_count is not negative, and {max_skip_count} is")
        if max_skip_fraction is not None and not 0 <= max_skip_fraction <= 1:
            raise ValueError(f"max_skip_fraction is between 0 and 1, not {max_skip_fraction}")
        self.max_skip_count = max_skip_count
        self.max_skip_fraction = max_skip_fraction


class Fail(_Rule):
    """Fail the job; what is computed stays."""

    def __init__(self, *exceptions, match=None):
        super().__init__(exceptions, match)


def retry_transient(max_attempts=3, backoff="exponential"):
    """Retry errors of the network and alike, then mark the row failed: what is done by default."""
    return [_TransientRetry(max_attempts=max_attempts, backoff=backoff)]


def retry_all(max_attempts=3, backoff="exponential"):
    """Retry every error, then mark the row failed."""
    return [Retry(max_attempts=max_attempts, backoff=backoff)]


def skip_on_error(max_skip_count=None, max_skip_fraction=None):
    """Mark rows failed and go on, without a limit unless one is given."""
    return [Skip(max_skip_count=max_skip_count, max_skip_fraction=max_skip_fraction)]


def fail_fast():
    """Fail the job at the first error."""
    return [Fail()]


class Policy:
    """Ordered rules; the first that matches an exception decides.

    A retry that has used its attempts leaves the decision to the rules after it. An exception that
    no rule is left for marks its row failed.
    """

    def __init__(self, on_error=None):
        if on_error is None:
            on_error = retry_transient()
        if isinstance(on_error, _Rule):
            on_error = [on_error]
        if not isinstance(on_error, (list, tuple)) or not on_error:
            raise TypeError(
                "on_error is leman.skip_on_error(), retry_transient(), retry_all(), fail_fast(), "
                f"or a list of Retry, Skip and Fail, not {on_error!r}"
            )
        for rule in on_error:
            if not isinstance(rule, _Rule):
                raise TypeError(f"on_error holds Retry, Skip and Fail, and {rule!r} is neither")
        self.rules = list(on_error)

    def decide(self, error, attempts):
        """("retry", seconds), ("skip", None) or ("fail", None), after so many attempts."""
        for rule in self.rules:
            if not rule.matches(error):
                continue
            if isinstance(rule, Retry):
                if attempts >= rule.max_attempts:
                    continue
                return "retry", rule.pause(attempts) * random.uniform(0.5, 1.0)
            return ("skip" if isinstance(rule, Skip) else "fail"), None
        return "skip", None

    def limits(self):
        """What the job is told: {} for the defaults."""
        skips = [rule for rule in self.rules if isinstance(rule, Skip)]
        counts = [rule.max_skip_count for rule in skips if rule.max_skip_count is not None]
        fractions = [rule.max_skip_fraction for rule in skips if rule.max_skip_fraction is not None]
        if counts or fractions:
            return {
                "failed_count_max": min(counts, default=0),
                "failed_fraction_max": min(fractions, default=0.0),
                "failed_limited": True,
            }
        return {"failed_unlimited": True} if skips else {}

    def seconds_max(self, timeout):
        """The longest that one row may take when each call ends at `timeout` seconds."""
        retries = [rule for rule in self.rules if isinstance(rule, Retry)]
        attempts = max((rule.max_attempts for rule in retries), default=1)
        pauses = max(
            (sum(rule.pause(n) for n in range(1, rule.max_attempts)) for rule in retries),
            default=0.0,
        )
        return attempts * timeout + pauses
