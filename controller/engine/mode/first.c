#include "controller/engine/books/cluster.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/mode/mode_rule.h"
#include "controller/engine/watch/order.h"

const struct engine_parameter parameter_ignore_held = {
    "ignore_held",
    ENGINE_UNIT_YES,
    0,
    1,
    0,
    "Ready reduce tasks that no host would take, even with a free slot, do not count."};
const struct engine_parameter *const mode_parameters[] = {&parameter_ignore_held, NULL};

static bool ignores_held(const struct engine *engine)
{
    return policy_value(engine, QUESTION_MODE, &parameter_ignore_held);
}

unsigned mode_orders(const struct engine *engine)
{
    return ignores_held(engine) ? HOSTS_BY_RECEIVERS : 0;
}

/* Its ready tasks count against this variant. */
static bool counts_here(const struct engine *engine, const struct stage *stage)
{
    const struct choice *choice = stage->first->choice;
    return !choice || ways_roomiest(engine, choice->ways) == stage->bucket->shape;
}

static uint64_t count_maps(const struct engine *engine, const struct bucket *bucket)
{
    const struct job *job = bucket->job;
    uint64_t n = 0;
    struct stage *way;
    if (!job->n_choices)
        return bucket->n_maps;
    for (uint32_t s = 0; s < job->n_stages; s++)
        VARIANT_FOREACH (way, job->stages[s])
            n += way->bucket == bucket && counts_here(engine, way)
                     ? way->n_ready - way->ready_reduces.n
                     : 0;
    return n;
}

/* Each once, of those with several ways to run against the one of which most fit. */
static uint64_t count_ready(const struct engine *engine, const struct bucket *bucket)
{
    const struct job *job = bucket->job;
    uint64_t n = bucket->n_ready;
    for (uint32_t i = 0; i < job->n_choices; i++)
        if (ways_roomiest(engine, job->choices[i]->ways) == bucket->shape)
            n += job->choices[i]->n_ready;
    return n;
}

/* Ready reduce tasks of the bucket that a host with a free slot would take: ignore_held. WHY a loop
 * over tasks: it exists for comparison only, and looks at the first job alone. */
static uint64_t count_unheld(const struct engine *engine, const struct bucket *bucket)
{
    enum transfer_order order = engine->network->order(engine->mode);
    uint64_t limit = ~sorted_least(&bucket->shape->by_receivers[order]),
             n = count_maps(engine, bucket);
    const struct stage *stage;
    TAILQ_FOREACH (stage, &bucket->reduce_stages, of_bucket) {
        if (!counts_here(engine, stage))
            continue;
        for (struct sorted_node *node = sorted_first(&stage->ready_reduces); node;
             node = sorted_next(node))
            n += (order == ORDER_COFLOW ? stage_coflow_bytes(stage) : node->key.a) < limit;
    }
    return n;
}

void mode_numbers(const struct engine *engine, uint64_t *ret_ready, int64_t *ret_free)
{
    const struct job *first = order_first(engine);
    *ret_ready = 0;
    *ret_free = 0;
    for (uint32_t i = 0; first && i < first->n_buckets; i++) {
        const struct bucket *bucket = first->buckets[i];
        if (!bucket->shape->capable)
            continue;
        uint64_t ready =
            ignores_held(engine) ? count_unheld(engine, bucket) : count_ready(engine, bucket);
        int64_t free = shape_times(engine, bucket->shape);
        if (i == 0 || (int64_t)ready - free > (int64_t)*ret_ready - *ret_free) {
            *ret_ready = ready;
            *ret_free = free;
        }
    }
}

static enum mode by_first(const struct engine *engine, enum reason *ret_reason, uint64_t *ret_ready,
                          int64_t *ret_free)
{
    mode_numbers(engine, ret_ready, ret_free);
    bool starved = (int64_t)*ret_ready > *ret_free;
    *ret_reason = starved ? REASON_FIRST_BLOCKED : REASON_FIRST_FITS;
    return starved ? MODE_SLOT_STARVED : MODE_SLOT_RICH;
}

static const struct policy_reason reasons[] = {MODE_FIRST_BLOCKED, MODE_FIRST_FITS, {0}};

const struct mode_policy mode_first = {
    .policy = {.name = "first", .reasons = reasons, .parameters = mode_parameters},
    .orders = mode_orders,
    .wanted = by_first};
