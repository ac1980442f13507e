#include "controller/engine/watch/failing.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/resources.h"
#include "controller/engine/books/at_most.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/retry.h"
#include "controller/engine/books/users.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/watch/queues.h"

const struct policy_reason failing_reasons[] = {
    {DECISION_START, REASON_PROBE, NULL, "probes that failed there", "attempts that failed there",
     "Runs on {host} to see whether that host works again: the last {right} attempts there "
     "failed or were lost. "},
    {DECISION_START, REASON_RETRY, NULL, "hosts on which it failed", "tasks that ran there",
     "Runs on {host} because it failed on {left} other host(s): the least loaded one of the rest "
     "({right} tasks). "},
    {0}};

static struct sorted_key timer_key(const struct host *host)
{
    return (struct sorted_key){(uint64_t)host->failing.due_ns, host->index, 0};
}

static struct sorted_key due_key(const struct host *host)
{
    return (struct sorted_key){host->index, 0, 0};
}

/* When a probe is due after the wait, doubled this often. */
static int64_t probe_due_ns(const struct engine *engine, uint32_t doublings)
{
    int64_t wait_ns = engine->config.probe_ns, most = INT64_MAX >> FAILING_DOUBLINGS;
    wait_ns = (wait_ns < most ? wait_ns : most) << doublings;
    return engine->now_ns > INT64_MAX - 1 - wait_ns ? INT64_MAX - 1 : engine->now_ns + wait_ns;
}

static void await_probe(struct engine *engine, struct host *host, int64_t due_ns)
{
    host->failing.due_ns = due_ns;
    sorted_place(&engine->probe_timers, &host->failing.timer, timer_key(host), 0);
}

/* Removes the host from those that wait for a probe. */
static void leave(struct engine *engine, struct host *host)
{
    if (host->failing.due_ns == INT64_MAX)
        sorted_remove(&engine->probes_due, &host->failing.timer);
    else
        sorted_remove(&engine->probe_timers, &host->failing.timer);
}

/* Counts the attempt against its host; false: it does not count. */
static bool blame(const struct engine *engine, const struct attempt *attempt)
{
    struct failing *failing = &attempt->host->failing;
    if (!engine->config.probe_ns || attempt->foreign || attempt->stopping)
        return false;
    failing->in_a_row += failing->in_a_row < UINT32_MAX;
    if (failing->probe == attempt->number)
        failing->probes += failing->probes < FAILING_DOUBLINGS;
    return true;
}

void failing_failed(struct engine *engine, struct attempt *attempt)
{
    if (blame(engine, attempt) && attempt->task)
        retry_failed(engine, attempt->task, attempt->host);
}

void failing_ended(struct engine *engine, struct attempt *attempt)
{
    if (engine_follows(engine, RULE_BOOTS_COUNT) && blame(engine, attempt) && attempt->task)
        retry_ended(engine, attempt->task, attempt->host);
}

void failing_lost(struct engine *engine, const struct attempt *attempt)
{
    if (engine_follows(engine, RULE_BOOTS_COUNT))
        blame(engine, attempt);
}

void failing_forget(struct engine *engine, struct host *host)
{
    struct failing *failing = &host->failing;
    uint64_t era = failing->era + 1;
    if (!failing->in_a_row)
        return;
    leave(engine, host);
    cluster_set_suspect(engine, host, &failing->suspect, false);
    *failing = (struct failing){.era = era};
}

static void prove(struct engine *engine, struct host *host)
{
    struct failing *failing = &host->failing;
    failing->proofs += failing->proofs < UINT32_MAX;
    if (failing->suspect || failing->proofs < FAILING_PROOFS || engine->up <= host_up(host))
        return;
    failing->since_ns = engine->now_ns;
    engine->counters.suspicions++;
    cluster_set_suspect(engine, host, &failing->suspect, true);
    await_probe(engine, host, probe_due_ns(engine, failing->probes));
}

void failing_gone(struct engine *engine, struct host *host, bool took)
{
    const struct failing *failing = &host->failing;
    int64_t due_ns = probe_due_ns(engine, 0);
    if (!engine_follows(engine, RULE_BOOTS_COUNT))
        failing_forget(engine, host);
    else if (took)
        prove(engine, host);
    else if (failing->suspect && failing->due_ns != INT64_MAX && failing->due_ns > due_ns)
        await_probe(engine, host, due_ns);
}

/* The task, which failed on that host in its era, was done on another host. */
static void failing_proved(struct engine *engine, struct host *host, uint64_t era)
{
    if (host->failing.era == era)
        prove(engine, host);
}

void failing_started(struct engine *engine, struct attempt *attempt)
{
    struct host *host = attempt->host;
    leave(engine, host);
    host->failing.probe = attempt->number;
}

static void probe_ended(struct engine *engine, const struct attempt *attempt)
{
    struct host *host = attempt->host;
    if (host->failing.probe != attempt->number)
        return;
    host->failing.probe = 0;
    await_probe(engine, host, probe_due_ns(engine, host->failing.probes));
}

/* The unit there where the shape's next task would run. */
static struct fit *room_on(const struct engine *engine, const struct host *host,
                           const struct shape *shape)
{
    struct host_shape *here = host->shapes[shape->index];
    struct fit *best = NULL;
    if (shape->application || !here->meets || !host_takes(engine, host))
        return NULL;
    for (uint32_t i = 0; i < host->n_units; i++)
        if (resources_times(&host->units[i].free, &shape->demand) > 0 &&
            (!best || host->units[i].running < host->units[best->unit].running))
            best = &here->fit[i];
    return best;
}

/* WHY not a task that failed there before, while other hosts are up: probes alone would fail its
 * job. */
static bool may_probe(const struct task *task, const struct host *host)
{
    bool first =
        !task->stage->bucket->shape->capable || !retry_failed_on(variant_first(task), host);
    return first && at_most_room(task->stage, host);
}

static struct task *first_map(struct engine *engine, const struct bucket *bucket,
                              const struct host *host)
{
    struct task *task = bucket_first_map(bucket);
    for (int looks = 0; task && looks < RETRY_LOOKS; task = bucket_next_map(task), looks++) {
        engine->counters.visits++;
        if (may_probe(task, host))
            return task;
    }
    return NULL;
}

static struct task *first_in(struct engine *engine, const struct queues *queues,
                             const struct host *host)
{
    struct sorted_node *map = sorted_first(&queues->maps), *reduce = sorted_first(&queues->reduces);
    if (map && (!reduce || sorted_compare(map->key, reduce->key) <= 0))
        return first_map(engine, container_of(map, struct bucket, by_turn_maps), host);
    struct task *task =
        reduce ? bucket_largest(engine, container_of(reduce, struct bucket, by_turn_reduces))
               : NULL;
    return task && may_probe(task, host) ? task : NULL;
}

/* The first of all users' tasks by turn. */
static struct task *first_task(struct engine *engine, const struct shape *shape,
                               const struct host *host)
{
    struct task *best = first_in(engine, &shape->all, host);
    const struct user *user;
    TAILQ_FOREACH (user, &engine->ready_users, of_ready) {
        const struct queues *queues = users_ready(user, shape);
        struct task *task = queues ? first_in(engine, queues, host) : NULL;
        if (task && (!best || sorted_compare(task->stage->job->turn, best->stage->job->turn) < 0))
            best = task;
    }
    return best;
}

static bool probe_of(struct engine *engine, struct host *host, struct claim *ret_claim)
{
    const struct failing *failing = &host->failing;
    struct task *first = NULL;
    struct fit *there = NULL;
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        engine->counters.visits++;
        struct fit *fit = room_on(engine, host, engine->shapes[i]);
        struct task *task = fit ? first_task(engine, engine->shapes[i], host) : NULL;
        if (!task || task->stage->framework ||
            (first && sorted_compare(first->stage->job->turn, task->stage->job->turn) <= 0))
            continue;
        first = task;
        there = fit;
    }
    *ret_claim = (struct claim){first, there, REASON_PROBE, failing->probes, failing->in_a_row};
    return first;
}

static bool may_start(const struct host *host)
{
    return host->joined && !host->silent && !host->lost && !host->draining && !host->reach.suspect;
}

/* WHY only the first few: silent or full hosts must not be looked at for every start. */
bool failing_pick(struct engine *engine, struct claim *ret_claim)
{
    struct sorted_node *node = engine->n_ready ? sorted_first(&engine->probes_due) : NULL;
    for (int looks = 0; node && looks < 8; node = sorted_next(node), looks++) {
        struct host *host = container_of(node, struct host, failing.timer);
        if (may_start(host) && probe_of(engine, host, ret_claim))
            return true;
    }
    return false;
}

static void expire(struct engine *engine)
{
    for (struct sorted_node *node = sorted_first(&engine->probe_timers); node;
         node = sorted_first(&engine->probe_timers)) {
        struct host *host = container_of(node, struct host, failing.timer);
        if (host->failing.due_ns > engine->now_ns && engine->up)
            return;
        engine->counters.visits++;
        sorted_remove(&engine->probe_timers, node);
        host->failing.due_ns = INT64_MAX;
        sorted_insert(&engine->probes_due, node, due_key(host), 0);
    }
}

static int64_t deadline_ns(const struct engine *engine)
{
    const struct sorted_node *node = sorted_first(&engine->probe_timers);
    return node ? container_of(node, const struct host, failing.timer)->failing.due_ns : INT64_MAX;
}

void failing_restore(struct engine *engine, struct host *host, const struct failing *failing)
{
    host->failing = *failing;
    host->failing.suspect = false;
    cluster_set_suspect(engine, host, &host->failing.suspect, failing->suspect);
    host_touch(engine, host);
    if (!failing->suspect || failing->probe)
        return;
    if (failing->due_ns == INT64_MAX)
        sorted_insert(&engine->probes_due, &host->failing.timer, due_key(host), 0);
    else
        sorted_insert(&engine->probe_timers, &host->failing.timer, timer_key(host), 0);
}

void failing_task_done(struct engine *engine, struct task *task, const struct host *host)
{
    for (uint32_t i = 0; task->retry && host && i < task->retry->n; i++)
        if (task->retry->tried[i].host != host)
            failing_proved(engine, task->retry->tried[i].host, task->retry->tried[i].era);
    retry_forget(engine, task);
}

static void attempt_over(struct engine *engine, struct attempt *attempt)
{
    probe_ended(engine, attempt);
}

const struct listener failing_hears = {
    .attempt_over = attempt_over, .expire = expire, .deadline_ns = deadline_ns};
