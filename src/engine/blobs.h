/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blobs.h - payloads of blobs as a function writes them; see leman/worker.h.
 */
#ifndef LMN_ENGINE_BLOBS_H
#define LMN_ENGINE_BLOBS_H

#include <leman/worker.h>

#include "job/payload.h"

struct lmn_blobs {
    struct lmn__payloads *payloads; /* the sink's; NULL: no column holds blobs */
};

#endif
