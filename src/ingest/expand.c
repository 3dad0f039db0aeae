/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of file names. The first braces are opened, and each of the texts that this makes is
 * expanded in turn; what has no braces left is matched by the system, or taken as it is. The name
 * of something that is there is no pattern, and a file that several choices stand for comes once.
 */
#include <leman/ingest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/math.h"
#include "os/file.h"

enum { FILES_MAX = 1000000, PATTERN_MAX = 4096, DIGITS_MAX = 9 };

struct expansion {
    struct lmn_env *env;
    struct lmn__arena *arena; /* the list's own */
    const char *endings;      /* parted by spaces; NULL: any */
    char **name;
    uint64_t count, room;
    uint32_t depth;
};

static enum lmn_status keep(struct expansion *e, const char *path, struct lmn_error *err)
{
    char *absolute = NULL;
    enum lmn_status st = LMN_OK;

    if (e->count == FILES_MAX)
        return lmn_fail(err, LMN_E_INVALID, "a pattern of more than %d files", FILES_MAX);
    if (e->count == e->room) {
        uint64_t room = e->room != 0 ? e->room * 2 : 64;
        char **grown = lmn__arena_array(e->arena, room, sizeof *grown);

        if (grown == NULL)
            return lmn__arena_fail(e->arena, "a list of files", err);
        if (e->count != 0)
            memcpy(grown, e->name, e->count * sizeof *grown);
        e->name = grown;
        e->room = room;
    }
    st = lmn__file_absolute(e->env, path, &absolute, err);
    if (st != LMN_OK)
        return st;
    e->name[e->count] = lmn__arena_strndup(e->arena, absolute, strlen(absolute));
    lmn__free(e->env, absolute);
    if (e->name[e->count] == NULL)
        return lmn__arena_fail(e->arena, "a list of files", err);
    e->count++;
    return LMN_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct folder {
    struct expansion *e;
    const char *path;
};

/* Does a name end in one of the endings, which spaces part? */
static bool ends_in(const char *name, const char *endings)
{
    size_t len = strlen(name), tail;

    for (; *endings != '\0'; endings += tail + (endings[tail] == ' ')) {
        tail = strcspn(endings, " ");
        if (tail <= len && memcmp(name + len - tail, endings, tail) == 0)
            return true;
    }
    return false;
}

static enum lmn_status keep_entry(void *context, const char *name, bool is_directory,
                                  struct lmn_error *err)
{
    const struct folder *folder = context;
    const char *endings = folder->e->endings;
    char path[2 * PATTERN_MAX];

    if (is_directory || name[0] == '.' || (endings != NULL && !ends_in(name, endings)))
        return LMN_OK;
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    return keep(folder->e, path, err);
}

static enum lmn_status keep_path(void *context, const char *path, struct lmn_error *err)
{
    struct expansion *e = context;
    struct folder folder = { e, path };
    uint64_t first = e->count;
    enum lmn_status st;

    if (!lmn__file_is_directory(path))
        return keep(e, path, err);
    st = lmn__dir_list(path, keep_entry, &folder, err);
    if (e->count > first)
        qsort(e->name + first, e->count - first, sizeof *e->name, compare_names);
    return st;
}

static enum lmn_status expand(struct expansion *e, const char *pattern, struct lmn_error *err);

/* One choice of the braces in place of them. */
static enum lmn_status expand_with(struct expansion *e, const char *pattern, size_t open,
                                   const char *choice, size_t choice_len, const char *rest,
                                   struct lmn_error *err)
{
    char text[PATTERN_MAX];
    int len = snprintf(text, sizeof text, "%.*s%.*s%s", (int)open, pattern, (int)choice_len, choice,
                       rest);

    if (len < 0 || len >= PATTERN_MAX)
        return lmn_fail(err, LMN_E_INVALID, "a pattern of more than %d characters", PATTERN_MAX);
    return expand(e, text, err);
}

/* "000..099"; false when it is no range. */
static bool read_range(const char *text, size_t len, uint64_t *first_out, uint64_t *last_out,
                       int *width_out)
{
    uint64_t value[2] = { 0, 0 };
    size_t digits[2] = { 0, 0 }, at = 0;

    for (int i = 0; i < 2; i++) {
        for (; at < len && text[at] >= '0' && text[at] <= '9'; at++, digits[i]++)
            value[i] = value[i] * 10 + (uint64_t)(text[at] - '0');
        if (digits[i] == 0 || digits[i] > DIGITS_MAX)
            return false;
        if (i == 0 && (at + 2 > len || text[at] != '.' || text[at + 1] != '.'))
            return false;
        at += i == 0 ? 2 : 0;
    }
    *first_out = value[0];
    *last_out = value[1];
    *width_out = (int)digits[0];
    return at == len;
}

static enum lmn_status expand_braces(struct expansion *e, const char *pattern, size_t open,
                                     size_t close, struct lmn_error *err)
{
    const char *rest = pattern + close + 1, *at = pattern + open + 1;
    uint64_t first, last;
    int width;
    enum lmn_status st = LMN_OK;

    if (read_range(at, close - open - 1, &first, &last, &width)) {
        char number[DIGITS_MAX + 1];

        if (first > last)
            return lmn_fail(err, LMN_E_INVALID, "%.200s: a range that falls", pattern);
        for (uint64_t i = first; st == LMN_OK && i <= last; i++) {
            int len = snprintf(number, sizeof number, "%0*llu", width, (unsigned long long)i);

            st = expand_with(e, pattern, open, number, (size_t)len, rest, err);
        }
        return st;
    }
    while (st == LMN_OK) {
        const char *comma = memchr(at, ',', (size_t)(pattern + close - at));
        const char *end = comma != NULL ? comma : pattern + close;

        st = expand_with(e, pattern, open, at, (size_t)(end - at), rest, err);
        if (comma == NULL)
            break;
        at = comma + 1;
    }
    return st;
}

static enum lmn_status expand(struct expansion *e, const char *pattern, struct lmn_error *err)
{
    const char *open = strchr(pattern, '{'), *close;
    enum lmn_status st;

    if (open == NULL)
        return strpbrk(pattern, "*?[") != NULL ? lmn__file_glob(pattern, keep_path, e, err)
                                               : keep_path(e, pattern, err);
    close = strchr(open, '}');
    if (close == NULL || (strchr(open + 1, '{') != NULL && strchr(open + 1, '{') < close))
        return lmn_fail(err, LMN_E_INVALID, "%.200s: braces that do not close, or inside of others",
                        pattern);
    if (++e->depth > 8)
        return lmn_fail(err, LMN_E_INVALID, "%.200s: more than 8 braces", pattern);
    st = expand_braces(e, pattern, (size_t)(open - pattern), (size_t)(close - pattern), err);
    e->depth--;
    return st;
}

struct place {
    const char *name;
    uint64_t at;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order != 0 ? order : x->at < y->at ? -1 : x->at > y->at;
}

/* Leave the first of several equal names. */
static enum lmn_status drop_repeated(struct expansion *e, struct lmn_error *err)
{
    struct place *place = lmn__calloc(e->env, e->count + 1, sizeof *place);
    uint64_t kept = 0;

    if (place == NULL)
        return lmn__no_memory(err, "a list of files", e->count * sizeof *place);
    for (uint64_t i = 0; i < e->count; i++)
        place[i] = (struct place){ e->name[i], i };
    qsort(place, e->count, sizeof *place, compare_places);
    for (uint64_t i = 1; i < e->count; i++) {
        if (strcmp(place[i - 1].name, place[i].name) == 0)
            e->name[place[i].at] = NULL;
    }
    for (uint64_t i = 0; i < e->count; i++) {
        if (e->name[i] != NULL)
            e->name[kept++] = e->name[i];
    }
    e->count = kept;
    lmn__free(e->env, place);
    return LMN_OK;
}

static bool is_there(const char *path)
{
    struct lmn__file_info info;

    return lmn__file_is_directory(path) || lmn__file_stat(path, &info, NULL) == LMN_OK;
}

enum lmn_status lmn_ingest_expand(struct lmn_env *env, const char *pattern, const char *endings,
                                  struct lmn_name_list *list_out, struct lmn_error *err)
{
    struct expansion e = { .endings = endings };
    enum lmn_status st = lmn__env_resolve(env, &env, err);

    *list_out = (struct lmn_name_list){ 0 };
    if (st != LMN_OK)
        return st;
    e.env = env;
    e.arena = lmn__arena_new(env);
    if (e.arena == NULL)
        st = lmn__no_memory(err, "a list of files", 0);
    else if (pattern[0] == '\0')
        st = lmn_fail(err, LMN_E_INVALID, "an empty name is none of a file");
    if (st == LMN_OK)
        st = is_there(pattern) ? keep_path(&e, pattern, err) : expand(&e, pattern, err);
    if (st == LMN_OK)
        st = drop_repeated(&e, err);
    if (st == LMN_OK && e.count == 0)
        st = lmn_fail(err, LMN_E_NOT_FOUND, "%.200s: there are no such files%s%s", pattern,
                      endings != NULL ? ", or none in the folder that ends in " : "",
                      endings != NULL ? endings : "");
    if (st == LMN_OK)
        *list_out = (struct lmn_name_list){ e.name, e.count, e.arena };
    else
        lmn__arena_free(e.arena);
    lmn_env_release(env);
    return st;
}
