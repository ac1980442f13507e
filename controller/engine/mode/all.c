#include "controller/engine/books/cluster.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/mode/mode_rule.h"

#define REASON_ALL_BLOCKED ((enum reason)17)
#define REASON_ALL_FIT     ((enum reason)18)
#define SENTENCE           "all jobs have {left} ready tasks and {right} free slots for them"

/* Each once, of those with several ways to run against the one of which most fit. O(shapes +
 * ways). */
static void count_ready(const struct engine *engine)
{
    const struct ways *ways;
    for (uint32_t i = 0; i < engine->n_shapes; i++)
        engine->shapes[i]->n_counted = engine->shapes[i]->n_ready;
    TAILQ_FOREACH (ways, &engine->ways, of_engine)
        if (ways->n_ready)
            ways_roomiest(engine, ways)->n_counted += ways->n_ready;
}

static void numbers_of_all(const struct engine *engine, uint64_t *ret_ready, int64_t *ret_free)
{
    *ret_ready = 0;
    *ret_free = 0;
    count_ready(engine);
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        const struct shape *shape = engine->shapes[i];
        int64_t free = shape_times(engine, shape);
        uint64_t ready = shape->n_counted;
        if (shape->capable && (int64_t)ready - free > (int64_t)*ret_ready - *ret_free) {
            *ret_ready = ready;
            *ret_free = free;
        }
    }
}

static enum mode by_all(const struct engine *engine, enum reason *ret_reason, uint64_t *ret_ready,
                        int64_t *ret_free)
{
    numbers_of_all(engine, ret_ready, ret_free);
    bool starved = (int64_t)*ret_ready > *ret_free;
    *ret_reason = starved ? REASON_ALL_BLOCKED : REASON_ALL_FIT;
    return starved ? MODE_SLOT_STARVED : MODE_SLOT_RICH;
}

static const struct policy_reason reasons[] = {
    {DECISION_MODE, REASON_ALL_BLOCKED, "all-blocked", "ready tasks of all jobs",
     "free slots for them", SENTENCE},
    {DECISION_MODE, REASON_ALL_FIT, "all-fit", "ready tasks of all jobs", "free slots for them",
     SENTENCE},
    {0}};

const struct mode_policy mode_all = {.policy = {.name = "all", .reasons = reasons},
                                     .wanted = by_all};
