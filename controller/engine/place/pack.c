#include "controller/engine/place/pack.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/job_stages.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/spread.h"
#include "controller/engine/books/users.h"
#include "controller/engine/place/joint.h"
#include "controller/engine/place/pack_cost.h"
#include "controller/engine/watch/gate.h"
#include "controller/engine/watch/homes.h"
#include "controller/engine/watch/narrow.h"
#include "controller/engine/watch/queues.h"

const struct engine_parameter parameter_pack = {
    "pack", ENGINE_UNIT_YES,
    0,      1,
    0,      "A job whose maps have no place runs on one host if that is faster than spreading it."};
const struct engine_parameter parameter_lies_there = {
    "lies_there",
    ENGINE_UNIT_YES,
    0,
    1,
    0,
    "A reduce task may start where all outputs of its job are, whatever receives there."};

static bool is_on(const struct engine *engine, const struct engine_parameter *parameter)
{
    return policy_value(engine, QUESTION_PLACE, parameter);
}

static struct pack_job *pack_of(const struct job *job)
{
    return &((struct joint_job *)job->kept[QUESTION_PLACE])->pack;
}

static struct pack_engine *all_of(const struct engine *engine)
{
    return &((struct joint_engine *)engine->kept[QUESTION_PLACE])->pack;
}

/* ---- which job ---- */

static bool has_block(const struct task *task)
{
    const uint32_t *replicas = task_replicas(task);
    bool read = task->input_bytes || task->stage->job->framework;
    for (uint32_t i = 0; read && i < task_n_replicas(task); i++)
        if (replicas[i] != ENGINE_NONE)
            return true;
    return false;
}

static bool has_place(const struct stage *stage)
{
    for (uint32_t t = 0; stage->replicas && t < stage->n_tasks; t++)
        if (has_block(&stage->tasks[t]))
            return true;
    return false;
}

static bool is_pipelined(const struct stage *stage)
{
    for (uint32_t i = 0; i < stage->n_edges; i++)
        if (stage->edges[i].kind != EDGE_BARRIER)
            return true;
    return false;
}

static bool may_be_packed(const struct job *job)
{
    bool may = job->n_buckets == 1 && job->n_tasks <= PACK_TASKS;
    for (uint32_t s = 0; may && s < job->n_stages; s++)
        may = !is_pipelined(job->stages[s]) && !has_place(job->stages[s]);
    return may;
}

static int64_t clamp(wide ns)
{
    return ns > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)ns;
}

static bool is_guessed(const struct stage *stage)
{
    return stage->framework && stage->framework->guessed;
}

/* Of a framework's job the larger of the two that is a guess: what tasks compute is one, for it may
 * be what others took, what they receive is one until it is told. */
static wide guessed_ns(const struct engine *engine, const struct job *job, wide compute_ns,
                       wide shuffle_ns)
{
    bool bytes = !engine_follows(engine, RULE_LINKS_SHARED);
    for (uint32_t s = 0; s < job->n_stages; s++)
        bytes |= is_guessed(job->stages[s]);
    return bytes ? shuffle_ns > compute_ns ? shuffle_ns : compute_ns : compute_ns;
}

/* On one host, or in one rack: no promise of hold_max is at stake, and no guess. */
static bool may_take(const struct engine *engine, wide compute_ns)
{
    return compute_ns <= (uint64_t)engine->config.hold_max_ns / 3;
}

static bool is_worth_it(const struct engine *engine, const struct job *job,
                        const struct pack_costs *costs)
{
    bool guessed = job->framework &&
                   guessed_ns(engine, job, costs->compute_ns, costs->shuffle_ns) > PACK_GUESSED_NS;
    return costs->one_ns < costs->spread_ns && !guessed && may_take(engine, costs->compute_ns);
}

static bool is_worth_a_rack(const struct engine *engine, const struct job *job,
                            const struct pack_costs *costs, bool one)
{
    return costs->of_rack > 1 && !job->framework && costs->rack_ns < PACK_RACK * costs->spread_ns &&
           (!one || costs->rack_ns < costs->one_ns) &&
           may_take(engine, costs->compute_ns / costs->of_rack);
}

static void decide(struct engine *engine, struct job *job, const struct host *home)
{
    struct pack_job *pack = pack_of(job);
    struct pack_costs costs;
    pack->packed = pack->racked = false;
    pack->home = home->index;
    if (!may_be_packed(job) || !pack_costs(engine, job, home, &costs))
        return;
    pack->packed = is_worth_it(engine, job, &costs);
    bool rack = is_worth_a_rack(engine, job, &costs, pack->packed);
    pack->one_ns = clamp(rack ? costs.rack_ns : costs.one_ns);
    pack->spread_ns = clamp(costs.spread_ns);
    pack->wait_ns = clamp(PACK_PATIENCE * (rack ? costs.racks_ns : costs.shuffle_ns));
    if (!rack)
        return;
    if (pack->wait_ns > engine->config.hold_max_ns)
        pack->wait_ns = engine->config.hold_max_ns;
    pack->packed = false;
    pack->racked = narrow_begin(engine, job, home->rack);
}

static void list(const struct engine *engine, const struct job *job)
{
    struct pack_job *pack = pack_of(job);
    struct sorted_key key = {pack->home, job->number, 0};
    if (pack->packed)
        sorted_place(&all_of(engine)->packed, &pack->of_packed, key, 0);
    else
        sorted_remove(&all_of(engine)->packed, &pack->of_packed);
}

static void explain(const struct pack_job *pack, enum reason reason, struct claim *claim)
{
    claim->reason = reason;
    claim->left = pack->one_ns;
    claim->right = pack->spread_ns;
}

bool pack_consider(struct engine *engine, struct claim *claim)
{
    struct job *job = claim->task->stage->job;
    struct pack_job *pack = pack_of(job);
    if (job->n_running || job->n_done || claim->task->bytes || !is_on(engine, &parameter_pack))
        return true;
    if (pack->racked) {
        explain(pack, REASON_RACK, claim);
        return true;
    }
    decide(engine, job, claim->fit->host);
    list(engine, job);
    pack_follow(engine, job);
    if (pack->packed)
        explain(pack, REASON_HOME, claim);
    return !pack->racked;
}

/* ---- where its tasks start ---- */

/* Maps first, then the largest reduce task; NULL: none is ready. */
static struct task *next_task(struct engine *engine, const struct bucket *bucket)
{
    struct task *map = bucket_first_map(bucket);
    if (map)
        return map;
    return TAILQ_EMPTY(&bucket->reduce_stages) ? NULL : bucket_largest(engine, bucket);
}

static bool can_run(const struct host *host, const struct bucket *bucket)
{
    return host && host->shapes[bucket->shape->index]->capable;
}

/* The home that it waits for until *ret_until_ns; NULL: it waits for none. */
static struct host *home_of(const struct engine *engine, const struct job *job,
                            const struct task *next, int64_t *ret_until_ns)
{
    const struct pack_job *pack = pack_of(job);
    struct host *home = pack->packed ? cluster_host(engine, pack->home) : NULL;
    *ret_until_ns = next->ready_ns + pack->wait_ns;
    bool waits = can_run(home, next->stage->bucket) && engine->now_ns < *ret_until_ns &&
                 spread_outputs(job, home) == job->n_outputs;
    return waits ? home : NULL;
}

static bool has_all_parents(const struct stage *stage)
{
    bool all = stage->n_edges > 0;
    for (uint32_t i = 0; i < stage->n_edges; i++) {
        const struct stage *parent = job_stage_at(stage->job, stage->edges[i].parent);
        all = all && parent->n_done == parent->n_tasks;
    }
    return all;
}

/* The one host that has all outputs, where the task reads no others; NULL: there is none. */
static struct host *only_source(const struct engine *engine, const struct task *task)
{
    const struct job *job = task->stage->job;
    if (!is_on(engine, &parameter_lies_there) || !task->bytes || job->output_hosts != 1 ||
        is_pipelined(task->stage) || !has_all_parents(task->stage))
        return NULL;
    struct host *host =
        container_of(sorted_first(spread_ordered(job)), struct job_host, by_host)->host;
    return can_run(host, task->stage->bucket) ? host : NULL;
}

static void set_home(struct engine *engine, struct bucket *bucket, struct host *home, bool homed)
{
    bool others = bucket->homed != homed;
    if (home || bucket->home)
        homes_place(bucket, home);
    bucket->homed = homed;
    if (!others)
        return;
    locality_reorder(engine, bucket->job);
    bucket_update(engine, bucket);
}

static void set_waiting(const struct engine *engine, struct job *job, bool waits, int64_t until_ns)
{
    struct pack_job *pack = pack_of(job);
    struct sorted_key key = {(uint64_t)until_ns, job->number, 0};
    if (waits)
        sorted_place(&all_of(engine)->waiting, &pack->of_waiting, key, 0);
    else
        sorted_remove(&all_of(engine)->waiting, &pack->of_waiting);
}

/* WHY: a framework starts maps where it likes, and one elsewhere ends what its job gains. */
static void bind_maps(struct engine *engine, const struct job *job)
{
    const struct pack_job *pack = pack_of(job);
    for (uint32_t s = 0; pack->packed && job->framework && s < job->n_stages; s++)
        gate_bind(engine, job->stages[s], REASON_HOME, pack->one_ns, pack->spread_ns);
}

/* WHY only the time: its constraint keeps it there. */
static void follow_in_rack(struct engine *engine, struct job *job)
{
    const struct task *next = next_task(engine, job->buckets[0]);
    set_waiting(engine, job, next, next ? next->ready_ns + pack_of(job)->wait_ns : 0);
}

void pack_follow(struct engine *engine, struct job *job)
{
    if (pack_of(job)->racked) {
        follow_in_rack(engine, job);
        return;
    }
    bool has_home = job->n_buckets && job->buckets[0]->home;
    if (!has_home && !pack_of(job)->packed && !is_on(engine, &parameter_lies_there))
        return;
    bind_maps(engine, job);
    int64_t until_ns = 0;
    struct task *next = job->n_buckets == 1 ? next_task(engine, job->buckets[0]) : NULL;
    struct host *home = next ? home_of(engine, job, next, &until_ns) : NULL;
    bool waits = home;
    if (next && !home)
        home = only_source(engine, next);
    set_waiting(engine, job, waits, until_ns);
    for (uint32_t i = 0; i < job->n_buckets; i++)
        set_home(engine, job->buckets[i], home, waits);
}

void pack_forget(struct engine *engine, struct job *job)
{
    if (!job->kept[QUESTION_PLACE])
        return;
    pack_of(job)->packed = pack_of(job)->racked = false;
    list(engine, job);
    set_waiting(engine, job, false, 0);
    for (uint32_t i = 0; i < job->n_buckets; i++) {
        homes_place(job->buckets[i], NULL);
        job->buckets[i]->homed = false;
    }
}

void pack_follow_host(struct engine *engine, struct host *host)
{
    struct sorted_node *node =
        sorted_from(&all_of(engine)->packed, (struct sorted_key){host->index, 0, 0});
    for (; node && node->key.a == host->index; node = sorted_next(node)) {
        engine->counters.visits++;
        pack_follow(engine, job_find(engine, node->key.b));
    }
    struct job_host *here;
    TAILQ_FOREACH (here, &host->outputs, of_host)
        if (here->job->kept[QUESTION_PLACE] && is_on(engine, &parameter_lies_there))
            pack_follow(engine, here->job);
}

static void end_home(struct engine *engine, struct job *job)
{
    pack_of(job)->packed = false;
    list(engine, job);
    pack_follow(engine, job);
}

/* WHY: its framework tells bytes when they are made. By a first guess that was too small its tasks
 * would leave together and share their home's one uplink. */
static void follow_bytes(struct engine *engine, struct job *job)
{
    struct pack_job *pack = pack_of(job);
    if (!job->framework || !engine->uplink_bps || !engine_follows(engine, RULE_HOME_TOLD))
        return;
    int64_t wait_ns = clamp(PACK_PATIENCE * pack_shuffle_ns(engine, job));
    if (wait_ns == pack->wait_ns)
        return;
    pack->wait_ns = wait_ns;
    pack_follow(engine, job);
}

void pack_follow_task(struct engine *engine, const struct task *task)
{
    struct job *job = task->stage->job;
    if (!pack_of(job)->packed)
        return;
    if (has_block(task) && engine_follows(engine, RULE_BLOCK_NO_HOME))
        end_home(engine, job);
    else
        follow_bytes(engine, job);
}

static void leave_rack(struct engine *engine, struct job *job)
{
    pack_of(job)->racked = false;
    set_waiting(engine, job, false, 0);
    narrow_end(engine, job);
}

void pack_expire(struct engine *engine)
{
    struct sorted_node *node;
    while ((node = sorted_first(&all_of(engine)->waiting)) &&
           node->key.a <= (uint64_t)engine->now_ns) {
        struct job *job = job_find(engine, node->key.b);
        if (pack_of(job)->racked)
            leave_rack(engine, job);
        else
            pack_follow(engine, job);
    }
}

int64_t pack_deadline_ns(const struct engine *engine)
{
    const struct sorted_node *node = sorted_first(&all_of(engine)->waiting);
    return node ? (int64_t)node->key.a : INT64_MAX;
}

void pack_restore(struct engine *engine, struct job *job)
{
    list(engine, job);
    job->narrowed = pack_of(job)->racked;
    pack_follow(engine, job);
}

void pack_learn(struct engine *engine, const struct task *task)
{
    struct pack_engine *all = all_of(engine);
    if (!task->stage->framework || task->bytes || !is_on(engine, &parameter_pack))
        return;
    uint64_t took_ns = (uint64_t)(engine->now_ns - task->started_ns);
    all->took_ns = all->took_ns ? (all->took_ns * (PACK_MEAN - 1) + took_ns) / PACK_MEAN : took_ns;
}

/* ---- what is proposed ---- */

struct bucket *pack_first(struct engine *engine)
{
    struct bucket *best = NULL;
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct shape *shape = engine->shapes[i];
        if (shape_times(engine, shape) <= 0)
            continue;
        struct bucket *bucket = homes_first(engine, users_asked(engine, shape));
        if (bucket && (!best || joint_is_sooner(bucket->job, best->job)))
            best = bucket;
    }
    return best;
}

struct claim pack_claim(struct engine *engine, struct bucket *bucket)
{
    const struct pack_job *pack = pack_of(bucket->job);
    struct claim claim = {next_task(engine, bucket), host_fit(bucket->home, bucket->shape),
                          REASON_ALL_THERE, 0, clamp_i64(bucket->job->n_outputs)};
    if (bucket->homed)
        explain(pack, REASON_HOME, &claim);
    return claim;
}

struct policy_why pack_held(const struct engine *engine, const struct stage *stage)
{
    const struct pack_job *pack = pack_of(stage->job);
    int64_t left_ns = (int64_t)pack->of_waiting.key.a - engine->now_ns;
    return (struct policy_why){REASON_FOR_HOME, left_ns, pack->home};
}
