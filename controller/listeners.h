/* Listeners are called at each end of an attempt or job, and for each step. Each is one const table
 * of functions at the end of its file; one array gives the order in which they are called:
 *
 *   recording, ledger (the store's rows), history, orphans, hosts' times, log, notices, clients
 *
 * so the store and the history have it before the log or a client reports it. Listeners decide
 * nothing and do not call the engine. */
#pragma once

#include "controller/fact.h"
#include "controller/loop_shares.h"

/* The engine's input and its decisions. */
struct step {
    int64_t now_ns;
    const struct event *events;
    size_t n;
    const struct decisions *decisions;
};

/* A listener may leave functions NULL. `user` is the listener's own. */
struct listener {
    /* Before the engine takes the event. */
    void (*attempt_over)(void *user, const struct fact *fact);
    /* Likewise, for each event; after the attempts that end with it. */
    void (*event)(void *user, const struct event *event);
    /* After the step, before its decisions are sent. */
    void (*stepped)(void *user, const struct step *step);
    /* The history of the job's attempts is still kept. */
    void (*job_over)(void *user, const struct job_fact *fact);
};

enum {
    LISTENER_RECORDING,
    LISTENER_LEDGER,
    LISTENER_HISTORY,
    LISTENER_ORPHANS,
    LISTENER_HOST_TIMES,
    LISTENER_LOG,
    LISTENER_NOTICES,
    LISTENER_CLIENTS,
    LISTENERS
};

/* Called last of all. */
struct clients {
    void (*job_over)(void *user, const struct job_fact *fact);
    /* The engine took a step. It must not call the engine. */
    void (*stepped)(void *user);
    /* More rows are on the disk, or the disk fails, or works again. */
    void (*stored)(void *user);
    /* The agent of this name answers what it was asked (agents_ask). False: nobody waits for that
     * from it. It must not call the engine. NULL: nobody asks. */
    bool (*asked)(void *user, const char *name, const duopoly_AskedPart *part);
    /* A turn of the loop is over, in which somebody was noted (conductor_watched). NULL: nobody is
     * charged. */
    void (*charged)(void *user, const struct loop_spent *spent);
    void *user;
};

/* The listeners' users; NULL: the listener is absent. */
struct audience {
    void *users[LISTENERS];
};

/* Each calls all listeners, in order. This one before the engine takes the event: first for the
 * attempts that end with it, then for the event. */
void audience_event(struct audience *audience, const struct fact_sources *sources,
                    const struct event *event);
void audience_stepped(const struct audience *audience, const struct step *step);
void audience_job_over(const struct audience *audience, const struct job_fact *fact);
