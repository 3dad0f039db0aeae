/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function.h - the functions that expressions may call.
 */
#ifndef LMN_EXPR_FUNCTION_H
#define LMN_EXPR_FUNCTION_H

#include "expr/bind.h"

typedef enum lmn_status (*lmn__function_bind_fn)(struct lmn__binder *binder, uint32_t place,
                                                 int32_t choice, struct lmn__term **arg,
                                                 uint32_t count, struct lmn__term **term_out);

/*
 * A function either has a kernel, or the text of a row, with arguments and a result of the types in
 * `signature`, or binds its calls itself. Letters: s string, i int64, d double, b boolean; the last
 * one but the result repeats for further arguments. "si>s" takes a string and whole numbers and
 * gives a string.
 */
struct lmn__function {
    const char *name;
    uint8_t count_min, count_max;
    const char *signature;
    lmn__kernel_fn kernel;
    lmn__text_fn text_of_row;
    lmn__function_bind_fn bind;
    int32_t choice;
    bool own_nulls;
    bool reads_clock; /* its value is the time of the binding */
};

enum { LMN__ARGUMENTS_MAX = 255 };

/* Entries that bind their calls; with a signature: of a kernel, and of the text of a row. */
#define LMN__BOUND_FUNCTION(NAME, MIN, MAX, BIND, CHOICE)                                          \
    { .name = NAME, .count_min = MIN, .count_max = MAX, .bind = BIND, .choice = CHOICE }
#define LMN__KERNEL_FUNCTION(NAME, MIN, MAX, SIGNATURE, KERNEL, CHOICE)                            \
    { .name = NAME,                                                                                \
      .count_min = MIN,                                                                            \
      .count_max = MAX,                                                                            \
      .signature = SIGNATURE,                                                                      \
      .kernel = KERNEL,                                                                            \
      .choice = CHOICE }
#define LMN__TEXT_FUNCTION(NAME, MIN, MAX, SIGNATURE, TEXT, CHOICE)                                \
    { .name = NAME,                                                                                \
      .count_min = MIN,                                                                            \
      .count_max = MAX,                                                                            \
      .signature = SIGNATURE,                                                                      \
      .text_of_row = TEXT,                                                                         \
      .choice = CHOICE }

/* The tables, each ended by an entry without a name. */
extern const struct lmn__function lmn__operator_functions[];
extern const struct lmn__function lmn__text_functions[];
extern const struct lmn__function lmn__text_make_functions[];
extern const struct lmn__function lmn__text_edit_functions[];
extern const struct lmn__function lmn__number_functions[];
extern const struct lmn__function lmn__whole_functions[];
extern const struct lmn__function lmn__choice_functions[];
extern const struct lmn__function lmn__time_functions[];
extern const struct lmn__function lmn__time_make_functions[];
extern const struct lmn__function lmn__calendar_functions[];
extern const struct lmn__function lmn__list_functions[];
extern const struct lmn__function lmn__list_edit_functions[];
extern const struct lmn__function lmn__list_text_functions[];
extern const struct lmn__function lmn__list_shape_functions[];
extern const struct lmn__function lmn__list_range_functions[];
extern const struct lmn__function lmn__list_vector_functions[];
extern const struct lmn__function lmn__digest_functions[];
extern const struct lmn__function lmn__bits_functions[];
extern const struct lmn__function lmn__regex_functions[];
extern const struct lmn__function lmn__format_functions[];

extern const struct lmn__function lmn__type_functions[];
extern const struct lmn__function lmn__struct_functions[];
extern const struct lmn__function lmn__random_functions[];

/* Why there is no function of a name that users of other tools know; NULL for other names. */
const char *lmn__function_refused(const char *name);

/* A failure: "there is no string + int64". */
enum lmn_status lmn__operator_refuse(struct lmn__binder *binder, uint32_t place, int32_t op,
                                     struct lmn__term **arg);

/*
 * Bind arg[0] `op` arg[1], of which one is an interval: with a date or timestamp, a duration, an
 * interval or a whole number. With one argument: -interval.
 *
 * LMN_E_INVALID  there is no such operation
 */
LMN_MUST_USE enum lmn_status lmn__interval_bind(struct lmn__binder *binder, uint32_t place,
                                                int32_t op, struct lmn__term **arg, uint32_t count,
                                                struct lmn__term **term_out);

/* Timestamps of `unit` in the string arg[0], which follows one of the formats behind it. */
LMN_MUST_USE enum lmn_status lmn__bind_time_read(struct lmn__binder *binder, uint32_t place,
                                                 enum lmn__unit unit, struct lmn__term **arg,
                                                 uint32_t count, struct lmn__term **term_out);

#endif
