/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice costs a system call per range also where nothing has to be fetched, so a few ranges are
 * tried first: a read of one byte that may not wait. glibc has a function for it since 2.26 only.
 * Where much has to be fetched the advice itself takes most of the time, and is given by two
 * threads.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/file.h"
#include "os/thread.h"

enum { SAMPLES = 4, NO_WAIT = 8, SHARED_RANGES_MIN = 16 };

/* What one thread gives advice about. */
struct advice {
    const struct lmn__file *file;
    const struct lmn__file_range *range;
    size_t count;
};

/* Is the byte in memory? False also where the file system cannot tell. */
static bool is_near(const struct lmn__file *file, uint64_t offset)
{
    char byte;
    struct iovec vec = { &byte, 1 };

    return syscall(SYS_preadv2, file->fd, &vec, 1ul, (unsigned long)offset, 0ul, NO_WAIT) == 1;
}

static void advise(void *context)
{
    const struct advice *advice = context;

    for (size_t i = 0; i < advice->count; i++)
        (void)posix_fadvise(advice->file->fd, (off_t)advice->range[i].offset,
                            (off_t)advice->range[i].len, POSIX_FADV_WILLNEED);
}

void lmn__file_will_read(struct lmn_env *env, const struct lmn__file *file,
                         const struct lmn__file_range *range, size_t count)
{
    size_t step = count > SAMPLES ? count / SAMPLES : 1;
    size_t half = env->threads > 1 && count >= SHARED_RANGES_MIN ? count / 2 : count;
    struct advice mine = { file, range, half }, other = { file, range + half, count - half };
    struct lmn__thread helper;
    bool near = true, helped;

    for (size_t i = 0; i < count && near; i += step)
        near = is_near(file, range[i].offset);
    if (near)
        return;
    helped = other.count != 0 && lmn__thread_start(env, advise, &other, &helper, NULL) == LMN_OK;
    advise(&mine);
    if (helped)
        lmn__thread_join(&helper);
    else
        advise(&other);
}
