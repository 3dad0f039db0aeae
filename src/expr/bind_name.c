/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "expr/bind.h"
#include "expr/list.h"

enum { NAME_CHARACTERS_MAX = 64, NEAR_MAX = 3 };

static char folded(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool lmn__names_agree(const char *a, const char *b)
{
    while (*a != '\0' && folded(*a) == folded(*b)) {
        a++;
        b++;
    }
    return *a == '\0' && *b == '\0';
}

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Changes of single characters, and swaps of two, that turn `a` into `b`; case does not count. */
static size_t distance(const char *a, const char *b)
{
    size_t row[3][NAME_CHARACTERS_MAX + 1], a_len = strlen(a), b_len = strlen(b);

    if (a_len > NAME_CHARACTERS_MAX || b_len > NAME_CHARACTERS_MAX)
        return NAME_CHARACTERS_MAX;
    for (size_t k = 0; k <= b_len; k++)
        row[0][k] = k;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];

        now[0] = i;
        for (size_t k = 1; k <= b_len; k++) {
            char x = folded(a[i - 1]), y = folded(b[k - 1]);

            now[k] = least_of(before[k - 1] + (x != y), least_of(before[k], now[k - 1]) + 1);
            if (i > 1 && k > 1 && x == folded(b[k - 2]) && y == folded(a[i - 2]))
                now[k] = least_of(now[k], earlier[k - 2] + 1);
        }
    }
    return row[a_len % 3][b_len];
}

void lmn__bind_near(const char *name, const char *const *names, uint32_t count, char *text_out,
                    size_t text_bytes)
{
    size_t used = 0, most = (strlen(name) + 2) / 3;
    uint32_t found = 0;

    text_out[0] = '\0';
    for (size_t allowed = 0; allowed <= most; allowed++) {
        for (uint32_t i = 0; i < count && found < NEAR_MAX && used < text_bytes; i++) {
            if (distance(name, names[i]) != allowed)
                continue;
            used += (size_t)snprintf(text_out + used, text_bytes - used, "%s%.64s",
                                     found == 0 ? "; did you mean " : " or ", names[i]);
            found++;
        }
    }
}

static enum lmn_status no_field(struct lmn__binder *binder, uint32_t place,
                                const struct ArrowSchema *schema, const char *name)
{
    const char **names = lmn__arena_array(binder->arena, (size_t)schema->n_children, sizeof *names);
    const char *what = schema == &binder->expr->schema ? "column" : "field";
    char near[200];

    if (names == NULL)
        return lmn__bind_no_memory(binder);
    for (int64_t i = 0; i < schema->n_children; i++)
        names[i] = schema->children[i]->name != NULL ? schema->children[i]->name : "";
    lmn__bind_near(name, names, (uint32_t)schema->n_children, near, sizeof near);
    if (near[0] == '\0' && binder->expr->text.len > place && binder->expr->text.data[place] == '"')
        snprintf(near, sizeof near, "; a string stands in single quotes");
    return lmn__bind_fail(binder, place, LMN_E_NOT_FOUND, "there is no %s \"%.64s\"%s", what, name,
                          near);
}

enum lmn_status lmn__bind_field(struct lmn__binder *binder, uint32_t place,
                                const struct ArrowSchema *schema, const char *name,
                                uint32_t *index_out)
{
    uint32_t found = 0;

    *index_out = 0;
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->name != NULL && strcmp(schema->children[i]->name, name) == 0) {
            *index_out = (uint32_t)i;
            return LMN_OK;
        }
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->name != NULL &&
            lmn__names_agree(schema->children[i]->name, name)) {
            *index_out = (uint32_t)i;
            found++;
        }
    }
    if (found > 1)
        return lmn__bind_fail(binder, place, LMN_E_INVALID,
                              "\"%.64s\" may be any of %u columns whose names differ in case", name,
                              found);
    return found == 1 ? LMN_OK : no_field(binder, place, schema, name);
}

/* The names joined by dots, as readers take them. */
static const char *join_path(struct lmn__binder *binder, const struct lmn__term *term)
{
    const struct ArrowSchema *schema = &binder->expr->schema;
    size_t bytes = 1, used = 0;
    char *path;

    for (uint32_t i = 0; i < term->index_count; i++) {
        schema = schema->children[term->index[i]];
        bytes += strlen(schema->name) + 1;
    }
    path = lmn__arena_alloc(binder->arena, bytes);
    schema = &binder->expr->schema;
    for (uint32_t i = 0; path != NULL && i < term->index_count; i++) {
        schema = schema->children[term->index[i]];
        used += (size_t)snprintf(path + used, bytes - used, "%s%s", i != 0 ? "." : "",
                                 schema->name);
    }
    return path;
}

enum lmn_status lmn__bind_path(struct lmn__binder *binder, uint32_t place, const char *const *name,
                               uint32_t count, struct lmn__term **term_out)
{
    const struct ArrowSchema *schema = &binder->expr->schema;
    struct lmn__term *term;
    enum lmn_status st = lmn__bind_term(binder, LMN__OP_COLUMN, place, NULL, 0, &term);

    if (st != LMN_OK)
        return st;
    term->index = lmn__arena_array(binder->arena, count, sizeof *term->index);
    if (term->index == NULL)
        return lmn__bind_no_memory(binder);
    for (uint32_t i = 0; i < count; i++) {
        if (i != 0 && strcmp(schema->format, "+s") != 0)
            return lmn__bind_fail(binder, place, LMN_E_INVALID,
                                  "\"%.64s\" is no struct and has no field \"%.64s\"", name[i - 1],
                                  name[i]);
        st = lmn__bind_field(binder, place, schema, name[i], &term->index[i]);
        if (st != LMN_OK)
            return st;
        schema = schema->children[term->index[i]];
        term->index_count = i + 1;
    }
    st = lmn__type_from_schema(schema, &term->type, binder->err);
    if (st != LMN_OK)
        return st;
    term->path = join_path(binder, term);
    *term_out = term;
    return term->path == NULL ? lmn__bind_no_memory(binder) : LMN_OK;
}

/* a.b.c and a['b'].c as one list of names; false when something else stands in the way. */
static bool collect_names(const struct lmn__syntax *syntax, const char **name, uint32_t *count)
{
    if (syntax->kind == LMN__SYNTAX_NAME) {
        for (uint32_t i = 0; i < syntax->path_count; i++)
            name[(*count)++] = syntax->path[i];
        return true;
    }
    if (syntax->kind != LMN__SYNTAX_FIELD || !collect_names(syntax->child[0], name, count))
        return false;
    name[(*count)++] = syntax->name;
    return true;
}

enum lmn_status lmn__bind_name(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                               struct lmn__term **term_out)
{
    const struct lmn__syntax *base = syntax;
    const char **name;
    uint32_t count = 0, room = 0;

    while (base->kind == LMN__SYNTAX_FIELD) {
        base = base->child[0];
        room++;
    }
    room += base->path_count;
    name = lmn__arena_array(binder->arena, room + 1, sizeof *name);
    if (name == NULL)
        return lmn__bind_no_memory(binder);
    if (collect_names(syntax, name, &count))
        return lmn__bind_path(binder, base->place, name, count, term_out);
    return lmn__bind_list_field(binder, syntax, term_out);
}
