/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns := column { "," column }
 * column  := name [":"] type ["not null"]
 * name    := letters, digits and "_", or anything in double quotes, where "" is one quote
 * type    := word | word "[" argument {"," argument} "]" | decimal "(" digits "," digits ")"
 *          | "list<" type ">" ["[" digits "]"] | "large_list<" type ">" | "struct<" columns ">"
 *          | "map<" type "," type ">" | "dictionary<" type "," type ">"
 *
 * Any type may have "not null" behind it.
 */
#include "schema.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arguments.h"
#include "value.h"

enum { WORD_MAX = 200, CHILDREN_MAX = 1000, DEPTH_MAX = 64 };

struct reader {
    const char *text, *at;
    struct lmn_error *err;
    int depth;
};

static void *keep(size_t bytes)
{
    void *memory = calloc(1, bytes);

    if (memory == NULL) {
        fputs("leman: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static const char *keep_text(const char *text)
{
    size_t bytes = strlen(text) + 1;

    return memcpy(keep(bytes), text, bytes);
}

static void release(struct ArrowSchema *schema)
{
    schema->release = NULL; /* it lives until the program ends */
}

static enum lmn_status wrong(const struct reader *reader, const char *wanted)
{
    return lmn_fail(reader->err, LMN_E_INVALID, "%s is wanted at \"%.40s\" of \"%.200s\"", wanted,
                    reader->at[0] != '\0' ? reader->at : "the end", reader->text);
}

static void skip_spaces(struct reader *reader)
{
    while (isspace((unsigned char)*reader->at))
        reader->at++;
}

static bool take(struct reader *reader, char c)
{
    skip_spaces(reader);
    if (*reader->at != c)
        return false;
    reader->at++;
    return true;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (c & 0x80) != 0;
}

/* Letters and digits. */
static bool take_word(struct reader *reader, char word_out[WORD_MAX])
{
    size_t len = 0;

    skip_spaces(reader);
    while (is_word(reader->at[len]))
        len++;
    if (len == 0 || len >= WORD_MAX)
        return false;
    memcpy(word_out, reader->at, len);
    word_out[len] = '\0';
    reader->at += len;
    return true;
}

/* A word, or what stands in quotes. NULL: there is none. */
static const char *take_name(struct reader *reader)
{
    const char *at;
    char *name;
    size_t len = 0;

    skip_spaces(reader);
    at = reader->at;
    name = keep(strlen(at) + 1);
    if (*at == '"') {
        for (at++; *at != '"' || at[1] == '"'; at++) {
            if (*at == '\0')
                return NULL;
            at += *at == '"';
            name[len++] = *at;
        }
        at++;
    } else {
        while (is_word(*at))
            name[len++] = *at++;
    }
    reader->at = at;
    return len != 0 ? name : NULL;
}

/* What stands in brackets, up to `close`. */
static bool take_arguments(struct reader *reader, char close, char text_out[WORD_MAX])
{
    const char *end = strchr(reader->at, close);
    size_t len = end != NULL ? (size_t)(end - reader->at) : WORD_MAX, used = 0;

    if (len >= WORD_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (reader->at[i] != ' ')
            text_out[used++] = reader->at[i];
    }
    text_out[used] = '\0';
    reader->at = end + 1;
    return used != 0;
}

/* Is it a number of items or bytes? Arrow has 31 bits for it. */
static bool is_count(const char *digits)
{
    uint64_t count;

    return number_read(digits, &count) && count <= INT32_MAX;
}

static enum lmn_status read_type(struct reader *reader, struct ArrowSchema *schema);

/* Children up to `close`; all of them have names, or there is one without. */
static enum lmn_status read_columns(struct reader *reader, char close, struct ArrowSchema *schema)
{
    struct ArrowSchema **child = keep(CHILDREN_MAX * sizeof *child);
    enum lmn_status st = LMN_OK;

    schema->children = child;
    do {
        const char *name;

        if (schema->n_children == CHILDREN_MAX)
            return wrong(reader, "an end after 1,000 columns");
        name = take_name(reader);
        if (name == NULL)
            return wrong(reader, "the name of a column");
        take(reader, ':');
        child[schema->n_children] = keep(sizeof **child);
        st = read_type(reader, child[schema->n_children]);
        child[schema->n_children++]->name = name;
    } while (st == LMN_OK && take(reader, ','));
    skip_spaces(reader);
    if (st == LMN_OK && *reader->at != close)
        st = wrong(reader, close != '\0' ? "\",\" or \">\"" : "\",\"");
    return st;
}

static enum lmn_status read_list(struct reader *reader, bool large, struct ArrowSchema *schema)
{
    char digits[WORD_MAX], format[WORD_MAX + 8];
    enum lmn_status st;

    schema->format = large ? "+L" : "+l";
    schema->n_children = 1;
    schema->children = keep(sizeof *schema->children);
    schema->children[0] = keep(sizeof **schema->children);
    st = read_type(reader, schema->children[0]);
    schema->children[0]->name = "item";
    if (st != LMN_OK)
        return st;
    if (!take(reader, '>'))
        return wrong(reader, "\">\"");
    if (large || !take(reader, '['))
        return LMN_OK;
    if (!take_arguments(reader, ']', digits) || !is_count(digits))
        return wrong(reader, "a number of items");
    snprintf(format, sizeof format, "+w:%s", digits);
    schema->format = keep_text(format);
    return LMN_OK;
}

/* The types of "map<K, V>" and "dictionary<I, V>", behind the "<". */
static enum lmn_status read_pair(struct reader *reader, struct ArrowSchema *first,
                                 struct ArrowSchema *second)
{
    enum lmn_status st = read_type(reader, first);

    if (st == LMN_OK && !take(reader, ','))
        st = wrong(reader, "\",\"");
    if (st == LMN_OK)
        st = read_type(reader, second);
    if (st == LMN_OK && !take(reader, '>'))
        st = wrong(reader, "\">\"");
    return st;
}

/* A list of entries, whose keys are not null. */
static enum lmn_status read_map(struct reader *reader, struct ArrowSchema *schema)
{
    struct ArrowSchema *entries = keep(sizeof *entries);
    enum lmn_status st;

    *entries = (struct ArrowSchema){ .format = "+s",
                                     .name = "entries",
                                     .n_children = 2,
                                     .children = keep(2 * sizeof *entries->children),
                                     .release = release };
    for (int i = 0; i < 2; i++)
        entries->children[i] = keep(sizeof **entries->children);
    schema->format = "+m";
    schema->n_children = 1;
    schema->children = keep(sizeof *schema->children);
    schema->children[0] = entries;
    st = read_pair(reader, entries->children[0], entries->children[1]);
    entries->children[0]->name = "key";
    entries->children[0]->flags = 0;
    entries->children[1]->name = "value";
    return st;
}

static enum lmn_status read_dictionary(struct reader *reader, struct ArrowSchema *schema)
{
    struct ArrowSchema index;
    const char *start = reader->at;
    enum lmn_status st;

    schema->dictionary = keep(sizeof *schema->dictionary);
    st = read_pair(reader, &index, schema->dictionary);
    schema->format = index.format;
    if (st == LMN_OK &&
        (strlen(index.format) != 1 || strchr("cCsSiIlL", index.format[0]) == NULL)) {
        reader->at = start;
        st = wrong(reader, "a whole number's type");
    }
    schema->dictionary->name = "";
    return st;
}

/* Has this system a clock for the zone? One without any is not asked. */
static bool has_clock(const char *zone)
{
    const char *folder = getenv("TZDIR") != NULL ? getenv("TZDIR") : "/usr/share/zoneinfo";
    char path[4096];
    struct stat info;

    if (stat(folder, &info) != 0)
        return true;
    return (size_t)snprintf(path, sizeof path, "%s/%s", folder, zone) < sizeof path &&
           stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* "UTC", "+02:00", "Europe/Paris" */
static bool is_zone(const char *zone)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char others[] = "0123456789_+-/";
    size_t len = strlen(zone), at = 0;
    int hours, minutes, used = 0;

    if (zone[0] == '+' || zone[0] == '-')
        return sscanf(zone + 1, "%2d:%2d%n", &hours, &minutes, &used) == 2 && len == 6 &&
               used == 5 && strspn(zone + 1, "0123456789:") == 5 && hours < 24 && minutes < 60;
    while (at < len && (strchr(letters, zone[at]) != NULL || (at != 0 && strchr(others, zone[at]))))
        at++;
    return len != 0 && at == len && (strcmp(zone, "UTC") == 0 || has_clock(zone));
}

/* timestamp[us, UTC], time64[ns], duration[s], binary[16] */
static bool bracket_format(const char *word, const char *arguments, char format[2 * WORD_MAX])
{
    static const char *const units[] = { "s", "ms", "us", "ns" };
    size_t unit = strcspn(arguments, ","), len = strlen(word);
    char letter = '\0';

    if (strcmp(word, "binary") == 0 && is_count(arguments)) {
        snprintf(format, 2 * WORD_MAX, "w:%s", arguments);
        return true;
    }
    for (int i = 0; i < 4; i++) {
        if (strlen(units[i]) == unit && strncmp(units[i], arguments, unit) == 0)
            letter = "smun"[i];
    }
    if (letter == '\0')
        return false;
    if (strcmp(word, "timestamp") == 0) {
        const char *zone = arguments[unit] == ',' ? arguments + unit + 1 : "";

        snprintf(format, 2 * WORD_MAX, "ts%c:%s", letter, zone);
        return arguments[unit] == '\0' || is_zone(zone);
    }
    snprintf(format, 2 * WORD_MAX, "t%c%c", word[0] == 'd' ? 'D' : 't', letter);
    return arguments[unit] == '\0' &&
           (strcmp(word, "duration") == 0 ||
            (len == 6 && strncmp(word, "time", 4) == 0 &&
             strcmp(word + 4, letter == 's' || letter == 'm' ? "32" : "64") == 0));
}

/* A type by its name alone, or with arguments. */
static enum lmn_status read_plain(struct reader *reader, const char *word, const char *start,
                                  struct ArrowSchema *schema)
{
    char arguments[WORD_MAX], format[2 * WORD_MAX];

    schema->format = type_format(word);
    if (take(reader, '[')) {
        if (take_arguments(reader, ']', arguments) && bracket_format(word, arguments, format)) {
            schema->format = keep_text(format);
            return LMN_OK;
        }
        schema->format = NULL;
    } else if (strncmp(word, "decimal", 7) == 0 && take(reader, '(')) {
        bool wide = strcmp(word, "decimal256") == 0;
        int precision, scale, used = 0;

        if ((wide || word[7] == '\0' || strcmp(word, "decimal128") == 0) &&
            take_arguments(reader, ')', arguments) &&
            sscanf(arguments, "%3d,%3d%n", &precision, &scale, &used) == 2 &&
            arguments[used] == '\0') {
            snprintf(format, sizeof format, "d:%d,%d%s", precision, scale,
                     wide || precision > DECIMAL128_DIGITS ? ",256" : "");
            schema->format = keep_text(format);
        }
    }
    if (schema->format != NULL)
        return LMN_OK;
    reader->at = start;
    return wrong(reader, "a type");
}

static bool take_not_null(struct reader *reader)
{
    char word[WORD_MAX];
    const char *start = reader->at;

    if (take_word(reader, word) && strcmp(word, "not") == 0 && take_word(reader, word) &&
        strcmp(word, "null") == 0)
        return true;
    reader->at = start;
    return false;
}

static enum lmn_status read_type(struct reader *reader, struct ArrowSchema *schema)
{
    char word[WORD_MAX];
    const char *start;
    enum lmn_status st;

    skip_spaces(reader);
    start = reader->at;
    *schema = (struct ArrowSchema){ .flags = ARROW_FLAG_NULLABLE, .release = release };
    if (reader->depth == DEPTH_MAX)
        return lmn_fail(reader->err, LMN_E_INVALID, "types nest deeper than %d in \"%.200s\"",
                        DEPTH_MAX, reader->text);
    if (!take_word(reader, word))
        return wrong(reader, "a type");
    reader->depth++;
    if (strcmp(word, "struct") == 0 && take(reader, '<')) {
        schema->format = "+s";
        st = read_columns(reader, '>', schema);
        reader->at += st == LMN_OK;
    } else if ((strcmp(word, "list") == 0 || strcmp(word, "large_list") == 0) &&
               take(reader, '<')) {
        st = read_list(reader, word[1] == 'a', schema);
    } else if (strcmp(word, "map") == 0 && take(reader, '<')) {
        st = read_map(reader, schema);
    } else if (strcmp(word, "dictionary") == 0 && take(reader, '<')) {
        st = read_dictionary(reader, schema);
    } else {
        st = read_plain(reader, word, start, schema);
    }
    reader->depth--;
    if (st == LMN_OK && take_not_null(reader))
        schema->flags = 0;
    return st;
}

enum lmn_status schema_read(const char *text, struct ArrowSchema *schema_out, struct lmn_error *err)
{
    struct reader reader = { .text = text, .at = text, .err = err };

    *schema_out = (struct ArrowSchema){ .format = "+s", .name = "", .release = release };
    return read_columns(&reader, '\0', schema_out);
}

enum lmn_status type_read(const char *text, struct ArrowSchema *schema_out, struct lmn_error *err)
{
    struct reader reader = { .text = text, .at = text, .err = err };
    enum lmn_status st = read_type(&reader, schema_out);

    skip_spaces(&reader);
    schema_out->name = "";
    return st == LMN_OK && *reader.at != '\0' ? wrong(&reader, "the end of a type") : st;
}

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema_out)
{
    *schema_out = *(const struct ArrowSchema *)stream->private_data;
    return 0;
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *array_out)
{
    (void)stream;
    *array_out = (struct ArrowArray){ 0 };
    return 0;
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

static void stream_release(struct ArrowArrayStream *stream)
{
    stream->release = NULL;
}

void schema_stream(struct ArrowSchema *schema, struct ArrowArrayStream *stream_out)
{
    struct ArrowSchema *kept = keep(sizeof *kept);

    *kept = *schema;
    *stream_out = (struct ArrowArrayStream){ .get_schema = stream_schema,
                                             .get_next = stream_next,
                                             .get_last_error = stream_error,
                                             .release = stream_release,
                                             .private_data = kept };
}
