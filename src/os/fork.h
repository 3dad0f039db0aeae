/* SPDX-License-Identifier: Apache-2.0 */
/* fork.h - which process this is, for objects that do not survive a fork. */
#ifndef LMN_OS_FORK_H
#define LMN_OS_FORK_H

#include <stdint.h>

/* A number that a process does not share with those it is forked into. */
uint64_t lmn__fork_process(void);

#endif
