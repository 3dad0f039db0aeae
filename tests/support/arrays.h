/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrays.h - Arrow data for tests: rows of many types, and a comparison of arrays.
 */
#ifndef LMN_TESTS_ARRAYS_H
#define LMN_TESTS_ARRAYS_H

#include <stdbool.h>
#include <stdint.h>

#include <leman/leman.h>

/*
 * A type with a column of each kind that encodings treat differently: numbers, nullable numbers,
 * booleans, strings that repeat and that do not, long binaries, vectors, lists, nested lists,
 * structs, dictionaries. The caller releases it.
 */
void sample_schema(struct ArrowSchema *schema_out);

/* `rows` rows of that type, the same for the same seed. The caller releases them. */
void sample_rows(uint64_t rows, uint64_t seed, struct ArrowArray *array_out);

/* Rows of the sample type with their schema; made and released by the test's fixtures. */
struct sample {
    struct ArrowSchema schema;
    struct ArrowArray rows;
};

void sample_init(struct sample *sample, uint64_t rows, uint64_t seed);
void sample_deinit(struct sample *sample);

/* Write all rows to a file, `batch_rows` at a time. */
enum lmn_status sample_write(const struct sample *sample, struct lmn_store *store, const char *path,
                             const struct lmn_file_writer_options *options, uint64_t batch_rows,
                             struct lmn_error *err);

/*
 * Rows [first, first + count) as a stream of batches of at most `batch_rows`. It borrows from the
 * sample; its consumer releases it.
 */
void sample_stream(const struct sample *sample, uint64_t first, uint64_t count, uint64_t batch_rows,
                   struct ArrowArrayStream *stream_out);

/* Number of columns of the sample type, and their names. */
int sample_column_count(void);
const char *sample_column_name(int index);

/*
 * Are slots [first_a, first_a + count) of `a` and [first_b, ...) of `b`, both of type `schema`,
 * the same values? Prints where they differ.
 */
bool same_slots(const struct ArrowSchema *schema, const struct ArrowArray *a, uint64_t first_a,
                const struct ArrowArray *b, uint64_t first_b, uint64_t count);

#endif
