/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stretch.h - the parts of a file that are read so often that they are worth fetching whole.
 *
 * They belong to an open file and are noted from many threads.
 */
#ifndef LMN_OS_STRETCH_H
#define LMN_OS_STRETCH_H

#include <stdatomic.h>

#include "os/file.h"

struct lmn__stretches {
    struct lmn_env *env; /* borrowed */
    uint64_t file_bytes;
    _Atomic(atomic_uint *) seen; /* one number per stretch; NULL: nothing was noted */
};

/* Where a caller stands who reads several ranges at once: LMN__VISIT_INIT before the first. */
struct lmn__visit {
    uint64_t stretch;
};
#define LMN__VISIT_INIT ((struct lmn__visit){ UINT64_MAX })

void lmn__stretches_init(struct lmn__stretches *stretches, struct lmn_env *env,
                         uint64_t file_bytes);
void lmn__stretches_deinit(struct lmn__stretches *stretches);

/*
 * Note a range that is about to be read and that is not in memory. True: now the whole of
 * *stretch_out is worth fetching, and what was noted of it is forgotten.
 */
bool lmn__stretches_note(struct lmn__stretches *stretches, struct lmn__visit *visit,
                         const struct lmn__file_range *range, struct lmn__file_range *stretch_out);

#endif
