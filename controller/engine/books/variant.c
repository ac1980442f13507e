#include "controller/engine/books/variant.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/resources.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "lib/fnv1a.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is told ---- */

static uint32_t told_demands(const struct event *event)
{
    return event->job_stage.variant_demands.n / ENGINE_RESOURCES;
}

static struct resources demand_of(const struct event *event, uint32_t i)
{
    struct resources demand;
    for (uint32_t r = 0; r < ENGINE_RESOURCES; r++)
        demand.amount[r] = (int64_t)event->job_stage.variant_demands.at[i * ENGINE_RESOURCES + r];
    return demand;
}

/* Line number i, of which there are i + 1 or more; "" of no text. False: it is too long. */
static bool line_of(const char *text, uint32_t i, char *ret_line, size_t size)
{
    *ret_line = '\0';
    for (; text && i; i--)
        text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL;
    size_t length = text ? strcspn(text, "\n") : 0;
    if (length >= size)
        return false;
    memcpy(ret_line, text ? text : "", length);
    ret_line[length] = '\0';
    return true;
}

static bool has_lines(const char *text, uint32_t n)
{
    uint32_t lines = 1;
    for (const char *at = text; at && *at; at++)
        lines += *at == '\n';
    return !text || !*text || lines == n;
}

static bool has_demand(const struct event *event, uint32_t i)
{
    const struct resources demand = demand_of(event, i);
    for (int r = 0; r < ENGINE_RESOURCES; r++)
        if (demand.amount[r] < 0)
            return false;
    return true;
}

static struct profile profile_at(const struct event *event, uint32_t variant)
{
    const struct u64s *told = &event->job_stage.profiles;
    const uint64_t *at = told->n ? told->at + (size_t)variant * PROFILE_NUMBERS : NULL;
    return at ? (struct profile){at[0], at[1], at[2], at[3]} : (struct profile){0};
}

static bool has_profiles(const struct event *event, uint32_t n)
{
    bool good = !event->job_stage.profiles.n || event->job_stage.profiles.n == n * PROFILE_NUMBERS;
    for (uint32_t v = 0; good && v < n; v++) {
        const struct profile profile = profile_at(event, v);
        good = profile_check(&profile, NULL) == 0;
    }
    return good;
}

/* WHY: the later one could never run. */
static bool repeats(const struct event *event, uint32_t i, const char *constraint)
{
    char other[CONSTRAINT_MAX];
    const struct resources demand = demand_of(event, i);
    const char *first = event->job_stage.constraint ? event->job_stage.constraint : "";
    bool same = resources_equal(&demand, &event->job_stage.demand) && !strcmp(constraint, first);
    for (uint32_t j = 0; j < i && !same; j++) {
        const struct resources before = demand_of(event, j);
        line_of(event->job_stage.variant_constraints, j, other, sizeof(other));
        same = resources_equal(&demand, &before) && strcmp(constraint, other) == 0;
    }
    return same;
}

static bool is_valid(const struct event *event, uint32_t i)
{
    char command[ENGINE_NAME_MAX], constraint[CONSTRAINT_MAX];
    return has_demand(event, i) &&
           line_of(event->job_stage.variant_commands, i, command, sizeof(command)) &&
           line_of(event->job_stage.variant_constraints, i, constraint, sizeof(constraint)) &&
           !repeats(event, i, constraint);
}

int variant_told(const struct event *event)
{
    uint32_t n = told_demands(event);
    if (event->job_stage.variant_demands.n % ENGINE_RESOURCES || n >= ENGINE_VARIANTS_MAX ||
        !has_lines(event->job_stage.variant_commands, n) ||
        !has_lines(event->job_stage.variant_constraints, n) || !has_profiles(event, n + 1))
        return -1;
    for (uint32_t i = 0; i < n; i++)
        if (!is_valid(event, i))
            return -1;
    return (int)n;
}

/* ---- as stages ---- */

void variant_leave_shapes(const struct event *event, struct shape *const *shapes)
{
    for (uint32_t v = 0; v <= told_demands(event) && shapes[v]; v++)
        shapes[v]->users--;
}

static bool has_shapes(const struct ways *ways, struct shape *const *shapes, uint32_t n)
{
    bool same = ways->n == n;
    for (uint32_t v = 0; same && v < n; v++)
        same = ways->shapes[v] == shapes[v];
    return same;
}

/* WHY by where they are in memory: their indexes change, and no list's order decides anything. */
static struct ways_list *list_of(struct engine *engine, struct shape *const *shapes, uint32_t n)
{
    return &engine->ways_by[fnv1a(FNV1A_NOTHING, shapes, n * sizeof(shapes[0])) % WAYS_LISTS];
}

/* NULL: no stage has these. */
static struct ways *find_ways(struct engine *engine, struct shape *const *shapes, uint32_t n)
{
    struct ways *ways;
    TAILQ_FOREACH (ways, list_of(engine, shapes, n), of_list) {
        engine->counters.visits++;
        if (has_shapes(ways, shapes, n))
            return ways;
    }
    return NULL;
}

/* WHY not while a dump is loaded: what it holds was admitted before. */
static bool admits_ways(struct engine *engine, struct shape *const *shapes, uint32_t n,
                        struct account *account)
{
    return n == 1 || engine->suspended || find_ways(engine, shapes, n) ||
           (engine->n_ways < engine->config.shapes_max && account_admits_ways(engine, account));
}

static bool find_shapes(struct engine *engine, const struct event *event, struct account *account,
                        struct shape *ret_shapes[static ENGINE_VARIANTS_MAX])
{
    char constraint[CONSTRAINT_MAX];
    memset(ret_shapes, 0, ENGINE_VARIANTS_MAX * sizeof(ret_shapes[0]));
    for (uint32_t v = 0; v <= told_demands(event); v++) {
        const struct resources demand = v ? demand_of(event, v - 1) : event->job_stage.demand;
        const char *words = event->job_stage.constraint ? event->job_stage.constraint : "";
        if (v)
            line_of(event->job_stage.variant_constraints, v - 1, constraint, sizeof(constraint));
        ret_shapes[v] = cluster_shape(engine, &demand, v ? constraint : words,
                                      &(struct shape_of){0, 0}, account);
        if (!ret_shapes[v])
            return false;
        ret_shapes[v]->users++;
    }
    return true;
}

/* WHY users before there are any: making one shape drops those that have none. */
bool variant_find_shapes(struct engine *engine, const struct event *event, struct account *account,
                         struct shape *ret_shapes[static ENGINE_VARIANTS_MAX])
{
    bool found = find_shapes(engine, event, account, ret_shapes) &&
                 admits_ways(engine, ret_shapes, 1 + told_demands(event), account);
    if (!found)
        variant_leave_shapes(event, ret_shapes);
    return found;
}

static struct ways *make_ways(struct engine *engine, struct shape *const *shapes, uint32_t n,
                              struct account *account)
{
    struct ways *ways = engine_allocate(engine, 1, sizeof(*ways));
    ways->n = n;
    memcpy(ways->shapes, shapes, n * sizeof(shapes[0]));
    ways->held = ways_held(ways);
    TAILQ_INSERT_TAIL(&engine->ways, ways, of_engine);
    TAILQ_INSERT_TAIL(list_of(engine, shapes, n), ways, of_list);
    engine->n_ways++;
    account_join_ways(engine, ways, account);
    return ways;
}

static struct choice *find_choice(struct engine *engine, struct job *job,
                                  struct shape *const *shapes, uint32_t n)
{
    struct ways *ways = find_ways(engine, shapes, n);
    for (uint32_t i = 0; ways && i < job->n_choices; i++)
        if (job->choices[i]->ways == ways)
            return job->choices[i];
    struct choice *choice = engine_allocate(engine, 1, sizeof(*choice));
    choice->ways = ways ? ways : make_ways(engine, shapes, n, job->account);
    choice->ways->users++;
    job->choices = engine_grow(engine, job->choices, job->n_choices);
    job->choices[job->n_choices++] = choice;
    return choice;
}

void variant_make(struct engine *engine, struct stage *stage, const struct event *event,
                  struct shape *const *shapes)
{
    uint32_t n = told_demands(event);
    stage->profile = profile_at(event, 0);
    for (uint32_t i = 0; i < n; i++) {
        struct stage *other = engine_allocate(engine, 1, sizeof(*other));
        stage->others[i] = other;
        stage->n_others++;
        other->job = stage->job;
        other->bucket = job_bucket(engine, stage->job, shapes[i + 1]);
        other->index = stage->index;
        other->n_tasks = stage->n_tasks;
        other->variant = i + 1;
        other->first = stage;
        other->profile = profile_at(event, i + 1);
        line_of(event->job_stage.variant_commands, i, other->command, sizeof(other->command));
        other->tasks = engine_allocate(engine, other->n_tasks, sizeof(*other->tasks));
        other->edges = stage->edges;
        other->n_edges = stage->n_edges;
        TAILQ_INIT(&other->attempts);
    }
    if (n)
        stage->choice = find_choice(engine, stage->job, shapes, n + 1);
}

uint32_t variant_tell_profiles(const struct stage *stage,
                               uint64_t ret_numbers[static ENGINE_VARIANTS_MAX * PROFILE_NUMBERS])
{
    bool known = false;
    for (uint32_t v = 0; v < variant_count(stage); v++) {
        const struct profile *profile = v ? &stage->others[v - 1]->profile : &stage->profile;
        uint64_t *at = ret_numbers + (size_t)v * PROFILE_NUMBERS;
        at[0] = profile->read_bytes;
        at[1] = profile->read_bytes_s;
        at[2] = profile->before;
        at[3] = profile->compute_ns;
        known |= profile_is_known(profile);
    }
    return known ? variant_count(stage) * PROFILE_NUMBERS : 0;
}

void variant_take_work(struct stage *variant, uint32_t first, const struct u64s *compute_ns)
{
    for (uint32_t i = 0; i < compute_ns->n; i++)
        variant->tasks[first + i].compute_ns = compute_ns->at[i];
    variant->tasks_given += compute_ns->n;
}

void variant_make_task(struct stage *stage, uint32_t index)
{
    const struct task *of = &stage->tasks[index];
    for (uint32_t i = 0; i < stage->n_others; i++) {
        struct stage *other = stage->others[i];
        struct task *task = &other->tasks[index];
        other->replicas = stage->replicas;
        other->replicas_per_task = stage->replicas_per_task;
        task->stage = other;
        task->index = index;
        task->done_host = ENGINE_NONE;
        task->bytes = of->bytes;
        task->input_bytes = of->input_bytes;
        if (!other->tasks_given)
            task->compute_ns = of->compute_ns;
    }
}

static void choice_end(struct engine *engine, struct choice *choice)
{
    struct ways *ways = choice->ways;
    free(choice);
    if (--ways->users)
        return;
    TAILQ_REMOVE(&engine->ways, ways, of_engine);
    TAILQ_REMOVE(list_of(engine, ways->shapes, ways->n), ways, of_list);
    engine->n_ways--;
    account_leave_ways(engine, ways);
    free(ways);
}

void variant_end_job(struct engine *engine, struct job *job)
{
    while (job->n_choices)
        choice_end(engine, job->choices[--job->n_choices]);
    free(job->choices);
    job->choices = NULL;
}

/* ---- questions ---- */

void choice_count(struct choice *choice, int by)
{
    choice->n_ready += (uint64_t)(int64_t)by;
    choice->ways->n_ready += (uint64_t)(int64_t)by;
}

struct shape *ways_roomiest(const struct engine *engine, const struct ways *ways)
{
    struct shape *best = ways->shapes[0];
    for (uint32_t v = 1; v < ways->n; v++) {
        struct shape *shape = ways->shapes[v];
        int64_t more = shape_times(engine, shape) - shape_times(engine, best);
        if (more > 0 || (more == 0 && shape->capable && !best->capable))
            best = shape;
    }
    return best;
}

uint32_t ways_held(const struct ways *ways)
{
    uint32_t held = 0;
    for (uint32_t v = 0; v < ways->n; v++)
        held |= (uint32_t)(ways->shapes[v]->possible > 0) << v;
    return held;
}

const struct stage *variant_impossible(const struct stage *stage)
{
    for (uint32_t v = 0; v <= stage->n_others; v++) {
        const struct stage *way = v ? stage->others[v - 1] : stage;
        if (!way->bucket->shape->possible)
            return way;
    }
    return NULL;
}

bool variant_has_room(const struct stage *stage)
{
    bool room = stage->bucket->shape->times > 0;
    for (uint32_t i = 0; i < stage->n_others; i++)
        room = room || stage->others[i]->bucket->shape->times > 0;
    return room;
}

uint64_t variant_work_ns(const struct task *task)
{
    const struct stage *stage = task->stage->first;
    if (!stage->choice || !stage->choice->ways->held)
        return stage->tasks[task->index].compute_ns;
    uint64_t least = UINT64_MAX;
    for (uint32_t v = 0; v <= stage->n_others; v++) {
        const struct stage *way = v ? stage->others[v - 1] : stage;
        uint64_t compute_ns = !v || way->tasks_given ? way->tasks[task->index].compute_ns
                                                     : stage->tasks[task->index].compute_ns;
        if (stage->choice->ways->held >> v & 1 && compute_ns < least)
            least = compute_ns;
    }
    return least;
}

void variant_prefer(struct claim *claim)
{
    struct stage *stage = claim->task->stage;
    for (uint32_t v = 0; v < stage->variant; v++) {
        struct stage *before = variant_of(stage->first, v);
        struct fit *fit = host_fit(claim->fit->host, before->bucket->shape);
        if (!fit)
            continue;
        claim->task = &before->tasks[claim->task->index];
        claim->fit = fit;
        return;
    }
}
