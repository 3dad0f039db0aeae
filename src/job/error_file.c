/* SPDX-License-Identifier: Apache-2.0 */
#include "job/error_file.h"

#include <inttypes.h>
#include <stdio.h>

#include "os/clock.h"
#include "store/draft.h"

enum { PATH_BYTES = 160 };

void lmn__error_file_init(struct lmn__error_file *file, struct lmn_env *env)
{
    lmn__buf_init(&file->lines, env, 0);
    lmn__clock_text(lmn__clock_now_ns(), file->time, sizeof file->time);
}

void lmn__error_file_deinit(struct lmn__error_file *file)
{
    lmn__buf_deinit(&file->lines);
}

/* The text with what JSON does not allow in a string left out. */
static void put_plain(struct lmn__buf *buf, const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text >= ' ' && *text != '"' && *text != '\\')
            lmn__buf_put_u8(buf, (uint8_t)*text);
    }
}

/* The members of an object, without its braces; nothing for what is none. */
static struct lmn__span members(struct lmn__span record)
{
    const uint8_t *first = record.data, *end = record.data + record.len;

    while (first < end && (*first == ' ' || *first == '\n'))
        first++;
    while (end > first && (end[-1] == ' ' || end[-1] == '\n'))
        end--;
    if (end - first < 2 || first[0] != '{' || end[-1] != '}')
        return (struct lmn__span){ NULL, 0 };
    return (struct lmn__span){ first + 1, (size_t)(end - first - 2) };
}

static void put_line(struct lmn__error_file *file, const struct lmn__journal *journal,
                     struct lmn__span record, uint64_t row_id)
{
    struct lmn__span inner = members(record);

    lmn__buf_printf(&file->lines, "{\"row_id\":%" PRIu64 ",", row_id);
    for (size_t i = 0; i < inner.len; i++)
        lmn__buf_put_u8(&file->lines, inner.data[i] != '\n' ? inner.data[i] : ' ');
    lmn__buf_printf(&file->lines, "%s\"job\":\"", inner.len != 0 ? "," : "");
    put_plain(&file->lines, lmn__journal_job(journal));
    lmn__buf_printf(&file->lines, "\",\"time\":\"%s\",\"function\":\"%016" PRIx64 "\"}\n",
                    file->time, lmn__journal_key(journal)->version);
}

enum lmn_status lmn__error_file_add(struct lmn__error_file *file,
                                    const struct lmn__journal *journal,
                                    const struct lmn__receipt *receipt, uint64_t count,
                                    const struct lmn__row_ids *ids, struct lmn_error *err)
{
    for (uint64_t i = 0; i < count; i++) {
        const struct lmn__receipt_error *error = receipt[i].errors.item;

        for (size_t k = 0; k < receipt[i].errors.count; k++) {
            if (error[k].row < ids->row_count)
                put_line(file, journal, error[k].record, lmn__row_ids_get(ids, error[k].row));
        }
    }
    return lmn__buf_status(&file->lines, "error records", err);
}

enum lmn_status lmn__error_file_put(const struct lmn__error_file *file, struct lmn_store *store,
                                    const int32_t *field_id, uint32_t count, const char *name,
                                    struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && file->lines.len != 0 && i < count; i++) {
        char path[PATH_BYTES];

        snprintf(path, sizeof path, "_leman/errors/%d/%.64s.jsonl", field_id[i], name);
        st = lmn__store_put(store, path, LMN__PUBLISH_REPLACE, file->lines.data, file->lines.len,
                            err);
    }
    return st;
}
