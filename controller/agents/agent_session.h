/* An agent's session: a part of its record (agent.h). Other files use the functions here; its own
 * files are agent_session.c, agent_settle.c and agent_unanswered.c. */
#pragma once

#include "lib/wire.h"

#include <sys/queue.h>
#include <uthash.h>

struct agent;
struct agents;

/* Bytes on their way: agent_unanswered.c. */
struct agent_unanswered {
    uint64_t mark; /* a number */
    uint64_t before, since;
};

/* A message that is acknowledged when everything up to this ticket is on the disk. */
struct uncommitted {
    uint64_t sequence, ticket;
};

/* When messages are acknowledged: agent_settle.c. */
struct agent_settling {
    STAILQ_ENTRY(agent) link;
    bool listed;
    uint64_t sequence;
    bool lasting; /* what it says must be on the disk first */
    /* Messages of this session that the engine has taken and that wait for the disk: a ring. */
    struct uncommitted *ring;
    uint32_t first, n, size;
    STAILQ_ENTRY(agent) commit_link;
    bool committing; /* it is in that list */
};

struct agent_session {
    UT_hash_handle by_peer;
    bool open;
    uint64_t peer;
    struct wire_session wire;
    int64_t heard_ns; /* when it was last heard, also without a session */
    struct agent_unanswered unanswered;
    struct agent_settling settling;
};

/* Of all agents. */
struct agents_sessions {
    struct agent *peers; /* a hash of the open ones */
    /* Number of refusals sent to strangers in the second from then on. */
    int64_t refusals_since_ns;
    uint32_t refusals;
    uint64_t unanswered_bytes;
    STAILQ_HEAD(, agent) settle; /* agents whose messages the engine is taking */
    STAILQ_HEAD(, agent) commit; /* agents whose messages the disk is taking */
    uint64_t committed;
};

/* Iterates over agents with a session; `agent` may lose it meanwhile. */
#define AGENTS_EACH_SESSION(agents, agent, next)                                                   \
    HASH_ITER (session.by_peer, (agents)->sessions.peers, agent, next)

void agents_sessions_begin(struct agents_sessions *sessions);
void agents_sessions_done(struct agents_sessions *sessions);

/* The agent on this connection; NULL: it has no session. */
struct agent *agent_of_peer(const struct agents *agents, uint64_t peer);
/* Begins a session for an agent without one, which is heard now. */
void agent_session_begin(struct agent *agent, int64_t now_ns, uint64_t peer, uint32_t version);
/* Judges a message within its session. */
enum wire_verdict agent_session_accept(struct agent *agent, int64_t now_ns,
                                       const duopoly_Envelope *envelope);
bool agent_is_open(const struct agent *agent);
uint64_t agent_peer(const struct agent *agent); /* of its last session */
int64_t agent_heard_ns(const struct agent *agent);
void agent_hear(struct agent *agent, int64_t now_ns);
/* How many of its messages are unacknowledged. */
uint64_t agent_unacknowledged(const struct agent *agent);
/* The last number sent to it; whether it has acknowledged this one. */
uint64_t agent_sent(const struct agent *agent);
bool agent_answered(const struct agent *agent, uint64_t sequence);

/* Sends within the session; a failure ends it. 0 or −errno. */
int agent_send(struct agent *agent, duopoly_Envelope *envelope, bool changes_state);
/* Tells the peer why, and ends the session; its host counts as silent from now on. */
void agent_end(struct agent *agent, duopoly_Reason reason, const char *text);
/* Tells a peer without a session why it is ignored. The other also counts the refused message. */
void agent_tell_stranger(struct agents *agents, int64_t now_ns, uint64_t peer, uint64_t sequence,
                         duopoly_Reason reason, const char *text);
void agent_refuse_stranger(struct agents *agents, int64_t now_ns, uint64_t peer,
                           const duopoly_Envelope *refused, duopoly_Reason reason,
                           const char *text);
/* Answers a message of this kind with Refused, and counts it. */
void agent_refuse(struct agents *agents, uint64_t peer, const duopoly_Envelope *refused,
                  duopoly_Reason reason, const char *text);

/* The message with this number will have reached the engine when agents_settle is called, and must
 * be on the disk before it is acknowledged. */
void agent_settle_later(struct agent *agent, uint64_t sequence);
/* The same, but it need not be on the disk. */
void agent_settle_soon(struct agent *agent, uint64_t sequence);
/* The session is over: none of its messages is acknowledged any more. */
void agent_settle_drop(struct agent *agent);
/* Removes it from the lists. */
void agent_settle_done(struct agent *agent);

/* Adds the bytes of a numbered message; returns the agent whose session must end because of that
 * (maybe this one), NULL: none. Its agent has answered some. Its session is over. */
struct agent *agent_unanswered_add(struct agent *agent, size_t bytes);
void agent_unanswered_settle(struct agent *agent);
void agent_unanswered_drop(struct agent *agent);
