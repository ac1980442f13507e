#include "controller/engine/estimate.h"

__extension__ typedef unsigned __int128 wide;

static uint64_t saturate(wide value)
{
    return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

uint64_t estimate_duration(const struct engine *engine, const struct job *job)
{
    uint64_t maps = 0;
    wide work_ns = 0;
    for (uint32_t s = 0; s < job->n_stages; s++)
        for (uint32_t t = 0; t < job->stages[s]->n_tasks; t++) {
            const struct task *task = &job->stages[s]->tasks[t];
            maps += !task->bytes;
            work_ns += task->bytes ? 0 : task->compute_ns;
        }
    if (job->estimate_ns >= 0)
        work_ns = (wide)maps * (uint64_t)job->estimate_ns;
    uint64_t bytes = job->estimate_bytes >= 0 ? (uint64_t)job->estimate_bytes : job->shuffle_bytes;
    int64_t slots = engine->total.amount[RES_SLOTS];
    uint64_t bps = engine->uplink_bps;
    wide map_ns = work_ns / (uint64_t)(slots > 0 ? slots : 1);
    wide shuffle_ns = (wide)bytes * 8 * 1000000000u / (bps ? bps : 1);
    return saturate(map_ns + shuffle_ns);
}
