/* Copies of state for readers outside. */
#include "controller/engine/base/job_stages.h"
#include "controller/engine/base/numbered.h"
#include "controller/engine/base/resources.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/eviction.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/retry.h"
#include "controller/engine/books/split.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/users.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/mode/mode_rule.h"
#include "controller/engine/watch/framework_sizes.h"
#include "controller/engine/watch/gate.h"
#include "controller/engine/watch/hold.h"
#include "controller/engine/watch/order.h"
#include "controller/engine/watch/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static uint64_t smallest_receiving(const struct host *host, enum transfer_order order)
{
    const struct sorted_node *first = sorted_first(&host->receiving[order]);
    return first ? first->key.a : UINT64_MAX;
}

int engine_host(const struct engine *engine, uint32_t index, struct host_view *ret_view)
{
    const struct host *host = cluster_host(engine, index);
    if (!host)
        return -ENOENT;
    *ret_view = (struct host_view){
        .host = index,
        .generation = host->generation,
        .name = host->name,
        .rack = host->rack,
        .labels = host->labels,
        .joined = host->joined,
        .silent = host->silent,
        .lost = host->lost,
        .draining = host->draining,
        .units = host->n_units,
        .running = host->running,
        .receiving = (uint32_t)host->receiving[ORDER_COFLOW].n,
        .uplink_bps = host->uplink_bps,
        .downlink_bps = host->downlink_bps,
        .uplink_permille = host->uplink_permille,
        .downlink_permille = host->downlink_permille,
        .disk_bytes_s = host->disk_bytes_s,
        .disk_permille = host->disk_permille,
        .disk_readers = host->disk_readers,
        .disk_hangs = host->disk_hangs,
        .smallest_coflow_bytes = smallest_receiving(host, ORDER_COFLOW),
        .smallest_macroflow_bytes = smallest_receiving(host, ORDER_MACROFLOW),
        .suspect = host_suspect(host),
        .mute = host->reach.mute,
        .blind = host->reach.blind,
        .trial = !host->reach.suspect && host->reach.strikes,
        .failing = host->failing.suspect,
        .probe_ns =
            host->failing.probe || host->failing.due_ns == INT64_MAX ? 0 : host->failing.due_ns,
        .failed_in_a_row = host->failing.in_a_row,
        .suspect_since_ns =
            host->reach.suspect ? host->reach.suspect_since_ns : host->failing.since_ns,
        .readers = host->reach.readers,
        .sources = host->reach.sources,
    };
    for (uint32_t i = 0; i < host->n_units; i++) {
        resources_add(&ret_view->total, &host->units[i].total);
        resources_add(&ret_view->free, &host->units[i].free);
    }
    resources_add(&ret_view->total, &host->beyond);
    resources_add(&ret_view->free, &host->room_free);
    ret_view->rooms = (uint32_t)host->rooms.n;
    ret_view->jobs_outputs = host->n_outputs;
    return 0;
}

static void view_job(const struct engine *engine, const struct job *job, struct job_view *ret_view)
{
    *ret_view = (struct job_view){
        .job = job->number,
        .name = job->name,
        .user = job->user,
        .state = job->state,
        .stages = job_stage_end(job),
        .tasks = job->n_tasks,
        .ready = job->n_ready + job->n_retries,
        .running = job->n_running,
        .allowed = job->n_allowed,
        .done = job->n_done,
        .held_stages = job->held_stages,
        .framework = job->framework,
        .submitted_ns = job->submitted_ns,
        .finished_ns = job->finished_ns,
        .slot_wait_ns = job->slot_wait_ns,
        .held_by = job->holder ? job->holder->by : NULL,
        .held_since_ns = job->holder ? job->holder->since_ns : 0,
        .priority = job->priority,
        .evictions = job->evictions,
        .evicted_ns = job->evicted_ns,
        .shuffle_bytes = job->shuffle_bytes,
        .key = job->turn.a,
        .first = job == order_first(engine),
    };
}

static void view_finished(const struct finished *finished, struct job_view *ret_view)
{
    *ret_view = (struct job_view){
        .job = finished->number,
        .name = finished->name,
        .user = finished->user,
        .state = finished->state,
        .stages = finished->stages,
        .tasks = finished->tasks,
        .done = finished->state == JOB_DONE ? finished->tasks : 0,
        .submitted_ns = finished->submitted_ns,
        .finished_ns = finished->finished_ns,
        .slot_wait_ns = finished->slot_wait_ns,
        .evictions = finished->evictions,
        .evicted_ns = finished->evicted_ns,
        .shuffle_bytes = finished->shuffle_bytes,
        .key = finished->key,
    };
}

/* Name number `index` of a list separated by commas. */
static void name_of_unit(const char *names, uint32_t index, char *ret_name, size_t size)
{
    for (; names && index; index--)
        names = strchr(names, ',') ? strchr(names, ',') + 1 : NULL;
    snprintf(ret_name, size, "%.*s", names ? (int)strcspn(names, ",") : 0, names ? names : "");
}

int engine_unit(const struct engine *engine, uint32_t index, uint32_t unit,
                struct unit_view *ret_view)
{
    const struct host *host = cluster_host(engine, index);
    if (!host || unit >= host->n_units)
        return -ENOENT;
    *ret_view = (struct unit_view){.host = index,
                                   .unit = unit,
                                   .total = host->units[unit].total,
                                   .free = host->units[unit].free,
                                   .running = host->units[unit].running};
    name_of_unit(host->unit_names, unit, ret_view->name, sizeof(ret_view->name));
    return 0;
}

int engine_job(const struct engine *engine, uint64_t number, struct job_view *ret_view)
{
    const struct job *job = job_find(engine, number);
    const struct finished *finished = job ? NULL : job_find_finished(engine, number);
    if (job)
        view_job(engine, job, ret_view);
    else if (finished)
        view_finished(finished, ret_view);
    return job || finished ? 0 : -ENOENT;
}

static uint64_t still_to_come(const struct attempt *attempt)
{
    uint64_t bytes = attempt->task->bytes, received = attempt->received_bytes;
    if (attempt->state == ATTEMPT_COMPUTING || received > bytes)
        return 0;
    return bytes - received;
}

int engine_job_left(const struct engine *engine, uint64_t number, uint64_t *ret_ns,
                    uint64_t *ret_bytes)
{
    const struct job *job = job_find(engine, number);
    if (!job || job->state != JOB_ACTIVE || job->framework)
        return -ENOENT;
    *ret_ns = job->left_ns;
    *ret_bytes = job->left_bytes;
    for (uint32_t s = 0; s < job->n_stages; s++) {
        const struct attempt *attempt;
        TAILQ_FOREACH (attempt, &job->stages[s]->attempts, of_stage)
            if (attempt == attempt->task->attempts)
                *ret_bytes -= attempt->task->bytes - still_to_come(attempt);
    }
    return 0;
}

static struct sorted_node *after_number(const struct sorted *set, uint64_t after)
{
    struct sorted_key key = {after, 0, 1};
    return sorted_from(set, key);
}

int engine_job_after(const struct engine *engine, uint64_t after, struct job_view *ret_view)
{
    struct sorted_node *node = after_number(&engine->jobs, after);
    if (!node)
        return -ENOENT;
    view_job(engine, container_of(node, struct job, by_number), ret_view);
    return 0;
}

int engine_job_in_turn(const struct engine *engine, uint64_t after, struct job_view *ret_view)
{
    const struct job *job = after ? job_find(engine, after) : NULL;
    if (after && (!job || !job->by_turn.in))
        return -ESRCH;
    struct sorted_node *node = job ? sorted_next(&job->by_turn) : sorted_first(&engine->active);
    if (!node)
        return -ENOENT;
    view_job(engine, container_of(node, struct job, by_turn), ret_view);
    return 0;
}

uint64_t engine_job_place(const struct engine *engine, uint64_t number)
{
    const struct job *job = job_find(engine, number);
    return job && job->by_turn.in ? sorted_rank(&job->by_turn) + 1 : 0;
}

int engine_job_at_place(const struct engine *engine, uint64_t place, struct job_view *ret_view)
{
    struct sorted_node *node = place ? sorted_at(&engine->active, place - 1) : NULL;
    if (!node)
        return -ENOENT;
    view_job(engine, container_of(node, struct job, by_turn), ret_view);
    return 0;
}

int engine_finished_after(const struct engine *engine, uint64_t after, struct job_view *ret_view)
{
    struct sorted_node *node = after_number(&engine->finished, after);
    if (!node)
        return -ENOENT;
    view_finished(container_of(node, struct finished, by_number), ret_view);
    return 0;
}

int engine_finished_before(const struct engine *engine, uint64_t place, struct job_view *ret_view,
                           uint64_t *ret_place)
{
    struct sorted_key key = {place ? place - 1 : UINT64_MAX, 0, 0};
    struct sorted_node *after = sorted_from(&engine->finished_age, key),
                       *node = after ? sorted_previous(after) : sorted_last(&engine->finished_age);
    if (!node)
        return -ENOENT;
    view_finished(container_of(node, struct finished, by_age), ret_view);
    *ret_place = node->key.a + 1;
    return 0;
}

int engine_split(const struct engine *engine, uint64_t number, int64_t at_ns,
                 struct stage_split *room, struct job_split *ret_split)
{
    const struct job *job = room ? job_find(engine, number) : NULL;
    if (!job)
        return split_ended(engine, number, ret_split);
    if (job->state != JOB_ACTIVE)
        return -ENOENT;
    split_read(job, at_ns, room, ret_split);
    return 0;
}

uint64_t engine_compute_ns(const struct engine *engine, uint64_t job, uint32_t stage, uint32_t task,
                           uint32_t variant)
{
    const struct task *first = job_find_task(engine, job, stage, task);
    if (!first || variant > first->stage->n_others)
        return 0;
    return variant_of(first->stage, variant)->tasks[task].compute_ns;
}

/* Of its variants that are held, or else of the first, the soonest. */
static int64_t held_until_ns(const struct stage *first)
{
    int64_t until_ns = hold_end_ns(first);
    bool held = first->held;
    for (uint32_t i = 0; i < first->n_others; i++) {
        const struct stage *other = first->others[i];
        if (other->held && (!held || hold_end_ns(other) < until_ns))
            until_ns = hold_end_ns(other);
        held |= other->held;
    }
    return until_ns;
}

static void view_stage(const struct stage *stage, struct stage_view *ret_view)
{
    *ret_view = (struct stage_view){
        .job = stage->job->number,
        .stage = stage->index,
        .tasks = stage->n_tasks,
        .ready = stage->n_ready,
        .running = stage->n_running,
        .done = stage->n_done,
        .command = stage->command,
        .constraint = stage->bucket->shape->constraint,
        .coflow_bytes = stage_coflow_bytes(stage),
        .received_bytes = stage->received_bytes,
        .held = (stage->n_held || stage->refusal) && (!stage->framework || gate_is_shut(stage)),
        .held_until_ns = stage->refusal ? stage->refusal->due_ns : held_until_ns(stage),
        .gated = gate_is_shut(stage),
        .bound = gate_is_bound(stage),
        .left = stage->framework && stage->framework->left,
        .allowed = stage->framework ? stage->framework->allowed : 0,
        .variants = variant_count(stage),
        .history = stage->history,
    };
}

int engine_stage(const struct engine *engine, uint64_t job, uint32_t index,
                 struct stage_view *ret_view)
{
    const struct stage *stage = job_find_stage(engine, job, index);
    if (!stage || !stage->n_tasks)
        return -ENOENT;
    view_stage(stage, ret_view);
    return 0;
}

int engine_stage_from(const struct engine *engine, uint64_t number, uint32_t from,
                      struct stage_view *ret_view)
{
    const struct job *job = job_find(engine, number);
    for (uint32_t i = job ? job_stage_place(job, from) : 0; job && i < job->n_stages; i++)
        if (job->stages[i]->n_tasks) {
            view_stage(job->stages[i], ret_view);
            return 0;
        }
    return -ENOENT;
}

int engine_variant(const struct engine *engine, uint64_t job, uint32_t index, uint32_t variant,
                   struct variant_view *ret_view)
{
    struct stage *first = job_find_stage(engine, job, index);
    if (!first || variant >= variant_count(first))
        return -ENOENT;
    const struct stage *stage = variant_of(first, variant);
    const struct shape *shape = stage->bucket->shape;
    *ret_view = (struct variant_view){.variant = variant,
                                      .command = stage->command,
                                      .constraint = shape->constraint,
                                      .demand = shape->demand,
                                      .profile = stage->profile,
                                      .fit = shape_times(engine, shape),
                                      .possible = shape->possible};
    return 0;
}

int engine_edge(const struct engine *engine, uint64_t job, uint32_t index, uint32_t edge,
                struct edge_view *ret_view)
{
    const struct stage *stage = job_find_stage(engine, job, index);
    if (!stage || edge >= stage->n_edges)
        return -ENOENT;
    *ret_view =
        (struct edge_view){stage->edges[edge].parent, stage->edges[edge].kind == EDGE_PIPELINED};
    return 0;
}

uint32_t engine_block_hosts(const struct engine *engine, uint64_t job, uint32_t stage,
                            uint32_t index, uint32_t ret_hosts[ENGINE_REPLICAS_MAX])
{
    const struct task *task = job_find_task(engine, job, stage, index);
    uint32_t n = 0;
    for (uint32_t i = 0; task && i < task_n_replicas(task) && n < ENGINE_REPLICAS_MAX; i++)
        if (task_replicas(task)[i] != ENGINE_NONE)
            ret_hosts[n++] = task_replicas(task)[i];
    return n;
}

const struct engine_config *engine_configuration(const struct engine *engine)
{
    return &engine->config;
}

static bool loss_fails(const struct engine *engine, const struct task *task)
{
    const struct host *host = task->attempts ? task->attempts->host : NULL;
    return engine->config.losses_max && task->losses + 1 >= engine->config.losses_max &&
           !(host && retry_repeats(engine, task, host));
}

static void view_task(const struct engine *engine, const struct task *task,
                      struct task_view *ret_view)
{
    const struct evicted *evicted = eviction_of(task);
    *ret_view = (struct task_view){
        .job = task->stage->job->number,
        .stage = task->stage->index,
        .task = task->index,
        .state = retry_waits(task) ? TASK_READY : task_state(task),
        .network_input = task->bytes > 0,
        .guessed = task->guessed,
        .bytes = task->bytes,
        .input_bytes = task->input_bytes,
        .compute_ns = task->compute_ns,
        .output_bytes = task->output_bytes,
        .failures = task->failures,
        .losses = task->losses,
        .loss_fails = loss_fails(engine, task),
        .evictions = evicted ? evicted->times : 0,
        .evicted_ns = evicted ? evicted->lost_ns : 0,
        .attempt = task->attempts ? task->attempts->number : task->done_attempt,
        .host = task->attempts       ? task->attempts->host->index
                : task->done_attempt ? task->done_host
                                     : ENGINE_NONE,
        .ready_ns = task->ready_ns,
        .started_ns = task->started_ns,
    };
}

int engine_task(const struct engine *engine, uint64_t job, uint32_t stage, uint32_t index,
                struct task_view *ret_view)
{
    const struct task *task = job_find_task(engine, job, stage, index);
    if (!task)
        return -ENOENT;
    view_task(engine, task, ret_view);
    return 0;
}

uint32_t engine_tasks(const struct engine *engine, uint64_t job, uint32_t number, uint32_t from,
                      uint32_t n, struct task_view *ret_views)
{
    struct stage *stage = job_find_stage(engine, job, number);
    const struct task *task;
    uint32_t found = 0;
    for (; found < n && (task = job_stage_task(stage, from + found)); found++)
        view_task(engine, task, &ret_views[found]);
    return found;
}

static void view_attempt(const struct attempt *attempt, struct attempt_view *ret_view)
{
    *ret_view = (struct attempt_view){
        .attempt = attempt->number,
        .job = attempt->job_number,
        .stage = attempt->stage_index,
        .task = attempt->task_index,
        .host = attempt->host->index,
        .unit = attempt->unit,
        .state = attempt->state,
        .orphan = !attempt->task,
        .foreign = attempt->foreign,
        .allow = attempt->allowed_until_ns,
        .allow_until_ns = attempt->allowed_until_ns,
        .coflow_level = attempt->level[ORDER_COFLOW],
        .macroflow_level = attempt->level[ORDER_MACROFLOW],
        .coflow_bytes = attempt->bytes[ORDER_COFLOW],
        .macroflow_bytes = attempt->bytes[ORDER_MACROFLOW],
        .received_bytes = attempt->received_bytes,
        .started_ns = attempt->started_ns,
        .received_ns = attempt->received_ns,
        .found = attempt->reason == REASON_NONE,
        .stopping = attempt->stopping,
        .in_own_room = attempt->room && attempt->room->application != ENGINE_EVERYBODY,
        .variant = attempt->variant,
    };
}

int engine_account(const struct engine *engine, uint64_t application, struct account_view *ret_view)
{
    const struct account *account = account_known(engine, application);
    if (!account)
        return -ENOENT;
    *ret_view = (struct account_view){
        .bytes = account->bytes,
        .bytes_max = engine->config.framework_memory_max,
        .jobs = account->jobs,
        .jobs_max = engine->config.framework_jobs_max,
        .refused = account->refused,
        .allowed = account->allowed,
        .allows_max = account->limit,
        .lapsed = account->lapsed,
    };
    return 0;
}

int engine_attempt(const struct engine *engine, uint64_t number, struct attempt_view *ret_view)
{
    const struct attempt *attempt = attempt_find(engine, number);
    if (!attempt)
        return -ENOENT;
    view_attempt(attempt, ret_view);
    return 0;
}

int engine_attempt_after(const struct engine *engine, uint64_t after, struct attempt_view *ret_view)
{
    const struct attempt *attempt = numbered_after(&engine->attempts, after);
    if (!attempt)
        return -ENOENT;
    view_attempt(attempt, ret_view);
    return 0;
}

void engine_host_attempts(const struct engine *engine, uint32_t index,
                          void (*each)(void *context, const struct attempt_view *attempt),
                          void *context)
{
    const struct host *host = cluster_host(engine, index);
    const struct attempt *attempt;
    struct attempt_view view;
    if (!host)
        return;
    TAILQ_FOREACH (attempt, &host->attempts, on_host) {
        view_attempt(attempt, &view);
        each(context, &view);
    }
}

uint32_t engine_host_outputs(const struct engine *engine, uint32_t index, uint32_t most,
                             void (*each)(void *context, uint64_t job, uint32_t outputs),
                             void *context)
{
    const struct host *host = cluster_host(engine, index);
    const struct job_host *here = host ? TAILQ_FIRST(&host->outputs) : NULL;
    for (uint32_t n = 0; here && n < most; n++, here = TAILQ_NEXT(here, of_host))
        each(context, here->job->number, here->outputs);
    return host ? host->n_outputs : 0;
}

void engine_block_readers(const struct engine *engine, uint32_t index, uint32_t most,
                          void (*each)(void *context, const struct attempt_view *attempt),
                          void *context)
{
    const struct host *host = cluster_host(engine, index);
    const struct attempt *attempt = host ? TAILQ_FIRST(&host->block_readers) : NULL;
    struct attempt_view view;
    for (uint32_t n = 0; attempt && n < most; n++, attempt = TAILQ_NEXT(attempt, of_block)) {
        view_attempt(attempt, &view);
        each(context, &view);
    }
}

void engine_stage_attempts(const struct engine *engine, uint64_t job, uint32_t index,
                           void (*each)(void *context, const struct attempt_view *attempt),
                           void *context)
{
    const struct stage *stage = job_find_stage(engine, job, index);
    const struct attempt *attempt;
    struct attempt_view view;
    if (!stage)
        return;
    TAILQ_FOREACH (attempt, &stage->attempts, of_stage) {
        view_attempt(attempt, &view);
        each(context, &view);
    }
}

uint32_t engine_stage_attempts_from(const struct engine *engine, uint64_t job, uint32_t index,
                                    uint32_t first, uint32_t most,
                                    void (*each)(void *context, const struct attempt_view *attempt),
                                    void *context)
{
    const struct stage *stage = job_find_stage(engine, job, index);
    struct attempt_view view;
    if (!stage || first >= stage->n_tasks)
        return UINT32_MAX;
    const uint32_t end = most < stage->n_tasks - first ? first + most : stage->n_tasks;
    /* One that was not made yet has none. */
    for (uint32_t i = first; i < end; i++)
        for (const struct attempt *attempt = stage->tasks[i].attempts; attempt;
             attempt = attempt->next_of_task) {
            view_attempt(attempt, &view);
            each(context, &view);
        }
    return end;
}

uint64_t engine_counted_bytes(const struct engine *engine)
{
    return engine->pools[POOL_SUBMITTED].amount[0] + engine->pools[POOL_FRAMEWORKS].amount[0];
}

void engine_status(const struct engine *engine, struct engine_status *ret_status)
{
    const struct job *first = order_first(engine);
    *ret_status = (struct engine_status){
        .now_ns = engine->now_ns,
        .mode = engine->mode,
        .mode_sequence = engine->mode_sequence,
        .mode_since_ns = engine->mode_since_ns,
        .congested = engine->congested,
        .hot_uplinks = (uint32_t)engine->warm.n,
        .first_job = first ? first->number : 0,
        .hosts = engine->joined,
        .hosts_up = engine->up,
        .hosts_suspect = engine->suspects,
        .jobs_active = engine->active.n,
        .tasks_ready = engine->n_ready + engine->n_retries,
        .attempts = engine->attempts.n,
        .held_stages = (uint32_t)engine->held_stages,
        .slots = engine->total.amount[RES_SLOTS],
        .slots_free = engine->free.amount[RES_SLOTS],
    };
    mode_numbers(engine, &ret_status->first_ready, &ret_status->first_free);
}

void engine_mode(const struct engine *engine, struct mode_view *ret_view)
{
    const struct job *first = order_first(engine);
    *ret_view = (struct mode_view){
        .mode = engine->mode,
        .sequence = engine->mode_sequence,
        .since_ns = engine->mode_since_ns,
        .until_ns = engine->mode_since_ns + engine->config.mode_dwell_ns,
        .first_job = first ? first->number : 0,
    };
    ret_view->wanted =
        engine->mode_rule->wanted(engine, &ret_view->reason, &ret_view->ready, &ret_view->free);
}

void engine_congestion(const struct engine *engine, struct congestion_view *ret_view)
{
    *ret_view = (struct congestion_view){.congested = engine->congested,
                                         .uplinks = engine->joined,
                                         .over = engine->hot,
                                         .uncleared = (uint32_t)engine->warm.n};
}

void engine_counters(const struct engine *engine, struct engine_counters *ret_counters)
{
    *ret_counters = engine->counters;
}

int engine_sizes_after(const struct engine *engine, uint64_t place, struct sizes_view *ret_view)
{
    struct sorted_key from = {place, 0, 0};
    const struct sorted_node *node =
        engine->sizes ? sorted_from(&engine->sizes->by_age, from) : NULL;
    if (!node)
        return -ENOENT;
    const struct sizes_stage *stage = container_of(node, const struct sizes_stage, by_age);
    *ret_view = (struct sizes_view){node->key.a + 1, stage->history, stage->mean};
    return 0;
}

static int view_user(const struct engine *engine, const struct user *user,
                     struct user_view *ret_view)
{
    if (!user)
        return -ENOENT;
    *ret_view = (struct user_view){.user = user->number,
                                   .share = user->share,
                                   .name = user->name,
                                   .since_ns = user->since_ns,
                                   .jobs = user->jobs,
                                   .owed = debts_position(engine->debts, user->number),
                                   .leaves = user->leaves};
    return 0;
}

int engine_user_from(const struct engine *engine, uint64_t from, struct user_view *ret_view)
{
    return view_user(engine, users_from(engine, from), ret_view);
}

int engine_user_named(const struct engine *engine, const char *name, struct user_view *ret_view)
{
    return view_user(engine, users_named(engine, name), ret_view);
}

int engine_user_fits(const struct engine *engine, uint32_t user, uint32_t share, struct err *err)
{
    return users_fit(engine, user, share, err);
}

int engine_use_from(const struct engine *engine, uint64_t from, int64_t at_ns,
                    struct user_use *ret_use)
{
    const struct user *user = users_from(engine, from);
    if (!user)
        return -ENOENT;
    *ret_use = users_use(user, at_ns);
    return 0;
}

int engine_users_drift(const struct engine *engine, struct users_drift *ret_drift)
{
    return users_drift(engine, ret_drift);
}

int engine_debt_from(const struct engine *engine, uint32_t borrower, uint32_t lender,
                     struct debt_view *ret_view)
{
    struct debt debt;
    if (!debts_from(engine->debts, borrower, lender, &debt))
        return -ENOENT;
    *ret_view = (struct debt_view){debt.borrower, debt.lender, debt.amount, debt.since_ns};
    return 0;
}

struct division_view engine_division(const struct engine *engine)
{
    return (struct division_view){.position = engine->users_position,
                                  .charged = (uint64_t)engine->config.epoch << 32 |
                                             (uint32_t)engine->attempt_counter,
                                  .changes = engine->users_changes};
}
