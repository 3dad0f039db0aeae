# SPDX-License-Identifier: Apache-2.0
"""This machine as a description, and how two of them differ."""

import importlib.metadata
import platform
from dataclasses import dataclass

from leman import _core
from leman.manifest import _name


def minor(version):
    """ "3.11" of "3.11.7"."""
    return ".".join(str(version).split(".")[:2])


def installed():
    """Versions by name of the packages that this Python finds."""
    found = {}
    for package in importlib.metadata.distributions():
        name = package.metadata["Name"] if package.metadata else None
        if name:
            found.setdefault(_name(name), package.version)
    return dict(sorted(found.items()))


def describe():
    """This process, for ``differences()``: runs on any machine that has Leman."""
    packages = installed()
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "leman": _core.__version__,
        "ray": packages.get("ray"),
        "packages": packages,
    }


@dataclass(frozen=True)
class Difference:
    """What is not the same on both sides."""

    what: str  # "python", "ray", "leman", "system", "machine", or a package's name
    here: str | None
    there: str | None
    stops: bool  # functions would not run, or not run the same
    remedy: str

    def __str__(self):
        there = "missing" if self.there is None else self.there
        here = "not installed" if self.here is None else self.here
        return f"{self.what}: {here} here, {there} there; {self.remedy}"


def _basics(here, there):
    both = minor(here["python"]), minor(there["python"])
    if both[0] != both[1] or here["implementation"] != there["implementation"]:
        yield Difference(
            "python",
            f"{here['implementation']} {here['python']}",
            f"{there['implementation']} {there['python']}",
            True,
            f"use Python {both[1]} here, or an image with Python {both[0]}",
        )
    for what, remedy in (
        ("ray", "pip install ray=={there} here, or take an image of Ray {here}"),
        ("leman", "pip install leman=={there} here, or an image with Leman {here}"),
    ):
        if here.get(what) != there.get(what):
            yield Difference(
                what,
                here.get(what),
                there.get(what),
                True,
                remedy.format(here=here.get(what), there=there.get(what)),
            )
    for what in ("system", "machine"):
        if here[what] != there[what]:
            yield Difference(
                what,
                here[what],
                there[what],
                False,
                "installed packages are not shipped; the pinned list is installed there",
            )


def _is_shipped(here, there, ships_packages):
    same = all(here[what] == there[what] for what in ("system", "machine"))
    return ships_packages and same and minor(here["python"]) == minor(there["python"])


def differences(here, there, *, needs=None, ships_packages=True):
    """What differs between two descriptions, as a list of ``Difference``.

    here, there: of ``describe()``, the client's and a node's.
    needs: names of the packages that the functions use; one that differs there stops them. Without
        it, packages that differ are told and stop nothing.
    ships_packages: installed packages are shipped, so that theirs do not matter where they can be
        used.
    """
    found = list(_basics(here, there))
    if _is_shipped(here, there, ships_packages):
        return found
    wanted = None if needs is None else {_name(name) for name in needs}
    for name, version in here["packages"].items():
        if name in ("ray", "leman") or there["packages"].get(name) == version:
            continue
        if wanted is not None and name not in wanted:
            continue
        remedy = f"install {name}=={version} there, or ship it with the environment"
        found.append(
            Difference(name, version, there["packages"].get(name), wanted is not None, remedy)
        )
    for name in sorted((wanted or set()) - set(here["packages"])):
        if name not in there["packages"]:
            found.append(Difference(name, None, None, True, f"install {name} there"))
    return found


def check(here, there, *, where="the cluster", **options):
    """Raise InvalidError that names what differs and stops functions; return the rest."""
    found = differences(here, there, **options)
    stops = [item for item in found if item.stops]
    if stops:
        lines = "".join(f"\n    {item}" for item in stops)
        raise _core.InvalidError(f"functions of this Python would not run on {where}:{lines}")
    return found
