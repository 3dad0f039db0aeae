/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/expr.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "expr/bind.h"
#include "expr/list_value.h"
#include "os/clock.h"

enum lmn_status lmn__expr_parse(struct lmn_env *env, const char *text, struct lmn__expr **expr_out,
                                struct lmn_error *err)
{
    size_t len = text != NULL ? strlen(text) : 0;
    struct lmn__expr *expr;
    char *copy;
    enum lmn_status st;

    *expr_out = NULL;
    if (text == NULL)
        return lmn_fail(err, LMN_E_INVALID, "there is no expression");
    expr = lmn__calloc(env, 1, sizeof *expr);
    if (expr == NULL)
        return lmn__no_memory(err, "an expression", sizeof *expr);
    expr->env = lmn_env_acquire(env);
    lmn__arena_init(&expr->parsed, env, 0);
    lmn__arena_init(&expr->bound, env, 0);
    copy = lmn__arena_strndup(&expr->parsed, text, len);
    if (copy == NULL) {
        st = lmn__arena_fail(&expr->parsed, "an expression", err);
    } else {
        expr->text = (struct lmn__span){ (const uint8_t *)copy, len };
        st = lmn__syntax_parse(&expr->parsed, expr->text, &expr->syntax, err);
    }
    if (st != LMN_OK)
        lmn__expr_free(expr);
    else
        *expr_out = expr;
    return st;
}

static void schema_release(struct ArrowSchema *schema)
{
    if (schema->release != NULL)
        schema->release(schema);
    *schema = (struct ArrowSchema){ 0 };
}

/* Back to what it was when it was parsed. */
static void unbind(struct lmn__expr *expr)
{
    for (; expr->made != NULL; expr->made = expr->made->next)
        schema_release(&expr->made->schema);
    lmn__arena_deinit(&expr->bound);
    lmn__arena_init(&expr->bound, expr->env, 0);
    schema_release(&expr->schema);
    schema_release(&expr->target);
    schema_release(&expr->type);
    expr->root = NULL;
    expr->layout = NULL;
    expr->path = NULL;
    expr->path_count = 0;
}

void lmn__expr_free(struct lmn__expr *expr)
{
    struct lmn_env *env;

    if (expr == NULL)
        return;
    env = expr->env;
    unbind(expr);
    lmn__arena_deinit(&expr->bound);
    lmn__arena_deinit(&expr->parsed);
    lmn__free(env, expr);
    lmn_env_release(env);
}

const char *lmn__expr_clock(const struct lmn__expr *expr)
{
    return lmn__syntax_clock(expr->syntax);
}

/* Add a path unless it is there. */
static bool add_path(struct lmn__expr *expr, const char *path, uint32_t *room)
{
    for (uint32_t i = 0; i < expr->path_count; i++) {
        if (strcmp(expr->path[i], path) == 0)
            return true;
    }
    if (expr->path_count == *room) {
        uint32_t more = *room != 0 ? *room * 2 : 8;
        const char **grown = lmn__arena_array(&expr->bound, more, sizeof *grown);

        if (grown == NULL)
            return false;
        if (expr->path_count != 0)
            memcpy(grown, expr->path, expr->path_count * sizeof *grown);
        expr->path = grown;
        *room = more;
    }
    expr->path[expr->path_count++] = path;
    return true;
}

static bool term_paths(struct lmn__expr *expr, const struct lmn__term *term, uint32_t *room)
{
    if (term->op == LMN__OP_COLUMN && !add_path(expr, term->path, room))
        return false;
    for (uint32_t i = 0; i < term->child_count; i++) {
        if (!term_paths(expr, term->child[i], room))
            return false;
    }
    return true;
}

/* The names of a.b['c'], joined. */
static char *written_path(struct lmn__expr *expr, const struct lmn__syntax *syntax)
{
    char *before, *path;
    size_t bytes = 1, used = 0;

    if (syntax->kind == LMN__SYNTAX_FIELD) {
        before = written_path(expr, syntax->child[0]);
        if (before == NULL)
            return NULL;
        bytes += strlen(before) + strlen(syntax->name) + 1;
        path = lmn__arena_alloc(&expr->bound, bytes);
        if (path != NULL)
            snprintf(path, bytes, "%s.%s", before, syntax->name);
        return path;
    }
    for (uint32_t i = 0; i < syntax->path_count; i++)
        bytes += strlen(syntax->path[i]) + 1;
    path = lmn__arena_alloc(&expr->bound, bytes);
    for (uint32_t i = 0; path != NULL && i < syntax->path_count; i++)
        used += (size_t)snprintf(path + used, bytes - used, "%s%s", i != 0 ? "." : "",
                                 syntax->path[i]);
    return path;
}

static bool syntax_paths(struct lmn__expr *expr, const struct lmn__syntax *syntax, uint32_t *room)
{
    const struct lmn__syntax *base = syntax;
    const char *path;

    while (base->kind == LMN__SYNTAX_FIELD)
        base = base->child[0];
    if (base->kind == LMN__SYNTAX_NAME) {
        path = written_path(expr, syntax);
        return path != NULL && add_path(expr, path, room);
    }
    for (uint32_t i = 0; i < syntax->child_count; i++) {
        if (!syntax_paths(expr, syntax->child[i], room))
            return false;
    }
    return true;
}

enum lmn_status lmn__expr_paths(struct lmn__expr *expr, const char *const **path_out,
                                uint32_t *count_out, struct lmn_error *err)
{
    uint32_t room = 0;

    *path_out = NULL;
    *count_out = 0;
    if (expr->root == NULL && expr->path == NULL && !syntax_paths(expr, expr->syntax, &room))
        return lmn__arena_fail(&expr->bound, "the columns of an expression", err);
    *path_out = expr->path;
    *count_out = expr->path_count;
    return LMN_OK;
}

/* Type and layout of the result; the target's own where its values have the same form. */
static enum lmn_status bind_result(struct lmn__expr *expr, const struct lmn__type *target,
                                   struct lmn_error *err)
{
    struct lmn__type type = expr->root->type;
    char text[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st;

    if (target != NULL)
        type = *target;
    if (lmn__type_form(&type) == LMN__FORM_SLOT && !lmn__type_is_plain(&type))
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "an expression that gives values of type %s with dictionaries or views "
                        "inside",
                        lmn__type_text(&type, text));
    st = lmn__type_to_schema(&type, &expr->type, err);
    if (st == LMN_OK)
        st = lmn__layout_from_schema(&expr->type, &expr->bound, &expr->layout, err);
    expr->encoded = NULL;
    if (st == LMN_OK && target != NULL && expr->target.dictionary != NULL)
        st = lmn__layout_from_schema(&expr->target, &expr->bound, &expr->encoded, err);
    return st;
}

static enum lmn_status bind_root(struct lmn__binder *binder, bool condition)
{
    struct lmn__expr *expr = binder->expr;
    struct lmn__type target;
    bool has_target = expr->target.release != NULL;
    uint32_t room = 0;
    struct lmn__term *root;
    enum lmn_status st = condition ? lmn__bind_condition(binder, expr->syntax, &root)
                                   : lmn__bind_syntax(binder, expr->syntax, &root);

    if (st == LMN_OK && has_target)
        st = lmn__type_from_schema(&expr->target, &target, binder->err);
    if (st == LMN_OK)
        st = has_target ? lmn__bind_convert(binder, &root, &target, LMN__CONVERT_IMPLICIT)
                        : lmn__list_settle(binder, &root);
    if (st != LMN_OK)
        return st;
    if (!term_paths(expr, root, &room))
        return lmn__bind_no_memory(binder);
    expr->root = root;
    return bind_result(expr, has_target ? &target : NULL, binder->err);
}

static enum lmn_status bind(struct lmn__expr *expr, const struct ArrowSchema *schema,
                            const struct lmn__expr_resolver *resolver,
                            const struct ArrowSchema *target, bool condition, struct lmn_error *err)
{
    struct lmn__binder binder = { .expr = expr,
                                  .arena = &expr->bound,
                                  .resolver = resolver,
                                  .now_ns = lmn__clock_now_ns(),
                                  .is_condition = condition,
                                  .err = err };
    enum lmn_status st = LMN_OK;

    unbind(expr);
    if (strcmp(schema->format, "+s") != 0)
        return lmn_fail(err, LMN_E_INVALID, "an expression needs a struct of columns");
    if (ArrowSchemaDeepCopy(schema, &expr->schema) != NANOARROW_OK ||
        (target != NULL && ArrowSchemaDeepCopy(target, &expr->target) != NANOARROW_OK)) {
        unbind(expr);
        return lmn__no_memory(err, "a schema", sizeof *schema);
    }
    lmn__slate_init(&binder.slate, expr->env->pool);
    st = bind_root(&binder, condition);
    lmn__slate_deinit(&binder.slate);
    if (st != LMN_OK)
        unbind(expr);
    return st;
}

enum lmn_status lmn__expr_bind(struct lmn__expr *expr, const struct ArrowSchema *schema,
                               const struct lmn__expr_resolver *resolver,
                               const struct ArrowSchema *target, struct lmn_error *err)
{
    return bind(expr, schema, resolver, target, false, err);
}

enum lmn_status lmn__expr_bind_condition(struct lmn__expr *expr, const struct ArrowSchema *schema,
                                         const struct lmn__expr_resolver *resolver,
                                         struct lmn_error *err)
{
    return bind(expr, schema, resolver, NULL, true, err);
}

enum lmn_status lmn__expr_type(const struct lmn__expr *expr, struct ArrowSchema *type_out,
                               struct lmn_error *err)
{
    *type_out = (struct ArrowSchema){ 0 };
    if (expr->root == NULL)
        return lmn_fail(err, LMN_E_INVALID, "the expression is not bound to a type");
    if (ArrowSchemaDeepCopy(&expr->type, type_out) != NANOARROW_OK)
        return lmn__no_memory(err, "a type", sizeof *type_out);
    return LMN_OK;
}
