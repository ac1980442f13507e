#include "controller/engine/base/say.h"
#include "controller/engine/network/network.h"

static enum transfer_order order(enum mode mode)
{
    return mode == MODE_SLOT_RICH ? ORDER_COFLOW : ORDER_MACROFLOW;
}

static void levels(const struct engine *engine, const struct stage *stage, struct attempt *attempt)
{
    (void)engine;
    (void)stage;
    attempt->level[ORDER_COFLOW] = attempt->level[ORDER_MACROFLOW] = 0;
}

static void explain(const struct engine *engine, const struct attempt *attempt,
                    struct engine_explanation *e)
{
    (void)engine;
    (void)attempt;
    say(e, "The network policy \"none\" gives every transfer level 0.");
}

const struct network_policy network_none = {
    .policy = {.name = "none"},
    .order = order,
    .levels = levels,
    .explain = explain,
};
