/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bucket holds at most `burst`, a sixtieth of what a window allows and at least 1, and fills at
 * (max - burst + 1) per window: whoever takes one at a time takes at most `max` in any window, and
 * evenly. The tokens of a call are known only after it. They are taken when the bucket has as many,
 * or is full; what was counted wrongly is corrected when the call is over, below zero too.
 */
#include "engine/meter.h"

#include <math.h>

#define NS_PER_MS 1e6

static const double BURSTS = 60; /* of a window */
static const uint64_t WAIT_NS_MAX = 1000000000;

static void bucket_init(struct lmn__bucket *bucket, struct lmn__rate rate, uint64_t now_ns)
{
    double max = (double)rate.max, window_ns = (double)rate.window_ms * NS_PER_MS;

    *bucket = (struct lmn__bucket){ .at_ns = now_ns };
    if (rate.max == 0 || rate.window_ms == 0)
        return;
    bucket->burst = bucket->level = fmax(1, floor(max / BURSTS));
    bucket->per_ns = (max - bucket->burst + 1) / window_ns;
}

static void bucket_fill(struct lmn__bucket *bucket, uint64_t now_ns)
{
    if (now_ns > bucket->at_ns)
        bucket->level += bucket->per_ns * (double)(now_ns - bucket->at_ns);
    bucket->level = fmin(bucket->level, bucket->burst);
    bucket->at_ns = now_ns;
}

/* What has to be in a bucket before `amount` is taken. */
static double enough(const struct lmn__bucket *bucket, double amount)
{
    return fmin(amount, bucket->burst);
}

static bool has(const struct lmn__bucket *bucket, double amount)
{
    return bucket->burst <= 0 || bucket->level >= enough(bucket, amount);
}

static double wait_ns(const struct lmn__bucket *bucket, double amount)
{
    return has(bucket, amount) ? 0 : (enough(bucket, amount) - bucket->level) / bucket->per_ns;
}

void lmn__meter_init(struct lmn__meter *meter, struct lmn__rate requests, struct lmn__rate tokens,
                     uint64_t now_ns)
{
    *meter = (struct lmn__meter){ .tokens_each = (double)tokens.max / BURSTS };
    bucket_init(&meter->requests, requests, now_ns);
    bucket_init(&meter->tokens, tokens, now_ns);
}

/* Take in what calls have used, and what the other side asks for. */
static void learn(struct lmn__meter *meter, const struct lmn__meter_ask *ask, uint64_t now_ns)
{
    double each;

    if (meter->tokens.burst > 0)
        meter->tokens.level -= (double)ask->used - (double)ask->charged;
    if (ask->done > 0 && ask->used > 0) {
        each = (double)ask->used / (double)ask->done;
        meter->tokens_each = meter->learnt ? (7 * meter->tokens_each + each) / 8 : each;
        meter->learnt = true;
    }
    if (ask->pause_ms > 0 && now_ns + ask->pause_ms * 1000000 > meter->paused_ns)
        meter->paused_ns = now_ns + ask->pause_ms * 1000000;
}

struct lmn__meter_grant lmn__meter_ask(struct lmn__meter *meter, const struct lmn__meter_ask *ask,
                                       uint64_t now_ns)
{
    struct lmn__meter_grant grant = { 0 };
    double tokens, wait;

    bucket_fill(&meter->requests, now_ns);
    bucket_fill(&meter->tokens, now_ns);
    learn(meter, ask, now_ns);
    tokens = ask->tokens > 0 ? (double)ask->tokens : ceil(meter->tokens_each);
    if (meter->tokens.burst <= 0)
        tokens = (double)ask->tokens;
    while (grant.calls < ask->calls && now_ns >= meter->paused_ns && has(&meter->requests, 1) &&
           has(&meter->tokens, tokens)) {
        meter->requests.level -= 1;
        meter->tokens.level -= tokens;
        grant.calls++;
        if (meter->requests.burst <= 0 && meter->tokens.burst <= 0) {
            grant.calls = ask->calls;
            break;
        }
    }
    grant.tokens_each = (uint64_t)tokens;
    wait = fmax(wait_ns(&meter->requests, 1), wait_ns(&meter->tokens, tokens));
    if (now_ns < meter->paused_ns)
        wait = fmax(wait, (double)(meter->paused_ns - now_ns));
    if (grant.calls == 0)
        grant.wait_ns = wait < (double)WAIT_NS_MAX ? (uint64_t)wait + 1 : WAIT_NS_MAX;
    return grant;
}
