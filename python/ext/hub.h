/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hub.h - the type Hub, as the type Job sees it.
 */
#ifndef LEMAN_PYTHON_HUB_H
#define LEMAN_PYTHON_HUB_H

#include "core.h"

/* The hub in an object of the type. */
struct lmn_hub *hub_of(PyObject *object);

#endif
