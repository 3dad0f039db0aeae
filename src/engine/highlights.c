/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/highlights.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

/* Enter a task behind those that are greater; the last one may fall out. */
static void enter(struct lmn__task_notes *notes, const struct lmn__task_note *task, bool by_bytes)
{
    uint32_t at = notes->count;

    while (at > 0 &&
           (by_bytes ? notes->item[at - 1].bytes < task->bytes : notes->item[at - 1].ns < task->ns))
        at--;
    if (at == LMN__HIGHLIGHT_TASKS)
        return;
    if (notes->count < LMN__HIGHLIGHT_TASKS)
        notes->count++;
    memmove(&notes->item[at + 1], &notes->item[at],
            (notes->count - 1 - at) * sizeof notes->item[0]);
    notes->item[at] = *task;
}

void lmn__highlights_task(struct lmn__highlights *highlights, const struct lmn__task_note *task)
{
    enter(&highlights->slowest, task, false);
    if (!task->running)
        enter(&highlights->largest, task, true);
}

/* A text with every number as one '#'. */
static void without_numbers(const char *text, char *key)
{
    size_t len = 0;

    for (size_t i = 0; text[i] != '\0'; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';

        if (digit && len > 0 && key[len - 1] == '#')
            continue;
        key[len++] = digit ? '#' : text[i];
    }
    key[len] = '\0';
}

/* A member of a record as a text of one line, cut where it is long. */
static void member_text(struct lmn__span record, const char *key, struct lmn__buf *buf)
{
    struct lmn__span value;
    struct lmn_error ignored;
    size_t start = buf->len;

    if (lmn__json_member(record, key, &value, &ignored) != LMN_OK || value.data == NULL ||
        !lmn__json_unescape(value, buf))
        return;
    for (size_t i = start; i < buf->len; i++) {
        if (buf->data[i] < ' ')
            buf->data[i] = ' ';
    }
}

static void count_error(struct lmn__highlights *highlights, const char *text, const char *repeat)
{
    char key[LMN__HIGHLIGHT_CHARS];
    uint32_t i = 0;

    without_numbers(text, key);
    while (i < highlights->error_count && strcmp(highlights->error[i].key, key) != 0)
        i++;
    if (i == LMN__HIGHLIGHT_ERRORS) {
        highlights->other_errors++;
        return;
    }
    if (i == highlights->error_count) {
        highlights->error_count++;
        snprintf(highlights->error[i].text, sizeof highlights->error[i].text, "%s", text);
        snprintf(highlights->error[i].key, sizeof highlights->error[i].key, "%s", key);
        snprintf(highlights->error[i].repeat, sizeof highlights->error[i].repeat, "%s", repeat);
    }
    highlights->error[i].count++;
}

void lmn__highlights_error(struct lmn__highlights *highlights, struct lmn_env *env,
                           struct lmn__span record)
{
    char text[LMN__HIGHLIGHT_CHARS], repeat[LMN__HIGHLIGHT_CHARS];
    struct lmn__span value;
    struct lmn__buf buf;

    if (lmn__json_member(record, "repeat", &value, NULL) != LMN_OK || value.data == NULL ||
        !lmn__json_to_text(value, repeat, sizeof repeat))
        repeat[0] = '\0';
    lmn__buf_init(&buf, env, 0);
    member_text(record, "type", &buf);
    if (buf.len > 0)
        lmn__buf_put(&buf, ": ", 2);
    member_text(record, "message", &buf);
    if (!buf.failed)
        snprintf(text, sizeof text, "%.*s", (int)(buf.len < sizeof text ? buf.len : sizeof text),
                 (const char *)buf.data);
    if (!buf.failed && buf.len > 0)
        count_error(highlights, text, repeat);
    lmn__buf_deinit(&buf);
}

static void write_tasks(const struct lmn__task_notes *notes, const char *key,
                        struct lmn__json_writer *writer)
{
    lmn__json_open(writer, key, '[');
    for (uint32_t i = 0; i < notes->count; i++) {
        const struct lmn__task_note *task = &notes->item[i];

        lmn__json_open(writer, NULL, '{');
        lmn__json_number(writer, "fragment", task->fragment_id);
        lmn__json_number(writer, "first_row", task->first_row);
        lmn__json_number(writer, "rows", task->row_count);
        lmn__json_number(writer, "worker", task->worker);
        lmn__json_number(writer, "ms", task->ns / 1000000);
        lmn__json_number(writer, "bytes", task->bytes);
        if (task->running)
            lmn__json_bool(writer, "running", true);
        lmn__json_close(writer, '}');
    }
    lmn__json_close(writer, ']');
}

/* The index of the most frequent error that is not above `count` and not written yet. */
static uint32_t most_frequent(const struct lmn__highlights *highlights, const bool *written)
{
    uint32_t best = UINT32_MAX;

    for (uint32_t i = 0; i < highlights->error_count; i++) {
        if (!written[i] &&
            (best == UINT32_MAX || highlights->error[i].count > highlights->error[best].count))
            best = i;
    }
    return best;
}

void lmn__highlights_say(const struct lmn__highlights *highlights, char *text, size_t text_bytes)
{
    const bool none[LMN__HIGHLIGHT_ERRORS] = { 0 };
    uint32_t best = most_frequent(highlights, none);

    text[0] = '\0';
    if (best == UINT32_MAX)
        return;
    snprintf(text, text_bytes, "%s%s%s", highlights->error[best].text,
             highlights->error[best].repeat[0] != '\0' ? "; repeat it by " : "",
             highlights->error[best].repeat);
}

void lmn__highlights_write(const struct lmn__highlights *highlights,
                           struct lmn__json_writer *writer)
{
    bool written[LMN__HIGHLIGHT_ERRORS] = { 0 };

    write_tasks(&highlights->slowest, "slowest_tasks", writer);
    write_tasks(&highlights->largest, "largest_tasks", writer);
    lmn__json_open(writer, "top_errors", '[');
    for (uint32_t i = 0; i < highlights->error_count; i++) {
        uint32_t best = most_frequent(highlights, written);

        written[best] = true;
        lmn__json_open(writer, NULL, '{');
        lmn__json_text(writer, "error", highlights->error[best].text);
        lmn__json_number(writer, "count", highlights->error[best].count);
        lmn__json_close(writer, '}');
    }
    lmn__json_close(writer, ']');
    if (highlights->other_errors > 0)
        lmn__json_number(writer, "other_errors", highlights->other_errors);
}
