/* SPDX-License-Identifier: Apache-2.0 */
#include "killed.h"

#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stores.h"

/* Kills the process before one of its operations. */
static enum lmn__fault_action count_down(void *context, enum lmn__store_op op, const char *path)
{
    uint64_t *left = context;

    (void)path;
    if (op != LMN__OP_CREATE && op != LMN__OP_WRITE && op != LMN__OP_RENAME && op != LMN__OP_LINK &&
        op != LMN__OP_REMOVE)
        return LMN__FAULT_NONE;
    if (--*left == 0)
        raise(SIGKILL);
    return LMN__FAULT_NONE;
}

/* True when the child was killed; otherwise it must have ended well. */
static bool was_killed(int status)
{
    if (WIFSIGNALED(status)) {
        CHECK_EQ(WTERMSIG(status), SIGKILL);
        return true;
    }
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    return false;
}

/* The child leaves without the test framework; its message is all that says why it failed. */
static void leave(enum lmn_status st, const struct lmn_error *err)
{
    if (st != LMN_OK)
        fprintf(stderr, "in the child: %s\n", err->message);
    _exit(st == LMN_OK ? 0 : 1);
}

bool killed_at_operation(killed_store_fn fn, const char *dir, uint64_t nth)
{
    int status = 0;
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        struct lmn_store *inner = test_store_local(dir), *store = NULL;
        struct lmn_error err = { 0 };
        enum lmn_status st = lmn__store_open_fault(inner, count_down, &nth, &store, &err);

        leave(st == LMN_OK ? fn(store, &err) : st, &err);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    return was_killed(status);
}

bool killed_at_call(killed_path_fn fn, const char *path, uint64_t nth)
{
    int status = 0;
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        struct lmn_error err = { 0 };

        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(2);
        raise(SIGSTOP);
        leave(fn(path, &err), &err);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    /* It stops at the beginning and at the end of every call. */
    for (uint64_t stops = 2 * nth - 1; stops > 0 && WIFSTOPPED(status); stops--) {
        CHECK_EQ(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
        CHECK_EQ(waitpid(child, &status, 0), child);
    }
    if (WIFSTOPPED(status)) {
        CHECK_EQ(kill(child, SIGKILL), 0);
        CHECK_EQ(waitpid(child, &status, 0), child);
    }
    return was_killed(status);
}
