#include "controller/engine/framework_sizes.h"

#include "controller/engine/attempt.h"
#include "controller/engine/cluster.h"
#include "controller/engine/framework.h"
#include "controller/engine/ground.h"
#include "controller/engine/network/network.h"
#include "controller/engine/policy.h"
#include "controller/engine/stage.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* ---- edges ---- */

struct late_edge *sizes_edge_make(struct engine *engine)
{
    return engine_allocate(engine, 1, sizeof(struct late_edge));
}

static void split_done(struct late_split *split)
{
    free(split->hosts);
    free(split->bytes);
    *split = (struct late_split){0};
}

void sizes_edge_done(struct edge *edge)
{
    struct late_edge *late = edge->late;
    for (uint32_t m = 0; m < late->rows_room; m++)
        free(late->rows[m].bytes);
    for (uint32_t r = 0; r < late->room; r++)
        split_done(&late->splits[r]);
    free(late->rows);
    free(late->columns);
    free(late->sums);
    free(late->summed);
    free(late->splits);
    free(late);
}

/* An array of `size` a place moves to one of `room` places, the new ones zero. */
static void *enlarge(struct engine *engine, void *array, size_t before, size_t room, size_t size)
{
    char *larger = engine_allocate(engine, room, size);
    if (before)
        memcpy(larger, array, before * size);
    free(array);
    return larger;
}

static void make_room(struct engine *engine, struct late_edge *late, const struct stage *stage)
{
    uint32_t room = stage->framework->room;
    if (room <= late->room)
        return;
    late->columns = enlarge(engine, late->columns, late->room, room, sizeof(*late->columns));
    late->sums = enlarge(engine, late->sums, late->room, room, sizeof(*late->sums));
    late->summed = enlarge(engine, late->summed, late->room, room, sizeof(*late->summed));
    late->splits = enlarge(engine, late->splits, late->room, room, sizeof(*late->splits));
    late->room = room;
}

static void make_rows(struct engine *engine, struct late_edge *late, const struct stage *parent)
{
    uint32_t room = parent->framework->room;
    if (room <= late->rows_room)
        return;
    late->rows = enlarge(engine, late->rows, late->rows_room, room, sizeof(*late->rows));
    late->rows_room = room;
}

static bool is_complete(const struct stage *stage, const struct edge *edge)
{
    const struct stage *parent = stage->job->stages[edge->parent];
    return parent->framework->announced && edge->late->n_rows == parent->n_tasks;
}

/* What is known of a reduce task by one edge; adds it to *bytes. */
static bool known_of(const struct edge *edge, uint32_t reduce, uint64_t *bytes)
{
    const struct late_edge *late = edge->late;
    if (reduce >= late->room)
        return late->complete; /* no row names it */
    bool known = late->complete || late->summed[reduce];
    *bytes = add(*bytes, late->complete         ? late->columns[reduce]
                         : late->summed[reduce] ? late->sums[reduce]
                                                : late->columns[reduce]);
    return known;
}

/* ---- tasks ---- */

static void size_task(struct engine *engine, struct task *task)
{
    const struct stage *stage = task->stage;
    struct framework_stage *own = stage->framework;
    uint64_t bytes = 0;
    bool known = true;
    engine->counters.visits++;
    for (uint32_t i = 0; i < stage->n_edges; i++)
        known &= known_of(&stage->edges[i], task->index, &bytes);
    own->guessed += (uint32_t)!known - (uint32_t)task->guessed;
    task->guessed = !known;
    if (!known && bytes < own->guess)
        bytes = own->guess;
    task_resize(engine, task, bytes || known ? bytes : 1);
}

/* The stage's live attempts, whose sizes are others; `reason` says why a level changes. */
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

static void follow_attempts(struct engine *engine, struct stage *stage)
{
    struct attempt *attempt;
    TAILQ_FOREACH (attempt, &stage->attempts, of_stage) {
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
}

/* Sizes of tasks changed: their stage's place in the queues, the job's turn, levels. */
static void settle(struct engine *engine, struct stage *stage)
{
    bucket_update(engine, stage->bucket);
    follow_attempts(engine, stage);
    framework_follow(engine, stage->job);
}

static void size_all(struct engine *engine, struct stage *stage)
{
    for (uint32_t t = 0; t < stage->n_tasks; t++)
        size_task(engine, &stage->tasks[t]);
    settle(engine, stage);
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

void sizes_follow_received(struct engine *engine, struct attempt *attempt)
{
    if (attempt->state != ATTEMPT_COMPUTING && follow_level(engine, attempt))
        tell(engine, attempt, REASON_RECEIVED, attempt->task->stage->received_bytes,
             attempt->received_bytes);
}

/* ---- guesses ---- */

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

/* What its parents read, as far as it was told. O(parents), for maps: their tasks. */
static uint64_t input_of(const struct stage *stage)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < stage->n_edges; i++) {
        const struct stage *parent = stage->job->stages[stage->edges[i].parent];
        bytes = add(bytes, parent->total_bytes);
        for (uint32_t t = 0; t < parent->tasks_given && t < parent->n_tasks; t++)
            bytes = add(bytes, parent->tasks[t].input_bytes);
    }
    return bytes;
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

/* Of a task, by the rows of the maps that have ended: the others are taken to be like them. 0: none
 * was told. */
static uint64_t mean_of_rows(const struct stage *stage)
{
    wide bytes = 0;
    uint32_t told = 0;
    for (uint32_t i = 0; i < stage->n_edges; i++) {
        const struct late_edge *late = stage->edges[i].late;
        wide rows = 0;
        for (uint32_t r = 0; late->n_rows && r < late->room; r++)
            rows += late->columns[r];
        if (late->n_rows)
            bytes += rows * stage->job->stages[stage->edges[i].parent]->n_tasks / late->n_rows;
        told += late->n_rows > 0;
    }
    if (!told || !stage->n_tasks)
        return 0;
    bytes = bytes * stage->n_edges / told / stage->n_tasks;
    return bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

static uint64_t guess_of(const struct engine *engine, const struct stage *stage)
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
    } else if (sizes) {
        guess = median(sizes);
    }
    if (!guess)
        guess = first;
    return guess ? guess : 1;
}

void sizes_learn(struct engine *engine, const struct stage *stage)
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

/* ---- what changes them ---- */

void sizes_follow_tasks(struct engine *engine, struct stage *stage, uint32_t before)
{
    for (uint32_t t = before; stage->n_edges && t < stage->n_tasks; t++)
        size_task(engine, &stage->tasks[t]);
    settle(engine, stage);
    for (uint32_t i = 0; i < stage->n_children; i++) {
        struct stage *child = stage->job->stages[stage->children[i]];
        for (uint32_t e = 0; e < child->n_edges; e++)
            if (child->edges[e].parent == stage->index && child->edges[e].late->complete)
                sizes_follow_parents(engine, child);
    }
}

void sizes_follow_parents(struct engine *engine, struct stage *stage)
{
    for (uint32_t i = 0; i < stage->n_edges; i++)
        stage->edges[i].late->complete = is_complete(stage, &stage->edges[i]);
    if (!engine->suspended)
        stage->framework->guess = guess_of(engine, stage);
    if (stage->n_edges)
        size_all(engine, stage);
}

void sizes_restore_guess(struct engine *engine, struct stage *stage, uint64_t guess)
{
    stage->framework->guess = guess;
    if (stage->n_edges)
        size_all(engine, stage);
}

/* ---- pieces ---- */

static bool may_keep(struct engine *engine, struct job *job, uint64_t cells)
{
    if (job->cells + cells > engine->config.cells_per_job_max)
        return false;
    job->cells += cells;
    return true;
}

/* The row with at least n places; NULL: no room. */
static struct late_row *take_row(struct engine *engine, struct stage *stage, struct edge *edge,
                                 uint32_t map, uint32_t n)
{
    struct stage *parent = stage->job->stages[edge->parent];
    if (!framework_find_task(engine, parent, map))
        return NULL;
    make_rows(engine, edge->late, parent);
    struct late_row *row = &edge->late->rows[map];
    if (row->bytes && n <= row->n)
        return row;
    if (!may_keep(engine, stage->job, n - row->n))
        return NULL;
    edge->late->n_rows += !row->bytes;
    row->bytes = enlarge(engine, row->bytes, row->n, n, sizeof(*row->bytes));
    row->n = n;
    return row;
}

static void set_cell(struct engine *engine, struct stage *stage, struct edge *edge, uint32_t map,
                     struct late_row *row, uint32_t reduce, uint64_t bytes)
{
    struct task *from = &stage->job->stages[edge->parent]->tasks[map];
    uint64_t more = bytes - row->bytes[reduce]; /* as a difference, which may wrap */
    if (!more)
        return;
    row->bytes[reduce] = bytes;
    edge->late->columns[reduce] += more;
    from->output_bytes += more;
    if (edge->late->complete)
        size_task(engine, &stage->tasks[reduce]);
}

/* All sizes follow when the cells are complete, else those of corrected ones alone have. */
static void look(struct engine *engine, struct stage *stage, struct edge *edge)
{
    bool was = edge->late->complete;
    edge->late->complete = is_complete(stage, edge);
    if (edge->late->complete && !was)
        size_all(engine, stage);
    else if (edge->late->complete)
        settle(engine, stage);
}

/* WHY not at each row: it costs all tasks of the stage. */
static void guess_by_rows(struct engine *engine, struct stage *stage, const struct edge *edge)
{
    uint32_t n = edge->late->n_rows;
    if (edge->late->complete || (n & (n - 1)) || engine->suspended)
        return;
    stage->framework->guess = guess_of(engine, stage);
    size_all(engine, stage);
}

static bool take_cells(struct engine *engine, struct stage *stage, struct edge *edge,
                       const struct event *event)
{
    bool all = event->framework_bytes.form == BYTES_ROW;
    const struct u64s *bytes = &event->framework_bytes.bytes;
    const struct u32s *at = &event->framework_bytes.at;
    uint32_t map = event->framework_bytes.first, n = all ? bytes->n : 0;
    for (uint32_t i = 0; !all && i < at->n; i++)
        n = at->at[i] < FRAMEWORK_TASKS_MAX && at->at[i] >= n ? at->at[i] + 1 : n;
    if (n > FRAMEWORK_TASKS_MAX || (n && !framework_find_task(engine, stage, n - 1)))
        return false;
    make_room(engine, edge->late, stage);
    uint32_t rows = edge->late->n_rows;
    struct late_row *row = take_row(engine, stage, edge, map, n);
    for (uint32_t i = 0; row && i < bytes->n; i++)
        if (all || at->at[i] < n)
            set_cell(engine, stage, edge, map, row, all ? i : at->at[i], bytes->at[i]);
    for (uint32_t r = n; row && all && r < row->n; r++)
        set_cell(engine, stage, edge, map, row, r, 0);
    if (row)
        look(engine, stage, edge);
    if (row && all && edge->late->n_rows > rows)
        guess_by_rows(engine, stage, edge);
    return row;
}

static void take_sum(struct engine *engine, struct stage *stage, struct edge *edge, uint32_t reduce,
                     uint64_t bytes)
{
    stage->job->cells -= edge->late->splits[reduce].n;
    split_done(&edge->late->splits[reduce]);
    edge->late->sums[reduce] = bytes;
    edge->late->summed[reduce] = true;
    if (!edge->late->complete)
        size_task(engine, &stage->tasks[reduce]);
}

static bool take_sums(struct engine *engine, struct stage *stage, struct edge *edge,
                      const struct event *event)
{
    uint32_t first = event->framework_bytes.first, n = event->framework_bytes.bytes.n;
    if (first > FRAMEWORK_TASKS_MAX || n > FRAMEWORK_TASKS_MAX || !n ||
        !framework_find_task(engine, stage, first + n - 1))
        return false;
    make_room(engine, edge->late, stage);
    for (uint32_t i = 0; i < n; i++)
        take_sum(engine, stage, edge, first + i, event->framework_bytes.bytes.at[i]);
    settle(engine, stage);
    return true;
}

static bool take_hosts(struct engine *engine, struct stage *stage, struct edge *edge,
                       const struct event *event)
{
    uint32_t reduce = event->framework_bytes.first, n = event->framework_bytes.at.n;
    uint64_t sum = 0;
    if (!framework_find_task(engine, stage, reduce) || !may_keep(engine, stage->job, n))
        return false;
    make_room(engine, edge->late, stage);
    for (uint32_t i = 0; i < n; i++)
        sum = add(sum, event->framework_bytes.bytes.at[i]);
    struct late_split *split = &edge->late->splits[reduce];
    take_sum(engine, stage, edge, reduce, sum);
    *split = (struct late_split){n, engine_allocate(engine, n, sizeof(*split->hosts)),
                                 engine_allocate(engine, n, sizeof(*split->bytes))};
    for (uint32_t i = 0; i < n; i++) {
        split->hosts[i] = event->framework_bytes.at.at[i];
        split->bytes[i] = event->framework_bytes.bytes.at[i];
    }
    settle(engine, stage);
    return true;
}

static bool take(struct engine *engine, struct stage *stage, struct edge *edge,
                 const struct event *event)
{
    uint32_t form = event->framework_bytes.form;
    bool pairs = form == BYTES_CELLS || form == BYTES_HOSTS;
    if (form > BYTES_HOSTS ||
        (pairs && event->framework_bytes.at.n != event->framework_bytes.bytes.n))
        return false;
    if (form == BYTES_SUMS)
        return take_sums(engine, stage, edge, event);
    return form == BYTES_HOSTS ? take_hosts(engine, stage, edge, event)
                               : take_cells(engine, stage, edge, event);
}

void framework_bytes(struct engine *engine, const struct event *event)
{
    uint32_t parent = event->framework_bytes.parent;
    struct job *job = parent < event->framework_bytes.stage
                          ? framework_find_job(engine, event->framework_bytes.job)
                          : NULL;
    struct stage *stage = framework_find_stage(engine, job, event->framework_bytes.stage);
    uint32_t edges = stage ? stage->n_edges : 0;
    struct edge *edge = stage ? framework_find_edge(engine, stage, parent, EDGE_BARRIER) : NULL;
    if (!edge) {
        engine->counters.ignored_facts++;
        return;
    }
    if (stage->n_edges != edges) {
        sizes_follow_parents(engine, stage);
        policy_job_grew(engine, job);
    }
    if (!take(engine, stage, framework_find_edge(engine, stage, parent, EDGE_BARRIER), event))
        engine->counters.ignored_facts++;
    stage->readied++;
}

/* ---- inputs ---- */

int sizes_each_input(const struct edge *edge, const struct task *task,
                     void (*locate)(const struct task *map, struct engine_input *input),
                     void (*each)(void *context, const struct engine_input *input), void *context)
{
    const struct late_edge *late = edge->late;
    const struct stage *parent = task->stage->job->stages[edge->parent];
    struct engine_input input = {.stage = edge->parent};
    uint32_t r = task->index;
    int n = 0;
    if (r >= late->room)
        return 0;
    const struct late_split *split = &late->splits[r];
    for (uint32_t i = 0; !late->complete && i < split->n; i++, n++) {
        input = (struct engine_input){split->hosts[i], false, edge->parent,
                                      ENGINE_NONE,     0,     split->bytes[i]};
        each(context, &input);
    }
    for (uint32_t m = 0; (late->complete || !split->n) && m < parent->n_tasks; m++) {
        uint64_t part = late->sums[r] / parent->n_tasks, more = late->sums[r] % parent->n_tasks;
        input.task = m;
        input.bytes = !late->complete       ? part + (m < more)
                      : r < late->rows[m].n ? late->rows[m].bytes[r]
                                            : 0;
        if (!input.bytes)
            continue;
        locate(&parent->tasks[m], &input);
        each(context, &input);
        n++;
    }
    return n;
}
