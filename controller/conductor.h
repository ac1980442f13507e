/* The engine at work: facts and requests go in one by one at the clock's time, and what it decides
 * goes out at once.
 *
 * It owns the engine, the clock, all timers, the agents' sessions and the recording, and is the
 * only one that calls engine_step. Facts are queued while something is handled and stepped together
 * at its end (conductor_run); what sending a decision brings about (an agent that turns out gone)
 * becomes the next step, until nothing more is to decide. Then messages are acknowledged: what an
 * agent or a client is told took effect has taken effect, and what it is to rely on after a restart
 * is in the store (store/store.h): rows are handed over at the end of each step, and the
 * acknowledgement of what is to last follows when they are on the disk.
 *
 * It begins where the store ends (store/recovery.h): with all jobs that were accepted and are not
 * over, the numbers of hosts, drains, policies and ends.
 *
 *   a message  → agents, frameworks (peers.h) → an event → listeners (listeners.h): attempt_over, event
 *   conductor_run → engine_step → listeners: stepped → of each decision: peers, or listeners: job_over
 *                 → the step's rows to the store → peers' messages are acknowledged
 *   the disk → what waited for it is acknowledged, to agents and to clients
 *
 * The engine's deadline is one timer among the others; nothing is polled. One thread. */
#pragma once

#include "controller/clock.h"
#include "controller/cost.h"
#include "controller/epoch.h"
#include "controller/orphans.h"
#include "controller/peers.h"
#include "controller/recording/recording.h"

#include <systemd/sd-event.h>

struct conductor;

struct conductor_hooks {
    struct peers_hooks peers;
    struct clients clients;
};

/* `epoch` and `store` (opened, not begun) are borrowed until close; `clock_path` NULL: real time
 * (clock.h). */
int conductor_open(sd_event *loop, const struct settings *settings, struct epoch *epoch,
                   struct store *store, const char *clock_path, const struct conductor_hooks *hooks,
                   struct conductor **ret_conductor, struct err *err);
/* NULL is fine. */
void conductor_close(struct conductor *conductor);

/* The last change of the mode, with the rule and the numbers that it followed from. */
struct mode_change {
    int64_t at_ns, ready, free;
    char rule[16]; /* "": it has not changed */
};

/* The parts that it works with, for those who ask them; all borrowed until close. What is not const may be
 * called to change something (a message that came, a stance): who does so calls conductor_run or
 * conductor_commit after it. */
struct conductor_parts {
    const struct settings *settings;
    const struct clock *clock;
    const struct engine *engine;
    const struct history *history;     /* how attempts and jobs ended */
    const struct recording *recording; /* NULL: nothing is recorded */
    const struct inventory *switches;  /* what agents said of them */
    /* What agents had of jobs that are not known here: what ran when these were lost. */
    const struct orphans *orphans;
    struct agents *agents;
    struct frameworks *frameworks;
    struct epoch *epoch;
    struct store
        *store; /* where requests put what they set (store_set), and who asked (store_audit) */
    int64_t started_ns;
    uint64_t newest_stored;  /* the highest job number that the store had at the start */
    uint64_t version;        /* grows with every step: of what lists show */
    struct cost_turns turns; /* what the loop's turns took */
    struct mode_change mode_change;
};
const struct conductor_parts *conductor_parts(const struct conductor *conductor);

/* Something was changed: steps what follows from it until nothing does, sends what is decided and acknowledges;
 * within a request (conductor_request), what is to wait for its end waits. */
void conductor_run(struct conductor *conductor);
/* The same, and ends a request: what it and its steps put goes to the store as one change. The ticket of all that
 * was handed over so far: what the request is answered waits for it. After a message too. */
uint64_t conductor_commit(struct conductor *conductor);

/* A client's request, stepped at once; its `request` number is given here. 0: taken. −EPERM:
 * rejected, with the engine's reason in *ret_rejection. Not to be called from a hook. */
int conductor_request(struct conductor *conductor, struct event *request,
                      struct decision *ret_rejection);
/* Cancels a job for `asker`, whose words say who it is. As conductor_request. */
int conductor_cancel(struct conductor *conductor, uint64_t job, const char *asker,
                     struct decision *ret_rejection);
/* Whose the job is that the next request begins, as some number that is not 0. */
void conductor_submitter(struct conductor *conductor, uint64_t submitter);
/* As engine_prepare. */
int conductor_prepare(struct conductor *conductor, uint64_t job, uint64_t most);
/* Forgets a name, with all that is known of it. −ENOENT: nobody has it; −EBUSY: it has a session. */
int conductor_forget_host(struct conductor *conductor, const char *name);
