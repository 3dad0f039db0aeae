/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into every process of a job: counts the steps that change files, over all processes
 * together, and kills before one of them.
 *
 *   LEMAN_STEPS   a file that the processes share: the count, and who they are
 *   LEMAN_STEP    the number of the step to kill at, from 1; 0: none
 *   LEMAN_KILL    "self": the process whose step it is; "all": every process at once; "torn": the
 *                 process, after the first half of a write
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { PROCESSES_MAX = 1000 };

struct shared {
    atomic_ulong steps;
    atomic_ulong process_count;
    _Atomic pid_t process[PROCESSES_MAX];
};

static struct shared *shared;
static unsigned long fatal;
static const char *whom = "self";

__attribute__((constructor)) static void join(void)
{
    const char *path = getenv("LEMAN_STEPS"), *step = getenv("LEMAN_STEP");
    int fd = path != NULL ? open(path, O_RDWR) : -1;
    void *memory;

    if (fd < 0)
        return;
    memory = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED)
        abort();
    fatal = step != NULL ? strtoul(step, NULL, 10) : 0;
    whom = getenv("LEMAN_KILL") != NULL ? getenv("LEMAN_KILL") : whom;
    shared = memory;
    shared->process[atomic_fetch_add(&shared->process_count, 1) % PROCESSES_MAX] = getpid();
}

static void end(void)
{
    if (strcmp(whom, "all") == 0) {
        for (unsigned long i = 0; i < shared->process_count && i < PROCESSES_MAX; i++) {
            if (shared->process[i] != getpid())
                kill(shared->process[i], SIGKILL);
        }
    }
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* One step; true when it is the last one and has to be torn. */
static int step(int is_write)
{
    if (shared == NULL || atomic_fetch_add(&shared->steps, 1) + 1 != fatal)
        return 0;
    if (is_write && strcmp(whom, "torn") == 0)
        return 1;
    end();
    return 0;
}

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
    ssize_t (*next)(int, const void *, size_t, off_t) = real("pwrite");

    if (step(1)) {
        (void)!next(fd, data, len / 2, offset);
        end();
    }
    return next(fd, data, len, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t len, off_t offset)
{
    return pwrite(fd, data, len, offset);
}

int fdatasync(int fd)
{
    int (*next)(int) = real("fdatasync");

    step(0);
    return next(fd);
}

int fsync(int fd)
{
    int (*next)(int) = real("fsync");

    step(0);
    return next(fd);
}

int rename(const char *from, const char *to)
{
    int (*next)(const char *, const char *) = real("rename");

    step(0);
    return next(from, to);
}

int link(const char *from, const char *to)
{
    int (*next)(const char *, const char *) = real("link");

    step(0);
    return next(from, to);
}

int unlink(const char *path)
{
    int (*next)(const char *) = real("unlink");

    step(0);
    return next(path);
}

int mkdir(const char *path, mode_t mode)
{
    int (*next)(const char *, mode_t) = real("mkdir");

    step(0);
    return next(path, mode);
}
