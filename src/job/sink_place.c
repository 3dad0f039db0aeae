/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where bytes of a sink go. On one machine all workers write into the files of the fill, each into
 * ranges that it was granted; these files stay open. Elsewhere every grant is an object of its own,
 * named by the position that it stands for.
 */
#include "job/journal_parts.h"
#include "job/sink_parts.h"

static enum lmn_status shared_open(struct lmn__sink_writing *writing, enum lmn__grant_file kind,
                                   uint64_t position, struct lmn__store_file **file_out,
                                   uint64_t *base_out, struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;
    struct lmn__store_file **file = kind == LMN__GRANT_HOLD ? &sink->hold : &sink->pages;
    char path[LMN__FILL_PATH_BYTES];
    enum lmn_status st = LMN_OK;

    (void)position;
    *base_out = 0;
    if (kind == LMN__GRANT_PAGES && *file != NULL &&
        (sink->pages_fragment != writing->rows->fragment_id ||
         sink->pages_layout != writing->rows->layout)) {
        sink->store->ops->close(*file);
        *file = NULL;
    }
    lmn__fill_path(sink->dir, kind, writing->rows->fragment_id, writing->rows->layout, path);
    if (*file == NULL)
        st = sink->store->ops->open_update(sink->store, path, file, err);
    if (st == LMN_OK && kind == LMN__GRANT_PAGES) {
        sink->pages_fragment = writing->rows->fragment_id;
        sink->pages_layout = writing->rows->layout;
    }
    *file_out = *file;
    return st;
}

/* It stays open for the next grant. */
static enum lmn_status shared_close(struct lmn__sink_writing *writing, struct lmn__store_file *file,
                                    struct lmn_error *err)
{
    (void)writing;
    (void)file;
    (void)err;
    return LMN_OK;
}

static enum lmn_status shared_sync(struct lmn__sink_writing *writing, enum lmn__grant_file kind,
                                   struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;

    return sink->store->ops->sync(kind == LMN__GRANT_HOLD ? sink->hold : sink->pages, err);
}

const struct lmn__sink_place lmn__sink_shared = { shared_open, shared_close, shared_sync };

static enum lmn_status segment_open(struct lmn__sink_writing *writing, enum lmn__grant_file kind,
                                    uint64_t position, struct lmn__store_file **file_out,
                                    uint64_t *base_out, struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;
    char path[LMN__FILL_PATH_BYTES];

    *base_out = position;
    lmn__segment_path(sink->dir, kind, writing->rows->fragment_id, writing->rows->layout, position,
                      path);
    return sink->store->ops->create(sink->store, path, file_out, err);
}

static enum lmn_status segment_close(struct lmn__sink_writing *writing,
                                     struct lmn__store_file *file, struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;
    enum lmn_status st = sink->unsynced ? LMN_OK : sink->store->ops->sync(file, err);

    sink->store->ops->close(file);
    return st;
}

/* Their names. */
static enum lmn_status segment_sync(struct lmn__sink_writing *writing, enum lmn__grant_file kind,
                                    struct lmn_error *err)
{
    (void)kind;
    return writing->sink->store->ops->sync_dir(writing->sink->store, writing->sink->dir, err);
}

const struct lmn__sink_place lmn__sink_segments = { segment_open, segment_close, segment_sync };
