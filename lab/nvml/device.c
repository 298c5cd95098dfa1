/* Stand-in for NVIDIA's management library: tests only. What one GPU says of itself. */
#include "machine.h"

#include <stdio.h>
#include <string.h>

#define MIB (1024ULL * 1024ULL)
#define NVIDIA_VENDOR 0x10DE

/* What is given sees the GPU as `gpu` and sets `result`. */
#define FOR_GPU(...)                                                                                                   \
    struct gpu *gpu;                                                                                                   \
    lock();                                                                                                            \
    nvmlReturn_t result = find(device, &gpu);                                                                          \
    if (result == NVML_SUCCESS) {                                                                                      \
        __VA_ARGS__;                                                                                                   \
    }                                                                                                                  \
    unlock();                                                                                                          \
    return result

/* A number of the file into `*to`, unless the file does not give it. */
#define GIVE(to, number)                                                                                               \
    do {                                                                                                               \
        if ((to) == NULL)                                                                                              \
            result = NVML_ERROR_INVALID_ARGUMENT;                                                                      \
        else if ((number) == UNSUPPORTED)                                                                              \
            result = NVML_ERROR_NOT_SUPPORTED;                                                                         \
        else                                                                                                           \
            *(to) = (__typeof__(*(to)))(number);                                                                       \
    } while (0)

EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length) {
    FOR_GPU(result = copy_text(gpu->name, name, length));
}

EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length) {
    FOR_GPU(result = copy_text(gpu->uuid, uuid, length));
}

EXPORT nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index) {
    FOR_GPU(GIVE(index, index_of(gpu)));
}

EXPORT nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minor) {
    FOR_GPU(GIVE(minor, index_of(gpu)));
}

EXPORT nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t *brand) {
    FOR_GPU(GIVE(brand, NVML_BRAND_NVIDIA));
}

EXPORT nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t *architecture) {
    FOR_GPU(GIVE(architecture, gpu->architecture));
}

EXPORT nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor) {
    FOR_GPU({
        GIVE(major, gpu->compute_capability == UNSUPPORTED ? UNSUPPORTED : gpu->compute_capability / 10);
        GIVE(minor, gpu->compute_capability == UNSUPPORTED ? UNSUPPORTED : gpu->compute_capability % 10);
    });
}

static nvmlReturn_t pci_info(const struct gpu *gpu, nvmlPciInfo_t *pci) {
    unsigned int domain, bus, slot;
    if (pci == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (sscanf(gpu->pci, "%x:%x:%x", &domain, &bus, &slot) != 3)
        return NVML_ERROR_NOT_SUPPORTED;
    memset(pci, 0, sizeof *pci);
    pci->domain = domain;
    pci->bus = bus;
    pci->device = slot;
    pci->pciDeviceId = NVIDIA_VENDOR;
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", domain & 0xFFFF, bus & 0xFF, slot & 0xFF);
    snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", domain, bus, slot);
    return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci) {
    FOR_GPU(result = pci_info(gpu, pci));
}

EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci) {
    return nvmlDeviceGetPciInfo_v3(device, pci);
}

EXPORT nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci) {
    return nvmlDeviceGetPciInfo_v3(device, pci);
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
    FOR_GPU({
        if (memory == NULL)
            result = NVML_ERROR_INVALID_ARGUMENT;
        else if (gpu->memory_mib == UNSUPPORTED)
            result = NVML_ERROR_NOT_SUPPORTED;
        else
            *memory = (nvmlMemory_t){.total = gpu->memory_mib * MIB, .free = gpu->memory_mib * MIB};
    });
}

EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory) {
    nvmlMemory_t found;
    if (memory == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t result = nvmlDeviceGetMemoryInfo(device, &found);
    if (result == NVML_SUCCESS) {
        memory->total = found.total;
        memory->free = found.free;
        memory->reserved = memory->used = 0;
    }
    return result;
}

EXPORT nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t *current, nvmlEnableState_t *pending) {
    FOR_GPU({
        GIVE(current, gpu->ecc);
        GIVE(pending, gpu->ecc_pending == UNSUPPORTED ? gpu->ecc : gpu->ecc_pending);
    });
}

EXPORT nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                                nvmlEccCounterType_t counter, unsigned long long *count) {
    int corrected = type == NVML_MEMORY_ERROR_TYPE_CORRECTED;
    FOR_GPU({
        if (counter == NVML_VOLATILE_ECC)
            GIVE(count, corrected ? gpu->volatile_corrected : gpu->volatile_uncorrected);
        else
            GIVE(count, corrected ? gpu->aggregate_corrected : gpu->aggregate_uncorrected);
    });
}

EXPORT nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device, nvmlEnableState_t *pending) {
    FOR_GPU(GIVE(pending, gpu->retirement_pending));
}

EXPORT nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *correctable,
                                              unsigned int *uncorrectable, unsigned int *pending,
                                              unsigned int *failed) {
    FOR_GPU({
        GIVE(correctable, gpu->remapped_correctable);
        GIVE(uncorrectable, gpu->remapped_uncorrectable);
        GIVE(pending, gpu->remap_pending);
        GIVE(failed, gpu->remap_failed);
    });
}

EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
                                             unsigned int *celsius) {
    (void)sensor;
    FOR_GPU(GIVE(celsius, gpu->temperature_c));
}

EXPORT nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t *mode) {
    FOR_GPU(GIVE(mode, gpu->persistence));
}

EXPORT nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *active) {
    FOR_GPU({
        if (link >= NVML_NVLINK_MAX_LINKS)
            result = NVML_ERROR_INVALID_ARGUMENT;
        else
            GIVE(active, link < (unsigned int)gpu->link_count ? gpu->links[link] : UNSUPPORTED);
    });
}

EXPORT nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values) {
    FOR_GPU({
        for (int at = 0; at < count; at++) {
            nvmlFieldValue_t *value = &values[at];
            int known = value->fieldId == NVML_FI_DEV_GET_GPU_RECOVERY_ACTION && gpu->recovery_action != UNSUPPORTED;
            value->nvmlReturn = known ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
            value->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
            value->value.uiVal = known ? (unsigned int)gpu->recovery_action : 0;
        }
    });
}

EXPORT nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device, nvmlDevice_t other,
                                                        nvmlGpuTopologyLevel_t *level) {
    (void)other;
    FOR_GPU(GIVE(level, NVML_TOPOLOGY_SYSTEM));
}

EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
                                                            nvmlProcessInfo_t *processes) {
    (void)processes;
    FOR_GPU(GIVE(count, 0));
}

EXPORT nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is_mig) {
    FOR_GPU(GIVE(is_mig, 0));
}

EXPORT nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count) {
    FOR_GPU(GIVE(count, 0));
}
