/* Stand-in for NVIDIA's management library: tests only. The library, the machine, and which GPUs there are. */
#include "machine.h"

#include <stdio.h>
#include <string.h>

EXPORT nvmlReturn_t nvmlInitWithFlags(unsigned int flags) {
    (void)flags;
    lock();
    nvmlReturn_t result = refresh();
    if (result == NVML_SUCCESS)
        result = (nvmlReturn_t)machine.init_result;
    if (result == NVML_SUCCESS)
        initialised++;
    unlock();
    return result;
}

EXPORT nvmlReturn_t nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
EXPORT nvmlReturn_t nvmlInit(void) { return nvmlInitWithFlags(0); }

EXPORT nvmlReturn_t nvmlShutdown(void) {
    lock();
    nvmlReturn_t result = initialised ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
    if (initialised)
        initialised--;
    unlock();
    return result;
}

EXPORT const char *nvmlErrorString(nvmlReturn_t result) {
    return result == NVML_SUCCESS ? "Success" : "An error of the NVML stand-in";
}

/* The library's own version: it is known before nvmlInit, and where the driver is another one. */
EXPORT nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length) {
    lock();
    nvmlReturn_t result = refresh();
    if (result == NVML_SUCCESS)
        result = copy_text(machine.nvml_version, version, length);
    unlock();
    return result;
}

static nvmlReturn_t ready(void) { return initialised ? refresh() : NVML_ERROR_UNINITIALIZED; }

EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length) {
    lock();
    nvmlReturn_t result = ready();
    if (result == NVML_SUCCESS)
        result = copy_text(machine.driver_version, version, length);
    unlock();
    return result;
}

EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) {
    if (version == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    lock();
    nvmlReturn_t result = ready();
    *version = (int)machine.cuda_version;
    unlock();
    return result;
}

EXPORT nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) {
    if (count == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    lock();
    nvmlReturn_t result = ready();
    *count = (unsigned int)machine.count;
    unlock();
    return result;
}

EXPORT nvmlReturn_t nvmlDeviceGetCount(unsigned int *count) { return nvmlDeviceGetCount_v2(count); }

static nvmlReturn_t hand_out(int index, nvmlDevice_t *device) {
    *device = handle_of(index);
    return (nvmlReturn_t)machine.gpus[index].result;
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
    if (device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    lock();
    nvmlReturn_t result = ready();
    if (result == NVML_SUCCESS)
        result = index < (unsigned int)machine.count ? hand_out((int)index, device) : NVML_ERROR_INVALID_ARGUMENT;
    unlock();
    return result;
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device) {
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

typedef int is_meant(const struct gpu *gpu, const char *name);

static nvmlReturn_t look_up(const char *name, is_meant *meant, nvmlDevice_t *device) {
    if (name == NULL || device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    lock();
    nvmlReturn_t result = ready();
    if (result == NVML_SUCCESS) {
        result = NVML_ERROR_NOT_FOUND;
        for (int index = 0; index < machine.count; index++)
            if (meant(&machine.gpus[index], name))
                result = hand_out(index, device);
    }
    unlock();
    return result;
}

static int has_uuid(const struct gpu *gpu, const char *uuid) {
    return strcmp(gpu->uuid, uuid) == 0;
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
    return look_up(uuid, has_uuid, device);
}

/* Domain, bus and device; the function is not compared: a GPU is function 0. */
static int is_at(const struct gpu *gpu, const char *pci) {
    unsigned int a[3], b[3];
    return sscanf(gpu->pci, "%x:%x:%x", &a[0], &a[1], &a[2]) == 3 &&
           sscanf(pci, "%x:%x:%x", &b[0], &b[1], &b[2]) == 3 && memcmp(a, b, sizeof a) == 0;
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pci, nvmlDevice_t *device) {
    return look_up(pci, is_at, device);
}

EXPORT nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *pci, nvmlDevice_t *device) {
    return nvmlDeviceGetHandleByPciBusId_v2(pci, device);
}
