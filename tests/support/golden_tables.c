/* SPDX-License-Identifier: Apache-2.0 */
#include "golden_tables.h"

#include <stdio.h>
#include <string.h>

#include "arrow/view.h"
#include "stores.h"

const int64_t golden_id[GOLDEN_ROWS] = {
    0,  1,  2,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17,
    18, 19, 25, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51,
    52, 53, 54, 55, 56, 57, 58, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69,
};

struct lmn_table *golden_open(const char *name)
{
    char path[512];
    struct lmn_store *store;
    struct lmn_table *table;
    struct lmn_error err = { 0 };

    snprintf(path, sizeof path, "%s/golden/table/%s", LMN_TESTS, name);
    store = test_store_local(path);
    CHECK_STATUS(lmn_table_open(store, NULL, &table, &err), LMN_OK, &err);
    lmn_store_release(store);
    return table;
}

enum { BYTES_MAX = 1 << 20 };

/* Copy a folder of one store into another. */
struct copy {
    struct lmn_store *from, *to;
    char path[512];
};

static enum lmn_status copy_entry(void *context, const char *name, bool is_directory,
                                  struct lmn_error *err)
{
    static uint8_t bytes[BYTES_MAX];
    const struct copy *copy = context;
    struct copy below = *copy;
    int64_t len = snprintf(below.path, sizeof below.path, "%s%s%s", copy->path,
                           copy->path[0] != '\0' ? "/" : "", name);

    CHECK(len < (int64_t)sizeof below.path);
    if (is_directory)
        return copy->from->ops->list(copy->from, below.path, copy_entry, &below, err);
    len = test_store_read(copy->from, below.path, bytes, sizeof bytes);
    CHECK(len >= 0 && len < BYTES_MAX);
    test_store_write(copy->to, below.path, bytes, (size_t)len);
    return LMN_OK;
}

void golden_copy(const char *name, struct lmn_store *to)
{
    char root[512];
    struct copy copy = { .to = to };
    struct lmn_error err;

    snprintf(root, sizeof root, "%s/golden/table/%s", LMN_TESTS, name);
    copy.from = test_store_local(root);
    CHECK_OK(copy.from->ops->list(copy.from, "", copy_entry, &copy, &err));
    lmn_store_release(copy.from);
}

static int64_t int_at(const struct ArrowArray *array, uint32_t bytes, uint64_t i)
{
    const uint8_t *at = (const uint8_t *)array->buffers[1] + ((uint64_t)array->offset + i) * bytes;

    return bytes == 8 ? (int64_t)lmn__load_u64(at) : (int32_t)lmn__load_u32(at);
}

static void check_text(const struct ArrowArray *array, uint64_t i, int64_t id)
{
    static const struct lmn__layout layout = { .kind = LMN__LAYOUT_VARIABLE, .bits = 32 };
    struct lmn__span text;
    char expected[32];

    CHECK_EQ(lmn__view_is_null(array, i), id % 7 == 0);
    if (id % 7 == 0)
        return;
    text = lmn__view_bytes(&layout, array, i);
    snprintf(expected, sizeof expected, "text %d", (int)id);
    CHECK_EQ(text.len, strlen(expected));
    CHECK_BYTES(text.data, expected, text.len);
}

static void check_tags(const struct ArrowArray *array, uint64_t i, int64_t id)
{
    uint64_t from = lmn__view_offset(array, 4, i), to = lmn__view_offset(array, 4, i + 1);

    CHECK_EQ(to - from, id % 4);
    for (uint64_t k = from; k < to; k++)
        CHECK_EQ(int_at(array->children[0], 4, k), id + (int64_t)(k - from));
}

static void check_column(const char *name, const struct ArrowArray *array, uint64_t i, int64_t id)
{
    if (strcmp(name, "text") == 0) {
        check_text(array, i, id);
    } else if (strcmp(name, "info") == 0) {
        CHECK_EQ(array->n_children, 1);
        CHECK(!lmn__view_is_null(array, i));
        CHECK_EQ(int_at(array->children[0], 4, (uint64_t)array->offset + i), id + 1);
    } else if (strcmp(name, "tags") == 0) {
        check_tags(array, i, id);
    } else if (strcmp(name, "twice") == 0) {
        int64_t twice = int_at(array, 8, i);

        CHECK(twice == 2 * id || ((id == 5 || id == 45 || id == 62) && twice == 2 * id + 1000));
    } else if (strcmp(name, "empty") == 0) {
        CHECK(lmn__view_is_null(array, i));
    } else if (strcmp(name, "id") != 0 && strcmp(name, "_rowid") != 0 &&
               strcmp(name, "_rowaddr") != 0) {
        check_fail(__FILE__, __LINE__, "there is a column \"%s\"", name);
    }
}

int64_t golden_check_row(const struct ArrowSchema *schema, const struct ArrowArray *array,
                         uint64_t i)
{
    int64_t id = -1;

    CHECK_EQ(schema->n_children, array->n_children);
    for (int64_t c = 0; c < schema->n_children; c++) {
        CHECK_EQ(array->children[c]->length, array->length);
        if (strcmp(schema->children[c]->name, "id") == 0)
            id = int_at(array->children[c], 8, i);
    }
    CHECK(id >= 0);
    for (int64_t c = 0; c < schema->n_children; c++)
        check_column(schema->children[c]->name, array->children[c], i, id);
    return id;
}
