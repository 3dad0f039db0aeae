/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of texts that are kept once: many of them, batch after batch, with faults. */
#include "ingest/text_dictionary.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "arrow/layout.h"
#include "check.h"

enum { ROWS = 900, WORDS = 300 };

/* Row i of a batch has one of WORDS texts, the first of which is empty. */
static struct lmn__span word_of(int i, char text[16])
{
    int number = i * 7 % WORDS;
    int len = number == 0 ? 0 : snprintf(text, 16, "word %d", number);

    return (struct lmn__span){ (const uint8_t *)text, (size_t)len };
}

static enum lmn_status fill(struct lmn__text_dictionary *dictionary, int rows,
                            struct ArrowArray *array_out, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;
    char text[16];

    for (int i = 0; st == LMN_OK && i < rows; i++)
        st = lmn__text_dictionary_put(dictionary, word_of(i, text), err);
    return st == LMN_OK ? lmn__builder_finish(dictionary->builder, array_out, err) : st;
}

static void check_rows(const struct ArrowArray *array, int rows)
{
    const int32_t *offset = array->dictionary->buffers[1];
    const char *data = array->dictionary->buffers[2];
    const int16_t *index = array->buffers[1];
    char text[16];

    CHECK_EQ(array->length, rows);
    CHECK_EQ(array->dictionary->length, rows < WORDS ? rows : WORDS);
    for (int i = 0; i < rows; i++) {
        struct lmn__span word = word_of(i, text);
        int32_t from = offset[index[i]], to = offset[index[i] + 1];

        CHECK_EQ(to - from, word.len);
        CHECK(word.len == 0 || memcmp(data + from, word.data, word.len) == 0);
    }
}

static void make_type(struct ArrowSchema *schema, enum ArrowType index)
{
    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetType(schema, index), 0);
    CHECK_EQ(ArrowSchemaAllocateDictionary(schema), 0);
    ArrowSchemaInit(schema->dictionary);
    CHECK_EQ(ArrowSchemaSetType(schema->dictionary, NANOARROW_TYPE_STRING), 0);
}

/* Two batches; the first failure, or LMN_OK. */
static enum lmn_status run(const struct ArrowSchema *schema, struct lmn_error *err)
{
    struct lmn__text_dictionary dictionary = { 0 };
    struct lmn__builder builder = { 0 };
    const struct lmn__layout *layout;
    struct ArrowArray array = { 0 };
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, test_env(), 0);
    st = lmn__layout_from_schema(schema, &arena, &layout, err);
    if (st == LMN_OK)
        st = lmn__builder_init(&builder, test_env(), layout, err);
    dictionary = (struct lmn__text_dictionary){ .builder = &builder, .arena = &arena };
    for (int rows = ROWS; st == LMN_OK && rows >= ROWS / 9; rows -= ROWS / 9 * 8) {
        st = fill(&dictionary, rows, &array, err);
        if (st == LMN_OK) {
            check_rows(&array, rows);
            array.release(&array);
        }
    }
    lmn__builder_deinit(&builder);
    lmn__arena_deinit(&arena);
    return st;
}

static void test_text_dictionary__batches(void **state)
{
    struct ArrowSchema schema;
    struct lmn_error err = { 0 };

    (void)state;
    make_type(&schema, NANOARROW_TYPE_INT16);
    CHECK_STATUS(run(&schema, &err), LMN_OK, &err);
    schema.release(&schema);
    make_type(&schema, NANOARROW_TYPE_INT8);
    CHECK_STATUS(run(&schema, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "more than 128 values");
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

static void test_text_dictionary__faults(void **state)
{
    struct ArrowSchema schema;
    struct lmn_error err = { 0 };
    bool fired = true;

    (void)state;
    make_type(&schema, NANOARROW_TYPE_INT16);
    for (uint64_t nth = 1; fired; nth++) {
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = run(&schema, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK(st == LMN_OK || (fired && st == LMN_E_NO_MEMORY));
        CHECK_EQ(live_allocations(), 0);
    }
    schema.release(&schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_dictionary__batches),
        cmocka_unit_test(test_text_dictionary__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
