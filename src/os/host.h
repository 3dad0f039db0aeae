/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - what this machine has for this process, and where its user keeps state.
 */
#ifndef LMN_OS_HOST_H
#define LMN_OS_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LMN__HOST_GPUS_MAX = 64, LMN__HOST_PATH_CHARS = 4096 };

/* Processors: those in the affinity mask, cut to the quota of the control group. */
double lmn__host_cpus(void);

/* Time that all processors of the machine together had nothing to do, since it was started; 0 when
 * it is not known. */
uint64_t lmn__host_idle_ns(void);

/* Bytes of memory: those of the machine, cut to the limit of the control group. */
uint64_t lmn__host_memory_bytes(void);

/*
 * How much of it holds nothing but copies of files, or nothing at all; 0 when it is not known. Some
 * tens of microseconds.
 */
uint64_t lmn__host_free_memory_bytes(void);

/*
 * How many GPUs this process may use; the number of each in `id_out`. CUDA_VISIBLE_DEVICES names
 * them, or they are all that the driver lists; 0 without a driver.
 */
uint32_t lmn__host_gpus(uint32_t id_out[LMN__HOST_GPUS_MAX]);

/* How CUDA_VISIBLE_DEVICES names the GPU that is number `index` there: a number, or the UUID that
 * it has been given by. */
void lmn__host_gpu_name(uint32_t index, uint32_t id, char *name_out, size_t name_bytes);

/* Bytes that a file system has left for files in the folder `path`; false when it is not known. */
bool lmn__host_disk_free(const char *path, uint64_t *bytes_out);

void lmn__host_name(char *name_out, size_t name_bytes);

/*
 * The user's folder for the state of this program: XDG_STATE_HOME/leman, ~/.local/state/leman; ""
 * when there is no home.
 */
void lmn__host_state_dir(char path_out[LMN__HOST_PATH_CHARS]);

/* A variable of the environment; NULL when it is not set or empty. */
const char *lmn__host_variable(const char *name);

/* `path` from the root, links resolved; false when there is none. */
bool lmn__host_whole_path(const char *path, char path_out[LMN__HOST_PATH_CHARS]);

#endif
