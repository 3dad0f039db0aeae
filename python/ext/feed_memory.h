/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed_memory.h - memory of Python objects for the batches of feeds.
 */
#ifndef LEMAN_PYTHON_FEED_MEMORY_H
#define LEMAN_PYTHON_FEED_MEMORY_H

#include "core.h"

/* A reference to the memory that `object` stands for, for a feed; its close() gives it back. */
struct lmn_memory feed_memory_acquire(PyObject *object);

/* Make the pieces that feeds have asked for in vain. -1 and an exception on failure. */
int feed_memory_refill(PyObject *object);

#endif
