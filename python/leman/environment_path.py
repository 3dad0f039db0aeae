# SPDX-License-Identifier: Apache-2.0
"""What the folders of the Python path are: the workspace, installed packages, others."""

import os
import site
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

WORKSPACE, SITE, OTHER = "workspace", "site-packages", "other"
KINDS = [WORKSPACE, SITE, OTHER]  # as leman/pack.h counts them
_MARKS = ("pyproject.toml", ".git")


@dataclass(frozen=True)
class Root:
    """A folder, or a file, that is shipped."""

    path: str
    kind: str
    flat: bool = False  # only the modules directly in it


@dataclass(frozen=True)
class Entry:
    """An entry of the Python path: a root, and where below it."""

    root: int
    below: str


def _is_home_or_above(path):
    home = os.path.realpath(os.path.expanduser("~"))
    return home == path or home.startswith(path.rstrip("/") + "/")


def start_folder():
    """Where the program lies: the folder of its script, or for a notebook the current one."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    place = os.path.realpath(file) if file and os.path.exists(file) else None
    if place is None or is_installed_file(place):
        return os.path.realpath(os.getcwd())
    return os.path.dirname(place)


def find_workspace(start):
    """The nearest folder with a pyproject.toml or .git, or `start` itself; never a home."""
    for folder in (Path(start), *Path(start).parents):
        if _is_home_or_above(str(folder)):
            break
        if any((folder / mark).exists() for mark in _MARKS):
            return str(folder)
    return start


def _standard_library():
    paths = sysconfig.get_paths()
    folders = {os.path.realpath(paths[name]) for name in ("stdlib", "platstdlib")}
    version = f"{sys.version_info.major}{sys.version_info.minor}"
    folders |= {os.path.join(os.path.dirname(folder), f"python{version}.zip") for folder in folders}
    return folders | {os.path.join(folder, "lib-dynload") for folder in folders}


def _is_site(path):
    known = {os.path.realpath(folder) for folder in (*site.getsitepackages(), _user_site())}
    parts = path.split("/")
    return path in known or "site-packages" in parts or "dist-packages" in parts


def _is_installed(path):
    """Does it belong to a virtual environment, or to Python itself?"""
    prefixes = {os.path.realpath(sys.prefix), os.path.realpath(sys.exec_prefix)}
    return any(_is_below(path, prefix) for prefix in prefixes if prefix != "/usr") or (
        path.startswith(("/usr/bin/", "/usr/lib/", "/usr/local/bin/"))
    )


def is_installed_file(path):
    """Does a file belong to Python, to an installed package, or to Leman?"""
    place = os.path.realpath(path)
    if _is_site(place) or _is_installed(place) or _is_below(place, os.path.dirname(_own())):
        return True
    return any(_is_below(place, folder) for folder in _standard_library())


def _own():
    """This file."""
    return os.path.realpath(__file__)


def _user_site():
    return site.getusersitepackages() or ""


def _is_below(path, root):
    return path == root or path.startswith(root.rstrip("/") + "/")


def classify(path=None, workspace=None):
    """([Root], [Entry]): what of the Python path is shipped, and what the path is made of there.

    path: sys.path unless given. workspace: its folder; found from the script or the current folder
        unless given.
    """
    root = os.path.realpath(workspace) if workspace else find_workspace(start_folder())
    standard = _standard_library()
    roots, entries = [], []
    for item in sys.path if path is None else path:
        place = os.path.realpath(item or os.getcwd())
        if place in standard or not os.path.exists(place):
            continue
        if _is_installed(place) and not _is_site(place):
            continue  # programs of a virtual environment
        if not _is_site(place) and _own() == os.path.join(place, "leman", os.path.basename(_own())):
            continue  # Leman itself, which nodes have
        if _is_site(place):
            kind, top = SITE, place
        elif _is_below(place, root):
            kind, top = WORKSPACE, root
        else:
            kind, top = OTHER, place
        made = Root(top, kind, kind != SITE and _is_home_or_above(top))
        if made not in roots:
            roots.append(made)
        below = os.path.relpath(place, top)
        entry = Entry(roots.index(made), "" if below == "." else below)
        if entry not in entries:
            entries.append(entry)
    return roots, entries
