/* SPDX-License-Identifier: Apache-2.0 */
#include "store/history.h"

#include <string.h>

#include "store/store.h"

struct write {
    struct write *next;
    uint64_t offset;
    size_t len;
    uint8_t data[];
};

struct lmn__history_file {
    struct lmn__history_file *next;
    struct lmn__buf durable;
    struct write *first, **end; /* not durable yet, in their order */
    const char *settled;        /* in a crash: a path where it stands already */
};

struct lmn__history_name {
    struct lmn__history_name *next;
    char *path;
    struct lmn__history_file *durable; /* before all changes; NULL: none, here and below */
    struct lmn__history_file *current; /* after all changes */
    struct lmn__history_file *left;    /* in a crash: after the changes that are kept */
    bool changed;                      /* in a crash: there are changes, kept or not */
};

struct lmn__history_change {
    struct lmn__history_name *from, *to; /* either may be NULL */
    struct lmn__history_file *from_before, *to_before;
    struct lmn__history_file *file;
    bool from_synced, to_synced;
    bool kept; /* in a crash */
};

void lmn__history_init(struct lmn__history *history, struct lmn_env *env)
{
    *history = (struct lmn__history){ .env = env };
}

static void free_writes(struct lmn__history_file *file)
{
    while (file->first != NULL) {
        struct write *write = file->first;

        file->first = write->next;
        lmn__free(file->durable.env, write);
    }
    file->end = &file->first;
}

void lmn__history_deinit(struct lmn__history *history)
{
    lmn__free(history->env, history->change);
    while (history->name != NULL) {
        struct lmn__history_name *name = history->name;

        history->name = name->next;
        lmn__free(history->env, name->path);
        lmn__free(history->env, name);
    }
    while (history->file != NULL) {
        struct lmn__history_file *file = history->file;

        history->file = file->next;
        free_writes(file);
        lmn__buf_deinit(&file->durable);
        lmn__free(history->env, file);
    }
    lmn__history_init(history, history->env);
}

enum lmn_status lmn__history_file_new(struct lmn__history *history,
                                      struct lmn__history_file **file_out, struct lmn_error *err)
{
    struct lmn__history_file *file = lmn__calloc(history->env, 1, sizeof *file);

    *file_out = NULL;
    if (file == NULL)
        return lmn__no_memory(err, "the history of a file", sizeof *file);
    lmn__buf_init(&file->durable, history->env, 0);
    file->end = &file->first;
    file->next = history->file;
    history->file = file;
    *file_out = file;
    return LMN_OK;
}

enum lmn_status lmn__history_write(struct lmn__history_file *file, uint64_t offset,
                                   const void *data, size_t len, struct lmn_error *err)
{
    struct write *write;

    if (len == 0)
        return LMN_OK;
    if (offset > SIZE_MAX / 4 || len > SIZE_MAX / 4)
        return lmn__no_memory(err, "the history of a file", UINT64_MAX);
    write = lmn__alloc(file->durable.env, sizeof *write + len);
    if (write == NULL)
        return lmn__no_memory(err, "the history of a file", sizeof *write + len);
    *write = (struct write){ NULL, offset, len };
    memcpy(write->data, data, len);
    *file->end = write;
    file->end = &write->next;
    return LMN_OK;
}

/* The first `len` bytes of a write; a gap before them is filled with zeros. */
static void apply_write(const struct write *write, size_t len, struct lmn__buf *content)
{
    size_t end = (size_t)write->offset + len;

    if (len == 0)
        return;
    if (end > content->len)
        lmn__buf_put_zeros(content, end - content->len);
    if (!content->failed)
        memcpy(content->data + write->offset, write->data, len);
}

enum lmn_status lmn__history_sync(struct lmn__history_file *file, struct lmn_error *err)
{
    enum lmn_status st;

    for (const struct write *write = file->first; write != NULL; write = write->next)
        apply_write(write, write->len, &file->durable);
    st = lmn__buf_status(&file->durable, "the history of a file", err);
    if (st == LMN_OK)
        free_writes(file);
    return st;
}

static struct lmn__history_name *find_name(const struct lmn__history *history, const char *path)
{
    struct lmn__history_name *name = history->name;

    while (name != NULL && (path == NULL || strcmp(name->path, path) != 0))
        name = name->next;
    return name;
}

bool lmn__history_find(const struct lmn__history *history, const char *path,
                       struct lmn__history_file **file_out)
{
    const struct lmn__history_name *name = find_name(history, path);

    *file_out = name != NULL ? name->current : NULL;
    return name != NULL;
}

enum lmn_status lmn__history_adopt(struct lmn__history *history, const char *path,
                                   struct lmn__history_file *file, struct lmn_error *err)
{
    struct lmn__history_name *name = lmn__calloc(history->env, 1, sizeof *name);

    if (name != NULL)
        name->path = lmn__strndup(history->env, path, strlen(path));
    if (name == NULL || name->path == NULL) {
        lmn__free(history->env, name);
        return lmn__no_memory(err, "the history of a name", sizeof *name + strlen(path) + 1);
    }
    name->durable = name->current = file;
    name->next = history->name;
    history->name = name;
    return LMN_OK;
}

enum lmn_status lmn__history_change(struct lmn__history *history, const char *from, const char *to,
                                    struct lmn__history_file *file, struct lmn_error *err)
{
    struct lmn__history_change *change = history->change;

    if (history->change_count == history->change_cap) {
        size_t cap = history->change_cap * 2 + 16;

        change = lmn__realloc(history->env, change, cap * sizeof *change);
        if (change == NULL)
            return lmn__no_memory(err, "the history of names", cap * sizeof *change);
        history->change = change;
        history->change_cap = cap;
    }
    change += history->change_count++;
    *change = (struct lmn__history_change){ .from = find_name(history, from),
                                            .to = find_name(history, to),
                                            .file = file };
    if (change->from != NULL) {
        change->from_before = change->from->current;
        change->from->current = NULL;
    }
    if (change->to != NULL) {
        change->to_before = change->to->current;
        change->to->current = file;
    }
    return LMN_OK;
}

void lmn__history_undo(struct lmn__history *history)
{
    struct lmn__history_change *change = &history->change[--history->change_count];

    if (change->to != NULL)
        change->to->current = change->to_before;
    if (change->from != NULL)
        change->from->current = change->from_before;
}

static bool lies_in(const struct lmn__history_name *name, const char *dir)
{
    size_t len = strlen(dir);

    return name != NULL && lmn__store_dir_len(name->path) == len &&
           memcmp(name->path, dir, len) == 0;
}

void lmn__history_sync_dir(struct lmn__history *history, const char *path)
{
    for (size_t i = 0; i < history->change_count; i++) {
        struct lmn__history_change *change = &history->change[i];

        change->from_synced |= lies_in(change->from, path);
        change->to_synced |= lies_in(change->to, path);
    }
}

/* SplitMix64; a seed of 0 always gives 0, and 0 drops. */
static uint64_t coin(uint64_t *state)
{
    uint64_t z;

    if (*state == 0)
        return 0;
    z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static bool share_a_name(const struct lmn__history_change *a, const struct lmn__history_change *b)
{
    return (a->from != NULL && (a->from == b->from || a->from == b->to)) ||
           (a->to != NULL && (a->to == b->from || a->to == b->to));
}

static void settle(struct lmn__history_name *name, bool kept, struct lmn__history_file *file)
{
    if (name == NULL)
        return;
    name->changed = true;
    if (kept)
        name->left = file;
}

/* Throw the coins for the changes, and set what each name stands for afterwards. */
static void crash_names(struct lmn__history *history, uint64_t *state)
{
    struct lmn__history_change *change = history->change;

    for (size_t i = 0; i < history->change_count; i++) {
        bool durable = (change[i].from == NULL || change[i].from_synced) &&
                       (change[i].to == NULL || change[i].to_synced);

        change[i].kept = (coin(state) & 1) != 0 || durable;
    }
    for (size_t i = history->change_count; i-- > 0;) {
        for (size_t j = 0; change[i].kept && j < i; j++)
            change[j].kept |= share_a_name(&change[i], &change[j]);
    }
    for (struct lmn__history_name *name = history->name; name != NULL; name = name->next) {
        name->left = name->durable;
        name->changed = false;
    }
    for (size_t i = 0; i < history->change_count; i++) {
        settle(change[i].from, change[i].kept, NULL);
        settle(change[i].to, change[i].kept, change[i].file);
    }
}

/* What is left of a file: its durable content and those parts of writes that the coins keep. */
static void crash_file(const struct lmn__history_file *file, uint64_t *state,
                       struct lmn__buf *content)
{
    lmn__buf_put(content, file->durable.data, file->durable.len);
    for (const struct write *write = file->first; write != NULL; write = write->next) {
        uint64_t toss = coin(state);
        size_t parts[] = { 0, write->len, (toss >> 8) % write->len, write->len };

        apply_write(write, parts[toss & 3], content);
    }
}

static enum lmn_status report_name(struct lmn__history *history,
                                   const struct lmn__history_name *name, uint64_t *state,
                                   lmn__history_path_fn report, void *context,
                                   struct lmn_error *err)
{
    struct lmn__history_file *file = name->left;
    struct lmn__buf content;
    enum lmn_status st;

    if (file == NULL)
        return report(context, name->path, NULL, NULL, err);
    lmn__buf_init(&content, history->env, 0);
    if (file->settled == NULL)
        crash_file(file, state, &content);
    st = lmn__buf_status(&content, "a file after a power loss", err);
    if (st == LMN_OK)
        st = report(context, name->path, &content, file->settled, err);
    file->settled = name->path;
    lmn__buf_deinit(&content);
    return st;
}

enum lmn_status lmn__history_crash(struct lmn__history *history, uint64_t seed,
                                   lmn__history_path_fn report, void *context,
                                   struct lmn_error *err)
{
    struct lmn__history_name *name;
    enum lmn_status st = LMN_OK;
    uint64_t state = seed;

    crash_names(history, &state);
    for (struct lmn__history_file *file = history->file; file != NULL; file = file->next)
        file->settled = NULL;
    for (name = history->name; name != NULL; name = name->next) {
        if (name->left != NULL && name->left->first != NULL)
            name->changed = true; /* in what it holds */
        if (!name->changed && name->left != NULL)
            name->left->settled = name->path;
    }
    for (name = history->name; name != NULL && st == LMN_OK; name = name->next) {
        if (name->changed)
            st = report_name(history, name, &state, report, context, err);
    }
    return st;
}
