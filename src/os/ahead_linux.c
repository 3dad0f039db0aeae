/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice costs a system call per range also where nothing has to be fetched, so a few ranges are
 * looked at first. Where much has to be fetched the advice itself takes most of the time, as the
 * kernel makes room for each page and sends each range to the device: then a helper gives it
 * together with the caller, each taking the next range until none is left. A caller does not wait
 * for a helper that is late.
 *
 * What is fetched is noted (stretch.h), so that a part of the file to which reads come back is
 * fetched as a whole, behind what is waited for.
 *
 *   - Whoever takes a helper out of `idle` has it for himself, and puts it back when he has no
 *     more ranges to take. It may be at its last one then, so the next one waits for it.
 *   - A helper has a descriptor of its own, which it closes: the file may be gone meanwhile.
 *   - No lock is held across calls, so a fork leaves nothing locked. The threads of a parent are
 *     not in its child, which forgets the helpers it finds.
 */
#define _GNU_SOURCE
#include "os/ahead.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/math.h"
#include "os/fork.h"
#include "os/hand.h"
#include "os/host.h"

enum {
    SAMPLES = 4,
    SAMPLE_BYTES_MAX = 1 << 20,
    SHARED_RANGES_MIN = 16,
    SHARED_RANGES_MAX = 256,
    STRETCHES_MAX = 64,
    NO_WAIT = 8,         /* RWF_NOWAIT; glibc has it since 2.26 */
    CALL_CACHESTAT = 451 /* Linux 6.5 */
};

struct lmn__ahead_helper {
    struct lmn__hand hand;
    uint64_t process;
    int fd; /* closed when the helper is done */
    size_t count;
    atomic_size_t next;
    struct lmn__file_range range[SHARED_RANGES_MAX];
};

/* What the kernel takes and gives. */
struct cache_range {
    uint64_t offset, len;
};
struct cache_state {
    uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

static void advise(int fd, const struct lmn__file_range *range)
{
    (void)posix_fadvise(fd, (off_t)range->offset, (off_t)range->len, POSIX_FADV_WILLNEED);
}

/* Does the kernel say that it has, or fetches, all pages of the range? */
static bool has_pages(int fd, const struct lmn__file_range *range)
{
    struct cache_range asked = { range->offset, lmn__min_u64(range->len, SAMPLE_BYTES_MAX) };
    struct cache_state state = { 0 };
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t first = asked.offset / page_bytes;
    uint64_t end = (asked.offset + asked.len - 1) / page_bytes + 1;

    return syscall(CALL_CACHESTAT, fd, &asked, &state, 0u) == 0 && state.cached >= end - first;
}

/* Can the byte be read at once? Some kernels begin to fetch it, and may be quick enough. */
static bool is_read_at_once(int fd, uint64_t offset)
{
    char byte;
    struct iovec vec = { &byte, 1 };

    return syscall(SYS_preadv2, fd, &vec, 1ul, (unsigned long)offset, 0ul, NO_WAIT) == 1;
}

/*
 * Is the range in memory? One that is not gets its advice, after which the kernel must know its
 * pages. Where it does not, as it is older or the file system keeps them in a file of another one,
 * reading tells.
 */
static bool is_near(int fd, const struct lmn__file_range *range)
{
    if (has_pages(fd, range))
        return true;
    advise(fd, range);
    return !has_pages(fd, range) && is_read_at_once(fd, range->offset);
}

/* The first range of some that is not in memory; `count` when there is none. */
static size_t find_far(int fd, const struct lmn__file_range *range, size_t count)
{
    size_t step = count > SAMPLES ? count / SAMPLES : 1;

    for (size_t i = 0; i < count; i += step) {
        if (range[i].len != 0 && !is_near(fd, &range[i]))
            return i;
    }
    return count;
}

/* Give advice until no range is left. */
static void take_part(struct lmn__ahead_helper *helper, int fd)
{
    size_t i;

    while ((i = atomic_fetch_add(&helper->next, 1)) < helper->count)
        advise(fd, &helper->range[i]);
}

static enum lmn_status help(void *context, struct lmn_error *err)
{
    struct lmn__ahead_helper *helper = context;

    (void)err;
    take_part(helper, helper->fd);
    close(helper->fd);
    return LMN_OK;
}

static void wait_for(struct lmn__ahead_helper *helper)
{
    enum lmn_status ignored = lmn__hand_wait(&helper->hand, NULL); /* advice cannot fail */

    (void)ignored;
}

/* The memory only where the thread is another process's. */
static void helper_free(struct lmn_env *env, struct lmn__ahead_helper *helper)
{
    if (helper != NULL && helper->process == lmn__fork_process()) {
        wait_for(helper);
        lmn__hand_deinit(&helper->hand);
    }
    lmn__free(env, helper);
}

static struct lmn__ahead_helper *helper_new(struct lmn_env *env)
{
    struct lmn__ahead_helper *helper = lmn__calloc(env, 1, sizeof *helper);

    if (helper == NULL || lmn__hand_init(&helper->hand, env, NULL) != LMN_OK) {
        lmn__free(env, helper);
        return NULL;
    }
    helper->process = lmn__fork_process();
    return helper;
}

/* A helper with nothing to do, for the caller alone; NULL when there is none to be had. */
static struct lmn__ahead_helper *helper_take(struct lmn__ahead *ahead)
{
    for (size_t i = 0; i < LMN__AHEAD_IDLE_MAX; i++) {
        struct lmn__ahead_helper *helper = atomic_exchange(&ahead->idle[i], NULL);

        if (helper == NULL)
            continue;
        if (helper->process == lmn__fork_process()) {
            wait_for(helper);
            return helper;
        }
        helper_free(ahead->env, helper);
    }
    return helper_new(ahead->env);
}

static void helper_give_back(struct lmn__ahead *ahead, struct lmn__ahead_helper *helper)
{
    for (size_t i = 0; i < LMN__AHEAD_IDLE_MAX; i++) {
        struct lmn__ahead_helper *none = NULL;

        if (atomic_compare_exchange_strong(&ahead->idle[i], &none, helper))
            return;
    }
    helper_free(ahead->env, helper);
}

/* Give advice about as many ranges as a helper has room for, with it; how many these were. */
static size_t advise_with_helper(struct lmn__ahead *ahead, int fd,
                                 const struct lmn__file_range *range, size_t count)
{
    struct lmn__ahead_helper *helper = helper_take(ahead);

    if (helper == NULL)
        return 0;
    helper->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (helper->fd < 0) {
        helper_give_back(ahead, helper);
        return 0;
    }
    helper->count = lmn__min_u64(count, SHARED_RANGES_MAX);
    memcpy(helper->range, range, helper->count * sizeof *range);
    atomic_store(&helper->next, 0);
    lmn__hand_give(&helper->hand, help, helper);
    take_part(helper, fd);
    count = helper->count;
    helper_give_back(ahead, helper);
    return count;
}

/* Give advice about all of the ranges. */
static void advise_all(struct lmn__ahead *ahead, int fd, const struct lmn__file_range *range,
                       size_t count)
{
    size_t done = 0;

    while (ahead->env->threads > 1 && count - done >= SHARED_RANGES_MIN) {
        size_t shared = advise_with_helper(ahead, fd, range + done, count - done);

        if (shared == 0)
            break;
        done += shared;
    }
    for (; done < count; done++)
        advise(fd, &range[done]);
}

/* Is there memory for all files that are open, and for others' beside them? */
static bool has_room(struct lmn__ahead *ahead)
{
    return atomic_load(&ahead->open_bytes) <= lmn__host_free_memory_bytes() / 2;
}

/* Note what has to be fetched, range[far] with it; up to `cap` stretches that are worth it, too. */
static size_t find_stretches(struct lmn__ahead_file *file, int fd,
                             const struct lmn__file_range *range, size_t count, size_t far,
                             struct lmn__file_range *stretch_out, size_t cap)
{
    struct lmn__visit visit = LMN__VISIT_INIT;
    size_t found = 0;

    for (size_t i = 0; i < count && found < cap; i++) {
        if (range[i].len != 0 && (i == far || !has_pages(fd, &range[i])))
            found += lmn__stretches_note(&file->stretches, &visit, &range[i], stretch_out + found);
    }
    return found;
}

void lmn__ahead_init(struct lmn__ahead *ahead, struct lmn_env *env)
{
    *ahead = (struct lmn__ahead){ .env = env };
}

void lmn__ahead_deinit(struct lmn__ahead *ahead)
{
    for (size_t i = 0; i < LMN__AHEAD_IDLE_MAX; i++)
        helper_free(ahead->env, atomic_exchange(&ahead->idle[i], NULL));
}

void lmn__ahead_file_init(struct lmn__ahead_file *file, struct lmn__ahead *ahead,
                          uint64_t file_bytes)
{
    file->ahead = ahead;
    lmn__stretches_init(&file->stretches, ahead->env, file_bytes);
    atomic_fetch_add(&ahead->open_bytes, file_bytes);
}

void lmn__ahead_file_deinit(struct lmn__ahead_file *file)
{
    if (file->ahead == NULL)
        return;
    atomic_fetch_sub(&file->ahead->open_bytes, file->stretches.file_bytes);
    lmn__stretches_deinit(&file->stretches);
}

void lmn__ahead_fetch(struct lmn__ahead_file *file, const struct lmn__file *open,
                      const struct lmn__file_range *range, size_t count, bool only)
{
    struct lmn__file_range stretch[STRETCHES_MAX];
    size_t far = find_far(open->fd, range, count), found = 0;

    if (far == count)
        return;
    if (!only)
        found = find_stretches(file, open->fd, range, count, far, stretch, STRETCHES_MAX);
    advise_all(file->ahead, open->fd, range, count); /* these are waited for */
    if (found != 0 && has_room(file->ahead))
        advise_all(file->ahead, open->fd, stretch, found);
}
