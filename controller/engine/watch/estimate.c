#include "controller/engine/watch/estimate.h"

#include "controller/engine/books/limit.h"
#include "controller/engine/watch/order.h"

__extension__ typedef unsigned __int128 wide;

static uint64_t saturate(wide value)
{
    return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

uint64_t estimate_duration(const struct engine *engine, const struct job *job)
{
    const struct framework_job *sums = job->framework;
    uint64_t maps = sums ? sums->maps : job->maps;
    wide work_ns = sums ? sums->work_ns : job->maps_ns;
    if (job->estimate_ns >= 0)
        work_ns = (wide)maps * (uint64_t)job->estimate_ns;
    uint64_t bytes = job->estimate_bytes >= 0 ? (uint64_t)job->estimate_bytes : job->shuffle_bytes;
    wide map_ns = work_ns / (engine->keyed_slots ? engine->keyed_slots : 1);
    wide shuffle_ns = (wide)bytes * 8 * 1000000000u / (engine->keyed_bps ? engine->keyed_bps : 1);
    return saturate(map_ns + shuffle_ns);
}

static uint64_t slots_up(const struct engine *engine)
{
    int64_t slots = engine->total.amount[RES_SLOTS];
    return slots > 0 ? (uint64_t)slots : 0;
}

static void take_cluster(struct engine *engine)
{
    if (slots_up(engine))
        engine->keyed_slots = slots_up(engine);
    if (engine->uplink_bps)
        engine->keyed_bps = engine->uplink_bps;
}

void estimate_submitted(struct engine *engine, struct job *job)
{
    if (!engine->active.n)
        take_cluster(engine);
    job->estimate_key = estimate_duration(engine, job);
}

static bool is_another(uint64_t now, uint64_t keyed)
{
    return now && (!keyed || now / 2 > keyed || keyed / 2 > now);
}

static void follow_cluster(struct engine *engine)
{
    if (!is_another(slots_up(engine), engine->keyed_slots) &&
        !is_another(engine->uplink_bps, engine->keyed_bps))
        return;
    take_cluster(engine);
    for (struct sorted_node *node = sorted_first(&engine->jobs); node; node = sorted_next(node)) {
        struct job *job = container_of(node, struct job, by_number);
        engine->counters.visits++;
        if (job->state != JOB_ACTIVE)
            continue;
        job->estimate_key = estimate_duration(engine, job);
        order_change(engine, job);
    }
}

void estimate_follow_job(struct engine *engine, struct job *job)
{
    /* WHY not while a dump is loaded: the job keeps the estimate that it had. */
    if (engine->suspended)
        return;
    limit_come_back(job);
    job->estimate_key = estimate_duration(engine, job);
    order_change(engine, job);
}

const struct listener estimate_hears = {.cluster_changed = follow_cluster};
