/* One agent, as the files behind agents.h share it. For these files only. Each file calls only
 * those below it; calls upwards go through agents->upward. Parts of the record have headers of
 * their own (agent_identity.h, agent_session.h, agent_attempts.h, agent_levels.h): other files use
 * them through the functions there.
 *
 *   agents.c          all agents, and their view from outside
 *   agent_messages.c  messages that arrive
 *   agent_time.c      what it takes of the controller's time
 *   agent_keep.c      what is kept of a host over a restart
 *   agent_hello.c     judges a HELLO and begins a session
 *   agent_address.c   judges the address in a HELLO
 *   agent_kinds.c     which kinds of messages an agent may send, and their handlers
 *   agent_watch.c     timers of silence and leases
 *   agent_forget.c    forgets unused names
 *   agent_unmarked.c  hosts without an agent
 *   agent_record.c    begin and end of a record
 *   agent_attempts.c  inventories, and the attempts for which an agent is responsible
 *   agent_words.c     which of its reports count
 *   agent_placed.c    queries about its attempts
 *   agent_inputs.c    inputs of starts on their way to it
 *   attempt_rate.c    how fast an attempt receives
 *   agent_claims.c    what it reports to have without having been given it
 *   agent_orders.c    orders that concern neither levels nor starts
 *   agent_levels.c    attempts' levels on their way to the hosts
 *   agent_settle.c    when its messages are acknowledged
 *   agent_session.c   what is sent in a session, and its end
 *   agent_unanswered.c  bytes on their way to agents
 *   agent_identity.c  its identity: in the tables, and in the engine
 *   agent_index.c     indexes of hosts that return */
#pragma once

#include "controller/agents/agent_attempts.h"
#include "controller/agents/agent_identity.h"
#include "controller/agents/agent_levels.h"
#include "controller/agents/agent_session.h"
#include "controller/agents/agents.h"
#include "controller/loop_shares.h"
#include "lib/rarely.h"

#include <sys/queue.h>
#include <uthash.h>

#define AGENT_HAD_MAX   1024
#define AGENT_LOST_SAID 64

/* Bytes counted for each thing that an agent claims, including what the engine keeps of it:
 * agent_claims.c. */
#define AGENT_CLAIMED_ATTEMPT 2048
#define AGENT_CLAIMED_GUEST   512
/* Unknown jobs in one inventory whose outputs the agent is told to forget, at most. */
#define AGENT_STRANGE_JOBS 65536

/* An agent's credibility about other hosts: agent_words.c. */
struct agent_words {
    bool proves;   /* it has shown an attempt's proof in this controller's epoch */
    bool admitted; /* one of its inventories was accepted: it has reported everything of older
                   * epochs */
    uint64_t *had; /* attempts that were lost while it had them, a ring, the newest AGENT_HAD_MAX */
    uint32_t n_had, had_size, next_had;
    uint32_t accused;         /* the one host about which it is trusted alone, */
    int64_t accused_until_ns; /* until then */
    uint32_t accuser;         /* the host that last reported this one, */
    int64_t accuser_until_ns; /* and counts as another voice until then */
    uint64_t
        lost[AGENT_LOST_SAID]; /* outputs for which it was trusted alone: hashes of their tasks */
    uint32_t next_lost;
    uint64_t refused;
    char about[96];
    struct rarely said;
    int64_t looks_since_ns; /* its words were checked this often in the second from then on */
    uint32_t looks;
};

/* agent_claims.c */
struct agent_claims {
    uint64_t bytes;
    uint32_t parked, guests; /* things of the current inventory; applications */
    uint32_t strange;        /* unknown jobs of that inventory */
    uint64_t cut;            /* things, since this controller's start */
    const char *about;       /* the last of them: a constant; NULL: none */
    struct rarely said;
};

/* agent_time.c */
struct agent_time {
    struct loop_account account;
    uint64_t over; /* sessions that ended for it */
    bool shut;     /* it begins none */
};

struct agent {
    struct agents *agents;
    struct agent_identity identity;
    uint32_t executors; /* executors of frameworks that are reported there */
    struct agent_session session;
    struct timer watch, beat;

    struct agent_attempts attempts;
    struct agent_levels levels;
    uint64_t mode_awaited; /* the number of the unacknowledged mode that it was sent; 0: none */
    duopoly_AgentCounters counters;
    duopoly_Stance stance_told; /* in this session */
    int64_t trial_until_ns;     /* deadline for confirming a trial stance; past: no trial */
    duopoly_HostState state;    /* as it last reported */
    uint64_t disk_read_bytes_s; /* as it last reported */
    struct agent_links links;
    struct agent_guests guests;
    struct agent_words words;
    struct agent_claims claims;
    struct agent_time time;
};

#define AGENTS_REFUSED 64

/* agent_mode.c */
struct agents_mode {
    uint32_t mode;
    uint64_t sequence;
    uint32_t awaited; /* agents that have not acknowledged it */
    int64_t at_ns;
};

/* Functions that parts below call upwards; agents_create sets them. */
struct agents_upward {
    void (*over)(struct agent *agent); /* its session */
    void (*watch)(struct timer *timer, int64_t now_ns);
    void (*beat)(struct timer *timer, int64_t now_ns);
};

struct agents {
    struct agents_config config;
    struct agents_hooks hooks;
    struct agents_upward upward;
    struct timers *timers;
    struct agents_counters counters;
    struct agents_sessions sessions;
    uint64_t claimed_bytes;
    struct agents_table table;
    struct agents_indexes indexes;
    struct agents_attempts attempts;
    struct agents_mode mode;
    struct agents_times times;
    struct stances stances;
    struct guest_levels guest_levels;
    struct levels_round levels;
    struct loop_noted noted;
    duopoly_ControllerKeys believed;       /* none: there are no keys */
    char why[256];                         /* text of the current refusal */
    struct rarely refused[AGENTS_REFUSED]; /* what the log said of HELLOs, by a hash of the name */
    duopoly_Envelope out;
};

/* Why something is refused; reason NONE: it is not. */
struct agent_refusal {
    duopoly_Reason reason;
    const char *text; /* a constant, or agents->why */
};

/* agent_record.c */
/* Adds a new one to the table, with an index if it is a host; NULL if out of memory. */
struct agent *agent_add(struct agents *agents, const char *name, bool is_switch);
/* Adds a host that has this index already; NULL if out of memory. */
struct agent *agent_add_kept(struct agents *agents, const char *name, uint32_t host);

/* Adds a host without an agent; NULL if out of memory. */
struct agent *agent_add_unmarked(struct agents *agents, const char *name, uint32_t host);
/* Removes it from the table and frees it with what it owns; it has no session. */
void agent_remove(struct agent *agent);

/* agent_forget.c: for a lost agent: unless it ever brought something, its name is forgotten in
 * time. */
void agent_watch_forgetting(struct agent *agent, int64_t now_ns);
void agent_forget_unused(struct agent *agent);

/* agent_unmarked.c: hosts without an agent. Checks whether it is still needed; the agent of this
 * host was forgotten; an agent that says HELLO has a host that was one, or has its address. */
void agent_unmarked_look(struct agent *agent, int64_t now_ns);
void agent_unmark(struct agents *agents, const char *name, uint32_t host, uint32_t executors);
void agent_find_executors(struct agent *agent, int64_t now_ns, const uint8_t *address);

/* agent_kinds.c: handles a message of a session, in order. */
void agent_take(struct agent *agent, const duopoly_Envelope *envelope);

/* agent_hello.c: judges a HELLO and begins its session. */
void agent_hello(struct agents *agents, int64_t now_ns, uint64_t peer, const char *identity,
                 const duopoly_Envelope *envelope);

/* agent_address.c */
/* May end the session of another agent that gave this one's address. */
struct agent_refusal agent_address_refusal(struct agents *agents, int64_t now_ns, uint64_t peer,
                                           const duopoly_Hello *hello);

/* agent_watch.c: timers: nothing was heard for a while; a lease is due. */
void agent_watch_fire(struct timer *timer, int64_t now_ns);
void agent_beat_fire(struct timer *timer, int64_t now_ns);

/* agent_mode.c: it has acknowledged something; its session has ended. */
void agent_mode_answered(struct agent *agent, int64_t now_ns);
void agent_mode_end(struct agent *agent);

/* agent_orders.c: sends the controller's keys to trust, if there are any. */
void agent_tell_keys(struct agent *agent);

/* agent_claims.c: counts bytes for a claim; false: beyond its share, nothing is counted. Counts
 * them anyway. Gives them back. Reports how many things were cut (`what`: a constant). */
bool agent_claim(struct agent *agent, uint64_t bytes);
void agent_claim_add(struct agent *agent, uint64_t bytes);
void agent_claim_back(struct agent *agent, uint64_t bytes);
void agent_claim_cut(struct agent *agent, uint64_t things, const char *what);

/* agent_time.c: whether it may begin a session. */
bool agent_has_time(struct agent *agent, int64_t now_ns);

/* agent_words.c */
enum agent_word { WORD_COUNTS, WORD_SAYS_NOTHING, WORD_REFUSED };
/* Judges an attempt's state, in an inventory or outside; or a number of an attempt. Refused words
 * are counted and logged. */
enum agent_word agent_word_of_state(struct agent *agent, int64_t now_ns,
                                    const duopoly_AttemptState *state);
enum agent_word agent_word_of_attempt(struct agent *agent, int64_t now_ns, pb_size_t kind,
                                      uint64_t attempt);
/* Judges a word about another host's output; about another host as a source of its own attempt. */
enum agent_word agent_word_of_output(struct agent *agent, int64_t now_ns,
                                     const duopoly_OutputLost *lost);
enum agent_word agent_word_of_source(struct agent *agent, int64_t now_ns, uint64_t attempt,
                                     const struct agent *source);
/* It had this attempt, and may report it again. */
void agent_words_had(struct agent *agent, uint64_t attempt);
/* It is removed: forgets it. */
void agent_words_done(struct agent *agent);
