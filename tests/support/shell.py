# SPDX-License-Identifier: Apache-2.0
"""What a run of the command has printed, and how it ended."""

import json


def ok(done):
    """The output of a run that ended well and complained of nothing."""
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return done.stdout.decode()


def lines(done):
    """The same, as lines of JSON."""
    return [json.loads(line) for line in ok(done).splitlines()]


def fails(done, code, *parts):
    """A run that ended with `code`, without output, whose message has `parts`; the message."""
    assert done.returncode == code, done.stdout.decode() + done.stderr.decode()
    text = done.stderr.decode()
    assert all(part in text for part in parts), text
    assert done.stdout == b""
    return text
