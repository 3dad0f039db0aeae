/* SPDX-License-Identifier: Apache-2.0 */
#include "table/conflict.h"

#include <stdio.h>

#include "base/error.h"
#include "store/object.h"

enum other {
    APPEND,
    DELETE,
    OVERWRITE,
    CREATE_INDEX,
    REWRITE,
    MERGE,
    RESTORE,
    RESERVE,
    UPDATE,
    PROJECT,
    CONFIG,
    REPLACE,
    MEM_WAL,
    CLONE,
    BASES,
    UNKNOWN,
    OTHER_COUNT
};

static const char *const other_name[OTHER_COUNT] = {
    "append",  "delete",  "overwrite",     "create index",
    "rewrite", "merge",   "restore",       "reserve fragments",
    "update",  "project", "update config", "data replacement",
    "mem wal", "clone",   "update bases",  "unknown operation",
};

/* y: fits; a: again; -: conflict. In the order of the enum above. */
static const char verdict[][OTHER_COUNT + 1] = {
    [LMN__CHANGE_APPEND] = "yy-yyy-yyyyy-yy-", /* apply.c looks at the schema */
    [LMN__CHANGE_OVERWRITE] = "yyyyyyyyyyyyyyyy", [LMN__CHANGE_DELETE] = "yy-yya-yyyyy-yy-",
    [LMN__CHANGE_MOVE] = "yy-yya-yyyyy-yy-",      [LMN__CHANGE_SET] = "yy-yya-yyayy-yy-",
    [LMN__CHANGE_MERGE] = "aa-yaa-yaaaa-yy-",     [LMN__CHANGE_PROJECT] = "yy-yya-yyaay-yy-",
    [LMN__CHANGE_REWRITE] = "yy-yya-yyayy-yy-",   [LMN__CHANGE_REPLACE] = "yy-yya-yyayy-yy-",
    [LMN__CHANGE_RESTORE] = "yyyyyyyyyyyyyyyy",
};

static enum other kind_of(const struct lmn__pb_transaction *transaction)
{
    const bool there[] = {
        [APPEND] = transaction->append != NULL,
        [DELETE] = transaction->delete != NULL,
        [OVERWRITE] = transaction->overwrite != NULL,
        [CREATE_INDEX] = transaction->create_index.data != NULL,
        [REWRITE] = transaction->rewrite != NULL,
        [MERGE] = transaction->merge != NULL,
        [RESTORE] = transaction->restore != NULL,
        [RESERVE] = transaction->reserve != NULL,
        [UPDATE] = transaction->update != NULL,
        [PROJECT] = transaction->project != NULL,
        [CONFIG] = transaction->update_config.data != NULL,
        [REPLACE] = transaction->data_replacement != NULL,
        [MEM_WAL] = transaction->mem_wal.data != NULL,
        [CLONE] = transaction->clone.data != NULL,
        [BASES] = transaction->update_bases.data != NULL,
    };

    for (size_t i = 0; i < sizeof there / sizeof there[0]; i++) {
        if (there[i])
            return (enum other)i;
    }
    return UNKNOWN;
}

const char *lmn__transaction_name(const struct lmn__pb_transaction *transaction)
{
    return other_name[kind_of(transaction)];
}

static enum lmn_status read_file(struct lmn_store *store, struct lmn__span name,
                                 struct lmn__arena *arena, struct lmn__span *bytes_out,
                                 struct lmn_error *err)
{
    struct lmn__object object;
    char path[512];
    uint8_t *bytes;
    enum lmn_status st;

    if (name.len + sizeof "_transactions/" > sizeof path)
        return lmn_fail(err, LMN_E_CORRUPT, "a transaction file with a name of %zu bytes",
                        name.len);
    snprintf(path, sizeof path, "_transactions/%.*s", (int)name.len, (const char *)name.data);
    st = lmn__object_open(store, path, &object, err);
    if (st != LMN_OK)
        return st;
    bytes = lmn__arena_alloc(arena, object.bytes);
    st = bytes != NULL ? lmn__object_read(&object, 0, bytes, object.bytes, err)
                       : lmn__arena_fail(arena, "a transaction", err);
    *bytes_out = (struct lmn__span){ bytes, object.bytes };
    lmn__object_close(&object);
    return st;
}

enum lmn_status lmn__transaction_read(struct lmn_store *store, const struct lmn__manifest *manifest,
                                      struct lmn__arena *arena,
                                      struct lmn__pb_transaction *transaction_out,
                                      struct lmn_error *err)
{
    struct lmn__span bytes = manifest->transaction;
    enum lmn_status st = LMN_OK;

    *transaction_out = (struct lmn__pb_transaction){ 0 };
    if (bytes.data == NULL && manifest->pb.transaction_file.len == 0)
        st = lmn_fail(err, LMN_E_NOT_FOUND, "it names no transaction");
    else if (bytes.data == NULL)
        st = read_file(store, manifest->pb.transaction_file, arena, &bytes, err);
    if (st == LMN_OK)
        st = lmn__pb_decode(&lmn__pb_transaction_message, bytes, arena, transaction_out, err);
    if (st != LMN_OK)
        lmn__fail_within(err, st, "%.200s: version %llu", store->name,
                         (unsigned long long)manifest->pb.version);
    return st;
}

enum lmn_status lmn__conflict_check(const struct lmn__change *change,
                                    const struct lmn__pb_transaction *other, uint64_t version,
                                    bool *again_out, struct lmn_error *err)
{
    enum other kind = kind_of(other);
    char answer = verdict[change->kind][kind];

    /* Others may have inserted the same keys. */
    if (change->keyed && (kind == APPEND || kind == UPDATE))
        answer = 'a';
    if (change->alone)
        answer = 'a';
    *again_out = answer == 'a';
    if (answer == 'y')
        return LMN_OK;
    return lmn_fail(
        err, LMN_E_CONFLICT, "version %llu (%s) was committed after version %llu, which was read",
        (unsigned long long)version, other_name[kind], (unsigned long long)change->read_version);
}
