/* What became of attempts and jobs, for people who ask afterwards: how an attempt ended, where, and
 * in which words; why a job ended.
 *
 * The engine forgets an attempt as it ends and a job's tasks as the job ends, and no decision ever
 * depends on a sentence: so the sentences live here, beside the engine, and neither its dump nor
 * its recording carries them. Lost with the controller, as jobs are.
 *
 * Kept, per job: why it ended, the first HISTORY_DONE attempts that were done, and the newest
 * HISTORY_OTHERS that ended otherwise; of all jobs together the newest HISTORY_ENDINGS; per host
 * which one failed last there. A job stays
 * from its first ending until `finished_max` others ended after it (as long as the engine keeps
 * it). What does not fit any more goes without a word; out of memory, too: whoever asks is told
 * that it is not kept.
 *
 * Pure: no clock, socket or log. Calls are O(1) expected, history_task O(endings of the job). */
#pragma once

#include "controller/engine/engine.h"

#define HISTORY_DONE    1024
#define HISTORY_OTHERS  64
#define HISTORY_ENDINGS 131072
#define HISTORY_WORDS   512 /* bytes of a sentence with its end */

enum ending_kind { ENDING_DONE, ENDING_FAILED, ENDING_REFUSED, ENDING_KILLED, ENDING_LOST };

/* What a task's accepted attempt took. */
struct spent {
    bool known;      /* it was seen from its start to its end */
    int64_t wait_ns; /* from ready to started */
    int64_t
        receive_ns; /* from started to all of its input; 0: it read nothing, or did not say when */
    int64_t compute_ns;             /* the rest */
    uint64_t bytes, received_bytes; /* network input, as it was expected and as it came */
};

struct ending {
    uint64_t attempt, job;
    uint32_t stage, task, host;
    enum ending_kind kind;
    int64_t exit_status;
    int64_t ended_ns;
    struct spent spent; /* ENDING_DONE */
    const char *words;  /* a clause without a full stop, "" for ENDING_DONE */
};

/* Why a job ended; for one that is done only the number and the state are set. */
struct job_ending {
    uint64_t job;
    enum job_state state;
    char reason[HISTORY_WORDS]; /* a sentence without a full stop; "" for done */
    char host[ENGINE_NAME_MAX]; /* of the attempt that it failed of; "" none */
    uint64_t attempt;           /* 0: none */
    uint32_t stage, task;
};

struct history;

/* NULL without memory. */
struct history *history_create(uint32_t finished_max);
/* NULL is fine. */
void history_destroy(struct history *history);

/* An attempt ended; words are copied. One that is known already stays as it was, unless it was lost:
 * it has been heard of again. Of a job that is
 * not known (`live` false: it has ended) nothing is begun. */
void history_attempt_ended(struct history *history, const struct ending *ending, bool live);
void history_job_ended(struct history *history, const struct job_ending *ending);

/* NULL where nothing is kept. Borrowed until the next call that changes the history. */
const struct ending *history_attempt(const struct history *history, uint64_t attempt);
/* The one that was done, else the newest. */
const struct ending *history_task(const struct history *history, uint64_t job, uint32_t stage,
                                  uint32_t task);
/* The newest of a job that failed or was refused. */
const struct ending *history_failure(const struct history *history, uint64_t job);
/* The last on a host that failed or was refused. */
const struct ending *history_failure_on(const struct history *history, uint32_t host);
/* The ending of a job with a larger place than `place` (0: the first), and its place; in order of
 * time. */
const struct ending *history_after(const struct history *history, uint64_t job, uint64_t place,
                                   uint64_t *ret_place);
/* Sums over the tasks of a job that were done, of which `ret_tasks` are known; all of them, kept or
 * not. false: nothing is kept of it. */
bool history_spent(const struct history *history, uint64_t job, struct spent *ret_sums,
                   uint32_t *ret_tasks);
/* NULL also for a job that has not ended. */
const struct job_ending *history_job(const struct history *history, uint64_t job);
