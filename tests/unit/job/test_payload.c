/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads of blobs: gathered, and in places of their own, whether their size is known or not. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "job/payload.h"
#include "stores.h"

enum { MIB = 1 << 20, PIECE = 1000000 };

/*
 * A file in which space is given away from the front on; or, if `moves` is not 0, one that stands
 * for all of them, of which the open one is `base`.
 */
struct place {
    struct lmn_store *store;
    struct lmn__store_file *file;
    struct lmn__payloads payloads;
    uint64_t end;
    uint64_t base;
    uint32_t grant_count, open_count, move_count;
};

static enum lmn_status grant(void *context, uint64_t bytes, uint64_t *position_out,
                             struct lmn_error *err)
{
    struct place *place = context;

    (void)err;
    place->grant_count++;
    *position_out = place->end;
    place->end = (place->end + bytes + 63) / 64 * 64;
    return LMN_OK;
}

static enum lmn_status move(void *context, uint64_t from, uint64_t to, struct lmn_error *err)
{
    struct place *place = context;

    (void)err;
    CHECK_EQ(place->base, from);
    CHECK_EQ(place->open_count, 1);
    place->base = to;
    place->move_count++;
    return LMN_OK;
}

static enum lmn_status open_file(void *context, uint64_t position,
                                 struct lmn__store_file **file_out, uint64_t *base_out,
                                 struct lmn_error *err)
{
    struct place *place = context;

    (void)err;
    CHECK(position < place->end);
    place->open_count++;
    *file_out = place->file;
    place->base = position;
    *base_out = place->payloads.ops->move != NULL ? position : 0;
    return LMN_OK;
}

static enum lmn_status close_file(void *context, struct lmn__store_file *file,
                                  struct lmn_error *err)
{
    struct place *place = context;

    (void)err;
    CHECK(file == place->file);
    place->open_count--;
    return LMN_OK;
}

static void place_open(struct place *place, struct lmn_store *store, bool once)
{
    static const struct lmn__payload_ops shared = { grant, open_file, close_file, NULL };
    static const struct lmn__payload_ops segments = { grant, open_file, close_file, move };
    struct lmn_error err;

    *place = (struct place){ .store = store };
    CHECK_OK(store->ops->create(store, "fill/pages", &place->file, &err));
    lmn__payloads_init(&place->payloads, store, once ? &segments : &shared, place);
}

/* Nothing is left beside the file. */
static void place_close(struct place *place)
{
    lmn__payloads_deinit(&place->payloads);
    CHECK_EQ(place->open_count, 0);
    place->store->ops->close(place->file);
    CHECK_EQ(test_store_count(place->store, "fill"), 1);
}

static uint8_t byte_of(uint64_t seed, uint64_t i)
{
    return (uint8_t)((seed * 31 + i) * 2654435761u >> 13);
}

/* Write a payload in pieces. */
static enum lmn_status put(struct place *place, uint64_t seed, uint64_t announced, uint64_t bytes,
                           struct lmn__payload *payload, struct lmn_error *err)
{
    static uint8_t piece[PIECE];
    enum lmn_status st = lmn__payloads_begin(&place->payloads, announced, err);

    for (uint64_t at = 0; st == LMN_OK && at < bytes; at += PIECE) {
        uint64_t len = bytes - at < PIECE ? bytes - at : PIECE;

        for (uint64_t i = 0; i < len; i++)
            piece[i] = byte_of(seed, at + i);
        st = lmn__payloads_write(&place->payloads, piece, len, err);
    }
    if (st != LMN_OK) {
        lmn__payloads_drop(&place->payloads);
        return st;
    }
    return lmn__payloads_end(&place->payloads, payload, err);
}

static void check_payload(struct place *place, uint64_t seed, struct lmn__payload payload)
{
    static uint8_t bytes[48 * MIB];
    struct lmn_error err;
    uint64_t position;

    CHECK_STATUS(lmn__payloads_position(&place->payloads, payload, &position, &err), LMN_OK, &err);
    CHECK(payload.bytes <= sizeof bytes);
    if (place->payloads.ops->move != NULL)
        position -= place->base;
    CHECK_OK(place->store->ops->read_at(place->file, position, bytes, payload.bytes, &err));
    for (uint64_t i = 0; i < payload.bytes; i++) {
        if (bytes[i] != byte_of(seed, i))
            check_fail(__FILE__, __LINE__, "payload %llu differs at %llu", (unsigned long long)seed,
                       (unsigned long long)i);
    }
}

static int begin(void **state)
{
    *state = test_store_memory();
    return 0;
}

static int end(void **state)
{
    lmn_store_release(*state);
    CHECK_EQ(live_allocations(), 0);
    return 0;
}

static void test_payload__of_every_size_has_its_place(void **state)
{
    static const uint64_t size[] = { 5, 0, MIB - 1, MIB, 3 * MIB + 7, 9 * MIB, 700000, 8 * MIB, 1 };
    enum { COUNT = sizeof size / sizeof size[0] };

    for (int known = 0; known < 2; known++) {
        struct lmn__payload payload[COUNT];
        struct lmn_error err;
        struct place place;
        uint64_t bytes = 0;

        place_open(&place, *state, false);
        for (int round = 0; round < 2; round++) {
            for (uint64_t i = 0; i < COUNT; i++) {
                CHECK_OK(put(&place, i, known ? size[i] : LMN__PAYLOAD_SIZE_UNKNOWN, size[i],
                             &payload[i], &err));
                CHECK_EQ(payload[i].bytes, size[i]);
                bytes += (size[i] + 63) / 64 * 64;
            }
            CHECK_OK(lmn__payloads_settle(&place.payloads, &err));
            for (uint64_t i = 0; i < COUNT; i++)
                check_payload(&place, i, payload[i]);
            lmn__payloads_reset(&place.payloads, true);
        }
        /* Exactly what is needed was granted; or, for those of 9 MiB, space for more of them. */
        if (known)
            CHECK_EQ(place.end, bytes);
        else
            CHECK_EQ(place.end, bytes - 2 * 9 * MIB + 32 * MIB);
        place_close(&place);
        CHECK_OK(place.store->ops->remove(place.store, "fill/pages", &err));
    }
}

static void test_payload__small_ones_share_a_grant(void **state)
{
    struct lmn__payload payload[1000];
    struct lmn_error err;
    struct place place;

    place_open(&place, *state, false);
    for (uint64_t i = 0; i < 1000; i++)
        CHECK_OK(put(&place, i, 100 + i, 100 + i, &payload[i], &err));
    CHECK_EQ(place.grant_count, 0);
    CHECK_OK(lmn__payloads_settle(&place.payloads, &err));
    CHECK_EQ(place.grant_count, 1);
    for (uint64_t i = 0; i < 1000; i++)
        check_payload(&place, i, payload[i]);
    place_close(&place);
}

/* A payload that ends early, runs over or is given up takes no space for itself. */
static void test_payload__that_fails_leaves_its_space(void **state)
{
    static const uint8_t piece[PIECE];
    struct lmn__payload first, last, none;
    struct lmn_error err;
    struct place place;

    place_open(&place, *state, false);
    CHECK_OK(put(&place, 1, 1000, 1000, &first, &err));
    CHECK_STATUS(put(&place, 2, 2000, 1999, &none, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "2000 bytes ends after 1999");
    CHECK_STATUS(put(&place, 2, 2000, 2001, &none, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "2000 bytes has more");
    CHECK_STATUS(put(&place, 2, 2 * MIB, MIB, &none, &err), LMN_E_INVALID, &err);
    CHECK_OK(lmn__payloads_begin(&place.payloads, LMN__PAYLOAD_SIZE_UNKNOWN, &err));
    for (int i = 0; i < 12; i++)
        CHECK_OK(lmn__payloads_write(&place.payloads, piece, PIECE, &err));
    lmn__payloads_drop(&place.payloads);
    /* For the one of 2 MiB, for the one that did not end, and for what was gathered before it. */
    CHECK_EQ(place.grant_count, 3);
    CHECK_OK(put(&place, 3, 20 * MIB - 5, 20 * MIB - 5, &last, &err));
    CHECK_EQ(place.grant_count, 3);
    CHECK_OK(lmn__payloads_settle(&place.payloads, &err));
    check_payload(&place, 1, first);
    check_payload(&place, 3, last);
    place_close(&place);
}

/* Payloads whose size shows at their end lie one behind the other in space that they share. */
static void test_payload__of_unknown_size_leaves_the_rest_to_others(void **state)
{
    struct lmn__payload payload[3];
    struct lmn_error err;
    struct place place;

    place_open(&place, *state, false);
    for (uint64_t i = 0; i < 3; i++) {
        CHECK_OK(put(&place, i, i == 1 ? 3 * MIB : LMN__PAYLOAD_SIZE_UNKNOWN,
                     i == 1 ? 3 * MIB : 9 * MIB + i, &payload[i], &err));
        CHECK_OK(lmn__payloads_settle(&place.payloads, &err));
        check_payload(&place, i, payload[i]);
        lmn__payloads_reset(&place.payloads, true);
    }
    /* 32 MiB were granted, of which 11 are left: the next one is another file's. */
    CHECK_EQ(place.grant_count, 1);
    CHECK_EQ(place.end, 32 * MIB);
    lmn__payloads_reset(&place.payloads, false);
    CHECK_OK(put(&place, 5, 2 * MIB, 2 * MIB, &payload[0], &err));
    CHECK_EQ(place.grant_count, 2);
    place_close(&place);
}

/* Larger than the space that it was given: it goes on behind, or moves away from another's. */
static void test_payload__of_unknown_size_has_space_for_more(void **state)
{
    for (int blocked = 0; blocked < 2; blocked++) {
        struct lmn__payload payload[2];
        struct lmn_error err;
        struct place place;
        uint64_t position;

        place_open(&place, *state, false);
        CHECK_OK(put(&place, 1, LMN__PAYLOAD_SIZE_UNKNOWN, 9 * MIB, &payload[0], &err));
        if (blocked)
            CHECK_OK(grant(&place, MIB, &position, &err));
        CHECK_OK(put(&place, 2, LMN__PAYLOAD_SIZE_UNKNOWN, 40 * MIB, &payload[0], &err));
        /* The room behind the first was 23 MiB. */
        CHECK_EQ(place.grant_count, 2 + blocked);
        CHECK_EQ(place.end, (32 + 4 * 23 + blocked) * MIB);
        CHECK_EQ(place.payloads.largest, 40 * MIB);
        /* From now on there is enough at once. */
        CHECK_OK(put(&place, 3, LMN__PAYLOAD_SIZE_UNKNOWN, 42 * MIB, &payload[1], &err));
        CHECK_EQ(place.grant_count, 2 + blocked);
        CHECK_OK(lmn__payloads_settle(&place.payloads, &err));
        check_payload(&place, 2, payload[0]);
        check_payload(&place, 3, payload[1]);
        place_close(&place);
        CHECK_OK(place.store->ops->remove(place.store, "fill/pages", &err));
    }
}

/* One that is given up leaves its space, wherever it has come to. */
static void test_payload__of_unknown_size_may_be_dropped(void **state)
{
    static const uint8_t piece[PIECE];
    struct lmn__payload payload;
    struct lmn_error err;
    struct place place;

    place_open(&place, *state, false);
    CHECK_OK(lmn__payloads_begin(&place.payloads, LMN__PAYLOAD_SIZE_UNKNOWN, &err));
    for (int i = 0; i < 36; i++)
        CHECK_OK(lmn__payloads_write(&place.payloads, piece, PIECE, &err));
    lmn__payloads_drop(&place.payloads);
    CHECK_EQ(place.grant_count, 2);
    CHECK_OK(put(&place, 1, LMN__PAYLOAD_SIZE_UNKNOWN, 9 * MIB, &payload, &err));
    CHECK_EQ(place.grant_count, 2);
    CHECK_OK(lmn__payloads_settle(&place.payloads, &err));
    check_payload(&place, 1, payload);
    place_close(&place);
}

static void test_payload__of_unknown_size_is_a_segment_of_its_own(void **state)
{
    struct lmn__payload payload;
    struct lmn_error err;
    struct place place;

    place_open(&place, *state, true);
    CHECK_OK(put(&place, 1, LMN__PAYLOAD_SIZE_UNKNOWN, 33 * MIB, &payload, &err));
    CHECK_EQ(place.grant_count, 2);
    CHECK_EQ(place.move_count, 1);
    CHECK_OK(lmn__payloads_settle(&place.payloads, &err));
    check_payload(&place, 1, payload);
    /* What it left is for another one. */
    lmn__payloads_reset(&place.payloads, true);
    CHECK_OK(put(&place, 2, 95 * MIB, 95 * MIB, &payload, &err));
    CHECK_EQ(place.grant_count, 2);
    CHECK_EQ(place.base, (32 + 33) * MIB);
    place_close(&place);
}

static void test_payload__space_of_segments_is_used_once(void **state)
{
    struct lmn__payload payload;
    struct lmn_error err;
    struct place place;

    place_open(&place, *state, true);
    CHECK_STATUS(put(&place, 2, 2 * MIB, MIB, &payload, &err), LMN_E_INVALID, &err);
    CHECK_OK(put(&place, 3, 2 * MIB, 2 * MIB, &payload, &err));
    CHECK_EQ(place.grant_count, 2);
    place_close(&place);
}

static void test_payload__is_begun_and_ended_in_turn(void **state)
{
    struct lmn__payload payload;
    struct lmn_error err;
    struct place place;
    uint64_t position;

    place_open(&place, *state, false);
    CHECK_STATUS(lmn__payloads_write(&place.payloads, "x", 1, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(lmn__payloads_end(&place.payloads, &payload, &err), LMN_E_INVALID, &err);
    CHECK_OK(lmn__payloads_begin(&place.payloads, 1, &err));
    CHECK_STATUS(lmn__payloads_begin(&place.payloads, 1, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(lmn__payloads_settle(&place.payloads, &err), LMN_E_INVALID, &err);
    lmn__payloads_drop(&place.payloads);
    CHECK_STATUS(lmn__payloads_begin(&place.payloads, 1ull << 60, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(
        lmn__payloads_position(&place.payloads, (struct lmn__payload){ 7, 8 }, &position, &err),
        LMN_E_INVALID, &err);
    place_close(&place);
}

/* A failure of the store is not one of the payload: it comes again when all is settled. */
static void test_payload__failures_of_the_store_are_remembered(void **state)
{
    static const uint64_t size[] = { 300, 2 * MIB, 11 * MIB };
    bool fired = true;

    for (uint64_t nth = 1; fired; nth++) {
        struct lmn_store *store = test_store_faulty(*state);
        struct lmn_error err = { 0 };
        struct lmn__payload payload;
        struct place place;
        uint64_t position;
        uint32_t failed = 0;

        place_open(&place, store, false);
        /* The last one begins in space that does not suffice, and moves. */
        CHECK_OK(grant(&place, 12 * MIB, &place.payloads.spare.position, &err));
        place.payloads.spare.bytes = 12 * MIB;
        CHECK_OK(grant(&place, MIB, &position, &err));
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        for (uint64_t i = 0; i < 3; i++)
            failed += put(&place, i, i == 2 ? LMN__PAYLOAD_SIZE_UNKNOWN : size[i], size[i],
                          &payload, &err) != LMN_OK;
        CHECK(failed == 0 || lmn__payloads_settle(&place.payloads, &err) != LMN_OK);
        fired = fault_fired();
        fault_disarm();
        lmn__payloads_reset(&place.payloads, true);
        CHECK_OK(put(&place, 1, 10, 10, &payload, &err));
        CHECK_OK(lmn__payloads_settle(&place.payloads, &err));
        check_payload(&place, 1, payload);
        lmn__payloads_deinit(&place.payloads);
        store->ops->close(place.file);
        CHECK_OK(store->ops->remove(store, "fill/pages", &err));
        lmn_store_release(store);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_payload__of_every_size_has_its_place),
        CASE(test_payload__small_ones_share_a_grant),
        CASE(test_payload__that_fails_leaves_its_space),
        CASE(test_payload__of_unknown_size_leaves_the_rest_to_others),
        CASE(test_payload__of_unknown_size_has_space_for_more),
        CASE(test_payload__of_unknown_size_may_be_dropped),
        CASE(test_payload__of_unknown_size_is_a_segment_of_its_own),
        CASE(test_payload__space_of_segments_is_used_once),
        CASE(test_payload__is_begun_and_ended_in_turn),
        CASE(test_payload__failures_of_the_store_are_remembered),
    };

    return cmocka_run_group_tests_name("payload", tests, NULL, NULL);
}
