/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nulls.h - nulls inside of a column, where there may be none.
 */
#ifndef LMN_ARROW_NULLS_H
#define LMN_ARROW_NULLS_H

#include <stdbool.h>

#include <leman/arrow_abi.h>

#include "base/env.h"

enum { LMN__NULL_PATH_BYTES = 120 };

/* Which nulls are looked for. */
enum lmn__null_kind {
    LMN__NULLS_FORBIDDEN, /* below the column, in fields and items that are declared to have none */
    LMN__NULLS_OF_STRUCTS /* of structs that may be null, the column among them */
};

/* Can values of type `column` have such nulls? */
bool lmn__nulls_possible(const struct ArrowSchema *column, enum lmn__null_kind kind);

/*
 * Is there one in slots [first, first + count) of `array`, of type `column`? What is below a null
 * does not count. *path_out says which field has it: "info.place".
 */
bool lmn__nulls_find(const struct ArrowSchema *column, const struct ArrowArray *array,
                     enum lmn__null_kind kind, uint64_t first, uint64_t count,
                     char path_out[LMN__NULL_PATH_BYTES]);

#endif
