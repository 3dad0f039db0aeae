# SPDX-License-Identifier: Apache-2.0
"""Rows on their way into a table.

What users have at hand becomes one Arrow stream: objects that speak the Arrow PyCapsule interface
as they are, Python values through pyarrow, iterators piece by piece and never as a whole. Where
the table says what the columns are, values of other types are cast to them if that loses nothing.
"""

import itertools
from collections.abc import Iterable, Mapping

from leman import _core
from leman.arrow import SchemaCapsule, StreamCapsule, pyarrow
from leman.exact import InexactError, check_range, exact_array

# Rows given one by one are gathered to batches of about this size.
BATCH_ROWS = 1024
BATCH_BYTES = 64 << 20


def as_schema(schema):
    """What users give as a schema, as that of a table made of it; None stays None."""
    if schema is None:
        return None
    pa = pyarrow()
    if hasattr(schema, "to_arrow_schema"):
        schema = schema.to_arrow_schema()
    elif isinstance(schema, Mapping):
        schema = pa.schema(list(schema.items()))
    elif not isinstance(schema, pa.Schema):
        schema = pa.schema(schema)
    fields = [field.with_type(kept_type(field.type)) for field in schema]
    return pa.schema(fields, metadata=schema.metadata)


def no_rows(schema):
    """Rows of a schema, of which there are none."""
    return pyarrow().Table.from_batches([], schema)  # empty_table() knows fewer types


class Rows:
    """A stream of rows for one call: ``with Rows(data) as stream: core.append(stream)``.

    If the iterator behind it raises, the call fails, and what was raised is raised again.
    """

    def __init__(self, data, schema=None, *, fill=False, loose=False):
        """
        schema: what the columns are to become; None takes them as they are.
        fill: columns of the schema that the data lacks are added, as nulls.
        loose: columns that the schema lacks are taken as they are, not refused.
        """
        self._error = None
        self._loose = loose
        source = self._source(data, schema)
        stream = source.__arrow_c_stream__()
        if schema is not None:
            stream = self._fitted(stream, schema, fill)
        self._stream = stream

    @property
    def stream(self):
        return self._stream

    @property
    def error(self):
        """What the iterator behind the stream has raised, or None."""
        return self._error

    def __enter__(self):
        return self._stream

    def __exit__(self, kind, value, traceback):
        if kind is not None and self._error is not None:
            raise self._error from None

    def _watched(self, batches):
        try:
            yield from batches
        except GeneratorExit:  # the stream was closed before its end
            raise
        except BaseException as error:
            if self._error is None:
                self._error = error
            raise

    def _source(self, data, schema):
        """The data as an object with ``__arrow_c_stream__``."""
        if data is None:
            raise TypeError("there is no data; an empty table is made of a schema")
        if _is_pandas(data):
            return _from_pandas(data)
        if hasattr(data, "__arrow_c_stream__"):
            return data
        if hasattr(data, "__arrow_c_array__"):
            pa = pyarrow()
            return pa.Table.from_batches([pa.record_batch(data)])
        if hasattr(data, "to_reader"):
            return data.to_reader()
        if hasattr(data, "scanner"):
            return data.scanner().to_reader()
        if isinstance(data, Mapping):
            return _from_columns(data, schema)
        if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
            raise TypeError(
                f"rows come as Arrow data, a DataFrame, a dict of columns, a list of dicts or an "
                f"iterator of batches, not as {type(data).__name__}"
            )
        if isinstance(data, (list, tuple)) and all(_is_row(item) for item in data):
            return _from_rows(data, schema)
        return self._from_iterator(iter(data), schema)

    def _from_iterator(self, items, schema):
        pieces = _pieces(items, schema)
        first = next(pieces, None)
        pa = pyarrow()
        if first is None:
            if schema is None:
                raise ValueError("there are no rows and no schema")
            return no_rows(schema)
        kinds = first.schema
        if schema is not None:
            kinds = _Fit(kinds, self._wanted(kinds, schema), fill=False).schema
        batches = _as_first(itertools.chain([first], pieces), kinds)
        return pa.RecordBatchReader.from_batches(kinds, self._watched(batches))

    def _wanted(self, given, schema):
        if not self._loose:
            return schema
        known = set(schema.names)
        for i, name in enumerate(given.names):
            if name in given.names[:i]:
                raise _core.InvalidError(f'column "{name}" is there twice')
        return pyarrow().schema(
            [schema.field(field.name) if field.name in known else field for field in given]
        )

    def _fitted(self, stream, schema, fill):
        pa = pyarrow()
        try:
            given = pa.schema(SchemaCapsule(_core.stream_schema(stream)))
        except pa.ArrowInvalid as error:
            raise _core.InvalidError(f"rows are a struct of columns: {error}") from error
        fit = _Fit(given, self._wanted(given, schema), fill)
        if fit.is_identity:
            return stream
        reader = pa.RecordBatchReader.from_stream(StreamCapsule(stream))
        batches = self._watched(fit.apply(batch) for batch in reader)
        return pa.RecordBatchReader.from_batches(fit.schema, batches).__arrow_c_stream__()


def _is_pandas(data):
    return type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns")


def _from_pandas(data):
    return pyarrow().Table.from_pandas(data, preserve_index=False).replace_schema_metadata()


def _is_row(item):
    return isinstance(item, Mapping) or hasattr(item, "model_dump")


def _row(item):
    return item if isinstance(item, Mapping) else item.model_dump()


def _array(name, values, kind):
    """Python or numpy values as an Arrow array of type `kind`; None infers it."""
    pa = pyarrow()
    if not isinstance(name, str):
        raise _core.InvalidError(f"the name of a column is text, and {name!r} is not")
    if isinstance(values, (str, bytes)):
        raise _core.InvalidError(f'column "{name}" is a list of values, not one: {values!r:.100}')
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    try:
        if getattr(values, "ndim", 1) == 2:
            flat = pa.array(values.reshape(-1))
            return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
        return exact_array(values, kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise _core.InvalidError(f'column "{name}": {error}') from error


def _kind_of(name, schema):
    if schema is None or schema.get_field_index(name) < 0:
        return None
    kind = schema.field(name).type
    return None if isinstance(kind, pyarrow().BaseExtensionType) else kind


def _from_columns(columns, schema):
    arrays = {
        name: _array(name, values, _kind_of(name, schema)) for name, values in columns.items()
    }
    if not arrays and schema is not None:
        return no_rows(schema)
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise _core.InvalidError(f"columns differ in length: {lengths}")
    return pyarrow().table(arrays)


def _from_rows(rows, schema):
    rows = [_row(row) for row in rows]
    if not rows:
        if schema is None:
            raise ValueError("there are no rows and no schema")
        return no_rows(schema)
    names = dict.fromkeys(name for row in rows for name in row)
    if not names:
        raise _core.InvalidError("the rows have no columns")
    return _from_columns({name: [row.get(name) for row in rows] for name in names}, schema)


def _bytes_of(row):
    return sum(len(value) for value in row.values() if isinstance(value, (bytes, str)))


def _pieces(items, schema):
    """Record batches of an iterator of batches, tables, or rows as dicts."""
    rows, count = [], 0
    for item in items:
        if not _is_row(item):
            yield from _batches_of(item, schema)
            continue
        rows.append(_row(item))
        count += _bytes_of(rows[-1])
        if len(rows) >= BATCH_ROWS or count >= BATCH_BYTES:
            table = _from_rows(rows, schema)
            schema = schema or table.schema
            yield from table.to_batches()
            rows, count = [], 0
    if rows:
        yield from _from_rows(rows, schema).to_batches()


def _batches_of(item, schema):
    pa = pyarrow()
    if isinstance(item, pa.RecordBatch):
        return [item]
    if _is_pandas(item):  # which speaks the interface, too, but would give its index
        return _from_pandas(item).to_batches()
    if hasattr(item, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(item)
    if hasattr(item, "__arrow_c_array__"):
        return [pa.record_batch(item)]
    if isinstance(item, list) and all(_is_row(row) for row in item):
        return _from_rows(item, schema).to_batches()
    raise TypeError(f"an iterator gives batches, or rows as dicts, not {type(item).__name__}")


def _as_first(batches, schema):
    """The batches, each with the columns of the first, in the types of `schema`."""
    fits = {}
    known = set(schema.names)
    for batch in batches:
        fit = fits.get(batch.schema)
        if fit is None:
            for name in batch.schema.names:
                if name not in known:
                    raise _core.InvalidError(
                        f'column "{name}" is not in the first batch, which has: '
                        f"{', '.join(schema.names)}"
                    )
            fit = fits[batch.schema] = _Fit(batch.schema, schema, fill=True)
        yield batch if fit.is_identity else fit.apply(batch)


class _Fit:
    """Batches of one schema, brought into the types of another."""

    def __init__(self, given, wanted, fill):
        pa = pyarrow()
        known = set(wanted.names)
        for name in given.names:
            if name not in known:
                columns = ", ".join(wanted.names)
                raise _core.InvalidError(
                    f'column "{name}" is not in the table, which has: {columns}'
                )
        asked = list(wanted) if fill else [wanted.field(name) for name in given.names]
        self._steps = [self._step(given, field, fill) for field in asked]
        metadata = wanted.metadata if fill else given.metadata
        self.schema = pa.schema([field for _, _, field in self._steps], metadata=metadata)
        self.is_identity = given.equals(self.schema, check_metadata=True)

    @staticmethod
    def _step(given, field, fill):
        """(index of the column or None, type to cast to or None, field that comes out)"""
        index = given.get_field_index(field.name)
        if index < 0:
            if not field.nullable:
                raise _core.InvalidError(f'column "{field.name}", which has no nulls, is missing')
            return None, field.type, field
        have = given.field(index)
        if have.type.equals(field.type) or (not fill and same_type(have.type, field.type)):
            return index, None, field if fill else have
        if castable(have.type, field.type):
            return index, field.type, field if fill else have.with_type(field.type)
        if fill:
            raise _core.InvalidError(
                f'column "{field.name}" is {field.type}, and these rows have {have.type}'
            )
        return index, None, have

    def apply(self, batch):
        pa = pyarrow()
        columns = []
        for index, kind, field in self._steps:
            if index is None:
                columns.append(pa.nulls(batch.num_rows, kind))
            elif kind is None:
                columns.append(batch.column(index))
            else:
                columns.append(cast(field.name, batch.column(index), kind))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def cast(name, column, kind):
    """A column in another type, if that loses nothing."""
    pa = pyarrow()
    if column.type.equals(kind):
        return column
    try:
        if isinstance(column, pa.ExtensionArray):
            column = column.storage
        made = column.cast(kind)
        check_range(column, made)
        return made
    except (pa.ArrowException, InexactError) as error:
        raise _core.InvalidError(
            f'column "{name}" is {kind}, and these rows have {column.type}: {error}'
        ) from error


def same_type(given, wanted):
    """Are the types equal but for names of list items and what may be null?"""
    pa = pyarrow()
    if given.equals(wanted):
        return True
    if given.id != wanted.id or given.num_fields != wanted.num_fields or given.num_fields == 0:
        return False
    if pa.types.is_fixed_size_list(given) and given.list_size != wanted.list_size:
        return False
    if pa.types.is_map(given) or pa.types.is_dictionary(given):
        return False
    pairs = [(given.field(i), wanted.field(i)) for i in range(given.num_fields)]
    named = pa.types.is_struct(given)
    return all((not named or a.name == b.name) and same_type(a.type, b.type) for a, b in pairs)


def kept_type(kind):
    """The type of a column that is made of one of type `kind`."""
    pa = pyarrow()
    types = pa.types
    if getattr(kind, "extension_name", None) == "arrow.json":
        return kept_type(kind.storage_type)
    if types.is_string_view(kind):
        return pa.string()
    if types.is_binary_view(kind):
        return pa.binary()
    if types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, kind.value_type)
    if types.is_struct(kind):
        return pa.struct([field.with_type(kept_type(field.type)) for field in kind])
    if types.is_list(kind) or types.is_large_list(kind):
        make = pa.list_ if types.is_list(kind) else pa.large_list
        return make(kind.value_field.with_type(kept_type(kind.value_type)))
    return kind


def has_structs(kind):
    """Is a type a struct, or is there one inside of it?"""
    if pyarrow().types.is_struct(kind):
        return True
    return any(has_structs(kind.field(i).type) for i in range(kind.num_fields))


def castable(given, wanted):
    """May values of one type be cast to another, if each of them fits?"""
    pa = pyarrow()
    types = pa.types
    if isinstance(given, pa.BaseExtensionType):
        return castable(given.storage_type, wanted)
    if isinstance(wanted, pa.BaseExtensionType):
        return False
    if types.is_null(given) or given.equals(wanted):
        return True
    if types.is_dictionary(given) or types.is_dictionary(wanted):
        inner = [t.value_type if types.is_dictionary(t) else t for t in (given, wanted)]
        return castable(*inner)
    if _is_list(given) and _is_list(wanted):
        return castable(given.value_type, wanted.value_type)
    if types.is_struct(given) and types.is_struct(wanted):
        return all(
            wanted.get_field_index(field.name) >= 0
            and castable(field.type, wanted.field(field.name).type)
            for field in given
        )
    if types.is_map(given) and types.is_map(wanted):
        return castable(given.key_type, wanted.key_type) and castable(
            given.item_type, wanted.item_type
        )
    return any(family(given) and family(wanted) for family in _FAMILIES)


def _is_list(kind):
    types = pyarrow().types
    return (
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
        or types.is_list_view(kind)
        or types.is_large_list_view(kind)
    )


def _is_number(kind):
    types = pyarrow().types
    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


def _is_text(kind):
    types = pyarrow().types
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _is_bytes(kind):
    types = pyarrow().types
    return (
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    )


def _is_date_time(kind):
    types = pyarrow().types
    return types.is_timestamp(kind) or types.is_date(kind)


def _is_time(kind):
    return pyarrow().types.is_time(kind)


def _is_duration(kind):
    return pyarrow().types.is_duration(kind)


_FAMILIES = [_is_number, _is_text, _is_bytes, _is_date_time, _is_time, _is_duration]
