/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damaged files: the golden ones, cut short, with bits turned over and with absurd numbers in
 * their tails. Whatever comes of it, nothing is read or written out of bounds, nothing leaks, no
 * more memory is used than the environment allows, and what is handed out is sound Arrow data.
 *
 * timeout: 900
 */
#include <dirent.h>
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <leman/file.h>

#include "base/bytes.h"
#include "stores.h"

enum { DATA_BYTES_MAX = 256 << 20, METADATA_BYTES_MAX = 16 << 20, BATCHES_MAX = 24 };

/* A file as it should be. */
struct golden {
    char name[512];
    uint8_t *data;
    size_t len;
};

/* What came of the reads of one test, to show that there were both kinds. */
static struct {
    uint64_t refused, read;
} seen;

static const char *const releases[] = { "14.0.2", "10.0.0", "6.1.0", "1.0.4", "0.39.0", "0.36.0" };

static void golden_load(struct golden *golden, const char *folder, const char *name)
{
    FILE *file;
    long len;

    snprintf(golden->name, sizeof golden->name, "%s/%s", folder, name);
    file = fopen(golden->name, "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    len = ftell(file);
    CHECK(len > 0 && fseek(file, 0, SEEK_SET) == 0);
    golden->len = (size_t)len;
    golden->data = malloc(golden->len);
    CHECK(golden->data != NULL && fread(golden->data, 1, golden->len, file) == golden->len);
    fclose(file);
}

typedef void (*golden_fn)(const struct golden *golden, uint8_t *copy);

/* Call `fn` with each golden file of at most `bytes_max` bytes, and room for a damaged copy. */
static void each_golden(size_t bytes_max, golden_fn fn)
{
    size_t count = 0;

    seen.refused = seen.read = 0;
    for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++) {
        char folder[256];
        const struct dirent *entry;
        DIR *dir;

        snprintf(folder, sizeof folder, "%s/golden/%s", LMN_TESTS, releases[i]);
        dir = opendir(folder);
        CHECK(dir != NULL);
        while ((entry = readdir(dir)) != NULL) {
            struct golden golden;

            if (strstr(entry->d_name, ".lance") == NULL)
                continue;
            golden_load(&golden, folder, entry->d_name);
            if (golden.len <= bytes_max) {
                uint8_t *copy = malloc(golden.len);

                CHECK(copy != NULL);
                memcpy(copy, golden.data, golden.len);
                fn(&golden, copy);
                free(copy);
                count++;
            }
            free(golden.data);
        }
        closedir(dir);
    }
    CHECK(count > 30);
    CHECK(seen.refused > 100);
    CHECK(seen.read > 100);
}

static void check_failure(enum lmn_status st, const struct lmn_error *err)
{
    if (st != LMN_E_CORRUPT && st != LMN_E_UNSUPPORTED && st != LMN_E_NO_MEMORY)
        check_fail(__FILE__, __LINE__, "status %d: %s", (int)st, err->message);
    CHECK_EQ(err->status, st);
    if (st != LMN_E_NO_MEMORY)
        CHECK_HAS(err->message, "damaged.lance");
    seen.refused++;
}

/* Is an array what its schema says, as far as Arrow's rules go? */
static void check_array(const struct ArrowSchema *schema, const struct ArrowArray *array)
{
    struct ArrowArrayView view;
    struct ArrowError reason;

    if (ArrowArrayViewInitFromSchema(&view, schema, &reason) == NANOARROW_OK) {
        if (ArrowArrayViewSetArray(&view, array, &reason) != NANOARROW_OK ||
            ArrowArrayViewValidate(&view, NANOARROW_VALIDATION_LEVEL_FULL, &reason) != NANOARROW_OK)
            check_fail(__FILE__, __LINE__, "not sound: %s", reason.message);
    }
    ArrowArrayViewReset(&view);
}

static void scan_file(struct lmn_file *file, const struct lmn_read_options *options,
                      const struct ArrowSchema *schema)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_error err = { 0 };
    enum lmn_status st = lmn_file_scan(file, options, &stream, &err);

    if (st != LMN_OK) {
        check_failure(st, &err);
        return;
    }
    for (int i = 0; i < BATCHES_MAX; i++) {
        st = lmn_file_scan_next(&stream, &batch, &err);
        if (st != LMN_OK) {
            check_failure(st, &err);
            break;
        }
        if (batch.release == NULL)
            break;
        check_array(schema, &batch);
        batch.release(&batch);
        seen.read++;
    }
    stream.release(&stream);
}

static void take_rows(struct lmn_file *file, const struct lmn_read_options *options,
                      const struct ArrowSchema *schema)
{
    uint64_t count = lmn_file_row_count(file);
    const uint64_t row[] = { count / 2, 0, count - 1, count / 3, 0 };
    struct ArrowArray array;
    struct lmn_error err = { 0 };
    enum lmn_status st;

    if (count == 0)
        return;
    st = lmn_file_take(file, row, sizeof row / sizeof row[0], options, &array, &err);
    if (st != LMN_OK) {
        check_failure(st, &err);
        return;
    }
    check_array(schema, &array);
    array.release(&array);
    seen.read++;
}

static void read_file(struct lmn_file *file, enum lmn_blob_mode blobs)
{
    const struct lmn_read_options options = { .blobs = blobs, .batch_rows_max = 600, .threads = 1 };
    struct ArrowSchema schema;
    struct lmn_error err = { 0 };
    enum lmn_status st = lmn_file_schema(file, &options, &schema, &err);

    if (st != LMN_OK) {
        check_failure(st, &err);
        return;
    }
    scan_file(file, &options, &schema);
    take_rows(file, &options, &schema);
    schema.release(&schema);
}

/* Read a file of these bytes in every way. */
static void read_damaged(const uint8_t *data, size_t len)
{
    const struct lmn_env_options limits = { .data_bytes_max = DATA_BYTES_MAX,
                                            .idle_bytes_max = 1 << 20,
                                            .metadata_bytes_max = METADATA_BYTES_MAX,
                                            .threads = 1 };
    struct lmn_store *store;
    struct lmn_file *file;
    struct lmn_env *env;
    struct lmn_error err = { 0 };
    enum lmn_status st;

    CHECK_OK(lmn_env_new(&limits, &env, &err));
    CHECK_OK(lmn_store_open_memory(env, &store, &err));
    test_store_write(store, "damaged.lance", data, len);
    st = lmn_file_open(store, "damaged.lance", NULL, &file, &err);
    if (st == LMN_OK) {
        read_file(file, LMN_BLOB_DESCRIPTORS);
        read_file(file, LMN_BLOB_BYTES);
        lmn_file_release(file);
    } else {
        check_failure(st, &err);
    }
    lmn_store_release(store);
    CHECK_EQ(lmn_env_data_bytes(env), 0);
    lmn_env_release(env);
}

static void read_whole(const struct golden *golden, uint8_t *copy)
{
    uint64_t refused = seen.refused;

    (void)copy;
    read_damaged(golden->data, golden->len);
    if (seen.refused != refused)
        check_fail(__FILE__, __LINE__, "%s is refused though it is whole", golden->name);
    seen.refused += 100; /* of this test, none is */
}

static void test_corrupt__whole_files_are_read(void **state)
{
    (void)state;
    each_golden(SIZE_MAX, read_whole);
}

static void cut_short(const struct golden *golden, uint8_t *copy)
{
    size_t step = golden->len / 40 + 1;

    for (size_t len = 0; len < golden->len; len += step)
        read_damaged(copy, len);
    for (size_t lost = 1; lost < 50 && lost < golden->len; lost++)
        read_damaged(copy, golden->len - lost);
    seen.read += 100; /* of this test, hardly one is */
}

static void test_corrupt__short_files_are_refused(void **state)
{
    (void)state;
    each_golden(12 << 10, cut_short);
}

static void turn_bits(const struct golden *golden, uint8_t *copy)
{
    uint64_t random = golden->len, metadata = lmn__load_u64(golden->data + golden->len - 40);
    size_t at = 0;

    CHECK(metadata < golden->len);
    while (at < golden->len) {
        uint8_t bit = (uint8_t)(1u << test_random(&random) % 8);

        copy[at] ^= bit;
        read_damaged(copy, golden->len);
        copy[at] ^= bit;
        at += at < metadata ? 1 + test_random(&random) % 23 : 1 + test_random(&random) % 3;
    }
}

static void test_corrupt__turned_bits_do_no_harm(void **state)
{
    (void)state;
    each_golden(6 << 10, turn_bits);
}

/* Numbers that overflow something, in place of those of the tail. */
static void put_absurd_numbers(const struct golden *golden, uint8_t *copy)
{
    static const uint64_t absurd[] = { 0,         1,          0x7f,       0xff,
                                       0xffff,    0x7fffffff, 0xffffffff, UINT64_MAX / 16,
                                       INT64_MAX, UINT64_MAX };
    size_t metadata = (size_t)lmn__load_u64(golden->data + golden->len - 40);
    size_t tail = metadata < 200 ? 0 : metadata - 200;

    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        for (size_t at = tail; at + 8 <= golden->len; at += 1 + (i * 3 + at) % 5) {
            size_t width = golden->len - at > 40 ? 1 + (at + i) % 8 : 4 + 4 * (at % 2);

            for (size_t k = 0; k < width; k++)
                copy[at + k] = (uint8_t)(absurd[i] >> 8 * k);
            read_damaged(copy, golden->len);
            memcpy(copy + at, golden->data + at, width);
        }
    }
}

static void test_corrupt__absurd_numbers_do_no_harm(void **state)
{
    (void)state;
    each_golden(3 << 10, put_absurd_numbers);
}

/* Several places at once, so that one mistake may hide another. */
static void mix_bytes(const struct golden *golden, uint8_t *copy)
{
    uint64_t random = golden->len * 31;

    for (int i = 0; i < 60; i++) {
        for (uint64_t k = test_random(&random) % 8 + 1; k > 0; k--)
            copy[test_random(&random) % golden->len] = (uint8_t)test_random(&random);
        read_damaged(copy, golden->len);
        memcpy(copy, golden->data, golden->len);
    }
}

static void test_corrupt__mixed_bytes_do_no_harm(void **state)
{
    (void)state;
    each_golden(16 << 10, mix_bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corrupt__whole_files_are_read),
        cmocka_unit_test(test_corrupt__short_files_are_refused),
        cmocka_unit_test(test_corrupt__turned_bits_do_no_harm),
        cmocka_unit_test(test_corrupt__absurd_numbers_do_no_harm),
        cmocka_unit_test(test_corrupt__mixed_bytes_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
