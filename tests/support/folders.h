/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folders.h - folders of files on disk to test with, and packs of them.
 */
#ifndef LMN_TESTS_FOLDERS_H
#define LMN_TESTS_FOLDERS_H

#include <leman/pack.h>

#include "check.h"

/* Write a file below `root`, with the folders above it, as it was a minute ago. */
void folder_write(const char *root, const char *path, const char *text);

/* The same with content that does not compress, made from `seed`. */
void folder_write_random(const char *root, const char *path, size_t bytes, uint64_t seed);

/* Does a file consist of this text? */
bool folder_holds(const char *root, const char *path, const char *text);

/* A plan of one folder, with the hashes of files kept in `cache`. */
struct lmn_pack *folder_pack(const char *root, enum lmn_pack_kind kind, const char *cache);

/* The number behind `"key":` in a text of JSON, at its first place. */
uint64_t folder_number(const char *text, const char *key);

#endif
