/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a file: postscript, footer, and the places of the groups. */
#include "ingest/array_record.h"

#include "base/error.h"
#include "base/math.h"

#define FIELD(number, kind, type, member)                                                          \
    { number, kind, 0, offsetof(struct type, member), 0, NULL }

static const struct lmn__pb_field postscript_fields[] = {
    FIELD(1, LMN__PB_U64, lmn__pb_postscript, footer_offset),
    FIELD(2, LMN__PB_U64, lmn__pb_postscript, magic),
};
const struct lmn__pb_message lmn__pb_postscript_message = {
    "RiegeliPostscript", postscript_fields, 2, sizeof(struct lmn__pb_postscript), 0, false
};

static const struct lmn__pb_field metadata_fields[] = {
    FIELD(1, LMN__PB_U64, lmn__pb_record_metadata, version),
    FIELD(2, LMN__PB_U64, lmn__pb_record_metadata, group_count),
    FIELD(3, LMN__PB_U64, lmn__pb_record_metadata, record_count),
    FIELD(4, LMN__PB_BYTES, lmn__pb_record_metadata, options),
};
static const struct lmn__pb_message metadata_message = {
    "ArrayRecordMetadata", metadata_fields, 4, sizeof(struct lmn__pb_record_metadata), 0, false
};

static const struct lmn__pb_field footer_fields[] = {
    { 1, LMN__PB_MESSAGE, 0, offsetof(struct lmn__pb_footer_metadata, metadata), 0,
      &metadata_message },
};
const struct lmn__pb_message lmn__pb_footer_metadata_message = {
    "RiegeliFooterMetadata", footer_fields, 1, sizeof(struct lmn__pb_footer_metadata), 0, false
};

static const struct lmn__pb_field group_fields[] = {
    FIELD(1, LMN__PB_U64, lmn__pb_group, offset),
    FIELD(2, LMN__PB_U64, lmn__pb_group, decoded_bytes),
    FIELD(3, LMN__PB_U64, lmn__pb_group, record_count),
};
const struct lmn__pb_message lmn__pb_group_message = {
    "ArrayRecordFooter", group_fields, 3, sizeof(struct lmn__pb_group), 0, false
};

enum { POSTSCRIPT_COPIES = 3 };

void lmn__group_scratch_init(struct lmn__group_scratch *scratch, struct lmn_env *env)
{
    lmn__record_scratch_init(&scratch->codec, env);
    lmn__buf_init(&scratch->data, env, 0);
    lmn__buf_init(&scratch->sizes, env, 0);
}

void lmn__group_scratch_deinit(struct lmn__group_scratch *scratch)
{
    lmn__record_scratch_deinit(&scratch->codec);
    lmn__buf_deinit(&scratch->data);
    lmn__buf_deinit(&scratch->sizes);
}

/* Part the data of a chunk into codec, sizes and values. */
static enum lmn_status part_data(struct lmn__span data, enum lmn__record_codec *codec_out,
                                 struct lmn__span *sizes_out, struct lmn__span *values_out,
                                 struct lmn_error *err)
{
    uint64_t len;

    if (data.len == 0)
        return lmn_fail(err, LMN_E_CORRUPT, "a chunk without data");
    *codec_out = (enum lmn__record_codec)data.data[0];
    data = (struct lmn__span){ data.data + 1, data.len - 1 };
    if (!lmn__record_varint(&data, &len) || len > data.len)
        return lmn_fail(err, LMN_E_CORRUPT, "a chunk whose sizes are cut off");
    *sizes_out = (struct lmn__span){ data.data, len };
    *values_out = (struct lmn__span){ data.data + len, data.len - len };
    return LMN_OK;
}

/* Read `count` sizes that add up to `bytes`. */
static enum lmn_status read_sizes(struct lmn__group_scratch *scratch, enum lmn__record_codec codec,
                                  struct lmn__span blob, uint64_t count, uint64_t bytes,
                                  uint64_t base, uint64_t *ends, struct lmn_error *err)
{
    struct lmn__span stream, sizes;
    uint64_t len, size, sum = 0;
    enum lmn_status st = lmn__record_blob(codec, blob, &len, &stream, err);

    if (st != LMN_OK)
        return st;
    if (len < count || len > count * 10) /* varints have 1 to 10 bytes */
        return lmn_fail(err, LMN_E_CORRUPT, "sizes of %llu records in %llu bytes",
                        (unsigned long long)count, (unsigned long long)len);
    lmn__buf_reset(&scratch->sizes);
    if (!lmn__buf_reserve(&scratch->sizes, len + 1))
        return lmn__no_memory(err, "sizes of records", len);
    st = lmn__record_decompress(&scratch->codec, codec, stream, scratch->sizes.data, len, err);
    if (st != LMN_OK)
        return st;
    sizes = (struct lmn__span){ scratch->sizes.data, len };
    for (uint64_t i = 0; i < count; i++) {
        if (!lmn__record_varint(&sizes, &size) || !lmn__add_u64(sum, size, &sum) || sum > bytes)
            return lmn_fail(err, LMN_E_CORRUPT, "sizes of records beyond their %llu bytes",
                            (unsigned long long)bytes);
        ends[i] = base + sum;
    }
    if (sizes.len != 0 || sum != bytes)
        return lmn_fail(err, LMN_E_CORRUPT, "records of %llu bytes where %llu are told",
                        (unsigned long long)sum, (unsigned long long)bytes);
    return LMN_OK;
}

static enum lmn_status check_chunk(const struct lmn__chunk *chunk, uint64_t count, uint64_t bytes,
                                   struct lmn_error *err)
{
    if (chunk->kind == LMN__CHUNK_TRANSPOSED)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "a transposed chunk; files written with transpose:false are read");
    if (chunk->kind != LMN__CHUNK_RECORDS)
        return lmn_fail(err, LMN_E_CORRUPT, "a chunk of kind %d where records should be",
                        chunk->kind);
    if (chunk->record_count != count || chunk->decoded_bytes != bytes)
        return lmn_fail(
            err, LMN_E_CORRUPT, "%llu records of %llu bytes where the footer tells %llu of %llu",
            (unsigned long long)chunk->record_count, (unsigned long long)chunk->decoded_bytes,
            (unsigned long long)count, (unsigned long long)bytes);
    return LMN_OK;
}

enum lmn_status lmn__group_decode(struct lmn__group_scratch *scratch,
                                  const struct lmn__riegeli_window *window, uint64_t begin,
                                  uint64_t count, uint64_t bytes, uint8_t *values, uint64_t base,
                                  uint64_t *ends, struct lmn_error *err)
{
    struct lmn__chunk chunk;
    struct lmn__span data, sizes, blob, stream;
    enum lmn__record_codec codec = LMN__RECORD_PLAIN;
    uint64_t len = 0;
    enum lmn_status st = lmn__chunk_read(window, begin, &chunk, err);

    if (st == LMN_OK)
        st = check_chunk(&chunk, count, bytes, err);
    if (st == LMN_OK)
        st = lmn__chunk_data(window, &chunk, &scratch->data, &data, err);
    if (st == LMN_OK)
        st = part_data(data, &codec, &sizes, &blob, err);
    if (st == LMN_OK)
        st = read_sizes(scratch, codec, sizes, count, bytes, base, ends, err);
    if (st == LMN_OK)
        st = lmn__record_blob(codec, blob, &len, &stream, err);
    if (st == LMN_OK && len != bytes)
        st = lmn_fail(err, LMN_E_CORRUPT, "values of %llu bytes where %llu are told",
                      (unsigned long long)len, (unsigned long long)bytes);
    if (st == LMN_OK)
        st = lmn__record_decompress(&scratch->codec, codec, stream, values, bytes, err);
    return st != LMN_OK
               ? lmn__fail_within(err, st, "records at offset %llu", (unsigned long long)begin)
               : st;
}

/* A chunk whose records are read for what they say: values and ends in the arena. */
static enum lmn_status read_messages(struct lmn_array_record *record,
                                     const struct lmn__riegeli_window *window, uint64_t begin,
                                     uint8_t **values_out, uint64_t **ends_out, uint64_t *count_out,
                                     struct lmn_error *err)
{
    struct lmn__group_scratch scratch;
    struct lmn__chunk chunk;
    enum lmn_status st = lmn__chunk_read(window, begin, &chunk, err);

    if (st != LMN_OK)
        return st;
    /* A varint per record, and nothing is smaller when it is compressed a thousand times. */
    if (chunk.record_count > window->bytes.len * 1024 ||
        chunk.decoded_bytes / 4096 > window->bytes.len)
        return lmn_fail(err, LMN_E_CORRUPT, "%llu records of %llu bytes in %zu",
                        (unsigned long long)chunk.record_count,
                        (unsigned long long)chunk.decoded_bytes, window->bytes.len);
    *values_out = lmn__arena_alloc(&record->arena, chunk.decoded_bytes + 1);
    *ends_out = lmn__arena_array(&record->arena, chunk.record_count + 1, sizeof **ends_out);
    *count_out = chunk.record_count;
    if (*values_out == NULL || *ends_out == NULL)
        return lmn__arena_fail(&record->arena, "a footer", err);
    lmn__group_scratch_init(&scratch, record->env);
    st = lmn__group_decode(&scratch, window, begin, chunk.record_count, chunk.decoded_bytes,
                           *values_out, 0, *ends_out, err);
    lmn__group_scratch_deinit(&scratch);
    return st;
}

static struct lmn__span message_at(const uint8_t *values, const uint64_t *ends, uint64_t i)
{
    uint64_t start = i == 0 ? 0 : ends[i - 1];

    return (struct lmn__span){ values + start, ends[i] - start };
}

static enum lmn_status read_postscript(struct lmn_array_record *record, uint64_t bytes,
                                       uint64_t *footer_out, struct lmn_error *err)
{
    struct lmn__pb_postscript postscript = { 0 };
    struct lmn__riegeli_window window = { .begin = bytes - LMN__RIEGELI_BLOCK };
    uint8_t *block = lmn__arena_alloc(&record->arena, LMN__RIEGELI_BLOCK), *values;
    uint64_t *ends, count;
    enum lmn_status st;

    if (block == NULL)
        return lmn__arena_fail(&record->arena, "a postscript", err);
    window.bytes = (struct lmn__span){ block, LMN__RIEGELI_BLOCK };
    st = lmn__file_read_at(&record->file, record->path, window.begin, block, LMN__RIEGELI_BLOCK,
                           err);
    if (st == LMN_OK)
        st = read_messages(record, &window, window.begin, &values, &ends, &count, err);
    if (st == LMN_OK && count == 0)
        st = lmn_fail(err, LMN_E_CORRUPT, "a postscript without records");
    if (st == LMN_OK)
        st = lmn__pb_decode(&lmn__pb_postscript_message, message_at(values, ends, 0),
                            &record->arena, &postscript, err);
    if (st == LMN_OK && (postscript.magic != LMN__POSTSCRIPT_MAGIC ||
                         postscript.footer_offset < LMN__RIEGELI_SIGNATURE ||
                         postscript.footer_offset >= window.begin))
        st = lmn_fail(err, LMN_E_CORRUPT, "the postscript is not that of an ArrayRecord file");
    *footer_out = postscript.footer_offset;
    return st != LMN_OK ? lmn__fail_within(err, st, "no ArrayRecord footer") : st;
}

static enum lmn_status take_group(struct lmn_array_record *record, uint64_t i,
                                  struct lmn__span bytes, uint64_t footer, struct lmn_error *err)
{
    struct lmn__group *group = &record->group[i];
    struct lmn__pb_group pb = { 0 };
    uint64_t least = i == 0 ? LMN__RIEGELI_SIGNATURE : group[-1].begin + 1;
    enum lmn_status st = lmn__pb_decode(&lmn__pb_group_message, bytes, &record->arena, &pb, err);

    if (st != LMN_OK)
        return st;
    if (pb.offset < least || pb.offset >= footer || pb.record_count > UINT32_MAX)
        return lmn_fail(err, LMN_E_CORRUPT, "group %llu of %llu records at offset %llu",
                        (unsigned long long)i, (unsigned long long)pb.record_count,
                        (unsigned long long)pb.offset);
    *group = (struct lmn__group){ .begin = pb.offset,
                                  .end = footer,
                                  .decoded_bytes = pb.decoded_bytes,
                                  .first = record->record_count,
                                  .count = pb.record_count };
    if (i != 0)
        group[-1].end = pb.offset;
    record->record_count += pb.record_count;
    return LMN_OK;
}

static enum lmn_status take_footer(struct lmn_array_record *record, const uint8_t *values,
                                   const uint64_t *ends, uint64_t count, uint64_t footer,
                                   struct lmn_error *err)
{
    struct lmn__pb_footer_metadata pb = { 0 };
    enum lmn_status st;

    if (count == 0)
        return lmn_fail(err, LMN_E_CORRUPT, "a footer without records");
    st = lmn__pb_decode(&lmn__pb_footer_metadata_message, message_at(values, ends, 0),
                        &record->arena, &pb, err);
    if (st != LMN_OK)
        return st;
    if (pb.metadata == NULL || pb.metadata->group_count != count - 1)
        return lmn_fail(err, LMN_E_CORRUPT, "a footer of %llu groups that tells another number",
                        (unsigned long long)(count - 1));
    memcpy(record->options,
           pb.metadata->options.data != NULL ? pb.metadata->options.data : (const uint8_t *)"",
           lmn__min_u64(pb.metadata->options.len, sizeof record->options - 1));
    record->group_count = count - 1;
    record->group = lmn__arena_array(&record->arena, count, sizeof *record->group);
    if (record->group == NULL)
        return lmn__arena_fail(&record->arena, "a footer", err);
    for (uint64_t i = 0; st == LMN_OK && i < record->group_count; i++)
        st = take_group(record, i, message_at(values, ends, i + 1), footer, err);
    if (st == LMN_OK && record->record_count != pb.metadata->record_count)
        st = lmn_fail(err, LMN_E_CORRUPT, "groups of %llu records where %llu are told",
                      (unsigned long long)record->record_count,
                      (unsigned long long)pb.metadata->record_count);
    return st;
}

static enum lmn_status read_footer(struct lmn_array_record *record, struct lmn_error *err)
{
    struct lmn__riegeli_window window;
    uint64_t bytes, footer = 0, *ends, count;
    uint8_t *data, *values;
    enum lmn_status st = lmn__file_size(&record->file, record->path, &bytes, err);

    if (st != LMN_OK)
        return st;
    if (bytes < 2 * LMN__RIEGELI_BLOCK || bytes % LMN__RIEGELI_BLOCK != 0)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "%llu bytes; an ArrayRecord file has a multiple of 64 KiB, 128 at least",
                        (unsigned long long)bytes);
    st = read_postscript(record, bytes, &footer, err);
    if (st != LMN_OK)
        return st;
    window.begin = footer;
    window.bytes.len = bytes - LMN__RIEGELI_BLOCK - footer;
    data = lmn__alloc(record->env, window.bytes.len);
    if (data == NULL)
        return lmn__no_memory(err, "a footer", window.bytes.len);
    window.bytes.data = data;
    st = lmn__file_read_at(&record->file, record->path, footer, data, window.bytes.len, err);
    if (st == LMN_OK)
        st = read_messages(record, &window, footer, &values, &ends, &count, err);
    if (st == LMN_OK)
        st = take_footer(record, values, ends, count, footer, err);
    lmn__free(record->env, data);
    return st;
}

void lmn__array_record_release(struct lmn_array_record *record)
{
    struct lmn_env *env;

    if (record == NULL || atomic_fetch_sub(&record->reference_count, 1) != 1)
        return;
    env = record->env;
    lmn__file_close(&record->file);
    lmn__arena_deinit(&record->arena);
    lmn__free(env, record);
    lmn_env_release(env);
}

void lmn_array_record_close(struct lmn_array_record *record)
{
    lmn__array_record_release(record);
}

void lmn_array_record_info(const struct lmn_array_record *record,
                           struct lmn_array_record_info *info_out)
{
    *info_out = (struct lmn_array_record_info){
        .record_count = record->record_count,
        .group_count = record->group_count,
        .group_size = record->group_count != 0 ? record->group[0].count : 0,
    };
    memcpy(info_out->options, record->options, sizeof info_out->options);
}

enum lmn_status lmn_array_record_open(struct lmn_env *env, const char *path,
                                      struct lmn_array_record **record_out, struct lmn_error *err)
{
    struct lmn_array_record *record;
    struct lmn__file file;
    enum lmn_status st = lmn__env_resolve(env, &env, err);

    *record_out = NULL;
    if (st != LMN_OK)
        return st;
    st = lmn__file_open(path, LMN__FILE_READ, &file, err);
    record = st == LMN_OK ? lmn__calloc(env, 1, sizeof *record) : NULL;
    if (record == NULL) {
        if (st == LMN_OK) {
            lmn__file_close(&file);
            st = lmn__no_memory(err, "a reader", sizeof *record);
        }
        lmn_env_release(env);
        return st;
    }
    record->env = env;
    record->file = file;
    atomic_init(&record->reference_count, 1);
    lmn__arena_init(&record->arena, env, 0);
    record->path = lmn__arena_strndup(&record->arena, path, strlen(path));
    st = record->path != NULL ? read_footer(record, err)
                              : lmn__arena_fail(&record->arena, "a path", err);
    if (st != LMN_OK) {
        lmn__array_record_release(record);
        return lmn__fail_within(err, st, "%.200s", path);
    }
    *record_out = record;
    return LMN_OK;
}
