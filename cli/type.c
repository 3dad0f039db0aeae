/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "value.h"

/* The first name of a format is printed; all are read. */
static const struct {
    const char *format, *name;
} names[] = {
    { "n", "null" },           { "b", "bool" },           { "c", "int8" },
    { "C", "uint8" },          { "s", "int16" },          { "S", "uint16" },
    { "i", "int32" },          { "I", "uint32" },         { "l", "int64" },
    { "L", "uint64" },         { "e", "halffloat" },      { "f", "float" },
    { "g", "double" },         { "z", "binary" },         { "Z", "large_binary" },
    { "u", "string" },         { "U", "large_string" },   { "vz", "binary_view" },
    { "vu", "string_view" },   { "tdD", "date32" },       { "tdm", "date64" },
    { "tts", "time32[s]" },    { "ttm", "time32[ms]" },   { "ttu", "time64[us]" },
    { "ttn", "time64[ns]" },   { "tDs", "duration[s]" },  { "tDm", "duration[ms]" },
    { "tDu", "duration[us]" }, { "tDn", "duration[ns]" }, { "e", "float16" },
    { "f", "float32" },        { "g", "float64" },
};

const char *type_format(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].name, name) == 0)
            return names[i].format;
    }
    return NULL;
}

static const char *letter_name(const char *format)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].format, format) == 0)
            return names[i].name;
    }
    return NULL;
}

/* A name that is no word is quoted. */
static void name_put(struct text *text, const char *name)
{
    size_t len = strlen(name), plain = 0;

    while (isalnum((unsigned char)name[plain]) || name[plain] == '_' || (name[plain] & 0x80) != 0)
        plain++;
    if (len != 0 && plain == len) {
        text_put(text, name, len);
        return;
    }
    text_put(text, "\"", 1);
    for (; *name != '\0'; name++)
        text_put(text, *name == '"' ? "\"\"" : name, *name == '"' ? 2 : 1);
    text_put(text, "\"", 1);
}

/* Children of a type; the keys of a map, the first of two, are never null. */
static void nested_put(struct text *text, const char *kind, const struct ArrowSchema *schema,
                       bool named)
{
    bool is_map = kind[0] == 'm';

    text_printf(text, "%s<", kind);
    for (int64_t i = 0; i < schema->n_children; i++) {
        const struct ArrowSchema *child = schema->children[i];

        if (i != 0)
            text_printf(text, ", ");
        if (named) {
            name_put(text, child->name != NULL ? child->name : "");
            text_put(text, ": ", 2);
        }
        type_put(text, child);
        if ((child->flags & ARROW_FLAG_NULLABLE) == 0 && !(is_map && i == 0))
            text_printf(text, " not null");
    }
    text_printf(text, ">");
}

static void timestamp_put(struct text *text, const char *format)
{
    const char *unit = format[2] == 's'   ? "s"
                       : format[2] == 'm' ? "ms"
                       : format[2] == 'u' ? "us"
                                          : "ns";
    const char *zone = strchr(format, ':');

    text_printf(text, "timestamp[%s", unit);
    if (zone != NULL && zone[1] != '\0')
        text_printf(text, ", %s", zone + 1);
    text_printf(text, "]");
}

void type_put(struct text *text, const struct ArrowSchema *schema)
{
    const char *format = schema->format, *name = letter_name(format);

    if (schema->dictionary != NULL) {
        text_printf(text, "dictionary<%s, ", name != NULL ? name : format);
        type_put(text, schema->dictionary);
        text_printf(text, ">");
    } else if (name != NULL) {
        text_printf(text, "%s", name);
    } else if (strncmp(format, "ts", 2) == 0) {
        timestamp_put(text, format);
    } else if (strncmp(format, "d:", 2) == 0) {
        const char *scale = strchr(format, ','),
                   *bits = scale != NULL ? strchr(scale + 1, ',') : NULL;
        int digits = atoi(format + 2);

        text_printf(text, "decimal%s(%d, %d)",
                    bits != NULL && digits <= DECIMAL128_DIGITS ? bits + 1 : "", digits,
                    scale != NULL ? atoi(scale + 1) : 0);
    } else if (strncmp(format, "w:", 2) == 0) {
        text_printf(text, "binary[%s]", format + 2);
    } else if (strncmp(format, "+w:", 3) == 0) {
        nested_put(text, "list", schema, false);
        text_printf(text, "[%s]", format + 3);
    } else if (strcmp(format, "+l") == 0 || strcmp(format, "+L") == 0) {
        nested_put(text, format[1] == 'l' ? "list" : "large_list", schema, false);
    } else if (strcmp(format, "+s") == 0) {
        nested_put(text, "struct", schema, true);
    } else if (strcmp(format, "+m") == 0 && schema->n_children == 1) {
        nested_put(text, "map", schema->children[0], false);
    } else {
        text_printf(text, "%s", format);
    }
}

bool type_is_number(const struct ArrowSchema *schema)
{
    return schema->dictionary == NULL && schema->format[0] != '\0' &&
           (strchr("cCsSiIlLefgd", schema->format[0]) != NULL);
}
