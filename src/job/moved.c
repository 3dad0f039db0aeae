/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A note is written whole or over what a crash left of the same note: its name says which files it
 * can be about, and of those only one was published.
 */
#include "job/moved.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/math.h"
#include "job/journal_parts.h"

static enum lmn_status look_for_kept(void *context, const char *name, bool is_directory,
                                     struct lmn_error *err)
{
    bool *found = context;

    (void)err;
    *found = *found || (!is_directory && strncmp(name, "kept-", strlen("kept-")) == 0);
    return LMN_OK;
}

enum lmn_status lmn__moved_matters(struct lmn_store *store, const char *dir, bool *matters_out,
                                   struct lmn_error *err)
{
    *matters_out = false;
    return store->ops->list(store, dir, look_for_kept, matters_out, err);
}

/* The name of a note, without the number that it ends with. */
static void name_of(uint64_t fragment_id, uint64_t layout, char name_out[LMN__FILL_PATH_BYTES])
{
    snprintf(name_out, LMN__FILL_PATH_BYTES, "%" PRIu64 "-%016" PRIx64 ".moved.", fragment_id,
             layout);
}

static enum lmn_status open_or_make(struct lmn_store *store, const char *path,
                                    struct lmn__store_file **file_out, struct lmn_error *err)
{
    enum lmn_status st = store->ops->create(store, path, file_out, err);

    return st == LMN_E_EXISTS ? store->ops->open_update(store, path, file_out, err) : st;
}

/* Note that the pages file of a unit is `moved`. */
static enum lmn_status write_note(struct lmn__journal *journal, uint64_t fragment_id,
                                  uint64_t layout, const char *moved, struct lmn_error *err)
{
    struct lmn_store *store = journal->store;
    char path[2 * LMN__FILL_PATH_BYTES], name[LMN__FILL_PATH_BYTES];
    struct lmn__store_file *file;
    struct lmn__space *space;
    enum lmn_status st = lmn__journal_space(journal, LMN__GRANT_PAGES, fragment_id, layout, &space,
                                            err);

    if (st != LMN_OK || space->mark == 0)
        return st;
    name_of(fragment_id, layout, name);
    snprintf(path, sizeof path, "%.100s/%.80s%" PRIu64, journal->dir, name, space->mark);
    st = open_or_make(store, path, &file, err);
    if (st != LMN_OK)
        return st;
    st = store->ops->write_at(file, 0, moved, strlen(moved), err);
    if (st == LMN_OK)
        st = store->ops->sync(file, err);
    store->ops->close(file);
    return st == LMN_OK ? store->ops->sync_dir(store, journal->dir, err) : st;
}

enum lmn_status lmn__moved_lost(struct lmn__journal *journal, uint64_t fragment_id, uint64_t layout,
                                struct lmn_error *err)
{
    bool matters;
    enum lmn_status st = lmn__moved_matters(journal->store, journal->dir, &matters, err);

    return st == LMN_OK && matters ? write_note(journal, fragment_id, layout, "", err) : st;
}

static enum lmn_status note_unit(struct lmn__journal *journal, uint64_t fragment_id,
                                 uint64_t layout, struct lmn_error *err)
{
    struct lmn__journal_unit *unit;
    struct lmn__store_stat stat;
    char path[LMN__MOVED_PATH_BYTES];
    enum lmn_status st = lmn__journal_unit(journal, fragment_id, layout, false, &unit, err);

    if (st != LMN_OK || unit == NULL || !unit->has_published || !unit->published.direct ||
        unit->published.path.len >= sizeof path - strlen("data/"))
        return st;
    snprintf(path, sizeof path, "data/%.*s", (int)unit->published.path.len,
             (const char *)unit->published.path.data);
    st = journal->store->ops->stat(journal->store, path, &stat, err);
    if (st == LMN_E_NOT_FOUND) /* it was taken back */
        return LMN_OK;
    return st == LMN_OK ? write_note(journal, fragment_id, layout, path, err) : st;
}

enum lmn_status lmn__moved_note(struct lmn__journal *journal, const uint64_t *fragment_id,
                                const uint64_t *layout, uint64_t count, struct lmn_error *err)
{
    bool matters;
    enum lmn_status st = lmn__moved_matters(journal->store, journal->dir, &matters, err);

    for (uint64_t i = 0; st == LMN_OK && matters && i < count; i++)
        st = note_unit(journal, fragment_id[i], layout[i], err);
    return st;
}

/* The note with the smallest end above a position. */
struct search {
    char prefix[LMN__FILL_PATH_BYTES];
    uint64_t position;
    uint64_t end; /* UINT64_MAX: none yet */
};

/* A number that is the rest of a name; false for others, and for any that no position can be. */
static bool read_number(const char *text, uint64_t *number_out)
{
    *number_out = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c < '0' || *c > '9' || *number_out > INT64_MAX / 10 - 1)
            return false;
        *number_out = *number_out * 10 + (uint64_t)(*c - '0');
    }
    return *text != '\0';
}

static enum lmn_status look_at(void *context, const char *name, bool is_directory,
                               struct lmn_error *err)
{
    struct search *search = context;
    size_t len = strlen(search->prefix);
    uint64_t end;

    (void)err;
    if (!is_directory && strncmp(name, search->prefix, len) == 0 && read_number(name + len, &end) &&
        end > search->position && end < search->end)
        search->end = end;
    return LMN_OK;
}

/* What a note says. */
static enum lmn_status read_note(struct lmn_store *store, const char *note,
                                 char path_out[LMN__MOVED_PATH_BYTES], struct lmn_error *err)
{
    struct lmn__store_file *file;
    enum lmn_status st = store->ops->open(store, note, &file, err);
    size_t len;

    if (st != LMN_OK)
        return st;
    len = file->bytes < LMN__MOVED_PATH_BYTES ? (size_t)file->bytes : 0;
    if (len != 0)
        st = store->ops->read_at(file, 0, path_out, len, err);
    path_out[st == LMN_OK ? len : 0] = '\0';
    store->ops->close(file);
    if (strncmp(path_out, "data/", strlen("data/")) != 0)
        path_out[0] = '\0';
    return st;
}

enum lmn_status lmn__moved_find(struct lmn_store *store, const char *dir, uint64_t fragment_id,
                                uint64_t layout, uint64_t position,
                                char path_out[LMN__MOVED_PATH_BYTES], struct lmn_error *err)
{
    struct search search = { .position = position, .end = UINT64_MAX };
    char note[2 * LMN__FILL_PATH_BYTES];
    enum lmn_status st;

    path_out[0] = '\0';
    name_of(fragment_id, layout, search.prefix);
    st = store->ops->list(store, dir, look_at, &search, err);
    if (st != LMN_OK)
        return st;
    if (search.end != UINT64_MAX) {
        snprintf(note, sizeof note, "%.100s/%.80s%" PRIu64, dir, search.prefix, search.end);
        return read_note(store, note, path_out, err);
    }
    lmn__fill_path(dir, LMN__GRANT_PAGES, fragment_id, layout, path_out);
    return LMN_OK;
}
