/* What running and waiting cost in the graph of placement. */
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/wishes.h"
#include "controller/engine/place/flow_view.h"

#include <string.h>

static int64_t most_of_running(const struct flow_weights *weights)
{
    return (weights->locality + weights->load) * FLOW_DIMENSION + weights->prefer * FLOW_UTILITY;
}

/* FLOW_TURN for the first in turn, less by FLOW_OCTAVE where the turn counts twice as much. */
static int64_t urgency(const struct job *job)
{
    uint64_t number = job->turn.a, parts = FLOW_OCTAVE;
    if (!number)
        return FLOW_TURN;
    unsigned octave = 63 - (unsigned)__builtin_clzll(number);
    uint64_t part = (number << (63 - octave) << 1) >> (64 - __builtin_ctzll(parts));
    return FLOW_TURN - (int64_t)(octave * parts + part);
}

/* WHY one bound for turn and wait: no wait is worth as much as the next priority. */
static int64_t of_turn(const struct flow_weights *weights, const struct job *job)
{
    const struct flow_job *kept = job->kept[QUESTION_PLACE];
    int64_t cost = weights->turn * urgency(job) + weights->wait * FLOW_OCTAVE * kept->wait.octave;
    return cost < FLOW_TURN_MOST ? cost : FLOW_TURN_MOST;
}

int64_t flow_cost_of_wait(const struct flow_weights *weights, const struct job *job)
{
    int64_t least = most_of_running(weights) + 1, priority = job->priority - FLOW_PRIORITY_LEAST;
    priority = priority < 0 ? 0 : priority < FLOW_PRIORITIES ? priority : FLOW_PRIORITIES - 1;
    int64_t step = least + FLOW_TURN_MOST + 1 + (weights->preempt ? FLOW_LOST_MOST : 0);
    return least + of_turn(weights, job) + (weights->priority ? priority * step : 0);
}

int64_t flow_cost_of_way(const struct flow_weights *weights, enum flow_way way, bool has_block)
{
    int64_t distance = way == FLOW_BY_HOST   ? 0
                       : way == FLOW_BY_RACK ? FLOW_DIMENSION / 2
                                             : FLOW_DIMENSION;
    return has_block ? weights->locality * distance : 0;
}

static int64_t cut_utility(uint64_t utility)
{
    return utility < FLOW_UTILITY ? (int64_t)utility : FLOW_UTILITY;
}

int64_t flow_cost_of_host(const struct flow_weights *weights, const struct stage *stage,
                          const struct host *host)
{
    uint64_t best = 0;
    for (uint32_t i = 0; i < stage->first->n_wishes; i++)
        best += stage->first->wishes[i].utility;
    uint64_t there = best && host ? wishes_utility(stage, host) : 0;
    return weights->prefer * (cut_utility(best) - cut_utility(there));
}

static bool has_block(const struct task *task)
{
    return task_n_replicas(task) > 0 && !task->bytes;
}

/* How it would come there as a ready task. */
static enum flow_way way_to(const struct engine *engine, const struct task *task,
                            const struct host *host)
{
    enum flow_way way = FLOW_BY_CLUSTER;
    for (uint32_t i = 0; i < task_n_replicas(task); i++) {
        const struct host *with = cluster_host(engine, task_replicas(task)[i]);
        if (with == host)
            return FLOW_BY_HOST;
        if (with && *with->rack && strcmp(with->rack, host->rack) == 0)
            way = FLOW_BY_RACK;
    }
    return way;
}

int64_t flow_cost_of_stay(const struct engine *engine, const struct flow_weights *weights,
                          const struct attempt *attempt)
{
    const struct task *task = attempt->task;
    return flow_cost_of_way(weights, way_to(engine, task, attempt->host), has_block(task)) +
           flow_cost_of_host(weights, task->stage, attempt->host);
}

int64_t flow_cost_of_lost(const struct flow_weights *weights, int64_t ran_ns)
{
    int64_t ran_ms = ran_ns / 1000000, most_ms = INT64_C(1) << 40;
    ran_ms = ran_ms < 0 ? 0 : ran_ms < most_ms ? ran_ms : most_ms;
    return 1 + weights->lost * FLOW_DIMENSION * ran_ms / 1000;
}

int64_t flow_cost_of_stop(const struct flow_weights *weights, const struct job *job, int64_t stays,
                          int64_t lost)
{
    int64_t last = FLOW_TURN_MOST - of_turn(weights, job);
    return last + stays + (lost < FLOW_LOST_MOST ? lost : FLOW_LOST_MOST);
}
