/* The agents that the controller knows, and its session with each: who is there, what runs there,
 * what was promised.
 *
 * Who calls whom: the conductor brings what came in (agents_message, agents_malformed, timers),
 * which becomes facts by the hook `event`; when the engine has taken those it calls agents_settle.
 * What the engine decided it sends by agents_start … agents_forget. The hooks are all that this
 * part asks or tells anybody: connections (send), the engine (levels, job_wanted, end_wanted,
 * newest_job, jobs_between), the store (host_moved), and the history (failed).
 *
 * A name is one agent until it is forgotten: by order, or, if nothing ever ran there, after
 * `forget` without a word. Hosts get dense indexes in order of their first HELLO, which are kept over
 * a restart of the controller (agents_restore); switches get none. At most one session per agent: of one boot the newest HELLO wins; one of another boot waits
 * until the session that stands is silent, so that two hosts with one name are stable (and said in
 * the log, once a session).
 *
 * A session goes HELLO → WELCOME → inventory → deltas, each state-changing message numbered
 * (lib/wire.h) and acknowledged when it is in the engine; what tells how an attempt or an output
 * ended, and an inventory, when that is on the disk too (agents_committed). A session resends
 * nothing: after a new one the inventory says what is, and
 *  - attempts that run there are told to the engine as seen, finished ones as finished; one that the
 *    engine does not know, for it ended while no controller listened, as seen and as finished;
 *  - attempts that we sent there and that are not in it are told lost;
 *  - levels that differ from the engine's are sent again;
 *  - outputs of jobs that nobody knows are forgotten.
 * From a HELLO to the end of its inventory the host counts as silent: nothing is started there. So it
 * does while the agent says that it has no room for attempts (HostRoom); what it refuses then is lost
 * and runs elsewhere, without a failure of its task. And so it does from WIRE_WINDOW / 2 of its messages on
 * that are not acknowledged (the disk is slow), until a word of it comes with less than half of these.
 *
 * An agent's words count if they are about itself or an attempt that it has (agent_words.c): one that was
 * sent there, one that it had when it was lost, and, in its first inventory after a restart, those of older
 * epochs, which it proves. What it says of another host counts if something runs there that reads
 * from that host now; alone it is believed of one such host at a time. What does not count is refused:
 * counted by kind and by agent, and said in the log, rarely. Who runs what it was not given is told to stop
 * it.
 *
 * Timers (settings): a Lease goes to each agent every `heartbeat`; without a word for `silent` its
 * host gets no new tasks, for `host_lost` it is lost and its session ends. A start without an
 * answer is asked for after `start_timeout`, and lost after as long again. After a restart hosts
 * join the engine only when every host of agents_restore has sent its inventory or `resync_wait`
 * has passed.
 *
 * Hosts without an agent are those that somebody's executors are on (agents_claim_host).
 *
 * Bounds: hosts_max agents of each role, AGENT_ATTEMPTS_MAX attempts in one inventory and of one
 * agent at once, claims_bytes of what all claim (agent_claims.c), WIRE_WINDOW unanswered messages of one and
 * unanswered_bytes of all; what exceeds
 * one is refused with a sentence and counted, a peer that does not read loses its session.
 *
 * Who has no session is told what was wrong with a message only AGENT_REFUSALS times a second, all
 * such peers together; more is counted.
 *
 * Pure but for the hooks: the time is a parameter, no socket is touched here (agents_zmq.h does).
 * One thread. O(1) per message plus what it says; a mode switch is O(agents), and so is a name that
 * comes or goes (two arrays are kept in the order of names). */
#pragma once

#include "controller/agents/agent_guests.h"
#include "controller/agents/agent_links.h"
#include "controller/agents/stances.h"
#include "controller/engine/engine.h"
#include "controller/timers.h"
#include "lib/wire.h"

#define AGENT_ATTEMPTS_MAX 4096
#define AGENT_UNITS_MAX    16

/* A second, to connections without a session. */
#define AGENT_REFUSALS 1000

/* Where connections come from. */
struct agents_where {
    /* Whether this one does from this address, as the transport sees it; NULL: nobody knows. */
    bool (*comes_from)(void *user, uint64_t peer, const uint8_t address[16]);
    void *user;
};

struct agents_config {
    uint32_t epoch, hosts_max;
    int64_t heartbeat_ns, silent_ns, host_lost_ns, lease_ns, resync_wait_ns, start_timeout_ns;
    int64_t forget_ns;      /* a lost agent that never brought anything is forgotten then */
    int64_t fetch_stall_ns; /* in each start: a source that gives nothing for so long is told of */
    int64_t unit_slots_max; /* what claims more is cut to it; 0: no bound */
    uint64_t claims_bytes; /* what all agents say that they have and were not given takes so much at
                              most; 0: no bound */
    uint64_t unanswered_bytes; /* of all agents; beyond it the session with most of them ends */
    uint32_t congested_permille, cleared_permille; /* what agents report at once (engine.h) */
    struct level_table guests; /* levels of applications that nobody started here */
    struct agents_where where;
};

/* What the controller knows, by which words are judged. */
struct agents_knowledge {
    /* Whether the engine knows this attempt, of whomever, and it has not ended. */
    bool (*lives)(void *user, uint64_t attempt);
    /* Whether the end of an attempt that is in no agent's books counts: the engine does not know the
     * attempt, but its task, which is not done. */
    bool (*end_wanted)(void *user, const duopoly_AttemptState *state);
    /* What a host can know of others' (engine.h). */
    enum engine_reading (*reads_from)(void *user, uint64_t attempt, uint32_t host);
    enum engine_reading (*reads_output)(void *user, uint32_t host, const duopoly_OutputLost *lost);
    /* The host that holds this output; ENGINE_NONE: none. */
    uint32_t (*holder)(void *user, const duopoly_OutputLost *lost);
    /* The proof that goes with a start to the host of this name (attempt_proof.h); since which epoch that
     * host shows it, 0: it never did; it has shown one. */
    uint64_t (*proof)(void *user, const char *name, uint64_t attempt, uint64_t job, uint32_t stage,
                      uint32_t task);
    uint32_t (*proof_since)(void *user, const char *name);
    void (*proof_shown)(void *user, const char *name);
    void *user;
};

struct agents_hooks {
    /* Sends to a connection; < 0: it is gone or does not read, and the session ends. */
    int (*send)(void *user, uint64_t peer, const duopoly_Envelope *envelope);
    /* The peer takes nothing in: ends the connection, with what waits for it. */
    void (*cut)(void *user, uint64_t peer);
    /* A fact. Its pointers stay good until agents_settle; it must not call back into agents. */
    void (*event)(void *user, const struct event *event);
    /* An attempt failed with these last words. */
    void (*failed)(void *user, uint64_t attempt, const char *words);
    /* The engine's view: the levels of a live attempt (false: not live), and whether a job's
     * outputs may still be wanted. */
    bool (*levels)(void *user, uint64_t attempt, uint32_t *ret_coflow, uint32_t *ret_macroflow);
    bool (*job_wanted)(void *user, uint64_t job);
    /* What agents_kept says of this index has changed. */
    void (*host_moved)(void *user, uint32_t host);
    /* The highest number that a job has; whether a job lives with after < number ≤ until. */
    uint64_t (*newest_job)(void *user);
    /* An agent has seen a later epoch than ours: whether the controller begins again above it. */
    bool (*epoch_seen)(void *user, const char *name, uint32_t epoch);
    bool (*jobs_between)(void *user, uint64_t after, uint64_t until);
    /* A part of what the agent of this name says of its switch. */
    void (*switch_part)(void *user, const char *name, int64_t now_ns,
                        const duopoly_SwitchPart *part);
    struct agents_knowledge knows;
    /* Whose driver a framework's application of this name is; −1: there is none, or nobody says. */
    int64_t (*framework_user)(void *user, const char *name);
    /* Whether something runs on this host, or lies there. */
    bool (*host_needed)(void *user, uint32_t host);
    /* Executors that were said to be on host `from` are on `to`, whose agent has come. */
    void (*host_is)(void *user, uint32_t from, uint32_t to);
    void *user;
};

struct agents;

int agents_create(const struct agents_config *config, const struct agents_hooks *hooks,
                  struct timers *timers, struct agents **ret_agents);
/* NULL is fine. */
void agents_destroy(struct agents *agents);

/* Whether agents send this kind of message, or a later version's agent may (0). */
bool agents_take(pb_size_t kind);

/* A message on connection `peer`; `identity` is the transport's word for who it is, NULL where it
 * has none (then HELLO's name counts). */
void agents_message(struct agents *agents, int64_t now_ns, uint64_t peer, const char *identity,
                    const duopoly_Envelope *envelope);

/* Who has this connection may not have it any more: its session ends. */
void agents_cut(struct agents *agents, uint64_t peer);

/* The keys of the controller that are to be believed: told to all now, and to each new session. */
void agents_believe(struct agents *agents, const duopoly_ControllerKeys *keys);

/* A message that could not be decoded. */
void agents_malformed(struct agents *agents, int64_t now_ns, uint64_t peer, const char *why);

/* The connection brought more than it may, and is being cut off. */
void agents_flood(struct agents *agents, uint64_t peer);

/* The engine has taken the facts of the last message or timer: acknowledges it, or, if it is to last
 * and `ticket` (store.h) is not committed, does so in agents_committed. */
void agents_settle(struct agents *agents, uint64_t ticket);
/* Everything up to this ticket is on the disk: acknowledges what waited for it. O(agents that wait
 * for one). */
void agents_committed(struct agents *agents, uint64_t ticket);

/* What goes out; `host` is a host's index everywhere.
 *
 * Sends a start (attempt, job… filled in, `inputs` set here) and its inputs. If it cannot be sent
 * the attempt is told lost. */
void agents_start(struct agents *agents, int64_t now_ns, uint32_t host, const duopoly_Start *start,
                  const duopoly_Input *inputs, uint32_t n_inputs);
/* To a host without a session the others are not sent: its next inventory brings them up again. */
void agents_stop(struct agents *agents, uint32_t host, uint64_t attempt, const char *why,
                 uint32_t grace_ms, bool requeue);
/* An attempt's levels are to be others. Those of all hosts are gathered until agents_levels_flush:
 * one message a host, and none while a host that was sent some has not acknowledged them, for
 * `silent` at most; meanwhile the newest levels of each attempt count. */
void agents_level(struct agents *agents, uint32_t host, uint64_t attempt, uint32_t coflow_level,
                  uint32_t macroflow_level);
void agents_levels_flush(struct agents *agents, int64_t now_ns);
void agents_mode(struct agents *agents, uint32_t mode, uint64_t sequence);
void agents_forget(struct agents *agents, uint32_t host, uint64_t job);
/* To a host that tells of this application's guests; nothing to others. Not numbered: it is over soon. */
void agents_tell_guests(struct agents *agents, uint32_t host, const duopoly_GuestAllows *said);

/* How far agents are to reach, from now on, and those that come: the others hear it when they say
 * HELLO. Returns how many were told; −errno as stances_set. */
int agents_set_stance(struct agents *agents, enum stance_scope scope, const char *name,
                      duopoly_Stance stance);

/* As that for one agent and for so long only: it goes back by itself, and nothing is kept of it here.
 * −ENOENT: there is no such agent; −ENOTCONN: it has no session; −EBUSY: another such trial of it
 * has not ended. */
int agents_try_stance(struct agents *agents, int64_t now_ns, const char *name,
                      duopoly_Stance stance, uint32_t confirm_s);

const struct stances *agents_stances(const struct agents *agents); /* as said so far */

/* Forgets a host or switch that has no session: its attempts and outputs are lost, its index may be
 * another's when no job can mean it any more; where executors are it stays without an agent. −ENOENT, or
 * −EBUSY while it has a session, and for hosts that have no agent. */
int agents_forget_name(struct agents *agents, const char *name);

/* The host of one more executor: that of the agent with this name, else with this address (16 bytes;
 * NULL: nobody knows it), else one without an agent, which is made: it joins the engine with units of
 * nothing. ENGINE_NONE: half of hosts_max are such, all indexes are taken, or the name is a switch's or
 * none. Its agent's end is not its end. */
uint32_t agents_claim_host(struct agents *agents, const char *name, const uint8_t *address);
/* One that was claimed has gone. A host without an agent goes with the last, as soon as nothing of it
 * is needed. */
void agents_release_host(struct agents *agents, int64_t now_ns, uint32_t host);

/* What is to be kept of a host's index over a restart of the controller. */
struct agent_kept {
    uint32_t host;
    char name[64]; /* "": forgotten, and jobs with after < number ≤ until may mean it */
    char rack[32], labels[ENGINE_LABELS_MAX];
    uint8_t address[16];
    uint64_t boot; /* 0: it never joined */
    uint64_t units[AGENT_UNITS_MAX * ENGINE_RESOURCES];
    uint32_t n_units;
    uint64_t uplink_bps, downlink_bps;
    bool lost, used;
    uint64_t after, until;
};
/* 0 or −ENOENT: nobody has the index, and any new host may get it. O(forgotten indexes) for one that
 * is forgotten, else O(1). */
int agents_kept(const struct agents *agents, uint32_t host, struct agent_kept *ret_kept);
/* Once, before the first message: these hosts were known. Each counts as silent until it is heard,
 * and as lost `host_lost` from now; the others wait for its inventory. The engine knows the same of
 * them. 0, −ENOMEM, −EINVAL: an index is beyond the bound, or stands twice. */
int agents_restore(struct agents *agents, int64_t now_ns, const struct agent_kept *kept, size_t n);

enum agent_state {
    AGENT_JOINING, /* its inventory is not in, or waits for the others */
    AGENT_UP,
    AGENT_FULL, /* it starts nothing for now: no_room says why */
    AGENT_SILENT,
    AGENT_LOST,
    AGENT_UNMARKED /* there is no agent, only executors */
};

struct agent_view {
    const char *name, *rack; /* borrowed until the next call */
    const char *no_room;     /* "" unless FULL */
    const char *cut;         /* what it claims to have, where that is more than a host may; or "" */
    enum agent_state state;
    bool is_switch;
    uint32_t host; /* ENGINE_NONE for a switch */
    uint64_t boot;
    duopoly_Stance stance;     /* in force there, as it said last */
    const char *trouble;       /* what somebody else changed on its ports; "" nothing */
    const char *queues;        /* what makes them on its ports, and why */
    const char *marks;         /* its mark driver, and why no better one */
    uint64_t refused_words;    /* that were about others, since this controller's start */
    const char *refused_about; /* the last of them; "" none */
    uint64_t claims_cut;       /* things that it claims and that were not kept, likewise */
    const char *cut_about;     /* the last of them; NULL: none */
    int64_t heard_ns;          /* when it was heard last; no sooner than this controller's start */
    int64_t lost_ns;           /* LOST: since when; 0: since before this controller's start */
    uint8_t address[16];
    const duopoly_AgentCounters *counters; /* the last that it sent */
    const struct agent_links *links;
    const struct agent_guests *guests;
};

uint32_t agents_count(const struct agents *agents);
/* The `place`-th agent in the natural order of names (h2 before h10). 0 or −ENOENT. O(1). */
int agents_at(const struct agents *agents, uint32_t place, struct agent_view *ret_view);
/* By host index; by name. 0 or −ENOENT. */
int agents_of_host(const struct agents *agents, uint32_t host, struct agent_view *ret_view);
int agents_named(const struct agents *agents, const char *name, struct agent_view *ret_view);
/* How many hosts there are, and the index of the `place`-th in the natural order of names (place <
 * count): what replicas of a submission mean. */
uint32_t agents_hosts(const struct agents *agents);
uint32_t agents_host_at(const struct agents *agents, uint32_t place);
/* Whether hosts are still waited for after a restart. */
bool agents_resyncing(const struct agents *agents);

struct agents_counters {
    /* Refused without an answer, for there were too many; sessions ended because of what they left
     * unanswered. */
    uint64_t unanswered_strangers, slow;

    uint64_t sessions, replaced, ended; /* begun; ended by a newer one; ended for another reason */
    uint64_t duplicates, gaps, old_epochs, nonsense;
    uint64_t malformed, ignored_kinds;
    uint64_t starts_asked, starts_lost;
    uint64_t forgotten;                  /* names */
    uint64_t levels_rounds, levels_told; /* relabellings that were sent, and levels in them */
    uint64_t levels_merged;              /* that were replaced before they were sent */
    uint64_t levels_late;                /* hosts that did not acknowledge in time */
    uint64_t sources_unknown;            /* words on sources whose address is no host's */
    uint64_t refused[WIRE_KINDS];        /* by kind */
};
const struct agents_counters *agents_counters(const struct agents *agents);
