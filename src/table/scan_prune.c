/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each column of the condition is cut into zones of its own. Rows are judged in runs that lie in
 * one zone of every column, so the zones' bounds and counts hold for a run, except that a run that
 * is a part of a zone only has none of its nulls, all of them, or a number that is not known.
 *
 * A field that no file of the fragment has is null in every row.
 */
#include "table/scan_prune.h"

#include <string.h>

#include "base/error.h"
#include "base/math.h"

struct column {
    char *path;                            /* as the condition names it */
    struct lmn_file *file;                 /* counted; NULL: no file has the field */
    const struct lmn__stats_column *zones; /* the file's; NULL: not known, or no file */
    bool is_absent;                        /* null in every row */
    bool is_ambiguous;                     /* another column has the same path */
};

struct lmn__scan_prune {
    struct lmn_env *env; /* counted */
    struct lmn__arena arena;
    const struct lmn__scan_filter *filter;
    uint32_t column_count;
    struct column *column;
};

/* What is known while the columns are listed. */
struct listing {
    struct lmn__file_set *files;
    const struct lmn__manifest *manifest;
    const struct lmn__pb_fragment *fragment;
    struct lmn__scan_prune *prune;
};

/* The zone of each column that the judged run lies in. */
struct run {
    const struct lmn__scan_prune *prune;
    uint64_t row_count;
    const struct lmn__stats_zone **zone; /* NULL: nothing is known */
};

static bool find_field(const struct lmn__pb_fragment *fragment, int32_t id, uint32_t *file_out,
                       int32_t *column_out)
{
    const struct lmn__pb_data_file *file = fragment->files.item;

    /* Where two files have the same field, the later one counts. */
    for (size_t f = fragment->files.count; f > 0; f--) {
        for (size_t i = file[f - 1].fields.count; i > 0; i--) {
            if ((int32_t)file[f - 1].fields.item[i - 1] != id)
                continue;
            *file_out = (uint32_t)(f - 1);
            *column_out = (int32_t)file[f - 1].columns.item[i - 1];
            return true;
        }
    }
    return false;
}

/* Is the file's column of the type that the table gives the field? */
static bool same_type(const struct lmn_file *file, int32_t column, const struct lmn__node *node)
{
    struct lmn__span wanted = node->field->logical_type;

    for (uint32_t i = 0; column >= 0 && i < file->schema.node_count; i++) {
        const struct lmn__node *other = &file->schema.node[i];
        struct lmn__span name = other->field->logical_type;

        if (other->column == (uint32_t)column && other->kind == LMN__NODE_LEAF)
            return name.len == wanted.len &&
                   (name.len == 0 || memcmp(name.data, wanted.data, name.len) == 0);
    }
    return false;
}

static enum lmn_status find_zones(const struct listing *listing, const struct lmn__node *node,
                                  struct column *column, struct lmn_error *err)
{
    const struct lmn__pb_data_file *data_file = listing->fragment->files.item;
    uint32_t file;
    int32_t index;
    enum lmn_status st;

    if (!find_field(listing->fragment, node->field->id, &file, &index)) {
        column->is_absent = true;
        return LMN_OK;
    }
    st = lmn__file_set_open(listing->files, listing->manifest, &data_file[file], &column->file,
                            err);
    if (st != LMN_OK || !same_type(column->file, index, node))
        return st;
    return lmn__file_stats(column->file, (uint32_t)index, &column->zones, err);
}

static char *join_path(struct lmn__arena *arena, const char *parent, const char *name)
{
    size_t start = parent != NULL ? strlen(parent) + 1 : 0, len = strlen(name);
    char *path = lmn__arena_alloc(arena, start + len + 1);

    if (path == NULL)
        return NULL;
    if (parent != NULL) {
        memcpy(path, parent, start - 1);
        path[start - 1] = '.';
    }
    memcpy(path + start, name, len);
    return path;
}

/* The leaves below `selected`, which are values of rows: not those in lists. */
static enum lmn_status list_columns(const struct listing *listing,
                                    const struct lmn__selected *selected, const char *parent,
                                    struct lmn_error *err)
{
    struct lmn__scan_prune *prune = listing->prune;
    struct column *column;
    char *path = NULL;

    if (selected->node != NULL) {
        path = join_path(&prune->arena, parent, selected->node->name);
        if (path == NULL)
            return lmn__arena_fail(&prune->arena, "a filter", err);
    }
    if (selected->node == NULL || selected->node->kind == LMN__NODE_STRUCT) {
        enum lmn_status st = LMN_OK;

        for (uint32_t i = 0; st == LMN_OK && i < selected->child_count; i++)
            st = list_columns(listing, selected->child[i], path, err);
        return st;
    }
    if (selected->node->kind != LMN__NODE_LEAF)
        return LMN_OK;
    column = &prune->column[prune->column_count++];
    column->path = path;
    for (uint32_t i = 0; i + 1 < prune->column_count; i++) {
        if (strcmp(prune->column[i].path, path) == 0)
            column->is_ambiguous = prune->column[i].is_ambiguous = true;
    }
    return find_zones(listing, selected->node, column, err);
}

/* Is anything known that no batch has to be read for? */
static bool knows_something(const struct lmn__scan_prune *prune)
{
    for (uint32_t i = 0; i < prune->column_count; i++) {
        if (prune->column[i].zones != NULL || prune->column[i].is_absent)
            return true;
    }
    return prune->column_count == 0;
}

enum lmn_status lmn__scan_prune_new(struct lmn__file_set *files,
                                    const struct lmn__manifest *manifest,
                                    const struct lmn__pb_fragment *fragment,
                                    const struct lmn__scan_filter *filter,
                                    struct lmn__scan_prune **prune_out, struct lmn_error *err)
{
    struct lmn_env *env = manifest->env;
    struct lmn__scan_prune *prune = lmn__calloc(env, 1, sizeof *prune);
    struct listing listing = { files, manifest, fragment, prune };
    enum lmn_status st;

    *prune_out = NULL;
    if (prune == NULL)
        return lmn__no_memory(err, "a filter", sizeof *prune);
    prune->env = lmn_env_acquire(env);
    prune->filter = filter;
    lmn__arena_init(&prune->arena, env, 0);
    prune->column = lmn__arena_array(&prune->arena, filter->columns.schema->node_count,
                                     sizeof *prune->column);
    st = prune->column != NULL ? list_columns(&listing, filter->columns.root, NULL, err)
                               : lmn__arena_fail(&prune->arena, "a filter", err);
    if (st == LMN_OK && knows_something(prune))
        *prune_out = prune;
    else
        lmn__scan_prune_free(prune);
    return st;
}

void lmn__scan_prune_free(struct lmn__scan_prune *prune)
{
    struct lmn_env *env;

    if (prune == NULL)
        return;
    env = prune->env;
    for (uint32_t i = 0; i < prune->column_count; i++)
        lmn_file_release(prune->column[i].file);
    lmn__arena_deinit(&prune->arena);
    lmn__free(env, prune);
    lmn_env_release(env);
}

/* A lmn__column_stats_fn; `context` is the run. */
static bool run_stats(void *context, const char *path, struct lmn__column_stats *stats_out)
{
    const struct run *run = context;
    const struct lmn__scan_prune *prune = run->prune;
    const struct lmn__stats_zone *zone;
    uint32_t i = 0;

    while (i < prune->column_count && strcmp(prune->column[i].path, path) != 0)
        i++;
    if (i == prune->column_count || prune->column[i].is_ambiguous)
        return false;
    if (prune->column[i].is_absent) {
        stats_out->has_null_count = true;
        stats_out->null_count = run->row_count;
        return true;
    }
    zone = run->zone[i];
    if (zone == NULL)
        return false;
    stats_out->has_null_count = zone->null_count == 0 || zone->null_count == zone->row_count;
    stats_out->null_count = zone->null_count == 0 ? 0 : run->row_count;
    stats_out->has_min = zone->min.data != NULL;
    stats_out->min = zone->min.data;
    stats_out->min_bytes = (uint32_t)zone->min.len;
    stats_out->has_max = zone->max.data != NULL;
    stats_out->max = zone->max.data;
    stats_out->max_bytes = (uint32_t)zone->max.len;
    return true;
}

/* Find the zones of `row` and the last row, not beyond `end`, that lies in the same ones. */
static uint64_t enter_run(struct run *run, uint64_t row, uint64_t end)
{
    for (uint32_t i = 0; i < run->prune->column_count; i++) {
        const struct lmn__stats_column *zones = run->prune->column[i].zones;

        run->zone[i] = NULL;
        if (zones == NULL)
            continue;
        run->zone[i] = &zones->zone[lmn__stats_find_zone(zones, row)];
        end = lmn__min_u64(end, run->zone[i]->row_end);
    }
    run->row_count = end - row;
    return end;
}

enum lmn_status lmn__scan_prune_rows(const struct lmn__scan_prune *prune,
                                     const struct lmn__deletion *deletion, uint64_t first,
                                     uint64_t count, struct lmn__row_list *rows, bool *all_out,
                                     struct lmn_error *err)
{
    uint64_t end = first + count, next;
    struct run run = { .prune = prune };
    enum lmn_status st = LMN_OK;

    *all_out = prune != NULL;
    if (prune == NULL)
        return lmn__row_list_add_live(rows, deletion, first, count, err);
    run.zone = lmn__calloc(prune->env, prune->column_count, sizeof *run.zone);
    if (run.zone == NULL)
        return lmn__no_memory(err, "a filter", prune->column_count * sizeof *run.zone);
    for (; st == LMN_OK && first < end; first = next) {
        enum lmn__prune found;

        next = enter_run(&run, first, end);
        found = lmn__expr_prune(prune->filter->expr, run.row_count, run_stats, &run);
        if (found == LMN__PRUNE_NONE)
            continue;
        *all_out = *all_out && found == LMN__PRUNE_ALL;
        st = lmn__row_list_add_live(rows, deletion, first, next - first, err);
    }
    lmn__free(prune->env, run.zone);
    return st;
}
