/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of somebody who installed the library: prints one text that it gets from it.
 */
#include <stdio.h>

#include <leman/status.h>

int main(void)
{
    struct lmn_error err;

    if (lmn_fail(&err, LMN_E_CORRUPT, "%d bytes", 7) != LMN_E_CORRUPT)
        return 1;
    printf("%s: %s\n", lmn_status_text(err.status), err.message);
    return 0;
}
