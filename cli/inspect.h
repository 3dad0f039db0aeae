/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect.h - what the two halves of `leman inspect` share: files and tables.
 */
#ifndef LEMAN_CLI_INSPECT_H
#define LEMAN_CLI_INSPECT_H

#include "arguments.h"

/* Bytes as people write them: "1.5 MiB". Returns `text`. */
const char *size_text(uint64_t bytes, char *text, size_t len);

/* Describe the table in directory `path`; returns the exit code. */
int inspect_table(const char *path, const char *version, bool fragments, bool json);

#endif
