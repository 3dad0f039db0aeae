/* SPDX-License-Identifier: Apache-2.0 */
#include "os/fork.h"

#include <unistd.h>

uint64_t lmn__fork_process(void)
{
    return (uint64_t)getpid();
}
