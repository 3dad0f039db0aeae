# SPDX-License-Identifier: Apache-2.0
"""Which function it is: its version, and whether that has changed since.

In the process that defines a function, globals are set again, cells are run again and modules are
edited. Elsewhere the function arrives with its version, and the modules that its code imports may
be others than they were.
"""

import importlib
import os

from leman import source
from leman.fingerprint import Walk, is_workspace, version_of, walk_of


def stamp(path):
    """What tells one state of a file from another; None without the file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class _Seen:
    """What a walk has found under the names that the code uses."""

    def __init__(self, walk):
        self._bound = [bound for bound in walk.bound if bound[1] not in walk.stored]
        self._stamps = {path: stamp(path) for path in walk.paths}

    def has_changed(self):
        """Is another object bound to a name, or a file another one?"""
        for space, name, value in self._bound:
            if _content(space, name) is not value:
                return True
        return any(stamp(path) != known for path, known in self._stamps.items())


def _content(space, name):
    if isinstance(space, dict):
        return space.get(name)
    try:
        return space.cell_contents
    except ValueError:
        return None


def _digest_of(place):
    """The hash of what a module of the workspace holds; None of one that is installed here."""
    module, _, name = place.partition(":")
    found = importlib.import_module(module)
    if not is_workspace(module):
        return None
    for part in name.split("."):
        found = getattr(found, part, None)
    walk = Walk()
    walk.value(found)
    return walk.hash.hexdigest()


class Identity:
    """The version of a function of Python.

    given: the version that the user names, in the place of a hash of the code.
    """

    def __init__(self, function, given):
        self._function = function
        self._given = given
        self._version = None
        self._seen = None
        self._is_called = False
        self._imported = {}  # hashes of what the code imports from modules of the workspace
        self._texts = []  # of the definitions that travel by value

    def __reduce__(self):
        version = self.version
        return _arrived, (self._function, self._given, version, self._imported, self._texts)

    @property
    def version(self):
        """64 hexadecimal digits."""
        if self._version is None or (self._seen is not None and self._seen.has_changed()):
            self._find()
        return self._version

    def _find(self):
        if self._given is not None:
            self._version = version_of(self._function, self._given)
            return
        walk = walk_of(self._function)
        self._version = walk.hash.hexdigest()
        self._seen = _Seen(walk)
        self._imported = {place: _digest_of(place) for place in sorted(walk.imported)}
        self._texts = walk.texts

    def refresh(self):
        """Look at values again that may have changed in their places."""
        if self._given is not None or self._version is None:
            return
        if self._seen is None:
            if self.changed_modules():
                self._find()
        elif not self._is_called:
            self._find()

    def settle(self):
        """The function is called here from now on; what it leaves in values changes no version."""
        self.version  # noqa: B018
        self._is_called = True

    def changed_modules(self):
        """Of a function that has arrived: what its modules hold that is not as it was."""
        found = ((place, _digest_of(place), known) for place, known in self._imported.items())
        return [place.replace(":", ".") for place, now, known in found if now not in (None, known)]


def _arrived(function, given, version, imported, texts):
    """A function that another process has sent, or a table has kept."""
    identity = Identity(function, given)
    identity._version = version
    identity._imported = imported
    identity._texts = texts
    for text in texts:
        source.learn(*text)
    return identity
