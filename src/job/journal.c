/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening goes in this order:
 *
 *   1. lock `_leman/fills/<key>.lock`, a file that stays: whoever has it drives the fill
 *   2. read the journal's records, up to the first that is none
 *   3. put the record of a new epoch over what is behind them, and sync: from here on everything
 *      that was read is durable, also what a driver that died had written and not synced
 *
 * A journal that is removed is emptied of receipts by a durable record first, so that a crash in
 * between leaves one without receipts, never receipts without their bytes.
 */
#include "job/journal.h"

#include <inttypes.h>
#include <stdio.h>

#include <leman/page.h>

#include "base/error.h"
#include "job/journal_parts.h"
#include "job/moved.h"
#include "os/clock.h"
#include "os/host.h"
#include "os/process.h"

enum { DIR_BYTES = 64, HOST_BYTES = 256 };

const char *lmn__journal_dir(const struct lmn__journal *journal)
{
    return journal->dir;
}

void lmn__journal_close(struct lmn__journal *journal)
{
    struct lmn_env *env;

    if (journal == NULL)
        return;
    env = journal->env;
    for (uint64_t i = 0; i < journal->unit_count; i++)
        lmn__unit_clear(journal, &journal->unit[i]);
    for (uint64_t i = 0; i < journal->space_count; i++)
        lmn__free(env, journal->space[i].grant);
    lmn__free(env, journal->unit);
    lmn__free(env, journal->space);
    if (journal->file != NULL)
        journal->store->ops->close(journal->file);
    if (journal->lock != NULL)
        journal->store->ops->close(journal->lock);
    lmn__buf_deinit(&journal->pending);
    lmn__arena_deinit(&journal->arena);
    lmn__free(env, journal->dir);
    lmn__free(env, journal->job);
    lmn_store_release(journal->store);
    lmn__free(env, journal);
}

static enum lmn_status check_whole(const struct lmn__journal *journal, struct lmn_error *err)
{
    return !journal->broken ? LMN_OK
                            : lmn_fail(err, LMN_E_IO,
                                       "%s: the journal failed before, and is read "
                                       "again when it is opened",
                                       journal->dir);
}

enum lmn_status lmn__journal_put(struct lmn__journal *journal, const struct lmn__record *record,
                                 struct lmn_error *err)
{
    enum lmn_status st = check_whole(journal, err);

    if (st != LMN_OK)
        return st;
    lmn__record_put(&journal->pending, record, &journal->chain);
    st = lmn__buf_status(&journal->pending, "a journal", err);
    journal->broken = st != LMN_OK;
    return st;
}

enum lmn_status lmn__journal_sync(struct lmn__journal *journal, struct lmn_error *err)
{
    const struct lmn__store_ops *ops = journal->store->ops;
    enum lmn_status st = check_whole(journal, err);

    if (st != LMN_OK || journal->pending.len == 0)
        return st;
    st = ops->write_at(journal->file, journal->position, journal->pending.data,
                       journal->pending.len, err);
    if (st == LMN_OK)
        st = ops->sync(journal->file, err);
    journal->broken = st != LMN_OK;
    journal->position += journal->pending.len;
    lmn__buf_reset(&journal->pending);
    return st;
}

/* Open a file of the store for writing, and make it where there is none. */
static enum lmn_status open_or_make(struct lmn_store *store, const char *path,
                                    struct lmn__store_file **file_out, struct lmn_error *err)
{
    enum lmn_status st = store->ops->open_update(store, path, file_out, err);

    if (st != LMN_E_NOT_FOUND)
        return st;
    st = store->ops->create(store, path, file_out, err);
    return st == LMN_E_EXISTS ? store->ops->open_update(store, path, file_out, err) : st;
}

/* Read the whole journal; the bytes live as long as it does. */
static enum lmn_status read_bytes(struct lmn__journal *journal, struct lmn__span *bytes_out,
                                  struct lmn_error *err)
{
    size_t len = journal->file->bytes;
    uint8_t *bytes = lmn__arena_alloc(&journal->arena, len);

    if (bytes == NULL)
        return lmn__arena_fail(&journal->arena, "a journal", err);
    *bytes_out = (struct lmn__span){ bytes, len };
    return journal->store->ops->read_at(journal->file, 0, bytes, len, err);
}

static enum lmn_status check_key(const struct lmn__journal *journal,
                                 const struct lmn__record_fill *fill, struct lmn_error *err)
{
    const struct lmn__fill_key *key = &journal->key;

    if (fill == NULL)
        return lmn_fail(err, LMN_E_CORRUPT, "its first record does not say which fill it is of");
    if (fill->format != LMN__JOURNAL_FORMAT)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "it is of format %u; this library knows %d",
                        fill->format, LMN__JOURNAL_FORMAT);
    if (fill->field_id != key->field_id || fill->version != key->version ||
        fill->column_count != key->column_count)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "it is the journal of field %d, version %016" PRIx64
                        ", %u columns; not of field %d, version %016" PRIx64 ", %u columns",
                        fill->field_id, fill->version, fill->column_count, key->field_id,
                        key->version, key->column_count);
    return LMN_OK;
}

static enum lmn_status replay_receipt(struct lmn__journal *journal, struct lmn__span bytes,
                                      struct lmn_error *err)
{
    struct lmn__receipt receipt;
    struct lmn__journal_unit *unit;
    enum lmn_status st = lmn__receipt_decode(bytes, journal->key.column_count, &journal->arena,
                                             &receipt, err);

    if (st == LMN_OK)
        st = lmn__journal_unit(journal, receipt.fragment_id, receipt.layout, true, &unit, err);
    if (st == LMN_OK && lmn__unit_check(unit, &receipt, err) != LMN_OK)
        st = LMN_E_CORRUPT;
    return st == LMN_OK ? lmn__unit_add(journal, unit, &receipt, err) : st;
}

static enum lmn_status forget(struct lmn__journal *journal, const struct lmn__record_retire *retire,
                              struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; i < journal->unit_count; i++)
        journal->unit[i].sealed = true;
    if (retire->fragment_id.count != retire->layout.count)
        return lmn_fail(err, LMN_E_CORRUPT, "%zu fragments and %zu layouts are retired",
                        retire->fragment_id.count, retire->layout.count);
    for (size_t i = 0; st == LMN_OK && i < retire->layout.count; i++) {
        struct lmn__journal_unit *unit;
        struct lmn__space *space;

        st = lmn__journal_unit(journal, retire->fragment_id.item[i], retire->layout.item[i], false,
                               &unit, err);
        if (st == LMN_OK && unit != NULL)
            lmn__unit_clear(journal, unit);
        if (st == LMN_OK)
            st = lmn__journal_space(journal, LMN__GRANT_PAGES, retire->fragment_id.item[i],
                                    retire->layout.item[i], &space, err);
        if (st == LMN_OK) {
            space->made = false;
            space->next = space->since = space->mark;
        }
    }
    return st;
}

/* A driver has ended while it carried receipts. */
static void drop_unsealed(struct lmn__journal *journal)
{
    for (uint64_t i = 0; i < journal->unit_count; i++) {
        if (journal->unit[i].layout == LMN__LAYOUT_CARRIED && !journal->unit[i].sealed)
            lmn__unit_clear(journal, &journal->unit[i]);
    }
}

static enum lmn_status replay(struct lmn__journal *journal, const struct lmn__record *record,
                              struct lmn_error *err)
{
    struct lmn__journal_unit *unit;
    struct lmn__space *space;
    enum lmn_status st = LMN_OK;

    if (record->epoch != NULL) {
        journal->epoch = record->epoch->number;
        drop_unsealed(journal);
    }
    if (record->receipt.data != NULL)
        return replay_receipt(journal, record->receipt, err);
    if (record->mark != NULL) {
        if (record->mark->file > LMN__GRANT_PAGES || record->mark->position % LMN_PAGE_ALIGN != 0 ||
            record->mark->position > INT64_MAX)
            return lmn_fail(err, LMN_E_CORRUPT, "a mark at position %" PRIu64 " of file %u",
                            record->mark->position, record->mark->file);
        st = lmn__journal_space(journal, (enum lmn__grant_file)record->mark->file,
                                record->mark->fragment_id, record->mark->layout, &space, err);
        if (st == LMN_OK)
            space->next = space->mark = record->mark->position;
    } else if (record->publish != NULL) {
        const struct lmn__record_publish *p = record->publish;

        st = lmn__journal_unit(journal, p->fragment_id, p->layout, true, &unit, err);
        if (st == LMN_OK) {
            unit->published = (struct lmn__published){ p->fragment_id, p->layout, p->version,
                                                       p->path, p->direct };
            unit->has_published = true;
        }
    } else if (record->retire != NULL) {
        st = forget(journal, record->retire, err);
    }
    return st;
}

/* Read what is there. */
static enum lmn_status read_records(struct lmn__journal *journal, struct lmn_error *err)
{
    struct lmn__span bytes;
    size_t at = 0;
    bool more = true;
    enum lmn_status st = read_bytes(journal, &bytes, err);

    while (st == LMN_OK) {
        struct lmn__record record;
        bool first = at == 0;

        st = lmn__record_next(bytes, &at, &journal->chain, &journal->arena, &record, &more, err);
        if (st != LMN_OK || !more)
            break;
        st = first ? check_key(journal, record.fill, err) : replay(journal, &record, err);
    }
    journal->position = at;
    return st != LMN_OK
               ? lmn__fail_within(err, st, "%.200s/%s/journal", journal->store->name, journal->dir)
               : st;
}

/* Say which fill it is, if nothing does yet, and begin an epoch. */
static enum lmn_status begin(struct lmn__journal *journal, struct lmn_error *err)
{
    struct lmn__record_fill fill = { LMN__JOURNAL_FORMAT, journal->key.field_id,
                                     journal->key.version, journal->key.column_count };
    char host[HOST_BYTES];
    struct lmn__record_epoch epoch = { .number = journal->epoch + 1,
                                       .job = { (const uint8_t *)journal->job,
                                                strlen(journal->job) },
                                       .process = (uint64_t)lmn__process_self(),
                                       .time_ns = lmn__clock_now_ns() };
    enum lmn_status st = LMN_OK;

    drop_unsealed(journal);
    lmn__host_name(host, sizeof host);
    epoch.host = (struct lmn__span){ (const uint8_t *)host, strlen(host) };
    if (journal->position == 0)
        st = lmn__journal_put(journal, &(struct lmn__record){ .fill = &fill }, err);
    if (st == LMN_OK)
        st = lmn__journal_put(journal, &(struct lmn__record){ .epoch = &epoch }, err);
    if (st == LMN_OK)
        st = lmn__journal_sync(journal, err);
    journal->epoch++;
    return st;
}

/* Who drives the fill, for the message; what cannot be read is left out. */
static enum lmn_status tell_holder(struct lmn__journal *journal, struct lmn_error *err)
{
    struct lmn__record_epoch last = { 0 };
    struct lmn__span bytes = { NULL, 0 };
    uint64_t chain = 0;
    size_t at = 0;
    bool more = true;
    char path[DIR_BYTES + 16];

    snprintf(path, sizeof path, "%s/journal", journal->dir);
    if (journal->store->ops->open(journal->store, path, &journal->file, NULL) == LMN_OK &&
        read_bytes(journal, &bytes, NULL) != LMN_OK)
        bytes.len = 0;
    while (more) {
        struct lmn__record record;

        if (lmn__record_next(bytes, &at, &chain, &journal->arena, &record, &more, NULL) != LMN_OK)
            break;
        if (more && record.epoch != NULL)
            last = *record.epoch;
    }
    return lmn_fail(err, LMN_E_UNAVAILABLE,
                    "%.200s: field %d, version %016" PRIx64
                    ": job %.*s is filling it, process %" PRIu64 " on %.*s",
                    journal->store->name, journal->key.field_id, journal->key.version,
                    last.job.len < 64 ? (int)last.job.len : 64, (const char *)last.job.data,
                    last.process, last.host.len < 64 ? (int)last.host.len : 64,
                    (const char *)last.host.data);
}

static enum lmn_status take_lock(struct lmn__journal *journal, struct lmn_error *err)
{
    char path[DIR_BYTES + 16];
    enum lmn_status st;

    snprintf(path, sizeof path, "%s.lock", journal->dir);
    st = open_or_make(journal->store, path, &journal->lock, err);
    if (st == LMN_OK)
        st = journal->store->ops->lock(journal->lock, err);
    return st == LMN_E_UNAVAILABLE ? tell_holder(journal, err) : st;
}

static enum lmn_status open_files(struct lmn__journal *journal, struct lmn_error *err)
{
    char path[DIR_BYTES + 16];
    enum lmn_status st = take_lock(journal, err);

    snprintf(path, sizeof path, "%s/journal", journal->dir);
    if (st == LMN_OK)
        st = open_or_make(journal->store, path, &journal->file, err);
    if (st == LMN_OK)
        st = read_records(journal, err);
    if (st == LMN_OK)
        st = begin(journal, err);
    if (st == LMN_OK)
        st = journal->store->ops->sync_dir(journal->store, journal->dir, err);
    return st;
}

/* A journal without its files. */
static enum lmn_status journal_new(struct lmn_store *store, const struct lmn__fill_key *key,
                                   const char *job_id, struct lmn__journal **journal_out,
                                   struct lmn_error *err)
{
    struct lmn_env *env = store->env;
    struct lmn__journal *journal = lmn__calloc(env, 1, sizeof *journal);
    char dir[DIR_BYTES];

    *journal_out = NULL;
    if (journal == NULL)
        return lmn__no_memory(err, "a journal", sizeof *journal);
    snprintf(dir, sizeof dir, "_leman/fills/%d-%016" PRIx64, key->field_id, key->version);
    journal->env = env;
    journal->store = lmn_store_acquire(store);
    journal->key = *key;
    lmn__arena_init(&journal->arena, env, 0);
    lmn__buf_init(&journal->pending, env, 0);
    journal->dir = lmn__strndup(env, dir, strlen(dir));
    journal->job = lmn__strndup(env, job_id, strlen(job_id));
    if (journal->dir == NULL || journal->job == NULL) {
        lmn__journal_close(journal);
        return lmn__no_memory(err, "a journal", sizeof dir);
    }
    *journal_out = journal;
    return LMN_OK;
}

enum lmn_status lmn__journal_open(struct lmn_store *store, const struct lmn__fill_key *key,
                                  const char *job_id, struct lmn__journal **journal_out,
                                  struct lmn_error *err)
{
    enum lmn_status st = journal_new(store, key, job_id, journal_out, err);

    if (st != LMN_OK)
        return st;
    st = open_files(*journal_out, err);
    if (st != LMN_OK) {
        lmn__journal_close(*journal_out);
        *journal_out = NULL;
    }
    return st;
}

enum lmn_status lmn__journal_view(struct lmn_store *store, const struct lmn__fill_key *key,
                                  struct lmn__journal **journal_out, struct lmn_error *err)
{
    char path[DIR_BYTES + 16];
    enum lmn_status st = journal_new(store, key, "", journal_out, err);

    if (st != LMN_OK)
        return st;
    snprintf(path, sizeof path, "%s/journal", (*journal_out)->dir);
    st = store->ops->open(store, path, &(*journal_out)->file, err);
    if (st == LMN_OK)
        st = read_records(*journal_out, err);
    (*journal_out)->broken = true; /* it is only looked at */
    if (st != LMN_OK) {
        lmn__journal_close(*journal_out);
        *journal_out = NULL;
    }
    return st == LMN_E_NOT_FOUND ? LMN_OK : st;
}

const struct lmn__fill_key *lmn__journal_key(const struct lmn__journal *journal)
{
    return &journal->key;
}

const char *lmn__journal_job(const struct lmn__journal *journal)
{
    return journal->job;
}

enum lmn_status lmn__journal_add(struct lmn__journal *journal, struct lmn__span bytes,
                                 struct lmn_error *err)
{
    const struct lmn__record record = { .receipt = bytes };
    struct lmn__receipt receipt;
    struct lmn__journal_unit *unit;
    char *copy;
    enum lmn_status st = check_whole(journal, err);

    if (st != LMN_OK)
        return st;
    copy = lmn__arena_strndup(&journal->arena, bytes.data, bytes.len);
    if (copy == NULL)
        return lmn__arena_fail(&journal->arena, "a receipt", err);
    st = lmn__receipt_decode((struct lmn__span){ (const uint8_t *)copy, bytes.len },
                             journal->key.column_count, &journal->arena, &receipt, err);
    if (st == LMN_OK)
        st = lmn__journal_unit(journal, receipt.fragment_id, receipt.layout, true, &unit, err);
    if (st == LMN_OK)
        st = lmn__unit_check(unit, &receipt, err);
    if (st == LMN_OK)
        st = lmn__journal_redeem(journal, &receipt, err);
    if (st == LMN_OK)
        st = lmn__journal_put(journal, &record, err);
    return st == LMN_OK ? lmn__unit_add(journal, unit, &receipt, err) : st;
}

enum lmn_status lmn__journal_publish(struct lmn__journal *journal,
                                     const struct lmn__published *published, struct lmn_error *err)
{
    struct lmn__record_publish publish = { published->fragment_id, published->layout,
                                           published->version, published->path, published->direct };
    const struct lmn__record record = { .publish = &publish };
    struct lmn__journal_unit *unit;
    char *path = lmn__arena_strndup(&journal->arena, published->path.data, published->path.len);
    enum lmn_status st;

    if (path == NULL)
        return lmn__arena_fail(&journal->arena, "a note", err);
    st = lmn__journal_unit(journal, published->fragment_id, published->layout, true, &unit, err);
    if (st == LMN_OK)
        st = lmn__journal_put(journal, &record, err);
    if (st != LMN_OK)
        return st;
    unit->published = *published;
    unit->published.path.data = (const uint8_t *)path;
    unit->has_published = true;
    return LMN_OK;
}

enum lmn_status lmn__journal_retire_all(struct lmn__journal *journal, const uint64_t *fragment_id,
                                        const uint64_t *layout, uint64_t count,
                                        struct lmn_error *err)
{
    struct lmn__record_retire retire = { { (uint64_t *)(uintptr_t)fragment_id, count },
                                         { (uint64_t *)(uintptr_t)layout, count } };
    const struct lmn__record record = { .retire = &retire };
    enum lmn_status st;

    if (count == 0)
        return LMN_OK;
    st = lmn__moved_note(journal, fragment_id, layout, count, err);
    if (st == LMN_OK)
        st = lmn__journal_put(journal, &record, err);
    return st == LMN_OK ? forget(journal, &retire, err) : st;
}

enum lmn_status lmn__journal_retire(struct lmn__journal *journal, uint64_t fragment_id,
                                    uint64_t layout, struct lmn_error *err)
{
    return lmn__journal_retire_all(journal, &fragment_id, &layout, 1, err);
}

/* Removes the files of a fill, but not its journal. */
static enum lmn_status remove_entry(void *context, const char *name, bool is_directory,
                                    struct lmn_error *err)
{
    struct lmn__journal *journal = context;
    struct lmn_store *store = journal->store;
    char path[LMN__FILL_PATH_BYTES + 64];
    enum lmn_status st;

    if (is_directory || strcmp(name, "journal") == 0 || strlen(name) >= LMN__FILL_PATH_BYTES)
        return LMN_OK;
    snprintf(path, sizeof path, "%s/%s", journal->dir, name);
    st = store->ops->remove(store, path, err);
    return st == LMN_E_NOT_FOUND ? LMN_OK : st;
}

static enum lmn_status retire_all(struct lmn__journal *journal, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < journal->unit_count; i++) {
        const struct lmn__journal_unit *unit = &journal->unit[i];

        if (unit->receipt_count != 0 || unit->has_published)
            st = lmn__journal_retire(journal, unit->fragment_id, unit->layout, err);
    }
    return st == LMN_OK ? lmn__journal_sync(journal, err) : st;
}

enum lmn_status lmn__journal_remove(struct lmn__journal *journal, bool force, struct lmn_error *err)
{
    struct lmn_store *store = journal->store;
    char path[DIR_BYTES + 16];
    uint64_t fragment_id, layout;
    enum lmn_status st = LMN_OK;

    if (!force && (lmn__journal_fragment(journal, 0, &fragment_id, &layout) ||
                   lmn__journal_published(journal, 0, &(struct lmn__published){ 0 }))) {
        lmn__journal_close(journal);
        return LMN_OK;
    }
    st = retire_all(journal, err);
    if (st == LMN_OK)
        st = store->ops->list(store, journal->dir, remove_entry, journal, err);
    snprintf(path, sizeof path, "%s/journal", journal->dir);
    if (st == LMN_OK)
        st = store->ops->remove(store, path, err);
    if (st == LMN_OK)
        st = store->ops->remove_dir(store, journal->dir, err);
    lmn__journal_close(journal);
    return st;
}
