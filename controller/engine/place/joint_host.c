#include "controller/engine/place/joint_host.h"

#include "controller/engine/base/resources.h"
#include "controller/engine/books/cluster.h"

__extension__ typedef unsigned __int128 wide;

enum { FEW = 4 };

uint64_t joint_link_bytes(const struct engine *engine, uint32_t ms)
{
    if (!engine->up || !engine->uplink_bps)
        return UINT64_MAX - 1;
    return (uint64_t)((wide)engine->uplink_bps * ms / (8000 * (wide)engine->up));
}

struct asking joint_ask(const struct engine *engine, const struct task *task)
{
    struct asking a = {.engine = (struct engine *)(uintptr_t)engine,
                       .task = (struct task *)(uintptr_t)task,
                       .short_bytes = joint_link_bytes(engine, JOINT_SHORT_MS),
                       .long_bytes = joint_link_bytes(engine, JOINT_LONG_MS)};
    a.length = task->bytes > a.long_bytes    ? RECEIVES_LONG
               : task->bytes > a.short_bytes ? RECEIVES_MEDIUM
                                             : RECEIVES_SHORT;
    return a;
}

int64_t joint_slots(const struct host *host, const struct shape *shape)
{
    int64_t slots = 0;
    for (uint32_t i = 0; i < host->n_units; i++) {
        const struct unit *unit = host_unit(host, shape, i);
        bool possible = host->shapes[shape->index]->fit[i].possible;
        slots += possible ? resources_times(&unit->total, &shape->demand) : 0;
    }
    return slots;
}

static int64_t free_slots(const struct host *host, const struct shape *shape)
{
    int64_t slots = 0;
    for (uint32_t i = 0; i < host->n_units; i++)
        slots += host->shapes[shape->index]->fit[i].times;
    return slots;
}

static int64_t reserve_of(int64_t slots)
{
    int64_t reserve = slots / 4 > 1 ? slots / 4 : 1;
    return reserve < slots ? reserve : slots - 1;
}

static int64_t long_tasks(const struct host *host, uint64_t long_bytes)
{
    const struct attempt *attempt;
    int64_t n = 0;
    TAILQ_FOREACH (attempt, &host->attempts, on_host)
        n += attempt->task && attempt->task->bytes > long_bytes;
    return n;
}

/* Receivers there: of its own job (returned), of earlier jobs, all. */
static uint32_t count_receivers(const struct asking *a, struct offer *offer)
{
    const struct job *job = a->task->stage->job;
    const struct sorted *receiving = &offer->host->receiving[ORDER_COFLOW];
    uint32_t own = 0;
    offer->receivers = (uint32_t)receiving->n;
    offer->earlier = 0;
    for (struct sorted_node *node = sorted_first(receiving); node; node = sorted_next(node)) {
        const struct attempt *attempt = container_of(node, struct attempt, by_size[ORDER_COFLOW]);
        if (!attempt->task)
            continue;
        own += attempt->task->stage->job == job;
        offer->earlier += sorted_compare(attempt->task->stage->job->turn, job->turn) < 0;
    }
    return own;
}

/* Receivers of earlier jobs that do not close the host. */
static uint32_t tolerated(int64_t slots, int64_t free)
{
    return free > reserve_of(slots) + 1 && slots - free < FEW;
}

bool joint_is_open_to(const struct host *host, const struct shape *shape, struct sorted_key turn)
{
    const struct sorted *receiving = &host->receiving[ORDER_COFLOW];
    uint32_t earlier = 0;
    for (struct sorted_node *node = sorted_first(receiving); node; node = sorted_next(node)) {
        const struct attempt *attempt = container_of(node, struct attempt, by_size[ORDER_COFLOW]);
        earlier += attempt->task && sorted_compare(attempt->task->stage->job->turn, turn) < 0;
    }
    return earlier <= tolerated(joint_slots(host, shape), free_slots(host, shape));
}

enum rule joint_closed_by(const struct asking *a, struct host *host, struct offer *ret_offer)
{
    const struct shape *shape = a->task->stage->bucket->shape;
    int64_t slots = joint_slots(host, shape), free = free_slots(host, shape);
    int64_t reserve = reserve_of(slots);
    *ret_offer = (struct offer){.host = host, .task = a->task};
    if (count_receivers(a, ret_offer))
        return RULE_OWN;
    if (ret_offer->earlier > tolerated(slots, free))
        return RULE_EARLIER;
    if (a->length == RECEIVES_LONG && long_tasks(host, a->long_bytes) >= slots - reserve)
        return RULE_KEPT;
    if (a->until_ns && !near_is_preferred(a->near, a->task, host))
        return RULE_FAR;
    return RULES;
}

uint32_t joint_foreign_quarters(const struct host *host)
{
    return host->foreign_permille / 250;
}

bool joint_is_better(const struct offer *a, const struct offer *b)
{
    if (a->task->bytes != b->task->bytes)
        return a->task->bytes > b->task->bytes;
    if (a->earlier != b->earlier)
        return a->earlier < b->earlier;
    if (joint_foreign_quarters(a->host) != joint_foreign_quarters(b->host))
        return joint_foreign_quarters(a->host) < joint_foreign_quarters(b->host);
    if (a->outputs != b->outputs)
        return a->outputs > b->outputs;
    if (a->receivers != b->receivers)
        return a->receivers < b->receivers;
    if (a->host->running != b->host->running)
        return a->host->running < b->host->running;
    return a->host->index < b->host->index;
}
