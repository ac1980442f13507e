/* NEAT (Munir et al., CoNEXT 2016) in its Coflow version CCT-TCF with the serial heuristic, a
 * baseline: reduce tasks one at a time, the job's largest first, each on the host with room where
 * its transfers would end first. On a host they would end at the maximum, over the links l that
 * they cross, of (x_l + bytes ahead on l) ÷ rate of l. x_l are the task's own bytes on l; ahead is
 * what is left of transfers of Coflows that are no larger. On a network that shares evenly
 * (neat-fair) each larger one adds min(x_l, what is left of it). Maps as in delay scheduling; no
 * slot is held for a reduce task. Ties by host.
 *
 * Reports of received bytes tell what is left. A task's bytes from a host are estimated as its part
 * of the job's outputs there: exact where transfers are split evenly over the maps.
 *
 * WHY not O(log n): the published algorithm compares all hosts; the cost is O(hosts + attempts +
 * receiving jobs × hosts) a pick. */
#include "controller/engine/base/ground.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/spread.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/place/place.h"
#include "controller/engine/watch/queues.h"

#include <stdlib.h>

#define REASON_ENDS_FIRST ((enum reason)10)

__extension__ typedef unsigned __int128 wide;

struct neat {
    struct engine *engine;
    struct task *task;
    uint64_t coflow; /* of the task's stage */
    bool fair;
};

/* For one pick: bytes ahead on the host's links, and what the task itself would read from there. */
struct neat_host {
    const struct host *host;
    uint64_t up, down, own;
};

/* How many of a job's outputs are on that host. */
struct spread {
    struct neat_host *at;
    uint64_t outputs;
};

/* A list of the job's outputs. WHY not the engine's tree: each pick reads those of all jobs that
 * receive, while outputs change only when maps end. */
struct neat_job {
    struct locality_job local;
    struct spread *spread; /* owned */
    uint32_t n, room;
    uint64_t outputs; /* the sum */
    bool valid;
};

static struct neat_host *neat_host(const struct host *host)
{
    return host->kept[QUESTION_PLACE];
}

static void host_init(struct engine *engine, union policy_of of, void *state)
{
    (void)engine;
    struct neat_host *kept = state;
    kept->host = of.host;
}

static void job_done(struct engine *engine, union policy_of of, void *state)
{
    (void)engine;
    (void)of;
    struct neat_job *kept = state;
    free(kept->spread);
}

static void outputs_moved(struct engine *engine, struct job *job)
{
    (void)engine;
    struct neat_job *kept = job->kept[QUESTION_PLACE];
    kept->valid = false;
}

static struct neat_job *outputs_of(struct engine *engine, struct job *job)
{
    struct neat_job *list = job->kept[QUESTION_PLACE];
    if (list->valid)
        return list;
    if (job->output_hosts > list->room) {
        free(list->spread);
        list->spread = NULL;
        list->room = 0;
        list->spread = engine_allocate(engine, 2 * job->output_hosts, sizeof(*list->spread));
        list->room = 2 * job->output_hosts;
    }
    list->n = 0;
    list->outputs = 0;
    for (struct sorted_node *node = sorted_first(spread_ordered(job)); node;
         node = sorted_next(node)) {
        const struct job_host *output = container_of(node, struct job_host, by_host);
        list->spread[list->n++] = (struct spread){neat_host(output->host), output->outputs};
        list->outputs += output->outputs;
    }
    list->valid = true;
    return list;
}

static uint64_t part(uint64_t bytes, uint64_t outputs, uint64_t of)
{
    uint64_t product;
    if (!__builtin_mul_overflow(bytes, outputs, &product))
        return product / of;
    return (uint64_t)((wide)bytes * outputs / of);
}

static uint64_t left_of(const struct attempt *attempt)
{
    return attempt->remote_bytes > attempt->received_bytes
               ? attempt->remote_bytes - attempt->received_bytes
               : 0;
}

/* Bytes of a transfer with `left` bytes that precede the end of one with `own` bytes on the same
 * link. */
static uint64_t ahead(const struct neat *n, uint64_t coflow, uint64_t left, uint64_t own)
{
    if (coflow <= n->coflow)
        return left;
    return !n->fair ? 0 : left < own ? left : own;
}

/* Adds the attempt's bytes to what is ahead on its links. */
static void weigh(const struct neat *n, const struct attempt *attempt)
{
    uint64_t left = left_of(attempt), coflow = attempt->bytes[ORDER_COFLOW];
    if (!attempt->task || !left || (coflow > n->coflow && !n->fair))
        return;
    const struct neat_job *list = outputs_of(n->engine, attempt->task->stage->job);
    uint64_t outputs = 0, from_host = 0;
    struct neat_host *own = neat_host(attempt->host);
    own->down += ahead(n, coflow, left, n->task->bytes);
    for (uint32_t i = 0; i < list->n; i++) {
        struct neat_host *at = list->spread[i].at;
        if (list->spread[i].outputs != outputs) {
            outputs = list->spread[i].outputs;
            from_host = part(left, outputs, list->outputs);
        }
        if (at != own)
            at->up += ahead(n, coflow, from_host, at->own);
    }
}

static uint64_t time_of(uint64_t bytes, uint64_t bps)
{
    wide ns = (wide)bytes * 8000000000u / (bps ? bps : 1);
    return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* The two latest of the uplinks that the task's inputs cross. WHY two: without its own host the
 * other one counts. */
static void latest_uplinks(const struct neat_job *list, uint64_t ret_ns[2],
                           const struct neat_host **ret_first)
{
    ret_ns[0] = ret_ns[1] = 0;
    *ret_first = NULL;
    for (uint32_t i = 0; i < list->n; i++) {
        const struct neat_host *at = list->spread[i].at;
        uint64_t ns = time_of(at->own + at->up, at->host->uplink_bps);
        if (ns > ret_ns[0] || !*ret_first) {
            ret_ns[1] = ret_ns[0];
            ret_ns[0] = ns;
            *ret_first = at;
        } else if (ns > ret_ns[1]) {
            ret_ns[1] = ns;
        }
    }
}

static uint64_t cost_on(const struct neat *n, const struct neat_host *at,
                        const uint64_t latest_ns[2], const struct neat_host *first)
{
    uint64_t remote = n->task->bytes - at->own;
    uint64_t down_ns = time_of(remote + at->down, at->host->downlink_bps),
             up_ns = latest_ns[at == first];
    return remote ? down_ns > up_ns ? down_ns : up_ns : 0;
}

static void clear_hosts(const struct engine *engine)
{
    for (uint32_t h = 0; h < engine->n_hosts; h++)
        if (engine->hosts[h]) {
            struct neat_host *at = neat_host(engine->hosts[h]);
            at->up = at->down = at->own = 0;
        }
}

static struct claim choose(struct engine *engine, struct bucket *bucket, bool fair)
{
    struct neat n = {engine, bucket_largest(engine, bucket), 0, fair};
    n.coflow = stage_coflow_bytes(n.task->stage);
    clear_hosts(engine);
    const struct neat_job *list = outputs_of(engine, n.task->stage->job);
    for (uint32_t i = 0; i < list->n; i++)
        list->spread[i].at->own = part(n.task->bytes, list->spread[i].outputs, list->outputs);
    for (uint32_t h = 0; h < engine->n_hosts; h++)
        for (struct sorted_node *node =
                 engine->hosts[h] ? sorted_first(&engine->hosts[h]->receiving[ORDER_COFLOW]) : NULL;
             node; node = sorted_next(node))
            weigh(&n, container_of(node, struct attempt, by_size[ORDER_COFLOW]));
    uint64_t latest_ns[2], best_ns = UINT64_MAX;
    const struct neat_host *first;
    struct fit *best = NULL;
    latest_uplinks(list, latest_ns, &first);
    for (uint32_t h = 0; h < engine->n_hosts; h++) {
        struct host *host = engine->hosts[h];
        if (!host || !host->shapes[bucket->shape->index]->fitting)
            continue;
        uint64_t ns = cost_on(&n, neat_host(host), latest_ns, first);
        engine->counters.visits++;
        if (!best || ns < best_ns) {
            best = host_fit(host, bucket->shape);
            best_ns = ns;
        }
    }
    return (struct claim){n.task, best, REASON_ENDS_FIRST, clamp_i64(best_ns),
                          clamp_i64(neat_host(best->host)->down)};
}

static struct claim choose_ordered(struct engine *engine, struct bucket *bucket)
{
    return choose(engine, bucket, false);
}

static struct claim choose_fair(struct engine *engine, struct bucket *bucket)
{
    return choose(engine, bucket, true);
}

static bool neat_pick(struct engine *engine, struct claim *ret_claim)
{
    return place_delayed(engine, choose_ordered, ret_claim);
}

static bool neat_fair_pick(struct engine *engine, struct claim *ret_claim)
{
    return place_delayed(engine, choose_fair, ret_claim);
}

#define STATE                                                                                      \
    {                                                                                              \
        [POLICY_JOB] = {.size = sizeof(struct neat_job),                                           \
                        .init = locality_job_init,                                                 \
                        .done = job_done},                                                         \
        [POLICY_HOST] = {.size = sizeof(struct neat_host), .init = host_init},                     \
    }

static const struct policy_reason reasons[] = {
    PLACE_PAIR_REASONS,
    PLACE_HELD_MAP_REASON,
    {DECISION_START, REASON_ENDS_FIRST, "ends-first", "ns until its transfers would end",
     "bytes ahead of them on the downlink",
     "Runs on {host}, where its transfers would end first, after {left.3s} s. "},
    {0}};

const struct place_policy place_neat = {
    .policy = {.name = "neat",
               .state = STATE,
               .parameters = place_held_parameters,
               .reasons = reasons,
               .hears.outputs_moved = outputs_moved,
               .hears.job_grew = locality_job_grew},
    .pick = neat_pick,
    .first_local = true,
    .even = true,
    .held = place_held_map,
};
const struct place_policy place_neat_fair = {
    .policy = {.name = "neat-fair",
               .state = STATE,
               .parameters = place_held_parameters,
               .reasons = reasons,
               .hears.outputs_moved = outputs_moved,
               .hears.job_grew = locality_job_grew},
    .pick = neat_fair_pick,
    .first_local = true,
    .even = true,
    .held = place_held_map,
};
