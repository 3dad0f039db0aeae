/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term.h - a bound expression: a tree of terms with types, and the vectors of values they give.
 *
 * Rows are evaluated in runs of at most LMN__RUN_ROWS, so that intermediate results stay in the
 * cache. A term's kernel gets the vectors of its children and fills one of its own.
 */
#ifndef LMN_EXPR_TERM_H
#define LMN_EXPR_TERM_H

#include "base/bits.h"
#include "expr/slate.h"
#include "expr/type.h"

enum { LMN__RUN_ROWS = 2048 };

/*
 * Values of a run of rows, in the form of their type.
 *
 *   BITS   a bitmap; SPAN an array of struct lmn__span; SLOT an array of uint64_t, slots of
 * `array`; NULL   nothing. Other forms are arrays of their C type.
 *
 * Values of null rows are defined memory, but any value: a span of theirs can be read, a slot need
 * not exist.
 */
struct lmn__vector {
    bool constant;           /* row 0 stands for every row */
    const uint8_t *validity; /* NULL: no nulls */
    const void *values;
    const struct ArrowArray *array; /* SLOT */
};

/* An empty text, whose place can be computed with. */
#define LMN__NO_TEXT ((struct lmn__span){ (const uint8_t *)"", 0 })

struct lmn__expr;
struct lmn__term;

/* What a run of rows is evaluated with. */
struct lmn__frame {
    const struct lmn__expr *expr;
    struct lmn_env *env;
    struct lmn__slate *slate;
    const struct ArrowArray *batch;
    uint64_t first;        /* row of the batch that the run starts with */
    uint32_t count;        /* rows of the run */
    const uint8_t *active; /* rows that count, NULL: all; the others must not raise errors */
    const uint32_t *owner; /* items of lists: the rows they belong to; NULL: these are rows */
    const struct lmn__term *list; /* what has the lists; NULL: these are rows */
    struct lmn_error *err;
};

/*
 * Compute `rows` values (1 when all arguments are constants) from the children's vectors.
 *
 * out->constant is set, and out->validity to the rows where no argument is null, unless the term
 * has `own_nulls`. The kernel sets out->values, in memory of the slate or of an argument.
 */
typedef enum lmn_status (*lmn__kernel_fn)(struct lmn__frame *frame, const struct lmn__term *term,
                                          const struct lmn__vector *arg, uint32_t rows,
                                          struct lmn__vector *out);

/*
 * Compute the string of one row, which is asked for and, unless the term has `own_nulls`, has no
 * null argument. *span_out is empty on entry; it may point into the slate or an argument.
 */
typedef enum lmn_status (*lmn__text_fn)(struct lmn__frame *frame, const struct lmn__term *term,
                                        const struct lmn__vector *arg, uint32_t row,
                                        struct lmn__span *span_out);

enum lmn__op {
    LMN__OP_CONSTANT, /* `constant` */
    LMN__OP_COLUMN,   /* `index` of `index_count` children, from the batch down */
    LMN__OP_AND,
    LMN__OP_OR,
    LMN__OP_CASE,     /* (condition, value) pairs and the value of the rest */
    LMN__OP_COALESCE, /* the first child that is not null */
    LMN__OP_CALL      /* `kernel` */
};

struct lmn__term {
    enum lmn__op op;
    struct lmn__type type;
    uint32_t place; /* in the text */
    uint32_t child_count;
    struct lmn__term **child;

    lmn__kernel_fn kernel;
    lmn__text_fn text_of_row; /* what lmn__text_kernel() calls */
    bool own_nulls;
    bool negated;              /* IS, IN, LIKE */
    bool lenient;              /* a value that cannot be converted is null */
    bool exact;                /* a value that would be rounded cannot be converted */
    bool volatile_result;      /* not to be evaluated while binding */
    enum lmn__compare compare; /* comparisons; for prune() too */
    int32_t choice;            /* which of the things that its kernel does */
    void *data;                /* what its kernel prepared while binding */
    const char *name;          /* of the function, for messages */

    struct lmn__vector constant;
    struct lmn__span text; /* CONSTANT: a number as written, for exact decimals */

    uint32_t *index;
    uint32_t index_count;
    const char *path; /* COLUMN: as readers take it */
    bool hidden;      /* COLUMN: a function stands for it in the text */
};

/* Memory for `rows` values of `form` (bits: whole bytes) in the slate. */
LMN_MUST_USE enum lmn_status lmn__frame_take(struct lmn__frame *frame, enum lmn__form form,
                                             uint32_t rows, void *memory_out);

/* A bitmap for `rows` rows. */
LMN_MUST_USE enum lmn_status lmn__frame_bits(struct lmn__frame *frame, uint32_t rows,
                                             uint8_t **bits_out);

/* *into &= more, where NULL is all ones; *into is replaced, never written. */
LMN_MUST_USE enum lmn_status lmn__frame_and(struct lmn__frame *frame, const uint8_t **into,
                                            const uint8_t *more, uint32_t rows);

/* A copy of out->validity, all ones for NULL, that may be written; out->validity becomes it. */
LMN_MUST_USE enum lmn_status lmn__frame_own_validity(struct lmn__frame *frame, uint32_t rows,
                                                     struct lmn__vector *out,
                                                     uint8_t **validity_out);

/*
 * The first of `rows` rows whose byte in `bad` is set, that is valid and counts; `rows` without.
 */
uint32_t lmn__frame_first_bad(const struct lmn__frame *frame, const struct lmn__vector *out,
                              const uint8_t *bad, uint32_t rows);

/* A failure of row `row` of the run: "<message> where a is 1 and b is null, at character ...". */
LMN_PRINTF(4, 5)
enum lmn_status lmn__frame_fail(const struct lmn__frame *frame, const struct lmn__term *term,
                                uint32_t row, const char *fmt, ...);

/* One row's validity; a constant's counts for all. */
static inline bool lmn__vector_is_null(const struct lmn__vector *vector, uint32_t row)
{
    return vector->validity != NULL && !lmn__bit_get(vector->validity, vector->constant ? 0 : row);
}

/* The index of a row's value. */
static inline uint32_t lmn__vector_at(const struct lmn__vector *vector, uint32_t row)
{
    return vector->constant ? 0 : row;
}

static inline struct lmn__span lmn__vector_span(const struct lmn__vector *vector, uint32_t row)
{
    return ((const struct lmn__span *)vector->values)[lmn__vector_at(vector, row)];
}

/* Evaluate a term for the frame's rows. */
LMN_MUST_USE enum lmn_status lmn__term_eval(struct lmn__frame *frame, const struct lmn__term *term,
                                            struct lmn__vector *out);

/* Is it a constant, and the null one? */
static inline bool lmn__term_is_null(const struct lmn__term *term)
{
    return term->op == LMN__OP_CONSTANT && term->constant.validity != NULL;
}

#endif
