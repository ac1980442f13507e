#include "controller/engine/watch/framework_sizes.h"

#include "controller/engine/base/backlog.h"
#include "controller/engine/base/ground.h"
#include "controller/engine/base/job_stages.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/policy/policy.h"
#include "controller/engine/policy/questions.h"
#include "controller/engine/watch/estimate.h"
#include "controller/engine/watch/gate.h"
#include "controller/engine/watch/queues.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

uint64_t sizes_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

bool sizes_are_complete(const struct stage *stage, const struct edge *edge)
{
    const struct stage *parent = job_stage_at(stage->job, edge->parent);
    return parent->framework->announced && edge->late->n_rows == parent->n_tasks;
}

/* Adds to *bytes what is known of a reduce task by one edge; false: it is not known. */
static bool known_of(const struct edge *edge, uint32_t reduce, uint64_t *bytes)
{
    const struct late_edge *late = edge->late;
    const struct late_block *block = late_block_find(late, reduce);
    if (!block)
        return late->complete; /* no row has it */
    bool summed = late_is_summed(block, reduce);
    *bytes = sizes_add(*bytes, !late->complete && summed ? block->sums[reduce % LATE_BLOCK]
                                                         : block->columns[reduce % LATE_BLOCK]);
    return late->complete || summed;
}

/* By all reports so far. */
static uint64_t size_of(const struct task *task, bool *ret_known)
{
    const struct stage *stage = task->stage;
    uint64_t bytes = 0;
    bool known = true;
    for (uint32_t i = 0; i < stage->n_edges; i++)
        known &= known_of(&stage->edges[i], task->index, &bytes);
    *ret_known = known;
    if (!known && bytes < stage->framework->guess)
        bytes = stage->framework->guess;
    return bytes || known ? bytes : 1;
}

static void set_bytes(const struct engine *engine, struct task *task, uint64_t bytes)
{
    struct job *job = task->stage->job;
    task->stage->total_bytes += bytes - task->bytes;
    job->shuffle_bytes += bytes - task->bytes;
    if (task_state(task) != TASK_DONE && engine_follows(engine, RULE_LEFT_COUNTED))
        job->left_bytes += bytes - task->bytes;
    task->bytes = bytes;
}

void sizes_begin_task(const struct engine *engine, struct task *task)
{
    struct framework_stage *own = task->stage->framework;
    if (!task->stage->n_edges)
        return;
    task->guessed = true;
    own->guessed++;
    set_bytes(engine, task, own->guess ? own->guess : 1);
}

/* Gives a task of a framework's job another size, which may make it a map or a reduce task. The
 * caller updates the bucket and the job's turn. */
static void task_resize(struct engine *engine, struct task *task, uint64_t bytes)
{
    bool ready = task_state(task) == TASK_READY, same_queue = !task->bytes == !bytes;
    int64_t ready_ns = task->ready_ns;
    if (task->bytes == bytes)
        return;
    struct gate_clock clock;
    if (ready && !same_queue) {
        clock = gate_stop(engine, task->stage);
        task_unqueue(engine, task, TASK_BLOCKED);
    }
    tell_task_counts(engine, task, false);
    task_count_sums(task, -1);
    set_bytes(engine, task, bytes);
    task_count_sums(task, 1);
    if (ready && same_queue && bytes) {
        struct sorted_key key = {bytes, task->index, 0};
        sorted_place(&task->stage->ready_reduces, &task->ready, key, 0);
    }
    tell_task_counts(engine, task, true);
    if (ready && !same_queue) {
        task_queue_since(engine, task, ready_ns);
        gate_go_on(engine, task->stage, clock);
        task->ready_ns = ready_ns;
    }
}

void sizes_measure_later(struct engine *engine, struct attempt *attempt)
{
    const bool by_turns = engine_follows(engine, RULE_OWNERS_TURN);
    const uint64_t first_job = by_turns ? backlog_first_job(attempt->job_number) : 0;
    struct sorted_key key = {first_job, attempt->number, 0};
    sorted_place(&engine->unmeasured, &attempt->of_unmeasured, key, 0);
}

/* WHY not at once: each attempt has as many inputs as there are maps, and one fact may change those
 * of all running reduce tasks. Until its turn comes it keeps what was measured. */
static void inputs_changed(struct engine *engine, const struct task *task)
{
    if (!engine_follows(engine, RULE_INPUTS_WAIT) || engine->suspended)
        return;
    for (struct attempt *attempt = task->attempts; attempt; attempt = attempt->next_of_task)
        sizes_measure_later(engine, attempt);
}

static void set_guessed(struct task *task, bool guessed)
{
    task->stage->framework->guessed += (uint32_t)guessed - (uint32_t)task->guessed;
    task->guessed = guessed;
}

void sizes_set_task(struct engine *engine, struct task *task)
{
    bool known;
    uint64_t bytes = size_of(task, &known);
    engine->counters.visits++;
    set_guessed(task, !known);
    task_resize(engine, task, bytes);
    inputs_changed(engine, task);
}

bool sizes_is_behind(const struct task *task, bool *ret_otherwise)
{
    bool known = !task->guessed;
    bool behind = task->stage->n_edges && size_of(task, &known) != task->bytes;
    *ret_otherwise = known == task->guessed;
    return behind || *ret_otherwise;
}

/* Decides the attempt's new levels after its sizes changed; `reason` says why. */
static void tell(struct engine *engine, struct attempt *attempt, enum reason reason, uint64_t left,
                 uint64_t right)
{
    struct decision *decision =
        engine_decide(engine, DECISION_LEVEL, reason, clamp_i64(left), clamp_i64(right));
    decision->level.attempt = attempt->number;
    decision->level.host = attempt->host->index;
    decision->level.coflow_level = attempt->level[ORDER_COFLOW];
    decision->level.macroflow_level = attempt->level[ORDER_MACROFLOW];
    engine->counters.level_changes++;
}

static bool follow_level(struct engine *engine, struct attempt *attempt)
{
    uint64_t coflow = attempt->level[ORDER_COFLOW], macroflow = attempt->level[ORDER_MACROFLOW];
    sizes_set_levels(engine, attempt);
    return attempt->level[ORDER_COFLOW] != coflow || attempt->level[ORDER_MACROFLOW] != macroflow;
}

static void follow_attempt(struct engine *engine, struct attempt *attempt)
{
    engine->counters.visits++;
    attempt_measure(attempt);
    if (attempt->receiving) {
        attempt_set_receiving(engine, attempt, true);
        host_touch(engine, attempt->host);
    }
    if (attempt->state != ATTEMPT_COMPUTING && follow_level(engine, attempt))
        tell(engine, attempt, REASON_SIZE, attempt->bytes[ORDER_COFLOW],
             attempt->bytes[ORDER_MACROFLOW]);
}

static void follow_attempts(struct engine *engine, struct stage *stage)
{
    struct attempt *attempt;
    TAILQ_FOREACH (attempt, &stage->attempts, of_stage) {
        if (!engine_follows(engine, RULE_INPUTS_WAIT))
            attempt_measure_inputs(attempt);
        follow_attempt(engine, attempt);
    }
}

/* Sizes of tasks changed: their stage's place in the queues, the job's turn, levels. */
void sizes_settle(struct engine *engine, struct stage *stage)
{
    bucket_update(engine, stage->bucket);
    follow_attempts(engine, stage);
    estimate_follow_job(engine, stage->job);
}

/* Sizes tasks as far as this step may. WHY its tasks then count as reported again: policies look at
 * them in between. */
static void size_some(struct engine *engine, struct stage *stage)
{
    struct framework_stage *own = stage->framework;
    const uint32_t before = own->unsized;
    for (; own->unsized && engine_may_look(engine); own->unsized--) {
        sizes_set_task(engine, &stage->tasks[own->sizing]);
        own->sizing = own->sizing + 1 < stage->n_tasks ? own->sizing + 1 : 0;
        engine->step_looks += (uint64_t)LOOKS_OF_CHANGE * stage->n_edges;
    }
    stage->readied += own->of_sizing.in && own->unsized < before;
    sizes_restore_sizing(engine, stage, own->sizing, own->unsized);
    sizes_settle(engine, stage);
}

/* Sizes tasks from `first` on. WHY this does not restart a sizing in progress: reports that keep
 * coming would keep the last tasks from ever being sized. */
static void size_from(struct engine *engine, struct stage *stage, uint32_t first)
{
    struct framework_stage *own = stage->framework;
    own->sizing = own->unsized ? own->sizing : first;
    own->unsized = own->unsized ? stage->n_tasks : stage->n_tasks - first;
    stage->readied++;
    size_some(engine, stage);
}

void sizes_set_all(struct engine *engine, struct stage *stage)
{
    size_from(engine, stage, 0);
}

void sizes_restore_sizing(struct engine *engine, struct stage *stage, uint32_t next,
                          uint32_t unsized)
{
    struct framework_stage *own = stage->framework;
    struct sorted_key key = {stage->job->number, stage->index, 0};
    own->sizing = next;
    own->unsized = unsized;
    if (unsized)
        sorted_place(&engine->sizing, &own->of_sizing, key, 0);
    else
        sorted_remove(&engine->sizing, &own->of_sizing);
}

static void measure_some(struct engine *engine)
{
    struct sorted_node *node;
    while ((node = backlog_first(engine, &engine->unmeasured)) && engine_may_look(engine)) {
        struct attempt *attempt = container_of(node, struct attempt, of_unmeasured);
        sorted_remove(&engine->unmeasured, node);
        engine->step_looks += LOOKS_OF_CHANGE + attempt_measure_inputs(attempt);
        follow_attempt(engine, attempt);
    }
}

void sizes_go_on(struct engine *engine)
{
    struct sorted_node *node;
    while ((node = backlog_first(engine, &engine->sizing)) && engine_may_look(engine))
        size_some(engine, container_of(node, struct framework_stage, of_sizing)->stage);
    measure_some(engine);
}

void sizes_set_levels(struct engine *engine, struct attempt *attempt)
{
    const struct stage *stage = attempt->task->stage;
    uint64_t bytes[ORDERS] = {attempt->bytes[ORDER_COFLOW], attempt->bytes[ORDER_MACROFLOW]};
    if (attempt->task->guessed) {
        attempt->bytes[ORDER_COFLOW] = stage->received_bytes;
        attempt->bytes[ORDER_MACROFLOW] = attempt->received_bytes;
    }
    engine->network->levels(engine, stage, attempt);
    memcpy(attempt->bytes, bytes, sizeof(bytes));
}

static void follow_received(struct engine *engine, struct attempt *attempt)
{
    if (attempt->state != ATTEMPT_COMPUTING && follow_level(engine, attempt))
        tell(engine, attempt, REASON_RECEIVED, attempt->task->stage->received_bytes,
             attempt->received_bytes);
}

struct sizes *sizes_of(struct engine *engine)
{
    if (!engine->sizes)
        engine->sizes = engine_allocate(engine, 1, sizeof(*engine->sizes));
    return engine->sizes;
}

static struct sizes_stage *find(const struct sizes *sizes, uint64_t history)
{
    struct sorted_key key = {history, 0, 0};
    struct sorted_node *node = sorted_find(&sizes->by_history, key);
    return node ? container_of(node, struct sizes_stage, by_history) : NULL;
}

void sizes_remember(struct engine *engine, uint64_t history, uint64_t mean)
{
    struct sizes *sizes = sizes_of(engine);
    struct sizes_stage *stage = history ? find(sizes, history) : NULL;
    if (!history)
        return;
    if (!stage && sizes->by_history.n >= SIZES_HISTORY_MAX) {
        stage = container_of(sorted_first(&sizes->by_age), struct sizes_stage, by_age);
        sorted_remove(&sizes->by_history, &stage->by_history);
    }
    if (!stage)
        stage = engine_allocate(engine, 1, sizeof(*stage));
    stage->history = history;
    stage->mean = mean;
    struct sorted_key by_history = {history, 0, 0}, by_age = {sizes->age++, 0, 0};
    sorted_place(&sizes->by_history, &stage->by_history, by_history, 0);
    sorted_place(&sizes->by_age, &stage->by_age, by_age, 0);
}

/* What its parents read, as far as reported. O(parents). */
static uint64_t input_of(const struct stage *stage)
{
    wide bytes = 0;
    for (uint32_t i = 0; i < stage->n_edges; i++) {
        const struct stage *parent = job_stage_at(stage->job, stage->edges[i].parent);
        bytes += parent->total_bytes + parent->framework->input;
    }
    return bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

/* What its parents read that is no other stage's. O(parents). */
static uint64_t blocks_of(const struct stage *stage)
{
    wide bytes = 0;
    for (uint32_t i = 0; i < stage->n_edges; i++)
        bytes += job_stage_at(stage->job, stage->edges[i].parent)->framework->input;
    return bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

static uint64_t median(const struct sizes *sizes)
{
    uint64_t values[SIZES_MEANS];
    uint32_t n = sizes->n_means < SIZES_MEANS ? (uint32_t)sizes->n_means : SIZES_MEANS;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;
        for (; at && values[at - 1] > sizes->means[i]; at--)
            values[at] = values[at - 1];
        values[at] = sizes->means[i];
    }
    return n ? values[n / 2] : 0;
}

static wide total_of(const struct late_edge *late)
{
    wide bytes = 0;
    for (uint32_t b = 0; b < late->blocks_room; b++)
        for (uint32_t i = 0; late->blocks[b] && i < LATE_BLOCK; i++)
            bytes += late->blocks[b]->columns[i];
    return bytes;
}

/* A task's mean by the rows of ended maps: the others are assumed to be like them. 0: none was
 * reported. */
static uint64_t mean_of_rows(const struct stage *stage)
{
    wide bytes = 0;
    uint32_t told = 0;
    for (uint32_t i = 0; i < stage->n_edges; i++) {
        const struct late_edge *late = stage->edges[i].late;
        if (late->n_rows)
            bytes += total_of(late) * job_stage_at(stage->job, stage->edges[i].parent)->n_tasks /
                     late->n_rows;
        told += late->n_rows > 0;
    }
    if (!told || !stage->n_tasks)
        return 0;
    bytes = bytes * stage->n_edges / told / stage->n_tasks;
    return bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

uint64_t sizes_guess(const struct engine *engine, const struct stage *stage)
{
    const struct sizes *sizes = engine->sizes;
    const struct sizes_stage *past = sizes ? find(sizes, stage->framework->history) : NULL;
    uint64_t input = input_of(stage), first = engine->config.macroflow.threshold_bytes[0];
    uint64_t guess = mean_of_rows(stage);
    if (guess)
        return guess;
    if (past)
        guess = past->mean;
    else if (sizes && sizes->input && input && stage->n_tasks) {
        wide bytes = (wide)input * sizes->shuffle / sizes->input / stage->n_tasks;
        guess = bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
    } else if (stage->n_tasks && engine_follows(engine, RULE_INPUT_GUESSED) && blocks_of(stage)) {
        guess = blocks_of(stage) / stage->n_tasks;
    } else if (sizes) {
        guess = median(sizes);
    }
    if (!guess)
        guess = first;
    return guess ? guess : 1;
}

static void learn(struct engine *engine, const struct stage *stage)
{
    if (!stage->n_edges || !stage->n_tasks)
        return;
    struct sizes *sizes = sizes_of(engine);
    uint64_t total = stage->framework->guessed ? stage->received_bytes : stage->total_bytes;
    uint64_t input = input_of(stage);
    if (!total)
        return;
    sizes_remember(engine, stage->framework->history, total / stage->n_tasks);
    sizes->means[sizes->n_means++ % SIZES_MEANS] = total / stage->n_tasks;
    if (!input)
        return;
    while (sizes->input > UINT64_MAX / 4 || sizes->shuffle > UINT64_MAX / 4) {
        sizes->input /= 2;
        sizes->shuffle /= 2;
    }
    sizes->input += input < UINT64_MAX / 4 ? input : UINT64_MAX / 4;
    sizes->shuffle += total < UINT64_MAX / 4 ? total : UINT64_MAX / 4;
}

void sizes_done(struct engine *engine)
{
    struct sizes *sizes = engine->sizes;
    struct sorted_node *node;
    while (sizes && (node = sorted_first(&sizes->by_age))) {
        struct sizes_stage *stage = container_of(node, struct sizes_stage, by_age);
        sorted_remove(&sizes->by_age, node);
        free(stage);
    }
    free(sizes);
}

void sizes_follow_tasks(struct engine *engine, struct stage *stage, uint32_t before)
{
    size_from(engine, stage, stage->n_edges ? before : stage->n_tasks);
    for (uint32_t i = 0; i < stage->n_children; i++) {
        struct stage *child = job_stage_at(stage->job, stage->children[i]);
        for (uint32_t e = 0; e < child->n_edges; e++)
            if (child->edges[e].parent == stage->index && child->edges[e].late->complete)
                sizes_follow_parents(engine, child);
    }
}

void sizes_follow_parents(struct engine *engine, struct stage *stage)
{
    for (uint32_t i = 0; i < stage->n_edges; i++)
        stage->edges[i].late->complete = sizes_are_complete(stage, &stage->edges[i]);
    if (!engine->suspended)
        stage->framework->guess = sizes_guess(engine, stage);
    if (stage->n_edges)
        sizes_set_all(engine, stage);
}

void sizes_restore_guess(struct engine *engine, struct stage *stage, uint64_t guess)
{
    stage->framework->guess = guess;
    if (stage->n_edges)
        sizes_set_all(engine, stage);
}

void sizes_restore_task(struct engine *engine, struct task *task, uint64_t bytes, bool otherwise)
{
    set_guessed(task, task->guessed != otherwise);
    task_resize(engine, task, bytes);
    sizes_settle(engine, task->stage);
}

static void received(struct engine *engine, struct attempt *attempt, uint64_t more_bytes)
{
    (void)more_bytes;
    if (attempt->task->guessed)
        follow_received(engine, attempt);
}

static void stage_done(struct engine *engine, struct stage *stage)
{
    if (stage->framework)
        learn(engine, stage);
}

const struct listener sizes_hears = {.received = received, .stage_done = stage_done};
