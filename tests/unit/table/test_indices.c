/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changes do to the indices of other programs: an index loses fragments or goes, and keeps
 * everything that this library does not know.
 */
#include "table/indices.h"

#include <string.h>

#include "base/roaring.h"
#include "check.h"
#include "format/file_pb.h"

enum { COVER_MAX = 8 };

/* An index: its kind, its fields, and the fragments that it covers; they end with -1. */
struct sample_index {
    const char *name, *kind; /* no kind: no details */
    int32_t field[3];
    int32_t cover[COVER_MAX];
};

static const struct sample_index indices[] = {
    { "by vector", "/lance.index.pb.VectorIndexDetails", { 1, -1 }, { 0, 1, 2, 3, -1 } },
    { "by tree", "/lance.table.BTreeIndexDetails", { 2, -1 }, { 0, 1, 2, 3, -1 } },
    { "by bitmap", "/lance.table.BitmapIndexDetails", { 1, 2, -1 }, { 1, 3, -1 } },
    { "of all", NULL, { 3, -1 }, { -1 } }, /* does not say which fragments */
};

enum { INDICES = 4 };

/* A version in the making that has these indices. */
struct fixture {
    struct lmn__arena arena;
    struct lmn__next next;
    struct lmn__change change;
    struct lmn__pb_schema_field field[3];
};

static struct lmn__span span_of(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

static struct lmn__span keep(struct fixture *fixture, struct lmn__buf *buf)
{
    struct lmn__span bytes = { NULL, buf->len };

    bytes.data = (const uint8_t *)lmn__arena_strndup(&fixture->arena, buf->data, buf->len);
    CHECK(bytes.data != NULL);
    lmn__buf_deinit(buf);
    return bytes;
}

static void make_index(struct fixture *fixture, const struct sample_index *from,
                       struct lmn__pb_index *to)
{
    struct lmn__pb_any any = { 0 };
    struct lmn__buf buf;
    uint64_t count = 0;

    *to = (struct lmn__pb_index){ .name = span_of(from->name), .version = 7 };
    to->uuid = span_of("0123456789abcdef");
    to->unknown = span_of("\xfa\x06\x03new"); /* field 111, of three bytes */
    to->fields.item = lmn__arena_array(&fixture->arena, 3, sizeof *to->fields.item);
    while (from->field[to->fields.count] >= 0) {
        to->fields.item[to->fields.count] = (uint64_t)from->field[to->fields.count];
        to->fields.count++;
    }
    if (from->kind != NULL) {
        any.type_url = span_of(from->kind);
        lmn__buf_init(&buf, test_env(), 0);
        lmn__pb_encode(&lmn__pb_any_message, &any, &buf);
        to->details = keep(fixture, &buf);
    }
    while (from->cover[count] >= 0)
        count++;
    if (count == 0)
        return;
    lmn__buf_init(&buf, test_env(), 0);
    lmn__roaring_from_list((const uint32_t *)from->cover, count, &buf);
    to->fragment_bitmap = keep(fixture, &buf);
}

static void setup(struct fixture *fixture, bool stable)
{
    struct lmn__pb_index index[INDICES];
    struct lmn__pb_index_section section = { .indices = { index, INDICES } };
    struct lmn__buf buf;

    *fixture = (struct fixture){ .next.env = test_env() };
    lmn__arena_init(&fixture->arena, test_env(), 0);
    for (int i = 0; i < INDICES; i++)
        make_index(fixture, &indices[i], &index[i]);
    for (int i = 0; i < 3; i++)
        fixture->field[i].id = i + 1;
    section.unknown = span_of("\xfa\x06\x03sec");
    lmn__buf_init(&buf, test_env(), 0);
    lmn__pb_encode(&lmn__pb_index_section_message, &section, &buf);
    fixture->next.arena = &fixture->arena;
    fixture->next.change = &fixture->change;
    fixture->next.index_section = keep(fixture, &buf);
    fixture->next.pb.fields = (struct lmn__pb_list){ fixture->field, 3 };
    fixture->next.pb.reader_flags = stable ? LMN__FLAG_STABLE_ROW_IDS : 0;
}

static void teardown(struct fixture *fixture)
{
    lmn__arena_deinit(&fixture->arena);
    CHECK_EQ(live_allocations(), 0);
}

/* The section has the index `expected`, as it was but for its cover. */
static void check_index(struct fixture *fixture, const struct lmn__pb_index *index,
                        const struct sample_index *was, const int32_t *cover)
{
    uint32_t *id;
    uint64_t count = 0;

    CHECK(lmn__span_equal(index->name, was->name));
    CHECK(lmn__span_equal(index->uuid, "0123456789abcdef"));
    CHECK(lmn__span_equal(index->unknown, "\xfa\x06\x03new"));
    CHECK_EQ(index->version, 7);
    CHECK_EQ(index->details.data != NULL, was->kind != NULL);
    for (size_t i = 0; i < index->fields.count; i++)
        CHECK_EQ(index->fields.item[i], was->field[i]);
    CHECK_EQ(was->field[index->fields.count], -1);
    if (was->cover[0] == -1) {
        CHECK_EQ(index->fragment_bitmap.len, 0);
        return;
    }
    CHECK_OK(lmn__roaring_to_list(index->fragment_bitmap, &fixture->arena, &id, &count, NULL));
    for (uint64_t i = 0; i < count; i++)
        CHECK_EQ(id[i], cover[i]);
    CHECK_EQ(cover[count], -1);
}

/* The covers of the indices that are left; one that starts with -2 is of an index that is gone. */
static void check_section(struct fixture *fixture, const int32_t cover[INDICES][COVER_MAX])
{
    struct lmn__pb_index_section section = { 0 };
    const struct lmn__pb_index *index;
    size_t at = 0;

    CHECK_OK(lmn__pb_decode(&lmn__pb_index_section_message, fixture->next.index_section,
                            &fixture->arena, &section, NULL));
    CHECK(lmn__span_equal(section.unknown, "\xfa\x06\x03sec"));
    index = section.indices.item;
    for (int i = 0; i < INDICES; i++) {
        if (cover[i][0] == -2)
            continue;
        CHECK(at < section.indices.count);
        check_index(fixture, &index[at++], &indices[i], cover[i]);
    }
    CHECK_EQ(at, section.indices.count);
}

static void test_indices__drop_fields(void **state)
{
    static const int32_t all[INDICES][COVER_MAX] = {
        { 0, 1, 2, 3, -1 }, { 0, 1, 2, 3, -1 }, { 1, 3, -1 }, { -1 }
    };
    static const int32_t without_2[INDICES][COVER_MAX] = {
        { 0, 1, 2, 3, -1 }, { -2 }, { -2 }, { -1 }
    };
    struct fixture fixture;
    struct lmn_error err = { 0 };
    const uint8_t *same;

    (void)state;
    setup(&fixture, true);
    same = fixture.next.index_section.data;
    CHECK_STATUS(lmn__indices_drop_fields(&fixture.next, &err), LMN_OK, &err);
    CHECK(fixture.next.index_section.data == same);
    check_section(&fixture, all);
    fixture.field[1] = fixture.field[2];
    fixture.next.pb.fields.count = 2;
    CHECK_STATUS(lmn__indices_drop_fields(&fixture.next, &err), LMN_OK, &err);
    check_section(&fixture, without_2);
    fixture.next.pb.fields.count = 0;
    CHECK_STATUS(lmn__indices_drop_fields(&fixture.next, &err), LMN_OK, &err);
    check_section(&fixture, (const int32_t[INDICES][COVER_MAX]){ { -2 }, { -2 }, { -2 }, { -2 } });
    teardown(&fixture);
}

static void test_indices__uncover(void **state)
{
    static const int32_t after[INDICES][COVER_MAX] = {
        { 0, 1, 2, 3, -1 }, { 0, 2, -1 }, { -1 }, { -1 }
    };
    uint64_t field[] = { 2, 3 }, id[] = { 3, 9, 1 };
    const struct lmn__pb_u64s fields = { field, 2 }, none = { field, 0 };
    struct fixture fixture;
    struct lmn_error err = { 0 };
    const uint8_t *same;

    (void)state;
    setup(&fixture, true);
    same = fixture.next.index_section.data;
    CHECK_OK(lmn__indices_uncover(&fixture.next, &none, id, 3, &err));
    CHECK_OK(lmn__indices_uncover(&fixture.next, &fields, id + 1, 1, &err));
    CHECK(fixture.next.index_section.data == same);
    CHECK_STATUS(lmn__indices_uncover(&fixture.next, &fields, id, 3, &err), LMN_OK, &err);
    check_section(&fixture, after);
    teardown(&fixture);
}

/*
 * Fragments 0 and 1 become 4, and 3 becomes 5 and 6. Where rows keep their ids, indices that know
 * them by id cover what has taken the place of fragments that they covered whole.
 */
static void test_indices__rewrite(void **state)
{
    static const int32_t stable[INDICES][COVER_MAX] = {
        { 2, 4, 5, 6, -1 }, { 2, -1 }, { 5, 6, -1 }, { -1 }
    };
    static const int32_t unstable[INDICES][COVER_MAX] = { { 2, -1 }, { 2, -1 }, { -1 }, { -1 } };
    struct lmn__pb_fragment before[] = { { .id = 0 }, { .id = 1 }, { .id = 3 } };
    struct lmn__pb_fragment after[] = { { .id = 4 }, { .id = 6 }, { .id = 5 } };
    const struct lmn__rewrite_group group[] = { { before, 2, after, 1 },
                                                { before + 2, 1, after + 1, 2 } };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fixture fixture;
        struct lmn_error err = { 0 };

        setup(&fixture, i == 0);
        fixture.change.group = group;
        fixture.change.group_count = 2;
        CHECK_STATUS(lmn__indices_rewrite(&fixture.next, &err), LMN_OK, &err);
        check_section(&fixture, i == 0 ? stable : unstable);
        teardown(&fixture);
    }
}

static void test_indices__none(void **state)
{
    uint64_t number = 1;
    const struct lmn__pb_u64s fields = { &number, 1 };
    struct fixture fixture;
    struct lmn_error err = { 0 };

    (void)state;
    setup(&fixture, true);
    fixture.next.index_section = (struct lmn__span){ NULL, 0 };
    CHECK_OK(lmn__indices_drop_fields(&fixture.next, &err));
    CHECK_OK(lmn__indices_uncover(&fixture.next, &fields, &number, 1, &err));
    CHECK_OK(lmn__indices_rewrite(&fixture.next, &err));
    CHECK(fixture.next.index_section.data == NULL);
    teardown(&fixture);
}

/* A section that does not decode, and a cover that does not. */
static void test_indices__corrupt(void **state)
{
    uint64_t number = 1;
    const struct lmn__pb_u64s fields = { &number, 1 };
    struct fixture fixture;
    struct lmn__pb_index index;
    struct lmn__pb_index_section section = { .indices = { &index, 1 } };
    struct lmn__buf buf;
    struct lmn_error err = { 0 };

    (void)state;
    setup(&fixture, true);
    make_index(&fixture, &indices[0], &index);
    index.fragment_bitmap = span_of("no bitmap");
    lmn__buf_init(&buf, test_env(), 0);
    lmn__pb_encode(&lmn__pb_index_section_message, &section, &buf);
    fixture.next.index_section = keep(&fixture, &buf);
    CHECK_STATUS(lmn__indices_uncover(&fixture.next, &fields, &number, 1, &err), LMN_E_CORRUPT,
                 &err);
    CHECK_STATUS(lmn__indices_rewrite(&fixture.next, &err), LMN_E_CORRUPT, &err);
    fixture.next.index_section.len--;
    CHECK_STATUS(lmn__indices_drop_fields(&fixture.next, &err), LMN_E_CORRUPT, &err);
    CHECK_STATUS(lmn__indices_uncover(&fixture.next, &fields, &number, 1, &err), LMN_E_CORRUPT,
                 &err);
    CHECK_STATUS(lmn__indices_rewrite(&fixture.next, &err), LMN_E_CORRUPT, &err);
    teardown(&fixture);
}

static void test_indices__faults(void **state)
{
    struct lmn__pb_fragment before = { .id = 1 }, after = { .id = 4 };
    const struct lmn__rewrite_group group = { &before, 1, &after, 1 };
    uint64_t number = 1;
    const struct lmn__pb_u64s fields = { &number, 1 };
    bool fired = true;

    (void)state;
    for (uint64_t nth = 1; fired; nth++) {
        struct fixture fixture;
        struct lmn_error err = { 0 };
        enum lmn_status st;

        setup(&fixture, true);
        fixture.change.group = &group;
        fixture.change.group_count = 1;
        fixture.next.pb.fields.count = 2;
        fault_arm(FAULT_ALLOC, nth);
        st = lmn__indices_drop_fields(&fixture.next, &err);
        if (st == LMN_OK)
            st = lmn__indices_uncover(&fixture.next, &fields, &number, 1, &err);
        if (st == LMN_OK)
            st = lmn__indices_rewrite(&fixture.next, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK_STATUS(st, fired ? LMN_E_NO_MEMORY : LMN_OK, &err);
        teardown(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_indices__drop_fields), cmocka_unit_test(test_indices__uncover),
        cmocka_unit_test(test_indices__rewrite),     cmocka_unit_test(test_indices__none),
        cmocka_unit_test(test_indices__corrupt),     cmocka_unit_test(test_indices__faults),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
