/* Applications that place their tasks by themselves (Spark, YARN's), and the session of each: what
 * they tell becomes facts of the engine (framework.h there), and what it allows goes out as snapshots.
 *
 * Who calls whom: the conductor brings what came in, which becomes facts by the hook `event`; when
 * the engine has taken those it hands over each decision (frameworks_decision) and then calls
 * frameworks_settle, which sends and acknowledges. What runs is not kept in the store: a framework
 * tells all again in each session, and until it says that it has, nothing is concluded from silence.
 * How its jobs ended is, and what their stages had (store/ledger.h).
 *
 * A name is one application until it is forgotten. What it held is given back in three steps: when its
 * session ends it is allowed nothing more, and what runs by its word alone (nobody allowed it, no executor of
 * its own gives it room) is over; `lost` later all that runs is lost and its executors are gone, as on a host
 * that is; `forget` after the session's end its jobs are cancelled, sooner where it holds more than one in
 * FRAMEWORK_KEPT of what all frameworks may: twice as much half as long. A name belongs to the identity, and where an agent relays
 * to its host's user, whose HELLO named it first. The newest HELLO of a name
 * has the session, the other is told; a session that says nothing for `silent` is over. Its end
 * ends no job and no allow; allows in force are good for as long as they were. With FrameworkReplayed, jobs and attempts that the session has not named
 * are over.
 *
 * Hosts are those whose agents have a name, and those that an executor was told on (executors.h), by the
 * name that it was told with; what runs elsewhere is counted and otherwise unknown.
 *
 * Bounds: FRAMEWORKS_MAX applications, of which a user and a key have their shares, EXECUTORS_MAX executors of each and their
 * shares of all (executors.h), FRAMEWORK_NAMED_MAX jobs and attempts in one replay,
 * WIRE_WINDOW unanswered snapshots; beyond, the session is refused or ends. Strangers are refused
 * FRAMEWORK_REFUSALS times a second.
 *
 * Pure but for the hooks; one thread. A message: O(log n) and what it says, plus O(FRAMEWORKS_MAX).
 * A session's begin: O(attempts), its replay's end O(n log n) of what is the application's. A
 * heartbeat: O(FRAMEWORK_ORDER) for the order of jobs. */
#pragma once

#include "controller/engine/engine.h"
#include "controller/timers.h"
#include "lib/wire.h"

#define FRAMEWORKS_MAX      64
#define FRAMEWORK_NAMED_MAX 131072
#define FRAMEWORK_ORDER     1024 /* jobs in turn that are looked at; the others come after them */
#define FRAMEWORK_VALID_MS  2000
#define FRAMEWORK_REFUSALS  100
#define FRAMEWORK_BURST_NS  INT64_C(2000000000)
#define FRAMEWORK_KEPT      64

struct frameworks_config {
    uint32_t epoch;
    int64_t heartbeat_ns, silent_ns, lost_ns, forget_ns; /* heartbeat: below FRAMEWORK_VALID_MS */
    int64_t executor_slots_max;                          /* more are cut to it; 0: no bound */
    uint64_t all_executors_max, all_slots_max;           /* of all applications; 0: no bound */
    int64_t
        time_permille; /* of the loop's time that the applications of one user and key may take; 0: no bound */
};

struct frameworks_hooks {
    /* As agents_hooks'. What an event points to stays good until the next message. */
    int (*send)(void *user, uint64_t peer, const duopoly_Envelope *envelope);
    void (*cut)(void *user, uint64_t peer);
    void (*event)(void *user, const struct event *event);
    /* The index of the host with this name; ENGINE_NONE: there is none. */
    uint32_t (*host)(void *user, const char *name);
    /* Its name; "" where it has none. Borrowed until the next call. */
    const char *(*host_name)(void *user, uint32_t host);
    /* The host of one more executor, by the agents' names, then by their addresses (16 bytes; NULL: not
     * known), else one that is there from now on; ENGINE_NONE: there may be no more. And: one fewer. */
    uint32_t (*claim)(void *user, const char *name, const uint8_t *address);
    void (*release)(void *user, int64_t now_ns, uint32_t host);
    /* For this host's agent. */
    void (*guests)(void *user, uint32_t host, const duopoly_GuestAllows *said);
    void *user;
};

struct frameworks;

/* `engine` is borrowed; only looked at. 0 or −ENOMEM. */
int frameworks_create(const struct frameworks_config *config, const struct frameworks_hooks *hooks,
                      const struct engine *engine, struct timers *timers,
                      struct frameworks **ret_frameworks);
/* NULL is fine. */
void frameworks_destroy(struct frameworks *frameworks);

/* Whether frameworks send this kind of message, or a later version's framework may (0). */
bool frameworks_take(pb_size_t kind);

/* A message on connection `peer`; `identity` as agents_message has it. The facts that it brought are
 * to be stepped before it returns to its sender. */
void frameworks_message(struct frameworks *frameworks, int64_t now_ns, uint64_t peer,
                        const char *identity, const duopoly_Envelope *envelope);
/* Taking that peer's last message, with all that followed, took so much of the loop's time. Who takes more
 * than its share for longer than FRAMEWORK_BURST_NS has its session ended, with a sentence, and may come
 * again once it has made up for half of that: meanwhile its applications go on without us. */
void frameworks_spent(struct frameworks *frameworks, int64_t now_ns, uint64_t peer,
                      int64_t spent_ns);
/* Whether this connection has a session. */
bool frameworks_knows(const struct frameworks *frameworks, uint64_t peer);
/* The connection is no more. */
void frameworks_gone(struct frameworks *frameworks, uint64_t peer);

/* Takes DECISION_ALLOW, ALLOW_END, OPEN, and LEVEL of a framework's attempt; false: another's. */
bool frameworks_decision(struct frameworks *frameworks, int64_t now_ns,
                         const struct decision *decision);
/* The engine has taken the facts: sends what it decided, and acknowledges. */
void frameworks_settle(struct frameworks *frameworks, int64_t now_ns);

/* What was claimed as host `from` has turned out to be `to`. O(executors). */
void frameworks_host_is(struct frameworks *frameworks, uint32_t from, uint32_t to);

/* Whose driver the application of this name is, while it has a session; −1: there is none, or nobody
 * says. */
int64_t frameworks_user(const struct frameworks *frameworks, const char *name);
/* Whether the application of this name starts only what is allowed; why not, and which of its transfers
 * bear no mark, where it says so (borrowed until the next message). False: it has no session. */
bool frameworks_gate(const struct frameworks *frameworks, const char *name, bool *ret_holds,
                     const char **ret_text);

/* What the framework calls a task and, unless 0, this attempt of it: "stage 12.0 (map at x.scala:3), partition
 * 7, task 345". False: its job is no framework's, or it named no such stage. */
bool frameworks_words(const struct frameworks *frameworks, uint64_t job, uint32_t stage,
                      uint32_t task, uint64_t attempt, char *ret_text, size_t size);

/* The same of a stage: "stage 12.0 (map at x.scala:3)". */
bool frameworks_stage_words(const struct frameworks *frameworks, uint64_t job, uint32_t stage,
                            char *ret_text, size_t size);

struct frameworks_counters {
    uint64_t sessions, replaced, ended, forgotten;
    uint64_t snapshots;
    uint64_t refused;       /* messages, answered or not */
    uint64_t slow;          /* sessions ended because of the time that they took */
    uint64_t over;          /* facts beyond the share of their application */
    uint64_t unknown_hosts; /* words on hosts that have no agent and no executor */
};
const struct frameworks_counters *frameworks_counters(const struct frameworks *frameworks);
