/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"

enum { LOOK_MS = 100, PLAIN_MS = 5000, SHOWN_MS = 300, LINE_CHARS = 512 };

int64_t progress_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t shown_ms; /* 0: no line stands on the terminal */

bool progress_is_due(void)
{
    return isatty(STDERR_FILENO) && (shown_ms == 0 || progress_now_ms() - shown_ms >= SHOWN_MS);
}

void progress_show(const char *line)
{
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
    shown_ms = progress_now_ms();
}

void progress_clear(void)
{
    if (shown_ms != 0)
        fprintf(stderr, "\r\033[K");
    shown_ms = 0;
}

void bytes_text(uint64_t bytes, char *text, size_t text_bytes)
{
    static const char *const unit[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
    double value = (double)bytes;
    int i = 0;

    for (; value >= 1024 && i < 4; i++)
        value /= 1024;
    snprintf(text, text_bytes, i == 0 ? "%.0f %s" : "%.1f %s", value, unit[i]);
}

void duration_text(uint64_t ms, char *text, size_t text_bytes)
{
    unsigned long long seconds = ms / 1000;

    if (seconds < 3600)
        snprintf(text, text_bytes, "%llu:%02llu", seconds / 60, seconds % 60);
    else
        snprintf(text, text_bytes, "%llu:%02llu:%02llu", seconds / 3600, seconds / 60 % 60,
                 seconds % 60);
}

void rate_text(const struct lmn_job_status *status, char *text, size_t text_bytes)
{
    double ratio = status->rate > 0 ? status->rate_recent / status->rate : 1;
    int precise = status->rate_recent < 10 ? 2 : 0;

    if (ratio > 0.9 && ratio < 1.1)
        snprintf(text, text_bytes, "%.*f rows/s", precise, status->rate_recent);
    else
        snprintf(text, text_bytes, "%.*f rows/s (mean %.*f)", precise, status->rate_recent, precise,
                 status->rate);
}

void eta_text(const struct lmn_job_status *status, char *text, size_t text_bytes)
{
    char low[32], middle[32], high[32];

    text[0] = '\0';
    if (status->eta_ms == 0)
        return;
    duration_text(status->eta_low_ms, low, sizeof low);
    duration_text(status->eta_ms, middle, sizeof middle);
    duration_text(status->eta_high_ms, high, sizeof high);
    if (strcmp(low, high) == 0)
        snprintf(text, text_bytes, "%s", middle);
    else
        snprintf(text, text_bytes, "%s (%s to %s)", middle, low, high);
}

/* Rows per second, and how long the rest takes. */
static void speed_text(const struct lmn_job_status *status, char *text, size_t text_bytes)
{
    char rate[96], eta[112];

    text[0] = '\0';
    if (status->rate <= 0)
        return;
    rate_text(status, rate, sizeof rate);
    eta_text(status, eta, sizeof eta);
    snprintf(text, text_bytes, ", %s%s%s", rate, eta[0] != '\0' ? ", ETA " : "", eta);
}

void progress_line(const struct lmn_job_status *status, char *line, size_t line_bytes)
{
    char speed[256], memory[32];

    if (status->message[0] != '\0') {
        snprintf(line, line_bytes, "%s", status->message);
        return;
    }
    speed_text(status, speed, sizeof speed);
    bytes_text(status->memory_bytes, memory, sizeof memory);
    snprintf(line, line_bytes,
             "Rows computed: %llu of %llu, Rows checkpointed: %llu, Rows committed: %llu, "
             "Rows failed: %llu%s, %u workers, %s",
             (unsigned long long)(status->rows_resumed + status->rows_computed),
             (unsigned long long)status->rows_planned,
             (unsigned long long)status->rows_checkpointed,
             (unsigned long long)status->rows_committed, (unsigned long long)status->rows_failed,
             speed, status->workers_ready, memory);
}

/* Show a line over the one before, or below it where it is not a terminal. */
static void show(const char *line, bool terminal)
{
    if (terminal)
        progress_show(line);
    else
        fprintf(stderr, "%s\n", line);
    fflush(stderr);
}

/* What signals ask for. Returns true when the job was killed. */
static bool obey(struct lmn_job *job, bool *told, bool terminal)
{
    if (!interrupt_asked())
        return false;
    if (interrupt_count() > 1) {
        lmn_job_stop(job, true);
        return true;
    }
    if (!*told) {
        *told = true;
        lmn_job_stop(job, false);
        fprintf(stderr, "%sstopping: what was computed is kept; Ctrl-C again kills the workers\n",
                terminal ? "\r\033[K" : "");
    }
    return false;
}

bool progress_wait(struct lmn_job *job, bool quiet)
{
    bool terminal = isatty(STDERR_FILENO) != 0, told = false, killed = false;
    uint64_t next_ms = 0;
    struct lmn_job_status status;
    char line[LINE_CHARS], before[LINE_CHARS] = "";

    interrupt_catch(false);
    while (!lmn_job_wait(job, LOOK_MS)) {
        killed = obey(job, &told, terminal) || killed;
        lmn_job_status(job, &status);
        progress_line(&status, line, sizeof line);
        if (quiet || status.state == LMN_JOB_PLANNING || strcmp(line, before) == 0 ||
            (status.rows_planned == 0 && status.message[0] == '\0') ||
            (!terminal && status.elapsed_ms < next_ms))
            continue;
        show(line, terminal);
        memcpy(before, line, sizeof before);
        next_ms = status.elapsed_ms + PLAIN_MS;
    }
    progress_clear();
    return killed;
}
