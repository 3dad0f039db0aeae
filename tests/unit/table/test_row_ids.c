/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "table/row_ids.h"

enum { IDS_MAX = 5000 };

/* Bytes as a literal, without its NUL. */
#define SPAN(literal) ((struct lmn__span){ (const uint8_t *)(literal), sizeof(literal) - 1 })

struct fixture {
    struct lmn__arena arena;
    struct lmn__buf buf;
    uint64_t id[IDS_MAX];
    uint64_t again[IDS_MAX];
};

static int begin(void **state)
{
    static struct fixture fixture;

    lmn__arena_init(&fixture.arena, test_env(), 0);
    lmn__buf_init(&fixture.buf, test_env(), 0);
    *state = &fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    lmn__buf_deinit(&fixture->buf);
    lmn__arena_deinit(&fixture->arena);
    CHECK_EQ(live_allocations(), 0);
    return 0;
}

static struct lmn__row_ids read_ids(struct fixture *fixture, struct lmn__span bytes, uint64_t count)
{
    struct lmn__row_ids ids;
    struct lmn_error err;

    CHECK_STATUS(lmn__row_ids_read(bytes, count, &fixture->arena, &ids, &err), LMN_OK, &err);
    CHECK_EQ(ids.row_count, count);
    return ids;
}

/* Do `bytes` decode to these ids, one by one and copied from the middle? */
static void check_ids(struct fixture *fixture, struct lmn__span bytes, const uint64_t *id,
                      uint64_t count)
{
    struct lmn__row_ids ids = read_ids(fixture, bytes, count);
    uint64_t row = 0;

    for (uint64_t i = 0; i < ids.run_count; i++) {
        CHECK_EQ(ids.run[i].row, row);
        CHECK(ids.run[i].count > 0);
        CHECK(ids.run[i].count - 1 <= UINT64_MAX - ids.run[i].id);
        row += ids.run[i].count;
    }
    CHECK_EQ(row, count);
    for (uint64_t i = 0; i < count; i++)
        CHECK_EQ(lmn__row_ids_get(&ids, i), id[i]);
    for (uint64_t first = 0; first < count; first += 1 + count / 3) {
        lmn__row_ids_copy(&ids, first, count - first, fixture->again);
        CHECK_BYTES(fixture->again, id + first, (count - first) * 8);
        lmn__row_ids_copy(&ids, first, 1, fixture->again);
        CHECK_EQ(fixture->again[0], id[first]);
    }
    lmn__row_ids_copy(&ids, 0, 0, fixture->again);
}

/* Write the first `count` ids and read them back; the bytes are in fixture->buf. */
static void check_round_trip(struct fixture *fixture, uint64_t count)
{
    lmn__buf_reset(&fixture->buf);
    lmn__row_ids_write(fixture->id, count, &fixture->buf);
    CHECK(!fixture->buf.failed);
    check_ids(fixture, (struct lmn__span){ fixture->buf.data, fixture->buf.len }, fixture->id,
              count);
}

/* Which segments were written: their field numbers in U64Segment. */
static const char *kinds(struct fixture *fixture)
{
    static char text[64];
    struct lmn__pb_row_ids pb = { 0 };
    const struct lmn__pb_u64_segment *segment;
    struct lmn_error err;
    size_t used = 0;

    CHECK_OK(lmn__pb_decode(&lmn__pb_row_ids_message,
                            (struct lmn__span){ fixture->buf.data, fixture->buf.len },
                            &fixture->arena, &pb, &err));
    segment = pb.segments.item;
    for (size_t i = 0; i < pb.segments.count && used + 1 < sizeof text; i++)
        text[used++] = segment[i].range != NULL               ? 'r'
                       : segment[i].range_with_holes != NULL  ? 'h'
                       : segment[i].range_with_bitmap != NULL ? 'b'
                       : segment[i].sorted != NULL            ? 's'
                                                              : 'a';
    text[used] = '\0';
    return text;
}

static void test_row_ids__range_bytes(void **state)
{
    struct fixture *fixture = *state;
    uint64_t id[500];

    for (uint64_t i = 0; i < 500; i++)
        id[i] = 500 + i;
    check_ids(fixture, SPAN("\x0a\x08\x0a\x06\x08\xf4\x03\x10\xe8\x07"), id, 500);
    lmn__row_ids_write_range(500, 500, &fixture->buf);
    CHECK_EQ(fixture->buf.len, 10);
    CHECK_BYTES(fixture->buf.data, "\x0a\x08\x0a\x06\x08\xf4\x03\x10\xe8\x07", 10);
    lmn__buf_reset(&fixture->buf);
    lmn__row_ids_write(id, 500, &fixture->buf);
    CHECK_EQ(fixture->buf.len, 10);
    CHECK_BYTES(fixture->buf.data, "\x0a\x08\x0a\x06\x08\xf4\x03\x10\xe8\x07", 10);
}

static void test_row_ids__no_rows(void **state)
{
    struct fixture *fixture = *state;

    check_ids(fixture, SPAN(""), NULL, 0);
    check_ids(fixture, SPAN("\x0a\x02\x0a\x00"), NULL, 0);
    lmn__row_ids_write_range(7, 0, &fixture->buf);
    lmn__row_ids_write(NULL, 0, &fixture->buf);
    lmn__row_versions_write_same(7, 0, &fixture->buf);
    CHECK_EQ(fixture->buf.len, 0);
}

/* Every kind of segment and of array, after each other. */
static void test_row_ids__all_segments(void **state)
{
    static const char ranges[] =
        "\x0a\x04\x0a\x02\x10\x02"                          /* 0, 1 */
        "\x0a\x10\x12\x0e\x08\x0a\x10\x0e\x1a\x08"          /* 10 to 13 */
        "\x0a\x06\x08\x0b\x12\x02\x01\x00"                  /* but 12 */
        "\x0a\x0a\x1a\x08\x08\x14\x10\x1d\x1a\x02\x05\x01"; /* of 20 to 28 */
    static const char arrays[] = "\x0a\x0c\x22\x0a\x12\x08\x08\x01\x12\x04\x01\x00\x00\x01"
                                 "\x0a\x0e\x2a\x0c\x1a\x0a\x12\x08\xff\xff\xff\xff\xff\xff\xff\xff"
                                 "\x0a\x0c\x2a\x0a\x0a\x08\x08\x64\x12\x04\x09\x00\x00\x00";
    static const uint64_t id[] = { 0, 1, 10, 11, 13, 20, 22, 28 };
    static const uint64_t array_id[] = { 0x1000002, UINT64_MAX, 109, 100 };

    check_ids(*state, SPAN(ranges), id, 8);
    check_ids(*state, SPAN(arrays), array_id, 4);
}

static void test_row_ids__chooses_the_smallest_form(void **state)
{
    struct fixture *fixture = *state;
    uint64_t *id = fixture->id;
    uint64_t n;

    for (n = 0; n < 1000; n++)
        id[n] = n + (n > 400) + (n > 700); /* two left out */
    check_round_trip(fixture, 1000);
    CHECK_STR(kinds(fixture), "h");
    for (n = 0; n < 1000; n++)
        id[n] = 7 + n * 3;
    check_round_trip(fixture, 1000);
    CHECK_STR(kinds(fixture), "b");
    for (n = 0; n < 1000; n++)
        id[n] = UINT64_C(1000000000000) + n * 60;
    check_round_trip(fixture, 1000);
    CHECK_STR(kinds(fixture), "s");
    CHECK(fixture->buf.len < 2030); /* 16-bit distances */
    for (n = 0; n < 1000; n++)
        id[n] = n * 100000;
    check_round_trip(fixture, 1000);
    CHECK(fixture->buf.len > 4000 && fixture->buf.len < 4030);
    for (n = 0; n < 1000; n++)
        id[n] = 5000 - n;
    check_round_trip(fixture, 1000);
    CHECK_STR(kinds(fixture), "a");
}

/* Two appends and scattered rows, as compaction puts them together. */
static void test_row_ids__pieces_get_their_own_segments(void **state)
{
    struct fixture *fixture = *state;
    uint64_t *id = fixture->id, n = 0;

    for (uint64_t i = 0; i < 1000; i++)
        id[n++] = 9000000 + i;
    id[n++] = 77;
    id[n++] = 12;
    id[n++] = 9999999;
    for (uint64_t i = 0; i < 1000; i++)
        id[n++] = 100 + i + (i > 500);
    check_round_trip(fixture, n);
    CHECK_STR(kinds(fixture), "rah");
    CHECK(fixture->buf.len < 80);
}

static void test_row_ids__largest_ids(void **state)
{
    struct fixture *fixture = *state;
    uint64_t *id = fixture->id;

    for (uint64_t i = 0; i < 100; i++)
        id[i] = UINT64_MAX - 99 + i;
    check_round_trip(fixture, 100);
    for (uint64_t i = 0; i < 100; i++)
        id[i] = UINT64_MAX - 100 + i;
    check_round_trip(fixture, 100);
    CHECK_STR(kinds(fixture), "r");
    id[0] = UINT64_MAX;
    id[1] = 0;
    id[2] = UINT64_MAX - 1;
    id[3] = 1;
    check_round_trip(fixture, 4);
    check_round_trip(fixture, 1);
    id[0] = 0;
    id[1] = UINT64_MAX;
    check_round_trip(fixture, 2);
}

static void test_row_ids__random_sequences_round_trip(void **state)
{
    struct fixture *fixture = *state;
    uint64_t random = 11;

    for (int round = 0; round < 400; round++) {
        uint64_t count = 1 + test_random(&random) % (round % 10 == 0 ? IDS_MAX : 300);
        uint64_t next = 0, shift = test_random(&random) % 64;

        for (uint64_t i = 0; i < count; i++) {
            uint64_t what = test_random(&random) % 1000;

            if (what < 20)
                next = test_random(&random) >> shift;
            else if (what < 60)
                next += what;
            else if (what < 100u + (uint64_t)round)
                next += what % 8;
            fixture->id[i] = next++;
        }
        check_round_trip(fixture, count);
    }
}

static void check_corrupt(struct fixture *fixture, struct lmn__span bytes, uint64_t row_count,
                          const char *part)
{
    /* Exactly as long as the input, so that a read past its end is seen. */
    uint8_t *copy = malloc(bytes.len != 0 ? bytes.len : 1);
    struct lmn__row_ids ids;
    struct lmn_error err;

    CHECK(copy != NULL);
    memcpy(copy, bytes.data, bytes.len);
    bytes.data = copy;
    CHECK_STATUS(lmn__row_ids_read(bytes, row_count, &fixture->arena, &ids, &err), LMN_E_CORRUPT,
                 &err);
    CHECK_HAS(err.message, part);
    CHECK(ids.run == NULL);
    free(copy);
}

static void test_row_ids__corrupt_counts(void **state)
{
    struct fixture *fixture = *state;

    check_corrupt(fixture, SPAN("\x0a\x04\x0a\x02\x10\x05"), 4, "the fragment has 4");
    check_corrupt(fixture, SPAN("\x0a\x04\x0a\x02\x10\x05"), 6, "5 rows, the fragment has 6");
    check_corrupt(fixture, SPAN(""), 1, "0 rows");
    check_corrupt(fixture, SPAN("\x0a\x0d\x0a\x0b\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                  1000, "18446744073709551615 rows after 0");
    check_corrupt(fixture,
                  SPAN("\x0a\x04\x0a\x02\x10\x05"
                       "\x0a\x0d\x0a\x0b\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                  1000, "rows after 5");
    check_corrupt(fixture, SPAN("\x0a\x06\x0a\x04\x08\x05\x10\x02"), 3, "from 5 to 2");
}

static void test_row_ids__corrupt_segments(void **state)
{
    struct fixture *fixture = *state;

    check_corrupt(fixture, SPAN("\x0a\x00"), 0, "not of one kind");
    check_corrupt(fixture, SPAN("\x0a\x08\x0a\x02\x10\x02\x2a\x02\x0a\x00"), 2, "not of one kind");
    check_corrupt(fixture, SPAN("\x0a\x02\x2a\x00"), 0, "not of one width");
    check_corrupt(fixture, SPAN("\x0a\x09\x2a\x07\x0a\x05\x12\x03\x01\x00\x00"), 1, "3 bytes");
    /* Holes: more than slots, outside, falling, none given. */
    check_corrupt(fixture, SPAN("\x0a\x0c\x12\x0a\x10\x01\x1a\x06\x0a\x04\x12\x02\x00\x00"), 1,
                  "0 rows");
    check_corrupt(fixture, SPAN("\x0a\x0e\x12\x0c\x10\x01\x1a\x08\x0a\x06\x12\x04\x00\x00\x01\x00"),
                  1, "2 holes in a range of 1");
    check_corrupt(fixture, SPAN("\x0a\x0c\x12\x0a\x10\x04\x1a\x06\x0a\x04\x12\x02\x04\x00"), 3,
                  "holes of a range");
    check_corrupt(fixture, SPAN("\x0a\x0e\x12\x0c\x10\x04\x1a\x08\x0a\x06\x12\x04\x02\x00\x02\x00"),
                  2, "holes of a range");
    check_corrupt(fixture, SPAN("\x0a\x04\x12\x02\x10\x04"), 4, "not of one width");
    /* Bitmaps of the wrong size. */
    check_corrupt(fixture, SPAN("\x0a\x07\x1a\x05\x10\x09\x1a\x01\xff"), 8, "1 bytes for 9");
    check_corrupt(fixture, SPAN("\x0a\x04\x1a\x02\x10\x09"), 9, "0 bytes for 9");
    /* base + distance is beyond 64 bits. */
    check_corrupt(
        fixture,
        SPAN("\x0a\x13\x2a\x11\x0a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x02"
             "\x01\x00"),
        1, "beyond 64 bits");
}

/* Sequences of every form, cut at every byte and with bytes changed. */
static void test_row_ids__corrupt_cut_and_flipped(void **state)
{
    struct fixture *fixture = *state;
    uint64_t random = 5, n = 0;
    struct lmn__span bytes;

    for (uint64_t i = 0; i < 400; i++)
        fixture->id[n++] = 1000 + i * 3;
    for (uint64_t i = 0; i < 20; i++)
        fixture->id[n++] = test_random(&random) % 100000;
    for (uint64_t i = 0; i < 400; i++)
        fixture->id[n++] = 1000000 + i + i / 100;
    check_round_trip(fixture, n);
    CHECK_STR(kinds(fixture), "bah");
    bytes = (struct lmn__span){ fixture->buf.data, fixture->buf.len };
    for (bytes.len = 0; bytes.len < fixture->buf.len; bytes.len++)
        check_corrupt(fixture, bytes, n, "");
    for (int i = 0; i < 20000; i++) {
        uint8_t *at = fixture->buf.data + test_random(&random) % bytes.len;
        uint8_t before = *at;
        struct lmn__row_ids ids;
        struct lmn__arena arena;

        lmn__arena_init(&arena, test_env(), 0);
        *at = (uint8_t)test_random(&random);
        if (lmn__row_ids_read(bytes, n, &arena, &ids, NULL) == LMN_OK)
            lmn__row_ids_copy(&ids, 0, n, fixture->again);
        *at = before;
        lmn__arena_deinit(&arena);
    }
}

static void check_versions(struct fixture *fixture, struct lmn__span bytes, const uint64_t *version,
                           uint64_t count)
{
    struct lmn__row_versions versions;
    struct lmn_error err;

    CHECK_STATUS(lmn__row_versions_read(bytes, count, &fixture->arena, &versions, &err), LMN_OK,
                 &err);
    CHECK_EQ(versions.row_count, count);
    for (uint64_t i = 0; i < count; i++)
        CHECK_EQ(lmn__row_versions_get(&versions, i), version[i]);
    for (uint64_t i = 1; i < versions.run_count; i++)
        CHECK(versions.run[i].version != versions.run[i - 1].version);
}

static void test_row_versions__round_trip(void **state)
{
    struct fixture *fixture = *state;
    uint64_t random = 9;

    for (int round = 0; round < 100; round++) {
        uint64_t count = 1 + test_random(&random) % 2000, version = test_random(&random) >> 40;

        for (uint64_t i = 0; i < count; i++) {
            if (test_random(&random) % 1000 < (uint64_t)round)
                version = test_random(&random) % 300;
            fixture->id[i] = version;
        }
        lmn__buf_reset(&fixture->buf);
        lmn__row_versions_write(fixture->id, count, &fixture->buf);
        check_versions(fixture, (struct lmn__span){ fixture->buf.data, fixture->buf.len },
                       fixture->id, count);
    }
    lmn__buf_reset(&fixture->buf);
    lmn__row_versions_write_same(1, 500, &fixture->buf);
    CHECK_EQ(fixture->buf.len, 11);
    CHECK_BYTES(fixture->buf.data, "\x0a\x09\x0a\x05\x0a\x03\x10\xf4\x03\x10\x01", 11);
}

static void test_row_versions__corrupt(void **state)
{
    static const char *const bytes[] = { "\x0a\x02\x10\x01",
                                         "\x0a\x08\x0a\x04\x0a\x02\x10\x09\x10\x01",
                                         "\x0a\x06\x0a\x02\x0a\x00\x10\x01" };
    static const char *const part[] = { "not of one kind", "9 rows after 0", "0 rows" };
    static const size_t len[] = { 4, 10, 8 };
    struct fixture *fixture = *state;
    struct lmn__row_versions versions;
    struct lmn_error err;

    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(lmn__row_versions_read((struct lmn__span){ (const uint8_t *)bytes[i], len[i] },
                                            8, &fixture->arena, &versions, &err),
                     LMN_E_CORRUPT, &err);
        CHECK_HAS(err.message, "versions of rows");
        CHECK_HAS(err.message, part[i]);
    }
}

static size_t read_golden(const char *name, const char *ending, void *data, size_t cap)
{
    char path[256];
    FILE *file;
    size_t len;

    snprintf(path, sizeof path, LMN_TESTS "/golden/table/%s.%s", name, ending);
    file = fopen(path, "rb");
    CHECK(file != NULL);
    len = fread(data, 1, cap, file);
    fclose(file);
    return len;
}

/* What pylance wrote; see tests/golden/table/make.py. */
static void test_row_ids__golden(void **state)
{
    static const char *const cases[] = { "range", "holes", "bitmap", "sorted", "many" };
    struct fixture *fixture = *state;
    uint8_t bytes[1000];
    char name[64];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lmn__span span = { bytes, 0 };
        size_t count;

        snprintf(name, sizeof name, "row_ids-%s", cases[i]);
        span.len = read_golden(name, "bin", bytes, sizeof bytes);
        count = read_golden(name, "u64", fixture->id, sizeof fixture->id) / 8;
        CHECK(count > 0 && span.len > 0);
        check_ids(fixture, span, fixture->id, count);
        check_round_trip(fixture, count);
        CHECK(fixture->buf.len <= span.len); /* ours is never larger */
        snprintf(name, sizeof name, "versions-%s", cases[i]);
        span.len = read_golden(name, "bin", bytes, sizeof bytes);
        CHECK_EQ(read_golden(name, "u64", fixture->id, sizeof fixture->id) / 8, count);
        check_versions(fixture, span, fixture->id, count);
    }
}

static enum lmn_status write_and_read(struct fixture *fixture, uint64_t count,
                                      struct lmn_error *err)
{
    struct lmn__row_versions versions;
    struct lmn__row_ids ids;
    struct lmn__arena arena;
    struct lmn__buf buf;
    enum lmn_status st;

    lmn__arena_init(&arena, test_env(), 0);
    lmn__buf_init(&buf, test_env(), 0);
    lmn__row_ids_write(fixture->id, count, &buf);
    st = lmn__buf_status(&buf, "row ids", err);
    if (st == LMN_OK)
        st = lmn__row_ids_read((struct lmn__span){ buf.data, buf.len }, count, &arena, &ids, err);
    lmn__buf_reset(&buf);
    lmn__row_versions_write(fixture->id, count, &buf);
    if (st == LMN_OK)
        st = lmn__buf_status(&buf, "versions", err);
    if (st == LMN_OK)
        st = lmn__row_versions_read((struct lmn__span){ buf.data, buf.len }, count, &arena,
                                    &versions, err);
    lmn__buf_deinit(&buf);
    lmn__arena_deinit(&arena);
    return st;
}

static void test_row_ids__faults(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_error err;
    enum lmn_status st;

    for (uint64_t i = 0; i < IDS_MAX; i++)
        fixture->id[i] = i * 50 + i % 7;
    for (uint64_t nth = 1;; nth++) {
        err = (struct lmn_error){ 0 };
        fault_arm(FAULT_ALLOC, nth);
        st = write_and_read(fixture, IDS_MAX, &err);
        fault_disarm();
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        CHECK_EQ(st, LMN_E_NO_MEMORY);
        CHECK(err.message[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_row_ids__range_bytes, begin, end),
        cmocka_unit_test_setup_teardown(test_row_ids__no_rows, begin, end),
        cmocka_unit_test_setup_teardown(test_row_ids__all_segments, begin, end),
        cmocka_unit_test_setup_teardown(test_row_ids__chooses_the_smallest_form, begin, end),
        cmocka_unit_test_setup_teardown(test_row_ids__pieces_get_their_own_segments, begin, end),
        cmocka_unit_test_setup_teardown(test_row_ids__largest_ids, begin, end),
        cmocka_unit_test_setup_teardown(test_row_ids__random_sequences_round_trip, begin, end),
        cmocka_unit_test_setup_teardown(test_row_ids__corrupt_counts, begin, end),
        cmocka_unit_test_setup_teardown(test_row_ids__corrupt_segments, begin, end),
        cmocka_unit_test_setup_teardown(test_row_ids__corrupt_cut_and_flipped, begin, end),
        cmocka_unit_test_setup_teardown(test_row_versions__round_trip, begin, end),
        cmocka_unit_test_setup_teardown(test_row_versions__corrupt, begin, end),
        cmocka_unit_test_setup_teardown(test_row_ids__golden, begin, end),
        cmocka_unit_test_setup_teardown(test_row_ids__faults, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
