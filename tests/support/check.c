/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/heap.h"
#include "base/env.h"

enum { TEST_THREADS = 2 };

static atomic_llong live_count;
static int64_t own_count;
static struct {
    unsigned kinds;
    uint64_t nth;
    uint64_t seen;
    bool fired;
} fault;

void check_fail(const char *file, int line, const char *fmt, ...)
{
    char text[2048];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    print_error("%s:%d: %s\n", file, line, text);
    _fail(file, line);
    abort();
}

void check_bytes(const char *file, int line, const char *what, const void *actual,
                 const void *expected, size_t len)
{
    const uint8_t *a = actual, *e = expected;

    for (size_t i = 0; i < len; i++) {
        if (a[i] != e[i])
            check_fail(file, line, "%s differs at byte %zu of %zu: 0x%02x, expected 0x%02x", what,
                       i, len, a[i], e[i]);
    }
}

void check_str(const char *file, int line, const char *what, const char *actual,
               const char *expected)
{
    if (strcmp(actual, expected) != 0)
        check_fail(file, line, "%s is \"%s\", expected \"%s\"", what, actual, expected);
}

void check_has(const char *file, int line, const char *what, const char *actual, const char *part)
{
    if (strstr(actual, part) == NULL)
        check_fail(file, line, "%s is \"%s\", which does not contain \"%s\"", what, actual, part);
}

void check_status(const char *file, int line, enum lmn_status status, enum lmn_status expected,
                  const struct lmn_error *err)
{
    if (status != expected)
        check_fail(file, line, "status is %d (%s): \"%s\", expected %d (%s)", (int)status,
                   lmn_status_text(status), status != LMN_OK ? err->message : "", (int)expected,
                   lmn_status_text(expected));
    if (status != LMN_OK && err->message[0] == '\0')
        check_fail(file, line, "status %d came without a message", (int)status);
}

bool fault_step(enum fault_kind kind)
{
    if (!(fault.kinds & kind) || ++fault.seen != fault.nth)
        return false;
    fault.fired = true;
    return true;
}

void fault_arm(unsigned kinds, uint64_t nth)
{
    fault.kinds = kinds;
    fault.nth = nth;
    fault.seen = 0;
    fault.fired = false;
}

bool fault_fired(void)
{
    return fault.fired;
}

void fault_disarm(void)
{
    fault.kinds = 0;
}

static void *counting_alloc(void *self, size_t bytes)
{
    void *memory;

    (void)self;
    if (fault_step(FAULT_ALLOC))
        return NULL;
    memory = malloc(bytes);
    if (memory != NULL) {
        memset(memory, 0xa5, bytes); /* nobody may count on zeros */
        atomic_fetch_add(&live_count, 1);
    }
    return memory;
}

static void *counting_resize(void *self, void *memory, size_t bytes)
{
    if (memory == NULL)
        return counting_alloc(self, bytes);
    if (fault_step(FAULT_ALLOC))
        return NULL;
    return realloc(memory, bytes);
}

static void counting_release(void *self, void *memory)
{
    (void)self;
    if (memory != NULL)
        atomic_fetch_sub(&live_count, 1);
    free(memory);
}

/* nanoarrow's heap fails with the others; what it leaks is found by the sanitizers. */
static void *arrow_alloc(void *self, size_t bytes)
{
    (void)self;
    return fault_step(FAULT_ALLOC) ? NULL : malloc(bytes);
}

static void *arrow_resize(void *self, void *memory, size_t bytes)
{
    (void)self;
    return fault_step(FAULT_ALLOC) ? NULL : realloc(memory, bytes);
}

static void arrow_release(void *self, void *memory)
{
    (void)self;
    free(memory);
}

struct lmn_env *test_env(void)
{
    static const struct lmn_allocator arrow_heap = { arrow_alloc, arrow_resize, arrow_release,
                                                     NULL };
    static const struct lmn_allocator allocator = { counting_alloc, counting_resize,
                                                    counting_release, NULL };
    static struct lmn_env *env;
    struct lmn_env_options options = { .allocator = &allocator,
                                       .data_bytes_max = (uint64_t)1 << 30,
                                       .idle_bytes_max = 1,
                                       .threads = TEST_THREADS };

    if (env == NULL) {
        if (lmn_env_new(&options, &env, NULL) != LMN_OK)
            abort();
        own_count = atomic_load(&live_count);
        lmn__arrow_heap_set(&arrow_heap);
    }
    return env;
}

void test_source_bytes_max(uint64_t bytes)
{
    static uint64_t usual;
    struct lmn_env *env = test_env();

    if (usual == 0)
        usual = env->source_bytes_max;
    env->source_bytes_max = bytes != 0 ? bytes : usual;
}

void test_threads(uint32_t count)
{
    test_env()->threads = count != 0 ? count : TEST_THREADS;
}

int64_t live_allocations(void)
{
    return atomic_load(&live_count) - own_count;
}

uint64_t test_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
