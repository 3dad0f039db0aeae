/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/schema.h"

#include <nanoarrow/nanoarrow.h>
#include <string.h>

enum lmn_status lmn__arrow_schema_copy(const struct ArrowSchema *schema,
                                       struct ArrowSchema *schema_out, struct lmn_error *err)
{
    if (ArrowSchemaDeepCopy(schema, schema_out) == NANOARROW_OK)
        return LMN_OK;
    *schema_out = (struct ArrowSchema){ 0 };
    return lmn__no_memory(err, "a schema", 0);
}

/* nanoarrow calls the type of nulls "na". */
void lmn__arrow_type_text(const struct ArrowSchema *schema, char *text, size_t bytes)
{
    char *at = text;

    (void)ArrowSchemaToString(schema, text, (int64_t)bytes, true);
    while ((at = strstr(at, "na")) != NULL) {
        size_t rest = strlen(at) + 1;
        bool starts = at == text || strchr(" <{", at[-1]) != NULL;

        at += 2;
        if (!starts || strchr(">},", *at) == NULL || (size_t)(at - text) + rest > bytes)
            continue;
        memmove(at + 2, at, rest - 2);
        memcpy(at - 2, "null", 4);
    }
}

static const char *name_of(const struct ArrowSchema *schema)
{
    return schema->name != NULL ? schema->name : "";
}

/*
 * Are the formats those of one type? Zones of timestamps and the like are part of the text, so
 * texts are compared; only the width of a decimal of 128 bits may be left out.
 */
static bool same_format(const char *a, const char *b)
{
    size_t a_len = strlen(a), b_len = strlen(b), shorter = a_len < b_len ? a_len : b_len;
    const char *rest = a_len < b_len ? b + shorter : a + shorter;

    if (strncmp(a, b, shorter) != 0)
        return false;
    return *rest == '\0' || (a[0] == 'd' && strcmp(rest, ",128") == 0);
}

enum lmn_status lmn__arrow_type_check(const struct ArrowSchema *given,
                                      const struct ArrowSchema *wanted, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (!same_format(given->format, wanted->format) ||
        (given->dictionary == NULL) != (wanted->dictionary == NULL) ||
        given->n_children != wanted->n_children) {
        char has[128], wants[128];

        lmn__arrow_type_text(given, has, sizeof has);
        lmn__arrow_type_text(wanted, wants, sizeof wants);
        return lmn_fail(err, LMN_E_INVALID, "\"%.100s\" is of type %s, not %s", name_of(wanted),
                        has, wants);
    }
    if (wanted->dictionary != NULL)
        st = lmn__arrow_type_check(given->dictionary, wanted->dictionary, err);
    for (int64_t i = 0; st == LMN_OK && i < wanted->n_children; i++) {
        bool named = strcmp(wanted->format, "+s") == 0;

        if (named && strcmp(name_of(given->children[i]), name_of(wanted->children[i])) != 0)
            return lmn_fail(err, LMN_E_INVALID,
                            "field %lld of \"%.100s\" is \"%.100s\", not \"%.100s\"", (long long)i,
                            name_of(wanted), name_of(given->children[i]),
                            name_of(wanted->children[i]));
        st = lmn__arrow_type_check(given->children[i], wanted->children[i], err);
    }
    return st;
}

const struct ArrowSchema *lmn__arrow_child(const struct ArrowSchema *schema, const char *name,
                                           int64_t *index_out)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (strcmp(name_of(schema->children[i]), name) != 0)
            continue;
        if (index_out != NULL)
            *index_out = i;
        return schema->children[i];
    }
    return NULL;
}
