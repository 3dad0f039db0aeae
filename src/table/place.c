/* SPDX-License-Identifier: Apache-2.0 */
#include "table/place.h"

#include <stdlib.h>
#include <string.h>

#include "format/file_pb.h"
#include "table/conflict.h"
#include "table/versions.h"

/* A version that was made, and the one that it was made on top of. */
struct made {
    struct lmn_table *table;
    const struct lmn__manifest *base, *manifest;
};

static int compare_spans(const void *a, const void *b)
{
    const struct lmn__span *x = a, *y = b;
    int order = x->len != 0 && y->len != 0
                    ? memcmp(x->data, y->data, x->len < y->len ? x->len : y->len)
                    : 0;

    return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

/* The fragments of a version as bytes, in order of these. */
static enum lmn_status sort_fragments(const struct lmn__manifest *manifest,
                                      struct lmn__arena *arena, struct lmn__pb_spans *spans_out,
                                      struct lmn_error *err)
{
    size_t count = manifest->pb.fragments.count;
    struct lmn__span *item = lmn__arena_array(arena, count, sizeof *item);

    *spans_out = (struct lmn__pb_spans){ item, count };
    if (item == NULL)
        return lmn__arena_fail(arena, "a list of fragments", err);
    if (count != 0) {
        memcpy(item, manifest->pb.fragments.item, count * sizeof *item);
        qsort(item, count, sizeof *item, compare_spans);
    }
    return LMN_OK;
}

static bool has_span(const struct lmn__pb_spans *spans, const struct lmn__span *span)
{
    return spans->count != 0 &&
           bsearch(span, spans->item, spans->count, sizeof *span, compare_spans) != NULL;
}

/* How a commit, made or not, is seen in a later version. */
struct effect {
    struct lmn__pb_spans before, made, after; /* fragments, sorted */
    bool brought, kept;                       /* fragments; one of them is in the later version */
    bool lost, back;                          /* fragments; one of them is in the later version */
};

static void compare_fragments(struct effect *effect)
{
    for (size_t i = 0; i < effect->made.count; i++) {
        if (!has_span(&effect->before, &effect->made.item[i])) {
            effect->brought = true;
            effect->kept |= has_span(&effect->after, &effect->made.item[i]);
        }
    }
    for (size_t i = 0; i < effect->before.count; i++) {
        if (!has_span(&effect->made, &effect->before.item[i])) {
            effect->lost = true;
            effect->back |= has_span(&effect->after, &effect->before.item[i]);
        }
    }
}

static enum lmn_status encode_fields(const struct lmn__manifest *manifest, struct lmn__buf *out,
                                     struct lmn_error *err)
{
    struct lmn__pb_schema schema = { .fields = manifest->pb.fields };
    const struct lmn__pb_descriptor descriptor = { .schema = &schema };

    lmn__pb_encode(&lmn__pb_descriptor_message, &descriptor, out);
    return lmn__buf_status(out, "a schema", err);
}

/* Do two versions have the same fields? */
static enum lmn_status same_fields(const struct lmn__manifest *a, const struct lmn__manifest *b,
                                   bool *same_out, struct lmn_error *err)
{
    struct lmn__buf one, two;
    enum lmn_status st;

    lmn__buf_init(&one, a->env, 0);
    lmn__buf_init(&two, a->env, 0);
    st = encode_fields(a, &one, err);
    if (st == LMN_OK)
        st = encode_fields(b, &two, err);
    *same_out = st == LMN_OK && one.len == two.len && memcmp(one.data, two.data, one.len) == 0;
    lmn__buf_deinit(&one);
    lmn__buf_deinit(&two);
    return st;
}

/* Is what the commit did to be seen in a later version? */
static enum lmn_status has_effect(const struct made *made, const struct lmn__manifest *later,
                                  bool *has_out, struct lmn_error *err)
{
    struct effect effect = { 0 };
    struct lmn__arena arena;
    bool unchanged = true, same = true;
    enum lmn_status st;

    lmn__arena_init(&arena, made->table->env, 0);
    st = sort_fragments(made->base, &arena, &effect.before, err);
    if (st == LMN_OK)
        st = sort_fragments(made->manifest, &arena, &effect.made, err);
    if (st == LMN_OK)
        st = sort_fragments(later, &arena, &effect.after, err);
    if (st == LMN_OK)
        st = same_fields(made->base, made->manifest, &unchanged, err);
    if (st == LMN_OK && !unchanged)
        st = same_fields(made->manifest, later, &same, err);
    if (st == LMN_OK)
        compare_fragments(&effect);
    *has_out = st == LMN_OK && (effect.brought ? effect.kept : !effect.back && same);
    lmn__arena_deinit(&arena);
    return st;
}

/* Of the version behind the one that was made: was it made on top of that? */
static enum lmn_status look_behind(const struct made *made, enum lmn__place *place_out,
                                   struct lmn_error *err)
{
    struct lmn__pb_transaction transaction;
    struct lmn__manifest *next;
    struct lmn__arena arena;
    bool has = false;
    enum lmn_status st = lmn__table_read_past(made->table, made->base->pb.version + 2,
                                              made->base->plain_name, &next, err);

    if (st != LMN_OK)
        return st == LMN_E_NOT_FOUND ? LMN_OK : st;
    lmn__arena_init(&arena, made->table->env, 0);
    st = has_effect(made, next, &has, err);
    if (st == LMN_OK && has)
        *place_out = LMN__PLACE_IN_HISTORY;
    /* Others may take away what was brought, but not an append. */
    else if (st == LMN_OK &&
             lmn__transaction_read(made->table->store, next, &arena, &transaction, NULL) == LMN_OK)
        *place_out = transaction.append != NULL ? LMN__PLACE_IN_A_GAP : LMN__PLACE_NOT_KNOWN;
    lmn__arena_deinit(&arena);
    lmn__manifest_release(next);
    return st;
}

enum lmn_status lmn__place_find(struct lmn_table *table, const struct lmn__manifest *base,
                                const struct lmn__manifest *made, enum lmn__place *place_out,
                                struct lmn_error *err)
{
    const struct made both = { table, base, made };
    struct lmn__version_mark mark;
    struct lmn__manifest *newest;
    uint64_t version;
    bool plain, has = false;
    enum lmn_status st = lmn__version_mark(table->store, base->pb.version, base->plain_name, &mark,
                                           err);

    /* While the one before it is there, it is behind that; one with a tag stays there, too. */
    *place_out = st == LMN_OK && lmn__version_same(&mark, &base->mark) ? LMN__PLACE_IN_HISTORY
                                                                       : LMN__PLACE_IN_A_GAP;
    if (st != LMN_E_NOT_FOUND)
        return st;
    *place_out = LMN__PLACE_IN_HISTORY;
    st = lmn__versions_newest(table->store, &version, &plain, err);
    if (st != LMN_OK || version <= base->pb.version + 1)
        return st;
    *place_out = LMN__PLACE_NOT_KNOWN;
    if (made == NULL)
        return LMN_OK;
    st = lmn__table_read_version(table, version, plain, &newest, err);
    if (st != LMN_OK)
        return st;
    st = has_effect(&both, newest, &has, err);
    lmn__manifest_release(newest);
    if (has)
        *place_out = LMN__PLACE_IN_HISTORY;
    return st == LMN_OK && !has ? look_behind(&both, place_out, err) : st;
}
