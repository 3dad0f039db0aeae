/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/version.h>

const char *lmn_version(void)
{
    return LMN_VERSION;
}
