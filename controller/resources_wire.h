/* Resources of the engine and of messages: the same amounts, in named fields there. Pure. */
#pragma once

#include "controller/engine/event.h"
#include "schemas/duopoly.pb.h"

static inline struct resources resources_from_wire(const duopoly_Resources *wire)
{
    return (struct resources){{
        [RES_SLOTS] = wire->slots,
        [RES_CPU_MILLI] = wire->cpu_milli,
        [RES_MEM_BYTES] = wire->mem_bytes,
        [RES_GPU_MILLI] = wire->gpu_milli,
        [RES_GPU_MEM_BYTES] = wire->gpu_mem_bytes,
        [RES_IO_BYTES_S] = wire->io_bytes_s,
    }};
}

static inline duopoly_Resources resources_to_wire(const struct resources *resources)
{
    return (duopoly_Resources){
        .slots = resources->amount[RES_SLOTS],
        .cpu_milli = resources->amount[RES_CPU_MILLI],
        .mem_bytes = resources->amount[RES_MEM_BYTES],
        .gpu_milli = resources->amount[RES_GPU_MILLI],
        .gpu_mem_bytes = resources->amount[RES_GPU_MEM_BYTES],
        .io_bytes_s = resources->amount[RES_IO_BYTES_S],
    };
}
