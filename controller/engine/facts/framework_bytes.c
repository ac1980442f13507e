#include "controller/engine/facts/framework_bytes.h"

#include "controller/engine/base/job_stages.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/late.h"
#include "controller/engine/facts/framework.h"
#include "controller/engine/facts/framework_grow.h"
#include "controller/engine/policy/policy.h"
#include "controller/engine/watch/framework_sizes.h"

static bool may_keep(struct engine *engine, struct job *job, uint64_t cells)
{
    if (job->cells + cells > engine->config.cells_per_job_max)
        return false;
    job->cells += cells;
    return true;
}

/* The row, with places for the map's reported cells; NULL: no room. */
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

/* Sets the reported cells of one map, one by one. */
struct setting {
    struct stage *stage;
    struct edge *edge;
    struct late_row *row;
    struct task *from;
    struct late_block *block; /* of the last cell */
    uint32_t first;           /* of the block */
};

static void set_cell(struct engine *engine, struct setting *s, uint32_t reduce, uint64_t bytes)
{
    uint64_t *cell = late_row_cell(s->row, reduce);
    uint64_t more = bytes - *cell; /* a difference, which may wrap */
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
        sizes_set_task(engine, &s->stage->tasks[reduce]);
}

/* Cells that a whole row does not name are 0. */
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

/* When the cells are complete all sizes follow, else only those of corrected tasks did. */
static void look(struct engine *engine, struct stage *stage, struct edge *edge)
{
    bool was = edge->late->complete;
    edge->late->complete = sizes_are_complete(stage, edge);
    if (edge->late->complete && !was)
        sizes_set_all(engine, stage);
    else if (edge->late->complete)
        sizes_settle(engine, stage);
}

/* WHY not at each row: it costs all tasks of the stage. */
static void guess_by_rows(struct engine *engine, struct stage *stage, const struct edge *edge)
{
    uint32_t n = edge->late->n_rows;
    if (edge->late->complete || (n & (n - 1)) || engine->suspended)
        return;
    stage->framework->guess = sizes_guess(engine, stage);
    sizes_set_all(engine, stage);
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
        sizes_set_task(engine, &stage->tasks[index]);
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
    sizes_settle(engine, stage);
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
        sum = sizes_add(sum, event->framework_bytes.bytes.at[i]);
    take_sum(engine, stage, edge, reduce, sum, &event->framework_bytes.at,
             &event->framework_bytes.bytes);
    sizes_settle(engine, stage);
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
        tell_job_grew(engine, job);
    }
    edge = framework_find_edge(engine, stage, parent, EDGE_BARRIER);
    uint64_t before = edge->late->bytes;
    if (!account_admits(engine, job, late_worst(event->framework_bytes.bytes.n)) ||
        !take(engine, stage, edge, event))
        engine->counters.ignored_facts++;
    account_add(engine, job, edge->late->bytes - before);
    stage->readied++;
}
