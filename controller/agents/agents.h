/* The agents that the controller knows, and its session with each: which are there, what runs
 * there, what was acknowledged.
 *
 * Calls: the conductor passes in what came (agents_message, agents_malformed, timers), which
 * becomes facts by the hook `event`; when the engine has taken those, it calls agents_settle. It
 * sends the engine's decisions by agents_start … agents_forget. This part calls others only through
 * its hooks: connections (send), the engine (levels, job_wanted, end_wanted, newest_job,
 * jobs_between), the store (host_moved), and the history (failed).
 *
 * A name is one agent until it is forgotten: on request, or, if nothing ever ran there, after a
 * silence of `forget`. Hosts get dense indexes in order of their first HELLO, which survive a
 * restart of the controller (agents_restore); switches get none. An agent has at most one session:
 * within a boot the newest HELLO wins; one of another boot waits until the present session is
 * silent, so that two hosts with one name do not alternate (this is logged once a session).
 *
 * A session goes HELLO → WELCOME → inventory → deltas, each state-changing message is numbered
 * (lib/wire.h) and acknowledged when the engine has taken it; the end of an attempt or of an
 * output, and an inventory, when it is on the disk too (agents_committed). A session resends
 * nothing: a new one begins with the inventory, after which
 *  - attempts that run there are reported to the engine as seen, finished ones as finished; one
 *    that the engine does not know, since it ended while no controller listened, as seen and as
 *    finished;
 *  - attempts that we sent there and that it lacks are reported as lost;
 *  - levels that differ from the engine's are sent again;
 *  - outputs of unknown jobs are forgotten.
 * From a HELLO to the end of its inventory the host counts as silent: nothing is started there. The
 * same holds while the agent reports that it has no room for attempts (HostRoom); what it refuses
 * then is lost and runs elsewhere, without a failure of its task. It also holds once WIRE_WINDOW /
 * 2 of its messages are unacknowledged (the disk is slow), until a message comes when less than
 * half of these are.
 *
 * An agent's reports count if they are about itself or an attempt that it has (agent_words.c): one
 * that was sent there, one that it had when it was lost, and, in its first inventory after a
 * restart, those of older epochs, which it proves. Its reports about another host count if one of
 * its tasks reads from that host now; alone it is trusted about one such host at a time. Other
 * reports are refused: counted by kind and by agent, and logged rarely. An agent that runs what it
 * was not given is told to stop it.
 *
 * Timers (settings): a Lease goes to each agent every `heartbeat`; after a silence of `silent` its
 * host gets no new tasks; after `host_lost` it is lost and its session ends. A start without an
 * answer is queried after `start_timeout`, and lost after as long again. After a restart, hosts
 * join the engine only when every host of agents_restore has sent its inventory or `resync_wait`
 * has passed.
 *
 * A host without an agent is one with executors of a framework (agents_claim_host).
 *
 * Bounds: hosts_max agents of each role, AGENT_ATTEMPTS_MAX attempts in one inventory and of one
 * agent at once, claims_bytes of what all claim (agent_claims.c), WIRE_WINDOW unanswered messages
 * of one and unanswered_bytes of all; what exceeds a bound is refused with a sentence and counted;
 * a peer that does not read loses its session.
 *
 * Peers without a session are told what was wrong with a message at most AGENT_REFUSALS times a
 * second, all together; more is only counted.
 *
 * Pure except for the hooks: the time is a parameter, and sockets are elsewhere (agents_zmq.h). One
 * thread. O(1) per message plus what it says; a mode switch is O(agents), and so is a name that
 * comes or goes (two arrays are kept in the order of names). */
#pragma once

#include "controller/agents/agent_guests.h"
#include "controller/agents/agent_links.h"
#include "controller/agents/stances.h"
#include "controller/engine/engine.h"
#include "controller/loop_shares.h"
#include "controller/timers.h"
#include "lib/histogram.h"
#include "lib/wire.h"

#define AGENT_ATTEMPTS_MAX 4096
#define AGENT_UNITS_MAX    16

/* Each second, to connections without a session. */
#define AGENT_REFUSALS 1000

/* Where connections come from. */
struct agents_where {
    /* Whether this connection comes from this address, as the transport sees it; NULL: unknown. */
    bool (*comes_from)(void *user, uint64_t peer, const uint8_t address[16]);
    void *user;
};

struct agents_config {
    uint32_t epoch, hosts_max;
    int64_t heartbeat_ns, silent_ns, host_lost_ns, lease_ns, resync_wait_ns, start_timeout_ns;
    int64_t forget_ns;      /* a lost agent that never brought anything is forgotten after this */
    int64_t fetch_stall_ns; /* in each start: a source that is silent for this long is reported */
    int64_t unit_slots_max; /* larger claims are cut to it; 0: no bound */
    uint64_t claims_bytes; /* what all agents say that they have and were not given takes so much at
                              most; 0: no bound */
    uint64_t unanswered_bytes; /* of all agents; beyond it, the session with the most ends */
    int64_t time_permille;     /* of the controller's time, for each agent; 0: no bound */
    uint32_t congested_permille, cleared_permille; /* what agents report at once (engine.h) */
    struct level_table guests;                     /* levels of guests' applications */
    struct agents_where where;
};

/* The controller's knowledge, to judge reports by. */
struct agents_knowledge {
    /* Whether the engine knows this attempt, of any agent, as not ended. */
    bool (*lives)(void *user, uint64_t attempt);
    /* Whether the end of an attempt that no agent has counts: the engine does not know the attempt,
     * but knows its task, which is not done. */
    bool (*end_wanted)(void *user, const duopoly_AttemptState *state);
    /* What a host can know of others (engine.h). */
    enum engine_reading (*reads_from)(void *user, uint64_t attempt, uint32_t host);
    enum engine_reading (*reads_output)(void *user, uint32_t host, const duopoly_OutputLost *lost);
    /* The host that holds this output; ENGINE_NONE: none. */
    uint32_t (*holder)(void *user, const duopoly_OutputLost *lost);
    /* The proof sent with a start to the host of this name (attempt_proof.h); the epoch since which
     * that host shows it, 0: it never did; it has shown one. */
    uint64_t (*proof)(void *user, const char *name, uint64_t attempt, uint64_t job, uint32_t stage,
                      uint32_t task);
    uint32_t (*proof_since)(void *user, const char *name);
    void (*proof_shown)(void *user, const char *name);
    void *user;
};

struct agents_hooks {
    /* Sends to a connection; < 0: it is gone or does not read, and the session ends. */
    int (*send)(void *user, uint64_t peer, const duopoly_Envelope *envelope);
    /* The peer does not read: ends the connection, and drops what waits for it. */
    void (*cut)(void *user, uint64_t peer);
    /* A fact. Its pointers stay valid until agents_settle; the hook must not call back into
     * agents. */
    void (*event)(void *user, const struct event *event);
    /* An attempt failed with these last words. */
    void (*failed)(void *user, uint64_t attempt, const char *words);
    /* The engine's view: the levels of a live attempt (false: not live), and whether a job's
     * outputs may still be wanted. */
    bool (*levels)(void *user, uint64_t attempt, uint32_t *ret_coflow, uint32_t *ret_macroflow);
    bool (*job_wanted)(void *user, uint64_t job);
    /* What agents_kept returns for this index has changed. */
    void (*host_moved)(void *user, uint32_t host);
    /* The highest job number; whether a job with after < number ≤ until exists. */
    uint64_t (*newest_job)(void *user);
    /* An agent has seen a later epoch than ours: whether the controller should begin again above
     * it. */
    bool (*epoch_seen)(void *user, const char *name, uint32_t epoch);
    bool (*jobs_between)(void *user, uint64_t after, uint64_t until);
    /* A part of what the agent of this name reports of its switch. */
    void (*switch_part)(void *user, const char *name, int64_t now_ns,
                        const duopoly_SwitchPart *part);
    struct agents_knowledge knows;
    /* The user of the driver of a framework's application of this name; −1: none, or unknown. */
    int64_t (*framework_user)(void *user, const char *name);
    /* Whether something runs on this host, or is stored there. */
    bool (*host_needed)(void *user, uint32_t host);
    /* Executors reported on host `from` are on host `to`, whose agent has come. */
    void (*host_is)(void *user, uint32_t from, uint32_t to);
    /* An attempt that it was given is done; before its event. */
    void (*attempt_done)(void *user, const duopoly_AttemptState *state);
    /* The agent of this name answers. False: nobody waits for that from it. */
    bool (*asked)(void *user, const char *name, const duopoly_AskedPart *part);
    void *user;
};

struct agents;

int agents_create(const struct agents_config *config, const struct agents_hooks *hooks,
                  struct timers *timers, struct agents **ret_agents);
/* NULL is fine. */
void agents_destroy(struct agents *agents);

/* Other times from now on: of `config` start_timeout_ns, forget_ns and fetch_stall_ns count. What
 * is waited for already is waited for as before. */
void agents_take_times(struct agents *agents, const struct agents_config *config);

/* Whether agents send this kind of message; a later version's agent may send an unknown kind
 * (0). */
bool agents_take(pb_size_t kind);

/* A message on connection `peer`; `identity` is the peer's identity from the transport, NULL
 * without one (then HELLO's name counts). */
void agents_message(struct agents *agents, int64_t now_ns, uint64_t peer, const char *identity,
                    const duopoly_Envelope *envelope);

/* A message on connection `peer` took so long, with all that followed at once, by the wall clock:
 * it is noted for its agent (loop_shares.h). */
void agents_note(struct agents *agents, int64_t now_ns, uint64_t peer, const char *identity,
                 int64_t took_ns);
/* A turn of the loop is over: agents are charged for what was noted. One that is over its share
 * loses its session and its connection, and begins none until half of AGENT_BURST_NS is back.
 * Whether one lost its session. O(agents noted). */
bool agents_charge(struct agents *agents, const struct loop_spent *spent);
/* WHY so much: all that a host has to tell after a restart, ten times over. */
#define AGENT_BURST_NS INT64_C(10000000000)

/* The agent on this connection lost its right to it: its session ends. */
void agents_cut(struct agents *agents, uint64_t peer);

/* The controller's keys to trust: sent to all agents now, and to each new session. */
void agents_believe(struct agents *agents, const duopoly_ControllerKeys *keys);

/* A message that could not be decoded. */
void agents_malformed(struct agents *agents, int64_t now_ns, uint64_t peer, const char *why);

/* The connection sent more than it may, and is being disconnected. */
void agents_flood(struct agents *agents, uint64_t peer);

/* The engine has taken the facts of the last message or timer: acknowledges the message, or, if it
 * must last and `ticket` (store.h) is not committed, leaves that to agents_committed. */
void agents_settle(struct agents *agents, uint64_t ticket);
/* Whether some of these wait for agents_committed. O(1). */
bool agents_wait(const struct agents *agents);
/* Everything up to this ticket is on the disk: acknowledges what waited for it. O(agents that
 * wait). */
void agents_committed(struct agents *agents, uint64_t ticket);

/* Sends decisions; `host` is always a host's index.
 *
 * Sends a start (attempt, job … are set, `inputs` is set here) and its inputs. If it cannot be
 * sent, the attempt is reported as lost. */
void agents_start(struct agents *agents, int64_t now_ns, uint32_t host, const duopoly_Start *start,
                  const duopoly_Input *inputs, uint32_t n_inputs);
/* For a host without a session the following are not sent: its next inventory raises them again. */
void agents_stop(struct agents *agents, uint32_t host, uint64_t attempt, const char *why,
                 uint32_t grace_ms, bool requeue);
/* Changes an attempt's levels. Changes for all hosts are collected until agents_levels_flush: one
 * message a host, and none while a host has unacknowledged levels, for at most `silent`; meanwhile
 * the newest levels of each attempt count. */
void agents_level(struct agents *agents, uint32_t host, uint64_t attempt, uint32_t coflow_level,
                  uint32_t macroflow_level);
void agents_levels_flush(struct agents *agents, int64_t now_ns);
void agents_mode(struct agents *agents, int64_t now_ns, uint32_t mode, uint64_t sequence);
void agents_forget(struct agents *agents, uint32_t host, uint64_t job);
/* To a host that reports guests of this application; nothing to others. Not numbered: it expires
 * soon. */
void agents_tell_guests(struct agents *agents, uint32_t host, const duopoly_GuestAllows *said);

/* Sends a question, not numbered: `asked` gets the answer, if one comes. −ENOENT: no such agent;
 * −ENOTCONN: it has no session; −EOPNOTSUPP: it does not know this question; or it does not
 * read. */
int agents_ask(struct agents *agents, const char *name, const duopoly_Ask *ask);

/* Sets the stance of agents, from now on, also of those to come: agents without a session get it
 * after HELLO. Returns how many were told; −errno as stances_set. */
int agents_set_stance(struct agents *agents, enum stance_scope scope, const char *name,
                      duopoly_Stance stance);

/* The same of all stances at once. */
int agents_take_stances(struct agents *agents, const struct stances *stances);

/* The same for one agent and for a limited time: it reverts by itself, and nothing is kept of it
 * here. −ENOENT: no such agent; −ENOTCONN: it has no session; −EBUSY: another such trial of it has
 * not ended. */
int agents_try_stance(struct agents *agents, int64_t now_ns, const char *name,
                      duopoly_Stance stance, uint32_t confirm_s);

/* What agents_try_stance would return now, if its message can be sent. */
int agents_may_try_stance(const struct agents *agents, int64_t now_ns, const char *name);

const struct stances *agents_stances(const struct agents *agents); /* as set so far */

/* Forgets a host or switch without a session: its attempts and outputs are lost, and its index is
 * reused when no job can refer to it any more; if executors are on it, it stays as a host without
 * an agent. −ENOENT; −EBUSY while it has a session, and for hosts without an agent. */
int agents_forget_name(struct agents *agents, const char *name);
/* What agents_forget_name would return now. */
int agents_may_forget(const struct agents *agents, const char *name);

/* The host of one more executor: the agent with this name, else the one with this address (16
 * bytes; NULL: unknown), else a host without an agent, which is made: it joins the engine with
 * empty units. ENGINE_NONE: half of hosts_max are such hosts, all indexes are taken, or the name is
 * a switch's or invalid. It does not end with its agent. */
uint32_t agents_claim_host(struct agents *agents, const char *name, const uint8_t *address);
/* Releases one claim. A host without an agent is removed after the last one, as soon as nothing of
 * it is needed. */
void agents_release_host(struct agents *agents, int64_t now_ns, uint32_t host);

/* What is kept of a host's index over a restart of the controller. */
struct agent_kept {
    uint32_t host;
    char name[64]; /* "": forgotten; jobs with after < number ≤ until may refer to it */
    char rack[32], labels[ENGINE_LABELS_MAX];
    uint8_t address[16];
    uint64_t boot; /* 0: it never joined */
    uint64_t units[AGENT_UNITS_MAX * ENGINE_RESOURCES];
    uint32_t n_units;
    uint64_t uplink_bps, downlink_bps;
    bool lost, used;
    uint64_t after, until;
};
/* 0 or −ENOENT: the index is free, and a new host may get it. O(forgotten indexes) for a forgotten
 * host, else O(1). */
int agents_kept(const struct agents *agents, uint32_t host, struct agent_kept *ret_kept);
/* Once, before the first message: restores the known hosts. Each counts as silent until it is
 * heard, and as lost after `host_lost` from now; the others wait for its inventory. The engine
 * knows the same of them. 0, −ENOMEM, −EINVAL: an index is out of bounds, or occurs twice. */
int agents_restore(struct agents *agents, int64_t now_ns, const struct agent_kept *kept, size_t n);

enum agent_state {
    AGENT_JOINING, /* its inventory has not come, or waits for the others */
    AGENT_UP,
    AGENT_FULL, /* it starts nothing for now: no_room says why */
    AGENT_SILENT,
    AGENT_LOST,
    AGENT_UNMARKED /* there is no agent, only executors */
};

struct agent_view {
    const char *name, *rack; /* borrowed until the next call */
    const char *no_room;     /* "" unless FULL */
    const char *cut;         /* what it claims beyond the bounds of a host; or "" */
    enum agent_state state;
    bool is_switch;
    uint32_t host; /* ENGINE_NONE for a switch */
    uint64_t boot;
    duopoly_Stance stance;         /* in force there, as last reported */
    const char *trouble;           /* another owner's changes on its ports; "": none */
    const char *queues;            /* what makes the queues of its ports, and why */
    const char *marks;             /* its mark driver, and why no better one */
    const duopoly_HostState *said; /* all of its last report, of which this is a part */
    uint64_t refused_words;        /* refused reports about others, since this controller started */
    const char *refused_about;     /* the last of them; "": none */
    uint64_t claims_cut;           /* claimed things that were not kept, likewise */
    const char *cut_about;         /* the last of them; NULL: none */
    int64_t heard_ns;              /* when it was last heard; at the earliest when this controller
                                * started */
    int64_t lost_ns;               /* LOST: since when; 0: since before this controller started */
    uint8_t address[16];
    uint64_t disk_read_bytes_s; /* what its disk read over a second, as it last reported */
    const duopoly_AgentCounters *counters; /* the last that it sent */
    const struct agent_links *links;
    const struct agent_guests *guests;
    uint64_t spent_ns;   /* of the controller's time, since this controller started */
    uint64_t times_over; /* sessions that ended for that, likewise */
};

uint32_t agents_count(const struct agents *agents);
/* The `place`-th agent in the natural order of names (h2 before h10). 0 or −ENOENT. O(1). */
int agents_at(const struct agents *agents, uint32_t place, struct agent_view *ret_view);
/* The place of the first agent whose name comes after this one, which may be no agent's; ""
 * comes before all. For walks between whose steps agents come and go. O(log agents). */
uint32_t agents_after(const struct agents *agents, const char *name);
/* By host index; by name. 0 or −ENOENT. */
int agents_of_host(const struct agents *agents, uint32_t host, struct agent_view *ret_view);
int agents_named(const struct agents *agents, const char *name, struct agent_view *ret_view);
/* The address of agents_of_host (16 bytes, borrowed until the next call); NULL: no such host. */
const uint8_t *agents_host_address(const struct agents *agents, uint32_t host);
/* The host whose outputs are served at this address. 0 or −ENOENT. */
int agents_addressed(const struct agents *agents, const uint8_t address[16],
                     struct agent_view *ret_view);
/* The number of hosts, and the index of the `place`-th in the natural order of names (place <
 * count): a submission's replicas refer to these places. */
uint32_t agents_hosts(const struct agents *agents);
uint32_t agents_host_at(const struct agents *agents, uint32_t place);
/* What an attempt received over the last second or two, in bit/s, by its agent's reports. −1: not
 * known. O(1). */
int64_t agents_attempt_bps(const struct agents *agents, uint64_t attempt, int64_t now_ns);
/* Whether hosts are still awaited after a restart. */
bool agents_resyncing(const struct agents *agents);

struct agents_counters {
    /* Refused without an answer, since there were too many; sessions that ended because of too much
     * unanswered. */
    uint64_t unanswered_strangers, slow;

    uint64_t sessions, replaced, ended; /* begun; ended by a newer one; ended for another reason */
    uint64_t duplicates, gaps, old_epochs, nonsense;
    uint64_t malformed, ignored_kinds;
    uint64_t starts_asked, starts_lost;
    uint64_t forgotten;                  /* names */
    uint64_t levels_rounds, levels_told; /* rounds of level changes that were sent, and levels in
                                          * them */
    uint64_t levels_merged;              /* that were replaced before they were sent */
    uint64_t levels_late;                /* hosts that did not acknowledge in time */
    uint64_t sources_unknown;            /* reports on sources whose address is no host's */
    uint64_t loads_cut;           /* reported numbers of load that were cut to what is possible */
    uint64_t refused[WIRE_KINDS]; /* by kind */
    uint64_t spent_ns;            /* that agents were charged for */
    uint64_t times_over;          /* sessions that ended for that */
};
const struct agents_counters *agents_counters(const struct agents *agents);

struct agents_times {
    /* From a start that is sent until its host answers that it has it; from a change of the mode
     * until the last host that has a session acknowledged it. A change that the next one overtakes
     * is not counted. */
    struct histogram starts, mode_changes;
};
const struct agents_times *agents_times(const struct agents *agents);
