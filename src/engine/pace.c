/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/pace.h"

#include <stdio.h>

static const uint64_t KEEP_NS = 5000000000ull;
static const uint64_t MINUTE_NS = 60000000000ull;
static const uint64_t WINDOW_NS = 300000000000ull;

void lmn__pace_add(struct lmn__pace *pace, const struct lmn__pace_sample *sample)
{
    uint32_t newest = (pace->next + LMN__PACE_SAMPLES - 1) % LMN__PACE_SAMPLES;

    if (pace->count == 0)
        pace->first = *sample;
    pace->last = *sample;
    if (pace->count > 0 && sample->now_ns < pace->kept[newest].now_ns + KEEP_NS)
        return;
    pace->kept[pace->next] = *sample;
    pace->next = (pace->next + 1) % LMN__PACE_SAMPLES;
    if (pace->count < LMN__PACE_SAMPLES)
        pace->count++;
}

static uint64_t since(uint64_t last, uint64_t before)
{
    return last > before ? last - before : 0;
}

struct lmn__pace_sample lmn__pace_since(const struct lmn__pace *pace, uint64_t window_ns)
{
    const struct lmn__pace_sample *last = &pace->last, *from = &pace->first;

    for (uint32_t i = 0; window_ns != UINT64_MAX && i < pace->count; i++) {
        const struct lmn__pace_sample *kept =
            &pace->kept[(pace->next + LMN__PACE_SAMPLES - pace->count + i) % LMN__PACE_SAMPLES];

        from = kept;
        if (kept->now_ns + window_ns >= last->now_ns)
            break;
    }
    return (struct lmn__pace_sample){
        since(last->now_ns, from->now_ns),         since(last->rows, from->rows),
        since(last->read_bytes, from->read_bytes), since(last->written_bytes, from->written_bytes),
        since(last->read_ns, from->read_ns),       since(last->call_ns, from->call_ns),
        since(last->write_ns, from->write_ns),     since(last->thread_ns, from->thread_ns),
        since(last->cpu_ns, from->cpu_ns),         since(last->idle_ns, from->idle_ns),
        since(last->granted, from->granted),       since(last->deferred, from->deferred)
    };
}

/* Milliseconds that `rows` take at the pace of a window; 0: not known. */
static uint64_t time_at(const struct lmn__pace *pace, uint64_t window_ns, uint64_t rows)
{
    struct lmn__pace_sample spent = lmn__pace_since(pace, window_ns);
    double ms;

    if (spent.rows == 0 || spent.now_ns == 0)
        return 0;
    ms = (double)rows * (double)spent.now_ns / (double)spent.rows / 1e6;
    return ms < 1e15 ? (uint64_t)ms + 1 : 0;
}

struct lmn__eta lmn__pace_eta(const struct lmn__pace *pace, uint64_t rows_left)
{
    const uint64_t window[] = { WINDOW_NS, MINUTE_NS, UINT64_MAX };
    struct lmn__eta eta = { 0 };

    if (rows_left == 0)
        return eta;
    eta.ms = eta.low_ms = eta.high_ms = time_at(pace, WINDOW_NS, rows_left);
    for (size_t i = 0; eta.ms != 0 && i < sizeof window / sizeof window[0]; i++) {
        uint64_t ms = time_at(pace, window[i], rows_left);

        if (ms == 0)
            continue;
        eta.low_ms = ms < eta.low_ms ? ms : eta.low_ms;
        eta.high_ms = ms > eta.high_ms ? ms : eta.high_ms;
    }
    return eta;
}

bool lmn__pace_takes_turns(double calls, double cpus)
{
    return calls > 1.5 && cpus > 0.7 && cpus < 1.2;
}

/* A function that takes the most time. */
static void judge_function(const struct lmn__verdict_facts *facts, char *text)
{
    const struct lmn__pace_sample *spent = &facts->spent;
    double ns = (double)spent->now_ns, own = (double)spent->cpu_ns / ns;
    double idle = (double)spent->idle_ns / ns, left = facts->cpus - own;

    idle = idle < left ? idle : left;
    if (facts->gpu_percent >= 80)
        snprintf(text, LMN__VERDICT_CHARS, "bound by function: the GPU is %d%% busy",
                 facts->gpu_percent);
    else if ((double)spent->cpu_ns < 0.3 * (double)spent->call_ns)
        snprintf(text, LMN__VERDICT_CHARS,
                 "bound by function, which waits: raise concurrency, or make it async");
    else if (idle >= 0.75)
        snprintf(text, LMN__VERDICT_CHARS, "bound by function: raise concurrency, %.0f CPU%s idle",
                 idle, idle < 1.5 ? "" : "s");
    else
        snprintf(text, LMN__VERDICT_CHARS, "bound by function: all %.0f CPUs are busy",
                 facts->cpus);
}

void lmn__verdict(const struct lmn__verdict_facts *facts, char text_out[LMN__VERDICT_CHARS])
{
    const struct lmn__pace_sample *spent = &facts->spent;
    uint64_t busy_ns = spent->read_ns + spent->call_ns + spent->write_ns;
    uint64_t wait_ns = spent->thread_ns > busy_ns ? spent->thread_ns - busy_ns : 0;
    double seconds = (double)spent->now_ns / 1e9;

    text_out[0] = '\0';
    if (facts->loading)
        snprintf(text_out, LMN__VERDICT_CHARS, "the function is loading");
    else if (spent->now_ns == 0 || busy_ns + wait_ns == 0)
        return;
    else if (spent->deferred > spent->granted / 2)
        snprintf(text_out, LMN__VERDICT_CHARS,
                 "bound by rate_limit, or by what Retry-After asks for: calls wait for their turn");
    else if (wait_ns > busy_ns)
        snprintf(text_out, LMN__VERDICT_CHARS,
                 "workers wait: for rows that others have, or for a commit");
    else if (spent->call_ns >= spent->read_ns && spent->call_ns >= spent->write_ns)
        judge_function(facts, text_out);
    else if (spent->read_ns >= spent->write_ns)
        snprintf(text_out, LMN__VERDICT_CHARS, "bound by reading: %.1f MB/s",
                 (double)spent->read_bytes / 1e6 / seconds);
    else
        snprintf(text_out, LMN__VERDICT_CHARS, "bound by writing: %.1f MB/s",
                 (double)spent->written_bytes / 1e6 / seconds);
}
