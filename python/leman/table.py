# SPDX-License-Identifier: Apache-2.0
"""A table: versioned rows in the Lance format."""

import os
from collections.abc import Mapping

from leman import _core
from leman.arrow import pyarrow
from leman.data import Rows, as_schema, has_structs, no_rows, same_type
from leman.elsewhere import check_options, no_method
from leman.filled import FilledColumns
from leman.ingest import Generators, Load, Source, check_group_size
from leman.literal import literal
from leman.merge import MergeBuilder
from leman.reads import Reads, check_where, not_negative
from leman.refill import Refills
from leman.versions import Versions, version_options


def write_options(
    *,
    primary_key=None,
    data_storage_version=None,
    max_rows_per_fragment=None,
    max_bytes_per_fragment=None,
    message=None,
    durable=True,
    **others,
):
    """Options of a write, as arguments of the library."""
    check_options(others)
    return {
        "primary_key": [primary_key] if isinstance(primary_key, str) else primary_key,
        "data_version": data_storage_version,
        "fragment_rows": not_negative("max_rows_per_fragment", max_rows_per_fragment or 0),
        "fragment_bytes": not_negative("max_bytes_per_fragment", max_bytes_per_fragment or 0),
        "message": message,
        "sync": durable,
    }


def _check_append(*, primary_key=None, data_storage_version=None, **_):
    """Raise for options of new tables."""
    given = {"primary_key": primary_key, "data_storage_version": data_storage_version}
    for name, value in given.items():
        if value is not None:
            raise TypeError(f"{name}= is given when a table is made, and stays as it is")


class Table(Reads, Versions, FilledColumns, Refills):
    """A table, standing at one of its versions.

    Reads see that version. Writes are made on the newest one and move the table there; each is one
    commit, durable when the call returns. ``refresh()`` moves to what others have committed.
    """

    def __init__(self, path, version=None, branch=None):
        self._set_place(path, None)
        self._branch = branch
        self._core = _core.Table(*self._place, branch=branch, **version_options(version))

    def _set_place(self, path, name):
        """The directory of the table; or that of its database, and the name."""
        path = os.fspath(path)
        self._place = path, name
        self._branch = None
        if name is None:
            self._path = path
            self._name = os.path.basename(os.path.abspath(path)).removesuffix(".lance")
        else:
            self._path = os.path.join(path, f"{name}.lance")
            self._name = name

    @classmethod
    def _open(cls, root, name, version, branch):
        self = cls.__new__(cls)
        self._set_place(root, name)
        self._branch = branch
        self._core = _core.Table(*self._place, branch=branch, **version_options(version))
        return self

    @classmethod
    def _create(cls, root, name, data, schema, **options):
        self = cls.__new__(cls)
        self._set_place(root, name)
        if isinstance(data, Source):
            self._load_new(data, as_schema(schema), **options)
            return self
        with _rows_of_new(data, schema) as stream:
            self._core = _core.Table.create(*self._place, stream, **write_options(**options))
        return self

    @classmethod
    def _make(cls, root, name, data, schema, mode="create", exist_ok=False, **options):
        """Make a table, or open or overwrite one that is there; see ``create_table()``."""
        if mode not in ("create", "overwrite"):
            raise ValueError(f'mode is "create" or "overwrite", not {mode!r}')
        if mode == "overwrite" or exist_ok:
            try:
                table = cls._open(root, name, None, None)
            except _core.NotFoundError:
                pass
            else:
                if mode == "overwrite":
                    table.overwrite(data, schema, **options)
                else:
                    _check_schema(table, schema)
                return table
        try:
            return cls._create(root, name, data, schema, **options)
        except _core.ExistsError:  # with exist_ok, another has made it since
            if mode == "overwrite" or not exist_ok:
                raise
        table = cls._open(root, name, None, None)
        _check_schema(table, schema)
        return table

    def __repr__(self):
        return f"<leman.Table {self._name!r}: version {self.version}, {len(self)} rows>"

    def __getattr__(self, name):
        raise no_method("Table", name)

    def __reduce__(self):
        """Other processes, and copies, open the same version of the same place."""
        root, name = self._place
        return Table._open, (os.path.abspath(root), name, self.version, self._branch)

    def __len__(self):
        return self.count_rows()

    @property
    def name(self):
        return self._name

    @property
    def path(self):
        """The directory of the table."""
        return self._path

    uri = path

    @property
    def version(self):
        """The number of the version that the table stands at."""
        return self._core.version

    @property
    def schema(self):
        """The columns as a ``pyarrow.Schema``."""
        return pyarrow().schema(self)

    def __arrow_c_schema__(self):
        return self._core.schema()

    @property
    def primary_key(self):
        """The columns that tell rows apart, as given when the table was made."""
        return self._core.primary_key()

    def info(self):
        """What the version is made of: rows, fragments, files, bytes, as a dict."""
        return self._core.info()

    stats = info

    # Writing

    def append(self, data, **options):
        """Append rows.

        data: anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``, a pandas DataFrame, a
        dict of columns, a list of dicts, or an iterator of batches or dicts, never held as a whole.

        Columns are matched by name; those that the data lacks become null. Values of other types
        are cast if that loses nothing.

        A source (``leman.webdataset()``, ``leman.parquet()``, ...) is loaded in parallel: several
        parts at once, committed in groups. What is in the table already is left out, so a load that
        was stopped goes on when it is made again. It takes these options, and returns a
        ``LoadResult``:

        max_parallelism: parts at once; None is one per processor.
        progress: called with a ``LoadProgress`` now and then; False stops the load.
        again: load also parts that are in the table already.
        one_commit: all parts are one version, there as a whole or not at all.
        commit_mb: a thread commits when its parts have this many megabytes; 256 unless told.
        """
        if isinstance(data, Source):
            return self._load(data, **options)
        _check_append(**options)
        with Rows(data, self._rows_schema()) as stream:
            self._core.append(stream, **write_options(**options))

    def append_from(self, sources, *, max_parallelism=None, progress=None, **options):
        """Append what generators give, several of them at once, as one version.

        sources: a function without arguments, an iterator or any data that ``append()`` takes, or a
            list of them. Functions are called, and iterators run, in threads of their own.
        """
        return self._load(
            Generators(sources),
            max_parallelism=max_parallelism,
            progress=progress,
            one_commit=True,
            **options,
        )

    def _load(self, source, **options):
        _check_append(**options)
        load, write = self._new_load(source, self._rows_schema(), options)
        return load.result(load.run(lambda: self._core.load(*load.arguments, **write)))

    def _stage(self, source, **options):
        """Write the rows of a source and commit nothing; (result, text for the commit)."""
        load, write = self._new_load(source, self._rows_schema(), options)
        numbers, staged = load.run(lambda: self._core.load_stage(*load.arguments, **write))
        return load.result(numbers), staged

    def _load_new(self, source, schema, **options):
        load, write = self._new_load(source, schema, options, is_new=True)
        self._core, numbers = load.run(
            lambda: _core.Table.load_new(*self._place, load.arguments, **write)
        )
        self._loaded = load.result(numbers)

    @staticmethod
    def _new_load(source, schema, options, is_new=False):
        own = {
            name: options.pop(name, None)
            for name in ("max_parallelism", "progress", "again", "one_commit", "commit_mb")
        }
        if "on_error" in options:
            raise TypeError(
                "on_error= is given to the source, as in leman.parquet(path, on_error=)"
            )
        own["again"] = bool(own["again"])
        own["one_commit"] = bool(own["one_commit"])
        return Load(source, schema, is_new=is_new, **own), write_options(**options)

    @property
    def loaded(self):
        """The ``LoadResult`` of the load that made this table, if ``create_table()`` did one."""
        return self._loaded

    _loaded = None

    def add(self, data, mode="append", **options):
        """The same as ``append()``, or ``overwrite()`` with ``mode="overwrite"``."""
        if mode == "append":
            self.append(data, **options)
        elif mode == "overwrite":
            self.overwrite(data, **options)
        else:
            raise ValueError(f'mode is "append" or "overwrite", not {mode!r}')

    def overwrite(self, data, schema=None, **options):
        """Replace all rows, and the schema, as a new version of the table."""
        with _rows_of_new(data, schema) as stream:
            self._core.overwrite(stream, **write_options(**options))

    def merge_insert(self, on=None):
        """Join rows by key; for what is done with them see ``MergeBuilder``.

        on: the key, a column or several; None takes the primary key.
        """
        return MergeBuilder(self, self._key(on))

    def insert(self, data, on=None, **others):
        """Append rows whose keys must not be there; returns a ``MergeResult``.

        data: see ``append()``; it is held in memory.
        on: the key, a column or several; None takes the primary key.
        """
        check_options(others)
        merge = self.merge_insert(on).when_matched_fail().when_not_matched_insert_all()
        return merge.execute(data)

    def upsert(self, data, on=None):
        """Replace the rows whose keys are there and append the others; returns a ``MergeResult``.

        data: see ``append()``; it is held in memory.
        on: the key, a column or several; None takes the primary key. Columns that the data lacks
        stay as they are in rows that are replaced.
        """
        merge = self.merge_insert(on).when_matched_update_all().when_not_matched_insert_all()
        return merge.execute(data)

    def _key(self, on):
        if on is None:
            on = self.primary_key
            if not on:
                raise ValueError("the table has no primary key; give the key columns as on=")
        return [on] if isinstance(on, str) else list(on)

    def delete(self, where, **others):
        """Delete the rows that match; returns their number."""
        check_options(others)
        if not isinstance(where, str):
            raise TypeError('where is a filter as text, e.g. "id = 3"; "true" deletes all rows')
        return self._core.delete(where)

    def update(self, where=None, updates=None, *, values=None, values_sql=None, **others):
        """Set columns of the rows that match; returns their number.

        where: a filter; None takes all rows.
        updates: expressions by column, computed from the row: ``{"x": "x + 1"}``. ``values_sql``
            is the same.
        values: Python values by column: ``{"label": "cat"}``.
        """
        check_options(others)
        check_where(where)
        expressions = {**(updates or {}), **(values_sql or {})}
        both = expressions.keys() & (values or {}).keys()
        if both:
            raise ValueError(f"{sorted(both)} have both a value and an expression")
        for name, value in (values or {}).items():
            expressions[name] = literal(value)
        if not expressions:
            raise ValueError('nothing to set; give values={"x": 3} or updates={"x": "x + 1"}')
        for name, expression in expressions.items():
            if not isinstance(expression, str):
                raise TypeError(
                    f"updates are expressions as text; the one of {name!r} is "
                    f"{expression!r}: give it in values="
                )
        return self._core.update(where, tuple(expressions.items()))

    # Columns

    def add_columns(self, columns, *, on=None, **others):
        """Add columns, without rewriting the others.

        columns: one of
            a dict of expressions over the row: ``{"area": "width * height"}``;
            a ``pyarrow.Schema``, or a field or list of fields: columns of nulls;
            data, as for ``append()``: columns that are joined to the rows by the key `on`, a column
            or several, or by position without one;
            functions made by ``@leman.udf``: ``{"caption": caption}``, with other inputs than the
            names of its arguments ``{"caption": (caption, ["image"])}``, or a function alone that
            returns ``leman.Columns``. The columns are empty until ``backfill()`` fills them; a
            function that is registered already is left as it is.
        """
        check_options(others)
        functions = _functions_in(columns)
        if functions:
            from leman import registry

            registry.add_functions(self, functions)
            if isinstance(columns, Mapping) and len(functions) < len(columns):
                named = {name for names, _, _ in functions for name in names}
                self.add_columns({k: v for k, v in columns.items() if k not in named}, on=on)
        elif _is_fields(columns):
            schema = as_schema([columns] if hasattr(columns, "nullable") else columns)
            self._core.add_null_columns(schema.__arrow_c_schema__())
        elif on is None and isinstance(columns, Mapping) and _are_texts(columns.values()):
            self._core.add_columns(tuple(columns.items()))
        else:
            on = [on] if isinstance(on, str) else on
            with Rows(columns, self._schema_of(on), loose=True) as stream:
                self._core.join_columns(stream, on)

    def drop_columns(self, columns):
        """Drop columns, or fields of structs by path; their data goes with ``cleanup()``."""
        self._core.drop_columns([columns] if isinstance(columns, str) else list(columns))

    def rename_column(self, column, name):
        """Give a column, or a field of a struct, another name."""
        self._core.rename_column(column, name)

    def alter_columns(self, *alterations):
        """Change columns, one dict each: ``{"path": "a", "rename": "b", "data_type": pa.int64()}``.

        rename: another name.
        data_type: a wider type; only this column, or the one the field is in, is rewritten.
        udf: another function, for a column that one fills; no data changes.
        group_size: how many rows a feed reads together; no data changes.

        Every change is a version of its own.
        """
        for alteration in alterations:
            rest = dict(alteration)
            path = rest.pop("path", None)
            name = rest.pop("rename", None) or rest.pop("name", None)
            kind = rest.pop("data_type", None)
            udf = rest.pop("udf", None)
            rows = rest.pop("group_size", None)
            given = any(what is not None for what in (name, kind, udf, rows))
            if path is None or rest or not given:
                raise ValueError(
                    'an alteration has "path" and "rename", "data_type", "udf" or "group_size", '
                    f"unlike {alteration}"
                )
            if rows is not None:
                self._core.set_read_group([path], check_group_size(rows))
            if udf is not None:
                from leman import registry

                registry.alter_function(self, path, udf)
            if kind is not None:
                field = pyarrow().field(path.rpartition(".")[2], kind)
                self._core.widen_column(path, field.__arrow_c_schema__())
            if name is not None:
                self._core.rename_column(path, name)

    def at(self, version):
        """The table's core at another version, for reading."""
        return _core.Table(*self._place, branch=self._branch, **version_options(version))

    def _schema_of(self, keys):
        """The types of key columns; None without keys, or where they cannot be told."""
        schema = self._known_schema() if keys else None
        if schema is None:
            return None
        return pyarrow().schema([field for field in schema if field.name in keys])

    def _rows_schema(self):
        """What rows that come in are: the schema, with blobs as bytes."""
        schema = self._known_schema()
        if schema is None or not any(has_structs(field.type) for field in schema):
            return schema
        return self.scan(limit=0, blobs="bytes").schema

    def _known_schema(self):
        """The schema, or None where there is no pyarrow to compare it by."""
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            return None
        return self.schema


def _is_fields(columns):
    """A schema, a field or a list of fields."""
    if isinstance(columns, (list, tuple)):
        return len(columns) > 0 and all(_is_fields(item) for item in columns)
    return hasattr(columns, "__arrow_c_schema__") and not hasattr(columns, "__arrow_c_stream__")


def _functions_in(columns):
    """Functions to register, among what is given; None without any."""
    values = columns.values() if isinstance(columns, Mapping) else [columns]
    marked = [
        hasattr(value[0] if isinstance(value, tuple) and value else value, "_leman_function")
        for value in values
    ]
    if not any(marked):
        return None
    from leman import registry

    return registry.split(columns)


def _are_texts(values):
    return all(isinstance(value, str) for value in values)


def _check_schema(table, schema):
    """Has a table that is there the columns that are asked for? It may have got others since."""
    schema = as_schema(schema)
    if schema is None:
        return
    there = table._rows_schema()
    for field in schema:
        index = there.get_field_index(field.name)
        if index < 0:
            raise _core.InvalidError(
                f'table {table.name!r} is there and has no column "{field.name}", but: '
                f"{', '.join(there.names)}"
            )
        if not same_type(field.type, there.field(index).type):
            raise _core.InvalidError(
                f'table {table.name!r} is there, and its column "{field.name}" is '
                f"{there.field(index).type}, not {field.type}"
            )


def _rows_of_new(data, schema):
    """The rows of a table that is made: data, or a schema, or both."""
    schema = as_schema(schema)
    if data is None:
        if schema is None:
            raise ValueError("a table is made of data, or of a schema")
        data = no_rows(schema)
    return Rows(data, schema, fill=True)


def local_path(uri):
    """The directory that a path or a ``file://`` URI is, wherever the process goes."""
    path = os.fspath(uri)
    if path.startswith("file://"):
        path = path.removeprefix("file://")
    elif "://" in path:
        raise _core.UnsupportedError(
            f"databases and tables are directories of this machine; "
            f"{path.partition('://')[0]}:// is not supported"
        )
    return os.path.abspath(os.path.expanduser(path)) if path else path


def open(path, version=None, branch=None):
    """Open the table in directory `path`.

    version: a number, the name of a tag, or a time; None is the newest.
    branch: the name of a branch, which is read and not written; None is the main one.
    """
    return Table(local_path(path), version, branch)


def create(path, data=None, schema=None, mode="create", exist_ok=False, **options):
    """Make a table in directory `path`; for the arguments see ``Database.create_table()``."""
    return Table._make(local_path(path), None, data, schema, mode, exist_ok, **options)
