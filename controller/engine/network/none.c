#include "controller/engine/network/network.h"

static enum unit_order order(enum mode mode)
{
    return mode == MODE_SLOT_RICH ? ORDER_COFLOW : ORDER_MACROFLOW;
}

static void levels(const struct engine *engine, const struct stage *stage, struct attempt *attempt)
{
    (void)engine;
    (void)stage;
    attempt->level[ORDER_COFLOW] = attempt->level[ORDER_MACROFLOW] = 0;
}

const struct network_policy network_none = {"none", order, levels, NULL};

const struct network_policy *const network_policies[] = {&network_cans,
                                                         &network_cans_coflow,
                                                         &network_cans_macroflow,
                                                         &network_dclas,
                                                         &network_scf,
                                                         &network_none,
                                                         NULL};
