/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stores.h - stores to test with, and what tests ask of them.
 *
 * All of them use the test environment. Functions that return a store or nothing fail the test
 * when something goes wrong.
 */
#ifndef LMN_TESTS_STORES_H
#define LMN_TESTS_STORES_H

#include "check.h"
#include "store/fault.h"
#include "store/store.h"

/* Make a directory of its own under the system's temporary one; and remove it with all in it. */
char *test_dir_make(void);
void test_dir_remove(char *dir);

struct lmn_store *test_store_memory(void);
struct lmn_store *test_store_local(const char *root);

/* A store whose operations count with fault_step(FAULT_STORE); it keeps a reference to `inner`. */
struct lmn_store *test_store_faulty(struct lmn_store *inner);

/* The same, with another way to fail than LMN__FAULT_FAIL. */
struct lmn_store *test_store_faulty_with(struct lmn_store *inner, enum lmn__fault_action action);

/* Write a new file, with data and name synced. */
void test_store_write(struct lmn_store *store, const char *path, const void *data, size_t len);

/* Read at most `cap` bytes of a file; its size, or -1 when it is not there. */
int64_t test_store_read(struct lmn_store *store, const char *path, void *data, size_t cap);

/* Does the file consist of exactly this text? */
bool test_store_holds(struct lmn_store *store, const char *path, const char *text);

/* The number of entries of a directory. */
size_t test_store_count(struct lmn_store *store, const char *dir);

#endif
