# SPDX-License-Identifier: Apache-2.0
"""One Lance data file: read its rows, in order or by number."""

import array
import io
import os

from leman import _core
from leman.arrow import Batch, Scan, SchemaCapsule, pyarrow

_BLOBS = {"descriptors": False, "bytes": True}


def blob_bytes(blobs):
    """Are blobs read as bytes?"""
    try:
        return _BLOBS[blobs]
    except KeyError:
        raise ValueError(f'blobs is "descriptors" or "bytes", not {blobs!r}') from None


def _split(path):
    path = os.fspath(path)
    folder, name = os.path.split(path)
    return folder or ".", name


def _row_range(rows, num_rows):
    """(start, count) of a range or slice of rows; None is everything."""
    if rows is None:
        return 0, num_rows
    if isinstance(rows, slice):
        rows = range(*rows.indices(num_rows))
    if not isinstance(rows, range) or rows.step != 1:
        raise TypeError(f"rows is a slice or range with step 1, not {rows!r}; see take()")
    if len(rows) and (rows.start < 0 or rows.stop > num_rows):
        raise ValueError(f"rows {rows.start} to {rows.stop} of a file of {num_rows} rows")
    return rows.start, len(rows)


def row_numbers(rows):
    """Row numbers as a buffer of unsigned 64-bit words."""
    if hasattr(rows, "__array_interface__"):
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise TypeError(
                f"rows are whole numbers in one dimension, not {rows.dtype} {rows.shape}"
            )
        if rows.dtype.kind == "i" and len(rows) and rows.min() < 0:
            raise ValueError(f"row {rows.min()} does not exist: rows count from 0")
        return rows.astype("uint64", copy=False, order="C")
    try:
        return array.array("Q", rows)
    except OverflowError:
        raise ValueError("rows count from 0 and fit in 64 bits") from None


class BlobFile(io.RawIOBase):
    """One blob as a binary file, open for reading; only what is read is fetched.

    A parameter of a function that is annotated so is given the blobs of its column as such files.
    """

    def __init__(self, file, place):
        self._file = file
        self._place = place
        self._position = 0

    @property
    def size(self):
        return self._place[0]

    def readable(self):
        return True

    def seekable(self):
        return True

    def _check_open(self):
        if self.closed:
            raise ValueError("the blob is closed")

    def tell(self):
        self._check_open()
        return self._position

    def seek(self, offset, whence=io.SEEK_SET):
        self._check_open()
        bases = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}
        if whence not in bases:
            raise ValueError(f"whence is SEEK_SET, SEEK_CUR or SEEK_END, not {whence!r}")
        base = bases[whence]
        if base + offset < 0:
            raise ValueError(f"cannot seek to {base + offset}")
        self._position = base + offset
        return self._position

    def readinto(self, buffer):
        self._check_open()
        view = memoryview(buffer).cast("B")
        if view.readonly:
            raise TypeError(f"cannot read into {type(buffer).__name__}, which is read-only")
        count = max(min(len(view), self.size - self._position), 0)
        if count:
            self._fetch(self._position, view[:count])
        self._position += count
        return count

    def _fetch(self, offset, view):
        self._file.read_blob(self._place, offset, view)


class RowBlobFile(BlobFile):
    """The blob of a row of a table, which is opened when it is read first."""

    def __init__(self, size, opener):
        self._size = size
        self._opener = opener
        self._blob = None
        self._position = 0

    def __repr__(self):
        return f"<leman.BlobFile of {self._size:,} bytes>"

    @property
    def size(self):
        return self._size

    def _fetch(self, offset, view):
        if self._blob is None:
            self._blob = self._opener()
        self._blob.read(offset, view)


class MemoryBlobFile(BlobFile):
    """A blob that is in memory."""

    def __init__(self, data):
        self._data = memoryview(data)
        self._position = 0

    def __repr__(self):
        return f"<leman.BlobFile of {self.size:,} bytes>"

    @property
    def size(self):
        return self._data.nbytes

    def _fetch(self, offset, view):
        view[:] = self._data[offset : offset + len(view)]


class LanceFile:
    """A Lance data file of version 2.0, 2.1 or 2.2, open for reading."""

    def __init__(self, path):
        self._path = os.fspath(path)
        self._file = _core.File(*_split(path))

    def __repr__(self):
        return f"<leman.LanceFile {self._path!r}: version {self.version}, {self.num_rows} rows>"

    def __len__(self):
        return self.num_rows

    @property
    def num_rows(self):
        return self._file.num_rows

    @property
    def nbytes(self):
        """Size of the file in bytes."""
        return self._file.nbytes

    @property
    def version(self):
        """The file's format version: "2.0", "2.1" or "2.2"."""
        return self._file.version

    @property
    def schema(self):
        """The columns as a ``pyarrow.Schema``."""
        return pyarrow().schema(self)

    def __arrow_c_schema__(self):
        return self._file.schema()

    def scan(
        self,
        columns=None,
        *,
        rows=None,
        batch_size=8192,
        blobs="descriptors",
        threads=None,
    ):
        """Read rows in order.

        columns: names, and paths of nested fields (``"info.width"``); None reads all.
        rows: a slice or range; None reads all.
        batch_size: rows per batch at most; batches of large rows are smaller.
        blobs: "descriptors" says where blobs are, "bytes" reads them.
        threads: 1 reads in the calling thread only; None takes one per processor.
        """
        start, count = _row_range(rows, self.num_rows)
        options = {
            "columns": columns,
            "blob_bytes": blob_bytes(blobs),
            "row_start": start,
            "row_count": count,
            "batch_rows": batch_size,
            "threads": threads or 0,
        }
        return Scan(self._file, lambda: self._file.scan(**options))

    def take(self, rows, columns=None, *, blobs="descriptors"):
        """Read rows by number, in the order given."""
        numbers = row_numbers(rows)
        return Batch(*self._file.take(numbers, columns=columns, blob_bytes=blob_bytes(blobs)))

    def blob(self, column, row):
        """The blob of one row as a binary file, or None for a null."""
        place = self._file.blob(column, row)
        return None if place is None else BlobFile(self._file, place)

    def to_arrow(self, columns=None):
        """All rows as a ``pyarrow.Table``."""
        return self.scan(columns).to_arrow()


class FileWriter:
    """Writes one Lance data file, batch by batch.

    The file takes its name when it is finished; leaving the ``with`` block by an exception, or
    ``abort()``, leaves nothing behind.
    """

    def __init__(
        self,
        path,
        schema,
        *,
        version="2.1",
        page_bytes=None,
        compression=None,
        sync=True,
        replace=False,
        threads=None,
    ):
        """
        schema: anything with ``__arrow_c_schema__``.
        version: "2.1", or "2.2" (maps need it).
        page_bytes: Arrow memory per page, 8 MiB unless given.
        compression: None, "zstd", or "zstd:LEVEL".
        sync: wait until the file is on the device.
        replace: replace an older file of that name instead of refusing.
        """
        self._writer = _core.Writer(
            *_split(path),
            schema.__arrow_c_schema__(),
            version=version,
            page_bytes=page_bytes or 0,
            zstd_level=_zstd_level(compression),
            sync=sync,
            replace=replace,
            threads=threads or 0,
        )

    def write(self, data):
        """Append rows: a batch or a stream that speaks the Arrow PyCapsule interface."""
        if hasattr(data, "__arrow_c_stream__"):
            stream = data.__arrow_c_stream__()
            self._writer.check(_core.stream_schema(stream))
            self._writer.write_stream(stream)
        elif hasattr(data, "__arrow_c_array__"):
            schema, rows = data.__arrow_c_array__()
            self._writer.check(schema)
            self._writer.write(rows)
        else:
            raise TypeError(f"rows come as Arrow data, not as {type(data).__name__}")

    @property
    def num_rows(self):
        return self._writer.num_rows

    def finish(self):
        """Write what is left and give the file its name; returns its size in bytes."""
        return self._writer.finish()

    def abort(self):
        self._writer.abort()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        if kind is None:
            self.finish()
        else:
            self.abort()


def _zstd_level(compression):
    if compression is None:
        return 0
    name, _, level = compression.partition(":")
    if name != "zstd" or (level and not level.isdigit()):
        raise ValueError(f'compression is None, "zstd" or "zstd:LEVEL", not {compression!r}')
    return int(level or 3)


def write_file(path, data, **options):
    """Write ``data``, an Arrow table, stream or batch, to a Lance file; returns its size.

    Options are those of :class:`FileWriter`.
    """
    if hasattr(data, "__arrow_c_stream__"):
        stream = data.__arrow_c_stream__()
        schema = _core.stream_schema(stream)
        write = "write_stream", stream
    elif hasattr(data, "__arrow_c_array__"):
        schema, array_ = data.__arrow_c_array__()
        write = "write", array_
    else:
        raise TypeError(f"rows come as Arrow data, not as {type(data).__name__}")
    writer = FileWriter(path, SchemaCapsule(schema), **options)
    try:
        getattr(writer._writer, write[0])(write[1])
        return writer.finish()
    except BaseException:
        writer.abort()
        raise
