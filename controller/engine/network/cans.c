#include "controller/engine/base/say.h"
#include "controller/engine/network/network.h"

#include <inttypes.h>

static enum transfer_order order_by_mode(enum mode mode)
{
    return mode == MODE_SLOT_RICH ? ORDER_COFLOW : ORDER_MACROFLOW;
}

static enum transfer_order order_coflow(enum mode mode)
{
    (void)mode;
    return ORDER_COFLOW;
}

static enum transfer_order order_macroflow(enum mode mode)
{
    (void)mode;
    return ORDER_MACROFLOW;
}

static void set_levels(const struct engine *engine, struct attempt *attempt, bool coflow,
                       bool macroflow)
{
    uint64_t of_coflow = level_table_level(&engine->config.coflow, attempt->bytes[ORDER_COFLOW]);
    uint64_t of_macroflow =
        level_table_level(&engine->config.macroflow, attempt->bytes[ORDER_MACROFLOW]);
    attempt->level[ORDER_COFLOW] = coflow ? of_coflow : of_macroflow;
    attempt->level[ORDER_MACROFLOW] = macroflow ? of_macroflow : of_coflow;
}

static void levels_both(const struct engine *engine, const struct stage *stage,
                        struct attempt *attempt)
{
    (void)stage;
    set_levels(engine, attempt, true, true);
}

static void levels_coflow(const struct engine *engine, const struct stage *stage,
                          struct attempt *attempt)
{
    (void)stage;
    set_levels(engine, attempt, true, false);
}

static void levels_macroflow(const struct engine *engine, const struct stage *stage,
                             struct attempt *attempt)
{
    (void)stage;
    set_levels(engine, attempt, false, true);
}

/* Its level. */
static struct sorted_key urgency(const struct engine *engine, const struct task *task,
                                 const uint64_t bytes[static ORDERS])
{
    enum transfer_order order = engine->network->order(engine->mode);
    const struct level_table *table =
        order == ORDER_COFLOW ? &engine->config.coflow : &engine->config.macroflow;
    (void)task;
    return (struct sorted_key){level_table_level(table, bytes[order]), 0, 0};
}

static void explain_by_mode(const struct engine *engine, const struct attempt *attempt,
                            struct engine_explanation *e)
{
    enum transfer_order order = order_by_mode(engine->mode);
    say(e,
        "On the wire it has level %" PRIu64 ", that of its %s (%" PRIu64
        " bytes), because the mode is %s.",
        attempt->level[order], order == ORDER_COFLOW ? "Coflow" : "Macroflow",
        attempt->bytes[order], mode_name(engine->mode));
}

static void explain_coflow(const struct engine *engine, const struct attempt *attempt,
                           struct engine_explanation *e)
{
    (void)engine;
    say(e,
        "On the wire it has level %" PRIu64 ", that of its Coflow (%" PRIu64
        " bytes), in either mode.",
        attempt->level[ORDER_COFLOW], attempt->bytes[ORDER_COFLOW]);
}

static void explain_macroflow(const struct engine *engine, const struct attempt *attempt,
                              struct engine_explanation *e)
{
    (void)engine;
    say(e,
        "On the wire it has level %" PRIu64 ", that of its Macroflow (%" PRIu64
        " bytes), in either mode.",
        attempt->level[ORDER_MACROFLOW], attempt->bytes[ORDER_MACROFLOW]);
}

const struct network_policy network_cans = {
    .policy = {.name = "cans",
               .by_mode =
                   "cans: levels by Coflow while slot-rich, by Macroflow while slot-starved"},
    .order = order_by_mode,
    .levels = levels_both,
    .urgency = urgency,
    .explain = explain_by_mode,
};
const struct network_policy network_cans_coflow = {
    .policy = {.name = "cans-coflow"},
    .order = order_coflow,
    .levels = levels_coflow,
    .urgency = urgency,
    .explain = explain_coflow,
};
const struct network_policy network_cans_macroflow = {
    .policy = {.name = "cans-macroflow"},
    .order = order_macroflow,
    .levels = levels_macroflow,
    .urgency = urgency,
    .explain = explain_macroflow,
};
