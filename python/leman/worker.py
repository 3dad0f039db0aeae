# SPDX-License-Identifier: Apache-2.0
"""The process that runs functions of Python for a job: one thread for each descriptor it is given.

It is started by the engine, with the descriptors in LEMAN_WORKER_FDS, and imports neither the
user's main module nor pyarrow unless a function needs it.
"""

import os
import signal
import sys
import threading

from leman import _core, function, prints, secret
from leman.workspace import Workspace

FUNCTIONS_MAX = 8


class _Functions:
    """The functions of a process; threads share what they have loaded.

    A process outlives its job, and may be used by the next: what was not used for long goes.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._workspace = Workspace()
        self._loaded = {}
        self._current = threading.local()
        self._pid = os.getpid()
        self._is_used = False

    def setup(self, code):
        given, packed = function.split_environment(code)
        secret.cover(given["secrets"])
        if given["secrets"] and not prints.are_kept():
            secret.cover_output()
        with secret.guarded(), self._lock:
            self._workspace.enter(given)
            key = packed, given["version"]
            applier = self._loaded.pop(key, None)
            while applier is None and len(self._loaded) >= FUNCTIONS_MAX:
                del self._loaded[next(iter(self._loaded))]
            self._loaded[key] = applier = applier or load(*key, self._is_used)
            self._is_used = True
            self._workspace.look()
        self._current.applier = applier

    def apply(self, *batch):
        with secret.guarded():
            made = self._current.applier(*batch)
        self._workspace.look()
        if os.getpid() != self._pid:
            os._exit(0)  # a fork of the function: its parent answers
        return made


def load(packed, version, is_used=False):
    """The function that a job has sent, set up; `version` is what the job takes it for.

    is_used: functions that were called here may have left something in modules, so that a process
    that is new is wanted where they are not as expected.
    """
    from leman.apply import Applier

    udf, inputs, outputs = function.unpack(packed)
    changed = udf.changed_modules()
    if changed or udf.version != version:
        what = f"{udf.name}() of module {udf.__module__!r}"
        if changed:
            what = f"{', '.join(changed)}, which {udf.name}() uses,"
        raise (_core.ConflictError if is_used else _core.FunctionError)(
            f"{what} is another one in workers, which import it, than in the process that started "
            "the job: its file has changed since, or a global was set in that process; reload the "
            "module, and hand over such values as arguments of a class"
        )
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
    prints.install()
    os.register_at_fork(after_in_child=_core.worker_forked)
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
