/* What has become of an attempt or of a job, looked up once for all who are to be told (listeners.h): who it
 * was, where, what its task is, how it ended and in which words.
 *
 * The engine forgets an attempt as it takes its end, so a fact is made before that, and a job's as the engine
 * has decided that it is over, while its tasks' endings are still kept.
 *
 * What an agent says is a peer's text: it is bounded and every byte that is not printable ASCII becomes '?' here,
 * before anybody keeps, logs or prints it. Pure. */
#pragma once

#include "controller/frameworks/frameworks.h"
#include "controller/history.h"

/* An attempt is over. */
struct fact {
    const struct event *event; /* that it follows from; of a lost host, HOST_LOST or HOST_JOIN */
    struct attempt_view
        attempt;           /* as the engine knows it, or else as it was told to have been seen */
    struct task_view task; /* if task_known */
    bool task_known, job_known, job_lives;
    bool suspect; /* it was lost with its host, as its task was before: this counts as a failure */
    struct ending ending;
    char words[HISTORY_WORDS]; /* the ending's */
};

/* Where facts are looked up; borrowed. */
struct fact_sources {
    const struct engine *engine;
    const struct frameworks *frameworks; /* NULL: none */
    int64_t now_ns;
    /* What comes just before and is stepped with it (an attempt may be told as seen and as ended at
     * once); NULL: nothing. */
    const struct event *before;
    const char *words; /* the last ones of the attempt that it is about; "" without */
};

/* Calls `tell` for each attempt that is over with this event, which the engine has not taken yet: none, one, or
 * all of a host that is lost. The fact is borrowed for the call. O(attempts that are over). */
void facts_of(const struct fact_sources *sources, const struct event *event,
              void (*tell)(void *user, const struct fact *fact), void *user);

/* A job is over. */
struct job_fact {
    struct job_ending ending;
    struct job_view job;
    int64_t submitted_ns, finished_ns, slot_wait_ns; /* slot_wait: of one that is done; else 0 */
};

/* Of DECISION_JOB_DONE or DECISION_JOB_FAILED; `asker` says who asked for its cancellation. */
void job_fact_of(const struct history *history, const struct engine *engine,
                 const struct decision *decision, const char *asker, struct job_fact *ret_fact);

/* "active", "done", "failed: WHY", "cancelled by WHOM". */
void fact_say_state(const struct history *history, const struct job_view *job, char *text,
                    size_t size);

/* Copies at most size − 1 bytes of a peer's text; what is not printable ASCII becomes '?'. */
void fact_words(const char *peers_words, char *ret_words, size_t size);
