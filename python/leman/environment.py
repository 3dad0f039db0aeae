# SPDX-License-Identifier: Apache-2.0
"""What functions need to run on other machines: their modules, shipped by content.

Jobs on a cluster ship what their nodes lack. By hand, ``plan()`` says what would be shipped and
why, ``capture()`` ships it, ``load().activate()`` makes it importable elsewhere. ``differences()``
compares two machines; ``pip()``, ``conda()`` and ``image()`` say what a function needs installed.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path

from leman import _core, environment_check, installing, installing_conda
from leman.decorator import parse_bytes
from leman.environment_check import Difference, check, describe, differences
from leman.environment_path import KINDS, OTHER, SITE, WORKSPACE, classify
from leman.manifest import Manifest, conda, image, pip

__all__ = [
    "Difference",
    "Environment",
    "Manifest",
    "Plan",
    "capture",
    "check",
    "conda",
    "describe",
    "differences",
    "gc",
    "image",
    "install",
    "list_environments",
    "load",
    "pip",
    "plan",
]

_FORMAT = 1
_KEPT_SECONDS = 7 * 86400
_DAY_NS = 86400 * 10**9
# What a node has before an environment comes, in the same version: it was checked.
_THERE_ALREADY = {"leman", "ray", "pip", "setuptools", "wheel"}
_WHY = {
    WORKSPACE: "your own code",
    SITE: "installed packages",
    OTHER: "a folder of the Python path",
}


def _root_of(store):
    """The directory that holds environments: of a database, or a path."""
    path = getattr(store, "uri", None) or os.fspath(store)
    if "://" in path:
        scheme = path.partition("://")[0]
        raise _core.UnsupportedError(
            f"environments are kept in a directory that all nodes see; {scheme}:// is not supported"
        )
    return os.path.abspath(os.path.expanduser(path))


def _kept_in(store):
    """The same, of one that is there."""
    root = _root_of(store)
    if not os.path.isdir(root):
        raise _core.NotFoundError(f"{root}: there is no such folder")
    return root


def size_text(count):
    """A number of bytes as people say it."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000


class Plan:
    """What would be shipped. Made by ``plan()``; str() shows it."""

    def __init__(self, capsule, entries, skipped):
        self._capsule = capsule
        self._entries = entries
        self.skipped = skipped  # paths that are not shipped as a whole: [(path, why)]
        self._text = json.loads(_core.pack_text(capsule))

    def __repr__(self):
        return f"<leman.environment.Plan: {self.files} files, {size_text(self.bytes)}>"

    @property
    def bytes(self):
        return self._text["bytes"]

    @property
    def files(self):
        return self._text["files"]

    @property
    def files_hashed(self):
        """Files that had to be read; the others are as the last plan saw them."""
        return self._text["files_hashed"]

    @property
    def paths(self):
        """Of each path: path, kind, files, bytes, archives, left_out."""
        return self._text["paths"]

    @property
    def archives(self):
        """All archives: {hash, files, bytes}."""
        return [archive for path in self.paths for archive in path["archives"]]

    @property
    def is_over(self):
        """Is it more than bytes_max, so that it will not be shipped?"""
        return self._text["over"]

    @property
    def largest(self):
        """The ten largest files and folders: [(path, bytes)]."""
        return [(item["path"], item["bytes"]) for item in self._text["largest"]]

    @property
    def seconds(self):
        """How long it took: {"scan": ...}."""
        return {"scan": (self._text["scan_ms"] + self._text["hash_ms"]) / 1000}

    def to_dict(self):
        return self._text | {"skipped": [list(item) for item in self.skipped]}

    def __str__(self):
        lines = []
        for path in self.paths:
            flat = ", only the modules directly in it" if path["flat"] else ""
            lines.append(
                f"{path['path']}: {path['files']} files, {size_text(path['bytes'])}, "
                f"{len(path['archives'])} archives ({path['kind']}: {_WHY[path['kind']]}{flat})"
            )
            lines += [
                f"    without {item['path']} ({item['reason']})" for item in path["left_out"][:10]
            ]
            if path["left_out_count"] > 10:
                lines.append(f"    and without {path['left_out_count'] - 10} others")
        lines += [f"{path}: not shipped: {why}" for path, why in self.skipped]
        lines.append(
            f"{self.files} files, {size_text(self.bytes)} in {len(self.archives)} archives"
        )
        if self.is_over:
            lines.append(self._over())
        return "\n".join(lines)

    def _over(self):
        largest = "".join(f"\n    {size_text(count):>10}  {path}" for path, count in self.largest)
        limit = size_text(self._text["bytes_max"])
        return (
            f"{size_text(self.bytes)} is more than {limit}, and is not "
            "shipped. Leave out what functions do not need in .lemanignore, take an image that has "
            "the packages with skip_site_packages=True, or raise bytes_max. The largest:" + largest
        )

    def ship(self, store, manifest=None):
        """Ship the archives that a database, or a directory, does not have; an Environment."""
        root = _root_of(store)
        if self.is_over:
            raise _core.InvalidError(self._over())
        text = json.dumps(self._describe(manifest), sort_keys=True, separators=(",", ":"))
        # First what names the archives, so that gc() keeps them while they are written.
        name = _core.pack_put(root, text)
        done = json.loads(_core.pack_ship(self._capsule, root))
        return Environment(root, name, json.loads(text), self.seconds, done)

    def _describe(self, manifest):
        here = describe()
        paths = [
            {
                "kind": path["kind"],
                "name": os.path.basename(path["path"]),
                "is_file": path["is_file"],
                "archives": [[archive["hash"], archive["bytes"]] for archive in path["archives"]],
            }
            for path in self.paths
        ]
        return {
            "format": _FORMAT,
            "system": here["system"],
            "machine": here["machine"],
            "python": environment_check.minor(here["python"]),
            "leman": here["leman"],
            "packages": here["packages"],
            "manifest": None if manifest is None else manifest.describe(),
            "paths": paths,
            "entries": [[entry.root, entry.below] for entry in self._entries],
        }


class Environment:
    """An environment that was shipped, by its hash."""

    def __init__(self, root, name, text, seconds=None, shipped=None):
        self.root = root
        self.hash = name
        self._text = text
        self.seconds = dict(seconds or {})
        self.shipped = []  # archives that were missing: {hash, path, files, bytes, stored_bytes}
        self.shipped_bytes = 0
        if shipped is not None:
            self.shipped = shipped["shipped"]
            self.shipped_bytes = shipped["shipped_bytes"]
            self.seconds["archive"] = shipped["archive_ms"] / 1000
            self.seconds["upload"] = shipped["upload_ms"] / 1000

    def __repr__(self):
        return f"<leman.environment.Environment {self.hash[:12]} of {self.root!r}>"

    @property
    def manifest(self):
        given = self._text["manifest"]
        return None if given is None else Manifest.from_description(given)

    @property
    def packages(self):
        """Versions by name of what was installed where it was captured."""
        return dict(self._text["packages"])

    @property
    def has_packages(self):
        """Were installed packages shipped, or is their list installed?"""
        return any(path["kind"] == SITE for path in self._text["paths"])

    @property
    def archives(self):
        return [tuple(item) for path in self._text["paths"] for item in path["archives"]]

    def fits(self, machine=None):
        """Can installed packages be used there: same system, processor and Python minor?"""
        there = machine or describe()
        return (
            there["system"] == self._text["system"]
            and there["machine"] == self._text["machine"]
            and environment_check.minor(there["python"]) == self._text["python"]
        )

    def requirements(self, machine=None):
        """The pinned list to install there: empty where the packages themselves can be used."""
        if self.manifest is not None and self.manifest.kind == "pip":
            return list(self.manifest.packages)
        there = machine or describe()
        if not self.has_packages or self.fits(there):
            return []
        return [
            f"{name}=={version}"
            for name, version in sorted(self.packages.items())
            if name not in _THERE_ALREADY and there["packages"].get(name) != version
        ]

    def unpack(self, folder=None):
        """Make its folders on this machine; the entries of the Python path that they are.

        folder: where; the user's own folder for state unless given. What is there is not read
            again until the machine is booted anew.
        """
        folder = _folder_of_boot(os.path.abspath(folder or _state_folder("environments")))
        places = []
        for path in self._text["paths"]:
            if path["kind"] == SITE and not self.fits():
                places.append(None)
                continue
            # Installed packages are told from the user's own code by the name of a folder.
            below = os.path.join(folder, SITE) if path["kind"] == SITE else folder
            made = _core.pack_unpack(
                self.root, below, [(name, count) for name, count in path["archives"]]
            )
            places.append(os.path.join(made, path["name"]) if path["is_file"] else made)
        return [
            os.path.join(places[root], below) if below else places[root]
            for root, below in self._text["entries"]
            if places[root] is not None
        ]

    def prepare(self, folder=None):
        """Unpack it, and install the list that stands for packages; the entries for the path."""
        wanted = self.requirements()
        return self.unpack(folder) + ([install(wanted)] if wanted else [])

    def activate(self, folder=None):
        """Make its modules importable in this process, before those that are there."""
        added = [place for place in self.prepare(folder) if place not in sys.path]
        sys.path[:0] = added
        return added


def _state_folder(name):
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(base, "leman", name)


def _folder_of_boot(folder):
    """Where this boot of the machine unpacks; what others left a week ago goes.

    Unpacked files are not synced, so those of an earlier boot may be damaged.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = f"unknown-{os.getpid()}"
    place = Path(folder, f"boot-{boot}")
    place.mkdir(parents=True, exist_ok=True)
    os.utime(place)
    for other in Path(folder).glob("boot-*"):
        if other != place and other.stat().st_mtime < time.time() - _KEPT_SECONDS:
            shutil.rmtree(other, ignore_errors=True)
    return str(place)


def install(packages):
    """Install a pinned list of pip for workers of this machine, once; the folder to import from."""
    return installing.install(packages, _folder_of_boot(_state_folder("packages")))


def install_conda(content):
    """Make an environment of conda for workers of this machine, once; where it is."""
    return installing_conda.install(content, _folder_of_boot(_state_folder("packages")))


def folders():
    """Where this machine keeps environments: what containers are given."""
    kept = _state_folder("")
    os.makedirs(kept, exist_ok=True)
    return [kept]


def plan(*, workspace=None, skip_site_packages=False, bytes_max="500MB", path=None, threads=0):
    """Say what would be shipped of this process's Python path; reads files that changed.

    workspace: the folder of your own code: the nearest with a pyproject.toml or .git unless given,
        else that of the script or notebook.
    skip_site_packages: leave installed packages out, as the cluster's image has them.
    bytes_max: more is not shipped.
    path: a Python path other than sys.path.
    """
    if workspace is not None and not os.path.isdir(workspace):
        raise _core.NotFoundError(f"workspace {os.fspath(workspace)!r}: there is no such folder")
    roots, entries = classify(path, workspace)
    skipped = []
    if skip_site_packages:
        skipped = [(root.path, "skip_site_packages") for root in roots if root.kind == SITE]
        kept = [index for index, root in enumerate(roots) if root.kind != SITE]
        entries = [
            type(entry)(kept.index(entry.root), entry.below)
            for entry in entries
            if entry.root in kept
        ]
        roots = [roots[index] for index in kept]
    given = [(os.fsencode(root.path), KINDS.index(root.kind), root.flat) for root in roots]
    capsule = _core.pack_scan(given, None, parse_bytes(bytes_max, "bytes_max"), threads)
    return Plan(capsule, entries, skipped)


def capture(db, *, env_store=None, manifest=None, **options):
    """Plan and ship this process's environment to a database, or to env_store=.

    manifest: what is installed on the other side, of ``pip()``, ``conda()`` or ``image()``; then
        installed packages stay behind. Other options are those of ``plan()``.
    """
    if manifest is not None:
        options.setdefault("skip_site_packages", True)
    return plan(**options).ship(env_store or db, manifest)


def load(store, name):
    """The environment of a hash, from a database or directory."""
    root = _root_of(store)
    text = json.loads(_core.pack_get(root, name))
    if not isinstance(text, dict) or text.get("format") != _FORMAT:
        found = text.get("format") if isinstance(text, dict) else None
        raise _core.UnsupportedError(
            f"environment {name[:12]} has format {found}; Leman {_core.__version__} reads {_FORMAT}"
        )
    return Environment(root, name, text)


def list_environments(store):
    """What a database, or a directory, holds: [{hash, bytes, archives, modified_ns, ...}]."""
    root = _kept_in(store)
    objects = {item["name"]: item for item in json.loads(_core.pack_list(root))}
    found = []
    for name, item in objects.items():
        if not name.endswith(".json"):
            continue
        made = load(root, name.removesuffix(".json"))
        stored = [objects[archive]["bytes"] for archive, _ in made.archives if archive in objects]
        found.append(
            {
                "hash": made.hash,
                "modified_ns": item["modified_ns"],
                "python": made._text["python"],
                "archives": len(made.archives),
                "missing": len(made.archives) - len(stored),
                "bytes": sum(count for _, count in made.archives),
                "stored_bytes": sum(stored),
            }
        )
    return sorted(found, key=lambda item: -item["modified_ns"])


def gc(store, *, older_than_days=30, dry_run=False, now_ns=None):
    """Remove environments that were not shipped for so long, and archives that none needs.

    Archives of the last day are kept in any case: they may be on their way. Returns the names.
    """
    root = _kept_in(store)
    now = time.time_ns() if now_ns is None else now_ns
    objects = json.loads(_core.pack_list(root))
    texts = [item for item in objects if item["name"].endswith(".json")]
    old = {item["name"] for item in texts if item["modified_ns"] < now - older_than_days * _DAY_NS}
    needed = set()
    for item in texts:
        if item["name"] not in old:
            made = load(root, item["name"].removesuffix(".json"))
            needed |= {archive for archive, _ in made.archives}
    gone = sorted(old) + [
        item["name"]
        for item in objects
        if not item["name"].endswith(".json")
        and item["name"] not in needed
        and item["modified_ns"] < now - _DAY_NS
    ]
    if not dry_run:
        for name in gone:
            _core.pack_remove(root, name)
    return gone
