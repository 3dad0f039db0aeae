/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/log.h"

#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "engine/cover.h"
#include "os/clock.h"

enum { TIME_CHARS = 40, PATH_CHARS = 4352 };

static const double LINES_AT_ONCE = 2000, LINES_PER_SECOND = 200;
static const uint64_t FILE_BYTES_MAX = 8 << 20;

void lmn__log_init(struct lmn__log *log, struct lmn_env *env, const char *root, const char *id)
{
    *log = (struct lmn__log){ .env = env, .file = { .fd = -1 } };
    snprintf(log->folder, sizeof log->folder, "%s/_leman/jobs/%s", root, id);
    lmn__buf_init(&log->pending, env, 0);
}

void lmn__log_deinit(struct lmn__log *log)
{
    if (log->env == NULL)
        return;
    if (log->file.fd >= 0)
        lmn__file_close(&log->file);
    lmn__buf_deinit(&log->pending);
    log->env = NULL;
}

/* One line that is kept, while it is made. */
struct entry {
    struct lmn__log *log;
    struct lmn__log_worker *worker;
    uint32_t number;
    const struct lmn__page *page;
    uint64_t now_ns;
};

static void open_entry(const struct entry *entry, struct lmn__json_writer *writer)
{
    char text[TIME_CHARS];

    *writer = (struct lmn__json_writer){ &entry->log->pending, false };
    lmn__clock_text(lmn__clock_now_ns(), text, sizeof text);
    lmn__json_open(writer, NULL, '{');
    lmn__json_text(writer, "time", text);
    lmn__json_number(writer, "worker", entry->number);
}

static void close_entry(const struct entry *entry, struct lmn__json_writer *writer)
{
    lmn__json_close(writer, '}');
    lmn__buf_put_u8(&entry->log->pending, '\n');
}

static void put_dropped(const struct entry *entry)
{
    struct lmn__json_writer writer;

    if (entry->worker->dropped == 0)
        return;
    open_entry(entry, &writer);
    lmn__json_number(&writer, "dropped", entry->worker->dropped);
    close_entry(entry, &writer);
    entry->log->dropped_count += entry->worker->dropped;
    entry->worker->dropped = 0;
}

/* The row of a line: its own, or that of the call that the worker is in. */
static void put_row(const struct entry *entry, const struct lmn__log_line *line,
                    struct lmn__json_writer *writer)
{
    bool has_row = line->marked
                       ? line->has_row
                       : entry->page != NULL && atomic_load(&entry->page->call_began_ns) != 0;

    if (!has_row)
        return;
    lmn__json_number(writer, "row",
                     line->marked ? line->row : atomic_load(&entry->page->call_row_id));
    lmn__json_number(writer, "rows",
                     line->marked ? line->rows : atomic_load(&entry->page->call_count));
}

/* May the worker print one more line? */
static bool has_room(const struct entry *entry)
{
    struct lmn__log_worker *worker = entry->worker;

    if (worker->filled_ns == 0)
        worker->room = LINES_AT_ONCE;
    else
        worker->room += (double)(entry->now_ns - worker->filled_ns) / 1e9 * LINES_PER_SECOND;
    worker->filled_ns = entry->now_ns;
    if (worker->room > LINES_AT_ONCE)
        worker->room = LINES_AT_ONCE;
    if (worker->room < 1)
        return false;
    worker->room -= 1;
    return true;
}

static void keep(const struct entry *entry, const struct lmn__log_line *line)
{
    struct lmn__json_writer writer;
    size_t len = line->text.len < LMN__LOG_LAST_CHARS - 1 ? line->text.len
                                                          : LMN__LOG_LAST_CHARS - 1;

    memcpy(entry->worker->last, line->text.data, len);
    entry->worker->last[len] = '\0';
    if (!has_room(entry)) {
        entry->worker->dropped++;
        return;
    }
    put_dropped(entry);
    open_entry(entry, &writer);
    put_row(entry, line, &writer);
    lmn__json_text(&writer, "level", line->marked ? line->level : "raw");
    lmn__buf_put(&entry->log->pending, ", \"text\": ", 10);
    lmn__json_put_quoted(&entry->log->pending, (const char *)line->text.data, line->text.len);
    if (line->cut)
        lmn__json_bool(&writer, "cut", true);
    close_entry(entry, &writer);
    entry->log->line_count++;
}

/* A lmn__log_line_fn. A line that cannot be covered is not kept. */
static void take(void *context, const struct lmn__log_line *line)
{
    const struct entry *entry = context;
    struct lmn__log_line covered = *line;
    struct lmn__buf text;

    if (entry->log->secret == NULL) {
        keep(entry, line);
        return;
    }
    lmn__buf_init(&text, entry->log->env, 0);
    lmn__cover_put(entry->log->secret, line->text, &text);
    if (text.len > 0)
        covered.text = (struct lmn__span){ text.data, text.len };
    if (!text.failed)
        keep(entry, &covered);
    lmn__buf_deinit(&text);
}

void lmn__log_take(struct lmn__log *log, struct lmn__log_worker *worker, uint32_t number,
                   const struct lmn__page *page, const void *data, size_t len, uint64_t now_ns)
{
    struct entry entry = { log, worker, number, page, now_ns };

    lmn__log_lines_feed(&worker->lines, data, len, take, &entry);
}

void lmn__log_end(struct lmn__log *log, struct lmn__log_worker *worker, uint32_t number,
                  const struct lmn__page *page)
{
    struct entry entry = { log, worker, number, page, worker->filled_ns };

    lmn__log_lines_end(&worker->lines, take, &entry);
    put_dropped(&entry);
}

/* Go on with the file of an earlier run, whose last line a power loss may have cut. */
static enum lmn_status open_again(struct lmn__log *log, const char *path, struct lmn_error *err)
{
    enum lmn_status st = lmn__file_open(path, LMN__FILE_UPDATE, &log->file, err);

    if (st != LMN_OK)
        return st;
    st = lmn__file_size(&log->file, path, &log->bytes, err);
    if (st == LMN_OK)
        st = lmn__file_write_at(&log->file, path, log->bytes++, "\n", 1, err);
    if (st != LMN_OK)
        lmn__file_close(&log->file);
    return st;
}

static enum lmn_status open_file(struct lmn__log *log, const char *path, struct lmn_error *err)
{
    enum lmn_status st = lmn__dir_make(log->folder, err);

    log->bytes = 0;
    if (st == LMN_OK)
        st = lmn__file_open(path, LMN__FILE_CREATE, &log->file, err);
    if (st == LMN_E_EXISTS)
        st = open_again(log, path, err);
    if (st != LMN_OK)
        log->file.fd = -1;
    return st;
}

static enum lmn_status write_pending(struct lmn__log *log, struct lmn_error *err)
{
    char path[PATH_CHARS], before[PATH_CHARS];
    enum lmn_status st = lmn__buf_status(&log->pending, "a log", err);

    snprintf(path, sizeof path, "%s/log.jsonl", log->folder);
    snprintf(before, sizeof before, "%s/log.1.jsonl", log->folder);
    if (st == LMN_OK && log->file.fd < 0)
        st = open_file(log, path, err);
    if (st == LMN_OK && log->bytes + log->pending.len > FILE_BYTES_MAX && log->bytes > 0) {
        lmn__file_close(&log->file);
        log->file.fd = -1;
        st = lmn__file_rename(path, before, err);
        if (st == LMN_OK)
            st = open_file(log, path, err);
    }
    if (st == LMN_OK)
        st = lmn__file_write_at(&log->file, path, log->bytes, log->pending.data, log->pending.len,
                                err);
    return st;
}

void lmn__log_flush(struct lmn__log *log)
{
    struct lmn_error err = { 0 };
    enum lmn_status st = LMN_OK;

    if ((log->pending.len > 0 || log->pending.failed) && log->error.status == LMN_OK)
        st = write_pending(log, &err);
    if (st != LMN_OK) {
        log->error = err;
        log->error.status = st;
    }
    log->bytes += log->pending.len;
    lmn__buf_reset(&log->pending);
}
