/* SPDX-License-Identifier: Apache-2.0 */
/* What the functions of a job have printed, read back from its files. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/job.h"
#include "engine/record.h"
#include "store/object.h"

enum { LOG_BYTES_MAX = 64 << 20 };

static bool number_of(struct lmn__span entry, const char *key, uint64_t *number_out)
{
    struct lmn__span value;
    struct lmn_error ignored;

    return lmn__json_member(entry, key, &value, &ignored) == LMN_OK && value.data != NULL &&
           lmn__json_to_u64(value, number_out);
}

/* Is it a whole object? A power loss may have cut the last line of a file. */
static bool is_whole(struct lmn__span entry)
{
    struct lmn__span value;
    struct lmn_error ignored;

    return entry.len > 0 && entry.data[entry.len - 1] == '}' &&
           lmn__json_member(entry, "", &value, &ignored) == LMN_OK; /* looks at all members */
}

/* Is it wanted? A line of a call of many rows is of each of them. */
static bool matches(struct lmn__span entry, const struct lmn_job_log_options *options)
{
    uint64_t worker, row, rows;

    if (!is_whole(entry) || !number_of(entry, "worker", &worker))
        return false;
    if (options->one_worker && worker != options->worker)
        return false;
    if (!options->one_row)
        return true;
    return number_of(entry, "row", &row) && number_of(entry, "rows", &rows) &&
           options->row >= row && options->row - row < rows;
}

/* Append the entries of a file that are wanted. */
static enum lmn_status add_file(struct lmn_store *store, const char *id, const char *name,
                                const struct lmn_job_log_options *options, struct lmn__buf *out,
                                struct lmn_error *err)
{
    char path[LMN__RECORD_PATH_CHARS];
    struct lmn__object object;
    struct lmn__buf bytes;
    enum lmn_status st;

    lmn__record_path(id, name, path);
    st = lmn__object_open(store, path, &object, err);
    if (st != LMN_OK)
        return st == LMN_E_NOT_FOUND ? LMN_OK : st;
    lmn__buf_init(&bytes, store->env, LOG_BYTES_MAX);
    if (!lmn__buf_reserve(&bytes, object.bytes))
        st = lmn_fail(err, LMN_E_CORRUPT, "%s has %llu bytes, too many for a log", object.name,
                      (unsigned long long)object.bytes);
    else
        st = lmn__object_read(&object, 0, bytes.data, object.bytes, err);
    for (size_t at = 0; st == LMN_OK && at < object.bytes;) {
        const uint8_t *end = memchr(bytes.data + at, '\n', object.bytes - at);
        size_t len = end != NULL ? (size_t)(end - bytes.data) - at : object.bytes - at;
        struct lmn__span entry = { bytes.data + at, len };

        if (matches(entry, options)) {
            if (out->len > 1)
                lmn__buf_put(out, ",\n", 2);
            lmn__buf_put(out, entry.data, entry.len);
        }
        at += len + 1;
    }
    lmn__buf_deinit(&bytes);
    lmn__object_close(&object);
    return st;
}

enum lmn_status lmn_job_logs(struct lmn_table *table, const char *id,
                             const struct lmn_job_log_options *options, char **json_out,
                             struct lmn_error *err)
{
    static const struct lmn_job_log_options all;
    struct lmn__buf out, record;
    enum lmn_status st = lmn__job_check_id(id, err);

    *json_out = NULL;
    options = options != NULL ? options : &all;
    lmn__buf_init(&out, table->env, 0);
    lmn__buf_init(&record, table->env, 0);
    if (st == LMN_OK)
        st = lmn__record_read(table->store, id, &record, err);
    lmn__buf_put_u8(&out, '[');
    if (st == LMN_OK)
        st = add_file(table->store, id, "log.1.jsonl", options, &out, err);
    if (st == LMN_OK)
        st = add_file(table->store, id, "log.jsonl", options, &out, err);
    lmn__buf_put_u8(&out, ']');
    if (st == LMN_OK)
        st = lmn__buf_status(&out, "a log", err);
    if (st == LMN_OK) {
        *json_out = lmn__text_new(table->env, out.data, out.len);
        if (*json_out == NULL)
            st = lmn__no_memory(err, "a log", out.len);
    }
    lmn__buf_deinit(&record);
    lmn__buf_deinit(&out);
    return st;
}
