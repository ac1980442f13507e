/* Runs the engine: passes facts and requests to it one by one, at the clock's time, and sends out
 * its decisions at once.
 *
 * It owns the engine, the clock, all timers, the agents' sessions and the recording, and is the
 * only caller of engine_step. Facts are queued while a message is handled and stepped together
 * afterwards (conductor_run). What follows from sending a decision (an agent turns out to be gone)
 * becomes the next step, until nothing more is to decide. Then messages are acknowledged: what an
 * agent or a client is told took effect has taken effect, and what must survive a restart is in the
 * store (store/store.h). Rows are handed over at the end of each step; the acknowledgement of what
 * must last follows when they are on the disk.
 *
 * It starts from the store (store/recovery.h): with all jobs that were accepted and are not over,
 * the numbers of hosts, drains, policies and ends of jobs.
 *
 *   a message  → agents, frameworks (peers.h) → an event
 *              → listeners (listeners.h): attempt_over, event
 *   conductor_run → engine_step → listeners: stepped
 *                 → for each decision: peers, or listeners: job_over
 *                 → the step's rows to the store → peers' messages are acknowledged
 *   the disk → what waited for it is acknowledged, to agents and to clients
 *
 * The engine's deadline is one timer among the others; nothing is polled. One thread. */
#pragma once

#include "controller/charging.h"
#include "controller/clock.h"
#include "controller/configuration.h"
#include "controller/cost.h"
#include "controller/epoch.h"
#include "controller/host_times.h"
#include "controller/learnt.h"
#include "controller/mode_history.h"
#include "controller/notices.h"
#include "controller/orphans.h"
#include "controller/peers.h"
#include "controller/recording/recording.h"
#include "lib/histogram.h"

#include <systemd/sd-event.h>

struct conductor;

struct conductor_hooks {
    struct peers_hooks peers;
    struct clients clients;
    struct configuration *configuration; /* borrowed until close; NULL: settings are for good */
};

/* `epoch` and `store` (opened, not begun) are borrowed until close; `clock_path` NULL: real time
 * (clock.h). */
int conductor_open(sd_event *loop, const struct settings *settings, struct epoch *epoch,
                   struct store *store, const char *clock_path, const struct conductor_hooks *hooks,
                   struct conductor **ret_conductor, struct err *err);
/* NULL is fine. */
void conductor_close(struct conductor *conductor);

/* Its parts, for code that queries them; all borrowed until close. The parts that are not const may
 * be called to change something (a message that came, a stance): call conductor_run or
 * conductor_commit afterwards. */
struct conductor_parts {
    const struct settings *settings;
    struct configuration *configuration; /* NULL: none; for reload.h */
    const struct clock *clock;
    const struct engine *engine;
    const struct history *history;     /* how attempts and jobs ended */
    struct shares *shares;             /* what users had; lists bring it up to the time */
    struct learnt *learnt;             /* what tasks of stages with a history read and take */
    struct notices *notices;           /* what happened of late; commands add theirs */
    const struct recording *recording; /* NULL: nothing is recorded */
    const struct inventory *switches;  /* what agents reported of switches */
    /* Attempts whose jobs are not known here: they ran when their jobs were lost. */
    const struct orphans *orphans;
    struct agents *agents;
    struct frameworks *frameworks;
    struct epoch *epoch;
    struct timers *timers; /* of the conductor's clock; conductor_run afterwards */
    struct store *store;   /* requests put settings (store_set) and audit rows (store_audit) here */
    int64_t started_ns;
    int64_t wall_offset_ns;  /* the wall clock's minus the clock's, as the store's rows have it */
    uint64_t newest_stored;  /* the highest job number in the store at the start */
    uint64_t version;        /* grows with every step: the version of what lists show */
    struct cost_turns turns; /* durations of the loop's turns */
    struct histogram steps;  /* how long the engine took for a step, by the wall clock */
    const struct mode_history *modes; /* how the mode changed, and why */
    const struct host_times *times;   /* since when hosts are as they are */
    bool judging;                     /* conductor_judge_only: nothing may change */
};
const struct conductor_parts *conductor_parts(const struct conductor *conductor);

/* Something changed: steps until nothing follows, sends the decisions and acknowledges. Within a
 * request (conductor_request), what waits for its end waits. */
void conductor_run(struct conductor *conductor);
/* The same, and ends a request: its rows and its steps' go to the store as one change. Returns the
 * ticket of everything handed over so far: the answer to the request waits for it. Call it after a
 * message too. */
uint64_t conductor_commit(struct conductor *conductor);
/* What follows is done for one who is charged for its processor time; works may be nested. */
struct charged_work conductor_begin_work(const struct conductor *conductor);
/* It is done, and committed: how long it took (ns), without what others are charged for (see
 * charging.h). */
int64_t conductor_end_work(struct conductor *conductor, const struct charged_work *work);
/* The same by the wall clock, for what is too small to read the thread's: the caller notes it for
 * somebody, who is charged at the turn's end (clients.charged, agents_charge). */
struct charged_work conductor_watch(const struct conductor *conductor);
int64_t conductor_watched(struct conductor *conductor, const struct charged_work *work);
/* conductor_end_work, and the application of this number (0: nobody) of a framework is charged for
 * it (frameworks_spent). */
void conductor_charge(struct conductor *conductor, const struct charged_work *work,
                      uint64_t application);
/* As conductor_commit where no answer waits for the rows: they are on the disk within a second. */
void conductor_commit_later(struct conductor *conductor);

/* Steps a client's request at once; its `request` number is set here. 0: accepted. −EPERM:
 * rejected, with the engine's reason in *ret_rejection. Do not call it from a hook. */
int conductor_request(struct conductor *conductor, struct event *request,
                      struct decision *ret_rejection);
/* The same of several, in one step: 0: all were accepted. */
int conductor_requests(struct conductor *conductor, struct event *requests, size_t n,
                       struct decision *ret_rejection);
/* Whether what follows, until it is called again, is only judged (engine_judge): requests and
 * conductor_forget_host return what they would return, and nothing changes. Each of several
 * requests is judged by itself. */
void conductor_judge_only(struct conductor *conductor, bool only);
/* As store_set, with a request; 0 and nothing done where it is only judged. */
int conductor_set(struct conductor *conductor, const char *kind, const char *name,
                  const char *value);
/* The job that the next request begins is on trial: it ends before it begins to run, and nothing of
 * it is written to the store. */
void conductor_try_job(struct conductor *conductor);
/* Cancels a job for `asker`, a name for people. As conductor_request. */
int conductor_cancel(struct conductor *conductor, uint64_t job, const char *asker,
                     struct decision *ret_rejection);
/* The owner of the job that the next request begins, as a number that is not 0. */
void conductor_submitter(struct conductor *conductor, uint64_t submitter);
/* As engine_prepare. */
int conductor_prepare(struct conductor *conductor, uint64_t job, uint64_t most);
/* Other values of the live settings (conf_field.live) but those of policies, which are requests. */
void conductor_take_settings(struct conductor *conductor, const struct settings *settings);
/* Forgets a name, with everything known of it. −ENOENT: no such name; −EBUSY: it has a session. */
int conductor_forget_host(struct conductor *conductor, const char *name);
