/* SPDX-License-Identifier: Apache-2.0 */
#include "feed/selection.h"

#include <stdio.h>
#include <string.h>

#include <leman/table_scan.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/math.h"
#include "base/pool.h"
#include "expr/expr.h"
#include "feed/cache.h"

enum { PIECE_BITS = 4096, PIECE_BYTES = PIECE_BITS / 8, WORD_BITS = 64 };

enum lmn_status lmn__selection_init(struct lmn__selection *selection,
                                    const struct lmn__snapshot *snapshot, struct lmn_error *err)
{
    uint64_t rows = 0;

    *selection = (struct lmn__selection){ .env = snapshot->env,
                                          .fragment_count = snapshot->fragment_count };
    selection->first = lmn__calloc(snapshot->env, snapshot->fragment_count + 1,
                                   sizeof *selection->first);
    if (selection->first == NULL)
        return lmn__no_memory(err, "chosen rows", snapshot->fragment_count * sizeof rows);
    for (uint64_t i = 0; i < snapshot->fragment_count; i++) {
        selection->first[i] = rows;
        if (!lmn__add_u64(rows, snapshot->fragment[i].row_count, &rows))
            return lmn_fail(err, LMN_E_CORRUPT, "version %llu has more rows than can be counted",
                            (unsigned long long)snapshot->manifest->pb.version);
    }
    selection->first[snapshot->fragment_count] = rows;
    selection->piece_count = lmn__div_up(rows, PIECE_BITS);
    selection->bits = lmn__calloc(snapshot->env, selection->piece_count, PIECE_BYTES);
    selection->directory = lmn__calloc(snapshot->env, selection->piece_count,
                                       sizeof *selection->directory);
    if (selection->bits == NULL || selection->directory == NULL)
        return lmn__no_memory(err, "chosen rows", rows / 8);
    return LMN_OK;
}

void lmn__selection_deinit(struct lmn__selection *selection)
{
    if (selection->env == NULL)
        return;
    lmn__free(selection->env, selection->first);
    lmn__free(selection->env, selection->bits);
    lmn__free(selection->env, selection->directory);
    *selection = (struct lmn__selection){ 0 };
}

static enum lmn_status choose(struct lmn__selection *selection,
                              const struct lmn__snapshot *snapshot, const uint64_t *address,
                              uint64_t count, struct lmn_error *err)
{
    uint64_t id = UINT64_MAX, fragment = 0;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t row = (uint32_t)address[i];

        if (address[i] >> 32 != id) {
            id = address[i] >> 32;
            if (!lmn__snapshot_find(snapshot, id, &fragment))
                return lmn_fail(err, LMN_E_CORRUPT, "a row of fragment %llu, which is not there",
                                (unsigned long long)id);
        }
        if (row >= snapshot->fragment[fragment].row_count)
            return lmn_fail(err, LMN_E_CORRUPT, "row %llu of fragment %llu, which has %llu",
                            (unsigned long long)row, (unsigned long long)id,
                            (unsigned long long)snapshot->fragment[fragment].row_count);
        lmn__bit_set(selection->bits, selection->first[fragment] + row);
    }
    return LMN_OK;
}

/* Bring the directory up to date with the bits. */
static void count_chosen(struct lmn__selection *selection)
{
    selection->count = 0;
    for (uint64_t i = 0; i < selection->piece_count; i++) {
        selection->directory[i] = selection->count;
        selection->count += lmn__bits_count(selection->bits, i * PIECE_BITS, PIECE_BITS);
    }
}

enum lmn_status lmn__selection_scan(struct lmn__selection *selection,
                                    const struct lmn__snapshot *snapshot, struct lmn_table *table,
                                    const char *where, struct lmn_error *err)
{
    static const char *const no_column[1];
    const struct lmn_scan_options options = {
        .column = no_column, .where = where, .with_row_address = true, .batch_rows_max = 1 << 16
    };
    struct ArrowArrayStream stream;
    enum lmn_status st = lmn_table_scan(table, &options, &stream, err);

    if (st != LMN_OK)
        return st;
    while (st == LMN_OK) {
        struct ArrowArray batch;
        const struct ArrowArray *address;

        st = lmn_table_scan_next(&stream, &batch, err);
        if (st != LMN_OK || batch.release == NULL)
            break;
        address = batch.children[0];
        st = choose(selection, snapshot, (const uint64_t *)address->buffers[1] + address->offset,
                    (uint64_t)address->length, err);
        batch.release(&batch);
    }
    stream.release(&stream);
    count_chosen(selection);
    return st;
}

/* The bits as a file that is not there, and as one that is. */
static enum lmn_status read_nothing(void *context, uint64_t offset, void *data, size_t len,
                                    struct lmn_error *err)
{
    (void)context;
    (void)data;
    return lmn_fail(err, LMN_E_NOT_FOUND, "bytes %llu to %llu are not in the cache",
                    (unsigned long long)offset, (unsigned long long)(offset + len));
}

static enum lmn_status read_bits(void *context, uint64_t offset, void *data, size_t len,
                                 struct lmn_error *err)
{
    const struct lmn__selection *selection = context;

    (void)err;
    memcpy(data, selection->bits + offset, len);
    return LMN_OK;
}

static enum lmn_status choose_cached(struct lmn__selection *selection,
                                     const struct lmn__snapshot *snapshot, struct lmn_table *table,
                                     const char *where, struct lmn__cached_file *file,
                                     struct lmn_error *err)
{
    uint64_t bytes = selection->piece_count * PIECE_BYTES, ns = 0, hits = 0;
    struct lmn__block *copy;
    enum lmn_status st = lmn__cached_file_read(file, 0, selection->bits, bytes, read_nothing, NULL,
                                               &ns, &hits, NULL);

    if (st == LMN_OK) {
        count_chosen(selection);
        return LMN_OK;
    }
    memset(selection->bits, 0, bytes);
    st = lmn__selection_scan(selection, snapshot, table, where, err);
    /* What is read through the cache stays in it; without room for a copy it is looked up again. */
    if (st == LMN_OK && lmn__block_new(selection->env->pool, bytes, &copy, NULL) == LMN_OK) {
        st = lmn__cached_file_read(file, 0, copy->data, bytes, read_bits, selection, &ns, &hits,
                                   err);
        lmn__block_release(copy);
    }
    return st;
}

/* A state keeps the text of a condition: it has to choose the same rows whenever it is read. */
static enum lmn_status check_lasting(struct lmn_env *env, const char *where, struct lmn_error *err)
{
    struct lmn__expr *expr;
    const char *clock;
    enum lmn_status st = lmn__expr_parse(env, where, &expr, err);

    if (st != LMN_OK)
        return st;
    clock = lmn__expr_clock(expr);
    if (clock != NULL)
        st = lmn_fail(err, LMN_E_INVALID,
                      "%s() in the condition of a feed: it chooses other rows when the feed is "
                      "continued; write the moment out, as in timestamp '2024-01-31 12:00:00Z'",
                      clock);
    lmn__expr_free(expr);
    return st;
}

enum lmn_status lmn__selection_choose(struct lmn__selection *selection,
                                      const struct lmn__snapshot *snapshot, struct lmn_table *table,
                                      const char *where, struct lmn__cache *cache,
                                      struct lmn_error *err)
{
    const struct lmn__manifest *manifest = snapshot->manifest;
    struct lmn__cached_file *file;
    char name[40];
    enum lmn_status st = check_lasting(selection->env, where, err);

    if (st != LMN_OK)
        return st;
    if (cache == NULL || selection->piece_count == 0)
        return lmn__selection_scan(selection, snapshot, table, where, err);
    snprintf(name, sizeof name, "%016llx-%016llx",
             (unsigned long long)lmn__hash64(manifest->block->data, manifest->bytes),
             (unsigned long long)lmn__hash64(where, strlen(where)));
    st = lmn__cached_file_open(cache, "rows that match", name, selection->piece_count * PIECE_BYTES,
                               &file, err);
    if (st != LMN_OK)
        return st;
    st = choose_cached(selection, snapshot, table, where, file, err);
    lmn__cached_file_close(file);
    return st;
}

/* The last of `count` rising numbers that is not above `value`; the first is not. */
static uint64_t last_up_to(const uint64_t *number, uint64_t count, uint64_t value)
{
    uint64_t low = 0, high = count;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (number[middle] <= value)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void lmn__selection_find(const struct lmn__selection *selection, uint64_t index,
                         uint64_t *fragment_out, uint64_t *row_out)
{
    uint64_t piece = last_up_to(selection->directory, selection->piece_count, index);
    uint64_t left = index - selection->directory[piece], bit = piece * PIECE_BITS, word, here;

    for (;; bit += WORD_BITS, left -= here) {
        memcpy(&word, selection->bits + bit / 8, sizeof word);
        here = (uint64_t)__builtin_popcountll(word);
        if (here > left)
            break;
    }
    for (; left > 0; left--)
        word &= word - 1;
    bit += (uint64_t)__builtin_ctzll(word);
    *fragment_out = last_up_to(selection->first, selection->fragment_count, bit);
    *row_out = bit - selection->first[*fragment_out];
}
