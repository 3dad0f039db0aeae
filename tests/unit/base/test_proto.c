/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/proto.h"
#include "check.h"

/* One field of each kind, alone, with presence and repeated, and messages in messages. */
struct sample {
    bool flag;
    uint32_t small;
    uint64_t large;
    int32_t small_signed;
    int64_t large_signed;
    struct lmn__span text;
    struct lmn__span maybe_text;
    bool has_maybe;
    uint32_t maybe;
    struct sample *child;
    struct lmn__pb_u64s numbers;
    struct lmn__pb_spans texts;
    struct lmn__pb_list children;
    struct lmn__pb_list entries;
    struct lmn__span unknown;
};

#define PLACE(member) offsetof(struct sample, member)

extern const struct lmn__pb_message sample_message;

static const struct lmn__pb_field sample_fields[] = {
    { 1, LMN__PB_BOOL, 0, PLACE(flag), 0, NULL },
    { 2, LMN__PB_U32, 0, PLACE(small), 0, NULL },
    { 3, LMN__PB_U64, 0, PLACE(large), 0, NULL },
    { 4, LMN__PB_I32, 0, PLACE(small_signed), 0, NULL },
    { 5, LMN__PB_I64, 0, PLACE(large_signed), 0, NULL },
    { 6, LMN__PB_BYTES, 0, PLACE(text), 0, NULL },
    { 7, LMN__PB_BYTES, LMN__PB_PRESENCE, PLACE(maybe_text), 0, NULL },
    { 8, LMN__PB_U32, LMN__PB_PRESENCE, PLACE(maybe), PLACE(has_maybe), NULL },
    { 9, LMN__PB_MESSAGE, 0, PLACE(child), 0, &sample_message },
    { 10, LMN__PB_U64, LMN__PB_REPEATED, PLACE(numbers), 0, NULL },
    { 11, LMN__PB_BYTES, LMN__PB_REPEATED, PLACE(texts), 0, NULL },
    { 12, LMN__PB_MESSAGE, LMN__PB_REPEATED, PLACE(children), 0, &sample_message },
    { 200, LMN__PB_MESSAGE, LMN__PB_REPEATED, PLACE(entries), 0, &lmn__pb_entry_message },
};

const struct lmn__pb_message sample_message = { "Sample",
                                                sample_fields,
                                                sizeof sample_fields / sizeof *sample_fields,
                                                sizeof(struct sample),
                                                PLACE(unknown),
                                                true };

/* Bytes as a literal, without its NUL. */
#define SPAN(literal) ((struct lmn__span){ (const uint8_t *)(literal), sizeof(literal) - 1 })

static struct lmn__arena arena;

static int arena_begin(void **state)
{
    (void)state;
    lmn__arena_init(&arena, test_env(), 0);
    return 0;
}

static int arena_end(void **state)
{
    (void)state;
    lmn__arena_deinit(&arena);
    CHECK_EQ(live_allocations(), 0);
    return 0;
}

static struct sample decode(struct lmn__span bytes)
{
    struct sample sample = { 0 };
    struct lmn_error err;
    enum lmn_status st = lmn__pb_decode(&sample_message, bytes, &arena, &sample, &err);

    CHECK_STATUS(st, LMN_OK, &err);
    return sample;
}

static void check_corrupt(struct lmn__span bytes, const char *part)
{
    struct sample sample = { 0 };
    struct lmn_error err;
    enum lmn_status st = lmn__pb_decode(&sample_message, bytes, &arena, &sample, &err);

    CHECK_STATUS(st, LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, part);
}

static void check_encodes(const struct sample *sample, struct lmn__span expected)
{
    struct lmn__buf buf;

    lmn__buf_init(&buf, test_env(), 0);
    lmn__pb_encode(&sample_message, sample, &buf);
    CHECK(!buf.failed);
    CHECK_EQ(buf.len, expected.len);
    CHECK_BYTES(buf.data, expected.data, expected.len);
    lmn__buf_deinit(&buf);
}

static void test_proto__scalars(void **state)
{
    static const char bytes[] = "\x08\x01"
                                "\x10\xac\x02"
                                "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                "\x20\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                "\x28\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01";
    struct sample sample = decode(SPAN(bytes));

    (void)state;
    CHECK_EQ(sample.flag, true);
    CHECK_EQ(sample.small, 300);
    CHECK(sample.large == UINT64_MAX);
    CHECK_EQ(sample.small_signed, -2);
    CHECK(sample.large_signed == INT64_MIN);
    check_encodes(&sample, SPAN(bytes));
}

static void test_proto__defaults_are_not_written(void **state)
{
    struct sample sample = decode(SPAN("\x08\x00\x10\x00\x18\x00\x32\x00"));

    (void)state;
    CHECK(sample.text.data != NULL && sample.text.len == 0);
    check_encodes(&sample, SPAN(""));
    sample = decode((struct lmn__span){ NULL, 0 });
    CHECK(sample.text.data == NULL && sample.child == NULL && sample.numbers.count == 0);
    check_encodes(&sample, SPAN(""));
}

static void test_proto__presence_is_kept(void **state)
{
    struct sample sample = decode(SPAN("\x3a\x00\x40\x00"));

    (void)state;
    CHECK(sample.maybe_text.data != NULL && sample.maybe_text.len == 0);
    CHECK(sample.has_maybe && sample.maybe == 0);
    check_encodes(&sample, SPAN("\x3a\x00\x40\x00"));
    sample = decode(SPAN(""));
    CHECK(sample.maybe_text.data == NULL && !sample.has_maybe);
}

static void test_proto__text_is_a_view_of_the_input(void **state)
{
    static const uint8_t bytes[] = { 0x32, 2, 'a', 'b', 0x5a, 1, 'c', 0x5a, 0 };
    struct sample sample = decode((struct lmn__span){ bytes, sizeof bytes });

    (void)state;
    CHECK(sample.text.data == bytes + 2 && sample.text.len == 2);
    CHECK(lmn__span_equal(sample.text, "ab"));
    CHECK(!lmn__span_equal(sample.text, "abc") && !lmn__span_equal(sample.text, "ac"));
    CHECK_EQ(sample.texts.count, 2);
    CHECK(lmn__span_equal(sample.texts.item[0], "c"));
    CHECK(lmn__span_equal(sample.texts.item[1], ""));
    CHECK(lmn__span_equal((struct lmn__span){ NULL, 0 }, ""));
    check_encodes(&sample, (struct lmn__span){ bytes, sizeof bytes });
}

static void test_proto__last_of_a_single_field_counts(void **state)
{
    struct sample sample = decode(SPAN("\x10\x01\x4a\x02\x10\x07\x10\x02\x4a\x02\x18\x09"));

    (void)state;
    CHECK_EQ(sample.small, 2);
    CHECK_EQ(sample.child->small, 0);
    CHECK_EQ(sample.child->large, 9);
}

static void test_proto__repeated_numbers_packed_or_not(void **state)
{
    struct sample sample = decode(SPAN("\x50\x05\x52\x03\x06\x80\x01\x52\x00\x50\x07"));

    (void)state;
    CHECK_EQ(sample.numbers.count, 4);
    CHECK_EQ(sample.numbers.item[0], 5);
    CHECK_EQ(sample.numbers.item[1], 6);
    CHECK_EQ(sample.numbers.item[2], 128);
    CHECK_EQ(sample.numbers.item[3], 7);
    check_encodes(&sample, SPAN("\x52\x05\x05\x06\x80\x01\x07"));
}

static void test_proto__messages_in_messages(void **state)
{
    static const char bytes[] = "\x4a\x04\x4a\x02\x10\x01"
                                "\x62\x02\x10\x02"
                                "\x62\x00"
                                "\xc2\x0c\x06\x0a\x01k\x12\x01v";
    struct sample sample = decode(SPAN(bytes));
    struct sample *children = sample.children.item;
    struct lmn__pb_entry *entries = sample.entries.item;

    (void)state;
    CHECK_EQ(sample.child->child->small, 1);
    CHECK(sample.child->child->child == NULL);
    CHECK_EQ(sample.children.count, 2);
    CHECK_EQ(children[0].small, 2);
    CHECK_EQ(children[1].small, 0);
    CHECK_EQ(sample.entries.count, 1);
    CHECK(lmn__span_equal(entries[0].key, "k") && lmn__span_equal(entries[0].value, "v"));
    check_encodes(&sample, SPAN(bytes));
}

static void test_proto__unknown_fields_survive(void **state)
{
    /* number 20: varint; 21: fixed64; 22: fixed32; 23: bytes; also inside a child */
    static const char bytes[] = "\xa0\x01\x05"
                                "\x10\x01"
                                "\xa9\x01STUVWXYZ"
                                "\x4a\x05\xa0\x01\x06\x10\x02"
                                "\xb5\x01WXYZ"
                                "\xba\x01\x02hi";
    static const char expected[] = "\x10\x01"
                                   "\x4a\x05\x10\x02\xa0\x01\x06"
                                   "\xa0\x01\x05"
                                   "\xa9\x01STUVWXYZ"
                                   "\xb5\x01WXYZ"
                                   "\xba\x01\x02hi";
    struct sample sample = decode(SPAN(bytes));

    (void)state;
    CHECK_EQ(sample.unknown.len, 3 + 10 + 6 + 5);
    CHECK_EQ(sample.child->unknown.len, 3);
    check_encodes(&sample, SPAN(expected));
}

static void test_proto__unknown_fields_are_dropped_without_a_place(void **state)
{
    struct lmn__pb_entry entry = { 0 };
    struct lmn_error err;
    enum lmn_status st = lmn__pb_decode(&lmn__pb_entry_message, SPAN("\x0a\x01k\x18\x01\x12\x01v"),
                                        &arena, &entry, &err);

    (void)state;
    CHECK_STATUS(st, LMN_OK, &err);
    CHECK(lmn__span_equal(entry.key, "k") && lmn__span_equal(entry.value, "v"));
}

static void test_proto__corrupt_bytes_are_named(void **state)
{
    (void)state;
    check_corrupt(SPAN("\x80"), "tag at byte 0");
    check_corrupt(SPAN("\x10\x01\x00\x01"), "tag at byte 2");         /* number 0 */
    check_corrupt(SPAN("\x80\x80\x80\x80\x10\x01"), "tag at byte 0"); /* number 2^29 */
    check_corrupt(SPAN("\x10"), "Sample: field 2 at byte 0");
    check_corrupt(SPAN("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "field 2");
    check_corrupt(SPAN("\x32\x05hi"), "field 6");
    check_corrupt(SPAN("\x32\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01hi"), "field 6");
    check_corrupt(SPAN("\xa9\x01 1234"), "field 21");
    check_corrupt(SPAN("\xb5\x01 12"), "field 22");
    check_corrupt(SPAN("\xa3\x01"), "wire type 3"); /* groups */
    check_corrupt(SPAN("\xa6\x01"), "wire type 6");
    check_corrupt(SPAN("\x52\x02\x01\x80"), "cut short");
    check_corrupt(SPAN("\x52\x0c\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), "cut short");
    check_corrupt(SPAN("\x4a\x01\x10"), "field 2 at byte 0"); /* in the child */
}

static void test_proto__wrong_wire_types_are_corrupt(void **state)
{
    (void)state;
    check_corrupt(SPAN("\x12\x01\x01"), "field 2 has wire type 2"); /* one number, packed */
    check_corrupt(SPAN("\x15 123"), "field 2 has wire type 5");
    check_corrupt(SPAN("\x30\x01"), "field 6 has wire type 0");
    check_corrupt(SPAN("\x48\x01"), "field 9 has wire type 0");
    check_corrupt(SPAN("\x51 1234567"), "field 10 has wire type 1");
    check_corrupt(SPAN("\x58\x01"), "field 11 has wire type 0");
    check_corrupt(SPAN("\x60\x01"), "field 12 has wire type 0");
}

/* `depth` messages, each in the child of the one before. */
static size_t nest(uint8_t *bytes, size_t depth)
{
    size_t len = 0;

    for (size_t i = 0; i < depth; i++) {
        memmove(bytes + 2, bytes, len);
        bytes[0] = 0x4a;
        bytes[1] = (uint8_t)len;
        len += 2;
    }
    return len;
}

static void test_proto__nesting_has_a_limit(void **state)
{
    uint8_t bytes[100];
    struct sample sample = decode((struct lmn__span){ bytes, nest(bytes, 32) });
    size_t depth = 0;

    (void)state;
    for (const struct sample *at = sample.child; at != NULL; at = at->child)
        depth++;
    CHECK_EQ(depth, 32);
    check_corrupt((struct lmn__span){ bytes, nest(bytes, 33) }, "deeper than 32");
}

static void test_proto__arena_limit_stops_decoding(void **state)
{
    static const char bytes[] = "\x62\x00\x62\x00\x62\x00\x62\x00\x62\x00\x62\x00\x62\x00\x62\x00";
    struct lmn__arena small;
    struct sample sample = { 0 };
    struct lmn_error err;
    enum lmn_status st;

    (void)state;
    lmn__arena_init(&small, test_env(), 1000);
    st = lmn__pb_decode(&sample_message, SPAN(bytes), &small, &sample, &err);
    CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    CHECK_HAS(err.message, "Sample");
    lmn__arena_deinit(&small);
}

static struct lmn__span random_span(uint64_t *seed)
{
    size_t len = test_random(seed) % 6;
    uint8_t *data = lmn__arena_alloc(&arena, len);

    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)test_random(seed);
    return (struct lmn__span){ data, len };
}

/* Numbers of every length. */
static uint64_t random_number(uint64_t *seed)
{
    return test_random(seed) >> test_random(seed) % 64;
}

static void random_lists(struct sample *sample, uint64_t *seed)
{
    sample->numbers.count = test_random(seed) % 5;
    sample->numbers.item = lmn__arena_array(&arena, 5, sizeof(uint64_t));
    sample->texts.count = test_random(seed) % 4;
    sample->texts.item = lmn__arena_array(&arena, 4, sizeof(struct lmn__span));
    sample->entries.count = test_random(seed) % 3;
    sample->entries.item = lmn__arena_array(&arena, 3, sizeof(struct lmn__pb_entry));
    for (size_t i = 0; i < sample->numbers.count; i++)
        sample->numbers.item[i] = random_number(seed);
    for (size_t i = 0; i < sample->texts.count; i++)
        sample->texts.item[i] = random_span(seed);
    for (size_t i = 0; i < sample->entries.count; i++)
        ((struct lmn__pb_entry *)sample->entries.item)[i] =
            (struct lmn__pb_entry){ random_span(seed), random_span(seed) };
}

static void random_sample(struct sample *sample, uint32_t depth, uint64_t *seed)
{
    sample->flag = test_random(seed) & 1;
    sample->small = (uint32_t)random_number(seed);
    sample->large = random_number(seed);
    sample->small_signed = (int32_t)random_number(seed);
    sample->large_signed = (int64_t)random_number(seed);
    if (test_random(seed) & 1)
        sample->text = random_span(seed);
    if (test_random(seed) & 1)
        sample->maybe_text = random_span(seed);
    sample->has_maybe = test_random(seed) & 1;
    if (sample->has_maybe)
        sample->maybe = (uint32_t)random_number(seed);
    random_lists(sample, seed);
    if (test_random(seed) & 1)
        sample->unknown = SPAN("\xa0\x01\x05\xba\x01\x02hi");
    if (depth == 0)
        return;
    if (test_random(seed) & 1) {
        sample->child = lmn__arena_alloc(&arena, sizeof *sample);
        random_sample(sample->child, depth - 1, seed);
    }
    sample->children.count = test_random(seed) % 3;
    sample->children.item = lmn__arena_array(&arena, 3, sizeof *sample);
    for (size_t i = 0; i < sample->children.count; i++)
        random_sample((struct sample *)sample->children.item + i, depth - 1, seed);
}

static void check_same_span(struct lmn__span a, struct lmn__span b)
{
    CHECK_EQ(a.len, b.len);
    if (a.len != 0)
        CHECK_BYTES(a.data, b.data, a.len);
}

static void check_same_lists(const struct sample *a, const struct sample *b)
{
    const struct lmn__pb_entry *a_entry = a->entries.item, *b_entry = b->entries.item;

    CHECK_EQ(a->numbers.count, b->numbers.count);
    for (size_t i = 0; i < a->numbers.count; i++)
        CHECK_EQ(a->numbers.item[i], b->numbers.item[i]);
    CHECK_EQ(a->texts.count, b->texts.count);
    for (size_t i = 0; i < a->texts.count; i++)
        check_same_span(a->texts.item[i], b->texts.item[i]);
    CHECK_EQ(a->entries.count, b->entries.count);
    for (size_t i = 0; i < a->entries.count; i++) {
        check_same_span(a_entry[i].key, b_entry[i].key);
        check_same_span(a_entry[i].value, b_entry[i].value);
    }
}

static void check_same(const struct sample *a, const struct sample *b)
{
    CHECK_EQ(a->flag, b->flag);
    CHECK_EQ(a->small, b->small);
    CHECK_EQ(a->large, b->large);
    CHECK_EQ(a->small_signed, b->small_signed);
    CHECK_EQ(a->large_signed, b->large_signed);
    check_same_span(a->text, b->text);
    CHECK_EQ(a->maybe_text.data != NULL, b->maybe_text.data != NULL);
    check_same_span(a->maybe_text, b->maybe_text);
    CHECK_EQ(a->has_maybe, b->has_maybe);
    CHECK_EQ(a->maybe, b->maybe);
    check_same_lists(a, b);
    check_same_span(a->unknown, b->unknown);
    CHECK_EQ(a->child != NULL, b->child != NULL);
    if (a->child != NULL)
        check_same(a->child, b->child);
    CHECK_EQ(a->children.count, b->children.count);
    for (size_t i = 0; i < a->children.count; i++)
        check_same((struct sample *)a->children.item + i, (struct sample *)b->children.item + i);
}

static void encode_random(uint64_t seed, struct sample *sample, struct lmn__buf *buf)
{
    *sample = (struct sample){ 0 };
    random_sample(sample, 3, &seed);
    lmn__buf_init(buf, test_env(), 0);
    lmn__pb_encode(&sample_message, sample, buf);
    CHECK(!buf->failed);
}

static void test_proto__random_messages_round_trip(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct sample sample, again;
        struct lmn__buf buf;

        encode_random(seed, &sample, &buf);
        again = decode((struct lmn__span){ buf.data, buf.len });
        check_same(&sample, &again);
        check_encodes(&again, (struct lmn__span){ buf.data, buf.len });
        lmn__buf_deinit(&buf);
        lmn__arena_deinit(&arena);
    }
}

/* The input lies in memory of exactly its size, so that a sanitizer sees a read past its end. */
static enum lmn_status decode_exactly(const uint8_t *data, size_t len, struct lmn_error *err)
{
    uint8_t *copy = malloc(len != 0 ? len : 1);
    struct sample sample = { 0 };
    enum lmn_status st;

    memcpy(copy, data, len);
    st = lmn__pb_decode(&sample_message, (struct lmn__span){ copy, len }, &arena, &sample, err);
    free(copy);
    return st;
}

static void test_proto__cut_anywhere_is_corrupt_or_shorter(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct lmn_error err = { 0 };
        struct sample sample;
        struct lmn__buf buf;
        size_t corrupt = 0;

        encode_random(seed, &sample, &buf);
        for (size_t len = 0; len <= buf.len; len++) {
            enum lmn_status st = decode_exactly(buf.data, len, &err);

            CHECK(st == LMN_OK || st == LMN_E_CORRUPT);
            corrupt += st == LMN_E_CORRUPT;
        }
        CHECK(corrupt > 0);
        lmn__buf_deinit(&buf);
        lmn__arena_deinit(&arena);
    }
}

static void test_proto__changed_bytes_stay_inside(void **state)
{
    uint64_t seed = 99;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct lmn_error err = { 0 };
        struct sample sample;
        struct lmn__buf buf;
        enum lmn_status st;

        encode_random((uint64_t)round % 50, &sample, &buf);
        for (int i = 0; i < 3; i++)
            buf.data[test_random(&seed) % buf.len] = (uint8_t)test_random(&seed);
        st = decode_exactly(buf.data, buf.len, &err);
        CHECK(st == LMN_OK || st == LMN_E_CORRUPT || st == LMN_E_NO_MEMORY);
        lmn__buf_deinit(&buf);
        lmn__arena_deinit(&arena);
    }
}

static void test_proto__faults_leave_nothing(void **state)
{
    struct sample sample;
    struct lmn__buf buf;

    (void)state;
    encode_random(7, &sample, &buf);
    for (uint64_t nth = 1;; nth++) {
        struct lmn__arena own;
        struct lmn__buf out;
        struct lmn_error err = { 0 };
        enum lmn_status st;
        bool fired;

        fault_arm(FAULT_ALLOC, nth);
        lmn__arena_init(&own, test_env(), 0);
        lmn__buf_init(&out, test_env(), 0);
        memset(&sample, 0, sizeof sample);
        st = lmn__pb_decode(&sample_message, (struct lmn__span){ buf.data, buf.len }, &own, &sample,
                            &err);
        if (st == LMN_OK) {
            lmn__pb_encode(&sample_message, &sample, &out);
            st = lmn__buf_status(&out, "a message", &err);
        }
        fired = fault_fired();
        fault_disarm();
        CHECK_STATUS(st, fired ? LMN_E_NO_MEMORY : LMN_OK, &err);
        lmn__buf_deinit(&out);
        lmn__arena_deinit(&own);
        if (!fired)
            break;
    }
    lmn__buf_deinit(&buf);
}

static void test_proto__pieces_by_hand(void **state)
{
    struct lmn__buf buf;

    (void)state;
    lmn__buf_init(&buf, test_env(), 0);
    lmn__pb_put_varint(&buf, 0);
    lmn__pb_put_varint(&buf, 127);
    lmn__pb_put_varint(&buf, 128);
    lmn__pb_put_varint(&buf, UINT64_MAX);
    lmn__pb_put_tag_bytes(&buf, 16, SPAN("xy"));
    CHECK_EQ(buf.len, 19);
    CHECK_BYTES(buf.data, "\x00\x7f\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x82\x01\x02xy",
                19);
    lmn__buf_deinit(&buf);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, arena_begin, arena_end)

int main(void)
{
    const struct CMUnitTest cases[] = {
        CASE(test_proto__scalars),
        CASE(test_proto__defaults_are_not_written),
        CASE(test_proto__presence_is_kept),
        CASE(test_proto__text_is_a_view_of_the_input),
        CASE(test_proto__last_of_a_single_field_counts),
        CASE(test_proto__repeated_numbers_packed_or_not),
        CASE(test_proto__messages_in_messages),
        CASE(test_proto__unknown_fields_survive),
        CASE(test_proto__unknown_fields_are_dropped_without_a_place),
        CASE(test_proto__corrupt_bytes_are_named),
        CASE(test_proto__wrong_wire_types_are_corrupt),
        CASE(test_proto__nesting_has_a_limit),
        CASE(test_proto__arena_limit_stops_decoding),
        CASE(test_proto__random_messages_round_trip),
        CASE(test_proto__cut_anywhere_is_corrupt_or_shorter),
        CASE(test_proto__changed_bytes_stay_inside),
        CASE(test_proto__faults_leave_nothing),
        CASE(test_proto__pieces_by_hand),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
