/* SPDX-License-Identifier: Apache-2.0 */
#include "table/old_version.h"

#include "arrow/nulls.h"
#include "base/error.h"

static enum lmn_status refuse(const char *field, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_UNSUPPORTED,
                    "column \"%.120s\" would have a null struct, for which tables of file version "
                    "2.0 have no place; `leman upgrade` rewrites the table as 2.1",
                    field);
}

enum lmn_status lmn__old_version_check(const struct lmn__manifest *manifest,
                                       const struct ArrowSchema *column,
                                       const struct ArrowArray *array, uint64_t first,
                                       uint64_t count, struct lmn_error *err)
{
    char path[LMN__NULL_PATH_BYTES];

    if (manifest == NULL || manifest->format_minor != 0 ||
        !lmn__nulls_find(column, array, LMN__NULLS_OF_STRUCTS, first, count, path))
        return LMN_OK;
    return refuse(path, err);
}

enum lmn_status lmn__old_version_check_null(const struct lmn__manifest *manifest,
                                            const char *column, struct lmn_error *err)
{
    return manifest != NULL && manifest->format_minor == 0 ? refuse(column, err) : LMN_OK;
}
