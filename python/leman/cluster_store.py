# SPDX-License-Identifier: Apache-2.0
"""Clusters that a database defines: one small file each, ``_leman/clusters/NAME.json``."""

import json
import os
import secrets
from pathlib import Path

from leman import _core, cluster

_BYTES_MAX = 1 << 20
_SUFFIX = ".json"


def _folder(root):
    return Path(root, "_leman", "clusters")


def _path(root, name):
    if not isinstance(name, str) or not name or "/" in name or name.startswith("."):
        raise _core.InvalidError(f"no name of a cluster: {name!r}")
    return _folder(root) / f"{name}{_SUFFIX}"


def define(root, made):
    """Keep a cluster under its name, in place of one that is there."""
    if not isinstance(made, cluster.Cluster):
        raise _core.InvalidError(
            f"no cluster: {made!r}; leman.cluster.local(), external() and kuberay() make one"
        )
    path = _path(root, made.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{made.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "x") as file:
            json.dump(made.describe(), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def load(root, name):
    path = _path(root, name)
    try:
        with open(path, "rb") as file:
            text = file.read(_BYTES_MAX + 1)
    except FileNotFoundError:
        known = ", ".join(names(root)) or "none"
        raise _core.NotFoundError(
            f"database {os.fspath(root)!r} defines no cluster {name!r}; it defines: {known}"
        ) from None
    try:
        if len(text) > _BYTES_MAX:
            raise ValueError(f"more than {_BYTES_MAX} bytes")
        made = cluster.from_description(json.loads(text))
        if made.name != name:
            raise ValueError(f"it describes {made.name!r}")
        return made
    except (ValueError, RecursionError) as error:
        raise _core.CorruptError(f"{path}: no description of a cluster: {error}") from error


def names(root):
    try:
        found = os.listdir(_folder(root))
    except FileNotFoundError:
        return []
    return sorted(
        name.removesuffix(_SUFFIX)
        for name in found
        if name.endswith(_SUFFIX) and not name.startswith(".")
    )


def delete(root, name):
    try:
        _path(root, name).unlink()
    except FileNotFoundError:
        load(root, name)  # which says what there is
