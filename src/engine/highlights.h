/* SPDX-License-Identifier: Apache-2.0 */
/*
 * highlights.h - what stands out in a job: its slowest and its largest tasks, and its errors by
 * number. All of it is bounded.
 */
#ifndef LMN_ENGINE_HIGHLIGHTS_H
#define LMN_ENGINE_HIGHLIGHTS_H

#include "base/json_write.h"

enum { LMN__HIGHLIGHT_TASKS = 5, LMN__HIGHLIGHT_ERRORS = 16, LMN__HIGHLIGHT_CHARS = 160 };

/* A task: rows of a fragment, from a physical row on. */
struct lmn__task_note {
    uint64_t fragment_id, first_row, row_count;
    uint32_t worker;
    uint64_t ns;
    uint64_t bytes; /* of results */
    bool running;
};

/* The first of them is the greatest. */
struct lmn__task_notes {
    struct lmn__task_note item[LMN__HIGHLIGHT_TASKS];
    uint32_t count;
};

struct lmn__highlights {
    struct lmn__task_notes slowest, largest;
    struct {
        char text[LMN__HIGHLIGHT_CHARS]; /* of the first such error */
        char key[LMN__HIGHLIGHT_CHARS];  /* the text without its numbers: equal ones count as one */
        char repeat[LMN__HIGHLIGHT_CHARS]; /* the line that makes its call again; "": not said */
        uint64_t count;
    } error[LMN__HIGHLIGHT_ERRORS];
    uint32_t error_count;
    uint64_t other_errors; /* of kinds that found no room */
};

void lmn__highlights_task(struct lmn__highlights *highlights, const struct lmn__task_note *task);

/* The record of a failed cell, a JSON object with type and message. One that there is no memory to
 * read does not count. */
void lmn__highlights_error(struct lmn__highlights *highlights, struct lmn_env *env,
                           struct lmn__span record);

/* The most frequent error, and how to meet it again; "" when there is none. */
void lmn__highlights_say(const struct lmn__highlights *highlights, char *text, size_t text_bytes);

/* As members of a JSON object: slowest_tasks, largest_tasks, top_errors. */
void lmn__highlights_write(const struct lmn__highlights *highlights,
                           struct lmn__json_writer *writer);

#endif
