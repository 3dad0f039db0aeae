/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind.h - from syntax to terms: what the files of the binder share.
 */
#ifndef LMN_EXPR_BIND_H
#define LMN_EXPR_BIND_H

#include "expr/internal.h"

struct lmn__zone;
struct lmn__known_zone;

/* Terms whose types are to fit together. */
struct lmn__meeting {
    struct lmn__term *const *term;
    uint32_t count;
};

struct lmn__binder {
    struct lmn__expr *expr;
    struct lmn__arena *arena;
    const struct lmn__expr_resolver *resolver;
    struct lmn__slate slate; /* for constants that are computed at once */
    int64_t now_ns;          /* since 1970 */
    bool is_condition;       /* the whole expression chooses rows */
    struct lmn__known_zone *zones;
    struct lmn__meeting meeting;
    struct lmn_error *err;
};

/* A failure at `place` of the text. */
LMN_PRINTF(4, 5)
enum lmn_status lmn__bind_fail(const struct lmn__binder *binder, uint32_t place,
                               enum lmn_status status, const char *fmt, ...);
/*
 * The same of the type of `term` (NULL: of none in particular), which does not fit. The columns are
 * named that it reads, and then those that the binder's meeting does.
 */
LMN_PRINTF(4, 5)
enum lmn_status lmn__bind_mismatch(const struct lmn__binder *binder, uint32_t place,
                                   const struct lmn__term *term, const char *fmt, ...);
enum lmn_status lmn__bind_no_memory(const struct lmn__binder *binder);

LMN_MUST_USE enum lmn_status lmn__bind_syntax(struct lmn__binder *binder,
                                              const struct lmn__syntax *syntax,
                                              struct lmn__term **term_out);

/* The same, converted to a boolean or refused. */
LMN_MUST_USE enum lmn_status lmn__bind_condition(struct lmn__binder *binder,
                                                 const struct lmn__syntax *syntax,
                                                 struct lmn__term **term_out);

/* A term with `count` children, which are copied. */
LMN_MUST_USE enum lmn_status lmn__bind_term(struct lmn__binder *binder, enum lmn__op op,
                                            uint32_t place, struct lmn__term *const *child,
                                            uint32_t count, struct lmn__term **term_out);

/* A call of `kernel` that gives values of `type`. */
LMN_MUST_USE enum lmn_status lmn__bind_call(struct lmn__binder *binder, uint32_t place,
                                            lmn__kernel_fn kernel, const struct lmn__type *type,
                                            struct lmn__term *const *child, uint32_t count,
                                            struct lmn__term **term_out);

/*
 * Replace a call whose arguments are all constants by its value. A value that cannot be computed
 * stays a call: whether any row asks for it is not known yet.
 */
LMN_MUST_USE enum lmn_status lmn__bind_fold(struct lmn__binder *binder, struct lmn__term **term);

/* A constant; `value` is one value in the type's form, NULL for null. It is copied. */
LMN_MUST_USE enum lmn_status lmn__bind_constant(struct lmn__binder *binder, uint32_t place,
                                                const struct lmn__type *type, const void *value,
                                                struct lmn__term **term_out);

/* Literals and LMN__SYNTAX_TYPED. */
LMN_MUST_USE enum lmn_status lmn__bind_literal(struct lmn__binder *binder,
                                               const struct lmn__syntax *syntax,
                                               struct lmn__term **term_out);

/* NAME, and FIELDs of one. */
LMN_MUST_USE enum lmn_status lmn__bind_name(struct lmn__binder *binder,
                                            const struct lmn__syntax *syntax,
                                            struct lmn__term **term_out);

/* The column that a path ("info.width") of the schema names. */
LMN_MUST_USE enum lmn_status lmn__bind_path(struct lmn__binder *binder, uint32_t place,
                                            const char *const *name, uint32_t count,
                                            struct lmn__term **term_out);

/* The field `name` of a struct type; its index. */
LMN_MUST_USE enum lmn_status lmn__bind_field(struct lmn__binder *binder, uint32_t place,
                                             const struct ArrowSchema *schema, const char *name,
                                             uint32_t *index_out);

/*
 * Convert *term to `type`. `implicit` conversions must not lose anything.
 *
 * LMN_E_INVALID  there is no such conversion
 */
enum lmn__conversion {
    LMN__CONVERT_CAST,
    LMN__CONVERT_TRY,
    LMN__CONVERT_IMPLICIT,
    LMN__CONVERT_EXACT /* null where the value is none of the type */
};
LMN_MUST_USE enum lmn_status lmn__bind_convert(struct lmn__binder *binder, struct lmn__term **term,
                                               const struct lmn__type *type,
                                               enum lmn__conversion how);

/*
 * Make a constant a value of `type` if that loses nothing; *done_out says whether it did. A string
 * that is no value of the type is LMN_E_INVALID.
 */
LMN_MUST_USE enum lmn_status lmn__bind_adapt(struct lmn__binder *binder, struct lmn__term **term,
                                             const struct lmn__type *type, bool *done_out);

/*
 * Make a bare null a string.
 *
 * LMN_E_INVALID  it is neither a string nor binary
 */
LMN_MUST_USE enum lmn_status lmn__bind_bytes(struct lmn__binder *binder, struct lmn__term **term);

/*
 * Make *term an int64.
 *
 * LMN_E_INVALID  it is no whole number, which `what` has to be
 */
LMN_MUST_USE enum lmn_status lmn__bind_number(struct lmn__binder *binder, struct lmn__term **term,
                                              const char *what);

/* The same for a string. */
LMN_MUST_USE enum lmn_status lmn__bind_string(struct lmn__binder *binder, struct lmn__term **term);

/*
 * The clock of the time zone `name`, which lives as long as the binding; NULL for UTC.
 *
 * LMN_E_UNSUPPORTED  the system does not know it
 */
LMN_MUST_USE enum lmn_status lmn__bind_zone(struct lmn__binder *binder, uint32_t place,
                                            const char *name, const struct lmn__zone **zone_out);

/* The type that holds all values of both, where there is one. */
bool lmn__bind_common(const struct lmn__type *a, const struct lmn__type *b, struct lmn__type *out);

/* Give all terms one type, constants first. `what` is "compare", "choose between", ... */
LMN_MUST_USE enum lmn_status lmn__bind_unify(struct lmn__binder *binder, uint32_t place,
                                             const char *what, struct lmn__term **term,
                                             uint32_t count);

/* COMPARE, DISTINCT, BETWEEN, IN. */
LMN_MUST_USE enum lmn_status lmn__bind_comparison(struct lmn__binder *binder,
                                                  const struct lmn__syntax *syntax,
                                                  struct lmn__term **term_out);

/* CALL, operators included. */
LMN_MUST_USE enum lmn_status lmn__bind_function(struct lmn__binder *binder,
                                                const struct lmn__syntax *syntax,
                                                struct lmn__term **term_out);

/* The first function of the tree whose value is the time of the binding; NULL without. */
const char *lmn__syntax_clock(const struct lmn__syntax *syntax);

/*
 * Write those of `count` names that look like `name` to `text_out`: "; did you mean x or y", or
 * nothing.
 */
void lmn__bind_near(const char *name, const char *const *names, uint32_t count, char *text_out,
                    size_t text_bytes);

/* Do the names agree without regard to the case of ASCII letters? */
bool lmn__names_agree(const char *a, const char *b);

#endif
