/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What statistics say must agree with what evaluation finds, for random rows and conditions.
 */
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "expr/expr.h"

enum { ROWS = 6, CASES = 20000, TEXT_BYTES = 4000 };

/* Columns a (int32), f (double), s (string), b (boolean), each with nulls or without. */
struct sample {
    struct ArrowSchema schema;
    struct ArrowArray batch;
    int32_t a[ROWS];
    double f[ROWS];
    char s[ROWS][4];
    uint8_t b[ROWS];
    bool null[4][ROWS];
    uint32_t known; /* bits: which statistics are given */
    bool truncated; /* bounds of strings are cut to one byte */
};

static uint64_t seed = 7;

static uint32_t dice(uint32_t sides)
{
    return (uint32_t)(test_random(&seed) % sides);
}

static void must(int code)
{
    CHECK_EQ(code, NANOARROW_OK);
}

static void fill(struct sample *sample)
{
    static const enum ArrowType types[] = { NANOARROW_TYPE_INT32, NANOARROW_TYPE_DOUBLE,
                                            NANOARROW_TYPE_STRING, NANOARROW_TYPE_BOOL };
    static const char *const names[] = { "a", "f", "s", "b" };
    struct ArrowArray **column;
    uint32_t null_chance = dice(4), range = 1 + dice(5);

    *sample = (struct sample){ .known = dice(256), .truncated = dice(2) };
    ArrowSchemaInit(&sample->schema);
    must(ArrowSchemaSetTypeStruct(&sample->schema, 4));
    for (int i = 0; i < 4; i++) {
        must(ArrowSchemaSetType(sample->schema.children[i], types[i]));
        must(ArrowSchemaSetName(sample->schema.children[i], names[i]));
    }
    must(ArrowArrayInitFromSchema(&sample->batch, &sample->schema, NULL));
    must(ArrowArrayStartAppending(&sample->batch));
    column = sample->batch.children;
    for (int row = 0; row < ROWS; row++) {
        sample->a[row] = (int32_t)dice(range) + 2;
        sample->f[row] = dice(8) == 0 ? 0.0 / (double)(row * 0) : (double)dice(range) * 0.5;
        snprintf(sample->s[row], sizeof sample->s[row], "%c%c", 'a' + (int)dice(range),
                 'a' + (int)dice(range));
        sample->b[row] = (uint8_t)dice(2) | (range == 1);
        for (int i = 0; i < 4; i++)
            sample->null[i][row] = null_chance == 3 || (null_chance == 2 && dice(2) == 0);
        must(sample->null[0][row] ? ArrowArrayAppendNull(column[0], 1)
                                  : ArrowArrayAppendInt(column[0], sample->a[row]));
        must(sample->null[1][row] ? ArrowArrayAppendNull(column[1], 1)
                                  : ArrowArrayAppendDouble(column[1], sample->f[row]));
        must(sample->null[2][row]
                 ? ArrowArrayAppendNull(column[2], 1)
                 : ArrowArrayAppendString(column[2], ArrowCharView(sample->s[row])));
        must(sample->null[3][row] ? ArrowArrayAppendNull(column[3], 1)
                                  : ArrowArrayAppendInt(column[3], sample->b[row]));
        must(ArrowArrayFinishElement(&sample->batch));
    }
    must(ArrowArrayFinishBuildingDefault(&sample->batch, NULL));
}

/* NaN is greater than all others. */
static bool less(const struct sample *sample, int column, int x, int y)
{
    switch (column) {
    case 0:
        return sample->a[x] < sample->a[y];
    case 1:
        return sample->f[x] < sample->f[y] ||
               (sample->f[y] != sample->f[y] && sample->f[x] == sample->f[x]);
    case 2:
        return strcmp(sample->s[x], sample->s[y]) < 0;
    default:
        return sample->b[x] < sample->b[y];
    }
}

static const void *value_at(const struct sample *sample, int column, int row, uint32_t *bytes)
{
    static const uint32_t widths[] = { 4, 8, 2, 1 };

    *bytes = widths[column];
    switch (column) {
    case 0:
        return &sample->a[row];
    case 1:
        return &sample->f[row];
    case 2:
        return sample->s[row];
    default:
        return &sample->b[row];
    }
}

static bool stats_of(void *context, const char *path, struct lmn__column_stats *out)
{
    struct sample *sample = context;
    int column = (int)(strchr("afsb", path[0]) - "afsb"), min = -1, max = -1;
    static char upper[2];

    if (sample->known & 1)
        return false;
    for (int row = 0; row < ROWS; row++) {
        if (sample->null[column][row]) {
            out->null_count++;
            continue;
        }
        min = min < 0 || less(sample, column, row, min) ? row : min;
        max = max < 0 || less(sample, column, max, row) ? row : max;
    }
    out->has_null_count = sample->known & 2;
    out->has_min = (sample->known & 4) && min >= 0;
    out->has_max = (sample->known & 8) && max >= 0;
    if (min < 0)
        return true;
    out->min = value_at(sample, column, min, &out->min_bytes);
    out->max = value_at(sample, column, max, &out->max_bytes);
    if (column == 2 && sample->truncated) {
        out->min_bytes = 1;
        upper[0] = (char)(sample->s[max][0] + 1);
        out->max = upper;
        out->max_bytes = 1;
    }
    return true;
}

static size_t put_condition(char *text, size_t room, uint32_t depth)
{
    static const char *const operators[] = { "=", "<>", "<", "<=", ">", ">=" };
    size_t used = 0;

    switch (depth == 0 ? dice(8) : dice(11)) {
    case 0:
        return (size_t)snprintf(text, room, "a %s %u", operators[dice(6)], dice(8));
    case 1:
        return (size_t)snprintf(text, room, "%u %s a", dice(8), operators[dice(6)]);
    case 2:
        return (size_t)snprintf(text, room, "f %s %s", operators[dice(6)],
                                dice(5) == 0 ? "cast('nan' as double)" : "0.5");
    case 3:
        return (size_t)snprintf(text, room, "s %s '%c%s'", operators[dice(6)], 'a' + (int)dice(5),
                                dice(2) ? "b" : "");
    case 4:
        return (size_t)snprintf(text, room, "s %slike '%c%s'", dice(2) ? "not " : "",
                                'a' + (int)dice(5), dice(2) ? "%" : "b%");
    case 5:
        return (size_t)snprintf(text, room, "a %sin (%u, %u%s)", dice(2) ? "not " : "", dice(8),
                                dice(8), dice(4) == 0 ? ", null" : "");
    case 6:
        return (size_t)snprintf(text, room, "%c is %snull", "afsb"[dice(4)], dice(2) ? "not " : "");
    case 7:
        return (size_t)snprintf(text, room, "b%s", dice(2) ? " is not true" : "");
    case 8:
        used = (size_t)snprintf(text, room, "not (");
        used += put_condition(text + used, room - used, depth - 1);
        return used + (size_t)snprintf(text + used, room - used, ")");
    default:
        used = (size_t)snprintf(text, room, "(");
        used += put_condition(text + used, room - used, depth - 1);
        used += (size_t)snprintf(text + used, room - used, dice(2) ? " and " : " or ");
        used += put_condition(text + used, room - used, depth - 1);
        return used + (size_t)snprintf(text + used, room - used, ")");
    }
}

static void test_prune__agrees_with_evaluation(void **state)
{
    uint64_t decided[3] = { 0 };

    (void)state;
    for (int i = 0; i < CASES; i++) {
        char text[TEXT_BYTES];
        struct sample sample;
        struct lmn__expr *expr;
        struct lmn_error err;
        enum lmn__prune prune;
        uint8_t bits;
        uint64_t count;

        fill(&sample);
        put_condition(text, sizeof text, dice(4));
        CHECK_STATUS(lmn__expr_parse(test_env(), text, &expr, &err), LMN_OK, &err);
        CHECK_STATUS(lmn__expr_bind_condition(expr, &sample.schema, NULL, &err), LMN_OK, &err);
        CHECK_STATUS(lmn__expr_select(expr, &sample.batch, &bits, &count, &err), LMN_OK, &err);
        prune = lmn__expr_prune(expr, ROWS, stats_of, &sample);
        decided[prune]++;
        if ((prune == LMN__PRUNE_NONE && count != 0) || (prune == LMN__PRUNE_ALL && count != ROWS))
            check_fail(__FILE__, __LINE__, "%s: %llu rows match, statistics say %s", text,
                       (unsigned long long)count, prune == LMN__PRUNE_ALL ? "all" : "none");
        lmn__expr_free(expr);
        sample.schema.release(&sample.schema);
        sample.batch.release(&sample.batch);
    }
    /* A pruner that never decides would agree too. */
    CHECK(decided[LMN__PRUNE_NONE] > CASES / 20);
    CHECK(decided[LMN__PRUNE_ALL] > CASES / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prune__agrees_with_evaluation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
