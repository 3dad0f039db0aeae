/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of newer systems are made by number: wheels reach back to libraries that do not have
 * them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"
#include "os/process.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

extern char **environ;

static bool same_name(const char *a, const char *b)
{
    size_t len = strcspn(a, "=");

    return strncmp(a, b, len) == 0 && b[len] == '=';
}

/* This program's environment with that of the options in place of what has the same name. */
static char **merge_environment(const char *const *added)
{
    size_t own = 0, more = 0, count = 0;
    char **merged;

    while (environ[own] != NULL)
        own++;
    while (added != NULL && added[more] != NULL)
        more++;
    merged = lmn__heap.alloc(lmn__heap.self, (own + more + 1) * sizeof *merged);
    if (merged == NULL)
        return NULL;
    for (size_t i = 0; i < own; i++) {
        bool replaced = false;

        for (size_t k = 0; k < more && !replaced; k++)
            replaced = same_name(added[k], environ[i]);
        if (!replaced)
            merged[count++] = environ[i];
    }
    for (size_t k = 0; k < more; k++)
        merged[count++] = (char *)(uintptr_t)added[k];
    merged[count] = NULL;
    return merged;
}

static int add_actions(posix_spawn_file_actions_t *actions,
                       const struct lmn__process_options *options)
{
    int rc = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);

    if (rc == 0 && options->output != 0)
        rc = posix_spawn_file_actions_adddup2(actions, options->output, 2);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(actions, 2, 1);
    for (uint32_t i = 0; rc == 0 && i < options->fd_count; i++)
        rc = posix_spawn_file_actions_adddup2(actions, options->fd[i],
                                              LMN__PROCESS_FD_FIRST + (int)i);
    return rc;
}

/* Signals as a program finds them that was started from a shell. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    int rc;

    sigemptyset(&none);
    sigfillset(&all);
    rc = posix_spawnattr_setsigmask(attributes, &none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault(attributes, &all);
    if (rc == 0)
        rc = posix_spawnattr_setpgroup(attributes, 0);
    if (rc == 0)
        rc = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                      POSIX_SPAWN_SETPGROUP);
    return rc;
}

static int spawn(const struct lmn__process_options *options, char **environment, pid_t *pid_out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int rc = posix_spawn_file_actions_init(&actions);

    if (rc != 0)
        return rc;
    rc = posix_spawnattr_init(&attributes);
    if (rc == 0) {
        rc = add_actions(&actions, options);
        if (rc == 0)
            rc = set_attributes(&attributes);
        if (rc == 0)
            rc = posix_spawnp(pid_out, options->argument[0], &actions, &attributes,
                              (char *const *)(uintptr_t)options->argument, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

enum lmn_status lmn__process_start(const struct lmn__process_options *options,
                                   struct lmn__process *process_out, struct lmn_error *err)
{
    char **environment;
    pid_t pid;
    int rc;

    *process_out = (struct lmn__process){ .fd = -1 };
    if (options->fd_count > LMN__PROCESS_FDS_MAX)
        return lmn_fail(err, LMN_E_INVALID, "a process gets at most %d descriptors, not %u",
                        LMN__PROCESS_FDS_MAX, options->fd_count);
    environment = merge_environment(options->environment);
    if (environment == NULL)
        return lmn__no_memory(err, "the environment of a process", 0);
    rc = spawn(options, environment, &pid);
    lmn__heap.release(lmn__heap.self, environment);
    if (rc != 0)
        return lmn_fail_os(err, rc == ENOENT ? LMN_E_NOT_FOUND : LMN_E_IO, rc,
                           "cannot start the program %s", options->argument[0]);
    process_out->pid = pid;
    process_out->fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process_out->fd >= 0)
        fcntl(process_out->fd, F_SETFD, FD_CLOEXEC);
    return LMN_OK;
}

void lmn__process_kill(const struct lmn__process *process)
{
    if (process->pid <= 0)
        return;
    kill((pid_t)-process->pid, SIGKILL);
    kill((pid_t)process->pid, SIGKILL);
}

bool lmn__process_reap(struct lmn__process *process, bool wait, char *text_out, size_t text_bytes)
{
    int status = 0;
    pid_t got;

    if (process->pid <= 0)
        return true;
    do
        got = waitpid((pid_t)process->pid, &status, wait ? 0 : WNOHANG);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return false;
    if (got < 0)
        snprintf(text_out, text_bytes, "an unknown end");
    else if (WIFSIGNALED(status))
        snprintf(text_out, text_bytes, "signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text_out, text_bytes, "exit code %d", WEXITSTATUS(status));
    if (process->fd >= 0)
        close(process->fd);
    *process = (struct lmn__process){ .fd = -1 };
    return true;
}

/* A file of /proc about a process; "" when it is gone. */
static void read_about(int64_t pid, const char *name, char *text, size_t text_bytes)
{
    char path[64];
    ssize_t got = -1;
    int fd;

    snprintf(path, sizeof path, "/proc/%lld/%s", (long long)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        got = read(fd, text, text_bytes - 1);
        close(fd);
    }
    text[got > 0 ? got : 0] = '\0';
}

uint64_t lmn__process_resident_bytes(int64_t pid)
{
    char text[128];
    unsigned long long total, resident;

    read_about(pid, "statm", text, sizeof text);
    if (sscanf(text, "%llu %llu", &total, &resident) != 2)
        return 0;
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t lmn__process_cpu_ns(int64_t pid)
{
    char text[1024], *name_end;
    unsigned long long user, system;

    read_about(pid, "stat", text, sizeof text);
    name_end = strrchr(text, ')'); /* the name may hold anything */
    if (name_end == NULL ||
        sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
               &system) != 2)
        return 0;
    return (user + system) * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
}

int64_t lmn__process_self(void)
{
    return getpid();
}

int64_t lmn__process_parent(void)
{
    return getppid();
}

bool lmn__process_exists(int64_t pid)
{
    return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

void lmn__process_end_with_parent(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}
