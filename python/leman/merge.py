# SPDX-License-Identifier: Apache-2.0
"""Rows that are joined to a table by key."""

from dataclasses import dataclass

from leman.data import Rows
from leman.elsewhere import check_options, no_method


@dataclass(frozen=True)
class MergeResult:
    """What became of the rows.

    skipped: rows of the table that a match left as they are, and rows of the data without a match
    that were not inserted.
    """

    inserted: int
    updated: int
    deleted: int
    skipped: int


class MergeBuilder:
    """Says what becomes of rows by whether their key is in the table; ``execute()`` does it.

    Without further calls nothing happens to any row.
    """

    def __init__(self, table, on):
        self._table = table
        self._on = on
        self._matched = "skip", None
        self._not_matched = "skip"
        self._not_in_source = "skip", None

    def __getattr__(self, name):
        raise no_method("MergeBuilder", name)

    def when_matched_update_all(self, where=None, **others):
        """A row whose key is there replaces the table's: all its columns, other ones stay.

        where: only if this holds; columns are ``target.x`` and ``source.x``.
        """
        check_options(others)
        self._matched = "update", where
        return self

    def when_matched_delete(self, where=None, **others):
        """Rows of the table whose key is in the data are deleted.

        where: only if this holds; columns are ``target.x`` and ``source.x``.
        """
        check_options(others)
        self._matched = "delete", where
        return self

    def when_matched_fail(self):
        """A key that is there fails the call, and nothing is changed."""
        self._matched = "fail", None
        return self

    def when_not_matched_insert_all(self):
        """Rows whose key is not there are inserted."""
        self._not_matched = "insert"
        return self

    def when_not_matched_by_source_delete(self, condition=None, **others):
        """Rows of the table whose key is not in the data are deleted, if the condition holds."""
        check_options(others)
        self._not_in_source = "delete", condition
        return self

    def execute(self, data, **others):
        """Do it, as one version; returns a ``MergeResult``.

        data: see ``Table.append()``; it is held in memory.
        """
        check_options(others)
        with Rows(data, self._table._rows_schema()) as stream:
            counts = self._table._core.merge(
                stream, self._on, *self._matched, self._not_matched, *self._not_in_source
            )
        return MergeResult(*counts)
