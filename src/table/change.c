/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commit protocol. What a change names is durable before it comes here. Then:
 *
 *   1. find the newest version; check the change against every version since the one it read
 *   2. build the next manifest from the newest one, with the transaction in it (in a file of its
 *      own when that is large)
 *   3. put it under the next version's name, if that is absent; synced, and its directory, too
 *   4. when somebody else was first, begin again
 *
 * A name is free, too, when others have made that version, and further ones, and cleaned it up, all
 * since step 1. A manifest in such a gap of the history is read by nobody. The version that it is
 * built on is gone then, too; that is looked at just before step 3, and behind it.
 *
 * A change is thus seen by everybody or by nobody, and once.
 */
#include "table/change.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "os/clock.h"
#include "os/random.h"
#include "store/draft.h"
#include "table/apply.h"
#include "table/conflict.h"
#include "table/place.h"
#include "table/stand_in.h"
#include "table/versions.h"

enum {
    ATTEMPTS_MAX = 1000, /* of one change whose commit others win */
    RETRIES_MAX = 100,   /* of an operation that is made again */
    INLINE_BYTES_MAX = 64 << 10,
    WAIT_NS = 500 * 1000,
    WAIT_STEPS_MAX = 40
};

enum lmn_status lmn__change_check_message(const char *message, struct lmn_error *err)
{
    return message != NULL
               ? lmn__utf8_check((struct lmn__span){ (const uint8_t *)message, strlen(message) },
                                 "the message of a commit", err)
               : LMN_OK;
}

static void wait_a_little(uint32_t attempt)
{
    uint16_t dice = 0;

    if (lmn__random_bytes(&dice, sizeof dice, NULL) != LMN_OK)
        dice = 32768;
    attempt = attempt < WAIT_STEPS_MAX ? attempt : WAIT_STEPS_MAX;
    lmn__clock_wait_ns((int64_t)attempt * WAIT_NS * dice / 65536);
}

enum lmn_status lmn__change_make(struct lmn_table *table, lmn__attempt_fn attempt, void *context,
                                 struct lmn_error *err)
{
    struct lmn__manifest *manifest;
    enum lmn_status st = lmn__table_recent(table, &manifest, err);

    if (st == LMN_OK)
        lmn__table_set_manifest(table, manifest);
    for (uint32_t i = 0; st == LMN_OK; i++) {
        struct lmn__manifest *stood = lmn__table_manifest(table);
        bool again = false;

        st = attempt(context, &again, err);
        if (st != LMN_E_CONFLICT) /* files of a version that is cleaned up are missed */
            again = st == LMN_E_NOT_FOUND &&
                    lmn__version_is_gone(table->store, stood->pb.version, stood->plain_name);
        lmn__manifest_release(stood);
        if (!again || i == RETRIES_MAX)
            return st;
        wait_a_little(i);
        st = lmn_table_refresh(table, err);
    }
    return st;
}

/* A change on its way into the table. */
struct commit {
    struct lmn_table *table;
    struct lmn__change *change;
    struct lmn__manifest *read;   /* the version that the change was made against */
    struct lmn__manifest *newest; /* what it is made to fit */
    struct lmn__manifest *made;   /* see publish() */
    uint64_t checked;             /* versions since `read` that it fits */
    bool merged;                  /* one of them has added columns */
};

/*
 * What version `v` did, which is `newest` or one before it. The transaction borrows from
 * *manifest_out, which the caller releases, also after a failure.
 */
static enum lmn_status read_transaction(struct lmn_table *table, uint64_t v,
                                        const struct lmn__manifest *newest,
                                        struct lmn__arena *arena,
                                        struct lmn__manifest **manifest_out,
                                        struct lmn__pb_transaction *transaction_out,
                                        struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    *manifest_out = NULL;
    if (v != newest->pb.version)
        st = lmn__table_read_past(table, v, newest->plain_name, manifest_out, err);
    return st == LMN_OK
               ? lmn__transaction_read(table->store, *manifest_out != NULL ? *manifest_out : newest,
                                       arena, transaction_out, err)
               : st;
}

bool lmn__change_went_back(struct lmn_table *table, uint64_t from,
                           const struct lmn__manifest *manifest)
{
    bool back = false;

    for (uint64_t v = from + 1; !back && v <= manifest->pb.version; v++) {
        struct lmn__pb_transaction transaction;
        struct lmn__manifest *read;
        struct lmn__arena arena;

        lmn__arena_init(&arena, table->env, 0);
        back = read_transaction(table, v, manifest, &arena, &read, &transaction, NULL) != LMN_OK ||
               transaction.restore != NULL || transaction.overwrite != NULL;
        lmn__manifest_release(read);
        lmn__arena_deinit(&arena);
    }
    return back;
}

/* Check the change against the versions up to the newest. */
static enum lmn_status check_versions(struct commit *commit, bool *again_out, struct lmn_error *err)
{
    struct lmn_table *table = commit->table;
    const struct lmn__manifest *newest = commit->newest;
    enum lmn_status st = LMN_OK;

    for (uint64_t v = commit->checked + 1; st == LMN_OK && v <= newest->pb.version; v++) {
        struct lmn__manifest *manifest;
        struct lmn__pb_transaction transaction;
        struct lmn__arena arena;

        lmn__arena_init(&arena, table->env, 0);
        st = read_transaction(table, v, newest, &arena, &manifest, &transaction, err);
        if (st == LMN_E_NOT_FOUND) {
            /* It is cleaned away, or its writer does not tell: look at the table afresh. */
            *again_out = true;
            st = lmn_fail(err, LMN_E_CONFLICT,
                          "what version %" PRIu64 " did is not known: nothing is changed, make it "
                          "again",
                          v);
        } else if (st == LMN_OK) {
            st = lmn__conflict_check(commit->change, &transaction, v, again_out, err);
            commit->merged |= transaction.merge != NULL;
        }
        lmn__manifest_release(manifest);
        lmn__arena_deinit(&arena);
    }
    if (st == LMN_OK)
        commit->checked = newest->pb.version;
    return st;
}

/* A large transaction has a file of its own, which the manifest names, unless the table has none.
 */
static enum lmn_status put_transaction(struct lmn__next *next, struct lmn_error *err)
{
    const size_t skip = sizeof "_transactions/" - 1;
    struct lmn__buf bytes;
    char path[128], *kept;
    enum lmn_status st;

    lmn__buf_init(&bytes, next->env, 0);
    lmn__pb_encode(&lmn__pb_transaction_message, &next->transaction, &bytes);
    st = lmn__buf_status(&bytes, "a transaction", err);
    if (st == LMN_OK && bytes.len > INLINE_BYTES_MAX &&
        (next->pb.writer_flags & LMN__FLAG_NO_TRANSACTION_FILES) == 0) {
        int len = snprintf(path, sizeof path, "_transactions/%" PRIu64 "-%.*s.txn",
                           next->transaction.read_version, (int)next->transaction.uuid.len,
                           (const char *)next->transaction.uuid.data);

        kept = lmn__arena_strndup(next->arena, path, (size_t)len);
        st = kept != NULL ? LMN_OK : lmn__arena_fail(next->arena, "a transaction", err);
        if (st == LMN_OK)
            st = lmn__store_put(next->store, kept, LMN__PUBLISH_IF_ABSENT, bytes.data, bytes.len,
                                err);
        if (st == LMN_OK) {
            next->transaction_path = kept;
            next->pb.transaction_file = (struct lmn__span){ (const uint8_t *)kept + skip,
                                                            (size_t)len - skip };
        }
    }
    lmn__buf_deinit(&bytes);
    return st;
}

/* Is a version there that was read before, and not one of a table that was made in its place? */
static enum lmn_status see_version(struct lmn_store *store, const struct lmn__manifest *manifest,
                                   bool *there_out, struct lmn_error *err)
{
    struct lmn__version_mark mark;
    enum lmn_status st = lmn__version_mark(store, manifest->pb.version, manifest->plain_name, &mark,
                                           err);

    *there_out = st == LMN_OK && lmn__version_same(&mark, &manifest->mark);
    return st == LMN_E_NOT_FOUND ? LMN_OK : st;
}

/*
 * Sync the draft of a manifest. LMN_E_EXISTS when the version that it is built on was cleaned up
 * meanwhile, so somebody else was first; or the one that it restores, whose files go next.
 */
static enum lmn_status sync_draft(struct lmn__next *next, struct lmn__draft *draft,
                                  struct lmn_error *err)
{
    enum lmn_status st = next->change->unsynced ? LMN_OK : lmn__draft_sync(draft, err);
    bool there = true;

    if (st == LMN_OK && next->base != NULL)
        st = see_version(next->store, next->base, &there, err);
    if (st == LMN_OK && there && next->restored != NULL)
        st = see_version(next->store, next->restored, &there, err);
    return there ? st : lmn_fail(err, LMN_E_EXISTS, "its version was cleaned up");
}

/*
 * Put the manifest under its name; LMN_E_EXISTS when somebody else was first. *made_out (may be
 * NULL) is the version that was made, or NULL when it has to be read again; the caller releases it.
 */
static enum lmn_status publish(struct lmn__next *next, bool plain, struct lmn__manifest **made_out,
                               struct lmn_error *err)
{
    char path[LMN__VERSION_PATH_BYTES];
    struct lmn__draft draft;
    struct lmn__buf bytes;
    enum lmn_status st;

    lmn__buf_init(&bytes, next->env, 0);
    st = put_transaction(next, err);
    if (st == LMN_OK)
        st = lmn__next_encode(next, &bytes, err);
    if (st == LMN_OK) {
        lmn__version_path(next->pb.version, plain, path);
        st = lmn__draft_open(next->store, path, &draft, err);
    }
    if (st == LMN_OK) {
        st = lmn__draft_write_at(&draft, 0, bytes.data, bytes.len, err);
        if (st == LMN_OK)
            st = sync_draft(next, &draft, err);
        if (st == LMN_OK) {
            st = lmn__draft_publish(&draft, LMN__PUBLISH_IF_ABSENT, !next->change->unsynced, err);
            next->may_stand = st == LMN_E_IO;
        } else {
            lmn__draft_abort(&draft);
        }
    }
    if (st == LMN_OK && made_out != NULL &&
        lmn__manifest_from_bytes(next->env, (struct lmn__span){ bytes.data, bytes.len }, made_out,
                                 NULL) == LMN_OK) {
        (*made_out)->plain_name = plain;
        (void)!lmn__version_mark(next->store, next->pb.version, plain, &(*made_out)->mark, NULL);
    }
    lmn__buf_deinit(&bytes);
    return st;
}

/* One attempt on top of the newest version. */
static enum lmn_status attempt_commit(struct commit *commit, bool *again_out, struct lmn_error *err)
{
    struct lmn_table *table = commit->table;
    struct lmn__change *change = commit->change;
    bool plain = commit->newest->plain_name;
    struct lmn__arena arena;
    struct lmn__next next = { .env = table->env,
                              .store = table->store,
                              .files = table->files,
                              .arena = &arena,
                              .base = commit->newest,
                              .read = commit->read,
                              .change = change,
                              .merged = commit->merged };
    struct lmn__manifest *restored = NULL;
    enum lmn_status st = LMN_OK;

    lmn__arena_init(&arena, table->env, 0);
    if (change->kind == LMN__CHANGE_RESTORE)
        st = lmn__table_read_version(table, change->restored_version, plain, &restored, err);
    next.restored = restored;
    if (st == LMN_OK)
        st = lmn__next_build(&next, err);
    *again_out = next.again;
    if (st == LMN_OK)
        st = publish(&next, plain, &commit->made, err);
    if (st != LMN_OK && !next.may_stand)
        lmn__next_undo(&next);
    change->may_stand = next.may_stand;
    lmn__manifest_release(restored);
    lmn__arena_deinit(&arena);
    return st;
}

/* LMN_E_IO: whether the version that was made counts is not known. */
static enum lmn_status check_place(struct commit *commit, struct lmn_error *err)
{
    struct lmn_store *store = commit->table->store;
    uint64_t version = commit->newest->pb.version + 1;
    char path[LMN__VERSION_PATH_BYTES];
    enum lmn__place place;
    enum lmn_status st = lmn__place_find(commit->table, commit->newest, commit->made, &place, err);

    if (st == LMN_OK && place == LMN__PLACE_IN_HISTORY)
        return LMN_OK;
    lmn__manifest_release(commit->made);
    commit->made = NULL;
    if (st != LMN_OK || place == LMN__PLACE_NOT_KNOWN)
        return lmn_fail(err, LMN_E_IO,
                        "%.200s: version %" PRIu64
                        " is made, but whether it stands cannot be seen; "
                        "look whether it is there before making it again",
                        store->name, version);
    lmn__version_path(version, commit->newest->plain_name, path);
    (void)store->ops->remove(store, path, NULL);
    return lmn_fail(err, LMN_E_IO,
                    "%.200s: version %" PRIu64 " was made and cleaned up by others while this "
                    "commit waited for the same place; look whether it is there before making it "
                    "again",
                    store->name, version);
}

/* Is the newest version one of the table that the change was made for? */
static enum lmn_status check_table(struct commit *commit, struct lmn_error *err)
{
    const struct lmn__manifest *known = commit->change->known, *newest = commit->newest;

    if (known == NULL || (known->pb.version <= newest->pb.version &&
                          !lmn__version_is_other(commit->table->store, known->pb.version,
                                                 known->plain_name, &known->mark)))
        return LMN_OK;
    return lmn_fail(err, LMN_E_CONFLICT,
                    "the table was dropped, and another one made in its place, since version "
                    "%" PRIu64 ", which this write began with: nothing is changed",
                    known->pb.version);
}

/* The version that the change was made against; it may have been cleaned away since. */
static enum lmn_status read_base(struct commit *commit, bool *again_out, struct lmn_error *err)
{
    uint64_t version = commit->change->read_version;
    enum lmn_status st;

    if (commit->read != NULL)
        return LMN_OK;
    if (commit->newest->pb.version == version) {
        commit->read = lmn__manifest_acquire(commit->newest);
        return LMN_OK;
    }
    st = lmn__table_read_version(commit->table, version, commit->newest->plain_name, &commit->read,
                                 err);
    *again_out = st == LMN_E_NOT_FOUND;
    return *again_out
               ? lmn_fail(err, LMN_E_CONFLICT,
                          "version %" PRIu64 ", which this write began with, was cleaned up before "
                          "it ended: nothing is changed, make it again",
                          version)
               : st;
}

enum lmn_status lmn__change_commit(struct lmn_table *table, struct lmn__change *change,
                                   bool *again_out, struct lmn_error *err)
{
    struct commit commit = { .table = table, .change = change, .checked = change->read_version };
    struct lmn__manifest *stood = lmn__table_manifest(table);
    int64_t stamp = 0;
    enum lmn_status st = LMN_OK;

    *again_out = change->may_stand = false;
    for (uint32_t attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        st = change->kind == LMN__CHANGE_RESTORE ? lmn__table_stand_in(table, &commit.newest, err)
                                                 : lmn__table_newest(table, &commit.newest, err);
        if (st == LMN_OK)
            st = lmn__manifest_check_writable(commit.newest, err);
        if (st == LMN_OK)
            st = check_table(&commit, err);
        if (st == LMN_OK)
            st = read_base(&commit, again_out, err);
        if (st == LMN_OK)
            st = check_versions(&commit, again_out, err);
        if (st == LMN_OK) {
            stamp = lmn__versions_stamp(table->store);
            st = attempt_commit(&commit, again_out, err);
            if (st == LMN_OK) {
                st = check_place(&commit, err);
                change->may_stand = st != LMN_OK;
            }
        }
        if (st != LMN_E_EXISTS)
            break;
        lmn__table_clear_tip(table);
        lmn__manifest_release(commit.newest);
        commit.newest = NULL;
        wait_a_little(attempt);
    }
    if (st == LMN_E_EXISTS)
        st = lmn_fail(err, LMN_E_CONFLICT, "%d attempts to commit were each overtaken",
                      ATTEMPTS_MAX);
    lmn__manifest_release(commit.read);
    lmn__manifest_release(commit.newest);
    if (commit.made != NULL)
        lmn__table_advance(table, stood, commit.made, stamp);
    /* If this fails, the commit stands all the same, and the handle where it stood. */
    else if ((st == LMN_OK || *again_out) && lmn_table_refresh(table, NULL) != LMN_OK)
        *again_out = false;
    lmn__manifest_release(stood);
    return st == LMN_E_CONFLICT ? lmn__fail_within(err, st, "%.200s", table->store->name) : st;
}

enum lmn_status lmn__change_create(struct lmn_store *store, struct lmn__change *change,
                                   struct lmn_table **table_out, struct lmn_error *err)
{
    struct lmn__arena arena;
    struct lmn__next next = {
        .env = store->env, .store = store, .arena = &arena, .change = change
    };
    enum lmn_status st;

    *table_out = NULL;
    lmn__arena_init(&arena, store->env, 0);
    st = lmn__next_build(&next, err);
    if (st == LMN_OK)
        st = publish(&next, false, NULL, err);
    change->may_stand = st == LMN_OK || next.may_stand;
    lmn__arena_deinit(&arena);
    if (st == LMN_E_EXISTS)
        return lmn_fail(err, st, "%.300s is a table already", store->name);
    /* Others may have made further versions already. */
    return st == LMN_OK
               ? lmn_table_open(store, &(struct lmn_table_options){ .version = next.pb.version },
                                table_out, err)
               : st;
}
