/* Levels on their way to one agent: a part of its record (agent.h), of which other files see only
 * this. */
#pragma once

#include "controller/timers.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct agent;
struct agents;

/* Of an attempt, as a part of its record. */
struct attempt_levels {
    uint64_t attempt;
    struct {
        uint32_t coflow, macroflow;
    } told, wanted;
    bool waits; /* `wanted` is to be sent: it is in the agent's list */
    STAILQ_ENTRY(attempt_levels) link;
};

struct agent_levels {
    STAILQ_HEAD(, attempt_levels) waiting;
    STAILQ_ENTRY(agent) link;
    bool listed;       /* it is in the round's list */
    uint64_t sequence; /* of its last unacknowledged levels; 0: none */
    bool awaited;      /* and these are awaited */
};

/* Of all agents. */
struct levels_round {
    STAILQ_HEAD(, agent) waiting; /* agents with levels to send */
    uint32_t awaited;             /* hosts */
    struct timer timer;           /* when it fires, unacknowledged agents are no longer awaited */
};

void levels_round_begin(struct levels_round *round);
void levels_round_end(struct agents *agents);

void agent_levels_begin(struct agent *agent);
/* Removes it from the list of all. */
void agent_levels_done(struct agent *agent);
/* Its start, or its agent, has reported these. */
void agent_levels_told(struct attempt_levels *levels, uint32_t coflow, uint32_t macroflow);
/* Gives an attempt of this agent these levels. The other: cancels what is to be sent of it. */
void agent_levels_want(struct agent *agent, struct attempt_levels *levels, uint32_t coflow,
                       uint32_t macroflow);
void agent_levels_drop(struct agent *agent, struct attempt_levels *levels);
/* The agent has acknowledged something; its session has ended. */
void agent_levels_answered(struct agent *agent);
void agent_levels_end(struct agent *agent);
