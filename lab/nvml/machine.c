/* Stand-in for NVIDIA's management library, for tests and the lab. Reads what the machine has.
 *
 * The file is named by LONGHAUL_NVML_STAND_IN, else /etc/longhaul-nvml-stand-in (for programs whose environment nobody
 * sets), else it is where a container of the device plugin has the file of the lab's machine. Lines are `key = value`; `gpu` alone on a line begins the next GPU; `#` begins a comment. What a GPU's lines
 * do not give is not supported by it. The file is read again whenever it changed.
 */
#include "machine.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define VARIABLE "LONGHAUL_NVML_STAND_IN"
#define DEFAULT "/etc/longhaul-nvml-stand-in"
#define IN_CONTAINER "/driver-root/usr/lib/longhaul-nvml/machine"

struct machine machine;
int initialised;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct stat last;
static nvmlReturn_t last_result = NVML_ERROR_DRIVER_NOT_LOADED;

void lock(void) { pthread_mutex_lock(&mutex); }
void unlock(void) { pthread_mutex_unlock(&mutex); }

struct field {
    const char *key;
    size_t offset;
};

#define FIELD(type, name) {#name, offsetof(struct type, name)}

static const struct field machine_texts[] = {FIELD(machine, driver_version), FIELD(machine, nvml_version), {0}};
static const struct field machine_numbers[] = {FIELD(machine, cuda_version), FIELD(machine, init_result), {0}};
static const struct field gpu_texts[] = {FIELD(gpu, uuid), FIELD(gpu, name), FIELD(gpu, pci), {0}};
static const struct field gpu_numbers[] = {
    FIELD(gpu, result), FIELD(gpu, memory_mib), FIELD(gpu, ecc), FIELD(gpu, ecc_pending),
    FIELD(gpu, volatile_corrected), FIELD(gpu, volatile_uncorrected),
    FIELD(gpu, aggregate_corrected), FIELD(gpu, aggregate_uncorrected),
    FIELD(gpu, retirement_pending), FIELD(gpu, remapped_correctable), FIELD(gpu, remapped_uncorrectable),
    FIELD(gpu, remap_pending), FIELD(gpu, remap_failed), FIELD(gpu, temperature_c), FIELD(gpu, persistence),
    FIELD(gpu, recovery_action), FIELD(gpu, compute_capability), FIELD(gpu, architecture), FIELD(gpu, xid), {0}};

static void *target(const struct field *fields, const char *key, void *base) {
    for (; fields->key != NULL; fields++)
        if (strcmp(fields->key, key) == 0)
            return (char *)base + fields->offset;
    return NULL;
}

static int number(const char *text, long long *found) {
    char *end;
    *found = strtoll(text, &end, 10);
    return end != text && *end == '\0';
}

/* `1 1 0`: one word a link, `-` for a link that the GPU does not know. */
static int links(char *value, struct gpu *gpu) {
    for (char *word = strtok(value, " "); word != NULL; word = strtok(NULL, " ")) {
        if (gpu->link_count == NVML_NVLINK_MAX_LINKS)
            return 0;
        gpu->links[gpu->link_count] = UNSUPPORTED;
        if (strcmp(word, "-") != 0 && !number(word, &gpu->links[gpu->link_count]))
            return 0;
        gpu->link_count++;
    }
    return 1;
}

static int assign(char *key, char *value, struct machine *into, struct gpu *gpu) {
    char *text = gpu ? target(gpu_texts, key, gpu) : target(machine_texts, key, into);
    long long *figure = gpu ? target(gpu_numbers, key, gpu) : target(machine_numbers, key, into);
    if (text != NULL)
        return snprintf(text, TEXT, "%s", value) < TEXT;
    if (figure != NULL)
        return number(value, figure);
    return gpu != NULL && strcmp(key, "links") == 0 && links(value, gpu);
}

static struct gpu *begin_gpu(struct machine *into) {
    if (into->count == MAX_GPUS)
        return NULL;
    struct gpu *gpu = &into->gpus[into->count++];
    for (const struct field *field = gpu_numbers; field->key != NULL; field++)
        *(long long *)((char *)gpu + field->offset) = UNSUPPORTED;
    gpu->result = NVML_SUCCESS;
    return gpu;
}

static char *trimmed(char *text) {
    text += strspn(text, " \t");
    text[strcspn(text, "#\n")] = '\0';
    for (size_t length = strlen(text); length > 0 && strchr(" \t", text[length - 1]); length--)
        text[length - 1] = '\0';
    return text;
}

static nvmlReturn_t parse(FILE *file, const char *path) {
    static struct machine read;
    struct gpu *gpu = NULL;
    char line[512];
    memset(&read, 0, sizeof read);
    for (int at = 1; fgets(line, sizeof line, file) != NULL; at++) {
        char *key = trimmed(line), *equals = strchr(key, '=');
        int good = 1;
        if (strcmp(key, "gpu") == 0) {
            good = (gpu = begin_gpu(&read)) != NULL;
        } else if (*key != '\0') {
            good = equals != NULL;
            if (good) {
                *equals = '\0';
                good = assign(trimmed(key), trimmed(equals + 1), &read, gpu);
            }
        }
        if (!good) {
            fprintf(stderr, "NVML stand-in: %s:%d: not understood: %s\n", path, at, key);
            return NVML_ERROR_UNKNOWN;
        }
    }
    machine = read;
    return NVML_SUCCESS;
}

nvmlReturn_t refresh(void) {
    const char *path = getenv(VARIABLE) ? getenv(VARIABLE) : DEFAULT;
    struct stat now;
    FILE *file;
    if (!getenv(VARIABLE) && stat(path, &now) != 0)
        path = IN_CONTAINER;
    if (stat(path, &now) != 0) {
        memset(&last, 0, sizeof last);
        return NVML_ERROR_DRIVER_NOT_LOADED;
    }
    if (now.st_ino == last.st_ino && now.st_dev == last.st_dev && now.st_size == last.st_size &&
        now.st_mtim.tv_sec == last.st_mtim.tv_sec && now.st_mtim.tv_nsec == last.st_mtim.tv_nsec)
        return last_result;
    if ((file = fopen(path, "re")) == NULL)
        return NVML_ERROR_DRIVER_NOT_LOADED;
    last = now;
    last_result = parse(file, path);
    fclose(file);
    return last_result;
}

nvmlDevice_t handle_of(int index) {
    nvmlDevice_t device;
    device.handle = (struct nvmlDevice_st *)&machine.gpus[index];
    return device;
}

int index_of(const struct gpu *gpu) { return (int)(gpu - machine.gpus); }

nvmlReturn_t find(nvmlDevice_t device, struct gpu **found) {
    struct gpu *gpu = (struct gpu *)device.handle;
    if (!initialised)
        return NVML_ERROR_UNINITIALIZED;
    nvmlReturn_t result = refresh();
    if (result != NVML_SUCCESS)
        return result;
    if (gpu < machine.gpus || gpu >= machine.gpus + MAX_GPUS)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (index_of(gpu) >= machine.count)
        return NVML_ERROR_GPU_IS_LOST;
    *found = gpu;
    return (nvmlReturn_t)gpu->result;
}

nvmlReturn_t copy_text(const char *text, char *to, unsigned int length) {
    if (to == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (*text == '\0')
        return NVML_ERROR_NOT_SUPPORTED;
    if (strlen(text) >= length)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(to, text);
    return NVML_SUCCESS;
}
