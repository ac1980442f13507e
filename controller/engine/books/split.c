#include "controller/engine/books/split.h"

#include "controller/engine/base/ground.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bits after the point: of the time of one task, and of a stage's parts, in ns. */
enum { SHARE_BITS = 32, PART_BITS = 8 };

/* A job that ended in this step. */
struct ended {
    struct ended *next;
    struct job_split split;
    struct stage_split stages[];
};

/* What each of so many has of this time. */
static engine_wide share_of(int64_t ns, uint64_t among)
{
    if (ns <= 0 || !among)
        return 0;
    /* WHY: few divisions of 128 bits are needed, and they are slow. */
    return ns >> (63 - SHARE_BITS) ? ((engine_wide)ns << SHARE_BITS) / among
                                   : ((uint64_t)ns << SHARE_BITS) / among;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Tasks that would be ready but for a hold, or that its framework starts by itself. */
static bool waits_closed(const struct stage *stage)
{
    bool kept =
        stage->job->holder || stage->refusal || (stage->framework && stage->framework->left);
    return kept && !stage->parents_missing;
}

static enum split_part waits_for(const struct stage *stage)
{
    return stage->job->holder ? SPLIT_ORDERED : stage->dividing.held ? SPLIT_HELD : SPLIT_TURN;
}

static struct sharing sharing_of(const struct stage *stage)
{
    const uint32_t allowed =
        stage->framework ? smaller(stage->framework->allowed, stage->n_running) : 0;
    const uint32_t running = stage->n_running - allowed, again = smaller(stage->n_again, running),
                   receiving = smaller(stage->n_receiving, running - again);
    const bool waits = stage->open || waits_closed(stage);
    return (struct sharing){
        .tasks = {[SPLIT_RECEIVING] = receiving,
                  [SPLIT_COMPUTING] = running - again - receiving,
                  [SPLIT_AGAIN] = again},
        .waiting = allowed + (waits ? stage->n_tasks - stage->n_started : 0),
        .waits_for = waits_for(stage),
        .why = stage->dividing.held_why,
    };
}

static uint64_t sharers_of(const struct sharing *sharing)
{
    uint64_t n = sharing->waiting;
    for (int part = 0; part < SPLIT_PARTS; part++)
        n += sharing->tasks[part];
    return n;
}

static bool is_same(const struct sharing *a, const struct sharing *b)
{
    return a->waiting == b->waiting && a->waits_for == b->waits_for && a->why == b->why &&
           memcmp(a->tasks, b->tasks, sizeof(a->tasks)) == 0;
}

/* Of the reasons of its holds the one that has most of them, if that is more than half. */
static void count_why(struct dividing *dividing, enum reason why, uint64_t part)
{
    if (dividing->why == why) {
        dividing->why_part += part;
    } else if (part > dividing->why_part) {
        dividing->why = why;
        dividing->why_part = part - dividing->why_part;
    } else {
        dividing->why_part -= part;
    }
}

/* Counts what the stage's tasks had of the time until the job's `share`. */
static void count(struct dividing *dividing, engine_wide share)
{
    const struct sharing *now = &dividing->now;
    const engine_wide each = share - dividing->share;
    dividing->share = share;
    if (!each)
        return;
    for (int part = 0; part < SPLIT_PARTS; part++)
        dividing->parts[part] += (uint64_t)((each * now->tasks[part]) >> (SHARE_BITS - PART_BITS));
    uint64_t waited = (uint64_t)((each * now->waiting) >> (SHARE_BITS - PART_BITS));
    dividing->parts[now->waits_for] += waited;
    if (now->waits_for == SPLIT_HELD)
        count_why(dividing, now->why, waited);
}

void split_begin(struct engine *engine, struct job *job)
{
    job->divided_until_ns = job->divided_since_ns = engine->now_ns;
    job->divided_late = engine->suspended;
}

void split_look(struct engine *engine, struct stage *of)
{
    struct stage *stage = of->first;
    struct job *job = stage->job;
    const struct sharing now = sharing_of(stage);
    struct dividing *dividing = &stage->dividing;
    if (is_same(&dividing->now, &now))
        return;
    job->share += share_of(engine->now_ns - job->divided_until_ns, job->sharers);
    job->divided_until_ns = engine->now_ns;
    count(dividing, job->share);
    job->sharers += sharers_of(&now) - sharers_of(&dividing->now);
    dividing->now = now;
    dividing->moved_ns = engine->now_ns;
    if (!dividing->began_ns && sharers_of(&now) > now.waiting)
        dividing->began_ns = engine->now_ns;
}

void split_hold(struct engine *engine, struct stage *of, bool held, enum reason why)
{
    struct stage *stage = of->first;
    stage->dividing.held = held;
    stage->dividing.held_why = held ? why : REASON_NONE;
    split_look(engine, stage);
}

static int64_t time_of(const struct stage_split *split)
{
    int64_t sum_ns = 0;
    for (int part = 0; part < SPLIT_PARTS; part++)
        sum_ns += split->ns[part];
    return sum_ns;
}

static struct stage_split stage_read(const struct stage *stage, engine_wide share)
{
    struct dividing until = stage->dividing;
    struct stage_split split = {.stage = stage->index,
                                .tasks = stage->n_tasks,
                                .received_bytes = stage->received_bytes,
                                .began_ns = until.began_ns,
                                .moved_ns = until.moved_ns};
    count(&until, share);
    for (int part = 0; part < SPLIT_PARTS; part++)
        split.ns[part] = (int64_t)(until.parts[part] >> PART_BITS);
    split.why = split.ns[SPLIT_HELD] ? until.why : REASON_NONE;
    return split;
}

/* Of more stages than there is room for those stay that took most. */
static void keep(struct job_split *split, struct stage_split *room, const struct stage_split *stage)
{
    uint32_t least = 0;
    if (split->n_stages == SPLIT_STAGES) {
        for (uint32_t i = 1; i < SPLIT_STAGES; i++)
            if (time_of(&room[i]) < time_of(&room[least]))
                least = i;
        if (time_of(stage) <= time_of(&room[least]))
            return;
        split->n_stages--;
        memmove(&room[least], &room[least + 1], (split->n_stages - least) * sizeof(*room));
    }
    room[split->n_stages++] = *stage;
}

void split_read(const struct job *job, int64_t at_ns, struct stage_split *room,
                struct job_split *ret_split)
{
    const engine_wide share = job->share + share_of(at_ns - job->divided_until_ns, job->sharers);
    *ret_split = (struct job_split){
        .job = job->number, .stages = room, .lasted_ns = at_ns - job->submitted_ns};
    ret_split->unknown_ns = job->divided_late ? job->divided_since_ns - job->submitted_ns : 0;
    ret_split->idle_ns = ret_split->lasted_ns - ret_split->unknown_ns;
    for (uint32_t s = 0; s < job->n_stages; s++) {
        if (!job->stages[s]->n_tasks)
            continue;
        const struct stage_split stage = stage_read(job->stages[s], share);
        for (int part = 0; part < SPLIT_PARTS; part++)
            ret_split->ns[part] += stage.ns[part];
        ret_split->received_bytes += stage.received_bytes;
        ret_split->idle_ns -= time_of(&stage);
        keep(ret_split, room, &stage);
    }
}

void split_end(struct engine *engine, const struct job *job)
{
    const size_t stages = job->n_stages < SPLIT_STAGES ? job->n_stages : SPLIT_STAGES;
    struct ended *ended =
        engine_allocate(engine, 1, sizeof(*ended) + stages * sizeof(ended->stages[0]));
    split_read(job, engine->now_ns, ended->stages, &ended->split);
    ended->next = engine->ended;
    engine->ended = ended;
}

void split_forget(struct engine *engine)
{
    for (struct ended *ended = engine->ended, *next; ended; ended = next) {
        next = ended->next;
        free(ended);
    }
    engine->ended = NULL;
}

int split_ended(const struct engine *engine, uint64_t job, struct job_split *ret_split)
{
    for (const struct ended *ended = engine->ended; ended; ended = ended->next)
        if (ended->split.job == job) {
            *ret_split = ended->split;
            return 0;
        }
    return -ENOENT;
}
