/* How attempts and jobs ended, for later questions: how an attempt ended, where, and its last
 * words; why a job ended.
 *
 * The engine forgets an attempt when it ends and a job's tasks when the job ends, and no decision
 * depends on a sentence. So the sentences are kept here, outside the engine; neither its dump nor
 * its recording has them. After a restart those that the store keeps are restored
 * (store/recovery.h).
 *
 * Kept for each job: why it ended, the first HISTORY_DONE attempts that were done, and the newest
 * HISTORY_OTHERS that ended otherwise; of all jobs together the newest HISTORY_ENDINGS; where the
 * time of each ended job went, and that of its stages (HISTORY_STAGES, of those that ended last);
 * for each host, which attempt failed last there. A job is kept from its first ending until
 * `finished_max` others have ended after it (as long as the engine keeps it). What does not fit is
 * dropped silently, also when out of memory: later questions are answered "not kept".
 *
 * Pure: no clock, socket or log. Calls are O(1) expected, history_task and history_others O(endings
 * of the job). */
#pragma once

#include "controller/engine/engine.h"

#define HISTORY_DONE    1024
#define HISTORY_OTHERS  64
#define HISTORY_ENDINGS 131072
#define HISTORY_STAGES  131072
#define HISTORY_WORDS   512 /* bytes of a sentence with its end */

enum ending_kind { ENDING_DONE, ENDING_FAILED, ENDING_REFUSED, ENDING_KILLED, ENDING_LOST };

/* Times and bytes of a task's accepted attempt. */
struct spent {
    bool known;      /* observed from its start to its end */
    int64_t wait_ns; /* from ready to started */
    int64_t
        receive_ns; /* from started to all of its input; 0: it read nothing, or did not report it */
    int64_t compute_ns;             /* the rest */
    uint64_t bytes, received_bytes; /* network input, as expected and as received */
    bool stored; /* from the store: only wait_ns, and in compute_ns all since it started */
};

struct ending {
    uint64_t attempt, job;
    uint32_t stage, task, host;
    uint32_t variant; /* in which way it ran */
    enum ending_kind kind;
    int64_t exit_status;
    int64_t ended_ns;
    struct spent spent; /* ENDING_DONE */
    const char *words;  /* a clause without a full stop, "" for ENDING_DONE */
};

/* Why a job ended; for a done job only the number and the state are set. */
struct job_ending {
    uint64_t job;
    enum job_state state;
    char reason[HISTORY_WORDS]; /* a sentence without a full stop; "" for done */
    char host[ENGINE_NAME_MAX]; /* of the attempt that made it fail; "": none */
    uint64_t attempt;           /* 0: none */
    uint32_t stage, task;
};

struct history;

/* NULL if out of memory. */
struct history *history_create(uint32_t finished_max);
/* NULL is fine. */
void history_destroy(struct history *history);

/* Records the end of an attempt; words are copied. A known one is not changed, unless it was lost
 * and has now been heard of again. For an unknown job that has ended (`live` false) nothing is
 * kept. */
void history_attempt_ended(struct history *history, const struct ending *ending, bool live);
void history_job_ended(struct history *history, const struct job_ending *ending);

/* NULL if nothing is kept. Borrowed until the next call that changes the history. */
const struct ending *history_attempt(const struct history *history, uint64_t attempt);
/* The attempt that was done, else the newest. */
const struct ending *history_task(const struct history *history, uint64_t job, uint32_t stage,
                                  uint32_t task);
/* The newest attempt of a task that was not done, and how many of them are kept; NULL: none. */
const struct ending *history_others(const struct history *history, uint64_t job, uint32_t stage,
                                    uint32_t task, uint32_t *ret_n);
/* The newest attempt of a job that failed or was refused. */
const struct ending *history_failure(const struct history *history, uint64_t job);
/* The last attempt on a host that failed or was refused. */
const struct ending *history_failure_on(const struct history *history, uint32_t host);
/* The first ending of a job with a place larger than `place` (0: the first ending), and its place;
 * in order of time. */
const struct ending *history_after(const struct history *history, uint64_t job, uint64_t place,
                                   uint64_t *ret_place);
/* Sums over the done tasks of a job, of which `ret_tasks` are known; they include tasks whose
 * endings are not kept any more. false: nothing is kept of the job. */
bool history_spent(const struct history *history, uint64_t job, struct spent *ret_sums,
                   uint32_t *ret_tasks);
/* Where the time of a job went (engine_split), which has ended here before (else nothing is kept):
 * copied with its stages. */
void history_job_split(struct history *history, const struct job_split *split);
/* One more stage of it. O(its stages). */
void history_stage_split(struct history *history, uint64_t job, const struct stage_split *stage);
/* NULL: it is not kept. Of long ago the stages are not. Borrowed until the next call that changes
 * the history. */
const struct job_split *history_split(const struct history *history, uint64_t job);
/* NULL also for a job that has not ended. */
const struct job_ending *history_job(const struct history *history, uint64_t job);
