/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a chunk of records: the codec, the length of the sizes, the sizes, the values. */
#include "ingest/array_record_encode.h"

#include "arrow/view.h"
#include "base/proto.h"
#include "ingest/highway.h"

void lmn__group_bench_init(struct lmn__group_bench *bench, struct lmn_env *env)
{
    lmn__record_scratch_init(&bench->codec, env);
    lmn__buf_init(&bench->sizes, env, 0);
    lmn__buf_init(&bench->values, env, 0);
}

void lmn__group_bench_deinit(struct lmn__group_bench *bench)
{
    lmn__record_scratch_deinit(&bench->codec);
    lmn__buf_deinit(&bench->sizes);
    lmn__buf_deinit(&bench->values);
}

void lmn__encoded_group_init(struct lmn__encoded_group *group, struct lmn_env *env)
{
    *group = (struct lmn__encoded_group){ .values = { (const uint8_t *)"", 0 } };
    lmn__buf_init(&group->head, env, 0);
    lmn__buf_init(&group->gathered, env, 0);
}

void lmn__encoded_group_deinit(struct lmn__encoded_group *group)
{
    lmn__buf_deinit(&group->head);
    lmn__buf_deinit(&group->gathered);
}

enum lmn_status lmn__group_encode(struct lmn__group_bench *bench, enum lmn__record_codec codec,
                                  int level, struct lmn__span sizes, struct lmn__span values,
                                  uint64_t count, struct lmn__encoded_group *group,
                                  struct lmn_error *err)
{
    struct lmn__span data[2];
    struct lmn__buf blob;
    enum lmn_status st;

    lmn__buf_reset(&group->head);
    lmn__buf_init(&blob, bench->codec.env, 0);
    st = lmn__record_compress(&bench->codec, codec, level, sizes, &blob, err);
    lmn__buf_put_u8(&group->head, (uint8_t)codec);
    lmn__pb_put_varint(&group->head, blob.len);
    lmn__buf_put(&group->head, blob.data, blob.len);
    lmn__buf_deinit(&blob);
    if (st == LMN_OK)
        st = lmn__buf_status(&group->head, "records", err);
    group->values = (struct lmn__span){ (const uint8_t *)"", 0 };
    group->record_count = count;
    group->decoded_bytes = values.len;
    if (st == LMN_OK && codec == LMN__RECORD_PLAIN)
        group->values = values;
    else if (st == LMN_OK)
        st = lmn__record_compress(&bench->codec, codec, level, values, &group->head, err);
    data[0] = (struct lmn__span){ group->head.data, group->head.len };
    data[1] = group->values;
    group->hash = lmn__highway_hash_spans(data, 2);
    return st;
}

/* Rows of an array as one run of bytes: their own, or copied to `bench` when they lie apart. */
static enum lmn_status gather(struct lmn__group_bench *bench, const struct lmn__layout *layout,
                              const struct ArrowArray *array, uint64_t first, uint64_t count,
                              struct lmn__span *values_out, bool *apart_out, struct lmn_error *err)
{
    struct lmn__span whole = { (const uint8_t *)"", 0 };
    bool apart = false;

    lmn__buf_reset(&bench->sizes);
    lmn__buf_reset(&bench->values);
    for (uint64_t i = first; i < first + count; i++) {
        struct lmn__span value = lmn__view_bytes(layout, array, i);

        lmn__pb_put_varint(&bench->sizes, value.len);
        if (value.len == 0)
            continue;
        if (whole.len == 0 && !apart) {
            whole = value;
        } else if (!apart && value.data == whole.data + whole.len) {
            whole.len += value.len;
        } else {
            if (!apart)
                lmn__buf_put(&bench->values, whole.data, whole.len);
            apart = true;
            lmn__buf_put(&bench->values, value.data, value.len);
        }
    }
    *values_out = apart ? (struct lmn__span){ bench->values.data, bench->values.len } : whole;
    *apart_out = apart;
    bench->sizes.failed |= bench->values.failed;
    return lmn__buf_status(&bench->sizes, "records", err);
}

enum lmn_status lmn__group_encode_rows(struct lmn__group_bench *bench, enum lmn__record_codec codec,
                                       int level, const struct lmn__layout *layout,
                                       const struct ArrowArray *array, uint64_t first,
                                       uint64_t count, struct lmn__encoded_group *group,
                                       struct lmn_error *err)
{
    struct lmn__span values;
    bool apart;
    enum lmn_status st = gather(bench, layout, array, first, count, &values, &apart, err);

    if (st != LMN_OK)
        return st;
    if (apart && codec == LMN__RECORD_PLAIN) {
        struct lmn__buf free = group->gathered;

        group->gathered = bench->values;
        bench->values = free;
    }
    return lmn__group_encode(bench, codec, level,
                             (struct lmn__span){ bench->sizes.data, bench->sizes.len }, values,
                             count, group, err);
}
