# SPDX-License-Identifier: Apache-2.0
"""What users of LanceDB and pylance try, and where it is."""

_INDICES = "open the same directory with LanceDB"
_METADATA = "lance.dataset(table.path) changes metadata"
_CLONE = "copy the directory of the table"
_NAMESPACES = "a database is one directory; leman.connect() opens each folder"
_LANCE = "lance.dataset(table.path) has it"
_INFO = "info() tells it"
_VERSIONS = "versions() lists them, with what each did"
_ROWS = "it is an argument of scan()"
_VIEWS = "there are no views; add_columns() and backfill() fill columns of a table"
_FUNCTIONS = "add_columns({name: function}) registers functions, column_info() shows them"
_SECRETS = "leman.udf(secrets=) names what workers get from their environment"
_QUERIES = "duckdb.sql() and others take what scan() gives"
_NO_CLOSE = "there is nothing to close"

_TABLE = {
    "search": "for vector or full-text search open the same directory with LanceDB; "
    "rows are read by scan(), with where= as a filter",
    "vector_search": "for vector search open the same directory with LanceDB",
    "query": "rows are read by scan(columns=, where=, limit=)",
    "create_index": "open the same directory with LanceDB to build indices",
    "create_index_async": "open the same directory with LanceDB to build indices",
    "create_scalar_index": "open the same directory with LanceDB to build indices",
    "create_fts_index": "open the same directory with LanceDB to build indices",
    "drop_index": _INDICES,
    "list_indices": _INDICES,
    "describe_indices": _INDICES,
    "has_index": _INDICES,
    "index_stats": _INDICES,
    "index_statistics": _INDICES,
    "prewarm_index": _INDICES,
    "wait_for_index": _INDICES,
    "to_lance": "lance.dataset(table.path) opens the same table",
    "to_polars": "polars.DataFrame(table.scan()) takes the rows",
    "to_batches": "scan() iterates over batches",
    "to_table": "it is called to_arrow(); scan() takes columns, where and limit",
    "scanner": "it is called scan()",
    "filter": "scan(where=) filters rows",
    "sql": "duckdb.sql() and others take what scan() gives",
    "sample": "take() reads rows by position; feed() reads all of them shuffled",
    "take_offsets": "it is called take()",
    "take_row_ids": "it is called take_ids()",
    "fetch_blobs": "it is called take_blobs()",
    "fetch_blob_files": "it is called take_blobs()",
    "fetch_blob_ranges": "it is called take_blobs()",
    "read_blobs": "it is called take_blobs()",
    "merge": "add_columns(rows, on=) joins columns; upsert() and merge_insert() merge rows",
    "truncate_table": 'delete("true") deletes every row',
    "set_unenforced_primary_key": "create_table(primary_key=) names it",
    "replace_field_metadata": _METADATA,
    "update_field_metadata": _METADATA,
    "replace_schema_metadata": _METADATA,
    "update_schema_metadata": _METADATA,
    "update_metadata": _METADATA,
    "update_config": _METADATA,
    "get_fragments": "info() counts them; leman inspect TABLE --fragments lists them",
    "optimize": "call compact(), then cleanup()",
    "compact_files": "it is called compact()",
    "cleanup_old_versions": "it is called cleanup()",
    "checkout_version": "it is called checkout()",
    "latest_version": "refresh() goes to the newest version, version is its number",
    "validate": "it is called verify()",
    "create_branch": "branches are listed by branches() and read by leman.open(path, branch=name); "
    "lance.dataset(table.path).create_branch() makes one",
    "shallow_clone": _CLONE,
    "deep_clone": _CLONE,
    "refresh_column": "it is called backfill()",
    "get_errors": "it is called errors(column)",
    "function_errors": "it is called errors(column)",
    "get_failed_row_addresses": "where=\"leman_state('column') = 'failed'\" selects failed rows",
    "cleanup_checkpoints": "leman discard JOB drops what a job has not committed",
    "refresh_column_async": "it is called backfill()",
    "embedding_functions": "add_columns() takes functions that compute embeddings",
    "blob_columns": "the metadata of a field of the schema tells it",
    "current_branch": "leman.open(path, branch=name) reads one; without it, it is the main one",
    "close": _NO_CLOSE,
    "is_open": _NO_CLOSE,
    "id": "it is called name, and path is where it is",
    "data_storage_version": _INFO,
    "has_stable_row_ids": _INFO,
    "uses_v2_manifest_paths": "versions are named as they were; new tables have the new names",
    "migrate_v2_manifest_paths": _LANCE,
    "migrate_manifest_paths_v2": _LANCE,
    "fragment_ids": "leman inspect TABLE --fragments lists them",
    "get_fragment": "leman inspect TABLE --fragments lists them",
    "get_version": _VERSIONS,
    "version_refs": _VERSIONS,
    "get_transactions": _VERSIONS,
    "read_transaction": _VERSIONS,
    "delta": "it is called diff()",
    "explain_cleanup_old_versions": "cleanup(dry_run=True) counts what it would remove",
    "drop": "drop_table() of its database removes a table",
    "slice": "scan(offset=, limit=) reads some of the rows",
    "sort_by": "to_arrow().sort_by() sorts the rows",
    "join": "add_columns(rows, on=) joins columns",
    "join_asof": _QUERIES,
    "metadata": "schema.metadata has it",
    "schema_metadata": "schema.metadata has it",
    "lance_schema": "it is called schema",
    "config": _LANCE,
    "delete_config_keys": _METADATA,
    "replace_schema": "add_columns(), alter_columns() and drop_columns() change it",
    "read_blob_ranges": "it is called take_blobs()",
    "all_files": "leman inspect TABLE --fragments lists them",
    "tracked_files": "leman inspect TABLE --fragments lists them",
    "tokenize": _INDICES,
    "infer_tokenizer_configs": _INDICES,
    "prewarm_data": "feed(cache_dir=) keeps what it reads; leman cache warm reads ahead",
    "create_index_uncommitted": _INDICES,
    "commit": _LANCE,
    "commit_batch": _LANCE,
}

_DATABASE = {
    "table_exists": "`name in db.list_tables()` tells it",
    "drop_all_tables": "drop_table() each of list_tables()",
    "drop_database": "drop_table() each of list_tables(), then remove the directory",
    "clone_table": _CLONE,
    "create_namespace": _NAMESPACES,
    "describe_namespace": _NAMESPACES,
    "drop_namespace": _NAMESPACES,
    "list_namespaces": _NAMESPACES,
    "list_jobs": "it is called jobs()",
    "open_job": "it is called job(id)",
    "cancel_job": "job(id).cancel() stops it",
    "pause_job": "job(id).cancel() stops it, and the same backfill() goes on",
    "resume_job": "the same backfill() goes on",
    "close": _NO_CLOSE,
    "is_open": _NO_CLOSE,
    "drop_table_async": "it is called drop_table()",
    "create_function": _FUNCTIONS,
    "get_function": _FUNCTIONS,
    "list_functions": _FUNCTIONS,
    "drop_function": "drop_columns() drops a column with its function",
    "create_secret": _SECRETS,
    "list_secrets": _SECRETS,
    "drop_secret": _SECRETS,
    "create_view": _VIEWS,
    "list_views": _VIEWS,
    "drop_view": _VIEWS,
    "create_materialized_view": _VIEWS,
    "open_materialized_view": _VIEWS,
    "list_materialized_views": _VIEWS,
    "drop_materialized_view": _VIEWS,
    "execute_query": _QUERIES,
    "sql": _QUERIES,
    "namespace_exists": _NAMESPACES,
    "namespace_client": _NAMESPACES,
    "read_consistency_interval": "a table stands at its version; refresh() moves it",
}

_SCAN = {
    "select": "columns is an argument of scan()",
    "where": _ROWS,
    "filter": "where is an argument of scan()",
    "limit": _ROWS,
    "offset": _ROWS,
    "with_row_id": _ROWS,
    "with_row_address": _ROWS,
    "to_list": "it is called to_pylist()",
    "to_df": "it is called to_pandas()",
    "to_polars": "polars.DataFrame(scan) takes the rows",
    "to_duckdb": _QUERIES,
    "order_by": "to_arrow().sort_by() sorts the rows",
    "sort_by": "to_arrow().sort_by() sorts the rows",
    "count_rows": "a table has count_rows(where)",
}

_MODULE = {
    "dataset": "leman.open(path) opens a table",
    "write_dataset": "leman.create(path, data) makes a table, Table.append() adds to one",
    "connect_async": "leman.connect() opens a database",
    "LanceModel": "a schema is one of pyarrow; rows may be models of pydantic",
    "pydantic": "a schema is one of pyarrow; rows may be models of pydantic",
    "embeddings": "add_columns() takes functions that compute embeddings",
}

_KNOWN = {"table": _TABLE, "database": _DATABASE, "scan": _SCAN}

_OPTIONS = {
    "filter": "it is called where",
    "on_bad_vectors": "rows are stored as they are, or refused",
    "fill_value": "rows are stored as they are, or refused",
    "embedding_functions": "add_columns() takes functions that compute embeddings",
    "storage_options": "a database is a directory of this machine",
    "api_key": "a database is a directory of this machine",
    "region": "a database is a directory of this machine",
    "namespace_path": _NAMESPACES,
    "read_consistency_interval": "a table stands at its version; refresh() moves it",
    "index_cache_size": _INDICES,
    "session": "each table keeps what it has read of its files",
    "enable_v2_manifest_paths": "new tables have them",
    "max_rows_per_file": "it is called max_rows_per_fragment",
    "max_bytes_per_file": "it is called max_bytes_per_fragment",
    "max_rows_per_group": "pages are cut by their bytes",
    "enable_stable_row_ids": "new tables have them",
    "write_parallelism": "append_from(generators, max_parallelism=) writes several streams at once",
    "transaction_properties": "message= is kept with the version",
    "commit_message": "it is called message",
}


def no_method(kind, name):
    """The error for a name that a table, a database or a scan does not have."""
    known = _KNOWN[kind].get(name)
    if known is None:
        return AttributeError(f"{kind.capitalize()!r} object has no attribute {name!r}")
    return AttributeError(f"a {kind} has no {name}(): {known}")


def no_name(name):
    """The error for a name that the module does not have."""
    known = _MODULE.get(name)
    text = f"module 'leman' has no attribute {name!r}"
    return AttributeError(text if known is None else f"{text}: {known}")


def check_options(options):
    """Raise for an option that a call does not have."""
    for name in options:
        known = _OPTIONS.get(name)
        text = f"there is no option {name!r}"
        raise TypeError(text if known is None else f"{text}: {known}")
