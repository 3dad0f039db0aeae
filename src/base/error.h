/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h - how a layer adds its place to what a layer below said.
 */
#ifndef LMN_BASE_ERROR_H
#define LMN_BASE_ERROR_H

#include <leman/status.h>

/*
 * Put "<formatted place>: " before the message of `err`, unless that starts so, and return
 * `status`; of a place that is too long the middle is left out. The status in `err` and the
 * system's error number stay. `err` may be NULL.
 */
LMN_PRINTF(3, 4)
enum lmn_status lmn__fail_within(struct lmn_error *err, enum lmn_status status, const char *fmt,
                                 ...);

#endif
