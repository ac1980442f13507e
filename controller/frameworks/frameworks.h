/* Applications that place their own tasks (Spark, on YARN), and the session of each: their reports
 * become facts of the engine (framework.h there), and its allows are sent as snapshots.
 *
 * Calls: the conductor passes in messages, which become facts by the hook `event`; when the engine
 * has taken those, it passes each decision (frameworks_decision) and then calls frameworks_settle,
 * which sends and acknowledges. Running work is not kept in the store: a framework reports
 * everything again in each session, and until that is complete, nothing follows from what is
 * missing. The ends of its jobs and the sizes of their stages are stored (store/ledger.h).
 *
 * A name is one application until it is forgotten. It loses what it held in three steps. When its
 * session ends, it gets no more allows, and tasks that run only by its own report (not allowed, and
 * without room of its own executors) are over. `lost` later everything that runs is lost and its
 * executors are gone, as on a lost host. `forget` after the end of the session its jobs are
 * cancelled; sooner if it holds more than 1/FRAMEWORK_KEPT of what all frameworks may hold: with
 * twice as much after half the time. A name belongs to the identity whose HELLO named it first; if
 * an agent relays, to its host's user. The newest HELLO of a name gets the session, and the other
 * is told; a session that is silent for `silent` is over. Its end ends no job and no allow; allows
 * stay in force as long as they would have. With FrameworkReplayed, jobs and attempts that the
 * session has not named are over.
 *
 * Hosts are those with a named agent, and those on which an executor was reported (executors.h), by
 * the reported name; what runs elsewhere is counted and otherwise ignored.
 *
 * A fact about a task that is not made yet, of a stage with many, waits until a few are missing
 * (engine_growth), and so does what its application reports after it: it is acknowledged when it
 * took effect. What waits when the session ends is as if it had not come.
 *
 * Bounds: FRAMEWORKS_MAX applications, of which a user and a key have their shares, EXECUTORS_MAX
 * executors of each and their shares of all (executors.h), FRAMEWORK_NAMED_MAX jobs and attempts in
 * one replay, WIRE_WINDOW unanswered snapshots, and of FRAMEWORK_WAITING bytes that wait as many as
 * are left; beyond, the session is refused or ends. Peers without a session get at most
 * FRAMEWORK_REFUSALS refusals a second.
 *
 * Pure except for the hooks; one thread. A message: O(log n) and its content, plus
 * O(FRAMEWORKS_MAX). What a new session is told, and what ends together (of a session, of a
 * replay, of an application), goes in portions of O(1) looks, one a millisecond, in which the
 * applications have turns. A heartbeat: O(FRAMEWORK_ORDER) for the order of jobs. */
#pragma once

#include "controller/engine/engine.h"
#include "controller/timers.h"
#include "lib/wire.h"

#define FRAMEWORKS_MAX      64
#define FRAMEWORK_NAMED_MAX 131072
#define FRAMEWORK_ORDER     1024 /* jobs in turn that are sorted; the others come after them */
#define FRAMEWORK_VALID_MS  2000
#define FRAMEWORK_REFUSALS  100
#define FRAMEWORK_BURST_NS  INT64_C(2000000000)
#define FRAMEWORK_KEPT      64
#define FRAMEWORK_WAITING   (16 << 20)

struct frameworks_config {
    uint32_t epoch;
    int64_t heartbeat_ns, silent_ns, lost_ns, forget_ns; /* heartbeat: below FRAMEWORK_VALID_MS */
    int64_t executor_slots_max;                          /* more are cut to it; 0: no bound */
    uint64_t all_executors_max, all_slots_max;           /* of all applications; 0: no bound */
    int64_t
        time_permille; /* share of the loop's time for the applications of one user and key; 0: no
                        * bound */
};

struct frameworks_hooks {
    /* As in agents_hooks. An event's pointers stay valid until the next message. */
    int (*send)(void *user, uint64_t peer, const duopoly_Envelope *envelope);
    void (*cut)(void *user, uint64_t peer);
    void (*event)(void *user, const struct event *event);
    /* The index of the host with this name; ENGINE_NONE: there is none. */
    uint32_t (*host)(void *user, const char *name);
    /* Its name; "": none. Borrowed until the next call. */
    const char *(*host_name)(void *user, uint32_t host);
    /* The host of one more executor, by agents' names, then by their addresses (16 bytes; NULL:
     * unknown), else a new one; ENGINE_NONE: there may be no more. And: one fewer. */
    uint32_t (*claim)(void *user, const char *name, const uint8_t *address);
    void (*release)(void *user, int64_t now_ns, uint32_t host);
    /* For this host's agent. */
    void (*guests)(void *user, uint32_t host, const duopoly_GuestAllows *said);
    /* Calls `work` for the application of this number, steps the events that come of it, and says
     * what both took (frameworks_spent). Never called while a message is handled. */
    void (*work)(void *user, uint64_t application, void (*work)(void *of, int64_t now_ns), void *of,
                 int64_t now_ns);
    void *user;
};

struct frameworks;

/* `engine` is borrowed and only read. 0 or −ENOMEM. */
int frameworks_create(const struct frameworks_config *config, const struct frameworks_hooks *hooks,
                      const struct engine *engine, struct timers *timers,
                      struct frameworks **ret_frameworks);
/* NULL is fine. */
void frameworks_destroy(struct frameworks *frameworks);

/* How long an application without a session is remembered, from now on. */
void frameworks_take_forget(struct frameworks *frameworks, int64_t forget_ns);

/* Whether frameworks send this kind of message; a later version's framework may send an unknown
 * kind (0). */
bool frameworks_take(pb_size_t kind);

/* A message on connection `peer`; `identity` as in agents_message. Step its facts before handling
 * the next message. */
void frameworks_message(struct frameworks *frameworks, int64_t now_ns, uint64_t peer,
                        const char *identity, const duopoly_Envelope *envelope);
/* The number of the application that has its session on this connection (EVENT_FRAMEWORK_OWNER); 0:
 * none has. */
uint64_t frameworks_application(const struct frameworks *frameworks, uint64_t peer);
/* This much of the loop's time went into a message of this application and all that followed at
 * once, into what its facts had left to a later step (engine_charges), or into ending what it had.
 * An application whose user and key use more than their share for longer than FRAMEWORK_BURST_NS
 * loses its session, with a sentence, and may return once they have made up for half of that:
 * meanwhile it runs without us. One without a session only has more to make up for. Of any other
 * number nothing happens. */
void frameworks_spent(struct frameworks *frameworks, int64_t now_ns, uint64_t application,
                      int64_t spent_ns);
/* Whether this connection has a session. */
bool frameworks_knows(const struct frameworks *frameworks, uint64_t peer);
/* The connection is closed. */
void frameworks_gone(struct frameworks *frameworks, uint64_t peer);

/* Takes DECISION_ALLOW, ALLOW_END, OPEN, BIND, and LEVEL of a framework's attempt; false:
 * another's. */
bool frameworks_decision(struct frameworks *frameworks, int64_t now_ns,
                         const struct decision *decision);
/* The engine has taken the facts: sends its decisions, and acknowledges. */
void frameworks_settle(struct frameworks *frameworks, int64_t now_ns);

/* The host claimed as `from` has turned out to be `to`. O(executors). */
void frameworks_host_is(struct frameworks *frameworks, uint32_t from, uint32_t to);

/* The user of the driver of the application of this name, while it has a session; −1: none, or
 * unknown. */
int64_t frameworks_user(const struct frameworks *frameworks, const char *name);
/* Whether the application of this name starts only what is allowed; if not, why, and which of its
 * transfers carry no mark, as it reported (borrowed until the next message). False: it has no
 * session. */
bool frameworks_gate(const struct frameworks *frameworks, const char *name, bool *ret_holds,
                     const char **ret_text);

/* The name of the application of this number (EVENT_FRAMEWORK_OWNER); "" if it is not known. */
const char *frameworks_name(const struct frameworks *frameworks, uint64_t application);

/* The framework's names for a task and, unless 0, this attempt of it: "stage 12.0 (map at
 * x.scala:3), partition 7, task 345". False: its job is not a framework's, or it named no such
 * stage. */
bool frameworks_words(const struct frameworks *frameworks, uint64_t job, uint32_t stage,
                      uint32_t task, uint64_t attempt, char *ret_text, size_t size);

/* The same for a stage: "stage 12.0 (map at x.scala:3)". */
bool frameworks_stage_words(const struct frameworks *frameworks, uint64_t job, uint32_t stage,
                            char *ret_text, size_t size);

struct frameworks_counters {
    uint64_t sessions, replaced, ended, forgotten;
    uint64_t snapshots;
    uint64_t refused;       /* messages, answered or not */
    uint64_t slow;          /* sessions ended because of the time that they used */
    uint64_t spent_ns;      /* of the loop's time, by all */
    uint64_t over;          /* facts beyond their application's share */
    uint64_t waited;        /* messages that waited for tasks of a stage to be made */
    uint64_t unknown_hosts; /* messages about hosts without agent and executor */
};
const struct frameworks_counters *frameworks_counters(const struct frameworks *frameworks);
