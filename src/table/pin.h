/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pin.h - versions that a running job needs, and a cleanup keeps.
 *
 * A pin is a file `_leman/pins/<version>-<token>` whose lock its holder has: the lock goes with the
 * process, so a pin of one that was killed holds nobody. It stands for its version and all later
 * ones, because a job that runs meets those that come.
 */
#ifndef LMN_TABLE_PIN_H
#define LMN_TABLE_PIN_H

#include "store/store.h"

enum { LMN__PIN_PATH_BYTES = 64 };

/* Zeroed: none. */
struct lmn__pin {
    struct lmn__store_file *file;
    char path[LMN__PIN_PATH_BYTES];
};

/* Keep `version` and later ones. The caller releases the pin. */
LMN_MUST_USE enum lmn_status lmn__pin_take(struct lmn__pin *pin, struct lmn_store *store,
                                           uint64_t version, struct lmn_error *err);

/* A zeroed pin may be given too. */
void lmn__pin_release(struct lmn__pin *pin);

/* The oldest version that is pinned, UINT64_MAX for none. Pins that nobody holds are removed. */
LMN_MUST_USE enum lmn_status lmn__pins_oldest(struct lmn_store *store, uint64_t *version_out,
                                              struct lmn_error *err);

#endif
