/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that are encoded apart, written anywhere, and joined by a tail.
 */
#include <stdlib.h>
#include <string.h>

#include <leman/leman.h>

#include "arrays.h"
#include "check.h"
#include "stores.h"

enum { ROWS = 3000, PARTS = 6, PART_ROWS = ROWS / PARTS };

static struct sample sample;

static int make_rows(void **state)
{
    (void)state;
    sample_init(&sample, ROWS, 2);
    return 0;
}

static int free_rows(void **state)
{
    (void)state;
    sample_deinit(&sample);
    return 0;
}

static struct lmn_pages *encode_part(int part, const struct lmn_encode_options *options)
{
    struct ArrowArray slice = sample.rows;
    struct lmn_pages *pages;
    struct lmn_error err;

    slice.offset = part * PART_ROWS;
    slice.length = PART_ROWS;
    CHECK_STATUS(lmn_pages_encode(test_env(), &sample.schema, &slice, (uint64_t)part * PART_ROWS,
                                  options, &pages, &err),
                 LMN_OK, &err);
    return pages;
}

/* A file image that grows as pieces are put into it; gaps hold rubbish. */
struct image {
    uint8_t *data;
    uint64_t bytes;
};

static void put(struct image *image, uint64_t position, const void *data, uint64_t bytes)
{
    if (position + bytes > image->bytes) {
        image->data = realloc(image->data, position + bytes);
        memset(image->data + image->bytes, 0xee, position + bytes - image->bytes);
        image->bytes = position + bytes;
    }
    if (bytes != 0)
        memcpy(image->data + position, data, bytes);
}

static uint64_t align(uint64_t position)
{
    return (position + LMN_PAGE_ALIGN - 1) / LMN_PAGE_ALIGN * LMN_PAGE_ALIGN;
}

/* Write the parts in the order given, with gaps, and the tail behind them. */
static void build(struct image *image, const int *order, const struct lmn_encode_options *options)
{
    struct lmn_tail *tail;
    struct lmn_error err;
    const void *data;
    uint64_t end = 128;
    size_t len;

    CHECK_OK(lmn_tail_new(test_env(), &sample.schema, options, &tail, &err));
    for (int i = 0; i < PARTS; i++) {
        struct lmn_pages *pages = encode_part(order[i], options);

        CHECK_OK(lmn_pages_place(pages, end, &err));
        for (uint32_t k = 0; k < lmn_pages_buffer_count(pages); k++) {
            struct lmn_page_buffer buffer = lmn_pages_buffer(pages, k);

            CHECK_EQ(buffer.position % LMN_PAGE_ALIGN, 0);
            CHECK(buffer.position + buffer.bytes <= end + lmn_pages_bytes(pages));
            put(image, buffer.position, buffer.data, buffer.bytes);
        }
        CHECK_OK(lmn_pages_describe(pages, &data, &len, &err));
        CHECK_STATUS(lmn_tail_add(tail, data, len, &err), LMN_OK, &err);
        end = align(end + lmn_pages_bytes(pages)) + 64 * (uint64_t)(i % 3);
        lmn_pages_free(pages);
    }
    CHECK_STATUS(lmn_tail_finish(tail, end, &data, &len, &err), LMN_OK, &err);
    put(image, end, data, len);
    lmn_tail_free(tail);
}

static void check_image(const struct image *image)
{
    struct lmn_store *store = test_store_memory();
    uint64_t wanted[3] = { 0, 1234, ROWS - 1 };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_file *file;
    struct lmn_error err;
    uint64_t at = 0;

    test_store_write(store, "x.lance", image->data, image->bytes);
    CHECK_STATUS(lmn_file_open(store, "x.lance", NULL, &file, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_file_scan(file, NULL, &stream, &err), LMN_OK, &err);
    while (stream.get_next(&stream, &batch) == 0 && batch.release != NULL) {
        CHECK(same_slots(&sample.schema, &sample.rows, at, &batch, 0, (uint64_t)batch.length));
        at += (uint64_t)batch.length;
        batch.release(&batch);
    }
    CHECK_EQ(at, ROWS);
    stream.release(&stream);
    CHECK_STATUS(lmn_file_take(file, wanted, 3, NULL, &batch, &err), LMN_OK, &err);
    for (uint64_t i = 0; i < 3; i++)
        CHECK(same_slots(&sample.schema, &sample.rows, wanted[i], &batch, i, 1));
    batch.release(&batch);
    lmn_file_release(file);
    lmn_store_release(store);
}

static void test_pages__placed_in_any_order(void **state)
{
    static const int orders[][PARTS] = { { 0, 1, 2, 3, 4, 5 }, { 5, 2, 0, 4, 1, 3 } };
    static const char *const versions[] = { "2.1", "2.2" };

    (void)state;
    for (int o = 0; o < 2; o++) {
        for (int v = 0; v < 2; v++) {
            const struct lmn_encode_options options = { .version = versions[v] };
            struct image image = { 0 };

            build(&image, orders[o], &options);
            check_image(&image);
            free(image.data);
        }
    }
    CHECK_EQ(live_allocations(), 0);
}

/* What a tail says when the pages are not all rows, each once. */
static void check_tail(const int *parts, int count, enum lmn_status expected, const char *message)
{
    struct lmn_tail *tail;
    struct lmn_error err;
    const void *data;
    size_t len;

    CHECK_OK(lmn_tail_new(test_env(), &sample.schema, NULL, &tail, &err));
    for (int i = 0; i < count; i++) {
        struct lmn_pages *pages = encode_part(parts[i], NULL);

        CHECK_OK(lmn_pages_describe(pages, &data, &len, &err));
        CHECK_OK(lmn_tail_add(tail, data, len, &err));
        lmn_pages_free(pages);
    }
    CHECK_STATUS(lmn_tail_finish(tail, 1 << 20, &data, &len, &err), expected, &err);
    CHECK_HAS(err.message, message);
    lmn_tail_free(tail);
}

/* It would lie over pages, and the file be damaged. */
static void test_tail__refuses_a_position_inside_of_pages(void **state)
{
    const void *data;
    size_t len;
    struct lmn_pages *pages = encode_part(0, NULL);
    struct lmn_tail *tail;
    struct lmn_error err = { 0 };
    uint64_t end;

    (void)state;
    CHECK_OK(lmn_pages_place(pages, 4096, &err));
    end = align(4096 + lmn_pages_bytes(pages));
    CHECK_OK(lmn_pages_describe(pages, &data, &len, &err));
    CHECK_OK(lmn_tail_new(test_env(), &sample.schema, NULL, &tail, &err));
    CHECK_OK(lmn_tail_add(tail, data, len, &err));
    for (uint64_t at = 0; at < end; at += LMN_PAGE_ALIGN) {
        CHECK_STATUS(lmn_tail_finish(tail, at, &data, &len, &err), LMN_E_INVALID, &err);
        CHECK_HAS(err.message, "before the end of the pages");
        CHECK(data == NULL && len == 0);
    }
    CHECK_STATUS(lmn_tail_finish(tail, end, &data, &len, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_tail_finish(tail, end + LMN_PAGE_ALIGN, &data, &len, &err), LMN_OK, &err);
    lmn_tail_free(tail);
    lmn_pages_free(pages);
}

static void test_tail__refuses_gaps_and_repeats(void **state)
{
    (void)state;
    check_tail((const int[]){ 0, 2 }, 2, LMN_E_INVALID, "begins at row 1000");
    check_tail((const int[]){ 0, 1, 1 }, 3, LMN_E_INVALID, "begins at row 500");
    check_tail((const int[]){ 1 }, 1, LMN_E_INVALID, "begins at row 500");
    CHECK_EQ(live_allocations(), 0);
}

static void test_tail__refuses_damaged_descriptors(void **state)
{
    struct lmn_pages *pages = encode_part(0, NULL);
    uint8_t *copy;
    struct lmn_error err;
    const void *data;
    size_t len;

    (void)state;
    CHECK_OK(lmn_pages_describe(pages, &data, &len, &err));
    copy = malloc(len);
    for (size_t cut = 1; cut < len; cut += 7) {
        struct lmn_tail *tail;

        memcpy(copy, data, len);
        copy[cut] ^= 0xff;
        CHECK_OK(lmn_tail_new(test_env(), &sample.schema, NULL, &tail, &err));
        (void)!lmn_tail_add(tail, copy, len, &err);
        lmn_tail_free(tail);
        CHECK_OK(lmn_tail_new(test_env(), &sample.schema, NULL, &tail, &err));
        (void)!lmn_tail_add(tail, data, cut, &err);
        lmn_tail_free(tail);
    }
    free(copy);
    lmn_pages_free(pages);
    CHECK_EQ(live_allocations(), 0);
}

static void test_pages__refuse_unaligned_places(void **state)
{
    struct lmn_pages *pages = encode_part(0, NULL);
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_pages_place(pages, 100, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "100");
    lmn_pages_free(pages);
}

static void test_pages__large_buffers_begin_at_blocks(void **state)
{
    enum { BLOCK = 4096, LARGE = 1 << 20 };
    struct lmn_pages *pages;
    struct sample rows;
    struct lmn_error err;
    uint64_t end = 5 * BLOCK, large = 0;

    (void)state;
    sample_init(&rows, 20000, 3);
    CHECK_OK(lmn_pages_encode(test_env(), &rows.schema, &rows.rows, 0, NULL, &pages, &err));
    CHECK_OK(lmn_pages_place(pages, end, &err));
    for (uint32_t i = 0; i < lmn_pages_buffer_count(pages); i++) {
        struct lmn_page_buffer buffer = lmn_pages_buffer(pages, i);

        CHECK(buffer.position >= end);
        CHECK_EQ(buffer.position % (buffer.bytes >= LARGE ? BLOCK : LMN_PAGE_ALIGN), 0);
        CHECK(buffer.position - end < BLOCK);
        end = buffer.position + buffer.bytes;
        large += buffer.bytes >= LARGE;
    }
    CHECK_EQ(end, 5 * BLOCK + lmn_pages_bytes(pages));
    CHECK(large > 0);
    lmn_pages_free(pages);
    sample_deinit(&rows);
}

static void test_pages__blobs_are_told_apart(void **state)
{
    static const char metadata[] = "\1\0\0\0\23\0\0\0lance-encoding:blob\4\0\0\0true";
    struct ArrowSchema blob = { .format = "Z", .name = "b", .metadata = metadata };
    struct ArrowSchema plain = { .format = "Z", .name = "b" };

    (void)state;
    CHECK(lmn_pages_positional(&blob));
    CHECK(!lmn_pages_positional(&plain));
}

static void test_pages__faults(void **state)
{
    struct lmn_pages *pages;
    struct lmn_error err;
    enum lmn_status st;

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        const void *data;
        size_t len;

        fault_arm(FAULT_ALLOC, nth);
        st = lmn_pages_encode(test_env(), &sample.schema, &sample.rows, 0, NULL, &pages, &err);
        if (st == LMN_OK) {
            st = lmn_pages_describe(pages, &data, &len, &err);
            lmn_pages_free(pages);
        }
        fault_disarm();
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        CHECK(st == LMN_OK || st == LMN_E_NO_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_pages__placed_in_any_order),
        cmocka_unit_test(test_tail__refuses_gaps_and_repeats),
        cmocka_unit_test(test_tail__refuses_a_position_inside_of_pages),
        cmocka_unit_test(test_tail__refuses_damaged_descriptors),
        cmocka_unit_test(test_pages__refuse_unaligned_places),
        cmocka_unit_test(test_pages__large_buffers_begin_at_blocks),
        cmocka_unit_test(test_pages__blobs_are_told_apart),
        cmocka_unit_test(test_pages__faults),
    };

    return cmocka_run_group_tests(cases, make_rows, free_rows);
}
