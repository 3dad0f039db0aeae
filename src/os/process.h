/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process.h - other programs that run beside this one, and what the system knows of them.
 *
 * A process that was started is the caller's until it is reaped. It gets its own process group, so
 * that what the terminal sends to this program does not reach it, and what it starts itself can be
 * ended with it.
 */
#ifndef LMN_OS_PROCESS_H
#define LMN_OS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <leman/status.h>

enum { LMN__PROCESS_FDS_MAX = 64, LMN__PROCESS_FD_FIRST = 3 };

struct lmn__process {
    int64_t pid;
    int fd; /* readable when it has ended; -1: the system has no such descriptor */
};

struct lmn__process_options {
    const char *const *argument;    /* argument[0] is looked up in PATH; ends with NULL */
    const char *const *environment; /* NAME=value, beside this program's own; ends with NULL */
    const int *fd; /* descriptors that it gets, numbered from LMN__PROCESS_FD_FIRST on */
    uint32_t fd_count;
    int output; /* where standard output and error go; 0: to this program's standard error */
};

/*
 * Start a program. Its standard input is empty.
 *
 * LMN_E_NOT_FOUND  there is no such program
 */
LMN_MUST_USE enum lmn_status lmn__process_start(const struct lmn__process_options *options,
                                                struct lmn__process *process_out,
                                                struct lmn_error *err);

/* End it, and what it started in its group, at once. */
void lmn__process_kill(const struct lmn__process *process);

/*
 * Has it ended? If so, or when `wait` says to wait for it, it is reaped and `text_out` says how it
 * ended: "exit code 1", "signal 11 (Segmentation fault)".
 */
bool lmn__process_reap(struct lmn__process *process, bool wait, char *text_out, size_t text_bytes);

/* Bytes in memory of a process; 0 when it is gone. */
uint64_t lmn__process_resident_bytes(int64_t pid);

/* Processor time that a process has used, in steps of some milliseconds; 0 when it is gone. */
uint64_t lmn__process_cpu_ns(int64_t pid);

/* This process, and the one that started it. */
int64_t lmn__process_self(void);
int64_t lmn__process_parent(void);

/* Is there a process of that number? */
bool lmn__process_exists(int64_t pid);

/* From now on this process is killed when the thread that started it ends. */
void lmn__process_end_with_parent(void);

#endif
