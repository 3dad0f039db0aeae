/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of publishing, each an operation of the store, so that a fault or a power loss can
 * be put between any two:
 *
 *   sync data -> close -> rename, or link and remove the temporary name -> sync the directory
 *
 * Data before name: a name that survives a power loss has all of its data. One directory sync
 * covers both the final name and the end of the temporary one.
 */
#include "store/draft.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "os/random.h"

/* An attempt that failed may have met a passing fault, so there is a second. */
static void remove_temporary(const struct lmn__draft *draft)
{
    const struct lmn__store_ops *ops = draft->store->ops;
    enum lmn_status st = ops->remove(draft->store, draft->temporary_path, NULL);

    if (st != LMN_OK && st != LMN_E_NOT_FOUND)
        st = ops->remove(draft->store, draft->temporary_path, NULL);
    (void)st;
}

static void close_file(struct lmn__draft *draft)
{
    if (draft->file != NULL)
        draft->store->ops->close(draft->file);
    draft->file = NULL;
}

/* Free what the draft holds; names in the store stay as they are. */
static void draft_deinit(struct lmn__draft *draft)
{
    struct lmn_store *store = draft->store;

    close_file(draft);
    lmn__free(store->env, draft->path);
    lmn__free(store->env, draft->temporary_path);
    *draft = (struct lmn__draft){ 0 };
    lmn_store_release(store);
}

static enum lmn_status set_paths(struct lmn__draft *draft, const char *path, struct lmn_error *err)
{
    struct lmn_env *env = draft->store->env;
    size_t len = strlen(path), temporary_bytes = len + LMN__TOKEN_CHARS + sizeof "..tmp";
    char token[LMN__TOKEN_CHARS];
    enum lmn_status st = lmn__random_token(token, err);

    if (st != LMN_OK)
        return st;
    draft->path = lmn__strndup(env, path, len);
    draft->temporary_path = lmn__alloc(env, temporary_bytes);
    if (draft->path == NULL || draft->temporary_path == NULL)
        return lmn__no_memory(err, "the names of a draft", len + 1 + temporary_bytes);
    snprintf(draft->temporary_path, temporary_bytes, "%s.%s.tmp", path, token);
    return LMN_OK;
}

enum lmn_status lmn__draft_open(struct lmn_store *store, const char *path,
                                struct lmn__draft *draft_out, struct lmn_error *err)
{
    struct lmn__draft draft = { 0 };
    enum lmn_status st = lmn__store_check_path(store, path, err);

    *draft_out = draft;
    if (st != LMN_OK)
        return st;
    draft.store = lmn_store_acquire(store);
    st = set_paths(&draft, path, err);
    if (st == LMN_OK) {
        st = store->ops->create(store, draft.temporary_path, &draft.file, err);
        if (st != LMN_OK && st != LMN_E_EXISTS)
            remove_temporary(&draft); /* it may be there and only the answer lost */
    }
    if (st != LMN_OK) {
        draft_deinit(&draft);
        return st;
    }
    *draft_out = draft;
    return LMN_OK;
}

enum lmn_status lmn__draft_write_at(struct lmn__draft *draft, uint64_t offset, const void *data,
                                    size_t len, struct lmn_error *err)
{
    return draft->store->ops->write_at(draft->file, offset, data, len, err);
}

enum lmn_status lmn__draft_sync(struct lmn__draft *draft, struct lmn_error *err)
{
    enum lmn_status st = draft->store->ops->sync(draft->file, err);

    draft->synced = st == LMN_OK;
    return st;
}

/* Whatever comes of it, the temporary name is gone afterwards. */
static enum lmn_status give_name(const struct lmn__draft *draft, enum lmn__publish_mode mode,
                                 struct lmn_error *err)
{
    const struct lmn__store_ops *ops = draft->store->ops;
    enum lmn_status st;

    if (mode == LMN__PUBLISH_REPLACE) {
        st = ops->rename(draft->store, draft->temporary_path, draft->path, err);
        if (st == LMN_OK)
            return LMN_OK;
    } else {
        st = ops->link(draft->store, draft->temporary_path, draft->path, err);
    }
    remove_temporary(draft);
    return st;
}

enum lmn_status lmn__draft_publish(struct lmn__draft *draft, enum lmn__publish_mode mode, bool sync,
                                   struct lmn_error *err)
{
    const struct lmn__store_ops *ops;
    enum lmn_status st = LMN_OK;

    assert(draft->store != NULL);
    ops = draft->store->ops;
    if (sync && !draft->synced)
        st = ops->sync(draft->file, err);
    if (st != LMN_OK) {
        lmn__draft_abort(draft);
        return st;
    }
    close_file(draft);
    st = give_name(draft, mode, err);
    if (st == LMN_OK && sync) {
        draft->path[lmn__store_dir_len(draft->path)] = '\0';
        st = ops->sync_dir(draft->store, draft->path, err);
    }
    draft_deinit(draft);
    return st;
}

void lmn__draft_abort(struct lmn__draft *draft)
{
    if (draft->store == NULL)
        return;
    close_file(draft);
    remove_temporary(draft);
    draft_deinit(draft);
}

enum lmn_status lmn__store_put(struct lmn_store *store, const char *path,
                               enum lmn__publish_mode mode, const void *data, size_t len,
                               struct lmn_error *err)
{
    struct lmn__draft draft;
    enum lmn_status st = lmn__draft_open(store, path, &draft, err);

    if (st != LMN_OK)
        return st;
    st = lmn__draft_write_at(&draft, 0, data, len, err);
    if (st != LMN_OK) {
        lmn__draft_abort(&draft);
        return st;
    }
    return lmn__draft_publish(&draft, mode, true, err);
}
