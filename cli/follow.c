/* SPDX-License-Identifier: Apache-2.0 */
#include "follow.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "job_report.h"
#include "progress.h"

enum { FOLLOW_NS = 500000000, PLAIN_MS = 5000, LINE_CHARS = 512 };

static uint64_t number(struct piece record, const char *key)
{
    return piece_number(piece_member(record, key));
}

bool follow_is_running(const char *record)
{
    static const char *const running[] = { "planning", "waiting", "running", "stopping" };
    char state[32];

    piece_text(piece_member(piece_of(record), "state"), state, sizeof state);
    for (size_t i = 0; i < sizeof running / sizeof running[0]; i++) {
        if (strcmp(state, running[i]) == 0)
            return true;
    }
    return false;
}

int follow_exit_code(const char *record)
{
    char state[32];

    piece_text(piece_member(piece_of(record), "state"), state, sizeof state);
    if (strcmp(state, "done") == 0)
        return EXIT_DONE;
    if (strcmp(state, "done_failed") == 0)
        return EXIT_FAILED_ROWS;
    return strcmp(state, "failed") == 0 ? EXIT_FAILED : EXIT_STOPPED;
}

/* What has happened since `*seen` events. The record holds the last ones. */
static void print_events(struct piece record, uint64_t *seen, bool terminal)
{
    struct piece events = piece_member(record, "events"), event;
    uint64_t total = number(record, "event_count"), held = 0, at;
    char time_text[40], text[256];

    for (struct piece rest = events; piece_next(&rest, &event);)
        held++;
    at = total >= held ? total - held : 0;
    for (; piece_next(&events, &event); at++) {
        if (at < *seen)
            continue;
        printf("%s%.19s  %s\n", terminal ? "\r\033[K" : "",
               piece_text(piece_member(event, "time"), time_text, sizeof time_text),
               piece_text(piece_member(event, "text"), text, sizeof text));
    }
    *seen = total;
}

/* What is shown of a job while it runs. */
struct view {
    bool terminal;
    uint64_t events_seen, next_ms;
    char before[LINE_CHARS];
};

static void show(struct view *view, struct piece record)
{
    uint64_t elapsed_ms = number(record, "elapsed_ms");
    struct lmn_job_status status = job_status_of(record);
    char line[LINE_CHARS];

    print_events(record, &view->events_seen, view->terminal);
    progress_line(&status, line, sizeof line);
    if (view->terminal) {
        printf("\r\033[K%s", line);
    } else if (strcmp(line, view->before) != 0 && elapsed_ms >= view->next_ms) {
        printf("%s\n", line);
        snprintf(view->before, sizeof view->before, "%s", line);
        view->next_ms = elapsed_ms + PLAIN_MS;
    }
    fflush(stdout);
}

enum lmn_status follow_job(struct lmn_table *table, const char *id, struct lmn_error *err)
{
    const struct timespec pause = { 0, FOLLOW_NS };
    struct view view = { .terminal = isatty(STDOUT_FILENO) != 0 };
    enum lmn_status st = LMN_OK;
    bool running = true;

    while (st == LMN_OK && running) {
        char *text;

        st = lmn_job_records(table, id, &text, err);
        if (st != LMN_OK)
            break;
        running = follow_is_running(text);
        if (running)
            show(&view, piece_of(text));
        lmn_text_free(text);
        if (running)
            nanosleep(&pause, NULL);
    }
    if (view.terminal)
        printf("\r\033[K");
    return st;
}
