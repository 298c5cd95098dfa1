/* Stand-in for NVIDIA's management library: tests only. Events: a GPU's `xid` that changed is a critical Xid. */
#include "machine.h"

#include <stdlib.h>
#include <time.h>

#define STEP_MS 20

struct watch {
    unsigned long long types;
    long long seen;
};

struct nvmlEventSet_st {
    struct watch watches[MAX_GPUS];
};

EXPORT nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set) {
    if (set == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    set->handle = calloc(1, sizeof *set->handle);
    return set->handle == NULL ? NVML_ERROR_UNKNOWN : NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
    free(set.handle);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *types) {
    struct gpu *gpu;
    lock();
    nvmlReturn_t result = find(device, &gpu);
    unlock();
    *types = nvmlEventTypeXidCriticalError | nvmlEventTypeDoubleBitEccError | nvmlEventTypeSingleBitEccError;
    return result;
}

EXPORT nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
    struct gpu *gpu;
    lock();
    nvmlReturn_t result = find(device, &gpu);
    if (result == NVML_SUCCESS)
        set.handle->watches[index_of(gpu)] = (struct watch){.types = types, .seen = gpu->xid};
    unlock();
    return result;
}

static int happened(nvmlEventSet_t set, nvmlEventData_t *data) {
    for (int index = 0; index < machine.count; index++) {
        struct watch *watch = &set.handle->watches[index];
        long long xid = machine.gpus[index].xid;
        if (!(watch->types & nvmlEventTypeXidCriticalError) || xid == watch->seen)
            continue;
        watch->seen = xid;
        if (xid == UNSUPPORTED)
            continue;
        *data = (nvmlEventData_t){.device = handle_of(index), .eventType = nvmlEventTypeXidCriticalError,
                                  .eventData = (unsigned long long)xid,
                                  .gpuInstanceId = 0xFFFFFFFF, .computeInstanceId = 0xFFFFFFFF};
        return 1;
    }
    return 0;
}

EXPORT nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms) {
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
    for (unsigned int waited = 0;; waited += STEP_MS) {
        lock();
        nvmlReturn_t result = initialised ? refresh() : NVML_ERROR_UNINITIALIZED;
        int found = result == NVML_SUCCESS && happened(set, data);
        unlock();
        if (found || result != NVML_SUCCESS)
            return result;
        if (waited >= timeout_ms)
            return NVML_ERROR_TIMEOUT;
        nanosleep(&step, NULL);
    }
}

EXPORT nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms) {
    return nvmlEventSetWait_v2(set, data, timeout_ms);
}
