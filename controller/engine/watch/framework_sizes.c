#include "controller/engine/watch/framework_sizes.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/facts/framework.h"
#include "controller/engine/network/network.h"
#include "controller/engine/policy/policy.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* ---- edges ---- */

static bool is_complete(const struct stage *stage, const struct edge *edge)
{
    const struct stage *parent = job_stage_at(stage->job, edge->parent);
    return parent->framework->announced && edge->late->n_rows == parent->n_tasks;
}

/* What is known of a reduce task by one edge; adds it to *bytes. */
static bool known_of(const struct edge *edge, uint32_t reduce, uint64_t *bytes)
{
    const struct late_edge *late = edge->late;
    const struct late_block *block = late_block_find(late, reduce);
    if (!block)
        return late->complete; /* no row names it */
    bool summed = late_is_summed(block, reduce);
    *bytes = add(*bytes, !late->complete && summed ? block->sums[reduce % LATE_BLOCK]
                                                   : block->columns[reduce % LATE_BLOCK]);
    return late->complete || summed;
}

/* ---- tasks ---- */

/* By all that was told so far. */
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

static void size_task(struct engine *engine, struct task *task)
{
    bool known;
    uint64_t bytes = size_of(task, &known);
    engine->counters.visits++;
    task->stage->framework->guessed += (uint32_t)!known - (uint32_t)task->guessed;
    task->guessed = !known;
    task_resize(engine, task, bytes);
}

bool sizes_is_behind(const struct task *task)
{
    bool known;
    return task->stage->n_edges && size_of(task, &known) != task->bytes;
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
        const struct stage *parent = job_stage_at(stage->job, stage->edges[i].parent);
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

static wide total_of(const struct late_edge *late)
{
    wide bytes = 0;
    for (uint32_t b = 0; b < late->blocks_room; b++)
        for (uint32_t i = 0; late->blocks[b] && i < LATE_BLOCK; i++)
            bytes += late->blocks[b]->columns[i];
    return bytes;
}

/* Of a task, by the rows of the maps that have ended: the others are taken to be like them. 0: none
 * was told. */
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
        struct stage *child = job_stage_at(stage->job, stage->children[i]);
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

void sizes_restore_task(struct engine *engine, struct task *task, uint64_t bytes)
{
    task_resize(engine, task, bytes);
    settle(engine, task->stage);
}

/* ---- pieces ---- */

static bool may_keep(struct engine *engine, struct job *job, uint64_t cells)
{
    if (job->cells + cells > engine->config.cells_per_job_max)
        return false;
    job->cells += cells;
    return true;
}

/* The row, with places for what is told of the map; NULL: no room. */
static struct late_row *take_row(struct engine *engine, struct stage *stage, struct edge *edge,
                                 uint32_t map, const struct late_places *places)
{
    if (!framework_find_task(engine, job_stage_at(stage->job, edge->parent), map))
        return NULL;
    struct late_row *row = late_row_find(edge->late, map);
    if (!may_keep(engine, stage->job, late_row_lacks(engine, row, places)))
        return NULL;
    row = late_row(engine, edge->late, map);
    late_row_extend(engine, edge->late, row, places);
    return row;
}

/* What is told of one map, to be set cell by cell. */
struct setting {
    struct stage *stage;
    struct edge *edge;
    struct late_row *row;
    struct task *from;
    struct late_block *block; /* where the cell before stood */
    uint32_t first;           /* of the block */
};

static void set_cell(struct engine *engine, struct setting *s, uint32_t reduce, uint64_t bytes)
{
    uint64_t *cell = late_row_cell(s->row, reduce);
    uint64_t more = bytes - *cell; /* as a difference, which may wrap */
    if (!more)
        return;
    if (!s->block || reduce - s->first >= LATE_BLOCK) {
        s->block = late_block(engine, s->edge->late, reduce);
        s->first = reduce - reduce % LATE_BLOCK;
    }
    *cell = bytes;
    s->block->columns[reduce - s->first] += more;
    s->from->output_bytes += more;
    if (s->edge->late->complete)
        size_task(engine, &s->stage->tasks[reduce]);
}

/* What a whole row does not name is 0. */
static void clear_behind(struct engine *engine, struct setting *s, uint32_t n)
{
    for (uint32_t r = n; r < s->row->n; r++)
        set_cell(engine, s, r, 0);
    for (uint32_t i = 0; i < s->row->told->n_cells; i++)
        if (s->row->told->cells[i].reduce >= n)
            set_cell(engine, s, s->row->told->cells[i].reduce, 0);
}

static void set_cells(struct engine *engine, struct stage *stage, struct edge *edge, uint32_t map,
                      struct late_row *row, const struct u64s *bytes,
                      const struct late_places *places)
{
    struct task *from = &job_stage_at(stage->job, edge->parent)->tasks[map];
    struct setting s = {.stage = stage, .edge = edge, .row = row, .from = from};
    for (uint32_t i = 0; i < bytes->n; i++)
        if (!places->at || places->at[i] < places->most)
            set_cell(engine, &s, places->at ? places->at[i] : i, bytes->at[i]);
    if (!places->at)
        clear_behind(engine, &s, places->n);
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
    uint32_t rows = edge->late->n_rows;
    const struct late_places places = {all ? NULL : at->at, all ? n : at->n, n};
    struct late_row *row = take_row(engine, stage, edge, map, &places);
    if (row)
        set_cells(engine, stage, edge, map, row, bytes, &places);
    if (row)
        look(engine, stage, edge);
    if (row && all && edge->late->n_rows > rows)
        guess_by_rows(engine, stage, edge);
    return row;
}

static void take_sum(struct engine *engine, struct stage *stage, struct edge *edge, uint32_t index,
                     uint64_t bytes, const struct u32s *hosts, const struct u64s *of_hosts)
{
    stage->job->cells -= late_split_of(edge->late, index).n;
    late_set_sum(engine, edge->late, index, bytes, hosts, of_hosts);
    if (!edge->late->complete)
        size_task(engine, &stage->tasks[index]);
}

static bool take_sums(struct engine *engine, struct stage *stage, struct edge *edge,
                      const struct event *event)
{
    uint32_t first = event->framework_bytes.first, n = event->framework_bytes.bytes.n;
    if (first > FRAMEWORK_TASKS_MAX || n > FRAMEWORK_TASKS_MAX || !n ||
        !framework_find_task(engine, stage, first + n - 1))
        return false;
    for (uint32_t i = 0; i < n; i++)
        take_sum(engine, stage, edge, first + i, event->framework_bytes.bytes.at[i],
                 &(struct u32s){0}, &(struct u64s){0});
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
    for (uint32_t i = 0; i < n; i++)
        sum = add(sum, event->framework_bytes.bytes.at[i]);
    take_sum(engine, stage, edge, reduce, sum, &event->framework_bytes.at,
             &event->framework_bytes.bytes);
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
    engine->over_share = false;
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
    edge = framework_find_edge(engine, stage, parent, EDGE_BARRIER);
    uint64_t before = edge->late->bytes;
    if (!account_admits(engine, job, late_worst(event->framework_bytes.bytes.n)) ||
        !take(engine, stage, edge, event))
        engine->counters.ignored_facts++;
    account_add(engine, job, edge->late->bytes - before);
    stage->readied++;
}

/* ---- inputs ---- */

static uint64_t cell_bytes(const struct late_edge *late, uint32_t map, uint32_t reduce)
{
    const struct late_row *row = late_row_find(late, map);
    const uint64_t *cell = row ? late_row_cell(row, reduce) : NULL;
    return cell ? *cell : 0;
}

int sizes_each_input(const struct edge *edge, const struct task *task,
                     void (*locate)(const struct task *map, struct engine_input *input),
                     void (*each)(void *context, const struct engine_input *input), void *context)
{
    const struct late_edge *late = edge->late;
    const struct stage *parent = job_stage_at(task->stage->job, edge->parent);
    const struct late_block *block = late_block_find(late, task->index);
    const struct late_split split = late_split_of(late, task->index);
    const uint64_t sum = block ? block->sums[task->index % LATE_BLOCK] : 0;
    const uint64_t part = parent->n_tasks ? sum / parent->n_tasks : 0,
                   more = sum - part * parent->n_tasks;
    struct engine_input input = {.stage = edge->parent};
    int n = 0;
    for (uint32_t i = 0; !late->complete && i < split.n; i++, n++) {
        input = (struct engine_input){split.hosts[i], false, edge->parent,
                                      ENGINE_NONE,    0,     split.bytes[i]};
        each(context, &input);
    }
    for (uint32_t m = 0; block && (late->complete || !split.n) && m < parent->n_tasks; m++) {
        input.task = m;
        input.bytes = late->complete ? cell_bytes(late, m, task->index) : part + (m < more);
        if (!input.bytes)
            continue;
        locate(&parent->tasks[m], &input);
        each(context, &input);
        n++;
    }
    return n;
}
