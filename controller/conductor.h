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
 * The engine's deadline is one timer among the others; nothing is polled. One thread. */
#pragma once

#include "controller/agents/agents.h"
#include "controller/cost.h"
#include "controller/engine/engine.h"
#include "controller/epoch.h"
#include "controller/frameworks/frameworks.h"
#include "controller/listeners.h"
#include "controller/orphans.h"
#include "controller/recording/recording.h"
#include "controller/settings.h"
#include "controller/store/store.h"
#include "controller/switch/inventory.h"

#include <systemd/sd-event.h>

struct conductor;

struct conductor_hooks {
    /* As agents_hooks.send. */
    int (*send)(void *user, uint64_t peer, const duopoly_Envelope *envelope);
    void (*cut)(void *user, uint64_t peer);
    /* As agents_hooks.epoch_seen. */
    bool (*epoch_seen)(void *user, const char *name, uint32_t epoch);
    void *send_user, *epoch_user;
    struct clients clients;
    struct agents_where where;
};

/* `epoch` and `store` (opened, not begun) are borrowed until close; `clock_path` NULL: real time
 * (clock.h). */
int conductor_open(sd_event *loop, const struct settings *settings, struct epoch *epoch,
                   struct store *store, const char *clock_path, const struct conductor_hooks *hooks,
                   struct conductor **ret_conductor, struct err *err);
/* NULL is fine. */
void conductor_close(struct conductor *conductor);

/* From an agent's connection; returns when everything that follows from it is done and
 * acknowledged. */
void conductor_message(struct conductor *conductor, uint64_t peer, const char *identity,
                       const duopoly_Envelope *envelope);
void conductor_malformed(struct conductor *conductor, uint64_t peer, const char *why);
void conductor_flood(struct conductor *conductor, uint64_t peer);

/* From a framework's connection, likewise; and the connection is gone. */
void conductor_framework(struct conductor *conductor, uint64_t peer, const char *identity,
                         const duopoly_Envelope *envelope);
void conductor_framework_gone(struct conductor *conductor, uint64_t peer);
const struct frameworks *conductor_frameworks(const struct conductor *conductor);
/* Whether a framework's session is on this connection. */
bool conductor_has_framework(const struct conductor *conductor, uint64_t peer);

/* Who has this connection may not have it any more. */
void conductor_cut(struct conductor *conductor, uint64_t peer);
/* As agents_believe. */
void conductor_believe(struct conductor *conductor, const duopoly_ControllerKeys *keys);

/* A client's request, stepped at once; its `request` number is given here. 0: taken. −EPERM:
 * rejected, with the engine's reason in *ret_rejection. Not to be called from a hook. */
int conductor_request(struct conductor *conductor, struct event *request,
                      struct decision *ret_rejection);
/* As engine_prepare. */
int conductor_prepare(struct conductor *conductor, uint64_t job, uint64_t most);
/* Whose the job is that the next request begins, as some number that is not 0. */
void conductor_submitter(struct conductor *conductor, uint64_t submitter);
/* The next job number, as epoch_job_number. */
int conductor_job_number(struct conductor *conductor, uint64_t *ret_job, struct err *err);
/* Cancels a job for `asker`, whose words say who it is. As conductor_request. */
int conductor_cancel(struct conductor *conductor, uint64_t job, const char *asker,
                     struct decision *ret_rejection);

/* How far agents are to reach. As agents_set_stance; −ENOENT: no such host, or rack, is known. */
int conductor_set_stance(struct conductor *conductor, enum stance_scope scope, const char *name,
                         duopoly_Stance stance);

/* As agents_try_stance. */
int conductor_try_stance(struct conductor *conductor, const char *name, duopoly_Stance stance,
                         uint32_t confirm_s);

/* What agents said of switches. */
const struct inventory *conductor_switches(const struct conductor *conductor);

/* Forgets a name, with all that is known of it. −ENOENT: nobody has it; −EBUSY: it has a session. */
int conductor_forget_host(struct conductor *conductor, const char *name);

/* Where requests put what they set (store_set) and who asked (store_audit). */
struct store *conductor_store(const struct conductor *conductor);
/* Ends a request: what it and its steps put goes to the store as one change. The ticket of all that
 * was handed over so far: what the request is answered waits for it. */
uint64_t conductor_commit(struct conductor *conductor);

int64_t conductor_now_ns(const struct conductor *conductor);
int64_t conductor_started_ns(const struct conductor *conductor);
const struct engine *conductor_engine(const struct conductor *conductor);
const struct agents *conductor_agents(const struct conductor *conductor);
const struct settings *conductor_settings(const struct conductor *conductor);
/* The highest job number that the store had at the start. */
uint64_t conductor_newest_stored(const struct conductor *conductor);
/* What the loop's turns took. */
const struct cost_turns *conductor_turns(const struct conductor *conductor);
uint32_t conductor_epoch(const struct conductor *conductor);
/* The last change of the mode, with the rule and the numbers that it followed from; NULL: none. */
struct mode_change {
    int64_t at_ns, ready, free;
    char rule[16];
};
const struct mode_change *conductor_mode_change(const struct conductor *conductor);
/* What agents had of jobs that are not known here: what ran when these were lost. */
const struct orphans *conductor_orphans(const struct conductor *conductor);
/* NULL: nothing is recorded. */
const struct recording *conductor_recording(const struct conductor *conductor);
/* How attempts and jobs ended. */
const struct history *conductor_history(const struct conductor *conductor);
/* Grows with every step: the version of what lists show. */
uint64_t conductor_version(const struct conductor *conductor);
