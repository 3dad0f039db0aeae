/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table_pb.h"

#define FIELD(number, kind, type, member)                                                          \
    { number, kind, 0, offsetof(struct type, member), 0, NULL }
#define OPTIONAL(number, kind, type, member, has)                                                  \
    { number, kind, LMN__PB_PRESENCE, offsetof(struct type, member), offsetof(struct type, has),   \
      NULL }
#define MANY(number, kind, type, member)                                                           \
    { number, kind, LMN__PB_REPEATED, offsetof(struct type, member), 0, NULL }
#define LIST(number, type, member, message)                                                        \
    { number, LMN__PB_MESSAGE, LMN__PB_REPEATED, offsetof(struct type, member), 0, &message }
#define CHILD(number, type, member, message)                                                       \
    { number, LMN__PB_MESSAGE, 0, offsetof(struct type, member), 0, &message }
#define MESSAGE(name, type, fields)                                                                \
    { name, fields, sizeof fields / sizeof fields[0], sizeof(struct type), 0, false }
#define KEEPING(name, type, fields)                                                                \
    { name,                                                                                        \
      fields,                                                                                      \
      sizeof fields / sizeof fields[0],                                                            \
      sizeof(struct type),                                                                         \
      offsetof(struct type, unknown),                                                              \
      true }

static const struct lmn__pb_field data_file_fields[] = {
    FIELD(1, LMN__PB_BYTES, lmn__pb_data_file, path),
    MANY(2, LMN__PB_I32, lmn__pb_data_file, fields),
    MANY(3, LMN__PB_I32, lmn__pb_data_file, columns),
    FIELD(4, LMN__PB_U32, lmn__pb_data_file, major),
    FIELD(5, LMN__PB_U32, lmn__pb_data_file, minor),
    FIELD(6, LMN__PB_U64, lmn__pb_data_file, bytes),
    OPTIONAL(7, LMN__PB_U32, lmn__pb_data_file, base, has_base),
};
static const struct lmn__pb_message data_file_message = KEEPING("DataFile", lmn__pb_data_file,
                                                                data_file_fields);

static const struct lmn__pb_field deletion_fields[] = {
    FIELD(1, LMN__PB_U32, lmn__pb_deletion_file, type),
    FIELD(2, LMN__PB_U64, lmn__pb_deletion_file, read_version),
    FIELD(3, LMN__PB_U64, lmn__pb_deletion_file, id),
    FIELD(4, LMN__PB_U64, lmn__pb_deletion_file, row_count),
    OPTIONAL(7, LMN__PB_U32, lmn__pb_deletion_file, base, has_base),
};
static const struct lmn__pb_message deletion_message = KEEPING(
    "DeletionFile", lmn__pb_deletion_file, deletion_fields);

static const struct lmn__pb_field fragment_fields[] = {
    FIELD(1, LMN__PB_U64, lmn__pb_fragment, id),
    LIST(2, lmn__pb_fragment, files, data_file_message),
    CHILD(3, lmn__pb_fragment, deletion, deletion_message),
    FIELD(4, LMN__PB_U64, lmn__pb_fragment, row_count),
    FIELD(5, LMN__PB_BYTES, lmn__pb_fragment, row_ids),
    FIELD(7, LMN__PB_BYTES, lmn__pb_fragment, updated_at),
    FIELD(9, LMN__PB_BYTES, lmn__pb_fragment, created_at),
    MANY(11, LMN__PB_BYTES, lmn__pb_fragment, overlays),
};
const struct lmn__pb_message lmn__pb_fragment_message = KEEPING("DataFragment", lmn__pb_fragment,
                                                                fragment_fields);

static const struct lmn__pb_field timestamp_fields[] = {
    FIELD(1, LMN__PB_I64, lmn__pb_timestamp, seconds),
    FIELD(2, LMN__PB_I32, lmn__pb_timestamp, nanos),
};
static const struct lmn__pb_message timestamp_message = MESSAGE("Timestamp", lmn__pb_timestamp,
                                                                timestamp_fields);

static const struct lmn__pb_field writer_version_fields[] = {
    FIELD(1, LMN__PB_BYTES, lmn__pb_writer_version, library),
    FIELD(2, LMN__PB_BYTES, lmn__pb_writer_version, version),
};
static const struct lmn__pb_message writer_version_message = KEEPING(
    "WriterVersion", lmn__pb_writer_version, writer_version_fields);

static const struct lmn__pb_field data_format_fields[] = {
    FIELD(1, LMN__PB_BYTES, lmn__pb_data_format, file_format),
    FIELD(2, LMN__PB_BYTES, lmn__pb_data_format, version),
};
static const struct lmn__pb_message data_format_message = KEEPING(
    "DataStorageFormat", lmn__pb_data_format, data_format_fields);

static const struct lmn__pb_field base_path_fields[] = {
    FIELD(1, LMN__PB_U32, lmn__pb_base_path, id),
    FIELD(2, LMN__PB_BYTES, lmn__pb_base_path, name),
    FIELD(3, LMN__PB_BOOL, lmn__pb_base_path, is_table_root),
    FIELD(4, LMN__PB_BYTES, lmn__pb_base_path, path),
};
static const struct lmn__pb_message base_path_message = KEEPING("BasePath", lmn__pb_base_path,
                                                                base_path_fields);

static const struct lmn__pb_field manifest_fields[] = {
    LIST(1, lmn__pb_manifest, fields, lmn__pb_schema_field_message),
    MANY(2, LMN__PB_BYTES, lmn__pb_manifest, fragments),
    FIELD(3, LMN__PB_U64, lmn__pb_manifest, version),
    FIELD(4, LMN__PB_U64, lmn__pb_manifest, aux_position),
    LIST(5, lmn__pb_manifest, schema_metadata, lmn__pb_entry_message),
    OPTIONAL(6, LMN__PB_U64, lmn__pb_manifest, index_section, has_index_section),
    CHILD(7, lmn__pb_manifest, timestamp, timestamp_message),
    FIELD(8, LMN__PB_BYTES, lmn__pb_manifest, tag),
    FIELD(9, LMN__PB_U64, lmn__pb_manifest, reader_flags),
    FIELD(10, LMN__PB_U64, lmn__pb_manifest, writer_flags),
    OPTIONAL(11, LMN__PB_U32, lmn__pb_manifest, fragment_id_max, has_fragment_id_max),
    FIELD(12, LMN__PB_BYTES, lmn__pb_manifest, transaction_file),
    CHILD(13, lmn__pb_manifest, writer_version, writer_version_message),
    FIELD(14, LMN__PB_U64, lmn__pb_manifest, next_row_id),
    CHILD(15, lmn__pb_manifest, data_format, data_format_message),
    LIST(16, lmn__pb_manifest, config, lmn__pb_entry_message),
    LIST(18, lmn__pb_manifest, base_paths, base_path_message),
    LIST(19, lmn__pb_manifest, table_metadata, lmn__pb_entry_message),
    FIELD(20, LMN__PB_BYTES, lmn__pb_manifest, branch),
    OPTIONAL(21, LMN__PB_U64, lmn__pb_manifest, early_transaction, has_early_transaction),
    OPTIONAL(23, LMN__PB_U64, lmn__pb_manifest, transaction_section, has_transaction_section),
    OPTIONAL(24, LMN__PB_I32, lmn__pb_manifest, field_id_max, has_field_id_max),
};
const struct lmn__pb_message lmn__pb_manifest_message = KEEPING("Manifest", lmn__pb_manifest,
                                                                manifest_fields);

static const struct lmn__pb_field index_fields[] = {
    FIELD(1, LMN__PB_BYTES, lmn__pb_index, uuid),
    MANY(2, LMN__PB_I32, lmn__pb_index, fields),
    FIELD(3, LMN__PB_BYTES, lmn__pb_index, name),
    FIELD(4, LMN__PB_U64, lmn__pb_index, version),
    FIELD(5, LMN__PB_BYTES, lmn__pb_index, fragment_bitmap),
    FIELD(6, LMN__PB_BYTES, lmn__pb_index, details),
};
static const struct lmn__pb_message index_message = KEEPING("IndexMetadata", lmn__pb_index,
                                                            index_fields);

static const struct lmn__pb_field index_section_fields[] = {
    LIST(1, lmn__pb_index_section, indices, index_message),
};
const struct lmn__pb_message lmn__pb_index_section_message = KEEPING(
    "IndexSection", lmn__pb_index_section, index_section_fields);

static const struct lmn__pb_field uuid_fields[] = {
    FIELD(1, LMN__PB_BYTES, lmn__pb_uuid, bytes),
};
const struct lmn__pb_message lmn__pb_uuid_message = MESSAGE("UUID", lmn__pb_uuid, uuid_fields);

static const struct lmn__pb_field append_fields[] = {
    LIST(1, lmn__pb_append, fragments, lmn__pb_fragment_message),
};
static const struct lmn__pb_message append_message = MESSAGE("Append", lmn__pb_append,
                                                             append_fields);

static const struct lmn__pb_field delete_fields[] = {
    LIST(1, lmn__pb_delete, updated, lmn__pb_fragment_message),
    MANY(2, LMN__PB_U64, lmn__pb_delete, removed),
    FIELD(3, LMN__PB_BYTES, lmn__pb_delete, predicate),
};
static const struct lmn__pb_message delete_message = MESSAGE("Delete", lmn__pb_delete,
                                                             delete_fields);

static const struct lmn__pb_field overwrite_fields[] = {
    LIST(1, lmn__pb_overwrite, fragments, lmn__pb_fragment_message),
    LIST(2, lmn__pb_overwrite, fields, lmn__pb_schema_field_message),
    LIST(3, lmn__pb_overwrite, schema_metadata, lmn__pb_entry_message),
    LIST(4, lmn__pb_overwrite, config, lmn__pb_entry_message),
};
static const struct lmn__pb_message overwrite_message = MESSAGE("Overwrite", lmn__pb_overwrite,
                                                                overwrite_fields);

static const struct lmn__pb_field group_fields[] = {
    LIST(1, lmn__pb_rewrite_group, before, lmn__pb_fragment_message),
    LIST(2, lmn__pb_rewrite_group, after, lmn__pb_fragment_message),
};
static const struct lmn__pb_message group_message = MESSAGE("RewriteGroup", lmn__pb_rewrite_group,
                                                            group_fields);

static const struct lmn__pb_field rewrite_fields[] = {
    LIST(1, lmn__pb_rewrite, before, lmn__pb_fragment_message),
    LIST(2, lmn__pb_rewrite, after, lmn__pb_fragment_message),
    LIST(3, lmn__pb_rewrite, groups, group_message),
    MANY(4, LMN__PB_BYTES, lmn__pb_rewrite, rewritten_indices),
};
static const struct lmn__pb_message rewrite_message = MESSAGE("Rewrite", lmn__pb_rewrite,
                                                              rewrite_fields);

static const struct lmn__pb_field merge_fields[] = {
    LIST(1, lmn__pb_merge, fragments, lmn__pb_fragment_message),
    LIST(2, lmn__pb_merge, fields, lmn__pb_schema_field_message),
    LIST(3, lmn__pb_merge, schema_metadata, lmn__pb_entry_message),
    FIELD(4, LMN__PB_BOOL, lmn__pb_merge, keeps_nullability),
};
static const struct lmn__pb_message merge_message = MESSAGE("Merge", lmn__pb_merge, merge_fields);

static const struct lmn__pb_field restore_fields[] = {
    FIELD(1, LMN__PB_U64, lmn__pb_restore, version),
};
static const struct lmn__pb_message restore_message = MESSAGE("Restore", lmn__pb_restore,
                                                              restore_fields);

static const struct lmn__pb_field reserve_fields[] = {
    FIELD(1, LMN__PB_U32, lmn__pb_reserve, fragment_count),
};
static const struct lmn__pb_message reserve_message = MESSAGE("ReserveFragments", lmn__pb_reserve,
                                                              reserve_fields);

static const struct lmn__pb_field update_fields[] = {
    MANY(1, LMN__PB_U64, lmn__pb_update, removed),
    LIST(2, lmn__pb_update, updated, lmn__pb_fragment_message),
    LIST(3, lmn__pb_update, added, lmn__pb_fragment_message),
    MANY(4, LMN__PB_U32, lmn__pb_update, fields_modified),
    MANY(6, LMN__PB_U32, lmn__pb_update, fields_preserving),
    FIELD(7, LMN__PB_U32, lmn__pb_update, mode),
    FIELD(8, LMN__PB_BYTES, lmn__pb_update, inserted_rows),
};
static const struct lmn__pb_message update_message = KEEPING("Update", lmn__pb_update,
                                                             update_fields);

static const struct lmn__pb_field project_fields[] = {
    LIST(1, lmn__pb_project, fields, lmn__pb_schema_field_message),
    FIELD(2, LMN__PB_BOOL, lmn__pb_project, keeps_nullability),
};
static const struct lmn__pb_message project_message = MESSAGE("Project", lmn__pb_project,
                                                              project_fields);

static const struct lmn__pb_field replacement_fields[] = {
    FIELD(1, LMN__PB_U64, lmn__pb_replacement, fragment_id),
    CHILD(2, lmn__pb_replacement, file, data_file_message),
};
static const struct lmn__pb_message replacement_message = MESSAGE(
    "DataReplacementGroup", lmn__pb_replacement, replacement_fields);

static const struct lmn__pb_field data_replacement_fields[] = {
    LIST(1, lmn__pb_data_replacement, replacements, replacement_message),
};
static const struct lmn__pb_message data_replacement_message = MESSAGE(
    "DataReplacement", lmn__pb_data_replacement, data_replacement_fields);

static const struct lmn__pb_field transaction_fields[] = {
    FIELD(1, LMN__PB_U64, lmn__pb_transaction, read_version),
    FIELD(2, LMN__PB_BYTES, lmn__pb_transaction, uuid),
    LIST(4, lmn__pb_transaction, properties, lmn__pb_entry_message),
    CHILD(100, lmn__pb_transaction, append, append_message),
    CHILD(101, lmn__pb_transaction, delete, delete_message),
    CHILD(102, lmn__pb_transaction, overwrite, overwrite_message),
    FIELD(103, LMN__PB_BYTES, lmn__pb_transaction, create_index),
    CHILD(104, lmn__pb_transaction, rewrite, rewrite_message),
    CHILD(105, lmn__pb_transaction, merge, merge_message),
    CHILD(106, lmn__pb_transaction, restore, restore_message),
    CHILD(107, lmn__pb_transaction, reserve, reserve_message),
    CHILD(108, lmn__pb_transaction, update, update_message),
    CHILD(109, lmn__pb_transaction, project, project_message),
    FIELD(110, LMN__PB_BYTES, lmn__pb_transaction, update_config),
    CHILD(111, lmn__pb_transaction, data_replacement, data_replacement_message),
    FIELD(112, LMN__PB_BYTES, lmn__pb_transaction, mem_wal),
    FIELD(113, LMN__PB_BYTES, lmn__pb_transaction, clone),
    FIELD(114, LMN__PB_BYTES, lmn__pb_transaction, update_bases),
};
const struct lmn__pb_message lmn__pb_transaction_message = KEEPING(
    "Transaction", lmn__pb_transaction, transaction_fields);

static const struct lmn__pb_field based_array_fields[] = {
    FIELD(1, LMN__PB_U64, lmn__pb_u64_array, base),
    FIELD(2, LMN__PB_BYTES, lmn__pb_u64_array, bytes),
};
static const struct lmn__pb_message based_array_message = MESSAGE("U64Array", lmn__pb_u64_array,
                                                                  based_array_fields);

static const struct lmn__pb_field encoded_array_fields[] = {
    CHILD(1, lmn__pb_encoded_array, u16, based_array_message),
    CHILD(2, lmn__pb_encoded_array, u32, based_array_message),
    CHILD(3, lmn__pb_encoded_array, u64, based_array_message),
};
static const struct lmn__pb_message encoded_array_message = MESSAGE(
    "EncodedU64Array", lmn__pb_encoded_array, encoded_array_fields);

static const struct lmn__pb_field range_fields[] = {
    FIELD(1, LMN__PB_U64, lmn__pb_u64_range, start),
    FIELD(2, LMN__PB_U64, lmn__pb_u64_range, end),
};
static const struct lmn__pb_message range_message = MESSAGE("Range", lmn__pb_u64_range,
                                                            range_fields);

static const struct lmn__pb_field holes_fields[] = {
    FIELD(1, LMN__PB_U64, lmn__pb_u64_range, start),
    FIELD(2, LMN__PB_U64, lmn__pb_u64_range, end),
    CHILD(3, lmn__pb_u64_range, holes, encoded_array_message),
};
static const struct lmn__pb_message holes_message = MESSAGE("RangeWithHoles", lmn__pb_u64_range,
                                                            holes_fields);

static const struct lmn__pb_field bitmap_fields[] = {
    FIELD(1, LMN__PB_U64, lmn__pb_u64_range, start),
    FIELD(2, LMN__PB_U64, lmn__pb_u64_range, end),
    FIELD(3, LMN__PB_BYTES, lmn__pb_u64_range, bitmap),
};
static const struct lmn__pb_message bitmap_message = MESSAGE("RangeWithBitmap", lmn__pb_u64_range,
                                                             bitmap_fields);

static const struct lmn__pb_field segment_fields[] = {
    CHILD(1, lmn__pb_u64_segment, range, range_message),
    CHILD(2, lmn__pb_u64_segment, range_with_holes, holes_message),
    CHILD(3, lmn__pb_u64_segment, range_with_bitmap, bitmap_message),
    CHILD(4, lmn__pb_u64_segment, sorted, encoded_array_message),
    CHILD(5, lmn__pb_u64_segment, array, encoded_array_message),
};
static const struct lmn__pb_message segment_message = MESSAGE("U64Segment", lmn__pb_u64_segment,
                                                              segment_fields);

static const struct lmn__pb_field row_ids_fields[] = {
    LIST(1, lmn__pb_row_ids, segments, segment_message),
};
const struct lmn__pb_message lmn__pb_row_ids_message = MESSAGE("RowIdSequence", lmn__pb_row_ids,
                                                               row_ids_fields);

static const struct lmn__pb_field run_fields[] = {
    CHILD(1, lmn__pb_version_run, span, segment_message),
    FIELD(2, LMN__PB_U64, lmn__pb_version_run, version),
};
static const struct lmn__pb_message run_message = MESSAGE("RowDatasetVersionRun",
                                                          lmn__pb_version_run, run_fields);

static const struct lmn__pb_field row_versions_fields[] = {
    LIST(1, lmn__pb_row_versions, runs, run_message),
};
const struct lmn__pb_message lmn__pb_row_versions_message = MESSAGE(
    "RowDatasetVersionSequence", lmn__pb_row_versions, row_versions_fields);
