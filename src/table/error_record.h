/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error_record.h - what is kept of a cell that failed: one line of JSON.
 */
#ifndef LMN_TABLE_ERROR_RECORD_H
#define LMN_TABLE_ERROR_RECORD_H

#include "base/json.h"

/* The texts of a record, in the order in which they are shown. */
enum lmn__error_text {
    LMN__ERROR_TYPE,
    LMN__ERROR_MESSAGE,
    LMN__ERROR_TRACEBACK,
    LMN__ERROR_INPUTS,
    LMN__ERROR_JOB,
    LMN__ERROR_TIME,
    LMN__ERROR_FUNCTION,
    LMN__ERROR_REPEAT,
    LMN__ERROR_TEXTS
};

extern const char *const lmn__error_text_name[LMN__ERROR_TEXTS];

struct lmn__error_record {
    uint64_t row_id;
    uint64_t attempts;                       /* 0: not said */
    struct lmn__span text[LMN__ERROR_TEXTS]; /* as they stand there; .data NULL: not there */
};

/*
 * Take a line apart; the record points into it.
 *
 * LMN_E_CORRUPT  it is no JSON object with a row id
 */
LMN_MUST_USE enum lmn_status lmn__error_record_parse(struct lmn__span line,
                                                     struct lmn__error_record *record_out,
                                                     struct lmn_error *err);

/* Was `a` written after `b`, as far as their times tell? */
bool lmn__error_record_is_newer(const struct lmn__error_record *a,
                                const struct lmn__error_record *b);

/* Append a text of the record to `buf`: a string without its escapes, anything else as it is. */
void lmn__error_record_put(const struct lmn__error_record *record, enum lmn__error_text which,
                           struct lmn__buf *buf);

#endif
