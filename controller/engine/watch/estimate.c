#include "controller/engine/watch/estimate.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/limit.h"
#include "controller/engine/watch/order.h"

__extension__ typedef unsigned __int128 wide;

static uint64_t saturate(wide value)
{
    return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

struct keyed estimate_cluster(const struct engine *engine, const struct job *job)
{
    const bool waits = engine->rekeyed && job->number >= engine->rekeyed - 1;
    struct keyed keyed = waits ? engine->keyed_before : engine->keyed;
    keyed.slots = keyed.slots ? keyed.slots : 1;
    keyed.bps = keyed.bps ? keyed.bps : 1;
    return keyed;
}

uint64_t estimate_duration(const struct engine *engine, const struct job *job)
{
    const struct framework_job *sums = job->framework;
    uint64_t maps = sums ? sums->maps : job->maps;
    wide work_ns = sums ? sums->work_ns : job->maps_ns;
    if (job->estimate_ns >= 0)
        work_ns = (wide)maps * (uint64_t)job->estimate_ns;
    uint64_t bytes = job->estimate_bytes >= 0 ? (uint64_t)job->estimate_bytes : job->shuffle_bytes;
    const struct keyed keyed = estimate_cluster(engine, job);
    return saturate(work_ns / keyed.slots + (wide)bytes * 8 * 1000000000u / keyed.bps);
}

static uint64_t slots_up(const struct engine *engine)
{
    int64_t slots = engine->total.amount[RES_SLOTS];
    return slots > 0 ? (uint64_t)slots : 0;
}

static void rekeying_end(struct engine *engine)
{
    engine->rekeyed = 0;
    engine->keyed_before = (struct keyed){0};
}

static void take_cluster(struct engine *engine)
{
    if (slots_up(engine))
        engine->keyed.slots = slots_up(engine);
    if (engine->uplink_bps)
        engine->keyed.bps = engine->uplink_bps;
}

void estimate_submitted(struct engine *engine, struct job *job)
{
    if (!engine->active.n) {
        take_cluster(engine);
        rekeying_end(engine);
    }
    job->estimate_key = estimate_duration(engine, job);
}

static bool is_another(uint64_t now, uint64_t keyed)
{
    return now && (!keyed || now / 2 > keyed || keyed / 2 > now);
}

/* At the engine's start there are no jobs, and in a dump each has its key. */
static uint64_t jobs_at_once(const struct engine *engine)
{
    const bool bounded = engine_follows(engine, RULE_KEYS_WAIT) && engine->config.step_tasks_max;
    return bounded && !engine->suspended ? engine->config.step_tasks_max : UINT64_MAX;
}

/* The key that a job has follows from how far this has come: first it has come, then the key is
 * computed. */
static void rekey(struct engine *engine)
{
    const struct sorted_key from = {engine->rekeyed - 1, 0, 0};
    struct sorted_node *node = sorted_from(&engine->jobs, from);
    for (uint64_t left = jobs_at_once(engine); node && left; node = sorted_next(node), left--) {
        struct job *job = container_of(node, struct job, by_number);
        engine->counters.visits++;
        engine->rekeyed = job->number + 2;
        if (job->state != JOB_ACTIVE)
            continue;
        job->estimate_key = estimate_duration(engine, job);
        order_change(engine, job);
    }
    if (!node)
        rekeying_end(engine);
}

/* WHY not while keys are computed: a cluster that changes again and again would be followed for the
 * first jobs alone. */
static void follow_cluster(struct engine *engine)
{
    if (engine->rekeyed || (!is_another(slots_up(engine), engine->keyed.slots) &&
                            !is_another(engine->uplink_bps, engine->keyed.bps)))
        return;
    engine->keyed_before = engine->keyed;
    engine->rekeyed = 1;
    take_cluster(engine);
    rekey(engine);
}

void estimate_go_on(struct engine *engine)
{
    if (!engine->rekeyed)
        return;
    rekey(engine);
    follow_cluster(engine);
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
