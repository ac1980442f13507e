#include "controller/engine/books/cluster.h"
#include "controller/engine/mode/mode_rule.h"

static void numbers_of_all(const struct engine *engine, uint64_t *ret_ready, int64_t *ret_free)
{
    *ret_ready = 0;
    *ret_free = 0;
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        const struct shape *shape = engine->shapes[i];
        int64_t free = shape_times(engine, shape);
        if (shape->capable && (int64_t)shape->n_ready - free > (int64_t)*ret_ready - *ret_free) {
            *ret_ready = shape->n_ready;
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

const struct mode_policy mode_all = {.policy = {.name = "all"}, .wanted = by_all};
