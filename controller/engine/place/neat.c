/* NEAT (Munir et al., CoNEXT 2016) in its Coflow version CCT-TCF with the serial heuristic, a
 * baseline: reduce tasks one at a time, the job's largest first, each on the host with room where
 * its transfers would end first. That a host would have them end at max over the links l that they
 * cross of (x_l + what is ahead of them on l) ÷ rate of l where x_l are the task's own bytes on l
 * and "ahead" is what is left of transfers of Coflows that are no larger. On a network that shares
 * evenly (neat-fair) each larger one adds what it would take beside x_l: as much, at most what is
 * left of it. Maps as delay scheduling has them; no slot is held for a reduce task. Ties by host.
 *
 * What is left is known as reports of received bytes tell it. A task's bytes from a host are taken
 * as its part of the job's outputs: exact where transfers are split evenly over the maps.
 *
 * WHY not O(log n): the published algorithm compares all hosts; the cost is O(hosts + attempts +
 * receiving jobs × hosts) a pick. */
#include "controller/engine/cluster.h"
#include "controller/engine/place/place.h"

#include <stdlib.h>

__extension__ typedef unsigned __int128 wide;

struct neat {
    struct engine *engine;
    struct task *task;
    uint64_t coflow; /* of the task's stage */
    bool fair;
};

/* Brings the job's list of outputs up to date. WHY a list beside the tree: each pick reads those of
 * all jobs that receive, while outputs change only as maps end. */
static void list_outputs(struct engine *engine, struct job *job)
{
    if (job->spread_valid)
        return;
    if (job->outputs.n > job->spread_room) {
        free(job->spread);
        job->spread_room = 0;
        job->spread = engine_allocate(engine, 2 * job->outputs.n, sizeof(*job->spread));
        job->spread_room = 2 * (uint32_t)job->outputs.n;
    }
    job->n_spread = 0;
    job->n_outputs = 0;
    for (struct sorted_node *node = sorted_first(&job->outputs); node; node = sorted_next(node)) {
        const struct output_host *output = sorted_owner(node, struct output_host, by_host);
        job->spread[job->n_spread++] = (struct spread){output->host, output->outputs};
        job->n_outputs += output->outputs;
    }
    job->spread_valid = true;
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

/* What a transfer with `left` bytes takes before one of `own` bytes on the same link has ended. */
static uint64_t ahead(const struct neat *n, uint64_t coflow, uint64_t left, uint64_t own)
{
    if (coflow <= n->coflow)
        return left;
    return !n->fair ? 0 : left < own ? left : own;
}

/* Adds what is ahead on all links: into hosts' neat_down and neat_up. */
static void weigh(const struct neat *n, const struct attempt *attempt)
{
    uint64_t left = left_of(attempt), coflow = attempt->bytes[ORDER_COFLOW];
    if (!attempt->task || !left || (coflow > n->coflow && !n->fair))
        return;
    struct job *job = attempt->task->stage->job;
    uint64_t outputs = 0, from_host = 0;
    list_outputs(n->engine, job);
    attempt->host->neat_down += ahead(n, coflow, left, n->task->bytes);
    for (uint32_t i = 0; i < job->n_spread; i++) {
        struct host *host = job->spread[i].host;
        if (job->spread[i].outputs != outputs) {
            outputs = job->spread[i].outputs;
            from_host = part(left, outputs, job->n_outputs);
        }
        if (host != attempt->host)
            host->neat_up += ahead(n, coflow, from_host, host->neat_own);
    }
}

static uint64_t time_of(uint64_t bytes, uint64_t bps)
{
    wide ns = (wide)bytes * 8000000000u / (bps ? bps : 1);
    return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* The two latest of the uplinks that the task's inputs leave by: without its own host the other one
 * counts. */
static void latest_uplinks(const struct neat *n, uint64_t ret_ns[2], const struct host **ret_first)
{
    ret_ns[0] = ret_ns[1] = 0;
    *ret_first = NULL;
    const struct job *job = n->task->stage->job;
    for (uint32_t i = 0; i < job->n_spread; i++) {
        const struct host *host = job->spread[i].host;
        uint64_t ns = time_of(host->neat_own + host->neat_up, host->uplink_bps);
        if (ns > ret_ns[0] || !*ret_first) {
            ret_ns[1] = ret_ns[0];
            ret_ns[0] = ns;
            *ret_first = host;
        } else if (ns > ret_ns[1]) {
            ret_ns[1] = ns;
        }
    }
}

static uint64_t cost_on(const struct neat *n, const struct host *host, const uint64_t latest_ns[2],
                        const struct host *first)
{
    uint64_t remote = n->task->bytes - host->neat_own;
    uint64_t down_ns = time_of(remote + host->neat_down, host->downlink_bps),
             up_ns = latest_ns[host == first];
    return remote ? down_ns > up_ns ? down_ns : up_ns : 0;
}

static struct claim choose(struct engine *engine, struct bucket *bucket, bool fair)
{
    struct neat n = {engine, place_largest(engine, bucket), 0, fair};
    struct job *job = n.task->stage->job;
    n.coflow =
        n.task->stage->coflow_fixed ? n.task->stage->coflow_bytes : n.task->stage->total_bytes;
    for (uint32_t h = 0; h < engine->n_hosts; h++)
        if (engine->hosts[h])
            engine->hosts[h]->neat_up = engine->hosts[h]->neat_down = engine->hosts[h]->neat_own =
                0;
    list_outputs(engine, job);
    for (uint32_t i = 0; i < job->n_spread; i++)
        job->spread[i].host->neat_own = part(n.task->bytes, job->spread[i].outputs, job->n_outputs);
    for (uint32_t h = 0; h < engine->n_hosts; h++)
        for (struct sorted_node *node =
                 engine->hosts[h] ? sorted_first(&engine->hosts[h]->receiving[ORDER_COFLOW]) : NULL;
             node; node = sorted_next(node))
            weigh(&n, sorted_owner(node, struct attempt, by_size[ORDER_COFLOW]));
    uint64_t latest_ns[2], best_ns = UINT64_MAX;
    const struct host *first;
    struct fit *best = NULL;
    latest_uplinks(&n, latest_ns, &first);
    for (uint32_t h = 0; h < engine->n_hosts; h++) {
        struct host *host = engine->hosts[h];
        if (!host || !host->shapes[bucket->shape->index]->fitting)
            continue;
        uint64_t ns = cost_on(&n, host, latest_ns, first);
        engine->counters.visits++;
        if (!best || ns < best_ns) {
            best = host_fit(host, bucket->shape);
            best_ns = ns;
        }
    }
    return (struct claim){n.task, best, REASON_ENDS_FIRST, clamp_i64(best_ns),
                          clamp_i64(best->host->neat_down)};
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

const struct place_policy place_neat = {
    .policy = {.name = "neat"},
    .pick = neat_pick,
    .holds = true,
};
const struct place_policy place_neat_fair = {
    .policy = {.name = "neat-fair"},
    .pick = neat_fair_pick,
    .holds = true,
};
