/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is made, and its name durable, before anything in it is granted. What lies between the
 * last grant of an epoch and its mark is never granted: a hole, which takes no space.
 */
#include <inttypes.h>
#include <stdio.h>

#include <leman/page.h>

#include "base/math.h"
#include "format/pages.h"
#include "job/journal_parts.h"

/* A mark is as far ahead as the file is long, within these: few syncs, and small holes. */
static const uint64_t step_min = 1ull << 20, step_max = 1ull << 30;

void lmn__fill_path(const char *dir, enum lmn__grant_file file, uint64_t fragment_id,
                    uint64_t layout, char path_out[LMN__FILL_PATH_BYTES])
{
    if (file == LMN__GRANT_HOLD)
        snprintf(path_out, LMN__FILL_PATH_BYTES, "%s/hold", dir);
    else
        snprintf(path_out, LMN__FILL_PATH_BYTES, "%s/%" PRIu64 "-%016" PRIx64 ".pages", dir,
                 fragment_id, layout);
}

void lmn__segment_path(const char *dir, enum lmn__grant_file file, uint64_t fragment_id,
                       uint64_t layout, uint64_t position, char path_out[LMN__FILL_PATH_BYTES])
{
    snprintf(path_out, LMN__FILL_PATH_BYTES, "%s/%" PRIu64 "-%016" PRIx64 ".%s.%" PRIu64, dir,
             fragment_id, layout, file == LMN__GRANT_HOLD ? "hold" : "pages", position);
}

enum lmn_status lmn__journal_space(struct lmn__journal *journal, enum lmn__grant_file file,
                                   uint64_t fragment_id, uint64_t layout,
                                   struct lmn__space **space_out, struct lmn_error *err)
{
    struct lmn__space *space = journal->space;

    if (file == LMN__GRANT_HOLD)
        fragment_id = layout = 0;
    for (uint64_t i = journal->space_count; i-- > 0;) {
        *space_out = &space[i];
        if (space[i].file == file && space[i].fragment_id == fragment_id &&
            space[i].layout == layout)
            return LMN_OK;
    }
    *space_out = NULL;
    if (journal->space_count == journal->space_cap) {
        uint64_t cap = lmn__max_u64(journal->space_cap * 2, 8);

        space = lmn__realloc(journal->env, space, cap * sizeof *space);
        if (space == NULL)
            return lmn__no_memory(err, "a journal", cap * sizeof *space);
        journal->space = space;
        journal->space_cap = cap;
    }
    *space_out = &space[journal->space_count++];
    **space_out = (struct lmn__space){ .file = file, .fragment_id = fragment_id, .layout = layout };
    return LMN_OK;
}

/* Make the file unless it is there. Its name is durable afterwards. */
static enum lmn_status make_file(struct lmn__journal *journal, struct lmn__space *space,
                                 struct lmn_error *err)
{
    struct lmn_store *store = journal->store;
    struct lmn__store_file *file;
    char path[LMN__FILL_PATH_BYTES];
    enum lmn_status st;

    if (space->made)
        return LMN_OK;
    lmn__fill_path(journal->dir, space->file, space->fragment_id, space->layout, path);
    st = store->ops->create(store, path, &file, err);
    if (st == LMN_OK)
        store->ops->close(file);
    if (st == LMN_OK || st == LMN_E_EXISTS)
        st = store->ops->sync_dir(store, journal->dir, err);
    space->made = st == LMN_OK;
    return st;
}

/* Raise the mark so that `bytes` more may be granted, durably. */
static enum lmn_status raise_mark(struct lmn__journal *journal, struct lmn__space *space,
                                  uint64_t bytes, struct lmn_error *err)
{
    uint64_t step = lmn__min_u64(lmn__max_u64(space->next, step_min), step_max), end;
    struct lmn__record_mark mark = { space->file, space->fragment_id, space->layout, 0 };
    const struct lmn__record record = { .mark = &mark };
    enum lmn_status st;

    step = lmn__align_up(lmn__max_u64(step, bytes), LMN_PAGE_ALIGN);
    if (!lmn__add_u64(space->next, step, &end) || end > INT64_MAX)
        return lmn_fail(err, LMN_E_INVALID, "%s: no space for %llu bytes behind byte %llu",
                        journal->dir, (unsigned long long)bytes, (unsigned long long)space->next);
    mark.position = end;
    st = lmn__journal_put(journal, &record, err);
    if (st == LMN_OK)
        st = lmn__journal_sync(journal, err);
    if (st == LMN_OK)
        space->mark = end;
    return st;
}

static enum lmn_status remember_grant(struct lmn__journal *journal, struct lmn__space *space,
                                      uint64_t bytes, struct lmn_error *err)
{
    if (space->grant_count == space->grant_cap) {
        uint64_t cap = lmn__max_u64(space->grant_cap * 2, 16);
        struct lmn__grant *grown = lmn__realloc(journal->env, space->grant, cap * sizeof *grown);

        if (grown == NULL)
            return lmn__no_memory(err, "a list of grants", cap * sizeof *grown);
        space->grant = grown;
        space->grant_cap = cap;
    }
    space->grant[space->grant_count++] = (struct lmn__grant){ space->next, bytes };
    return LMN_OK;
}

enum lmn_status lmn__journal_grant(struct lmn__journal *journal, enum lmn__grant_file file,
                                   uint64_t fragment_id, uint64_t layout, uint64_t bytes,
                                   uint64_t *position_out, struct lmn_error *err)
{
    struct lmn__space *space;
    uint64_t skipped = 0;
    enum lmn_status st;

    *position_out = 0;
    if (bytes == 0 || bytes > INT64_MAX / 2)
        return lmn_fail(err, LMN_E_INVALID, "%s: %llu bytes are asked for", journal->dir,
                        (unsigned long long)bytes);
    st = lmn__journal_space(journal, file, fragment_id, layout, &space, err);
    if (st == LMN_OK)
        st = make_file(journal, space, err);
    if (st != LMN_OK)
        return st;
    /* Much begins at a block, so that it is written past the system's cache. */
    if (bytes >= LMN__PAGES_LARGE_BYTES)
        skipped = lmn__align_up(space->next, LMN__FILE_BLOCK_BYTES) - space->next;
    if (bytes + skipped > space->mark - space->next)
        st = raise_mark(journal, space, bytes + skipped, err);
    if (st == LMN_OK)
        space->next += skipped;
    if (st == LMN_OK)
        st = remember_grant(journal, space, bytes, err);
    if (st != LMN_OK)
        return st;
    *position_out = space->next;
    space->next = lmn__min_u64(lmn__align_up(space->next + bytes, LMN_PAGE_ALIGN), space->mark);
    return LMN_OK;
}

uint64_t lmn__journal_since(const struct lmn__journal *journal, uint64_t fragment_id,
                            uint64_t layout)
{
    for (uint64_t i = 0; i < journal->space_count; i++) {
        const struct lmn__space *space = &journal->space[i];

        if (space->file == LMN__GRANT_PAGES && space->fragment_id == fragment_id &&
            space->layout == layout)
            return space->since;
    }
    return 0;
}

/* The grant that has all of these bytes, or NULL. */
static struct lmn__grant *find_grant(const struct lmn__space *space, uint64_t position,
                                     uint64_t bytes)
{
    uint64_t low = 0, high = space->grant_count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (space->grant[middle].position <= position)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || !lmn__range_fits(position - space->grant[low - 1].position, bytes,
                                     space->grant[low - 1].bytes))
        return NULL;
    return &space->grant[low - 1];
}

/* What was granted up to `end` has served; the rest may still be written. */
static void take_grant(struct lmn__space *space, struct lmn__grant *grant, uint64_t end)
{
    uint64_t taken = lmn__align_up(end, LMN_PAGE_ALIGN) - grant->position;
    uint64_t at = (uint64_t)(grant - space->grant);

    if (taken < grant->bytes) {
        grant->position += taken;
        grant->bytes -= taken;
        return;
    }
    space->grant_count--;
    memmove(grant, grant + 1, (space->grant_count - at) * sizeof *grant);
}

static enum lmn_status look_up(struct lmn__journal *journal, const struct lmn__receipt *receipt,
                               enum lmn__grant_file file, uint64_t position, uint64_t bytes,
                               bool take, struct lmn_error *err)
{
    struct lmn__space *space;
    struct lmn__grant *grant;
    enum lmn_status st = lmn__journal_space(journal, file, receipt->fragment_id, receipt->layout,
                                            &space, err);

    if (st != LMN_OK)
        return st;
    grant = find_grant(space, position, bytes);
    if (grant == NULL)
        return lmn_fail(err, LMN_E_INVALID,
                        "%s: fragment %llu: %llu bytes at position %llu of the %s file were not "
                        "granted",
                        journal->dir, (unsigned long long)receipt->fragment_id,
                        (unsigned long long)bytes, (unsigned long long)position,
                        file == LMN__GRANT_HOLD ? "hold" : "pages");
    if (take)
        take_grant(space, grant, position + bytes);
    return LMN_OK;
}

/* Results that were kept name what some worker was granted, in this epoch or before. */
static enum lmn_status check_kept(struct lmn__journal *journal, const struct lmn__receipt *receipt,
                                  const struct lmn__receipt_payloads *kept, struct lmn_error *err)
{
    struct lmn__space *space;
    enum lmn_status st = lmn__journal_space(journal, LMN__GRANT_PAGES, receipt->fragment_id,
                                            receipt->layout, &space, err);

    if (st != LMN_OK)
        return st;
    if (lmn__range_fits(kept->position, kept->bytes, space->mark) &&
        (receipt->segments || kept->position >= space->since))
        return make_file(journal, space, err); /* segments are put into it */
    return lmn_fail(
        err, LMN_E_INVALID,
        "%s: fragment %llu: %llu bytes at position %llu, of a result that was kept, are "
        "not in the pages file",
        journal->dir, (unsigned long long)receipt->fragment_id, (unsigned long long)kept->bytes,
        (unsigned long long)kept->position);
}

enum lmn_status lmn__journal_redeem(struct lmn__journal *journal,
                                    const struct lmn__receipt *receipt, struct lmn_error *err)
{
    const struct lmn__receipt_pages *pages = receipt->pages.item;
    const struct lmn__receipt_hold *hold = receipt->holds.item;
    const struct lmn__receipt_payloads *payloads = receipt->payloads.item;
    const struct lmn__receipt_payloads *kept = receipt->kept.item;
    enum lmn_status st = LMN_OK;

    for (size_t i = 0; st == LMN_OK && i < receipt->kept.count; i++)
        st = check_kept(journal, receipt, &kept[i], err);
    for (int take = 0; st == LMN_OK && take < 2; take++) {
        for (size_t i = 0; st == LMN_OK && i < receipt->pages.count; i++)
            st = look_up(journal, receipt, LMN__GRANT_PAGES, pages[i].position, pages[i].bytes,
                         take != 0, err);
        for (size_t i = 0; st == LMN_OK && i < receipt->payloads.count; i++)
            st = look_up(journal, receipt, LMN__GRANT_PAGES, payloads[i].position,
                         payloads[i].bytes, take != 0, err);
        for (size_t i = 0; st == LMN_OK && i < receipt->holds.count; i++)
            st = look_up(journal, receipt, LMN__GRANT_HOLD, hold[i].position, hold[i].bytes,
                         take != 0, err);
    }
    return st;
}
