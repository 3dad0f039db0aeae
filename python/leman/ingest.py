# SPDX-License-Identifier: Apache-2.0
"""Sources: rows that lie in many files, read in parallel into a table.

A source names its parts (shards, files) and opens each as an Arrow stream. ``create_table()`` and
``Table.append()`` take it like any other data and load its parts several at once; what is loaded is
remembered in the table, so a load that was stopped goes on when the same call is made again.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from leman import _core
from leman.arrow import SchemaCapsule, StreamCapsule, pyarrow
from leman.data import Rows, as_schema

ON_ERROR = ("fail", "skip", "null")


@dataclass(frozen=True)
class Problem:
    """What was wrong with the input, and where."""

    part: str
    offset: int
    key: str
    field: str
    message: str


@dataclass(frozen=True)
class LoadProgress:
    """How far a load is."""

    parts: int
    parts_before: int
    parts_done: int
    rows: int
    bytes: int
    commits: int
    rows_committed: int


@dataclass(frozen=True)
class LoadResult(LoadProgress):
    """What a load has done, and what was wrong with its input."""

    problems: list = field(default_factory=list)


class Source:
    """Rows in parts. Subclasses have ``title``, ``parts`` and ``open(number)``."""

    title = "source"
    problems = ()
    raised = None  # what went wrong while rows were read

    @property
    def parts(self):
        """(name, bytes) of each part; a path and its size, or 0."""
        raise NotImplementedError

    def open(self, number):
        """The rows of a part: an object with ``__arrow_c_stream__``."""
        raise NotImplementedError

    def open_as(self, number, schema):
        """As ``open()``, for a table with these columns; None: not known yet."""
        return self.open(number)

    @property
    def schema(self):
        """The columns as a ``pyarrow.Schema``."""
        stream = self.open(0).__arrow_c_stream__()
        return pyarrow().schema(SchemaCapsule(_core.stream_schema(stream)))

    def reader(self, schema, batches):
        """Batches that Python makes, as a stream; a load raises again what they raise."""

        def watched():
            try:
                yield from batches
            except GeneratorExit:  # the stream was closed before its end
                raise
            except BaseException as error:
                self.raised = self.raised or error
                raise

        return pyarrow().RecordBatchReader.from_batches(schema, watched())

    def __arrow_c_stream__(self, requested_schema=None):
        pa = pyarrow()
        schema = self.schema

        def batches():
            for number in range(len(self.parts)):
                yield from pa.RecordBatchReader.from_stream(self.open(number))

        reader = pa.RecordBatchReader.from_batches(schema, batches())
        return reader.__arrow_c_stream__()


def file_parts(paths):
    """(path, size) of files; a missing one has size 0 and fails when it is opened."""
    return [(path, os.path.getsize(path) if os.path.exists(path) else 0) for path in paths]


def expand(patterns, endings=None):
    """The files that patterns stand for: braces, globs, folders; a list of them, or one.

    endings: of the files that a folder is read for, parted by spaces; None takes all of them.
    """
    if isinstance(patterns, (str, os.PathLike)):
        patterns = [patterns]
    found = []
    for pattern in patterns:
        found += _core.expand(os.fspath(pattern), endings)
    if not found:
        raise _core.InvalidError("an empty list names no files")
    return list(dict.fromkeys(found))


class Load:
    """One load of a source: what Python adds to the library's."""

    def __init__(
        self,
        source,
        schema,
        *,
        is_new,
        max_parallelism,
        progress,
        again,
        one_commit,
        commit_mb,
    ):
        """is_new: the table is made by the load, with the columns of the schema if there is one."""
        self._source = source
        self._schema = schema
        self._fill = is_new and schema is not None
        self._progress = progress
        self._error = None
        self._rows = {}
        for what, value in (("max_parallelism", max_parallelism), ("commit_mb", commit_mb)):
            if value is not None and value < 0:
                raise ValueError(f"{what} is not negative, and {value} is")
        parts = source.parts
        self.arguments = (
            source.title,
            [os.fspath(name) for name, _ in parts],
            tuple(int(size) for _, size in parts),
            self._open,
            self._report,
            max_parallelism or 0,
            int((commit_mb or 0) * (1 << 20)),
            one_commit,
            again,
        )

    def _open(self, number):
        try:
            rows = Rows(self._source.open_as(number, self._schema), self._schema, fill=self._fill)
            self._rows[number] = rows
            return rows.stream
        except BaseException as error:
            self._keep(error)
            raise

    def _report(self, numbers):
        try:
            if self._progress is not None:
                return self._progress(LoadProgress(*numbers)) is not False
            return True
        except BaseException as error:
            self._keep(error)
            raise

    def _keep(self, error):
        if self._error is None:
            self._error = error

    def run(self, call):
        """Make the call; what Python raised inside of it is raised again."""
        try:
            answer = call()
            if self._error is not None:
                raise self._error
            return answer
        except _core.LemanError:
            errors = [rows.error for rows in self._rows.values()]
            errors[:0] = self._error, self._source.raised
            for error in errors:
                if error is not None:
                    raise error from None
            raise

    def result(self, numbers):
        return LoadResult(*numbers, problems=list(self._source.problems))


class Generators(Source):
    """Iterators and other data in memory, each a part."""

    title = "generators"

    def __init__(self, sources):
        if callable(sources) or not isinstance(sources, (list, tuple)):
            sources = [sources]
        self.sources = list(sources)

    @property
    def parts(self):
        return [(f"generator {number}", 0) for number in range(len(self.sources))]

    def open(self, number):
        source = self.sources[number]
        return source() if callable(source) else source


class _WebDataset(Source):
    def __init__(self, urls, columns, references, on_error, sample_rows, schema, group_size):
        self._given = (urls, columns, references, on_error, sample_rows, schema, group_size)
        self._shards = expand(urls, ".tar .tar.gz .tgz")
        self.title = f"webdataset {self._shards[0]}"
        self.problems = []
        self._core = _core.WebDataset(
            self._shards,
            _column_specs(columns, as_schema(schema)),
            references,
            on_error,
            self._note,
            sample_rows,
            group_size,
        )

    def __reduce__(self):
        return _WebDataset, self._given

    def _note(self, *values):
        self.problems.append(Problem(*values))

    @property
    def parts(self):
        return file_parts(self._shards)

    def open(self, number):
        return StreamCapsule(self._core.shard(number))


def _column_specs(columns, schema):
    """(name, field, type, optional) of what users give as columns."""
    if columns is None:
        columns = {} if schema is None else {name: name for name in schema.names}
    if isinstance(columns, str):
        columns = [columns]
    named = isinstance(columns, Mapping)
    specs = []
    for name, source in columns.items() if named else ((_default_name(n), n) for n in columns):
        optional = source.endswith("?")
        kind = None
        if schema is not None and name in schema.names:
            kind = schema.field(name).__arrow_c_schema__()
        specs.append((name, source.removesuffix("?"), kind, optional))
    return specs


def _default_name(source):
    """What a column of a field is called; it has no dots."""
    source = source.removesuffix("?")
    member = re.search(r"(?:^|\.)json\.(.+)", source)
    return (member[1] if member else source).replace(".", "_")


def webdataset(
    urls,
    columns=None,
    *,
    references=False,
    on_error="fail",
    schema=None,
    sample_rows=1000,
    group_size=None,
):
    """Samples of WebDataset shards, one row each.

    urls: paths of tar archives: "shards/{000..099}.tar", a glob, a folder, or a list of them.
        Those that are compressed with gzip (.tar.gz, .tgz) are read, too, but not referred to.
    columns: which fields become columns: a list of fields, or a dict of columns and their fields.
        A field is an extension ("jpg"), a field of a JSON object ("json.caption"), "__key__" or
        "__shard__"; with "?" behind it, samples may lack it. An object that lacks a field is null
        there. None takes the key and the fields that at least half of the first samples have.
    references: binary fields are not copied; the table refers to their place in the shards.
    on_error: what to do with a damaged shard, and with a sample that lacks a field, has one more,
        or one that does not parse: "fail"; "skip" the sample, and what follows the damage;
        "null" for the field. What was left out is in ``problems``.
    schema: types of columns by name; others are told by the extension, and of JSON by the first
        samples. Without ``columns`` its names are the columns.
    sample_rows: how many samples tell the columns.
    group_size: how many rows of binary columns a feed reads together, kept as "leman:group_size" in
        their metadata. It does not change how they are encoded.
    """
    check_on_error(on_error)
    rows = 0 if group_size is None else check_group_size(group_size)
    return _WebDataset(urls, columns, references, on_error, sample_rows, schema, rows)


def check_group_size(rows):
    if not isinstance(rows, int) or isinstance(rows, bool) or not 1 <= rows < 1 << 32:
        raise ValueError(f"group_size is a whole number of at least 1, not {rows!r}")
    return rows


def check_on_error(on_error):
    if on_error not in ON_ERROR:
        raise ValueError(f'on_error is "fail", "skip" or "null", not {on_error!r}')
