/* An agent's attempts, and the inventory that lists them. A part of its record (agent.h), of which
 * other files see only this; its files are agent_attempts.c and agent_placed.c. */
#pragma once

#include "controller/agents/agent_levels.h"
#include "controller/agents/attempt_rate.h"
#include "lib/wire.h"

#include <bsd/sys/queue.h>
#include <uthash.h>

/* An attempt for which its agent is responsible: sent there, or seen there, and not ended. */
struct placed_attempt {
    UT_hash_handle hh, by_number; /* of its agent; of all */
    uint64_t attempt;
    struct agent *agent;
    struct timer timer; /* armed until the start is answered, which was sent then */
    int64_t sent_ns;
    bool asked;
    bool listed;  /* in the inventory that has just come */
    bool claimed; /* the agent named it first; it counts against the agent's claims */
    struct attempt_levels levels;
    struct attempt_rate rate;
    /* What is still to be sent of its inputs (agent_inputs.c); NULL: nothing. */
    duopoly_Input *inputs;
    uint32_t n_inputs, inputs_sent;
    TAILQ_ENTRY(placed_attempt) of_sending;
    bool cut; /* the session ended before all were sent */
};

enum inventory_state { INVENTORY_NONE, INVENTORY_COMING, INVENTORY_PARKED, INVENTORY_IN };

struct agent_attempts {
    struct placed_attempt *placed;
    enum inventory_state inventory;
    uint32_t parts;
    duopoly_AttemptState *seen; /* of the inventory, until it is passed on */
    uint32_t n_seen, seen_size;
    uint64_t sequence; /* sequence of the end of a parked inventory */
    bool awaited;      /* known before the restart, and its inventory has not come */
    bool used;         /* something ran there, or an output of a job is there */
    char no_room[256]; /* why it starts nothing, as it said in this session; its host counts as
                        * silent */
};

/* Of all agents. */
struct agents_attempts {
    struct placed_attempt *placed; /* by number */
    bool resyncing;
    uint32_t awaited; /* known hosts whose inventories have not come */
    struct timer resync;
    TAILQ_HEAD(sending_attempts, placed_attempt) sending; /* those with inputs to be sent */
    struct timer portion;
};

void agents_attempts_begin(struct agents_attempts *attempts);
void agents_attempts_end(struct agents *agents);

/* For a host that was known before a restart: whether something ran there; its inventory is
 * awaited. */
void agent_attempts_restore(struct agent *agent, bool used);
void agent_await(struct agent *agent);
/* All these are there: waits for their inventories, if any, for at most `resync_wait`. */
void agents_resync_begin(struct agents *agents, int64_t now_ns);
/* Its inventory is no longer awaited. */
void agent_await_no_more(struct agent *agent);
/* Ends the resynchronisation when no inventory is awaited. */
void agents_resync_done(struct agents *agents);

/* A session begins. It ends: drops what came of an inventory. */
void agent_inventory_begin(struct agent *agent);
void agent_inventory_drop(struct agent *agent);
void agent_inventory_part(struct agent *agent, const duopoly_Envelope *envelope);
/* The last part has come: parks the inventory while resyncing, else admits the agent. */
void agent_inventory_end(struct agent *agent, const duopoly_Envelope *envelope);
void agent_attempt_state(struct agent *agent, const duopoly_Envelope *envelope);
/* It is responsible for no attempt any more; the engine knows. */
void agent_attempts_drop(struct agent *agent);

/* agent_inputs.c: sends the inputs of a start that was just sent, some at once and the others in
 * portions, one attempt's after the other's; then awaits the answer. The inputs are copied if they
 * are many. 0, or why the session ended. */
int agent_inputs_send(struct agent *agent, struct placed_attempt *placed, int64_t now_ns,
                      const duopoly_Input *inputs, uint32_t n);
/* The rest of it is not sent: it ended, or (`cut`) the agent's session did, with all of these. */
void agent_inputs_drop(struct agents *agents, struct placed_attempt *placed);
void agent_inputs_cut(struct agent *agent);
void agents_inputs_begin(struct agents_attempts *attempts);

/* Why it starts nothing; "": it does. */
const char *agent_no_room(const struct agent *agent);
void agent_say_room(struct agent *agent, const char *why);
/* Whether something can be started on it: it is heard, its inventory has come, and it has room. */
bool agent_serves(const struct agent *agent);
/* Whether so many of its messages are unacknowledged, since the store's disk is slow, that it gets
 * nothing more: its reports on that would exceed the session's window. It then counts as silent
 * until far fewer are. */
bool agent_is_behind(const struct agent *agent);
/* Whether something ran there, or an output of a job is there. */
bool agent_was_used(const struct agent *agent);
/* The agent responsible for it; NULL: none. */
const struct agent *agent_of_attempt(const struct agents *agents, uint64_t attempt);
/* An attempt of this agent has received so much by now; others are ignored. */
void agent_attempt_received(struct agent *agent, int64_t now_ns, uint64_t attempt, uint64_t bytes);
/* Whether its parked inventory lists a running task of this job. */
bool agent_brings_task_of(const struct agent *agent, uint64_t job);
