# SPDX-License-Identifier: Apache-2.0
"""Pinned packages of pip on a node: installed once, in a folder that is named by their list."""

import fcntl
import hashlib
import importlib.util
import json
import os
import platform
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

from leman import _core

_SAID_LINES = 6  # of pip's last words


def name_of(packages):
    """What the folder of a list is named by: the list, and what it is installed for."""
    version = sys.version_info
    key = [f"{version.major}.{version.minor}", platform.system(), platform.machine()]
    text = json.dumps([*key, sorted(packages)])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def install(packages, folder):
    """Install a pinned list below a folder, unless it is there; the folder to import from.

    Several processes may ask for it at once: one installs, the others wait for it.
    """
    base = Path(folder, "site-packages")
    place = base / name_of(packages)
    if place.exists():
        return str(place)
    base.mkdir(parents=True, exist_ok=True)
    with open(base / f"{place.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            draft = base / f".{place.name}.{secrets.token_hex(4)}"
            try:
                _run_pip(packages, draft)
                os.rename(draft, place)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    return str(place)


def _run_pip(packages, target):
    listed = ", ".join(packages)
    if importlib.util.find_spec("pip") is None:
        raise _core.InvalidError(
            f"{sys.executable} has no pip to install {listed} with: take an image that has pip, or "
            "the packages"
        )
    command = [sys.executable, "-m", "pip", "install", "--target", str(target), "--no-input"]
    command += ["--disable-pip-version-check", "--no-warn-script-location", "--quiet", "--"]
    done = subprocess.run(
        [*command, *packages], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()][-_SAID_LINES:]
        raise _core.InvalidError(
            f"pip does not install {listed}:" + "".join(f"\n    {line}" for line in said)
        )
