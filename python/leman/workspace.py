# SPDX-License-Identifier: Apache-2.0
"""The user's own modules in a worker: where they are found, and whether they are still the same.

A worker outlives its job. Python keeps a module that was imported once, so a worker whose modules
have changed in their files, or that would find others now, is of no use for the next job: it says
so, and another one takes its place.
"""

import os
import sys

from leman import _core
from leman.fingerprint import is_workspace
from leman.identity import stamp


def enter_path(given):
    """Put in front of the path what was shipped and installed for a job."""
    if not any(given.get(name) for name in ("packages", "shipped", "conda")):
        return
    from leman import environment, installing_conda

    if given.get("conda"):
        own = installing_conda.own_path()
        sys.path[:] = [*own, *(known for known in sys.path if known not in own)]
    if given.get("packages"):
        folder = environment.install(given["packages"])
        sys.path[:] = [folder, *(known for known in sys.path if known != folder)]
    if given.get("shipped"):
        environment.load(*given["shipped"]).activate()


class Workspace:
    """What a worker has imported of the user's own modules."""

    def __init__(self):
        self._job = None
        self._path = None
        self._stamps = {}
        self._known = set()

    def look(self):
        """Remember the files of modules that were imported since the last look."""
        if len(sys.modules) == len(self._known):
            return
        for name in sys.modules.keys() - self._known:
            path = getattr(sys.modules[name], "__file__", None)
            if path is not None and is_workspace(name):
                self._stamps.setdefault(path, stamp(path))
        self._known = set(sys.modules)

    def enter(self, given):
        """Find modules as the process that started the job does; once for each job."""
        if given["job"] == self._job:
            return
        self.look()
        path = given["path"], *(given.get(name) for name in ("shipped", "packages", "conda"))
        if self._path is not None:
            self._refuse(path)
        more = [folder for folder in sys.path if folder not in given["path"]]
        sys.path[:] = given["path"] + more
        enter_path(given)
        self._job = given["job"]
        self._path = path
        try:
            os.chdir(given["cwd"])
        except OSError:
            pass  # the folder is gone; only relative paths of the function would miss it

    def _refuse(self, path):
        if path != self._path:
            raise _core.ConflictError("modules are found in other folders than before")
        for name, known in self._stamps.items():
            if stamp(name) != known:
                raise _core.ConflictError(f"{name} has changed since it was imported")
