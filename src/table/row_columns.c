/* SPDX-License-Identifier: Apache-2.0 */
#include "table/row_columns.h"

#include <nanoarrow/nanoarrow.h>

#include "arrow/compose.h"

const struct lmn__layout lmn__row_column_layout = { .kind = LMN__LAYOUT_FIXED, .bits = 64 };

static enum lmn_status add_field(struct ArrowSchema *schema, const char *name,
                                 struct lmn_error *err)
{
    ArrowSchemaInit(schema);
    if (ArrowSchemaSetType(schema, NANOARROW_TYPE_UINT64) != NANOARROW_OK ||
        ArrowSchemaSetName(schema, name) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    schema->flags = ARROW_FLAG_NULLABLE;
    return LMN_OK;
}

enum lmn_status lmn__row_columns_schema(const struct lmn__projection *projection,
                                        struct lmn__row_columns which,
                                        struct ArrowSchema *schema_out, struct lmn_error *err)
{
    const struct ArrowSchema *from = &projection->arrow;
    int64_t count = from->n_children;
    enum lmn_status st = LMN_OK;

    *schema_out = (struct ArrowSchema){ 0 };
    if (lmn__row_columns_count(which) == 0)
        return lmn__projection_schema(projection, schema_out, err);
    ArrowSchemaInit(schema_out);
    if (ArrowSchemaSetFormat(schema_out, "+s") != NANOARROW_OK ||
        ArrowSchemaAllocateChildren(schema_out, count + lmn__row_columns_count(which)) !=
            NANOARROW_OK ||
        (from->metadata != NULL &&
         ArrowSchemaSetMetadata(schema_out, from->metadata) != NANOARROW_OK))
        st = lmn__no_memory(err, "a schema", 0);
    for (int64_t i = 0; st == LMN_OK && i < count; i++) {
        if (ArrowSchemaDeepCopy(from->children[i], schema_out->children[i]) != NANOARROW_OK)
            st = lmn__no_memory(err, "a schema", 0);
    }
    if (st == LMN_OK && which.id)
        st = add_field(schema_out->children[count++], LMN__ROW_ID_NAME, err);
    if (st == LMN_OK && which.address)
        st = add_field(schema_out->children[count], LMN__ROW_ADDRESS_NAME, err);
    if (st != LMN_OK) {
        schema_out->release(schema_out);
        *schema_out = (struct ArrowSchema){ 0 };
    }
    return st;
}

static enum lmn_status make_column(const struct lmn__fragment_reader *reader, struct lmn_env *env,
                                   bool address, const struct lmn__row_range *range,
                                   uint64_t range_count, struct ArrowArray *array_out,
                                   struct lmn_error *err)
{
    const struct lmn__pb_fragment *fragment = lmn__fragment_reader_fragment(reader);
    struct lmn__builder builder;
    enum lmn_status st = lmn__builder_init(&builder, env, &lmn__row_column_layout, err);

    for (uint64_t i = 0; st == LMN_OK && i < range_count; i++) {
        uint8_t *at;

        st = lmn__builder_add_valid(&builder, range[i].count, err);
        if (st == LMN_OK)
            st = lmn__builder_extend(&builder, range[i].count, &at, err);
        if (st != LMN_OK)
            break;
        if (!address)
            lmn__row_ids_copy(lmn__fragment_reader_ids(reader), range[i].first, range[i].count,
                              (uint64_t *)(void *)at);
        for (uint64_t k = 0; address && k < range[i].count; k++)
            lmn__store_u64(at + k * 8, lmn__row_address(fragment->id, range[i].first + k));
    }
    if (st == LMN_OK)
        st = lmn__builder_finish(&builder, array_out, err);
    lmn__builder_deinit(&builder);
    return st;
}

enum lmn_status lmn__row_columns_make(const struct lmn__fragment_reader *reader,
                                      struct lmn_env *place, struct lmn__row_columns which,
                                      const struct lmn__row_range *range, uint64_t range_count,
                                      struct ArrowArray *const *array_out, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (place == NULL)
        place = lmn__fragment_reader_env(reader);
    if (which.id)
        st = make_column(reader, place, false, range, range_count, *array_out++, err);
    if (st == LMN_OK && which.address)
        st = make_column(reader, place, true, range, range_count, *array_out, err);
    return st;
}

enum lmn_status lmn__row_columns_add(const struct lmn__fragment_reader *reader,
                                     struct lmn_env *place, struct lmn__row_columns which,
                                     const struct lmn__row_range *range, uint64_t range_count,
                                     struct ArrowArray *array, struct lmn_error *err)
{
    uint32_t count = (uint32_t)array->n_children, more = lmn__row_columns_count(which);
    struct ArrowArray wider;
    enum lmn_status st;

    if (more == 0)
        return LMN_OK;
    st = lmn__array_compose(lmn__fragment_reader_env(reader), (uint64_t)array->length, count + more,
                            &wider, err);
    if (st != LMN_OK)
        return st;
    st = lmn__row_columns_make(reader, place, which, range, range_count, wider.children + count,
                               err);
    if (st != LMN_OK) {
        wider.release(&wider);
        return st;
    }
    for (uint32_t i = 0; i < count; i++)
        lmn__array_move(array->children[i], wider.children[i]);
    array->release(array);
    *array = wider;
    return LMN_OK;
}
