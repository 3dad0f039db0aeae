# SPDX-License-Identifier: Apache-2.0
"""What users of LanceDB, pylance and Space try, and where it is."""

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
_SEARCH = "for vector or full-text search open the same directory with LanceDB"
_HERE = "databases and tables are directories of this machine"
_READS = "a scan reads ahead within a bound of bytes, and gives rows in order"
_RETRIES = "what another writer did meanwhile is rebased on, and retried"
_COMMITS = "every write is a commit, on the device when the call returns"
_RECORD_BATCH = "to_arrow() gives a pyarrow.RecordBatch, which has it"
_ARROW = "to_arrow() gives a pyarrow.Table, which has it"
_BRANCHES_MADE = "lance.dataset(table.path).create_branch() makes one; they are read, not written"
_PLANS = "there is no plan to show"


def _all(names, text):
    return dict.fromkeys(names.split(), text)


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
    "num_rows": "count_rows() counts them",
    "shape": "count_rows() counts rows, schema has the columns",
    "columns": "schema.names has their names; scan(columns=) reads some of them",
    "column_names": "schema.names has them",
    "select": "scan(columns=) reads some of the columns",
    "where": "scan(where=) filters rows",
    "limit": "scan(limit=) reads the first rows",
    "to_pylist": "scan().to_pylist() has it",
    "to_df": "it is called to_pandas()",
    "rename": "rename_table() of its database renames it",
    "rename_columns": "rename_column() renames one",
    "create": "leman.create() makes a table",
    "open": "leman.open() opens a table",
    "namespace": _NAMESPACES,
    "remap_row_addrs": "row ids stay; take_ids() reads by them",
    "from_pydantic_model": "a schema is one of pyarrow; rows may be models of pydantic",
    # Those of Space.
    "read": "rows are read by scan()",
    "read_all": "it is called to_arrow()",
    "local": "a table itself has append(), upsert(), delete() and scan()",
    "index_files": "to_parquet() writes rows as Parquet",
    "append_parquet": "append(leman.parquet(paths)) loads files",
    "append_array_record": "append(leman.array_record(paths)) loads files",
    "add_tag": "tags.create(name) names a version",
    "remove_tag": "tags.delete(name) takes a name away",
    "set_current_branch": _BRANCHES_MADE,
    "primary_keys": "it is called primary_key",
    "record_fields": "leman.blob() is the type of columns of large values",
    "map_batches": _FUNCTIONS,
    "materialize": _VIEWS,
    **_all("to_list to_pydict to_dict", "scan().to_arrow() and to_pylist() have it"),
    **_all("copy clone", _CLONE),
    **_all("iter_batches batches", "scan() iterates over batches"),
    **_all("fragments", "leman inspect TABLE --fragments lists them"),
    **_all("explain_plan analyze_plan", _PLANS),
    **_all("flush sync flush_lsm checkpoint_lsm compact_lsm close_lsm_writers", _COMMITS),
    **_all("get_lsm_stats get_lsm_write_spec set_lsm_write_spec unset_lsm_write_spec", _COMMITS),
    **_all("initial_storage_options latest_storage_options storage_options_accessor", _HERE),
    **_all("centroids get_ivf_model merge_index_metadata", _INDICES),
    **_all("commit_existing_index_segments merge_existing_index_segments", _INDICES),
    **_all("add_bases base_paths max_field_id session new_file_session", _LANCE),
    **_all("io_stats_incremental io_stats_snapshot partition_expression", _LANCE),
    **_all("initialize_mem_wal mem_wal_index_details mem_wal_writer", _LANCE),
    **_all("add_branch remove_branch delete_branch", _BRANCHES_MADE),
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
    "serialize": "leman.connect(db.uri) opens it again",
    "session": "each table keeps what it has read of its files",
    "drop_tables": "drop_table() drops one",
    # Those of Space.
    "create_dataset": "it is called create_table()",
    "dataset": "it is called open_table()",
    "datasets": "it is called list_tables()",
    "delete_dataset": "it is called drop_table()",
    "materialize": _VIEWS,
    **_all(
        "read_consistency_interval get_read_consistency_interval",
        "a table stands at its version; refresh() moves it",
    ),
    **_all("create_function_async drop_function_async", _FUNCTIONS),
    **_all("alter_secret describe_secret", _SECRETS),
    **_all("describe_view drop_view_async create_materialized_view_async", _VIEWS),
    **_all("drop_materialized_view_async", _VIEWS),
    **_all("describe_query execute_query_async", _QUERIES),
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
    "num_rows": "count_rows(where) of the table counts them, len(to_arrow()) those of a scan",
    "head": "limit is an argument of scan()",
    "take": "a table has take(positions)",
    "scan_batches": "it iterates over batches",
    "to_scanner": "it is read by to_arrow(), to_pandas() and others, or by iteration",
    "to_pydantic": "Model(**row) makes one of each row of to_pylist()",
    "to_pydict": _ARROW,
    **_all("columns batch_size", _ROWS),
    **_all("projected_schema output_schema dataset_schema", "it is called schema"),
    **_all("explain_plan analyze_plan to_query_object scan_stats_callback", _PLANS),
    **_all("batch_readahead fragment_readahead io_buffer_size batch_size_bytes", _READS),
    **_all("late_materialization scan_in_order strict_batch_size use_stats use_lsm", _READS),
    **_all("with_fragments fragment_ids include_deleted_rows substrait_aggregate", _LANCE),
    **_all("blob_handling", "blobs is an argument of scan()"),
    **_all("vector text nearest full_text_search minhash_search metric distance_type", _SEARCH),
    **_all("distance_range nprobes minimum_nprobes maximum_nprobes refine_factor ef", _SEARCH),
    **_all("bypass_vector_index fast_search rerank prefilter postfilter", _SEARCH),
    **_all("use_scalar_index with_index_segments row_addr_prefilter", _SEARCH),
    **_all("disable_scoring_autoprojection", _SEARCH),
}

_BATCH = {
    "to_list": "it is called to_pylist()",
    **_all("schema column columns column_names num_columns to_pydict select slice", _RECORD_BATCH),
    **_all("filter take sort_by field itercolumns nbytes", _RECORD_BATCH),
    **_all("to_batches to_table combine_chunks", "pyarrow.table(batch) makes a table of it"),
}

_MERGE = {
    "execute_batches": "execute() takes an iterator of batches",
    "use_index": "keys are joined without an index",
    "data_storage_version": "a table stays in the version that it was made in",
    **_all("conflict_retries retry_timeout", _RETRIES),
    **_all("explain_plan analyze_plan analyze_plan_batches", _PLANS),
    **_all("use_lsm validate_single_shard", _COMMITS),
    **_all("execute_uncommitted execute_uncommitted_batches write_mode", _LANCE),
    **_all("target_bases target_all_bases mark_sstables_as_compacted", _LANCE),
}

_TAGS = {
    "list_ordered": "list() has all of them",
    "replace_metadata": _LANCE,
}

_BRANCHES = {
    "list": "branches() lists them",
    "list_ordered": "branches() lists them",
    "create": _BRANCHES_MADE,
    "checkout": "leman.open(path, branch=name) reads one",
    "delete": "lance.dataset(table.path).branches.delete() removes one",
    "replace_metadata": _LANCE,
}

_MODULE = {
    "dataset": "leman.open(path) opens a table",
    "write_dataset": "leman.create(path, data) makes a table, Table.append() adds to one",
    "connect_async": "leman.connect() opens a database",
    "batch_udf": "leman.udf makes functions for add_columns()",
    "Dataset": "leman.create() makes a table, leman.open() opens one",
    "DirCatalog": "leman.connect(folder) opens a folder of tables",
    "Session": "each table keeps what it has read of its files",
    **_all("LanceModel pydantic", "a schema is one of pyarrow; rows may be models of pydantic"),
    **_all("embeddings", "add_columns() takes functions that compute embeddings"),
    **_all("col lit func Expr expr", "filters and expressions are text, as in SQL"),
    **_all("vector Vector", "pyarrow.list_(pyarrow.float32(), n) is the type of n numbers"),
    **_all("LanceDataset LanceTable", "leman.open() gives a leman.Table"),
    **_all("DBConnection LanceDBConnection", "leman.connect() gives a leman.Database"),
    **_all("connect_namespace connect_namespace_async connect_catalog", _NAMESPACES),
    **_all(
        "blob_field blob_array Blob BlobColumn", "leman.blob() is the type of a column of blobs"
    ),
    **_all("LanceFragment FragmentMetadata LanceOperation Transaction", "pylance has it"),
    **_all("rerankers index query", _SEARCH),
}

_KNOWN = {
    "Table": ("a table has", _TABLE),
    "Database": ("a database has", _DATABASE),
    "Scan": ("a scan has", _SCAN),
    "Batch": ("a batch has", _BATCH),
    "MergeBuilder": ("a merge has", _MERGE),
    "Tags": ("tags have", _TAGS),
    "Branches": ("branches have", _BRANCHES),
}

_OPTIONS = {
    "filter": "it is called where",
    "on_bad_vectors": "rows are stored as they are, or refused",
    "fill_value": "rows are stored as they are, or refused",
    "embedding_functions": "add_columns() takes functions that compute embeddings",
    **_all("namespace_path cur_namespace_path new_namespace_path", _NAMESPACES),
    **_all("storage_options api_key region host_override client_config", _HERE),
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
    "mode": 'append() adds rows, overwrite() replaces them, add() takes mode="overwrite"',
    "progress": "loads of sources report it, such as append(leman.parquet(paths), progress=)",
    "order_by": "to_arrow().sort_by() sorts the rows",
    "blob_mode": 'scan(blobs="bytes") reads blobs',
    "condition": "it is called where",
    "expr": "it is called condition",
    "reference": "it is called version",
    "branch": "leman.open(path, branch=name) reads one",
    "retain_versions": "older_than= says which versions go, tags keep some",
    "delete_rate_limit": "older_than= says which versions go, tags keep some",
    "error_if_tagged_old_versions": "keep_tagged= says whether they stay",
    "materialize_deletions": "deleted_share= says when deleted rows are dropped",
    "materialize_deletions_threshold": "it is called deleted_share",
    "read_columns": "an expression names the columns that it reads",
    "reader_schema": "an iterator gives batches, which have it",
    "schema": "rows are cast to the schema of the table",
    "addresses": "rows have positions and row ids",
    "ids": "it is called row_ids",
    "indices": "it is called positions",
    "num_threads": "threads are as many as there are processors",
    **_all("conflict_retries retry_timeout timeout", _RETRIES),
    **_all("limit offset batch_size with_row_id with_row_address", "scan() takes it"),
    **_all("batch_readahead fragment_readahead io_buffer_size batch_size_bytes", _READS),
    **_all("late_materialization scan_in_order strict_batch_size use_stats", _READS),
    **_all("fragments include_deleted_rows substrait_filter", _LANCE),
    **_all("nearest full_text_query prefilter fast_search use_scalar_index", _SEARCH),
}


def no_method(kind, name):
    """The error for a name that an object of ours, by the name of its class, does not have."""
    who, names = _KNOWN[kind]
    if name not in names:
        return AttributeError(f"{kind!r} object has no attribute {name!r}")
    return AttributeError(f"{who} no {name}(): {names[name]}")


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
