# SPDX-License-Identifier: Apache-2.0
"""How long it takes until a job's first row is computed, and on what."""

import contextlib
import threading
import time

PHASES = ("scan", "archive", "upload", "provision", "first task")


class Startup:
    """Seconds by phase. Phases may overlap: planning goes on while nodes are provisioned."""

    def __init__(self, clock=time.monotonic):
        self._clock = clock
        self._begun = clock()
        self._ended = None
        self._ready = None
        self.note = ""  # what was shipped, or why nothing was
        self._lock = threading.Lock()
        self.seconds = {}

    def add(self, phase, seconds):
        """Count seconds that were measured elsewhere."""
        if phase not in PHASES:
            raise ValueError(f"no phase {phase!r}; there are: {', '.join(PHASES)}")
        with self._lock:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds

    @contextlib.contextmanager
    def phase(self, name):
        """Measure what is inside."""
        begun = self._clock()
        try:
            yield self
        finally:
            self.add(name, self._clock() - begun)

    def add_environment(self, environment):
        """Count what ``leman.environment.capture()`` measured."""
        for phase, seconds in environment.seconds.items():
            self.add(phase, seconds)

    def follow(self, passed, is_ready, has_rows):
        """Count what a job takes that was started `passed` seconds ago, up to its first row."""
        if self._ended is not None:
            return
        if self._ready is None and (is_ready or has_rows):
            self._ready = passed
            self.add("provision", passed)
        if has_rows:
            self.add("first task", passed - self._ready)
            self.end()

    @property
    def has_ended(self):
        return self._ended is not None

    def end(self):
        """The first row is computed; later calls change nothing."""
        if self._ended is None:
            self._ended = self._clock()

    @property
    def total(self):
        """Seconds on the wall, which may be fewer than those of the phases."""
        return (self._clock() if self._ended is None else self._ended) - self._begun

    def to_dict(self):
        return {phase: self.seconds[phase] for phase in PHASES if phase in self.seconds} | {
            "total": self.total
        }

    def __str__(self):
        parts = [
            f"{phase} {self.seconds[phase]:.2f} s" for phase in PHASES if phase in self.seconds
        ]
        text = f"started in {self.total:.2f} s: " + ", ".join(parts)
        return f"{text}; {self.note}" if self.note else text
