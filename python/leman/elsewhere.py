# SPDX-License-Identifier: Apache-2.0
"""What users of LanceDB and pylance try, and where it is."""

_INDICES = "open the same directory with LanceDB"
_METADATA = "lance.dataset(table.path) changes metadata"
_CLONE = "copy the directory of the table"
_NAMESPACES = "a database is one directory; leman.connect() opens each folder"

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
}


def no_method(kind, name):
    """The error for a name that a table or a database does not have."""
    known = (_TABLE if kind == "table" else _DATABASE).get(name)
    if known is None:
        return AttributeError(f"{kind.capitalize()!r} object has no attribute {name!r}")
    return AttributeError(f"a {kind} has no {name}(): {known}")
