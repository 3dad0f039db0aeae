/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at++;
    return at;
}

static const char *skip_text(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at < end ? at + 1 : end;
}

/* Behind the value that starts at `at`. */
static const char *skip_value(const char *at, const char *end)
{
    int depth = 0;

    if (at < end && *at == '"')
        return skip_text(at, end);
    while (at < end) {
        if (*at == '"') {
            at = skip_text(at, end);
            continue;
        }
        if (*at == '{' || *at == '[')
            depth++;
        else if (depth == 0 && (*at == ',' || *at == '}' || *at == ']'))
            return at;
        else if (*at == '}' || *at == ']')
            depth--;
        at++;
        if (depth == 0 && (at[-1] == '}' || at[-1] == ']'))
            return at;
    }
    return end;
}

struct piece piece_of(const char *text)
{
    return (struct piece){ text, strlen(text) };
}

struct piece piece_member(struct piece object, const char *key)
{
    const char *end = object.text + object.len;
    const char *at = object.text != NULL ? skip_space(object.text, end) : NULL;
    size_t len = strlen(key);

    if (at == NULL || at == end || *at != '{')
        return (struct piece){ NULL, 0 };
    for (at = skip_space(at + 1, end); at < end && *at == '"';) {
        const char *name = at + 1, *after = skip_text(at, end), *value;
        bool found = (size_t)(after - name) == len + 1 && memcmp(name, key, len) == 0;

        at = skip_space(after, end);
        value = skip_space(at + 1, end);
        at = skip_value(value, end);
        if (found)
            return (struct piece){ value, (size_t)(at - value) };
        at = skip_space(at, end);
        if (at == end || *at != ',')
            break;
        at = skip_space(at + 1, end);
    }
    return (struct piece){ NULL, 0 };
}

bool piece_next(struct piece *array, struct piece *item_out)
{
    const char *end = array->text + array->len;
    const char *at = array->text != NULL ? skip_space(array->text, end) : NULL, *after;

    if (at == NULL || at == end || (*at != '[' && *at != ','))
        return false;
    at = skip_space(at + 1, end);
    if (at == end || *at == ']')
        return false;
    after = skip_value(at, end);
    *item_out = (struct piece){ at, (size_t)(after - at) };
    *array = (struct piece){ after, (size_t)(end - after) };
    return true;
}

const char *piece_text(struct piece value, char *into, size_t into_bytes)
{
    size_t len = 0;

    into[0] = '\0';
    if (value.len < 2 || value.text[0] != '"')
        return into;
    for (size_t i = 1; i + 1 < value.len && len + 1 < into_bytes; i++) {
        char c = value.text[i];

        if (c == '\\' && i + 2 < value.len && value.text[i + 1] != 'u') {
            c = value.text[++i];
            c = strchr("ntrbf", c) != NULL ? ' ' : c;
        }
        into[len++] = c;
    }
    into[len] = '\0';
    return into;
}

uint64_t piece_number(struct piece value)
{
    return value.text != NULL ? strtoull(value.text, NULL, 10) : 0;
}

double piece_real(struct piece value)
{
    return value.text != NULL ? strtod(value.text, NULL) : 0;
}

enum lmn_status open_job_table(const char *id, const char *table, struct lmn_table **table_out,
                               struct lmn_error *err)
{
    char *found = NULL;
    enum lmn_status st = LMN_OK;

    *table_out = NULL;
    if (table == NULL) {
        st = lmn_job_find(id, &found, err);
        table = found;
    }
    if (st == LMN_OK)
        st = open_table(table, NULL, table_out, err);
    lmn_text_free(found);
    return st;
}
