# SPDX-License-Identifier: Apache-2.0
"""Sources of files that other programs write: Parquet, Arrow IPC, CSV, JSON lines, any file."""

import os
import stat
import urllib.parse

from leman import _core
from leman.arrow import SchemaCapsule, StreamCapsule, pyarrow
from leman.ingest import Problem, Source, check_on_error, expand, file_parts


class FileSource(Source):
    """Files, each a part."""

    def __init__(self, kind, paths, ending):
        self._files = expand(paths, ending)
        self.title = f"{kind} {self._files[0]}"
        self._parts = file_parts(self._files)

    @property
    def parts(self):
        return self._parts


class _Parquet(FileSource):
    def __init__(self, paths, columns, batch_rows, on_error):
        super().__init__("parquet", paths, ".parquet")
        self._columns = columns
        self._batch_rows = batch_rows
        self._on_error = on_error
        self.problems = []
        self._schema = None

    @property
    def schema(self):
        if self._schema is None:
            self._schema = self._first_schema()
        return self._schema

    def _first_schema(self):
        import pyarrow.parquet as pq

        failure = None
        for path in self._files:
            try:
                schema = pq.read_schema(path)
            except (OSError, pyarrow().ArrowException) as error:
                failure = self._failed(path, error)
                if self._on_error == "fail":
                    raise failure from error
                continue
            if self._columns is not None:
                schema = pyarrow().schema([schema.field(name) for name in self._columns])
            return schema.remove_metadata()
        raise failure

    @staticmethod
    def _failed(path, error):
        kind = _core.NotFoundError if isinstance(error, FileNotFoundError) else _core.CorruptError
        return kind(f"{path}: {error}")

    def open(self, number):
        import pyarrow.parquet as pq

        pa = pyarrow()
        path = self._files[number]
        schema = self.schema
        try:
            file = pq.ParquetFile(path)
        except (OSError, pa.ArrowException) as error:
            if self._on_error == "fail":
                raise self._failed(path, error) from error
            self.problems.append(Problem(path, 0, "", "", str(error)))
            return schema.empty_table()
        return pa.RecordBatchReader.from_batches(schema, self._batches(file, path, schema))

    def _batches(self, file, path, schema):
        names = [name for name in schema.names if name in file.schema_arrow.names]
        try:
            for batch in file.iter_batches(self._batch_rows, columns=names, use_threads=False):
                yield _with_schema(batch, schema)
        except (OSError, pyarrow().ArrowException) as error:
            if self._on_error == "fail":
                raise self._failed(path, error) from error
            self.problems.append(Problem(path, 0, "", "", str(error)))


def _with_schema(batch, schema):
    """The batch with the columns of a schema; those that it lacks are null."""
    pa = pyarrow()
    columns = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        if index < 0:
            columns.append(pa.nulls(batch.num_rows, field.type))
        else:
            column = batch.column(index)
            columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def parquet(paths, columns=None, *, batch_rows=8192, on_error="fail"):
    """The rows of Parquet files, read by pyarrow.

    paths: a file, a pattern as for ``webdataset()``, a folder, or a list of them.
    columns: names; None takes those of the first file. Columns that a file lacks are null there.
    on_error: "fail", or "skip" a file that cannot be read; it is in ``problems`` then.
    """
    check_on_error(on_error)
    return _Parquet(paths, None if columns is None else list(columns), batch_rows, on_error)


class _Text(FileSource):
    def __init__(self, kind, paths, ending, on_error, options):
        super().__init__(kind, paths, ending)
        check_on_error(on_error)
        self._on_error = on_error
        self._options = {"format": kind, **options}
        self.problems = []
        self._schema = None

    def _note(self, *values):
        self.problems.append(Problem(*values))

    def _stream(self, number, report=None):
        path = self._files[number]
        return StreamCapsule(_core.open_rows(path, report=report, **self._options))

    @property
    def schema(self):
        if self._schema is None:
            self._schema = self._first_schema()
        return self._schema

    def _first_schema(self):
        """The columns of the first file; or of the first that can be read, if that will do."""
        failure = None
        for number in range(len(self._files)):
            try:
                report = None if self._on_error == "fail" else lambda *_: None
                capsule = self._stream(number, report).__arrow_c_stream__()
                return pyarrow().schema(SchemaCapsule(_core.stream_schema(capsule)))
            except _core.LemanError as error:
                if self._on_error == "fail":
                    raise
                failure = error
        raise failure

    def open(self, number):
        if self._on_error == "fail":
            return self._stream(number)
        schema = self.schema
        return pyarrow().RecordBatchReader.from_batches(schema, self._readable(number, schema))

    def _readable(self, number, schema):
        """The batches of a file, up to where it cannot be read."""
        pa = pyarrow()
        try:
            for batch in pa.RecordBatchReader.from_stream(self._stream(number, self._note)):
                yield _with_schema(batch, schema)
        except (_core.LemanError, OSError, pa.ArrowException) as error:
            self._note(self._files[number], 0, "", "", str(error))


def arrow_ipc(paths, *, on_error="fail"):
    """The rows of Arrow IPC files and streams.

    on_error: "fail", or "skip" a file that cannot be read, or what follows the damage in it; it is
        in ``problems`` then.
    """
    return _Text("arrow", paths, ".arrow", on_error, {})


def csv(paths, *, delimiter=None, header=True, null=None, on_error="fail"):
    """The rows of CSV files; types are taken from the first rows, or those of the table.

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
            (f"{group[0][0]} to {group[-1][0]}, {len(group)} files", sum(e[1] or 0 for e in group))
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
        return pyarrow().RecordBatchReader.from_batches(schema, batches)

    def _batches(self, entries, schema):
        rows, size = [], 0
        for path, bytes_, mtime in entries:
            try:
                content = self._content(path, bytes_)
            except OSError as error:
                if self._on_error == "fail":
                    raise _core.StoreError(f"{path}: {error.strerror}") from error
                self.problems.append(Problem(path, 0, "", "bytes", str(error)))
                if self._on_error == "skip":
                    continue
                content = None
            rows.append((os.path.relpath(path, self._root), content, bytes_, mtime))
            size += len(content) if isinstance(content, bytes) else 0
            if size >= 16 << 20 or len(rows) >= 4096:
                yield _rows_batch(rows, schema)
                rows, size = [], 0
        if rows:
            yield _rows_batch(rows, schema)

    def _content(self, path, size):
        if size is None:
            size = os.stat(path).st_size
        if self._references:
            return {"data": None, "uri": file_uri(path), "position": 0, "size": size}
        with open(path, "rb") as file:
            return file.read()


def _rows_batch(rows, schema):
    pa = pyarrow()
    columns = []
    for values, field in zip(zip(*rows, strict=True), schema, strict=True):
        columns.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _walk(root, pattern):
    """(path, size, mtime in microseconds) of the files below a folder, in order of their names.

    Of a link that leads nowhere, size and mtime are None.
    """
    import fnmatch

    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not fnmatch.fnmatch(name, pattern):
                continue
            try:
                status = os.stat(path)
            except OSError:  # told when its turn comes
                yield path, None, None
                continue
            if stat.S_ISREG(status.st_mode):
                yield path, status.st_size, status.st_mtime_ns // 1000


def _groups(entries):
    group, size = [], 0
    for entry in entries:
        group.append(entry)
        size += entry[1] or 0
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

    references: the bytes are not copied; the table refers to the files.
    on_error: what to do with a file that cannot be read: "fail", "skip" it, "null" for its bytes.
    pattern: names to take, such as "*.jpg".
    """
    check_on_error(on_error)
    return _Files(root, references, on_error, pattern)
