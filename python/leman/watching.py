# SPDX-License-Identifier: Apache-2.0
"""Options of jobs that nobody sits beside: what is noticed, who is told."""

import math
import os


def take(others):
    """Take the options of this module out of those of a backfill, as the library has them."""
    return {
        "stall_ms": _stall(others.pop("stall_after", None)),
        "on_finish": _command(others.pop("on_finish", None)),
        "metrics": _file(others.pop("metrics", None)),
    }


def _stall(seconds):
    if seconds is None:
        return 0
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or seconds <= 0:
        raise ValueError(f"stall_after is a number of seconds, not {seconds!r}")
    return math.ceil(seconds * 1000)


def _command(text):
    if text is not None and (not isinstance(text, str) or not text.strip()):
        raise ValueError(f"on_finish is a command for the shell, not {text!r}")
    return text


def _file(path):
    if path is None:
        return None
    path = os.path.abspath(path)
    if not os.path.isdir(os.path.dirname(path)):
        raise ValueError(f"metrics: there is no folder {os.path.dirname(path)}")
    return path


def add_arguments(parser):
    parser.add_argument("--stall-after", type=float)
    parser.add_argument("--on-finish")
    parser.add_argument("--metrics")


def arguments_of(given):
    return {
        "stall_after": given.stall_after,
        "on_finish": given.on_finish,
        "metrics": given.metrics,
    }
