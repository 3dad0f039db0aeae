/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/named.h"

#include <stdio.h>

#include "base/math.h"
#include "expr/cast.h"
#include "expr/internal.h"
#include "expr/load.h"

enum { ITEMS_MAX = 8, LIST_BYTES = 100, TERMS_MAX = 1000 };

/* Is it a column that stands in the text, for the first time? */
static bool is_new(const struct lmn__named *named, const struct lmn__term *term)
{
    if (term->op != LMN__OP_COLUMN || term->path == NULL || term->hidden)
        return false;
    for (uint32_t i = 0; i < named->count; i++) {
        if (strcmp(named->path[i], term->path) == 0)
            return false;
    }
    return named->count < LMN__NAMED_MAX;
}

static void add(struct lmn__named *named, const char *before, const char *path, const char *text)
{
    int len = snprintf(named->text + named->len, sizeof named->text - named->len, "%s%s is %s",
                       before, path, text);

    if (len < 0 || (size_t)len >= sizeof named->text - named->len) {
        named->text[named->len] = '\0'; /* no room for it */
        return;
    }
    named->len += (size_t)len;
    named->path[named->count++] = path;
}

/* The first items of a list, "[1, null, ...]"; of nested ones "[...]". */
static void print_list(struct lmn__frame *frame, const struct lmn__type *type,
                       const struct lmn__vector *list, char text[LMN__VALUE_TEXT_BYTES])
{
    const struct ArrowSchema *schema = type->schema->children[0];
    uint64_t from, to, slot[ITEMS_MAX];
    struct lmn__type item;
    struct lmn__vector items = { 0 };
    char value[LMN__VALUE_TEXT_BYTES];
    size_t len = 0, room = LMN__VALUE_TEXT_BYTES;
    uint32_t count, shown;

    lmn__load_list(type->schema, list->array, ((const uint64_t *)list->values)[0], &from, &to);
    count = (uint32_t)lmn__min_u64(to - from, ITEMS_MAX);
    for (uint32_t i = 0; i < count; i++)
        slot[i] = from + i;
    if (lmn__type_from_schema(schema, &item, NULL) != LMN_OK ||
        lmn__type_form(&item) == LMN__FORM_SLOT ||
        lmn__load_slots(frame, schema, list->array->children[0], slot, NULL, count, &items) !=
            LMN_OK)
        count = 0;
    for (shown = 0; shown < count; shown++) {
        snprintf(value, sizeof value, "null");
        if (!lmn__vector_is_null(&items, shown))
            lmn__value_print(&item, items.values, shown, value);
        if (len + strlen(value) > LIST_BYTES)
            break;
        len += (size_t)snprintf(text + len, room - len, "%s%s", shown == 0 ? "[" : ", ", value);
    }
    snprintf(text + len, room - len, "%s%s]", shown == 0 ? "[" : "",
             shown == to - from ? ""
             : shown == 0       ? "..."
                                : ", ...");
}

static void add_value(struct lmn__named *named, const struct lmn__frame *frame,
                      const struct lmn__term *column, uint32_t row)
{
    struct lmn__frame one = *frame; /* only the row */
    struct lmn__vector vector;
    char value[LMN__VALUE_TEXT_BYTES] = "null";

    one.first += row;
    one.count = 1;
    one.active = NULL;
    one.owner = NULL;
    one.list = NULL;
    if (lmn__term_eval(&one, column, &vector) != LMN_OK)
        return;
    if (!lmn__vector_is_null(&vector, 0)) {
        if (column->type.kind == LMN__KIND_LIST)
            print_list(&one, &column->type, &vector, value);
        else if (lmn__type_form(&column->type) != LMN__FORM_SLOT)
            lmn__value_print(&column->type, vector.values, 0, value);
        else
            return;
    }
    add(named, named->count == 0 ? " where " : " and ", column->path, value);
}

void lmn__named_values(struct lmn__named *named, const struct lmn__frame *frame,
                       const struct lmn__term *term, uint32_t row)
{
    if (named->seen++ < TERMS_MAX && frame->batch != NULL && is_new(named, term))
        add_value(named, frame, term, row);
    for (uint32_t i = 0; i < term->child_count && named->seen < TERMS_MAX; i++)
        lmn__named_values(named, frame, term->child[i], row);
}

void lmn__named_types(struct lmn__named *named, const struct lmn__term *term)
{
    char type[LMN__TYPE_TEXT_BYTES];

    if (named->seen++ < TERMS_MAX && is_new(named, term))
        add(named, named->count == 0 ? "" : ", ", term->path, lmn__type_text(&term->type, type));
    for (uint32_t i = 0; i < term->child_count && named->seen < TERMS_MAX; i++)
        lmn__named_types(named, term->child[i]);
}
