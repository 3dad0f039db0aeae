# SPDX-License-Identifier: Apache-2.0
"""The process that runs functions of Python for a job: one thread for each descriptor it is given.

It is started by the engine, with the descriptors in LEMAN_WORKER_FDS, and imports neither the
user's main module nor pyarrow unless a function needs it.
"""

import os
import signal
import sys
import threading

from leman import _core, function

FUNCTIONS_MAX = 8


class _Functions:
    """The functions of a process; threads share what they have loaded.

    A process outlives its job, and may be used by the next: what was not used for long goes.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._loaded = {}
        self._current = threading.local()
        self._pid = os.getpid()

    def setup(self, code):
        with self._lock:
            applier = self._loaded.pop(code, None)
            while applier is None and len(self._loaded) >= FUNCTIONS_MAX:
                del self._loaded[next(iter(self._loaded))]
            self._loaded[code] = applier = applier or load(code)
        self._current.applier = applier

    def apply(self, schema, array, row_ids, output):
        made = self._current.applier(schema, array, row_ids, output)
        if os.getpid() != self._pid:
            os._exit(0)  # a fork of the function: its parent answers
        return made


def load(code):
    """The function that a job has sent, set up."""
    from leman.apply import Applier

    udf, inputs, outputs = function.unpack(function.enter_environment(code))
    return Applier(udf, inputs, outputs)


def _serve(fd, functions):
    try:
        _core.worker_serve(fd, functions.setup, functions.apply)
    except _core.StoreError:
        os._exit(1)  # the engine is gone, and what other threads compute has no taker


def descriptors():
    """The descriptors that the engine has handed over."""
    text = os.environ.pop("LEMAN_WORKER_FDS", None)
    if not text:
        sys.exit("leman.worker: it is started by a job, not by hand (LEMAN_WORKER_FDS is not set)")
    return [int(part) for part in text.replace(":", ",").split(",") if part]


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver is told, and tells the workers
    first, *others = descriptors()
    functions = _Functions()
    for fd in others:
        threading.Thread(target=_serve, args=(fd, functions), daemon=True).start()
    _serve(first, functions)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # modules of the function may take long to tear down, and nothing is left to do


if __name__ == "__main__":
    main()
