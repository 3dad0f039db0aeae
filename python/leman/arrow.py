# SPDX-License-Identifier: Apache-2.0
"""Rows on their way out: batches and scans, which any Arrow library takes."""

import os

from leman import _core
from leman.elsewhere import no_method


def pyarrow():
    """The module pyarrow, which the package does not depend on."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            "this call needs pyarrow, which is not installed; without it, data goes in and out "
            "through any library that speaks the Arrow PyCapsule interface"
        ) from error
    return pyarrow


class SchemaCapsule:
    """A schema capsule, as an object that hands it over."""

    def __init__(self, capsule):
        self._capsule = capsule

    def __arrow_c_schema__(self):
        return self._capsule


class StreamCapsule:
    """A stream capsule, as an object that hands it over."""

    def __init__(self, capsule):
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema=None):
        return self._capsule


class Batch:
    """Rows as an Arrow struct array, for anything that takes ``__arrow_c_array__``.

    It is handed over once, as it is not copied; after ``to_arrow()`` any number of times.
    """

    def __init__(self, schema, data):
        self._schema = schema
        self._data = data
        self._batch = None

    def __repr__(self):
        from leman.datatypes import type_name

        if self._batch is None and self._data is None:
            return "<leman.arrow.Batch that was handed over>"
        schema = self._schema if self._batch is None else self._batch.schema.__arrow_c_schema__()
        fields = _core.schema_describe(schema)[4]
        shown = ", ".join(f"{field[1]}: {type_name(field)}" for field in fields)
        return f"<leman.arrow.Batch of {shown}>"

    def __getattr__(self, name):
        raise no_method("Batch", name)

    def __len__(self):
        return self.num_rows

    @property
    def num_rows(self):
        """How many rows there are."""
        if self._batch is not None:
            return self._batch.num_rows
        self._check()
        return _core.array_length(self._data)

    def _check(self):
        if self._data is None:
            raise ValueError("a batch can be handed over once, unless to_arrow() came first")

    def __arrow_c_array__(self, requested_schema=None):
        if self._batch is not None:
            return self._batch.__arrow_c_array__(requested_schema)
        self._check()
        pair = self._schema, self._data
        self._schema = self._data = None
        return pair

    def to_arrow(self):
        """The rows as a ``pyarrow.RecordBatch``."""
        if self._batch is None:
            self._batch = pyarrow().record_batch(self)
        return self._batch

    def to_pandas(self):
        """The rows as a ``pandas.DataFrame``."""
        return self.to_arrow().to_pandas()

    def to_pylist(self):
        """The rows as a list of dicts."""
        return self.to_arrow().to_pylist()


class Scan:
    """Rows in order, as a stream of batches that starts to be read when it is used.

    A scan may be used several times and gives the same rows each time. Any Arrow library takes it
    (``pa.table(scan)``, ``polars.DataFrame(scan)``, DuckDB), and it iterates over pyarrow batches.
    """

    def __init__(self, core, open_stream):
        self._core = core
        self._open = open_stream
        self._keep(open_stream())  # wrong names and expressions are found here

    def __getattr__(self, name):
        raise no_method("Scan", name)

    def _keep(self, stream):
        self._stream = stream
        self._process = os.getpid()

    def _take_stream(self):
        stream, self._stream = self._stream, None
        # The threads of a stream are not there in a process that is forked.
        return self._open() if stream is None or self._process != os.getpid() else stream

    def __arrow_c_stream__(self, requested_schema=None):
        return self._take_stream()

    def __arrow_c_schema__(self):
        self._keep(self._take_stream())
        return _core.stream_schema(self._stream)

    @property
    def schema(self):
        """The columns as a ``pyarrow.Schema``."""
        return pyarrow().schema(self)

    def __iter__(self):
        stream = self._take_stream()
        while (pair := self._core.next(stream)) is not None:
            yield Batch(*pair).to_arrow()

    def to_batches(self):
        """The rows as an iterator of ``pyarrow.RecordBatch``."""
        return iter(self)

    def to_reader(self):
        """The rows as a ``pyarrow.RecordBatchReader``."""
        return pyarrow().RecordBatchReader.from_stream(self)

    def to_arrow(self):
        """All rows as a ``pyarrow.Table``."""
        schema = self.schema
        return pyarrow().Table.from_batches(self, schema=schema)

    to_table = to_arrow

    def to_pandas(self):
        """All rows as a ``pandas.DataFrame``."""
        return self.to_arrow().to_pandas()

    def to_pylist(self):
        """All rows as a list of dicts."""
        return self.to_arrow().to_pylist()
