/* NVIDIA's GPUs, by NVML (the NVIDIA Management Library, libnvidia-ml.so.1, API of version 11 and
 * later), which comes with NVIDIA's driver and is loaded when it is asked: nothing here needs it to
 * be there, neither to build nor to run. */
#include "hostagent/devices/device_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libnvidia-ml.so.1"

/* nvmlReturn_t */
enum {
    NVML_SUCCESS = 0,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NOT_FOUND = 6,
    NVML_GPU_IS_LOST = 15
};

struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
};
typedef void *nvml_device;

struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error)(int code);
    int (*by_uuid)(const char *uuid, nvml_device *ret_device);
    int (*by_bus)(const char *bus, nvml_device *ret_device);
    int (*by_index)(unsigned index, nvml_device *ret_device);
    int (*memory)(nvml_device device, struct nvml_memory *ret_memory);
};

static int find_calls(struct nvml *nvml, struct err *err)
{
    const struct {
        const char *name;
        void *call;
    } calls[] = {{"nvmlInit_v2", &nvml->init},
                 {"nvmlShutdown", &nvml->shutdown},
                 {"nvmlErrorString", &nvml->error},
                 {"nvmlDeviceGetHandleByUUID", &nvml->by_uuid},
                 {"nvmlDeviceGetHandleByPciBusId_v2", &nvml->by_bus},
                 {"nvmlDeviceGetHandleByIndex_v2", &nvml->by_index},
                 {"nvmlDeviceGetMemoryInfo", &nvml->memory}};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *found = dlsym(nvml->library, calls[i].name);
        if (!found)
            return err_set(err, ENOSYS, LIBRARY " has no %s: it is none that this agent knows",
                           calls[i].name);
        memcpy(calls[i].call, &found, sizeof(found));
    }
    return 0;
}

static void unload(struct nvml *nvml)
{
    if (!nvml)
        return;
    if (nvml->library)
        dlclose(nvml->library);
    free(nvml);
}

static void close_nvml(void *opened)
{
    struct nvml *nvml = opened;
    nvml->shutdown();
    unload(nvml);
}

static void *open_nvml(struct err *err)
{
    struct nvml *nvml = calloc(1, sizeof(*nvml));
    int r = nvml ? 0 : err_sys(err, ENOMEM, "NVML");
    if (r == 0 && !(nvml->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)))
        r = err_set(err, ENOENT, "NVML is not here, it comes with NVIDIA's driver: %s", dlerror());
    if (r == 0)
        r = find_calls(nvml, err);
    int code = r == 0 ? nvml->init() : NVML_SUCCESS;
    if (code != NVML_SUCCESS)
        r = err_set(err, EIO, "NVML does not begin: %s", nvml->error(code));
    if (r == 0)
        return nvml;
    unload(nvml);
    return NULL;
}

static int find(const struct nvml *nvml, const char *at, nvml_device *ret_device)
{
    if (strncmp(at, "GPU-", 4) == 0 || strncmp(at, "MIG-", 4) == 0)
        return nvml->by_uuid(at, ret_device);
    if (at[strspn(at, "0123456789")] == '\0')
        return nvml->by_index((unsigned)strtoul(at, NULL, 10), ret_device);
    return nvml->by_bus(at, ret_device);
}

static void look(void *opened, const char *at, struct device_look *ret_look)
{
    const struct nvml *nvml = opened;
    struct nvml_memory memory = {0};
    nvml_device device = NULL;
    *ret_look = (struct device_look){.presence = DEVICE_THERE};
    int code = find(nvml, at, &device);
    if (code == NVML_SUCCESS)
        code = nvml->memory(device, &memory);
    if (code == NVML_SUCCESS)
        ret_look->mem_bytes = (int64_t)memory.total;
    if (code == NVML_SUCCESS || code == NVML_NOT_SUPPORTED)
        return;
    bool gone = code == NVML_NOT_FOUND || code == NVML_GPU_IS_LOST || code == NVML_INVALID_ARGUMENT;
    ret_look->presence = gone ? DEVICE_GONE : DEVICE_UNKNOWN;
    snprintf(ret_look->why, sizeof(ret_look->why), "NVML says of %s: %s", at, nvml->error(code));
}

const struct device_driver device_nvidia = {
    .name = "nvidia",
    .at = "its UUID, as `nvidia-smi -L` lists it, its PCI bus id, or its number",
    .open = open_nvml,
    .look = look,
    .close = close_nvml};
