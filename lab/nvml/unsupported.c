/* Stand-in for NVIDIA's management library: tests only. What programs may look up or call, and this machine's GPUs do
 * not do. A function that is missing altogether ends a Go program that calls it; one that is not supported does not.
 * The arguments are not read, so none is declared: every one of these takes its result by pointer and returns a code.
 */
enum { NVML_ERROR_NOT_SUPPORTED = 3 };

#define NOT_SUPPORTED(name)                                                                                            \
    __attribute__((visibility("default"))) int name(void) { return NVML_ERROR_NOT_SUPPORTED; }

/* Instances of a GPU. */
NOT_SUPPORTED(nvmlDeviceGetMigMode)
NOT_SUPPORTED(nvmlDeviceGetMigDeviceHandleByIndex)
NOT_SUPPORTED(nvmlDeviceGetDeviceHandleFromMigDeviceHandle)
NOT_SUPPORTED(nvmlDeviceGetGpuInstanceId)
NOT_SUPPORTED(nvmlDeviceGetComputeInstanceId)
NOT_SUPPORTED(nvmlDeviceGetGpuInstanceById)
NOT_SUPPORTED(nvmlDeviceGetGpuInstances)
NOT_SUPPORTED(nvmlDeviceGetGpuInstanceProfileInfo)
NOT_SUPPORTED(nvmlDeviceGetGpuInstanceProfileInfoV)
NOT_SUPPORTED(nvmlGpuInstanceGetInfo)
NOT_SUPPORTED(nvmlGpuInstanceGetComputeInstanceById)
NOT_SUPPORTED(nvmlGpuInstanceGetComputeInstances)
NOT_SUPPORTED(nvmlGpuInstanceGetComputeInstanceProfileInfo)
NOT_SUPPORTED(nvmlGpuInstanceGetComputeInstanceProfileInfoV)
NOT_SUPPORTED(nvmlComputeInstanceGetInfo)
NOT_SUPPORTED(nvmlComputeInstanceGetInfo_v2)
NOT_SUPPORTED(nvmlDeviceGetAttributes)
NOT_SUPPORTED(nvmlDeviceGetAttributes_v2)

/* Links to others. */
NOT_SUPPORTED(nvmlDeviceGetGpuFabricInfo)
NOT_SUPPORTED(nvmlDeviceGetGpuFabricInfoV)
NOT_SUPPORTED(nvmlDeviceGetNvLinkRemotePciInfo)
NOT_SUPPORTED(nvmlDeviceGetNvLinkRemotePciInfo_v2)
NOT_SUPPORTED(nvmlDeviceGetNvLinkRemoteDeviceType)
NOT_SUPPORTED(nvmlDeviceGetNvLinkVersion)
NOT_SUPPORTED(nvmlDeviceGetNvLinkCapability)
NOT_SUPPORTED(nvmlDeviceGetNvLinkErrorCounter)
NOT_SUPPORTED(nvmlDeviceGetTopologyNearestGpus)
NOT_SUPPORTED(nvmlDeviceGetP2PStatus)
NOT_SUPPORTED(nvmlDeviceGetCpuAffinity)
NOT_SUPPORTED(nvmlDeviceGetMemoryAffinity)

/* The rest of what the device plugin, the toolkit and their libraries name. */
NOT_SUPPORTED(nvmlDeviceGetAddressingMode) /* NVML 13.0 and later */
NOT_SUPPORTED(nvmlDeviceGetBoardPartNumber)
NOT_SUPPORTED(nvmlDeviceGetSerial)
NOT_SUPPORTED(nvmlDeviceGetComputeMode)
NOT_SUPPORTED(nvmlDeviceSetComputeMode)
NOT_SUPPORTED(nvmlDeviceGetVirtualizationMode)
NOT_SUPPORTED(nvmlDeviceGetUtilizationRates)
NOT_SUPPORTED(nvmlDeviceGetPowerUsage)
NOT_SUPPORTED(nvmlDeviceGetRetiredPages)
NOT_SUPPORTED(nvmlDeviceGetRetiredPages_v2)
NOT_SUPPORTED(nvmlDeviceGetMemoryErrorCounter)
NOT_SUPPORTED(nvmlDeviceGetRowRemapperHistogram)
NOT_SUPPORTED(nvmlSystemGetProcessName)
