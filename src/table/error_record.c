/* SPDX-License-Identifier: Apache-2.0 */
#include "table/error_record.h"

#include <string.h>

#include "base/math.h"

const char *const lmn__error_text_name[LMN__ERROR_TEXTS] = {
    "type", "message", "traceback", "inputs", "job", "time", "function", "repeat",
};

enum lmn_status lmn__error_record_parse(struct lmn__span line, struct lmn__error_record *record_out,
                                        struct lmn_error *err)
{
    struct lmn__span value;
    enum lmn_status st = lmn__json_member(line, "row_id", &value, err);

    *record_out = (struct lmn__error_record){ 0 };
    if (st == LMN_OK && !lmn__json_to_u64(value, &record_out->row_id))
        st = lmn_fail(err, LMN_E_CORRUPT, "the record of an error has no row id");
    if (st == LMN_OK)
        st = lmn__json_member(line, "attempts", &value, err);
    if (st == LMN_OK && !lmn__json_to_u64(value, &record_out->attempts))
        record_out->attempts = 0;
    for (int i = 0; st == LMN_OK && i < LMN__ERROR_TEXTS; i++)
        st = lmn__json_member(line, lmn__error_text_name[i], &record_out->text[i], err);
    return st;
}

bool lmn__error_record_is_newer(const struct lmn__error_record *a,
                                const struct lmn__error_record *b)
{
    struct lmn__span x = a->text[LMN__ERROR_TIME], y = b->text[LMN__ERROR_TIME];
    size_t len = lmn__min_u64(x.len, y.len);
    int order = len != 0 ? memcmp(x.data, y.data, len) : 0;

    return order != 0 ? order > 0 : x.len > y.len;
}

void lmn__error_record_put(const struct lmn__error_record *record, enum lmn__error_text which,
                           struct lmn__buf *buf)
{
    struct lmn__span value = record->text[which];
    size_t before = buf->len;

    if (lmn__json_unescape(value, buf))
        return;
    buf->len = before;
    lmn__buf_put(buf, value.data, value.len);
}
