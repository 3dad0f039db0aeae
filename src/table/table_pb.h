/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_pb.h - the messages of a table: manifest, fragments, transactions.
 *
 * What a rewrite does not touch is carried as bytes: fragments and fields of a manifest are spans
 * that are decoded when somebody looks at them, and unknown fields are kept.
 */
#ifndef LMN_TABLE_TABLE_PB_H
#define LMN_TABLE_TABLE_PB_H

#include "format/file_pb.h"

/* lance.table.DataFile: a file of a fragment, and which fields of the table it holds. */
struct lmn__pb_data_file {
    struct lmn__span path;       /* inside data/ */
    struct lmn__pb_u64s fields;  /* field ids, as int32; -2: that column is dead */
    struct lmn__pb_u64s columns; /* column of the file for each, as int32; -1: it has none */
    uint32_t major, minor;       /* version of the file */
    uint64_t bytes;              /* 0: not known */
    bool has_base;
    uint32_t base; /* id of a base path */
    struct lmn__span unknown;
};

/* lance.table.DeletionFile */
struct lmn__pb_deletion_file {
    uint32_t type; /* 0: Arrow, 1: bitmap */
    uint64_t read_version;
    uint64_t id;
    uint64_t row_count;
    bool has_base;
    uint32_t base;
    struct lmn__span unknown;
};

/* lance.table.DataFragment */
struct lmn__pb_fragment {
    uint64_t id;
    struct lmn__pb_list files; /* struct lmn__pb_data_file */
    struct lmn__pb_deletion_file *deletion;
    uint64_t row_count;          /* deleted ones included */
    struct lmn__span row_ids;    /* a RowIdSequence */
    struct lmn__span updated_at; /* RowDatasetVersionSequence of the last update of each row */
    struct lmn__span created_at; /* the same of its creation */
    struct lmn__pb_spans overlays;
    struct lmn__span unknown;
};
extern const struct lmn__pb_message lmn__pb_fragment_message;

struct lmn__pb_timestamp {
    int64_t seconds;
    int32_t nanos;
};

struct lmn__pb_writer_version {
    struct lmn__span library;
    struct lmn__span version;
    struct lmn__span unknown;
};

struct lmn__pb_data_format {
    struct lmn__span file_format;
    struct lmn__span version;
    struct lmn__span unknown;
};

/* lance.table.BasePath: another directory that holds files of the table. */
struct lmn__pb_base_path {
    uint32_t id;
    struct lmn__span name;
    bool is_table_root; /* then files lie in its data/, _deletions/ */
    struct lmn__span path;
    struct lmn__span unknown;
};

/* lance.table.Manifest */
struct lmn__pb_manifest {
    struct lmn__pb_list fields;     /* struct lmn__pb_schema_field */
    struct lmn__pb_spans fragments; /* struct lmn__pb_fragment, encoded */
    uint64_t version;
    uint64_t aux_position;               /* of early writers; not carried on */
    struct lmn__pb_list schema_metadata; /* struct lmn__pb_entry */
    bool has_index_section;
    uint64_t index_section;
    struct lmn__pb_timestamp *timestamp;
    struct lmn__span tag; /* of early writers; not carried on */
    uint64_t reader_flags;
    uint64_t writer_flags;
    bool has_fragment_id_max;
    uint32_t fragment_id_max; /* ever used */
    struct lmn__span transaction_file;
    struct lmn__pb_writer_version *writer_version;
    uint64_t next_row_id;
    struct lmn__pb_data_format *data_format;
    struct lmn__pb_list config;         /* struct lmn__pb_entry */
    struct lmn__pb_list base_paths;     /* struct lmn__pb_base_path */
    struct lmn__pb_list table_metadata; /* struct lmn__pb_entry */
    struct lmn__span branch;
    bool has_early_transaction; /* a position that early writers meant; not carried on */
    uint64_t early_transaction;
    bool has_transaction_section;
    uint64_t transaction_section;
    bool has_field_id_max;
    int32_t field_id_max; /* ever used, where the writer keeps it */
    struct lmn__span unknown;
};
extern const struct lmn__pb_message lmn__pb_manifest_message;

/* lance.table.IndexMetadata, as far as a writer of data must know it. */
struct lmn__pb_index {
    struct lmn__span uuid;      /* a struct lmn__pb_uuid; its files are in _indices/<uuid> */
    struct lmn__pb_u64s fields; /* field ids, as int32 */
    struct lmn__span name;
    uint64_t version;
    struct lmn__span fragment_bitmap; /* a 32-bit Roaring bitmap of fragment ids */
    struct lmn__span details;         /* a struct lmn__pb_any: what kind of index it is */
    struct lmn__span unknown;
};

struct lmn__pb_index_section {
    struct lmn__pb_list indices; /* struct lmn__pb_index */
    struct lmn__span unknown;
};
extern const struct lmn__pb_message lmn__pb_index_section_message;

struct lmn__pb_uuid {
    struct lmn__span bytes; /* 16 */
};
extern const struct lmn__pb_message lmn__pb_uuid_message;

/* The operations of a transaction. Fragments are struct lmn__pb_fragment. */
struct lmn__pb_append {
    struct lmn__pb_list fragments;
};

struct lmn__pb_delete {
    struct lmn__pb_list updated;
    struct lmn__pb_u64s removed; /* fragment ids */
    struct lmn__span predicate;
};

struct lmn__pb_overwrite {
    struct lmn__pb_list fragments;
    struct lmn__pb_list fields; /* struct lmn__pb_schema_field */
    struct lmn__pb_list schema_metadata;
    struct lmn__pb_list config;
};

struct lmn__pb_rewrite_group {
    struct lmn__pb_list before;
    struct lmn__pb_list after;
};

struct lmn__pb_rewrite {
    struct lmn__pb_list before; /* obsolete form, without groups */
    struct lmn__pb_list after;
    struct lmn__pb_list groups; /* struct lmn__pb_rewrite_group */
    struct lmn__pb_spans rewritten_indices;
};

struct lmn__pb_merge {
    struct lmn__pb_list fragments; /* all of them */
    struct lmn__pb_list fields;
    struct lmn__pb_list schema_metadata;
    bool keeps_nullability;
};

struct lmn__pb_restore {
    uint64_t version;
};

struct lmn__pb_reserve {
    uint32_t fragment_count;
};

struct lmn__pb_update {
    struct lmn__pb_u64s removed; /* fragment ids */
    struct lmn__pb_list updated;
    struct lmn__pb_list added;
    struct lmn__pb_u64s fields_modified;
    struct lmn__pb_u64s fields_preserving; /* indices on them keep covering the added fragments */
    uint32_t mode;                         /* 0: rows move, 1: columns are rewritten in place */
    struct lmn__span inserted_rows;        /* a filter of the keys that were inserted */
    struct lmn__span unknown;
};

struct lmn__pb_project {
    struct lmn__pb_list fields;
    bool keeps_nullability;
};

struct lmn__pb_replacement {
    uint64_t fragment_id;
    struct lmn__pb_data_file *file;
};

struct lmn__pb_data_replacement {
    struct lmn__pb_list replacements; /* struct lmn__pb_replacement */
};

/* lance.table.Transaction; one operation is there, or none that we know. */
struct lmn__pb_transaction {
    uint64_t read_version;
    struct lmn__span uuid;
    struct lmn__pb_list properties; /* struct lmn__pb_entry */
    struct lmn__pb_append *append;
    struct lmn__pb_delete *delete;
    struct lmn__pb_overwrite *overwrite;
    struct lmn__span create_index;
    struct lmn__pb_rewrite *rewrite;
    struct lmn__pb_merge *merge;
    struct lmn__pb_restore *restore;
    struct lmn__pb_reserve *reserve;
    struct lmn__pb_update *update;
    struct lmn__pb_project *project;
    struct lmn__span update_config;
    struct lmn__pb_data_replacement *data_replacement;
    struct lmn__span mem_wal;
    struct lmn__span clone;
    struct lmn__span update_bases;
    struct lmn__span unknown;
};
extern const struct lmn__pb_message lmn__pb_transaction_message;

/* lance.table.U64Segment and its parts. */
struct lmn__pb_u64_array {
    uint64_t base;
    struct lmn__span bytes; /* offsets from the base, or values */
};

struct lmn__pb_encoded_array {
    struct lmn__pb_u64_array *u16;
    struct lmn__pb_u64_array *u32;
    struct lmn__pb_u64_array *u64;
};

struct lmn__pb_u64_range {
    uint64_t start, end;
    struct lmn__pb_encoded_array *holes;
    struct lmn__span bitmap;
};

struct lmn__pb_u64_segment {
    struct lmn__pb_u64_range *range;
    struct lmn__pb_u64_range *range_with_holes;
    struct lmn__pb_u64_range *range_with_bitmap;
    struct lmn__pb_encoded_array *sorted;
    struct lmn__pb_encoded_array *array;
};

struct lmn__pb_row_ids {
    struct lmn__pb_list segments; /* struct lmn__pb_u64_segment */
};
extern const struct lmn__pb_message lmn__pb_row_ids_message;

struct lmn__pb_version_run {
    struct lmn__pb_u64_segment *span; /* only its length counts */
    uint64_t version;
};

struct lmn__pb_row_versions {
    struct lmn__pb_list runs; /* struct lmn__pb_version_run */
};
extern const struct lmn__pb_message lmn__pb_row_versions_message;

#endif
