/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals are looked at by the interpreter's main thread between two instructions of Python, of
 * which there are none during a call. So the library asks now and then, and the exception that a
 * handler raises is kept until it has cleaned up, as that may run Python, too.
 */
#include <time.h>

#include "core.h"

/* Other threads may hold the interpreter for 5 ms at a time, so it is not asked for often. */
enum { PAUSE_NS = 50 * 1000 * 1000, NS_PER_S = 1000000000 };

static bool is_time(struct long_call *call)
{
    struct timespec now = { 0 };
    int64_t ns;

    clock_gettime(CLOCK_MONOTONIC, &now);
    ns = (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
    if (ns - call->looked_ns < PAUSE_NS)
        return false;
    call->looked_ns = ns;
    return true;
}

static bool look_at_signals(void *context)
{
    struct long_call *call = context;

    if (call->type == NULL && is_time(call)) {
        PyEval_RestoreThread(call->thread);
        if (PyErr_CheckSignals() < 0)
            PyErr_Fetch(&call->type, &call->value, &call->traceback);
        call->thread = PyEval_SaveThread();
    }
    return call->type != NULL;
}

void long_call_begin(struct long_call *call)
{
    *call = (struct long_call){ .thread = PyEval_SaveThread() };
    call->before = lmn_interrupt_set((struct lmn_interrupt){ look_at_signals, call });
}

enum lmn_status long_call_end(struct long_call *call, enum lmn_status st)
{
    lmn_interrupt_set(call->before);
    PyEval_RestoreThread(call->thread);
    if (call->type == NULL)
        return st;
    PyErr_Restore(call->type, call->value, call->traceback);
    return LMN_E_CANCELLED;
}
