/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many rows fit into a call, where a device had no memory for more. One worker finds it out;
 * the others are told with their next task, and a small object in the fill's folder tells the job
 * that goes on. It is a hint: one that is lost is found out again.
 */
#include <stdio.h>

#include "base/json.h"
#include "engine/job.h"
#include "store/draft.h"
#include "store/object.h"

enum { PATH_CHARS = 256, TEXT_BYTES_MAX = 128 };

static const char member[] = "batch_rows_max";

static void path_of(const struct lmn__job_fill *fill, char path[PATH_CHARS])
{
    snprintf(path, PATH_CHARS, "%.200s/fit.json", lmn__journal_dir(fill->journal));
}

uint64_t lmn__job_fit(const struct lmn__job_fill *fill, uint64_t rows)
{
    return fill->rows_fit != 0 && (rows == 0 || fill->rows_fit < rows) ? fill->rows_fit : rows;
}

void lmn__job_load_fit(struct lmn_job *job, struct lmn__job_fill *fill)
{
    char path[PATH_CHARS], text[TEXT_BYTES_MAX];
    struct lmn__object object;
    struct lmn__span value;

    path_of(fill, path);
    if (lmn__object_open(job->given->store, path, &object, NULL) != LMN_OK)
        return;
    if (object.bytes <= sizeof text &&
        lmn__object_read(&object, 0, text, object.bytes, NULL) == LMN_OK &&
        lmn__json_member((struct lmn__span){ (const uint8_t *)text, object.bytes }, member, &value,
                         NULL) == LMN_OK &&
        !lmn__json_to_u64(value, &fill->rows_fit))
        fill->rows_fit = 0;
    lmn__object_close(&object);
}

void lmn__job_take_fit(struct lmn_job *job, struct lmn__job_fill *fill, uint64_t rows)
{
    char path[PATH_CHARS], text[TEXT_BYTES_MAX];
    int len;

    if (rows == 0 || (fill->rows_fit != 0 && rows >= fill->rows_fit))
        return;
    fill->rows_fit = rows;
    lmn__job_note(job, "%.60s() has %llu rows in a call at most: there was no memory for more",
                  fill->function.name, (unsigned long long)rows);
    path_of(fill, path);
    len = snprintf(text, sizeof text, "{\"%s\": %llu}\n", member, (unsigned long long)rows);
    if (lmn__store_put(job->given->store, path, LMN__PUBLISH_REPLACE, text, (size_t)len, NULL) !=
        LMN_OK)
        lmn__job_note(job, "%.100s could not be written", path);
}
