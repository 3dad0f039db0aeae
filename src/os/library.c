/* SPDX-License-Identifier: Apache-2.0 */
#include "os/library.h"

#include <dlfcn.h>
#include <stddef.h>

enum lmn_status lmn__library_open(const char *path, struct lmn__library *library_out,
                                  struct lmn_error *err)
{
    const char *reason;

    library_out->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library_out->handle != NULL)
        return LMN_OK;
    reason = dlerror();
    return lmn_fail(err, LMN_E_NOT_FOUND, "cannot load %s: %s", path,
                    reason != NULL ? reason : "no reason given");
}

void lmn__library_close(struct lmn__library *library)
{
    if (library->handle != NULL)
        dlclose(library->handle);
    library->handle = NULL;
}

void *lmn__library_find(const struct lmn__library *library, const char *name)
{
    return dlsym(library->handle, name);
}

void *lmn__library_symbol(const char *name, const char *symbol)
{
    struct lmn__library library;

    return lmn__library_open(name, &library, NULL) == LMN_OK ? lmn__library_find(&library, symbol)
                                                             : NULL;
}
