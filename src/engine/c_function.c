/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of shared objects. What a job hands to its workers is a text of three lines: what it
 * is, the path of the library, the name of the function. Its version is the SHA-256 of the name and
 * of the version that the table of functions gives it, so that a library may be built again.
 */
#include <string.h>

#include "arrow/compose.h"
#include "arrow/schema.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/sha256.h"
#include "engine/c_function.h"
#include "os/host.h"

static const char HEAD[] = "leman c function\n";

static const struct lmn_function *find(const struct lmn_function_table *table, const char *name)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (strcmp(table->function[i].name, name) == 0)
            return &table->function[i];
    }
    return NULL;
}

static enum lmn_status fail_name(const struct lmn_function_table *table, const char *path,
                                 const char *name, struct lmn_error *err)
{
    char list[256] = "";
    size_t len = 0;

    for (uint32_t i = 0; i < table->count && len + 2 < sizeof list; i++) {
        size_t more = strlen(table->function[i].name);

        if (len + more + 3 > sizeof list)
            break;
        if (i > 0) {
            memcpy(list + len, ", ", 2);
            len += 2;
        }
        memcpy(list + len, table->function[i].name, more);
        len += more;
        list[len] = '\0';
    }
    return lmn_fail(err, LMN_E_NOT_FOUND, "%.200s has no function \"%.100s\"; it has: %s", path,
                    name, list);
}

static enum lmn_status look_up(struct lmn_c_function *function, const char *name,
                               struct lmn_error *err)
{
    const struct lmn_function_table *table = lmn__library_find(&function->library,
                                                               "leman_functions");

    if (table == NULL)
        return lmn_fail(err, LMN_E_INVALID,
                        "%.200s is no library of functions: it exports no `leman_functions`",
                        function->path);
    if (table->abi != LMN_FUNCTION_ABI)
        return lmn_fail(
            err, LMN_E_UNSUPPORTED,
            "%.200s is built for version %u of leman/udf.h, this is version %d: build it "
            "again",
            function->path, table->abi, LMN_FUNCTION_ABI);
    function->function = find(table, name);
    if (function->function == NULL)
        return fail_name(table, function->path, name, err);
    if (function->function->bind == NULL || function->function->apply == NULL ||
        function->function->version == NULL)
        return lmn_fail(err, LMN_E_INVALID, "%.200s: \"%.100s\" lacks bind, apply or version",
                        function->path, name);
    return LMN_OK;
}

/* Make the version and the text for workers. */
static enum lmn_status describe(struct lmn_c_function *function, struct lmn_error *err)
{
    const struct lmn_function *entry = function->function;
    struct lmn__buf buf;
    enum lmn_status st;

    lmn__buf_init(&buf, function->env, 0);
    lmn__buf_put(&buf, entry->name, strlen(entry->name) + 1);
    lmn__buf_put(&buf, entry->version, strlen(entry->version));
    st = lmn__buf_status(&buf, "a function's version", err);
    if (st == LMN_OK)
        lmn__sha256_hex(buf.data, buf.len, function->version);
    lmn__buf_reset(&buf);
    lmn__buf_printf(&buf, "%s%s\n%s\n", HEAD, function->path, entry->name);
    if (st == LMN_OK)
        st = lmn__buf_status(&buf, "a function's place", err);
    if (st == LMN_OK) {
        function->code = lmn__strndup(function->env, (const char *)buf.data, buf.len);
        if (function->code == NULL)
            st = lmn__no_memory(err, "a function's place", buf.len);
    }
    lmn__buf_deinit(&buf);
    return st;
}

enum lmn_status lmn_c_function_open(const char *library, const char *name,
                                    struct lmn_c_function **function_out, struct lmn_error *err)
{
    struct lmn_c_function *function;
    char path[LMN__HOST_PATH_CHARS];
    struct lmn_env *env;
    enum lmn_status st = lmn__env_resolve(NULL, &env, err);

    *function_out = NULL;
    if (st != LMN_OK)
        return st;
    function = lmn__calloc(env, 1, sizeof *function);
    if (function == NULL) {
        lmn_env_release(env);
        return lmn__no_memory(err, "a function", sizeof *function);
    }
    function->env = env;
    if (!lmn__host_whole_path(library, path))
        st = lmn_fail(err, LMN_E_NOT_FOUND, "there is no library %.300s", library);
    if (st == LMN_OK) {
        function->path = lmn__strndup(env, path, strlen(path));
        if (function->path == NULL)
            st = lmn__no_memory(err, "a path", strlen(path));
    }
    if (st == LMN_OK)
        st = lmn__library_open(function->path, &function->library, err);
    if (st == LMN_OK)
        st = look_up(function, name, err);
    if (st == LMN_OK)
        st = describe(function, err);
    if (st == LMN_OK)
        *function_out = function;
    else
        lmn_c_function_close(function);
    return st;
}

void lmn_c_function_close(struct lmn_c_function *function)
{
    struct lmn_env *env;

    if (function == NULL)
        return;
    env = function->env;
    lmn__library_close(&function->library);
    lmn__free(env, function->path);
    lmn__free(env, function->code);
    lmn__free(env, function);
    lmn_env_release(env);
}

const char *lmn_c_function_version(const struct lmn_c_function *function)
{
    return function->version;
}

const char *lmn_c_function_code(const struct lmn_c_function *function)
{
    return function->code;
}

enum lmn_status lmn_c_function_bind(const struct lmn_c_function *function,
                                    const struct ArrowSchema *inputs,
                                    struct ArrowSchema *output_out, struct lmn_error *err)
{
    enum lmn_status st;

    *output_out = (struct ArrowSchema){ 0 };
    st = function->function->bind(inputs, output_out, err);
    if (st != LMN_OK)
        return lmn__fail_within(err, st, "function \"%.100s\"", function->function->name);
    if (output_out->release == NULL)
        return lmn_fail(err, LMN_E_UDF, "function \"%.100s\" gave no type when it was bound",
                        function->function->name);
    return LMN_OK;
}

bool lmn_c_function_is_code(const void *code, uint64_t len)
{
    return len >= sizeof HEAD && memcmp(code, HEAD, sizeof HEAD - 1) == 0;
}

enum lmn_status lmn__c_function_from_code(const void *code, uint64_t len,
                                          struct lmn_c_function **function_out,
                                          struct lmn_error *err)
{
    char text[LMN__HOST_PATH_CHARS + 512], *path, *name, *end;

    *function_out = NULL;
    if (len >= sizeof text || !lmn_c_function_is_code(code, len))
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "this worker runs functions of shared objects only");
    memcpy(text, code, len);
    text[len] = '\0';
    path = text + sizeof HEAD - 1;
    name = strchr(path, '\n');
    end = name != NULL ? strchr(name + 1, '\n') : NULL;
    if (end == NULL)
        return lmn_fail(err, LMN_E_CORRUPT, "the name of a function is missing");
    *name++ = '\0';
    *end = '\0';
    return lmn_c_function_open(path, name, function_out, err);
}
