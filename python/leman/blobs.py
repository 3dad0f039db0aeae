# SPDX-License-Identifier: Apache-2.0
"""Blobs in functions: the type of a column of them, and values that are streamed into one."""

import functools
import io

from leman import _core, datatypes

KIND = ("Z", "", True, {b"lance-encoding:blob": b"true"}, (), None)
CHUNK_BYTES = 1 << 20


class BlobType:
    """What ``leman.blob()`` gives: a type for ``data_type=``."""

    def __repr__(self):
        return "leman.blob()"

    def __eq__(self, other):
        return isinstance(other, BlobType)

    def __hash__(self):
        return hash(BlobType)

    def __arrow_c_schema__(self):
        return datatypes.capsule(KIND)


def blob():
    """The type of columns of large values, which lie beside the pages and are read piece by piece.

    A function of this ``data_type`` returns bytes, or a binary file open for reading, which is
    streamed to its place and never in memory as a whole.
    """
    return BlobType()


def is_blob(kind):
    """Is a type, as ``datatypes`` has it, that of a blob?"""
    return kind[3].get(b"lance-encoding:blob") == b"true"


def marked(places, values):
    """Types of columns, from those of where blobs are and those of their bytes."""
    found = []
    for place, value in zip(places, values, strict=True):
        if place[0] == "+s" and value[0] == "Z":
            value = datatypes.named(value, value[1], {"lance-encoding:blob": "true"})
        elif place[0] == "+s":
            value = (*value[:4], tuple(marked(place[4], value[4])), value[5])
        found.append(value)
    return tuple(found)


def is_blob_file(annotation):
    """``leman.BlobFile``, or that or None."""
    annotation, _ = datatypes.strip_optional(annotation)
    return (
        getattr(annotation, "__name__", None) == "BlobFile"
        and getattr(annotation, "__module__", None) == "leman.file"
    )


def takes_files(udf):
    """Is the function given blobs as files?"""
    return any(map(is_blob_file, udf.signature.annotations.values()))


def check_files(name, arguments):
    """Refuse what cannot be given as files; arguments: (name, annotation, column, its type)."""
    files = any(is_blob_file(annotation) for _, annotation, _, _ in arguments)
    for argument, annotation, column, kind in arguments:
        if is_blob_file(annotation) and not is_blob(kind):
            raise _core.InvalidError(
                f"{name}(): {argument!r} is annotated as BlobFile, and column {column!r} is "
                f"{datatypes.type_name(kind)}, which holds no blobs"
            )
        if files and is_blob(kind) and not is_blob_file(annotation):
            raise _core.InvalidError(
                f"{name}(): {argument!r}, of column {column!r}, holds blobs, as other arguments "
                "that are annotated as leman.BlobFile; annotate it so, too"
            )


# What stands for a blob that is larger than that, in a call: longer, and beginning with its size.
WHOLE_BYTES_MAX = 64 << 10


def files(values, column, start, port):
    """Blobs of rows from `start` on of a call as files; `values` are what the call was given."""
    from leman.file import MemoryBlobFile, RowBlobFile

    made = []
    for row, value in enumerate(values, start):
        if value is None:
            made.append(None)
        elif port is None or len(value) <= WHOLE_BYTES_MAX:
            made.append(MemoryBlobFile(value))
        else:
            size = int.from_bytes(value[:8], "little")
            made.append(RowBlobFile(size, functools.partial(port.blob, column, row)))
    return made


def remaining(file):
    """The bytes that are left to read, where the file knows; None where it does not."""
    left = getattr(file, "remaining", None)
    if isinstance(left, int):
        return left
    try:
        if not file.seekable():
            return None
        here = file.tell()
        end = file.seek(0, io.SEEK_END)
        file.seek(here)
    except (AttributeError, OSError, ValueError):
        return None
    return max(end - here, 0)


def storing(function, udf, sink):
    """The function, whose blobs are put into the table as it returns them.

    sink: of the call of the job that they belong to; None keeps them in memory.
    """
    signature = udf.signature
    store = Store(udf.name, sink)
    if signature.outputs is None:
        return lambda *arguments: store(function(*arguments))
    names = [name for name, _ in signature.outputs]
    blobs = [is_blob(kind) for _, kind in signature.outputs]

    def stored(*arguments):
        value = function(*arguments)
        if value is None:
            return None
        if isinstance(value, dict):
            value = [value[name] for name in names]
        elif not isinstance(value, tuple):
            value = [getattr(value, name) for name in names]
        parts = zip(value, blobs, strict=True)
        return tuple(store(part) if blob else part for part, blob in parts)

    return stored


def fills_blobs(udf):
    """Is a column of blobs among those that the function fills?"""
    signature = udf.signature
    if signature.outputs is None:
        return signature.output is not None and is_blob(signature.output)
    return any(is_blob(kind) for _, kind in signature.outputs)


class Store:
    """Puts values into the table, one after the other."""

    def __init__(self, name, sink):
        self._name = name
        self._sink = sink

    def __call__(self, value):
        """What stands for the value in the column."""
        if value is None:
            return None
        if hasattr(value, "read"):
            try:
                pieces = self._pieces(value)
                if self._sink is None:
                    return b"".join(pieces)
                return self._put(pieces, remaining(value))
            finally:
                close = getattr(value, "close", None)
                if close is not None:
                    close()
        try:
            view = memoryview(value)
        except TypeError:
            raise self._wrong(value) from None
        if self._sink is None:
            return bytes(view)
        return self._put([view if view.c_contiguous else bytes(view)], view.nbytes)

    def _wrong(self, value):
        from leman.apply import WrongResultError, show

        kind = type(value).__name__
        return WrongResultError(
            f"{self._name}() returned {show(value)} ({kind}), which is neither bytes nor a file"
        )

    def _pieces(self, file):
        while True:
            piece = file.read(CHUNK_BYTES)
            if not piece:
                return
            if isinstance(piece, str):
                raise self._wrong(file)
            yield piece

    def _put(self, pieces, size):
        """Write a blob, or leave none behind; size: None where it is not known."""
        try:
            _core.blobs_begin(self._sink, -1 if size is None else size)
            for piece in pieces:
                _core.blobs_write(self._sink, piece)
            return _core.blobs_end(self._sink)
        except BaseException:
            _core.blobs_drop(self._sink)
            raise


PLACE = (("position", datatypes.simple("L")), ("size", datatypes.simple("L")))


def placed(output):
    """The capsule of a struct of columns, where blobs are told by their places."""
    kind = _core.schema_describe(output)
    children = tuple(
        datatypes.struct_of(PLACE, child[1]) if is_blob(child) else child for child in kind[4]
    )
    return datatypes.capsule((*kind[:4], children, kind[5]))
