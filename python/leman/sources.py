# SPDX-License-Identifier: Apache-2.0
"""Sources of files that other programs write: Parquet, Arrow IPC, CSV, JSON lines, any file."""

import os
import stat
import urllib.parse
from dataclasses import dataclass

from leman import _core
from leman.arrow import SchemaCapsule, StreamCapsule, pyarrow
from leman.data import cast, castable
from leman.ingest import Problem, Source, check_on_error, expand, file_parts


class FileSource(Source):
    """Files, each a part. Their columns, by name, are those of all of them."""

    def __init__(self, title, files, on_error):
        check_on_error(on_error)
        self._files = files
        self.title = title
        self._parts = file_parts(files)
        self._on_error = on_error
        self.problems = []
        self._schema = None

    @property
    def parts(self):
        return self._parts

    @property
    def schema(self):
        if self._schema is None:
            self._schema = self._common_schema()
        return self._schema

    def _schema_of(self, number):
        """The columns of one file."""
        raise NotImplementedError

    def _common_schema(self):
        """The columns of all files, of those that can be read if that will do."""
        common = failure = None
        for number, path in enumerate(self._files):
            try:
                found = self._schema_of(number)
                common = found if common is None else _unified(common, found, path)
            except (_core.LemanError, OSError, pyarrow().ArrowException) as error:
                failure = failed(path, error)
                if self._on_error == "fail":
                    raise failure from error
        if common is None:
            raise failure
        if not common.names:
            raise _core.InvalidError(f"{self.title}: there are no rows to take columns from")
        return common

    def _note(self, *values):
        self.problems.append(Problem(*values))

    def _readable(self, number, batches, counts=False):
        """The batches of a file; where they end too early, that is told as asked.

        counts: all rows of the file are in them, so that it is known which ones are left out.
        """
        path, rows = self._files[number], 0
        try:
            for batch in batches:
                rows += batch.num_rows
                yield batch
        except (_core.LemanError, OSError, pyarrow().ArrowException) as error:
            if self._on_error == "fail":
                raise failed(path, error) from error
            self._note(path, 0, f"{rows} to the end" if counts else "", "", str(error))


def failed(path, error):
    """What is raised of a file; the message begins with its path."""
    if isinstance(error, FileNotFoundError):
        return _core.NotFoundError(f"{path}: there is no such file")
    kind = type(error) if isinstance(error, _core.LemanError) else _core.CorruptError
    message = str(error)
    return kind(message if path in message else f"{path}: {message}")


def _unified(common, found, path):
    """The columns of two schemas. Types that have none in common are an error of the file."""
    pa = pyarrow()
    fields = []
    for field in common:
        place = found.get_field_index(field.name)
        if place < 0:
            fields.append(field.with_nullable(True))
            continue
        other = found.field(place)
        try:
            both = pa.unify_schemas(
                [pa.schema([field]), pa.schema([other])], promote_options="permissive"
            ).field(0)
        except pa.ArrowException:
            both = field
        if pa.types.is_fixed_size_list(field.type) and both.type.id != field.type.id:
            both = field  # vectors stay vectors
        if not castable(other.type, both.type):
            raise _core.InvalidError(
                f'{path}: column "{field.name}" is {field.type} in other files, and {other.type} '
                "here"
            )
        fields.append(both)
    fields += [
        field.with_nullable(True) for field in found if common.get_field_index(field.name) < 0
    ]
    return pa.schema(fields)


def with_schema(batch, schema):
    """The batch with the columns of a schema; those that it lacks are null."""
    pa = pyarrow()
    columns = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        if index < 0:
            columns.append(pa.nulls(batch.num_rows, field.type))
            continue
        column = batch.column(index)
        if not castable(column.type, field.type):
            raise _core.InvalidError(
                f'column "{field.name}" is {field.type}, and these rows have {column.type}'
            )
        columns.append(cast(field.name, column, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


class _Parquet(FileSource):
    def __init__(self, paths, columns, batch_rows, on_error):
        files = expand(paths, ".parquet")
        super().__init__(f"parquet {files[0]}", files, on_error)
        self._columns = columns
        self._batch_rows = batch_rows

    def _schema_of(self, number):
        import pyarrow.parquet as pq

        schema = pq.read_schema(self._files[number]).remove_metadata()
        for name in schema.names:
            if schema.get_field_index(name) < 0:
                raise _core.InvalidError(f'column "{name}" is there twice')
        return schema

    def _common_schema(self):
        schema = super()._common_schema()
        if self._columns is None:
            return schema
        for name in self._columns:
            if name not in schema.names:
                raise _core.InvalidError(
                    f'{self.title}: no column "{name}"; there are: {", ".join(schema.names)}'
                )
        return pyarrow().schema([schema.field(name) for name in self._columns])

    def open(self, number):
        schema = self.schema
        batches = self._batches(number, schema)
        return self.reader(schema, self._readable(number, batches, counts=True))

    def _batches(self, number, schema):
        import pyarrow.parquet as pq

        file = pq.ParquetFile(self._files[number])
        names = [name for name in schema.names if name in file.schema_arrow.names]
        for batch in file.iter_batches(self._batch_rows, columns=names, use_threads=False):
            yield with_schema(batch, schema)


def parquet(paths, columns=None, *, batch_rows=8192, on_error="fail"):
    """The rows of Parquet files, read by pyarrow.

    paths: a file, a pattern as for ``webdataset()``, a folder, or a list of them.
    columns: names; None takes those of all files. Columns that a file lacks are null there, and
        types are such that all files fit them.
    on_error: "fail", or "skip" a file that cannot be read, or what follows the damage in it; it is
        in ``problems`` then.
    """
    return _Parquet(paths, None if columns is None else list(columns), batch_rows, on_error)


class _Text(FileSource):
    def __init__(self, kind, paths, ending, on_error, options):
        files = expand(paths, ending)
        super().__init__(f"{kind} {files[0]}", files, on_error)
        self._options = {"format": kind, **options}

    def _stream(self, number, report=None, schema=None):
        path = self._files[number]
        wanted = None if schema is None else schema.__arrow_c_schema__()
        return StreamCapsule(_core.open_rows(path, report=report, schema=wanted, **self._options))

    def _schema_of(self, number):
        report = None if self._on_error == "fail" else lambda *_: None
        capsule = self._stream(number, report).__arrow_c_stream__()
        return pyarrow().schema(SchemaCapsule(_core.stream_schema(capsule)))

    def open(self, number):
        return self.open_as(number, None)

    def open_as(self, number, schema):
        wanted = self._known(schema)
        if self._on_error == "fail" and self._options["format"] != "arrow":
            return self._stream(number, None, wanted)
        batches = self._batches(number, wanted)
        counts = self._options["format"] == "arrow"
        return self.reader(wanted, self._readable(number, batches, counts))

    def _known(self, schema):
        """The files' own columns, with the types that the table has for texts."""
        own = self.schema
        if schema is None or self._options["format"] == "arrow":
            return own
        pa = pyarrow()
        fields = []
        for field in own:
            place = schema.get_field_index(field.name)
            kind = field.type if place < 0 else schema.field(place).type
            fields.append(pa.field(field.name, kind if _has_texts(kind) else field.type))
        return pa.schema(fields)

    def _batches(self, number, schema):
        report = None if self._on_error == "fail" else self._note
        wanted = None if self._options["format"] == "arrow" else schema
        stream = self._stream(number, report, wanted)
        for batch in pyarrow().RecordBatchReader.from_stream(stream):
            yield with_schema(batch, schema)


def _has_texts(kind):
    """Can values of the type be read from texts?"""
    types = pyarrow().types
    return (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_date(kind)
        or types.is_timestamp(kind)
    )


def arrow_ipc(paths, *, on_error="fail"):
    """The rows of Arrow IPC files and streams.

    on_error: "fail", or "skip" a file that cannot be read, or what follows the damage in it; it is
        in ``problems`` then.
    """
    return _Text("arrow", paths, ".arrow", on_error, {})


def csv(paths, *, delimiter=None, header=True, null=None, on_error="fail"):
    """The rows of CSV files; types are those of the table, or taken from the first rows of each.

    Columns are known by the names in the header, in any order.

    on_error: "fail", or "skip" a row that does not parse or fit, and a file that cannot be read;
        they are in ``problems`` then. "null" does the same.
    """
    options = {"delimiter": delimiter, "no_header": not header, "null_text": null}
    return _Text("csv", paths, ".csv", on_error, options)


def jsonl(paths, *, on_error="fail"):
    """The rows of files of JSON lines; on_error as for ``csv()``."""
    return _Text("jsonl", paths, ".jsonl", on_error, {})


# A part of a folder has about this many files, or this many bytes.
FOLDER_FILES = 4096
FOLDER_BYTES = 256 << 20


class _Files(Source):
    def __init__(self, root, references, on_error, pattern):
        self._root = os.path.abspath(os.fspath(root))
        self._references = references
        self._on_error = on_error
        self.problems = []
        self.title = f"files {self._root}"
        self._groups = list(_groups(_walk(self._root, pattern)))
        if not self._groups:
            raise _core.NotFoundError(f"{self._root}: there are no files")

    @property
    def parts(self):
        return [
            (
                f"{shown(group[0].path)} to {shown(group[-1].path)}, {len(group)} files",
                sum(entry.size or 0 for entry in group),
            )
            for group in self._groups
        ]

    @property
    def schema(self):
        pa = pyarrow()
        content = pa.field("bytes", pa.binary())
        if self._references:
            content = reference_field("bytes")
        return pa.schema(
            [
                pa.field("path", pa.string()),
                content,
                pa.field("size", pa.int64()),
                pa.field("mtime", pa.timestamp("us", "UTC")),
            ]
        )

    def open(self, number):
        schema = self.schema
        batches = self._batches(self._groups[number], schema)
        return self.reader(schema, batches)

    def _batches(self, entries, schema):
        rows, size = [], 0
        for entry in entries:
            row = self._row(entry)
            if row is None:
                continue
            rows.append(row)
            size += len(row[1]) if isinstance(row[1], bytes) else 0
            if size >= 16 << 20 or len(rows) >= 4096:
                yield _rows_batch(rows, schema)
                rows, size = [], 0
        if rows:
            yield _rows_batch(rows, schema)

    def _row(self, entry):
        """The row of a file; None: it is left out."""
        name = os.path.relpath(entry.path, self._root)
        if shown(name) != name:
            return self._bad(_core.InvalidError, entry, "path", "the name is not UTF-8")
        try:
            content = self._content(entry)
        except OSError as error:
            self._bad(_core.StoreError, entry, "bytes", error.strerror, error)
            if self._on_error == "skip" or entry.is_folder:
                return None
            content = None
        return name, content, entry.size, entry.mtime

    def _bad(self, kind, entry, field, message, cause=None):
        if self._on_error == "fail":
            raise kind(f"{shown(entry.path)}: {message}") from cause
        self.problems.append(Problem(shown(entry.path), 0, "", field, message))

    def _content(self, entry):
        if entry.error is not None:
            raise entry.error
        if self._references:
            uri = file_uri(entry.path)
            return {"data": None, "uri": uri, "position": 0, "size": entry.size}
        with open(entry.path, "rb") as file:
            return file.read()


def shown(path):
    """A path as text: bytes that are no UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class _Entry:
    """A file, or what cannot be looked at: a link that leads nowhere, a folder."""

    path: str
    size: int | None = None
    mtime: int | None = None  # in microseconds
    error: OSError | None = None
    is_folder: bool = False


def _rows_batch(rows, schema):
    pa = pyarrow()
    columns = []
    for values, field in zip(zip(*rows, strict=True), schema, strict=True):
        columns.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _walk(root, pattern):
    """The files below a folder, in order of their names, and what is to be told of it."""
    import fnmatch

    unread = []
    for folder, folders, names in os.walk(root, onerror=unread.append):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not fnmatch.fnmatch(name, pattern):
                continue
            try:
                status = os.stat(path)
            except OSError as error:
                yield _Entry(path, error=error)
                continue
            if stat.S_ISREG(status.st_mode):
                yield _Entry(path, status.st_size, status.st_mtime_ns // 1000)
    for error in unread:
        if error.filename != root:
            yield _Entry(error.filename, error=error, is_folder=True)


def _groups(entries):
    group, size = [], 0
    for entry in entries:
        group.append(entry)
        size += entry.size or 0
        if len(group) >= FOLDER_FILES or size >= FOLDER_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def file_uri(path):
    """The uri of an absolute path."""
    return "file://" + urllib.parse.quote(path, safe="/-_.~")


def reference_field(name):
    """A column of references: blobs that lie in other files."""
    pa = pyarrow()
    kind = pa.struct(
        [
            ("data", pa.large_binary()),
            ("uri", pa.string()),
            ("position", pa.uint64()),
            ("size", pa.uint64()),
        ]
    )
    metadata = {"ARROW:extension:name": "lance.blob.v2", "ARROW:extension:metadata": ""}
    return pa.field(name, kind, metadata=metadata)


def files(root, *, references=False, on_error="fail", pattern="*"):
    """Every file below a folder, one row each: path, bytes, size, mtime.

    Files are loaded in groups, in order of their names; a group that files have come to, gone from
    or changed in is another one, and is loaded again. Links to folders are not followed.

    references: the bytes are not copied; the table refers to the files.
    on_error: what to do with a file that cannot be read: "fail", "skip" it, "null" for its bytes.
        One whose name is no UTF-8, and a folder that cannot be read, are left out by both.
    pattern: names to take, such as "*.jpg".
    """
    check_on_error(on_error)
    return _Files(root, references, on_error, pattern)
