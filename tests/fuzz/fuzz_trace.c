/* Fuzz target of Facebook Coflow traces: what is read keeps the bounds that the format states. */
#include "lib/workload/workload_fb.h"

#include <stdbool.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool coflow_is_sound(const struct workload_fb *trace, const struct workload_fb_coflow *c)
{
    if (c->arrival_ms < 0 || c->arrival_ms > (int64_t)WORKLOAD_FB_ARRIVAL_MAX || !c->n_mappers ||
        !c->n_reducers)
        return false;
    for (uint32_t i = 0; i < c->n_mappers; i++)
        if (c->mappers[i] >= trace->n_ports)
            return false;
    for (uint32_t i = 0; i < c->n_reducers; i++)
        if (c->reducers[i].port >= trace->n_ports || c->reducers[i].bytes < 0)
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct workload_fb *trace = NULL;
    struct err err;
    if (workload_fb_parse((const char *)data, size, "fuzz", &trace, &err) < 0)
        return 0;
    for (size_t i = 0; i < trace->n_coflows; i++)
        if (!coflow_is_sound(trace, &trace->coflows[i]))
            abort();
    workload_fb_destroy(trace);
    return 0;
}
