# SPDX-License-Identifier: Apache-2.0
"""How fast a function may call what others meter: limits that all workers of a job share."""

import datetime
import re

RETRY_AFTER_SECONDS_MAX = 3600.0

_WINDOWS_MS = {
    "s": 1000, "sec": 1000, "second": 1000,
    "m": 60_000, "min": 60_000, "minute": 60_000,
    "h": 3_600_000, "hour": 3_600_000,
    "d": 86_400_000, "day": 86_400_000,
}  # fmt: skip
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def parse_rate(name, text):
    """(how many, milliseconds) of "500/min" or "200k/min"."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?)\s*/\s*([a-z]+)\s*", str(text).lower())
    window = _WINDOWS_MS.get(match[3]) if match else None
    count = round(float(match[1]) * _FACTORS[match[2]]) if match else 0
    if window is None or count < 1:
        raise ValueError(
            f'{name} is a number and a time as "500/min" or "200k/hour" '
            f"(s, min, hour, day), not {text!r}"
        )
    return count, window


class RateLimit:
    """How many calls, and how many tokens, all workers of a job may make together.

    requests: "500/min": no minute has more calls than that, and they come evenly.
    tokens: "200k/min". A call is counted with `estimate` before it is made, and with what it says
        by ``leman.usage(tokens=)`` after it.
    estimate: given the arguments of a row, says how many tokens its call will take. Without it the
        mean of the calls before counts.
    """

    def __init__(self, requests=None, tokens=None, *, estimate=None):
        if requests is None and tokens is None:
            raise ValueError("RateLimit() takes requests=, tokens=, or both")
        if estimate is not None and not callable(estimate):
            raise TypeError(f"estimate is a function of the arguments of a row, not {estimate!r}")
        if estimate is not None and tokens is None:
            raise ValueError("estimate= is for tokens=, which is not given")
        self.requests = None if requests is None else parse_rate("requests", requests)
        self.tokens = None if tokens is None else parse_rate("tokens", tokens)
        self.estimate = estimate

    def __repr__(self):
        parts = [
            f"{name}={limit[0]}/{limit[1] / 1000:g}s"
            for name, limit in (("requests", self.requests), ("tokens", self.tokens))
            if limit is not None
        ]
        return f"RateLimit({', '.join(parts)})"

    def limits(self):
        """What the job is told."""
        told = {}
        for name, limit in (("requests", self.requests), ("tokens", self.tokens)):
            if limit is not None:
                told[f"{name}_max"], told[f"{name}_window_ms"] = limit
        return told


def as_rate_limit(value):
    """What the decorator was given, checked."""
    if value is not None and not isinstance(value, RateLimit):
        raise TypeError(f'rate_limit is leman.RateLimit(requests="500/min"), not {value!r}')
    return value


def _header(error):
    """Retry-After of an answer that came with an exception."""
    for holder in (getattr(error, "response", None), error):
        get = getattr(getattr(holder, "headers", None), "get", None)
        if get is not None:
            found = get("Retry-After")
            return get("retry-after") if found is None else found
    return None


def _seconds(value):
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, datetime.datetime):
        now = datetime.datetime.now(value.tzinfo)
        return (value - now).total_seconds()
    if isinstance(value, (int, float)):
        return float(value)
    try:
        return float(value)
    except ValueError:
        from email.utils import parsedate_to_datetime

        return _seconds(parsedate_to_datetime(value))


def retry_after(error):
    """Seconds that the other side asks to wait, or None when it does not.

    Taken from ``error.retry_after``, or from the header Retry-After of ``error.response`` or of the
    error itself: seconds, or a date.
    """
    try:
        value = getattr(error, "retry_after", None)
        value = _header(error) if value is None else value
        if value is None:
            return None
        return min(max(_seconds(value), 0.0), RETRY_AFTER_SECONDS_MAX)
    except Exception:
        return None  # whatever it is, it names no time
