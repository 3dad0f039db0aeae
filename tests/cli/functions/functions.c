/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions for tests of the command: int64 in, int64 out, one more than what came in.
 *
 *   next    nothing else
 *   bad     fails at 13
 *   crash   ends the process at 13
 *   slow    takes 2 ms for each row, and waits at 100 for the file that LEMAN_TEST_GATE names
 *   hang    does not return
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <leman/udf.h>

static enum lmn_status complain(struct lmn_error *err, enum lmn_status status, const char *what)
{
    err->status = status;
    snprintf(err->message, sizeof err->message, "%s", what);
    return status;
}

static void schema_release(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static enum lmn_status bind(const struct ArrowSchema *inputs, struct ArrowSchema *output_out,
                            struct lmn_error *err)
{
    if (inputs->n_children != 1 || strcmp(inputs->children[0]->format, "l") != 0)
        return complain(err, LMN_E_INVALID, "one int64 is wanted");
    *output_out = (struct ArrowSchema){ .format = "l", .name = "", .release = schema_release };
    return LMN_OK;
}

static void array_release(struct ArrowArray *array)
{
    free(array->private_data);
    array->release = NULL;
}

struct column {
    const void *buffers[2];
    int64_t value[];
};

static enum lmn_status next(const struct ArrowArray *inputs, struct ArrowArray *output_out)
{
    const struct ArrowArray *input = inputs->children[0];
    const int64_t *value = (const int64_t *)input->buffers[1] + input->offset;
    struct column *column = malloc(sizeof *column + (size_t)inputs->length * 8);

    column->buffers[0] = NULL;
    column->buffers[1] = column->value;
    for (int64_t i = 0; i < inputs->length; i++)
        column->value[i] = value[i] + 1;
    *output_out = (struct ArrowArray){ .length = inputs->length,
                                       .n_buffers = 2,
                                       .buffers = column->buffers,
                                       .release = array_release,
                                       .private_data = column };
    return LMN_OK;
}

static int holds(const struct ArrowArray *inputs, int64_t wanted)
{
    const struct ArrowArray *input = inputs->children[0];
    const int64_t *value = (const int64_t *)input->buffers[1] + input->offset;

    for (int64_t i = 0; i < inputs->length; i++) {
        if (value[i] == wanted)
            return 1;
    }
    return 0;
}

static enum lmn_status apply_next(void *state, const struct ArrowArray *inputs,
                                  struct ArrowArray *output_out, struct lmn_error *err)
{
    (void)state;
    (void)err;
    printf("a function that prints\n");
    return next(inputs, output_out);
}

static enum lmn_status apply_bad(void *state, const struct ArrowArray *inputs,
                                 struct ArrowArray *output_out, struct lmn_error *err)
{
    (void)state;
    if (holds(inputs, 13))
        return complain(err, LMN_E_UDF, "\"13\" is not for me");
    return next(inputs, output_out);
}

static enum lmn_status apply_crash(void *state, const struct ArrowArray *inputs,
                                   struct ArrowArray *output_out, struct lmn_error *err)
{
    (void)state;
    (void)err;
    if (holds(inputs, 13))
        raise(SIGSEGV);
    return next(inputs, output_out);
}

static enum lmn_status apply_slow(void *state, const struct ArrowArray *inputs,
                                  struct ArrowArray *output_out, struct lmn_error *err)
{
    const char *gate = getenv("LEMAN_TEST_GATE");

    (void)state;
    (void)err;
    usleep((useconds_t)(inputs->length * 2000));
    while (gate != NULL && holds(inputs, 100) && access(gate, F_OK) != 0)
        usleep(5000);
    return next(inputs, output_out);
}

static enum lmn_status apply_hang(void *state, const struct ArrowArray *inputs,
                                  struct ArrowArray *output_out, struct lmn_error *err)
{
    (void)state;
    (void)inputs;
    (void)output_out;
    (void)err;
    for (;;)
        pause();
}

static const struct lmn_function functions[] = {
    { .name = "next", .version = "1", .bind = bind, .apply = apply_next },
    { .name = "bad", .version = "1", .bind = bind, .apply = apply_bad },
    { .name = "crash", .version = "1", .bind = bind, .apply = apply_crash },
    { .name = "slow", .version = "1", .bind = bind, .apply = apply_slow },
    { .name = "hang", .version = "1", .bind = bind, .apply = apply_hang },
};

#ifndef ABI
#define ABI LMN_FUNCTION_ABI
#endif
LMN_API extern const struct lmn_function_table leman_functions;
const struct lmn_function_table leman_functions = { ABI, 5, functions };
