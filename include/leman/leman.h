/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leman.h - all public headers.
 *
 *   status.h       status codes and errors
 *   env.h          heap, limits, threads
 *   store.h        directories and memory as places for files
 *   arrow_abi.h    the structs data crosses in
 *   file.h         read a Lance data file
 *   file_writer.h  write one
 *   page.h         encode pages apart from a file, and write its tail later
 *   inspect.h      describe a file for people and programs
 *   version.h      the library's version
 */
#ifndef LEMAN_LEMAN_H
#define LEMAN_LEMAN_H

#include <leman/arrow_abi.h>
#include <leman/env.h>
#include <leman/file.h>
#include <leman/file_writer.h>
#include <leman/inspect.h>
#include <leman/page.h>
#include <leman/status.h>
#include <leman/store.h>
#include <leman/version.h>

#endif
