/* Decisions become messages: what the engine decided is looked up, put into words of the wire and
 * handed to the agents' sessions. Copies names and numbers from the engine's views; decides
 * nothing. */
#pragma once

#include "controller/agents/agents.h"
#include "controller/engine/engine.h"

#include <stdbool.h>

/* Room that is kept between starts, so that none allocates once it has grown. Start with zeros. */
struct dispatch_room {
    duopoly_Input *inputs;
    uint32_t n, size;
    bool failed; /* out of memory */
};
void dispatch_room_done(struct dispatch_room *room);

/* Sends a DECISION_START, STOP, LEVEL, MODE or FORGET; others need no agent and are left alone.
 * Levels wait for agents_levels_flush. */
void dispatch_decision(const struct engine *engine, struct agents *agents, int64_t now_ns,
                       const struct decision *decision, struct dispatch_room *room);

/* A level as the wire carries it: the last one takes what lies beyond. */
uint32_t level_on_wire(uint64_t level);
