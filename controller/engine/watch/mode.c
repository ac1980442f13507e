#include "controller/engine/watch/mode.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/policy/policy.h"
#include "controller/engine/policy/questions.h"
#include "controller/engine/watch/order.h"

#include <stdio.h>
#include <string.h>

/* In the order of enum mode_rule. */
static const char *const rules[] = {"first", "all", "rich", "starved"};
enum { RULES = sizeof(rules) / sizeof(rules[0]) };

const char *mode_rule_name(unsigned rule)
{
    return rule < RULES ? rules[rule] : NULL;
}

bool mode_set_rule(struct engine *engine, const char *name)
{
    for (unsigned i = 0; i < RULES; i++)
        if (strcmp(rules[i], name) == 0) {
            engine->config.mode_rule = (enum mode_rule)i;
            return true;
        }
    return false;
}

/* Ready reduce tasks of the bucket that some host with a free slot would take: the option
 * mode_ignore_held. WHY a loop over tasks: it exists for comparison only, and looks at the first
 * job alone. */
static uint64_t count_unheld(const struct engine *engine, const struct bucket *bucket)
{
    enum transfer_order order = engine->network->order(engine->mode);
    uint64_t limit = ~sorted_least(&bucket->shape->by_receivers[order]), n = bucket->ready_maps.n;
    const struct stage *stage;
    TAILQ_FOREACH (stage, &bucket->reduce_stages, of_bucket) {
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
            engine->config.mode_ignore_held ? count_unheld(engine, bucket) : bucket->n_ready;
        int64_t free = shape_times(engine, bucket->shape);
        if (i == 0 || (int64_t)ready - free > (int64_t)*ret_ready - *ret_free) {
            *ret_ready = ready;
            *ret_free = free;
        }
    }
}

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

static enum mode wanted(const struct engine *engine, enum reason *ret_reason, uint64_t *ret_ready,
                        int64_t *ret_free)
{
    bool all = engine->config.mode_rule == MODE_RULE_ALL;
    if (all)
        numbers_of_all(engine, ret_ready, ret_free);
    else
        mode_numbers(engine, ret_ready, ret_free);
    bool starved = (int64_t)*ret_ready > *ret_free;
    if (engine->config.mode_rule == MODE_RULE_RICH)
        starved = false;
    if (engine->config.mode_rule == MODE_RULE_STARVED)
        starved = true;
    *ret_reason = all ? (starved ? REASON_ALL_BLOCKED : REASON_ALL_FIT)
                      : (starved ? REASON_FIRST_BLOCKED : REASON_FIRST_FITS);
    return starved ? MODE_SLOT_STARVED : MODE_SLOT_RICH;
}

static bool dwells(const struct engine *engine, enum mode mode)
{
    return mode != engine->mode &&
           engine->now_ns - engine->mode_since_ns < engine->config.mode_dwell_ns;
}

void mode_restore(struct engine *engine)
{
    enum reason reason;
    uint64_t ready;
    int64_t free;
    engine->mode_pending = dwells(engine, wanted(engine, &reason, &ready, &free));
}

void mode_update(struct engine *engine)
{
    enum reason reason;
    uint64_t ready;
    int64_t free;
    enum mode mode = wanted(engine, &reason, &ready, &free);
    engine->mode_pending = dwells(engine, mode);
    if (mode == engine->mode || engine->mode_pending)
        return;
    engine->mode = mode;
    engine->mode_since_ns = engine->now_ns;
    engine->mode_sequence++;
    engine->counters.mode_switches++;
    struct decision *decision =
        engine_decide(engine, DECISION_MODE, reason, clamp_i64(ready), free);
    decision->mode.mode = mode;
    decision->mode.sequence = engine->mode_sequence;
}

int64_t mode_deadline_ns(const struct engine *engine)
{
    return engine->mode_pending ? engine->mode_since_ns + engine->config.mode_dwell_ns : INT64_MAX;
}

void engine_say_mode_use(const struct engine *engine, char *text, size_t size)
{
    *text = '\0';
    for (enum question q = 0; q < QUESTIONS; q++) {
        const char *use = engine->policies[q]->by_mode;
        size_t used = strlen(text);
        if (use)
            snprintf(text + used, size - used, "%s%s", used ? "; " : "", use);
    }
    if (!*text)
        snprintf(text, size, "nothing: place %s and network %s do the same in either mode",
                 engine->policies[QUESTION_PLACE]->name, engine->policies[QUESTION_NETWORK]->name);
}
