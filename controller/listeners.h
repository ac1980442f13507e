/* Who is told what has become of attempts and jobs, and of each step: one const table of functions each, at the
 * end of its file, and one array in the order in which they are told:
 *
 *   recording, ledger (the store's rows), history, orphans, log, clients
 *
 * so what is to last is with the store, and what people ask for is known, before a line of the log or a client
 * tells of it. They decide nothing and tell the engine nothing. */
#pragma once

#include "controller/fact.h"

/* What the engine was told and what it decided. */
struct step {
    int64_t now_ns;
    const struct event *events;
    size_t n;
    const struct decisions *decisions;
};

/* What is NULL is of no interest. `user` is the listener's own. */
struct listener {
    /* Before the engine takes it. */
    void (*attempt_over)(void *user, const struct fact *fact);
    /* Likewise, each event; after the attempts that are over with it. */
    void (*event)(void *user, const struct event *event);
    /* After the step; nothing that it decided has gone out. */
    void (*stepped)(void *user, const struct step *step);
    /* What is kept of the job's attempts is still kept. */
    void (*job_over)(void *user, const struct job_fact *fact);
};

enum {
    LISTENER_RECORDING,
    LISTENER_LEDGER,
    LISTENER_HISTORY,
    LISTENER_ORPHANS,
    LISTENER_LOG,
    LISTENER_CLIENTS,
    LISTENERS
};

/* Who is told last of all. */
struct clients {
    void (*job_over)(void *user, const struct job_fact *fact);
    /* More of what was handed to the store is on the disk, or it cannot be written, or again. */
    void (*stored)(void *user);
    void *user;
};

/* The listeners' users; NULL: it is not there. */
struct audience {
    void *users[LISTENERS];
};

/* Each tells all that listen, in their order. This one before the engine takes the event: what is over with it,
 * then itself. */
void audience_event(struct audience *audience, const struct fact_sources *sources,
                    const struct event *event);
void audience_stepped(const struct audience *audience, const struct step *step);
void audience_job_over(const struct audience *audience, const struct job_fact *fact);
