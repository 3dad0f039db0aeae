/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pin gets its name when it has its lock: one that is seen and can be locked is held by nobody.
 * Names that begin with no digit are on their way to become one.
 */
#include "table/pin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/random.h"

#define PINS "_leman/pins"

enum lmn_status lmn__pin_take(struct lmn__pin *pin, struct lmn_store *store, uint64_t version,
                              struct lmn_error *err)
{
    char token[LMN__TOKEN_CHARS], path[LMN__PIN_PATH_BYTES];
    enum lmn_status st = lmn__random_token(token, err);

    *pin = (struct lmn__pin){ 0 };
    if (st != LMN_OK)
        return st;
    snprintf(path, sizeof path, PINS "/new-%s", token);
    snprintf(pin->path, sizeof pin->path, PINS "/%" PRIu64 "-%s", version, token);
    st = store->ops->create(store, path, &pin->file, err);
    if (st != LMN_OK)
        return st;
    st = store->ops->lock(pin->file, err);
    if (st == LMN_OK)
        st = store->ops->rename(store, path, pin->path, err);
    if (st != LMN_OK) {
        (void)store->ops->remove(store, path, NULL);
        store->ops->close(pin->file);
        *pin = (struct lmn__pin){ 0 };
    }
    return st;
}

void lmn__pin_release(struct lmn__pin *pin)
{
    struct lmn_store *store;

    if (pin->file == NULL)
        return;
    store = pin->file->store;
    (void)store->ops->remove(store, pin->path, NULL); /* without its lock it means nothing */
    store->ops->close(pin->file);
    *pin = (struct lmn__pin){ 0 };
}

struct search {
    struct lmn_store *store;
    uint64_t oldest;
};

static enum lmn_status see_pin(void *context, const char *name, bool is_directory,
                               struct lmn_error *err)
{
    struct search *search = context;
    struct lmn_store *store = search->store;
    struct lmn__store_file *file;
    char path[LMN__PIN_PATH_BYTES], *end;
    uint64_t version = strtoull(name, &end, 10);
    enum lmn_status st;

    if (is_directory || end == name || *end != '-' ||
        (size_t)snprintf(path, sizeof path, PINS "/%s", name) >= sizeof path)
        return LMN_OK;
    st = store->ops->open_update(store, path, &file, err);
    if (st != LMN_OK)
        return st == LMN_E_NOT_FOUND ? LMN_OK : st;
    st = store->ops->lock(file, err);
    if (st == LMN_E_UNAVAILABLE)
        search->oldest = version < search->oldest ? version : search->oldest;
    else if (st == LMN_OK)
        (void)store->ops->remove(store, path, NULL);
    store->ops->close(file);
    return st == LMN_E_UNAVAILABLE ? LMN_OK : st;
}

enum lmn_status lmn__pins_oldest(struct lmn_store *store, uint64_t *version_out,
                                 struct lmn_error *err)
{
    struct search search = { store, UINT64_MAX };
    enum lmn_status st = store->ops->list(store, PINS, see_pin, &search, err);

    *version_out = search.oldest;
    return st;
}
