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
 *   array_record.h    read and write ArrayRecord files
 *   ingest.h       read Arrow IPC, CSV and JSON lines
 *   load.h         bring many files into a table, in parallel and resumably
 *   webdataset.h   read WebDataset shards
 *   ipc.h          write an Arrow IPC stream
 *   inspect.h      describe a file for people and programs
 *   expr.h         evaluate an expression over rows in memory
 *   database.h     a directory of tables
 *   table.h        open a table at one of its versions
 *   table_scan.h   read its rows
 *   table_write.h  make and change tables
 *   table_inspect.h   describe a table for people and programs
 *   table_columns.h   add, drop, rename and widen columns
 *   table_fill.h   columns that functions fill, and their cells
 *   table_refill.h  filled columns computed again: compare, swap or discard
 *   table_versions.h  versions, tags, diff, compaction, cleanup
 *   interrupt.h    let long calls of a thread end early
 *   job.h          run functions over rows: fill columns, checkpointed and resumable
 *   worker.h       the processes that do
 *   hub.h          workers on other machines
 *   udf.h          functions written in C
 *   c_function.h   load them
 *   text.h         texts that calls hand out
 *   feed.h         a table as an endless, shuffled, resumable stream of batches
 *   feed_cache.h   what feeds read, kept on a quick disk
 *   pack.h         environments: folders of code, shipped by content
 *   version.h      the library's version
 */
#ifndef LEMAN_LEMAN_H
#define LEMAN_LEMAN_H

#include <leman/array_record.h>
#include <leman/arrow_abi.h>
#include <leman/c_function.h>
#include <leman/database.h>
#include <leman/env.h>
#include <leman/expr.h>
#include <leman/feed.h>
#include <leman/feed_cache.h>
#include <leman/file.h>
#include <leman/file_writer.h>
#include <leman/hub.h>
#include <leman/ingest.h>
#include <leman/inspect.h>
#include <leman/interrupt.h>
#include <leman/ipc.h>
#include <leman/job.h>
#include <leman/load.h>
#include <leman/pack.h>
#include <leman/page.h>
#include <leman/status.h>
#include <leman/store.h>
#include <leman/table.h>
#include <leman/table_blob.h>
#include <leman/table_columns.h>
#include <leman/table_fill.h>
#include <leman/table_inspect.h>
#include <leman/table_refill.h>
#include <leman/table_scan.h>
#include <leman/table_versions.h>
#include <leman/table_write.h>
#include <leman/text.h>
#include <leman/udf.h>
#include <leman/version.h>
#include <leman/webdataset.h>
#include <leman/worker.h>

#endif
