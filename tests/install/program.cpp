/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same in C++, with all headers: a few functions of several of them are called.
 */
#include <cstdio>

#include <leman/leman.h>

int main()
{
    struct lmn_error err;
    struct lmn_store *store;
    struct lmn_table *table;

    if (lmn_store_open_memory(nullptr, &store, &err) != LMN_OK)
        return 1;
    if (lmn_table_open(store, nullptr, &table, &err) != LMN_E_NOT_FOUND || table != nullptr)
        return 1;
    lmn_store_release(store);
    if (lmn_fail(&err, LMN_E_CORRUPT, "%d bytes", 7) != LMN_E_CORRUPT)
        return 1;
    std::printf("%s: %s\n", lmn_status_text(err.status), err.message);
    return 0;
}
