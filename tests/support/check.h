/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h - assertions that print both sides, and the environment tests run in.
 *
 * Every test program lists its cases in main() with cmocka. The test environment counts its
 * allocations and can make the nth one, or the nth operation of a fault store, fail.
 */
#ifndef LMN_TESTS_CHECK_H
#define LMN_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <leman/env.h>
#include <leman/status.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            check_fail(__FILE__, __LINE__, "%s is false", #condition);                             \
    } while (0)

#define CHECK_EQ(actual, expected)                                                                 \
    do {                                                                                           \
        long long check_a = (long long)(actual), check_e = (long long)(expected);                  \
        if (check_a != check_e)                                                                    \
            check_fail(__FILE__, __LINE__, "%s is %lld, expected %s = %lld", #actual, check_a,     \
                       #expected, check_e);                                                        \
    } while (0)

#define CHECK_BYTES(actual, expected, len)                                                         \
    check_bytes(__FILE__, __LINE__, #actual, (actual), (expected), (len))

#define CHECK_STR(actual, expected) check_str(__FILE__, __LINE__, #actual, (actual), (expected))

/* Does `actual` contain `part`? */
#define CHECK_HAS(actual, part) check_has(__FILE__, __LINE__, #actual, (actual), (part))

#define CHECK_OK(status) CHECK_EQ(status, LMN_OK)

/* A status with its message: prints the message when the status is another. */
#define CHECK_STATUS(status, expected, err)                                                        \
    check_status(__FILE__, __LINE__, (status), (expected), (err))

_Noreturn LMN_PRINTF(3, 4) void check_fail(const char *file, int line, const char *fmt, ...);
void check_bytes(const char *file, int line, const char *what, const void *actual,
                 const void *expected, size_t len);
void check_str(const char *file, int line, const char *what, const char *actual,
               const char *expected);
void check_has(const char *file, int line, const char *what, const char *actual, const char *part);
void check_status(const char *file, int line, enum lmn_status status, enum lmn_status expected,
                  const struct lmn_error *err);

/* The environment of this program; made at first use. */
struct lmn_env *test_env(void);

/* How many threads calls in test_env() have from here on; 0: the usual two. */
void test_threads(uint32_t count);

/* How many bytes of rows to merge or join stay in its memory, from here on; 0: as many as usual. */
void test_source_bytes_max(uint64_t bytes);

/* Allocations of the test environment that are alive, its own left out. */
int64_t live_allocations(void);

enum fault_kind { FAULT_ALLOC = 1, FAULT_STORE = 2 };

/* Make the nth (from 1) operation of the given kinds fail, counted together, once. */
void fault_arm(unsigned kinds, uint64_t nth);
bool fault_fired(void);
void fault_disarm(void);

/* For stores under test: count one operation of `kind`; true when it has to fail. */
bool fault_step(enum fault_kind kind);

/* A random number generator with a state of its own; the same sequence everywhere. */
uint64_t test_random(uint64_t *state);

#endif
