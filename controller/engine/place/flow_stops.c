#include "controller/engine/place/flow_stops.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/numbered.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/eviction.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/users.h"
#include "controller/engine/place/place.h"

static struct flow_freed *freed_of(const struct host *host)
{
    return host->kept[QUESTION_PLACE];
}

/* ---- sets ---- */

/* Priorities as unsigned numbers of the same order. */
static uint64_t rank_of(const struct job *job)
{
    return (uint64_t)job->priority ^ UINT64_C(1) << 63;
}

static void keep(struct sorted *set, struct sorted_node *node, struct sorted_key key, bool in)
{
    if (in)
        sorted_place(set, node, key, 0);
    else
        sorted_remove(set, node);
}

void flow_stops_follow(struct flow_stops *stops, struct job *job)
{
    struct flow_job *kept = job->kept[QUESTION_PLACE];
    uint64_t rank = rank_of(job);
    if (!stops->watches || job->framework)
        return;
    keep(&stops->ready, &kept->of_ready, (struct sorted_key){~rank, job->number, 0}, job->n_ready);
    keep(&stops->running, &kept->of_running, (struct sorted_key){rank, ~job->number, 0},
         job->n_running);
}

void flow_stops_leave(struct flow_stops *stops, struct flow_job *kept)
{
    sorted_remove(&stops->ready, &kept->of_ready);
    sorted_remove(&stops->running, &kept->of_running);
}

void flow_stops_leave_host(struct flow_stops *stops, struct flow_freed *kept)
{
    sorted_remove(&stops->coming, &kept->of_coming);
}

static void comes(struct flow_stops *stops, const struct host *host)
{
    sorted_place(&stops->coming, &freed_of(host)->of_coming, (struct sorted_key){host->index, 0, 0},
                 0);
}

/* What was told of the stop of an attempt that has not ended; NULL: it was not stopped here.
 * WHY by facts: an engine that is loaded from a dump finds the same. */
static const struct evicted *stop_of(const struct engine *engine, const struct attempt *attempt)
{
    const struct task *task =
        !attempt->stopping || attempt->task
            ? NULL
            : job_find_task(engine, attempt->job_number, attempt->stage_index, attempt->task_index);
    const struct evicted *stop = task ? eviction_of(task) : NULL;
    bool ours = stop && stop->host == attempt->host->index && stop->at_ns > attempt->started_ns &&
                (stop->reason == REASON_OPTIMUM_STOPS || stop->reason == REASON_OPTIMUM_MOVES);
    return ours ? stop : NULL;
}

static void watch(struct engine *engine, struct flow_stops *stops)
{
    const struct attempt *attempt = NULL;
    stops->watches = true;
    for (struct sorted_node *node = sorted_first(&engine->active); node; node = sorted_next(node))
        flow_stops_follow(stops, container_of(node, struct job, by_turn));
    while ((attempt = numbered_after(&engine->attempts, attempt ? attempt->number : 0)))
        if (stop_of(engine, attempt))
            comes(stops, attempt->host);
}

static void drop_all(struct sorted *set)
{
    struct sorted_node *node;
    while ((node = sorted_first(set)))
        sorted_remove(set, node);
}

static void unwatch(struct flow_stops *stops)
{
    stops->watches = false;
    drop_all(&stops->ready);
    drop_all(&stops->running);
    drop_all(&stops->coming);
}

/* ---- room that comes ---- */

/* Whether something comes there; lists for whom, if the host is up. */
static bool list_coming(const struct engine *engine, struct flow_stops *stops,
                        const struct host *host)
{
    const struct attempt *attempt;
    bool up = host_up(host), comes = false;
    TAILQ_FOREACH (attempt, &host->attempts, on_host) {
        const struct evicted *stop = stop_of(engine, attempt);
        comes |= stop != NULL;
        if (stop && up && stops->n_promised < FLOW_COMING)
            stops->promised[stops->n_promised++] =
                (struct flow_promise){stop->by_job, stop->by_stage};
    }
    return comes;
}

static void list_all_coming(struct engine *engine, struct flow_stops *stops)
{
    struct sorted_node *next;
    stops->n_promised = 0;
    for (struct sorted_node *node = sorted_first(&stops->coming); node; node = next) {
        const struct host *host = cluster_host(engine, (uint32_t)node->key.a);
        next = sorted_next(node);
        engine->counters.visits++;
        if (!list_coming(engine, stops, host))
            sorted_remove(&stops->coming, node);
    }
}

/* Ready tasks for which a slot comes are not in the graph while it is asked; `back`: they are
 * again. */
static void leave_out(struct engine *engine, struct flow_view *view, const struct flow_stops *stops,
                      bool back)
{
    for (uint32_t i = 0; i < stops->n_promised; i++) {
        const struct flow_promise *at = &stops->promised[i];
        struct stage *stage = at->job ? job_find_stage(engine, at->job, at->stage) : NULL;
        uint32_t n = 0, of_job = 0;
        for (uint32_t j = 0; !back && j < stops->n_promised; j++) {
            bool same = stops->promised[j].job == at->job;
            of_job += same;
            n += same && stops->promised[j].stage == at->stage;
        }
        if (stage)
            flow_view_leave_out(view, stage, n, of_job);
    }
}

/* ---- who lacks room ---- */

enum { SHAPES = 16 }; /* of those that lack room; of more kinds of tasks some are not asked */

struct need {
    uint64_t tasks; /* ready ones of higher priorities than the lowest that runs */
    uint64_t rank;  /* the highest */
    const struct shape *shapes[SHAPES];
    uint32_t n_shapes;
};

static void need_shape(struct need *need, const struct bucket *bucket)
{
    uint32_t i = 0;
    if (!bucket->n_maps && TAILQ_EMPTY(&bucket->reduce_stages))
        return;
    while (i < need->n_shapes && need->shapes[i] != bucket->shape)
        i++;
    if (i == need->n_shapes && i < SHAPES)
        need->shapes[need->n_shapes++] = bucket->shape;
}

static struct need need_of(struct engine *engine, const struct flow_stops *stops)
{
    struct need need = {0};
    const struct sorted_node *lowest = sorted_first(&stops->running),
                             *node = sorted_first(&stops->ready);
    need.rank = node ? ~node->key.a : 0;
    for (int looks = 0; node && lowest && ~node->key.a > lowest->key.a && looks < FLOW_LOOKS;
         looks++, node = sorted_next(node)) {
        const struct job *job = job_find(engine, node->key.b);
        engine->counters.visits++;
        need.tasks += job->n_ready;
        for (uint32_t i = 0; i < job->n_buckets; i++)
            need_shape(&need, job->buckets[i]);
    }
    return need;
}

/* How many of them have no room, now or when what comes has come. */
static int64_t missing(const struct engine *engine, const struct need *need, uint32_t coming)
{
    int64_t room = 0, slots = engine->free.amount[RES_SLOTS];
    for (uint32_t i = 0; i < need->n_shapes; i++)
        room += shape_times(engine, need->shapes[i]);
    slots = slots > 0 ? slots : 0;
    return (int64_t)need->tasks - (room < slots ? room : slots) - coming;
}

/* ---- who may be stopped ---- */

static bool may_stop(const struct engine *engine, const struct attempt *attempt, uint32_t times_max)
{
    const struct task *task = attempt->task;
    const struct evicted *before = task ? eviction_of(task) : NULL;
    return eviction_may(attempt) && task->attempts == attempt && !attempt->next_of_task &&
           host_up(attempt->host) && attempt->started_ns < engine->now_ns &&
           (!before || before->times < times_max);
}

static bool leaves_room(const struct attempt *attempt, const struct need *need)
{
    for (uint32_t i = 0; i < need->n_shapes; i++)
        if (eviction_leaves_room(attempt, need->shapes[i]))
            return true;
    return false;
}

static struct flow_victim victim_of(const struct engine *engine, const struct flow_weights *weights,
                                    struct attempt *attempt, bool moves)
{
    return (struct flow_victim){
        .attempt = attempt,
        .moves = moves,
        .stays = flow_cost_of_stay(engine, weights, attempt),
        .lost = flow_cost_of_lost(weights, engine->now_ns - attempt->started_ns)};
}

static void add(struct flow_stops *stops, struct flow_victim victim)
{
    stops->victims[stops->n_victims++] = victim;
}

/* What it may cost at most to leave a task where it runs. */
static int64_t most_of_stay(const struct flow_weights *weights)
{
    return weights->locality * FLOW_DIMENSION + weights->prefer * FLOW_UTILITY;
}

/* Adds the attempts of the stage that may be stopped, the newest first: for those in `need`, or if
 * it is NULL to move. False: FLOW_LOOKS are over. */
static bool add_of_stage(struct engine *engine, struct flow_stops *stops,
                         const struct flow_weights *weights, const struct need *need,
                         const struct stage *stage, uint32_t *looks)
{
    bool may_move = !stage->n_others && !flow_is_bounded(stage);
    struct attempt *attempt;
    TAILQ_FOREACH_REVERSE (attempt, &stage->attempts, attempts, of_stage) {
        engine->counters.visits++;
        if (++*looks > FLOW_LOOKS || stops->n_victims == FLOW_STOPS)
            return false;
        if (!may_stop(engine, attempt, need ? FLOW_STOPS_OF_TASK : 1))
            continue;
        struct flow_victim victim = victim_of(engine, weights, attempt, !need);
        if (need ? leaves_room(attempt, need)
                 : may_move && !attempt->task->bytes && victim.lost < victim.stays)
            add(stops, victim);
        /* WHY: those behind it have run for longer. */
        if (!need && victim.lost >= most_of_stay(weights))
            break;
    }
    return true;
}

static void choose(struct engine *engine, struct flow_stops *stops,
                   const struct flow_weights *weights, const struct need *need)
{
    uint32_t looks = 0;
    stops->n_victims = 0;
    for (struct sorted_node *node = sorted_first(&stops->running); node; node = sorted_next(node)) {
        const struct job *job = job_find(engine, ~node->key.b);
        if (need && node->key.a >= need->rank)
            return;
        for (uint32_t s = 0; s < job->n_stages; s++)
            if (++looks > FLOW_LOOKS ||
                !add_of_stage(engine, stops, weights, need, job->stages[s], &looks))
                return;
    }
}

/* ---- the optimum ---- */

/* Makes the slots of victims count as free, or no more. */
static void free_slots(const struct flow_stops *stops, bool free)
{
    for (uint32_t i = 0; i < stops->n_victims; i++) {
        struct flow_freed *freed = freed_of(stops->victims[i].attempt->host);
        freed->slots = free ? freed->slots + 1 : 0;
    }
}

static void show(struct engine *engine, struct flow_view *view, const struct flow_stops *stops)
{
    for (uint32_t i = 0; i < stops->n_victims; i++)
        flow_view_show(engine, view, stops->victims[i].attempt->host);
}

static void solve(struct engine *engine, struct flow_view *view, struct flow_stops *stops,
                  const struct flow_weights *weights)
{
    flow_view_follow(engine, view, weights);
    for (uint32_t i = 0; i < stops->n_victims; i++)
        flow_view_stage(engine, view, stops->victims[i].attempt->task->stage);
    show(engine, view, stops);
    flow_fair_follow(engine, view, false);
    leave_out(engine, view, stops, false);
    for (uint32_t i = 0; i < stops->n_victims; i++)
        flow_view_run(engine, view, &stops->victims[i], i);
    if (flow_solve(view->graph) < 0)
        longjmp(engine->no_memory, 1);
    engine->counters.visits += flow_looks(view->graph);
}

/* The graph is anew where nothing decides between optima, as in each round (flow.c). */
static void begin_round(struct engine *engine, struct flow_view *view, struct flow_stops *stops,
                        const struct flow_weights *weights)
{
    uint64_t looks;
    stops->rounds++;
    free_slots(stops, true);
    solve(engine, view, stops, weights);
    bool settled = flow_settle(view->graph, &looks);
    engine->counters.visits += looks;
    if (settled)
        return;
    flow_view_forget(engine, view);
    solve(engine, view, stops, weights);
}

static void end_round(struct engine *engine, struct flow_view *view, struct flow_stops *stops)
{
    for (uint32_t i = 0; i < stops->n_victims; i++)
        flow_remove_group(view->graph, stops->victims[i].group);
    free_slots(stops, false);
    show(engine, view, stops);
    leave_out(engine, view, stops, true);
    stops->n_victims = 0;
}

static bool stays(const struct flow_view *view, const struct flow_victim *victim)
{
    return flow_on_host(view->graph, victim->group, victim->attempt->host->index);
}

/* ---- preemption ---- */

/* Gives the slots of victims on the host to tasks of the stage, which the optimum runs there. */
static void displace(const struct flow_view *view, struct flow_stops *stops,
                     const struct flow_place *place)
{
    const struct stage *by = ((const struct flow_stage *)place->tag)->stage;
    uint32_t tasks = place->tasks;
    for (uint32_t i = 0; i < stops->n_victims && tasks; i++) {
        struct flow_victim *victim = &stops->victims[i];
        const struct attempt *attempt = victim->attempt;
        if (attempt->host->index != place->host || victim->by || stays(view, victim) ||
            by->job->priority <= attempt->task->stage->job->priority ||
            !eviction_leaves_room(attempt, by->bucket->shape))
            continue;
        victim->by = by;
        tasks--;
    }
}

/* The n-th ready task of the stage, from 0, in about the order in which they go; NULL: it has
 * fewer. */
static const struct task *ready_task(const struct stage *stage, uint32_t n)
{
    bool maps = !stage->ready_reduces.n;
    struct sorted_node *node =
        maps ? sorted_first(&stage->ready_maps) : sorted_last(&stage->ready_reduces);
    for (; node && n; n--)
        node = maps ? sorted_next(node) : sorted_previous(node);
    return node ? container_of(node, struct task, ready) : NULL;
}

/* The next task of the stage for which nothing was stopped. */
static const struct task *next_by(const struct flow_stops *stops, const struct stage *by)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < stops->n_promised; i++)
        n += stops->promised[i].job == by->job->number && stops->promised[i].stage == by->index;
    for (uint32_t i = 0; i < stops->n; i++)
        n += stops->list[i].by && stops->list[i].by->stage == by;
    const struct task *task = ready_task(by, n);
    return task ? task : ready_task(by, 0);
}

static void list_preempted(struct engine *engine, const struct flow_view *view,
                           struct flow_stops *stops, int64_t most)
{
    uint32_t n;
    const struct flow_place *places = flow_places(view->graph, &n);
    engine->counters.visits += n;
    for (uint32_t i = 0; i < n; i++)
        if (places[i].tag && freed_of(cluster_host(engine, places[i].host))->slots)
            displace(view, stops, &places[i]);
    for (uint32_t i = 0; i < stops->n_victims && stops->n < most; i++) {
        const struct flow_victim *victim = &stops->victims[i];
        if (!victim->by)
            continue;
        struct eviction stop = {victim->attempt, next_by(stops, victim->by), REASON_OPTIMUM_STOPS,
                                victim->lost, victim->by->job->priority};
        stops->list[stops->n++] = stop;
    }
}

static void preempt(struct engine *engine, struct flow_view *view, struct flow_stops *stops,
                    const struct flow_weights *weights)
{
    struct need need = need_of(engine, stops);
    if (!need.tasks)
        return;
    list_all_coming(engine, stops);
    int64_t most = missing(engine, &need, stops->n_promised),
            may_come = FLOW_COMING - (int64_t)stops->n_promised;
    most = most < may_come ? most : may_come;
    if (most <= 0)
        return;
    choose(engine, stops, weights, &need);
    if (!stops->n_victims)
        return;
    begin_round(engine, view, stops, weights);
    list_preempted(engine, view, stops, most);
    end_round(engine, view, stops);
}

/* ---- migration ---- */

/* The host to which the optimum moves it; NULL: it stays. */
static const struct host *new_host(const struct engine *engine, const struct flow_view *view,
                                   const struct flow_victim *victim)
{
    uint32_t n;
    const struct flow_place *places = flow_places(view->graph, &n);
    for (uint32_t i = 0; i < n; i++)
        if (places[i].group == victim->group && places[i].host != victim->attempt->host->index)
            return cluster_host(engine, places[i].host);
    return NULL;
}

/* WHY one to a host: a slot that another one leaves is not free yet. */
static void list_moved(struct engine *engine, const struct flow_view *view,
                       struct flow_stops *stops)
{
    const struct host *taken[FLOW_STOPS];
    for (uint32_t i = 0; i < stops->n_victims; i++) {
        const struct flow_victim *victim = &stops->victims[i];
        const struct host *host = stays(view, victim) ? NULL : new_host(engine, view, victim);
        bool again = false;
        for (uint32_t j = 0; j < stops->n; j++)
            again |= taken[j] == host;
        if (!host || again || !host_fit(host, victim->attempt->task->stage->bucket->shape))
            continue;
        taken[stops->n] = host;
        stops->list[stops->n++] = (struct eviction){victim->attempt, NULL, REASON_OPTIMUM_MOVES,
                                                    victim->stays, victim->lost};
    }
}

static void migrate(struct engine *engine, struct flow_view *view, struct flow_stops *stops,
                    const struct flow_weights *weights)
{
    if (engine->free.amount[RES_SLOTS] <= 0 || place_first_bucket(engine))
        return;
    choose(engine, stops, weights, NULL);
    if (!stops->n_victims)
        return;
    list_all_coming(engine, stops);
    begin_round(engine, view, stops, weights);
    list_moved(engine, view, stops);
    end_round(engine, view, stops);
}

/* ---- one after the other ---- */

static void list_stops(struct engine *engine, struct flow_view *view, struct flow_stops *stops)
{
    const struct flow_weights weights = flow_weights_now(engine);
    stops->step = engine->counters.steps;
    stops->n = stops->next = 0;
    if (users_divided(engine))
        return;
    if (weights.preempt)
        preempt(engine, view, stops, &weights);
    if (weights.migrate && !stops->n)
        migrate(engine, view, stops, &weights);
}

bool flow_stops_next(struct engine *engine, struct flow_view *view, struct flow_stops *stops,
                     struct eviction *ret_eviction)
{
    bool may = flow_may_stop(engine);
    if (!may && stops->watches)
        unwatch(stops);
    if (!may)
        return false;
    if (!stops->watches)
        watch(engine, stops);
    if (stops->step != engine->counters.steps)
        list_stops(engine, view, stops);
    while (stops->next < stops->n) {
        *ret_eviction = stops->list[stops->next++];
        if (!eviction_may(ret_eviction->attempt))
            continue;
        comes(stops, ret_eviction->attempt->host);
        return true;
    }
    return false;
}
