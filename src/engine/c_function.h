/* SPDX-License-Identifier: Apache-2.0 */
/* c_function.h - a function of a shared object, loaded. */
#ifndef LMN_ENGINE_C_FUNCTION_H
#define LMN_ENGINE_C_FUNCTION_H

#include <leman/c_function.h>
#include <leman/udf.h>

#include "base/env.h"
#include "base/sha256.h"
#include "os/library.h"

struct lmn_c_function {
    struct lmn_env *env; /* counted */
    struct lmn__library library;
    char *path;
    const struct lmn_function *function; /* in the library */
    char version[LMN__SHA256_HEX];
    char *code;
};

/*
 * Load what lmn_c_function_code() described.
 *
 * LMN_E_UNSUPPORTED  it is another kind of function
 */
LMN_MUST_USE enum lmn_status lmn__c_function_from_code(const void *code, uint64_t len,
                                                       struct lmn_c_function **function_out,
                                                       struct lmn_error *err);

#endif
