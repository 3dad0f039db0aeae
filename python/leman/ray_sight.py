# SPDX-License-Identifier: Apache-2.0
"""Whether tasks of Ray see the table that they read or load, and not another one at its path.

A task that loads reads a random number first, which was written in the table's folder, as the nodes
of a job do. One that reads compares the version that it finds with that of who has started it.
"""

import contextlib
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from leman import _core
from leman.placement import Placement, place_of

_KEPT_SECONDS = 86400  # that a number stays whose process was killed
_PREFIX = "nonce-"


def _blind(folder):
    import ray

    from leman.ray_tracker import node_name

    where = node_name() if ray.is_initialized() else "this one"
    return _core.UnavailableError(
        f"node {where} does not see the table at {folder}: mount its folder there on every node, "
        'or say path_map={"/path/here": "/path/on/nodes"}'
    )


@dataclass(frozen=True)
class Place:
    """A table as tasks find it."""

    root: str
    name: str | None
    branch: str | None
    folder: str
    nonce: str | None = None

    @staticmethod
    def of(table, path_map=None):
        mapped = Placement({}, path_map=path_map)
        root, name = place_of(table)
        folder = mapped.path_there(os.path.abspath(table.path))
        return Place(mapped.path_there(root), name, table._branch, folder)

    def open_core(self, version, info):
        """In a task that reads: a version, which `info()` was said of."""
        try:
            core = _core.Table(self.root, self.name, version=version, branch=self.branch)
        except _core.NotFoundError:
            raise _blind(self.folder) from None
        if core.info() != info:
            raise _blind(self.folder)
        return core

    def is_seen(self):
        """Is the number here that tells the table from others?"""
        try:
            return _nonces(self.folder).joinpath(self.nonce).exists()
        except OSError:
            return False

    def open_table(self):
        """In a task that loads: the newest version."""
        from leman.table import Table

        if not self.is_seen():
            raise _blind(self.folder)
        return Table._open(self.root, self.name, None, self.branch)

    def forget(self):
        """The number is read by nobody any more."""
        with contextlib.suppress(OSError):
            _nonces(self.folder).joinpath(self.nonce).unlink(missing_ok=True)


def _nonces(folder):
    return Path(folder, "_leman", "loads")


@contextlib.contextmanager
def marked(table, path_map=None):
    """The ``Place`` of a table for tasks that load, while its folder holds a random number."""
    folder = _nonces(os.path.abspath(table.path))
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{_PREFIX}*"):
        if old.stat().st_mtime < time.time() - _KEPT_SECONDS:
            old.unlink(missing_ok=True)
    place = Place.of(table, path_map)
    nonce = f"{_PREFIX}{secrets.token_hex(16)}"
    (folder / nonce).touch()
    try:
        yield Place(place.root, place.name, place.branch, place.folder, nonce)
    finally:
        (folder / nonce).unlink(missing_ok=True)
