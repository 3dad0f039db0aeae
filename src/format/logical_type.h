/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logical_type.h - Lance's names of types ("timestamp:us:UTC") and Arrow's format strings.
 */
#ifndef LMN_FORMAT_LOGICAL_TYPE_H
#define LMN_FORMAT_LOGICAL_TYPE_H

#include <leman/arrow_abi.h>

#include "base/buf.h"

/*
 * Set format, dictionary and - for fixed lists of plain values - children of an initialised
 * `schema` from a Lance type name. Structs, lists and maps get their format only.
 *
 * LMN_E_UNSUPPORTED  a name that this version does not know
 */
LMN_MUST_USE enum lmn_status lmn__logical_type_to_arrow(struct lmn__span name,
                                                        struct ArrowSchema *schema,
                                                        struct lmn_error *err);

/*
 * Append the Lance name of an Arrow type to `buf`.
 *
 * LMN_E_UNSUPPORTED  Lance has no name for it
 */
LMN_MUST_USE enum lmn_status lmn__logical_type_from_arrow(const struct ArrowSchema *schema,
                                                          struct lmn__buf *buf,
                                                          struct lmn_error *err);

#endif
