/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - what a worker shows of itself while it works: memory that it shares with the engine and
 * that outlives it.
 *
 * One entry per thread. The worker writes, the engine reads; `stop` goes the other way. A call is
 * in progress while `call_began_ns` is not 0; the rows it is about are written before that.
 */
#ifndef LMN_ENGINE_PAGE_H
#define LMN_ENGINE_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

enum lmn__phase {
    LMN__PHASE_IDLE,
    LMN__PHASE_SETUP,
    LMN__PHASE_READ,
    LMN__PHASE_CALL,
    LMN__PHASE_WRITE,
    LMN__PHASE_TURN /* to set up: another worker of the machine does */
};

struct lmn__page {
    _Alignas(128) atomic_uint_fast64_t call_began_ns; /* of the monotonic clock; 0: in no call */
    atomic_uint_fast64_t call_first, call_count;      /* ordinals of the unit */
    atomic_uint_fast64_t call_row_id;                 /* of the first of them */
    atomic_uint_fast64_t rows;                        /* computed in this job */
    atomic_uint_fast64_t read_ns, call_ns, write_ns;
    atomic_uint_fast64_t read_bytes; /* of inputs, in memory */
    atomic_uint_fast64_t phase;
    atomic_uint_fast64_t stop; /* end the task of this number after the call that runs */
    atomic_uint_fast64_t calls, tokens, cost_nano; /* that functions say they have made and used */
};

#endif
