/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libnvidia-ml.so.1 (NVML) are found by name when they are first wanted. The
 * structs are those of its interface, which has not changed them since its first version.
 */
#include "os/gpu.h"

#include <stdatomic.h>
#include <stddef.h>

#include "os/library.h"

struct nvml_utilization {
    unsigned gpu, memory; /* percent of time */
};

struct nvml_memory {
    unsigned long long total, free, used;
};

enum { UNKNOWN, READY, ABSENT };
static atomic_int state;

static void *find(const char *symbol)
{
    return lmn__library_symbol("libnvidia-ml.so.1", symbol);
}

static bool is_ready(void)
{
    int (*init)(void);

    if (atomic_load(&state) == UNKNOWN) {
        init = (int (*)(void))find("nvmlInit_v2");
        atomic_store(&state, init != NULL && init() == 0 ? READY : ABSENT);
    }
    return atomic_load(&state) == READY;
}

bool lmn__gpu_look(uint32_t id, struct lmn__gpu_use *use_out)
{
    int (*handle)(unsigned, void **);
    int (*utilization)(void *, struct nvml_utilization *);
    int (*memory)(void *, struct nvml_memory *);
    struct nvml_utilization used = { 0 };
    struct nvml_memory bytes = { 0 };
    void *device = NULL;

    *use_out = (struct lmn__gpu_use){ 0 };
    if (!is_ready())
        return false;
    handle = (int (*)(unsigned, void **))find("nvmlDeviceGetHandleByIndex_v2");
    utilization = (int (*)(void *, struct nvml_utilization *))find("nvmlDeviceGetUtilizationRates");
    memory = (int (*)(void *, struct nvml_memory *))find("nvmlDeviceGetMemoryInfo");
    if (handle == NULL || utilization == NULL || memory == NULL || handle(id, &device) != 0 ||
        utilization(device, &used) != 0 || memory(device, &bytes) != 0)
        return false;
    *use_out = (struct lmn__gpu_use){ used.gpu, bytes.used, bytes.total };
    return true;
}
