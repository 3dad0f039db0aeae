/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of a table: what a column says of the one that fills it, and code by content,
 * `_leman/functions/<SHA-256 in hex>`. A name is the hash of what it holds, so that two writers of
 * the same bytes do not meet, and whoever trusts a hash trusts the bytes.
 */
#include <leman/table_fill.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"
#include "store/draft.h"
#include "store/object.h"
#include "table/ledger.h"
#include "table/table.h"
#include "table/table_fields.h"

enum { PATH_BYTES = sizeof "_leman/functions/" + LMN__SHA256_HEX };

enum lmn_status lmn_table_function(struct lmn_table *table, const char *column, char **function_out,
                                   struct lmn_error *err)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    const struct lmn__node *node;
    enum lmn_status st = lmn__fields_find(manifest, column, &node, err);
    struct lmn__arena arena;
    struct lmn__buf text;

    *function_out = NULL;
    lmn__arena_init(&arena, table->env, 0);
    lmn__buf_init(&text, table->env, 0);
    if (st == LMN_OK)
        st = lmn__ledger_function(&manifest->schema, node, &arena, &text, err);
    if (st == LMN_OK)
        st = lmn__buf_status(&text, "a function", err);
    if (st == LMN_OK && text.len > 0) {
        *function_out = lmn__text_new(table->env, text.data, text.len);
        if (*function_out == NULL)
            st = lmn__no_memory(err, "a function", text.len);
    }
    lmn__buf_deinit(&text);
    lmn__arena_deinit(&arena);
    lmn__manifest_release(manifest);
    return st;
}

static void path_of(const char *hash, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "_leman/functions/%.64s", hash);
}

enum lmn_status lmn_table_put_function(struct lmn_table *table, const void *code, uint64_t len,
                                       char *hash_out, struct lmn_error *err)
{
    char path[PATH_BYTES];
    enum lmn_status st;

    lmn__sha256_hex(code, len, hash_out);
    path_of(hash_out, path);
    st = lmn__store_put(table->store, path, LMN__PUBLISH_IF_ABSENT, code, len, err);
    return st == LMN_E_EXISTS ? LMN_OK : st;
}

static enum lmn_status check_hash(const char *hash, struct lmn_error *err)
{
    size_t len = strspn(hash, "0123456789abcdef");

    if (hash[len] != '\0' || len != LMN__SHA256_HEX - 1)
        return lmn_fail(err, LMN_E_INVALID, "\"%.100s\" is no hash of 64 hex digits in lower case",
                        hash);
    return LMN_OK;
}

static enum lmn_status read_code(struct lmn_table *table, const struct lmn__object *object,
                                 const char *hash, char **code_out, struct lmn_error *err)
{
    char found[LMN__SHA256_HEX];
    enum lmn_status st;

    *code_out = lmn__text_new(table->env, NULL, object->bytes);
    if (*code_out == NULL)
        return lmn__no_memory(err, "a function", object->bytes);
    st = lmn__object_read(object, 0, *code_out, object->bytes, err);
    if (st == LMN_OK) {
        lmn__sha256_hex(*code_out, object->bytes, found);
        if (strcmp(found, hash) != 0)
            st = lmn_fail(err, LMN_E_CORRUPT, "%.200s: its %llu bytes have the hash %s",
                          object->name, (unsigned long long)object->bytes, found);
    }
    if (st != LMN_OK) {
        lmn_text_free(*code_out);
        *code_out = NULL;
    }
    return st;
}

enum lmn_status lmn_table_get_function(struct lmn_table *table, const char *hash, char **code_out,
                                       uint64_t *len_out, struct lmn_error *err)
{
    struct lmn__object object;
    char path[PATH_BYTES];
    enum lmn_status st = check_hash(hash, err);

    *code_out = NULL;
    *len_out = 0;
    if (st != LMN_OK)
        return st;
    path_of(hash, path);
    st = lmn__object_open(table->store, path, &object, err);
    if (st == LMN_E_NOT_FOUND)
        return lmn_fail(err, st, "%.200s has no function %s", table->store->name, hash);
    if (st != LMN_OK)
        return st;
    st = read_code(table, &object, hash, code_out, err);
    if (st == LMN_OK)
        *len_out = object.bytes;
    lmn__object_close(&object);
    return st;
}
