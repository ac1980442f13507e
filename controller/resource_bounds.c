#include "controller/resource_bounds.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
    const char *name;
    int64_t most;
} bounds[ENGINE_RESOURCES] = {
    [RES_SLOTS] = {"slots", 0},
    [RES_CPU_MILLI] = {"cpu_milli", INT64_C(1) << 24},
    [RES_MEM_BYTES] = {"mem_bytes", INT64_C(1) << 50},
    [RES_GPU_MILLI] = {"gpu_milli", INT64_C(1) << 24},
    [RES_GPU_MEM_BYTES] = {"gpu_mem_bytes", INT64_C(1) << 50},
    [RES_IO_BYTES_S] = {"io_bytes_s", INT64_C(1) << 50},
};

bool resource_bounds_cut(struct resources *resources, int64_t slots_max, char *ret_text,
                         size_t size)
{
    bool cut = false;
    for (int r = 0; r < ENGINE_RESOURCES; r++) {
        const int64_t most = r == RES_SLOTS ? slots_max : bounds[r].most;
        if (!most || resources->amount[r] <= most)
            continue;
        if (!cut)
            snprintf(ret_text, size, "claims %s %" PRId64 ": %" PRId64 " count", bounds[r].name,
                     resources->amount[r], most);
        resources->amount[r] = most;
        cut = true;
    }
    return cut;
}
