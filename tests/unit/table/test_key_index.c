/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of rows by key: keys of every type, several columns, nulls, duplicates, growth, and
 * random rows against a plain model.
 */
#include "table/key_index.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <string.h>

#include "keyed_rows.h"

enum { KEYS = 50 };

static const int64_t first_column[] = { 0 };

/* Types of keys by Arrow's formats; `bytes` is 0 for those of varying length. */
static const struct {
    const char *format;
    uint32_t bytes;
} types[] = {
    { "c", 1 },       { "C", 1 },           { "s", 2 },   { "S", 2 },   { "i", 4 },
    { "I", 4 },       { "l", 8 },           { "L", 8 },   { "e", 2 },   { "f", 4 },
    { "g", 8 },       { "tdD", 4 },         { "tdm", 8 }, { "tts", 4 }, { "ttn", 8 },
    { "tsu:", 8 },    { "tsn:UTC", 8 },     { "tDu", 8 }, { "w:3", 3 }, { "w:20", 20 },
    { "d:20,2", 16 }, { "d:40,2,256", 32 }, { "u", 0 },   { "U", 0 },   { "z", 0 },
    { "Z", 0 },       { "vu", 0 },          { "vz", 0 },
};

/* A struct of one column of a type. */
static void make_schema(struct ArrowSchema *schema, const char *format)
{
    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(schema, 1), 0);
    CHECK_EQ(ArrowSchemaSetFormat(schema->children[0], format), 0);
    CHECK_EQ(ArrowSchemaSetName(schema->children[0], "key"), 0);
}

/* Value `number` of a type: the same bytes for the same number, others for others. */
static void append_key(struct ArrowArray *array, uint32_t bytes, uint64_t number)
{
    uint8_t value[32] = { 0 };

    if (bytes == 0) {
        char text[64];
        int len = snprintf(text, sizeof text,
                           number % 2 != 0 ? "%llu" : "a longer key, number %llu",
                           (unsigned long long)number);

        CHECK_EQ(ArrowArrayAppendBytes(
                     array, (struct ArrowBufferView){ .data.as_char = text, .size_bytes = len }),
                 0);
        return;
    }
    value[bytes - 1] = (uint8_t)number;
    CHECK_EQ(ArrowBufferAppend(ArrowArrayBuffer(array, 1), value, bytes), 0);
    array->length++;
}

/* Keys first, first + 1, ... */
static void make_batch(const struct ArrowSchema *schema, uint32_t bytes, uint64_t first,
                       uint64_t count, struct ArrowArray *batch)
{
    CHECK_EQ(ArrowArrayInitFromSchema(batch, schema, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(batch), 0);
    for (uint64_t i = 0; i < count; i++)
        append_key(batch->children[0], bytes, first + i);
    batch->length = (int64_t)count;
    CHECK_EQ(ArrowArrayFinishBuilding(batch, NANOARROW_VALIDATION_LEVEL_NONE, NULL), 0);
}

static void test_key_index__every_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct lmn__key_index *index;
        struct ArrowSchema schema;
        struct ArrowArray added, sought;
        struct lmn_error err = { 0 };
        uint64_t row[KEYS];

        make_schema(&schema, types[i].format);
        make_batch(&schema, types[i].bytes, 0, KEYS, &added);
        make_batch(&schema, types[i].bytes, KEYS / 2, KEYS, &sought);
        CHECK_STATUS(lmn__key_index_new(test_env(), &schema, first_column, 1, &index, &err), LMN_OK,
                     &err);
        CHECK_OK(lmn__key_index_find(index, &sought, first_column, row, &err));
        for (uint64_t k = 0; k < KEYS; k++)
            CHECK(row[k] == LMN__NO_ROW);
        CHECK_STATUS(lmn__key_index_add(index, &added, first_column, &err), LMN_OK, &err);
        CHECK_OK(lmn__key_index_find(index, &sought, first_column, row, &err));
        for (uint64_t k = 0; k < KEYS; k++)
            CHECK(row[k] == (k < KEYS / 2 ? k + KEYS / 2 : LMN__NO_ROW));
        CHECK_STATUS(lmn__key_index_add(index, &sought, first_column, &err), LMN_E_INVALID, &err);
        CHECK_HAS(err.message, "is there twice, in rows 25 and 50");
        lmn__key_index_free(index);
        added.release(&added);
        sought.release(&sought);
        schema.release(&schema);
    }
    CHECK_EQ(live_allocations(), 0);
}

static void test_key_index__booleans(void **state)
{
    struct lmn__key_index *index;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn_error err = { 0 };
    uint64_t row[3];

    (void)state;
    make_schema(&schema, "b");
    CHECK_EQ(ArrowArrayInitFromSchema(&batch, &schema, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(&batch), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(ArrowArrayAppendInt(batch.children[0], i == 1), 0);
    batch.length = 3;
    CHECK_EQ(ArrowArrayFinishBuildingDefault(&batch, NULL), 0);
    CHECK_OK(lmn__key_index_new(test_env(), &schema, first_column, 1, &index, &err));
    batch.length = 2;
    CHECK_STATUS(lmn__key_index_add(index, &batch, first_column, &err), LMN_OK, &err);
    batch.length = 3;
    CHECK_OK(lmn__key_index_find(index, &batch, first_column, row, &err));
    CHECK(row[0] == 0 && row[1] == 1 && row[2] == 0);
    lmn__key_index_free(index);
    batch.release(&batch);
    schema.release(&schema);
}

static void test_key_index__refused(void **state)
{
    static const char *const formats[] = { "+l", "+w:2", "+s", "n" };
    struct lmn__key_index *index;
    struct ArrowSchema schema;
    struct lmn_error err = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        make_schema(&schema, "i");
        CHECK_EQ(ArrowSchemaSetFormat(schema.children[0], formats[i]), 0);
        if (formats[i][0] == '+') {
            CHECK_EQ(ArrowSchemaAllocateChildren(schema.children[0], 1), 0);
            ArrowSchemaInit(schema.children[0]->children[0]);
            CHECK_EQ(ArrowSchemaSetFormat(schema.children[0]->children[0], "i"), 0);
            CHECK_EQ(ArrowSchemaSetName(schema.children[0]->children[0], "item"), 0);
        }
        CHECK_STATUS(lmn__key_index_new(test_env(), &schema, first_column, 1, &index, &err),
                     LMN_E_UNSUPPORTED, &err);
        CHECK_HAS(err.message, "\"key\" cannot be a key");
        CHECK(index == NULL);
        schema.release(&schema);
    }
    make_schema(&schema, "i");
    CHECK_STATUS(lmn__key_index_new(test_env(), &schema, first_column, 0, &index, &err),
                 LMN_E_INVALID, &err);
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

static void test_key_index__many_columns(void **state)
{
    static const int64_t many[40] = { 0 };
    struct lmn__key_index *index;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn_error err = { 0 };
    uint64_t found[3];

    (void)state;
    make_schema(&schema, "i");
    make_batch(&schema, 4, 5, 3, &batch);
    CHECK_STATUS(lmn__key_index_new(test_env(), &schema, many, 40, &index, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__key_index_add(index, &batch, many, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__key_index_find(index, &batch, many, found, &err), LMN_OK, &err);
    for (uint64_t i = 0; i < 3; i++)
        CHECK_EQ(found[i], i);
    lmn__key_index_free(index);
    batch.release(&batch);
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

/* Rows of a dictionary of `words`, the last of which is null; index 9 is a null row. */
static void make_words(const struct ArrowSchema *schema, const char *const *words, const int *word,
                       int count, struct ArrowArray *batch)
{
    struct ArrowArray *key;

    CHECK_EQ(ArrowArrayInitFromSchema(batch, schema, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(batch), 0);
    key = batch->children[0];
    for (int i = 0; words[i] != NULL; i++)
        CHECK_EQ(ArrowArrayAppendString(key->dictionary, ArrowCharView(words[i])), 0);
    CHECK_EQ(ArrowArrayAppendNull(key->dictionary, 1), 0);
    for (int i = 0; i < count; i++) {
        CHECK_EQ(word[i] == 9 ? ArrowArrayAppendNull(key, 1) : ArrowArrayAppendInt(key, word[i]),
                 0);
        CHECK_EQ(ArrowArrayFinishElement(batch), 0);
    }
    CHECK_EQ(ArrowArrayFinishBuildingDefault(batch, NULL), 0);
}

/* Values count, whatever their indices are; a null in the dictionary is a null. */
static void test_key_index__dictionaries(void **state)
{
    static const char *const added[] = { "cat", "dog", "", NULL };
    static const char *const sought[] = { "", "wolf", "dog", "cat", NULL };
    static const int added_row[] = { 1, 9, 0, 3, 3, 2 }, sought_row[] = { 3, 0, 4, 2, 1, 9 };
    static const uint64_t expected[] = { 2, 5, LMN__NO_ROW, 0, LMN__NO_ROW, LMN__NO_ROW };
    struct lmn__key_index *index;
    struct ArrowSchema schema;
    struct ArrowArray batch, other;
    struct lmn_error err = { 0 };
    uint64_t found[6];
    char text[64];

    (void)state;
    make_schema(&schema, "s");
    CHECK_EQ(ArrowSchemaAllocateDictionary(schema.children[0]), 0);
    ArrowSchemaInit(schema.children[0]->dictionary);
    CHECK_EQ(ArrowSchemaSetType(schema.children[0]->dictionary, NANOARROW_TYPE_STRING), 0);
    make_words(&schema, added, added_row, 6, &batch);
    make_words(&schema, sought, sought_row, 6, &other);
    CHECK_STATUS(lmn__key_index_new(test_env(), &schema, first_column, 1, &index, &err), LMN_OK,
                 &err);
    CHECK_STATUS(lmn__key_index_add(index, &batch, first_column, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__key_index_find(index, &other, first_column, found, &err), LMN_OK, &err);
    for (int i = 0; i < 6; i++)
        CHECK_EQ(found[i], expected[i]);
    lmn__key_index_text(index, &other, first_column, 3, text, sizeof text);
    CHECK_STR(text, "key = \"dog\"");
    lmn__key_index_text(index, &other, first_column, 2, text, sizeof text);
    CHECK_STR(text, "key = null");
    lmn__key_index_free(index);
    batch.release(&batch);
    other.release(&other);
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

/* Which child is which column of the key differs between the rows that are added and sought. */
static const int64_t by_id_name[] = { 0, 2 }, by_name_id[] = { 1, 0 };

static struct lmn__key_index *two_columns(void)
{
    struct lmn__key_index *index;
    struct ArrowSchema schema;
    struct lmn_error err = { 0 };

    keyed_schema(KEYED_ALL, &schema);
    CHECK_STATUS(lmn__key_index_new(test_env(), &schema, by_id_name, 2, &index, &err), LMN_OK,
                 &err);
    schema.release(&schema);
    return index;
}

/* A key with a null equals nothing, so it may be there many times. */
static void test_key_index__nulls(void **state)
{
    static const struct keyed_row row[] = {
        { 1, 0, NULL }, { 1, 0, NULL },          { KEYED_NULL, 0, "a" }, { KEYED_NULL, 0, "a" },
        { 1, 0, "a" },  { KEYED_NULL, 0, NULL }, { 0, 0, "" },           { KEYED_NULL, 0, NULL },
    };
    struct lmn__key_index *index = two_columns();
    struct ArrowArray batch;
    struct lmn_error err = { 0 };
    uint64_t found[8];

    (void)state;
    keyed_batch(KEYED_ALL, row, 8, &batch);
    CHECK_STATUS(lmn__key_index_add(index, &batch, by_id_name, &err), LMN_OK, &err);
    CHECK_OK(lmn__key_index_find(index, &batch, by_id_name, found, &err));
    for (uint64_t i = 0; i < 8; i++)
        CHECK(found[i] == (i == 4 || i == 6 ? i : LMN__NO_ROW));
    lmn__key_index_free(index);
    batch.release(&batch);
}

static void test_key_index__names_keys(void **state)
{
    static const struct keyed_row row[] = {
        { 7, 0, "x" }, { -7, 0, "x" }, { -7, 0, NULL }, { -7, 0, "x" }
    };
    struct lmn__key_index *index = two_columns();
    struct ArrowArray batch;
    struct lmn_error err = { 0 };
    char text[128], cut[10];

    (void)state;
    keyed_batch(KEYED_ALL, row, 4, &batch);
    CHECK_STATUS(lmn__key_index_add(index, &batch, by_id_name, &err), LMN_E_INVALID, &err);
    CHECK_STR(err.message, "the key id = -7, name = \"x\" is there twice, in rows 1 and 3");
    lmn__key_index_text(index, &batch, by_id_name, 2, text, sizeof text);
    CHECK_STR(text, "id = -7, name = null");
    lmn__key_index_text(index, &batch, by_id_name, 0, cut, sizeof cut);
    CHECK_STR(cut, "id = 7, n");
    lmn__key_index_free(index);
    batch.release(&batch);
}

enum { IDS = 40, NAMES = 5, RANDOM_ROWS = 60, BATCHES = 20 };

static const char *const some_names[NAMES] = { "", "a", "b", "ab", "ba" };

static struct keyed_row random_row(uint64_t *seed, uint64_t *id, uint64_t *name)
{
    *id = test_random(seed) % (IDS + 2);
    *name = test_random(seed) % (NAMES + 1);
    return (struct keyed_row){ *id < IDS ? (int64_t)*id : KEYED_NULL, 0,
                               *name < NAMES ? some_names[*name] : NULL };
}

/* Look random keys up, in a part of a batch whose columns stand in another order. */
static void check_random(struct lmn__key_index *index, uint64_t known[IDS][NAMES], uint64_t *seed)
{
    struct keyed_row row[RANDOM_ROWS];
    uint64_t expected[RANDOM_ROWS], found[RANDOM_ROWS], id, name;
    int64_t skip = (int64_t)(test_random(seed) % 20);
    const int64_t columns[] = { 0, 1 };
    struct ArrowArray batch;
    struct lmn_error err = { 0 };

    for (int i = 0; i < RANDOM_ROWS; i++) {
        row[i] = random_row(seed, &id, &name);
        expected[i] = id < IDS && name < NAMES ? known[id][name] : LMN__NO_ROW;
    }
    keyed_batch(KEYED_ID | KEYED_NAME, row, RANDOM_ROWS, &batch);
    batch.offset = skip;
    batch.length -= skip;
    CHECK_STATUS(lmn__key_index_find(index, &batch, columns, found, &err), LMN_OK, &err);
    CHECK_BYTES(found, expected + skip, (size_t)batch.length * sizeof *found);
    batch.release(&batch);
}

static void test_key_index__random(void **state)
{
    struct lmn__key_index *index = two_columns();
    struct ArrowArray batch[BATCHES];
    uint64_t known[IDS][NAMES], seed = 11, row_count = 0, id, name;
    struct lmn_error err = { 0 };

    (void)state;
    memset(known, 0xff, sizeof known);
    for (int b = 0; b < BATCHES; b++) {
        struct keyed_row row[RANDOM_ROWS];
        uint64_t count = 0, skip = test_random(&seed) % 3;

        for (uint64_t i = 0; i < skip; i++) /* before the part that is added */
            row[count++] = random_row(&seed, &id, &name);
        for (uint64_t i = test_random(&seed) % 30; i > 0; i--) {
            row[count] = random_row(&seed, &id, &name);
            if (id < IDS && name < NAMES && known[id][name] != LMN__NO_ROW)
                continue;
            if (id < IDS && name < NAMES)
                known[id][name] = row_count;
            row_count++;
            count++;
        }
        keyed_batch(KEYED_ALL, row, count, &batch[b]);
        batch[b].offset = (int64_t)skip;
        batch[b].length -= (int64_t)skip;
        CHECK_STATUS(lmn__key_index_add(index, &batch[b], by_id_name, &err), LMN_OK, &err);
        check_random(index, known, &seed);
    }
    lmn__key_index_free(index);
    for (int b = 0; b < BATCHES; b++)
        batch[b].release(&batch[b]);
    CHECK_EQ(live_allocations(), 0);
}

/* Keys stay where they are found while the index grows. */
static void test_key_index__grows(void **state)
{
    enum { MANY = 40, EACH = 250 };
    static uint64_t found[MANY * EACH];
    struct lmn__key_index *index;
    struct ArrowSchema schema;
    struct ArrowArray batch[MANY];
    struct lmn_error err = { 0 };

    (void)state;
    keyed_schema(KEYED_ID, &schema);
    CHECK_OK(lmn__key_index_new(test_env(), &schema, first_column, 1, &index, &err));
    for (int64_t b = 0; b < MANY; b++) {
        struct keyed_row row[EACH];

        for (int64_t i = 0; i < EACH; i++)
            row[i] = (struct keyed_row){ (b * EACH + i) * 1000003, 0, NULL };
        keyed_batch(KEYED_ID, row, EACH, &batch[b]);
        CHECK_STATUS(lmn__key_index_add(index, &batch[b], first_column, &err), LMN_OK, &err);
    }
    for (uint64_t b = 0; b < MANY; b++) {
        CHECK_OK(lmn__key_index_find(index, &batch[b], first_column, found, &err));
        for (uint64_t i = 0; i < EACH; i++)
            CHECK_EQ(found[i], b * EACH + i);
    }
    lmn__key_index_free(index);
    for (int b = 0; b < MANY; b++)
        batch[b].release(&batch[b]);
    schema.release(&schema);
}

static enum lmn_status use_index(const struct ArrowSchema *schema, const struct ArrowArray *batch,
                                 uint64_t *found, struct lmn_error *err)
{
    struct lmn__key_index *index;
    enum lmn_status st = lmn__key_index_new(test_env(), schema, by_name_id, 2, &index, err);

    for (int i = 0; st == LMN_OK && i < 2; i++)
        st = lmn__key_index_add(index, &batch[i], by_name_id, err);
    if (st == LMN_OK)
        st = lmn__key_index_find(index, &batch[0], by_name_id, found, err);
    lmn__key_index_free(index);
    return st;
}

static void test_key_index__faults(void **state)
{
    enum { EACH = 400 };
    static struct keyed_row row[2 * EACH];
    uint64_t found[EACH];
    struct ArrowSchema schema;
    struct ArrowArray batch[2];
    int64_t alive;
    bool fired = true;

    (void)state;
    for (int64_t i = 0; i < 2 * EACH; i++)
        row[i] = (struct keyed_row){ i, 0, some_names[i % NAMES] };
    keyed_schema(KEYED_ID | KEYED_NAME, &schema);
    for (int i = 0; i < 2; i++)
        keyed_batch(KEYED_ID | KEYED_NAME, row + i * EACH, EACH, &batch[i]);
    alive = live_allocations();
    for (uint64_t nth = 1; fired; nth++) {
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = use_index(&schema, batch, found, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK_STATUS(st, fired ? LMN_E_NO_MEMORY : LMN_OK, &err);
        CHECK(!fired || err.message[0] != '\0');
        CHECK_EQ(live_allocations(), alive);
    }
    for (uint64_t i = 0; i < EACH; i++)
        CHECK_EQ(found[i], i);
    batch[0].release(&batch[0]);
    batch[1].release(&batch[1]);
    schema.release(&schema);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_key_index__every_type),
        cmocka_unit_test(test_key_index__booleans),
        cmocka_unit_test(test_key_index__refused),
        cmocka_unit_test(test_key_index__nulls),
        cmocka_unit_test(test_key_index__names_keys),
        cmocka_unit_test(test_key_index__random),
        cmocka_unit_test(test_key_index__many_columns),
        cmocka_unit_test(test_key_index__dictionaries),
        cmocka_unit_test(test_key_index__grows),
        cmocka_unit_test(test_key_index__faults),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
