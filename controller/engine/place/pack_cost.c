#include "controller/engine/place/pack_cost.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/racks.h"
#include "controller/engine/place/joint.h"

static wide link_ns(const struct engine *engine, wide bytes)
{
    return bytes * 8 * engine->up * 1000000000 / engine->uplink_bps;
}

wide pack_shuffle_ns(const struct engine *engine, const struct job *job)
{
    return link_ns(engine, job->shuffle_bytes);
}

/* Where its tasks may run. */
struct ground {
    uint64_t hosts, of_rack; /* of_rack: hosts of the rack; 0: no rack is short of uplink */
    wide racks_bps;
};

/* Bytes that go from everywhere to everywhere, of which a part stays in its rack: how long the
 * uplinks of all racks take for the rest. */
static wide racks_ns(const struct ground *ground, wide bytes)
{
    wide bits = bytes * 8 * (ground->hosts - ground->of_rack);
    return ground->of_rack ? bits * 1000000000 / (ground->hosts * ground->racks_bps) : 0;
}

/* Of all tasks of a job, and of its transfers when they are spread over all hosts, or over those of
 * a rack; further_ns: for how much longer the racks' uplinks take than the hosts'. */
struct work {
    wide compute_ns, input_bytes, spread_bytes, rack_bytes, further_ns;
};

static wide most(wide a, wide b)
{
    return a > b ? a : b;
}

static void add_transfers(const struct engine *engine, const struct ground *ground, wide bytes,
                          uint64_t largest, struct work *work)
{
    wide link_bytes = most(bytes / ground->hosts, largest);
    work->spread_bytes += link_bytes;
    if (!ground->of_rack)
        return;
    wide even_ns = link_ns(engine, link_bytes), ns = racks_ns(ground, bytes);
    work->rack_bytes += most(bytes / ground->of_rack, largest);
    work->further_ns += ns > even_ns ? ns - even_ns : 0;
}

static void add_stage(const struct engine *engine, const struct stage *stage,
                      const struct ground *ground, struct work *work, uint64_t *largest_input)
{
    uint64_t largest = 0, took_ns = 0;
    if (stage->framework)
        took_ns = ((struct joint_engine *)engine->kept[QUESTION_PLACE])->pack.took_ns;
    for (uint32_t t = 0; t < stage->n_tasks; t++) {
        const struct task *task = &stage->tasks[t];
        work->compute_ns += task->compute_ns ? task->compute_ns : took_ns;
        work->input_bytes += task->input_bytes;
        largest = task->bytes > largest ? task->bytes : largest;
        *largest_input = task->input_bytes > *largest_input ? task->input_bytes : *largest_input;
    }
    add_transfers(engine, ground, stage->total_bytes, largest, work);
}

static struct work work_of(const struct engine *engine, const struct job *job,
                           const struct ground *ground)
{
    struct work work = {0};
    uint64_t largest_input = 0;
    for (uint32_t s = 0; s < job->n_stages; s++)
        add_stage(engine, job->stages[s], ground, &work, &largest_input);
    work.spread_bytes += most(work.input_bytes / ground->hosts, largest_input);
    if (ground->of_rack)
        work.rack_bytes += most(work.input_bytes / ground->of_rack, largest_input);
    return work;
}

/* By what is left of it, and no other job's. WHY each of a framework's: what it has left to compute
 * is not known (left_ns is not kept), nor are its later stages. */
static bool waits_for_links(const struct engine *engine, const struct job *job,
                            const struct ground *ground)
{
    int64_t slots = engine->total.amount[RES_SLOTS];
    wide slots_ns = (wide)job->left_ns / (uint64_t)(slots > 0 ? slots : 1);
    wide links_ns =
        most(link_ns(engine, job->left_bytes) / engine->up, racks_ns(ground, job->left_bytes));
    return job->framework || PACK_LINKS_OF * links_ns >= PACK_LINKS * slots_ns;
}

static bool uses_links(const struct engine *engine, const struct job *job,
                       const struct ground *ground)
{
    const struct joint_job *kept = job->kept[QUESTION_PLACE];
    if (engine_follows(engine, RULE_LINKS_SHARED) && kept && kept->pack.packed)
        return false;
    return !engine_follows(engine, RULE_LINKS_SHORT) || waits_for_links(engine, job, ground);
}

static uint32_t jobs_behind(const struct engine *engine, const struct job *job,
                            const struct ground *ground)
{
    uint32_t n = 0, looked = 0;
    const struct sorted_node *node = sorted_next(&job->by_turn);
    for (; node && looked < PACK_BEHIND; node = sorted_next(node), looked++)
        n += uses_links(engine, container_of(node, struct job, by_turn), ground);
    return n;
}

static wide bytes_ahead(const struct engine *engine, const struct job *job,
                        const struct ground *ground)
{
    wide bytes = 0;
    uint32_t looked = 0;
    const struct sorted_node *node = sorted_previous(&job->by_turn);
    bool counts = engine_follows(engine, RULE_LINKS_SHARED);
    for (; counts && node && looked < PACK_BEHIND; node = sorted_previous(node), looked++) {
        const struct job *other = container_of(node, struct job, by_turn);
        bytes += uses_links(engine, other, ground) ? other->left_bytes : 0;
    }
    return bytes;
}

/* The racks of a cluster where their uplinks are told, and this one has less than its hosts'. */
static struct ground ground_of(const struct engine *engine, const struct host *home, uint32_t hosts)
{
    struct ground ground = {.hosts = hosts, .racks_bps = engine->racks_bps};
    const struct rack *rack = engine->racks_told ? racks_of(engine, home) : NULL;
    if (rack && rack->up < hosts && rack_uplink_bps(rack) < rack->links_bps)
        ground.of_rack = rack->up;
    return ground;
}

bool pack_costs(const struct engine *engine, const struct job *job, const struct host *home,
                struct pack_costs *ret)
{
    const struct shape *shape = job->buckets[0]->shape;
    struct ground ground = ground_of(engine, home, shape->capable_hosts);
    int64_t slots = joint_slots(home, shape);
    if (ground.hosts < 2 || slots < 1 || !engine->up || !engine->uplink_bps)
        return false;
    struct work work = work_of(engine, job, &ground);
    uint32_t behind = jobs_behind(engine, job, &ground);
    wide ahead_bytes = bytes_ahead(engine, job, &ground);
    *ret = (struct pack_costs){.compute_ns = work.compute_ns / (uint64_t)slots,
                               .shuffle_ns = pack_shuffle_ns(engine, job)};
    wide others_ns = (behind * ret->shuffle_ns + link_ns(engine, ahead_bytes)) / ground.hosts;
    wide racks_others_ns =
        behind * racks_ns(&ground, job->shuffle_bytes) + racks_ns(&ground, ahead_bytes);
    ret->one_ns = ret->compute_ns + link_ns(engine, work.input_bytes);
    ret->spread_ns = ret->compute_ns / ground.hosts + link_ns(engine, work.spread_bytes) +
                     work.further_ns + most(others_ns, racks_others_ns);
    if (!ground.of_rack)
        return true;
    ret->of_rack = ground.of_rack;
    ret->rack_ns = ret->compute_ns / ground.of_rack + link_ns(engine, work.rack_bytes) + others_ns;
    ret->racks_ns = racks_ns(&ground, job->shuffle_bytes) * engine->racks.n;
    return true;
}
