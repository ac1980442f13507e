/* The end of an attempt or of a job, looked up once for all listeners (listeners.h): which it was,
 * where, its task, how it ended, and the sentence.
 *
 * The engine forgets an attempt when it takes its end, so the fact is made before that. A job's
 * fact is made when the engine has decided that it is over, while its tasks' endings are still
 * kept.
 *
 * An agent's words are a peer's text: they are bounded, and every byte that is not printable ASCII
 * becomes '?' here, before anybody keeps, logs or prints them. Pure. */
#pragma once

#include "controller/frameworks/frameworks.h"
#include "controller/history.h"

/* An attempt is over. */
struct fact {
    const struct event *event;   /* its event; for a lost host HOST_LOST or HOST_JOIN */
    struct attempt_view attempt; /* as the engine knows it, or else as it was reported */
    struct task_view task;       /* if task_known */
    bool task_known, job_known, job_lives;
    bool suspect; /* it was lost with its host, as an earlier attempt of its task was: this counts
                   * as a failure */
    struct ending ending;
    char words[HISTORY_WORDS]; /* the ending's */
};

/* Where facts are looked up; borrowed. */
struct fact_sources {
    const struct engine *engine;
    const struct frameworks *frameworks; /* NULL: none */
    int64_t now_ns;
    /* The event just before, stepped together with this one (an attempt may be reported as seen and
     * as ended at once); NULL: none. */
    const struct event *before;
    const char *words; /* the last words of the attempt; "" without */
};

/* Calls `tell` for each attempt that ends with this event, which the engine has not taken yet:
 * none, one, or all of a lost host. The fact is borrowed for the call. O(attempts that end). */
void facts_of(const struct fact_sources *sources, const struct event *event,
              void (*tell)(void *user, const struct fact *fact), void *user);

/* A job is over. */
struct job_fact {
    struct job_ending ending;
    struct job_view job;
    struct job_split split; /* its stages are borrowed until the engine's next step; split.job 0:
                             * not known */
    int64_t submitted_ns, finished_ns, slot_wait_ns; /* slot_wait: 0 unless the job is done */
};

/* Of DECISION_JOB_DONE or DECISION_JOB_FAILED; `asker` requested its cancellation. */
void job_fact_of(const struct history *history, const struct engine *engine,
                 const struct decision *decision, const char *asker, struct job_fact *ret_fact);

/* "active", "done", "failed: WHY", "cancelled by WHOM". */
void fact_say_state(const struct history *history, const struct job_view *job, char *text,
                    size_t size);

/* Copies at most size − 1 bytes of a peer's text; what is not printable ASCII becomes '?'. */
void fact_words(const char *peers_words, char *ret_words, size_t size);
