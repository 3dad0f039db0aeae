/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/none.h"

#include <nanoarrow/nanoarrow.h>
#include <string.h>

#include "arrow/producer.h"
#include "base/env.h"

struct none {
    struct lmn__producer producer; /* first */
    struct lmn_env *env;           /* counted */
    struct ArrowSchema schema;
    char *path;
    struct lmn_error error;
    lmn_problem_fn report; /* NULL when it is told */
    void *report_self;
    void (*report_free)(void *self);
};

static enum lmn_status none_schema(struct lmn__producer *producer, struct ArrowSchema *schema_out,
                                   struct lmn_error *err)
{
    struct none *none = (struct none *)producer;

    if (ArrowSchemaDeepCopy(&none->schema, schema_out) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    return LMN_OK;
}

static enum lmn_status none_next(struct lmn__producer *producer, struct ArrowArray *array_out,
                                 struct lmn_error *err)
{
    struct none *none = (struct none *)producer;
    struct lmn_problem problem = {
        .part = none->path, .key = "", .field = "", .message = none->error.message
    };
    size_t len = strlen(none->path);

    /* The part is told apart from what is wrong with it. */
    if (strncmp(problem.message, none->path, len) == 0 &&
        strncmp(problem.message + len, ": ", 2) == 0)
        problem.message += len + 2;

    (void)array_out;
    (void)err;
    if (none->report != NULL)
        none->report(none->report_self, &problem);
    none->report = NULL;
    return LMN_OK;
}

static void none_free(struct lmn__producer *producer)
{
    struct none *none = (struct none *)producer;
    struct lmn_env *env = none->env;

    if (none->report_free != NULL)
        none->report_free(none->report_self);
    none->schema.release(&none->schema);
    lmn__free(env, none->path);
    lmn__free(env, none);
    lmn_env_release(env);
}

enum lmn_status lmn__none_open(struct lmn_env *env, struct ArrowSchema *schema, const char *path,
                               const struct lmn_ingest_options *options,
                               struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    static const struct lmn__producer_ops ops = { none_schema, none_next, none_free };
    struct none *none = lmn__calloc(env, 1, sizeof *none);
    char *name = lmn__strndup(env, path, strlen(path));

    if (none == NULL || name == NULL) {
        schema->release(schema);
        lmn__free(env, none);
        lmn__free(env, name);
        return lmn__no_memory(err, "a stream", sizeof *none);
    }
    *none = (struct none){ .env = lmn_env_acquire(env),
                           .path = name,
                           .error = *err,
                           .report = options->report,
                           .report_self = options->report_self,
                           .report_free = options->report_free };
    ArrowSchemaMove(schema, &none->schema);
    lmn__producer_export(&none->producer, &ops, stream_out);
    return LMN_OK;
}
