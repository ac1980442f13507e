/* What an agent is answerable for: its attempts, and the inventory that says which it has. A part of its
 * record (agent.h), of which others see only this; its files are agent_attempts.c and agent_placed.c. */
#pragma once

#include "controller/agents/agent_levels.h"
#include "lib/wire.h"

#include <uthash.h>

/* An attempt that its agent is answerable for: sent there, or seen there, and not ended. */
struct placed_attempt {
    UT_hash_handle hh, by_number; /* of its agent; of all */
    uint64_t attempt;
    struct agent *agent;
    struct timer timer; /* armed until the start is answered */
    bool asked;
    bool listed;  /* in the inventory that has just come in */
    bool claimed; /* the agent named it first, and pays for it */
    struct attempt_levels levels;
};

enum inventory_state { INVENTORY_NONE, INVENTORY_COMING, INVENTORY_PARKED, INVENTORY_IN };

struct agent_attempts {
    struct placed_attempt *placed;
    enum inventory_state inventory;
    uint32_t parts;
    duopoly_AttemptState *seen; /* of the inventory, until it is told */
    uint32_t n_seen, seen_size;
    uint64_t sequence; /* of the end of a parked inventory */
    bool awaited;      /* known before the restart, and its inventory is not in */
    bool used;         /* something ran there, or an output of a job lies there */
    char no_room[256]; /* why it starts nothing, as it said in this session; its host is silent */
};

/* Of all agents. */
struct agents_attempts {
    struct placed_attempt *placed; /* by number */
    bool resyncing;
    uint32_t awaited; /* known hosts whose inventories are not in */
    struct timer resync;
};

void agents_attempts_begin(struct agents_attempts *attempts);
void agents_attempts_end(struct agents *agents);

/* Of a host that was known before a restart: whether something ran there; its inventory is waited for. */
void agent_attempts_restore(struct agent *agent, bool used);
void agent_await(struct agent *agent);
/* All such are there: waits for their inventories, if any is awaited, for `resync_wait` at most. */
void agents_resync_begin(struct agents *agents, int64_t now_ns);
/* Nobody waits for its inventory any more. */
void agent_await_no_more(struct agent *agent);
/* Ends the resynchronisation when no inventory is awaited. */
void agents_resync_done(struct agents *agents);

/* A session begins; it is over, and what came of an inventory is not needed any more. */
void agent_inventory_begin(struct agent *agent);
void agent_inventory_drop(struct agent *agent);
void agent_inventory_part(struct agent *agent, const duopoly_Envelope *envelope);
/* The last part is in; parks it while resyncing, else admits the agent. */
void agent_inventory_end(struct agent *agent, const duopoly_Envelope *envelope);
void agent_attempt_state(struct agent *agent, const duopoly_Envelope *envelope);
/* It is answerable for none any more; the engine knows. */
void agent_attempts_drop(struct agent *agent);

/* Why it starts nothing; "": it has room. */
const char *agent_no_room(const struct agent *agent);
void agent_say_room(struct agent *agent, const char *why);
/* It can be started something on: it is heard, its inventory is in, and it has room. */
bool agent_serves(const struct agent *agent);
/* So much of what it said is not acknowledged, since the store's disk has not kept it yet, that it is given
 * nothing more: its words about that would break the session's window. A silent one is so for longer. */
bool agent_is_behind(const struct agent *agent);
/* Something ran there, or an output of a job lies there. */
bool agent_was_used(const struct agent *agent);
/* The agent that is answerable for it; NULL: none. */
const struct agent *agent_of_attempt(const struct agents *agents, uint64_t attempt);
/* Whether its inventory, which waits for others', has a task of this job that runs. */
bool agent_brings_task_of(const struct agent *agent, uint64_t job);
