/* SPDX-License-Identifier: Apache-2.0 */
/* version.h - the version of the library. */
#ifndef LEMAN_VERSION_H
#define LEMAN_VERSION_H

#include <leman/status.h>

/* "major.minor.patch" */
LMN_API const char *lmn_version(void);

#endif
