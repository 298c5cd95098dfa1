/* Stand-in for NVIDIA's management library: tests only. What the machine has, as its file says. */
#ifndef STAND_IN_MACHINE_H
#define STAND_IN_MACHINE_H

#include "abi.h"

#define MAX_GPUS 16
#define TEXT 96
#define UNSUPPORTED (-1) /* a number that the file does not give */

struct gpu {
    char uuid[TEXT];
    char name[TEXT];
    char pci[TEXT];
    long long result; /* what every call for this GPU returns */
    long long memory_mib;
    long long ecc, ecc_pending;
    long long volatile_corrected, volatile_uncorrected, aggregate_corrected, aggregate_uncorrected;
    long long retirement_pending;
    long long remapped_correctable, remapped_uncorrectable, remap_pending, remap_failed;
    long long temperature_c;
    long long persistence;
    long long recovery_action;
    long long compute_capability; /* 90 is 9.0 */
    long long architecture;
    long long xid; /* last one; a new number is an event */
    long long links[NVML_NVLINK_MAX_LINKS];
    int link_count;
};

struct machine {
    char driver_version[TEXT];
    char nvml_version[TEXT];
    long long cuda_version;
    long long init_result;
    struct gpu gpus[MAX_GPUS];
    int count;
};

/* Both with the lock held. */
extern struct machine machine;
extern int initialised;

void lock(void);
void unlock(void);

/* Read the file again if it changed. Returns what is wrong: NVML_ERROR_DRIVER_NOT_LOADED where there is no file, as on
 * a machine without a driver, and NVML_ERROR_UNKNOWN for a file with mistakes, which are said on standard error. */
nvmlReturn_t refresh(void);

/* The GPU behind a handle, or why there is none. The lock is held by the caller. */
nvmlReturn_t find(nvmlDevice_t device, struct gpu **found);
nvmlDevice_t handle_of(int index);
int index_of(const struct gpu *gpu);

nvmlReturn_t copy_text(const char *text, char *to, unsigned int length);

#endif
