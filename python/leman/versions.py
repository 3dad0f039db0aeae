# SPDX-License-Identifier: Apache-2.0
"""The versions of a table: which there are, what they are named, what became of old ones."""

import datetime
import numbers
from dataclasses import dataclass

from leman import _core
from leman.arrow import Scan
from leman.elsewhere import check_options, no_method

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def version_options(version):
    """What users give as a version, as arguments of the library."""
    if version is None:
        return {}
    if isinstance(version, bool):
        raise TypeError("a version is a number, the name of a tag, or a time, not a bool")
    if isinstance(version, numbers.Integral):
        if not 1 <= version < 1 << 64:
            raise ValueError(f"versions count from 1; there is no version {version}")
        return {"version": int(version)}
    if isinstance(version, str):
        return {"tag": version}
    if isinstance(version, datetime.datetime):
        return {"timestamp_us": timestamp_us(version)}
    raise TypeError(
        f"a version is a number, the name of a tag, or a time, not {type(version).__name__}"
    )


def timestamp_us(time):
    """Microseconds since 1970; a time without zone is local, as everywhere in Python."""
    if hasattr(time, "to_pydatetime"):  # of pandas, which knows no local time
        time = time.to_pydatetime(warn=False)
    return (time.astimezone(datetime.UTC) - _EPOCH) // datetime.timedelta(microseconds=1)


class Versions:
    """What a table does with its versions; ``_core``, ``_place``, ``_branch`` are the table's."""

    def refresh(self):
        """Move to the newest version."""
        self._core.refresh()

    checkout_latest = refresh

    def checkout(self, version, **others):
        """Move to another version: a number, the name of a tag, or a time."""
        check_options(others)
        if version is None:
            self._core.refresh()
        else:
            self._core.checkout(**version_options(version))

    def versions(self):
        """All versions that are left, oldest first, as dicts."""
        return [_version_item(item) for item in self._core.versions()]

    list_versions = versions

    @property
    def tags(self):
        """The names of versions: ``tags.list()``, ``create()``, ``update()``, ``delete()``."""
        return Tags(self)

    def restore(self, version=None):
        """Make a version with the content of an earlier one: a number, a tag or a time.

        None takes the version that the table stands at.
        """
        self._core.restore(self._number(version))

    def _number(self, version):
        """The number of a version; None is the one that the table stands at."""
        if version is None:
            return self.version
        options = version_options(version)
        if "version" in options:
            return options["version"]
        return _core.Table(*self._place, branch=self._branch or "main", **options).version

    def diff(self, old, new=None):
        """What happened to the rows between two versions, as a ``Scan``.

        Its columns are ``_change`` ("insert", "update" or "delete"), ``_rowid``, and those of the
        newer version: deleted rows as they were at `old`, the others as they are at `new`.

        old, new: a number, the name of a tag, or a time; `new` None is the version that the table
            stands at.
        """
        old, new = self._number(old), self._number(new)
        return Scan(self._core, lambda: self._core.diff(old, new))

    def cleanup(
        self,
        older_than=None,
        *,
        keep_tagged=True,
        delete_unverified=False,
        dry_run=False,
        **others,
    ):
        """Remove old versions and the files that only they name; returns a ``CleanupResult``.

        The newest version stays, and so do those since the one that a running job began with. Files
        that no version names stay for seven days, as a writer may be about to commit them.

        older_than: a ``timedelta``, or a ``datetime``; two weeks unless given.
        keep_tagged: versions that have a name stay; otherwise their tags go with them.
        delete_unverified: files that no version names go, however young; nobody may be writing.
        dry_run: only count.
        """
        check_options(others)
        if older_than is None:
            before = 0
        elif isinstance(older_than, datetime.timedelta):
            now = datetime.datetime.now(datetime.UTC) - _EPOCH
            before = max((now - older_than) // datetime.timedelta(microseconds=1), -(2**63))
        elif isinstance(older_than, datetime.datetime):
            before = timestamp_us(older_than)
        else:
            raise TypeError(
                f"older_than is a timedelta or a datetime, not {type(older_than).__name__}"
            )
        counts = self._core.cleanup(before, not keep_tagged, delete_unverified, dry_run)
        return CleanupResult(*counts)

    @property
    def branches(self):
        """``branches()``: the newest version of each branch that other programs have made, by name.

        ``leman.open(path, branch=name)`` reads one. Making and writing branches is not possible.
        """
        return Branches(self._core)

    def upgrade(self):
        """Rewrite a table of file version 2.0 as 2.1; others are left as they are."""
        self._core.upgrade()

    def verify(self):
        """Read every page of the version; returns a ``VerifyResult`` with what is wrong where."""
        return VerifyResult(*self._core.verify())

    def compact(self, target_rows_per_fragment=1_048_576, *, deleted_share=0.1, **others):
        """Join small fragments and drop deleted rows; returns a ``CompactResult``.

        Row ids stay, where they are stable. Earlier versions keep the old files.

        deleted_share: fragments that lost a larger part of their rows are rewritten.
        """
        check_options(others)
        if target_rows_per_fragment < 1:
            raise ValueError("a fragment has at least one row")
        return CompactResult(*self._core.compact(target_rows_per_fragment, deleted_share))


@dataclass(frozen=True)
class CompactResult:
    """What became of the fragments."""

    fragments_removed: int
    fragments_added: int
    rows_rewritten: int


@dataclass(frozen=True)
class VerifyResult:
    """What ``Table.verify()`` has found: one line for each thing that is wrong."""

    findings: list
    files: int
    pages: int
    bytes: int


@dataclass(frozen=True)
class CleanupResult:
    """What was removed."""

    versions_removed: int
    files_removed: int
    bytes_removed: int


class Tags:
    """The names that versions of a table have."""

    def __init__(self, table):
        self._table = table
        self._core = table._core

    def list(self):
        """``{name: {"version": number, "branch": name or None}}``"""
        return {
            name: {"version": version, "branch": branch or None}
            for name, branch, version in self._core.tags()
        }

    def get_version(self, name):
        """The number of the version that has a name."""
        try:
            return self.list()[name]["version"]
        except KeyError:
            raise _core.NotFoundError(f"there is no tag {name!r}") from None

    def __getattr__(self, name):
        raise no_method("Tags", name)

    def create(self, name, version=None, **others):
        """Name a version: a number, another tag, a time; None is where the table stands."""
        check_options(others)
        self._core.tag(name, self._table._number(version), False)

    def update(self, name, version=None, **others):
        """Move a name to another version, which is given as to ``create()``."""
        check_options(others)
        self.get_version(name)
        self._core.tag(name, self._table._number(version), True)

    def delete(self, name):
        """Take a name away; the version stays."""
        self._core.untag(name)


class Branches:
    """The branches of a table."""

    def __init__(self, core):
        self._core = core

    def __call__(self):
        """The newest version of each branch, by name."""
        return {name: version for name, _, version in self._core.branches()}

    def __getattr__(self, name):
        raise no_method("Branches", name)


def _version_item(item):
    time = _EPOCH + datetime.timedelta(microseconds=item.pop("timestamp_us"))
    return {"version": item.pop("version"), "timestamp": time, **item}
