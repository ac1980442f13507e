/* flow: which task runs where by one global optimum (Sirius, Chen et al.).
 *
 * A round begins with the first pick of a step: the graph follows what changed (flow_view.h), is
 * solved, and what the optimum runs is proposed task by task, in order of turn. A claim that has no
 * room, because hosts promise slots and tasks need vectors, is dropped. When claims are out and
 * something has changed otherwise than the optimum had it, the next round of the step begins; when
 * a round brings nothing, the rest goes to the least loaded hosts. Slots stay free only of tasks
 * that would stall (hold_stalls) or read their block from elsewhere (hold_remote), for hold_max or
 * start_wait at most. What runs is stopped only where `preempt` or `migrate` says so
 * (flow_stops.h).
 *
 * WHY decisions follow from facts alone: a replica, or a recording's next file, begins with a dump,
 * whose graph was made anew. Names decide between optima that tie (flow_settle), so it is all the
 * same how one was found. Where they cannot, the graph is made anew here as well, so that the
 * solver sees what it would see there. */
#include "controller/engine/base/ground.h"
#include "controller/engine/base/table.h"
#include "controller/engine/books/at_most.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/users.h"
#include "controller/engine/place/flow_look.h"
#include "controller/engine/place/flow_stops.h"
#include "controller/engine/place/place.h"
#include "controller/engine/watch/located.h"
#include "controller/engine/watch/queues.h"
#include "lib/invariant.h"

#include <stdlib.h>

#define REASON_OPTIMUM_BLOCK ((enum reason)66)
#define REASON_OPTIMUM       ((enum reason)67)
#define REASON_OPTIMUM_WAITS ((enum reason)68)
#define REASON_OPTIMUM_BOUND ((enum reason)74)
#define REASON_OPTIMUM_SPARE ((enum reason)75)
#define REASON_OPTIMUM_NEAR  ((enum reason)121)

/* `tasks` of the stage are to run on the host. */
struct proposal {
    struct flow_stage *kept;
    struct sorted_key turn;
    uint32_t user; /* of the job; 0 where nobody divides */
    uint32_t host, tasks;
    enum flow_way way;
    uint32_t over; /* of a user's first: so many of its own, this one included, are over */
};

struct flow_engine {
    struct flow_view view;
    struct proposal *proposals; /* by user, then by turn */
    uint32_t n, allocated;
    uint64_t step;     /* of the round */
    uint64_t rounds;   /* so far, for people */
    uint64_t attempts; /* that will have started when its last claim is admitted */
    bool claimed;      /* something, in the round */
    bool relaxed;      /* in this step jobs may run more than their parts: nobody else can */
    bool stale;        /* another round may bring more: a claim of this one was refused or had no
                          room, a claim was not of it, or a task is ready only since */
    struct flow_stops stops;
};

static struct flow_engine *all_of(const struct engine *engine)
{
    return engine->kept[QUESTION_PLACE];
}

/* ---- a round ---- */

static int by_turn(const void *left, const void *right)
{
    const struct proposal *a = left, *b = right;
    const struct stage *x = a->kept->stage, *y = b->kept->stage;
    int turn = sorted_compare(a->turn, b->turn);
    if (a->user != b->user)
        return a->user < b->user ? -1 : 1;
    if (turn)
        return turn;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    if (x->variant != y->variant)
        return x->variant < y->variant ? -1 : 1;
    if (a->way != b->way)
        return (int)a->way - (int)b->way;
    return a->host < b->host ? -1 : a->host > b->host;
}

static uint32_t user_of(const struct engine *engine, const struct job *job)
{
    return users_divided(engine) ? job->tenant->number : 0;
}

static void take_places(struct engine *engine, struct flow_engine *all)
{
    const struct flow_place *places = flow_places(all->view.graph, &all->n);
    if (all->n > all->allocated) {
        free(all->proposals);
        all->allocated = 2 * all->n;
        all->proposals = NULL;
        all->proposals = engine_allocate(engine, all->allocated, sizeof(*all->proposals));
    }
    for (uint32_t i = 0; i < all->n; i++) {
        struct flow_stage *kept = places[i].tag;
        const struct job *job = kept->stage->job;
        all->proposals[i] = (struct proposal){.kept = kept,
                                              .turn = job->turn,
                                              .user = user_of(engine, job),
                                              .host = places[i].host,
                                              .tasks = places[i].tasks,
                                              .way = places[i].way};
    }
    if (all->n)
        qsort(all->proposals, all->n, sizeof(*all->proposals), by_turn);
}

static void solve(struct engine *engine, struct flow_engine *all,
                  const struct flow_weights *weights)
{
    flow_view_follow(engine, &all->view, weights);
    flow_fair_follow(engine, &all->view, all->relaxed);
    if (flow_solve(all->view.graph) < 0)
        longjmp(engine->no_memory, 1);
    engine->counters.visits += flow_looks(all->view.graph);
}

static void begin_round(struct engine *engine, struct flow_engine *all)
{
    const struct flow_weights weights = flow_weights_now(engine);
    uint64_t looks;
    solve(engine, all, &weights);
    bool settled = flow_settle(all->view.graph, &looks);
    engine->counters.visits += looks;
    if (!settled) {
        flow_view_forget(engine, &all->view);
        solve(engine, all, &weights);
    }
    all->rounds++;
    all->claimed = false;
    all->stale = engine->n_shapes > 1;
    all->attempts = 0;
    all->step = engine->counters.steps;
    take_places(engine, all);
}

/* ---- claims ---- */

/* A ready map of the stage next to its block there; NULL: none. */
static struct task *map_at(const struct stage *stage, uint32_t host)
{
    const struct local_maps *local = table_find(&stage->bucket->locals, host);
    const struct located *located = local ? located_find(local, stage) : NULL;
    return located ? located_first(located) : NULL;
}

/* A map without a block, any map, the largest reduce task. */
static struct task *task_anywhere(const struct stage *stage)
{
    struct task *task = stage_first_unlocated(stage);
    if (!task)
        task = stage_first_map(stage);
    if (task || !stage->ready_reduces.n)
        return task;
    struct sorted_key equal = {sorted_last(&stage->ready_reduces)->key.a, 0, 0};
    return container_of(sorted_from(&stage->ready_reduces, equal), struct task, ready);
}

static bool claim_of(const struct engine *engine, const struct flow_engine *all,
                     const struct proposal *proposal, struct claim *ret_claim)
{
    const struct stage *stage = proposal->kept->stage;
    const struct host *host = cluster_host(engine, proposal->host);
    struct shape *shape = stage->bucket->shape;
    struct task *task =
        proposal->way == FLOW_BY_HOST ? map_at(stage, proposal->host) : task_anywhere(stage);
    struct fit *fit = task && shape_times(engine, shape) > 0 ? host_fit(host, shape) : NULL;
    if (!fit || !at_most_room(stage, host))
        return false;
    const struct flow_weights *weights = &all->view.weights;
    enum reason reason = all->relaxed                    ? REASON_OPTIMUM_SPARE
                         : proposal->way == FLOW_BY_HOST ? REASON_OPTIMUM_BLOCK
                                                         : REASON_OPTIMUM;
    *ret_claim = (struct claim){task, fit, reason,
                                flow_cost_of_way(weights, proposal->way, task->n_refs) +
                                    flow_cost_of_host(weights, stage, host),
                                flow_cost_of_wait(weights, stage->job)};
    return true;
}

/* The number of the first proposal of the user, or of a later one. */
static uint32_t first_of_user(const struct flow_engine *all, uint32_t user)
{
    uint32_t low = 0, high = all->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (all->proposals[middle].user < user)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The user's first one that is not over; NULL: none. */
static struct proposal *next_proposal(const struct flow_engine *all, uint32_t user)
{
    uint32_t first = first_of_user(all, user), at = first;
    if (first < all->n)
        at += all->proposals[first].over;
    return at < all->n && all->proposals[at].user == user ? &all->proposals[at] : NULL;
}

/* The next claim of this round, of the user that is asked for. It may be asked for in vain, so its
 * proposal stays as it is until it is chosen. */
static bool next_claim(struct engine *engine, struct flow_engine *all, struct claim *ret_claim)
{
    uint32_t user = engine->asked ? engine->asked->number : 0;
    struct proposal *proposal;
    while ((proposal = next_proposal(all, user))) {
        engine->counters.visits++;
        if (proposal->tasks && claim_of(engine, all, proposal, ret_claim))
            return true;
        all->stale |= proposal->tasks > 0;
        all->proposals[first_of_user(all, user)].over++;
    }
    return false;
}

static bool chosen(struct engine *engine, struct claim *claim)
{
    struct flow_engine *all = all_of(engine);
    struct proposal *proposal = next_proposal(all, user_of(engine, claim->task->stage->job));
    all->attempts = engine->attempt_counter + 1;
    all->claimed = true;
    if (claim->reason != REASON_OPTIMUM && claim->reason != REASON_OPTIMUM_BLOCK &&
        claim->reason != REASON_OPTIMUM_SPARE) {
        all->stale = true;
        return true;
    }
    checked(proposal && proposal->tasks && proposal->host == claim->fit->host->index);
    proposal->tasks--;
    return true;
}

static void claim_least_loaded(struct task *task, enum reason reason, int64_t left,
                               struct claim *ret_claim)
{
    struct fit *fit = place_least_loaded(task->stage->bucket->shape);
    *ret_claim =
        (struct claim){task, fit, reason, left, reason == REASON_GREEDY ? fit->host->running : 0};
}

/* The first overdue stage that any host may run. */
static const struct stage *first_overdue(const struct sorted *overdue)
{
    struct sorted_node *node = sorted_first(overdue);
    while (node && flow_is_bounded(container_of(node, struct stage, waiting)))
        node = sorted_next(node);
    return node ? container_of(node, struct stage, waiting) : NULL;
}

static bool pick_overdue(struct engine *engine, struct claim *ret_claim)
{
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct shape *shape = engine->shapes[i];
        const struct stage *stage = first_overdue(&users_asked(engine, shape)->overdue);
        if (!stage || shape_times(engine, shape) <= 0)
            continue;
        claim_least_loaded(task_anywhere(stage), REASON_HOLD_EXPIRED,
                           engine->now_ns - stage->held_since_ns, ret_claim);
        return true;
    }
    return false;
}

static struct bucket *of_maps(struct sorted_node *node)
{
    return container_of(node, struct bucket, by_turn_maps);
}

static struct bucket *of_reduces(struct sorted_node *node)
{
    return container_of(node, struct bucket, by_turn_reduces);
}

/* The first bucket of a job without bounds, which any host may run. */
static struct bucket *first_free(const struct sorted *buckets,
                                 struct bucket *(*of)(struct sorted_node *))
{
    struct sorted_node *node = sorted_first(buckets);
    while (node && of(node)->job->bounded)
        node = sorted_next(node);
    return node ? of(node) : NULL;
}

static struct bucket *first_of_shape(struct engine *engine, struct shape *shape,
                                     const struct flow_weights *weights)
{
    const struct queues *queues = users_asked(engine, shape);
    struct bucket *map = NULL, *reduce = NULL;
    if (!weights->remote)
        map = first_free(&queues->maps, of_maps);
    if (!weights->stalls)
        reduce = first_free(&queues->reduces, of_reduces);
    return !map || (reduce && bucket_is_sooner(reduce, map)) ? reduce : map;
}

static struct bucket *first_rest(struct engine *engine, const struct flow_weights *weights)
{
    struct bucket *best = NULL;
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct shape *shape = engine->shapes[i];
        struct bucket *bucket =
            shape_times(engine, shape) > 0 ? first_of_shape(engine, shape, weights) : NULL;
        if (bucket && (!best || bucket_is_sooner(bucket, best)))
            best = bucket;
    }
    return best;
}

/* What the graph has no room for although a unit has. WHY so plainly: only where hosts have units
 * of several kinds. Tasks that receive wait on purpose, with hold_stalls; maps with hold_remote. */
static bool pick_rest(struct engine *engine, const struct flow_engine *all, struct claim *ret_claim)
{
    struct bucket *bucket = first_rest(engine, &all->view.weights);
    if (!bucket)
        return false;
    struct task *map = bucket_first_map(bucket);
    claim_least_loaded(map ? map : bucket_largest(engine, bucket), REASON_GREEDY, 0, ret_claim);
    return true;
}

/* False: this round runs all that one can. */
static bool next_round(struct engine *engine, struct flow_engine *all)
{
    bool first = all->step != engine->counters.steps;
    bool more = first || (all->claimed && all->stale);
    if (!more && (all->relaxed || !flow_fair_bounds(engine, &all->view)))
        return false;
    all->relaxed = !first && (all->relaxed || !more);
    begin_round(engine, all);
    return true;
}

static bool flow_pick(struct engine *engine, struct claim *ret_claim)
{
    struct flow_engine *all = all_of(engine);
    if (pick_overdue(engine, ret_claim))
        return true;
    all->stale |= engine->attempt_counter < all->attempts;
    if (all->step == engine->counters.steps && next_claim(engine, all, ret_claim))
        return true;
    while (place_first_bucket(engine) && next_round(engine, all))
        if (next_claim(engine, all, ret_claim))
            return true;
    return place_first_bucket(engine) && pick_rest(engine, all, ret_claim);
}

static bool evict(struct engine *engine, struct eviction *ret_eviction)
{
    struct flow_engine *all = all_of(engine);
    return flow_stops_next(engine, &all->view, &all->stops, ret_eviction);
}

/* Why tasks wait although a slot is free. */
static struct policy_why held(const struct engine *engine, const struct stage *stage,
                              const struct task *task)
{
    (void)task;
    const struct flow_weights weights = flow_weights_now(engine);
    bool near = weights.remote && !stage->ready_reduces.n;
    return (struct policy_why){near                     ? REASON_OPTIMUM_NEAR
                               : flow_is_bounded(stage) ? REASON_OPTIMUM_BOUND
                                                        : REASON_OPTIMUM_WAITS,
                               flow_cost_of_wait(&weights, stage->job), 0};
}

static bool arc_after(const struct engine *engine, uint64_t after, uint64_t *ret_round,
                      struct arc_view *ret_arc)
{
    const struct flow_engine *all = all_of(engine);
    *ret_round = all->rounds + all->stops.rounds;
    return flow_look_arc(engine, &all->view, after, ret_arc);
}

static void explain(const struct engine *engine, const struct task *task,
                    struct engine_explanation *e)
{
    const struct flow_weights weights = flow_weights_now(engine);
    flow_look_explain(engine, &all_of(engine)->view, &weights, task, e);
}

/* ---- facts ---- */

static void init(struct engine *engine, union policy_of of, void *state)
{
    (void)engine;
    (void)of;
    flow_view_init(&((struct flow_engine *)state)->view);
}

static void done(struct engine *engine, union policy_of of, void *state)
{
    (void)engine;
    (void)of;
    struct flow_engine *all = state;
    flow_view_done(&all->view);
    free(all->proposals);
}

/* WHY proposals go with it: they are of this step, and name the stage. */
static void stage_done(struct engine *engine, union policy_of of, void *state)
{
    (void)of;
    struct flow_engine *all = all_of(engine);
    flow_view_leave(&all->view, state);
    if (all->step != engine->counters.steps)
        all->n = 0;
    for (uint32_t i = 0; i < all->n; i++)
        if (all->proposals[i].kept == state)
            all->proposals[i].tasks = 0;
}

static struct flow_wait *wait_of(const struct job *job)
{
    struct flow_job *kept = job->kept[QUESTION_PLACE];
    return &kept->wait;
}

static void task_ready(struct engine *engine, struct task *task)
{
    struct job *job = task->stage->job;
    struct flow_view *view = &all_of(engine)->view;
    all_of(engine)->stale = true;
    if (!wait_of(job)->waits && flow_waits_count(engine))
        flow_wait_begin(&view->waits, job, wait_of(job), engine->now_ns);
    flow_view_task(engine, view, task, true);
    flow_stops_follow(&all_of(engine)->stops, job);
}

/* The job has no ready task any more, or was given a slot. */
static void waits_anew(struct engine *engine, struct job *job)
{
    struct flow_view *view = &all_of(engine)->view;
    struct flow_wait *wait = wait_of(job);
    if (!wait->waits)
        return;
    if (job->n_ready)
        flow_wait_begin(&view->waits, job, wait, engine->now_ns);
    else
        flow_wait_end(&view->waits, wait);
    flow_view_job(view, job);
}

static void task_unready(struct engine *engine, struct task *task)
{
    flow_view_task(engine, &all_of(engine)->view, task, false);
    flow_stops_follow(&all_of(engine)->stops, task->stage->job);
    if (!task->stage->job->n_ready)
        waits_anew(engine, task->stage->job);
}

static void task_moved(struct engine *engine, struct task *task, enum task_state before)
{
    flow_stops_follow(&all_of(engine)->stops, task->stage->job);
    if (task_state(task) == TASK_RUNNING && before != TASK_RUNNING)
        waits_anew(engine, task->stage->job);
}

static void stage_empty(struct engine *engine, struct stage *stage)
{
    flow_view_no_wishes(&all_of(engine)->view, stage);
    flow_stops_follow(&all_of(engine)->stops, stage->job);
    if (!stage->job->n_ready)
        waits_anew(engine, stage->job);
}

static void job_done(struct engine *engine, union policy_of of, void *state)
{
    (void)of;
    flow_wait_end(&all_of(engine)->view.waits, &((struct flow_job *)state)->wait);
    flow_stops_leave(&all_of(engine)->stops, state);
}

static void host_done(struct engine *engine, union policy_of of, void *state)
{
    (void)of;
    flow_stops_leave_host(&all_of(engine)->stops, state);
}

static void job_load(struct engine *engine, union policy_of of, void *state)
{
    flow_wait_load(&all_of(engine)->view.waits, of.job, &((struct flow_job *)state)->wait);
}

static bool job_keeps(const void *state)
{
    return ((const struct flow_job *)state)->wait.waits;
}

static const struct field job_fields[] = {FIELD_OF(flow_job, wait.since_ns, I64),
                                          FIELD_OF(flow_job, wait.octave, U32),
                                          FIELD_OF(flow_job, wait.waits, BOOL),
                                          {0}};

static void turn_moved(struct engine *engine, struct job *job, bool passed)
{
    (void)passed;
    all_of(engine)->stale = true;
    flow_view_job(&all_of(engine)->view, job);
}

static void priority_moved(struct engine *engine, struct job *job)
{
    flow_view_job(&all_of(engine)->view, job);
    flow_stops_follow(&all_of(engine)->stops, job);
}

static void job_grew(struct engine *engine, struct job *job)
{
    flow_view_blocks(engine, &all_of(engine)->view, job);
}

static void job_on_host(struct engine *engine, struct job *job, struct host *host)
{
    flow_view_job_on_host(engine, &all_of(engine)->view, job, host);
}

static const struct policy_reason reasons[] = {
    {DECISION_START, REASON_OPTIMUM_BLOCK, "optimum-block", NULL, "what it cost to wait",
     "Runs on {host}, where its block is, in the optimum of that moment: to wait cost {right}. "},
    {DECISION_START, REASON_OPTIMUM, "optimum", "what it cost to run there", "what it cost to wait",
     "Runs on {host} in the optimum of that moment: that cost {left}, to wait {right}. "},
    {DECISION_START, REASON_OPTIMUM_SPARE, "optimum-spare", "what it cost to run there",
     "what it cost to wait",
     "Runs on {host}, beyond its job's part of the slots, which nobody else could use: that cost "
     "{left}, to wait {right}. "},
    PLACE_GREEDY_REASON,
    {DECISION_START, REASON_HOLD_EXPIRED, NULL, "ns since slots were kept from its stage", NULL,
     "Runs on {host} because slots had been kept from its stage for {left.1s} s: after hold_max "
     "any host takes it. "},
    {DECISION_HOLD, REASON_OPTIMUM_WAITS, "optimum-waits", "what it costs to wait", NULL,
     "in the optimum it waits, at a cost of {left}: on each host with a free slot two tasks "
     "receive "
     "already, or one whose turn is before its own is to receive there."},
    {DECISION_HOLD, REASON_OPTIMUM_BOUND, "optimum-bound", "what it costs to wait", NULL,
     "in the optimum it waits, at a cost of {left}: where a slot is free, on that host or rack, as "
     "many of its job or stage run as may at once, or a transfer is in its way."},
    {DECISION_HOLD, REASON_OPTIMUM_NEAR, "optimum-near", "what it costs to wait", NULL,
     "it waits for a slot next to its block, at a cost of {left} in the optimum."},
    FLOW_STOPS_REASONS,
    {0}};

static bool uses_priority(const struct engine *engine)
{
    return flow_weights_now(engine).priority;
}

const struct place_policy place_flow = {
    .policy = {.name = "flow",
               .state = {[POLICY_ENGINE] = {.size = sizeof(struct flow_engine),
                                            .init = init,
                                            .done = done},
                         [POLICY_JOB] = {.size = sizeof(struct flow_job),
                                         .done = job_done,
                                         .fields = job_fields,
                                         .keeps = job_keeps,
                                         .load = job_load},
                         [POLICY_STAGE] = {.size = sizeof(struct flow_stage), .done = stage_done},
                         [POLICY_HOST] = {.size = sizeof(struct flow_freed), .done = host_done}},
               .parameters = flow_parameters,
               .reasons = reasons,
               .uses_priority = uses_priority,
               .hears = {.task_ready = task_ready,
                         .task_unready = task_unready,
                         .stage_empty = stage_empty,
                         .task_moved = task_moved,
                         .turn_moved = turn_moved,
                         .priority_moved = priority_moved,
                         .job_grew = job_grew,
                         .job_on_host = job_on_host}},
    .at_most = true,
    .pick = flow_pick,
    .evict = evict,
    .chosen = chosen,
    .held = held,
    .arc_after = arc_after,
    .explain = explain,
};
