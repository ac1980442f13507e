/* Turns the engine's decisions into messages and hands them to the agents' sessions. Copies names
 * and numbers from the engine's views; decides nothing. */
#pragma once

#include "controller/agents/agents.h"
#include "controller/engine/engine.h"

#include <stdbool.h>

/* Memory that is kept between starts, so that none allocates once it has grown. Zero it first. */
struct dispatch_scratch {
    duopoly_Input *inputs;
    uint32_t n, size;
    bool failed; /* out of memory */
};
void dispatch_scratch_done(struct dispatch_scratch *scratch);

/* Sends a DECISION_START, STOP, LEVEL, MODE or FORGET; ignores others, which concern no agent.
 * Levels wait for agents_levels_flush. */
void dispatch_decision(const struct engine *engine, struct agents *agents, int64_t now_ns,
                       const struct decision *decision, struct dispatch_scratch *scratch);

/* A level for the wire: higher ones become the last. */
uint32_t level_on_wire(uint64_t level);
