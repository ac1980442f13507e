/* What each owner makes the engine hold, and how much of it each may. Private to controller/engine.
 *
 * Owners: an application of a framework, the user whose driver it is, and the key that it came with
 * (told by EVENT_FRAMEWORK_OWNER); the submitter of a job. Everything that a fact or request makes
 * is counted before it is made, against all owners that it has, and given back when its job is
 * gone. Counted are bytes, by a table of what a thing takes at most, jobs, and shapes. There are
 * two pools, so that neither can fill the other: what is submitted (memory_max, jobs_max,
 * tasks_max) and what frameworks tell (framework_memory_max, framework_jobs_max, half of tasks_max
 * and of shapes_max).
 *
 * Share: an owner may hold as many times what its pool has left as its kind says: an application
 * once, a user twice, a key four times, a submitter eight times. So one application alone gets half
 * of the pool, one submitter alone eight ninths, and something is always left for who has nothing
 * yet, without a bound per owner that would have to be guessed. (Choudhury, Hahne: Dynamic queue
 * length thresholds for shared-memory packet switches, IEEE/ACM ToN 6(2), 1998.)
 *
 * What is over its share: a request is rejected (REASON_TABLE_FULL); a fact is counted and not
 * kept, and its stage is opened (gate.h), so that its framework places it as it would without us.
 *
 * With memory_max = 0 nothing is counted, as in logs of before. WHY amounts of a table and not
 * sizeof: a log is to be decided alike by programs whose structures have grown. O(owners of one
 * thing).
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

enum account_level { ACCOUNT_APPLICATION, ACCOUNT_USER, ACCOUNT_KEY, ACCOUNT_SUBMITTER };

/* Bytes that it takes, with its part of indexes and of what policies keep. A cell: of a matrix, or
 * the sum of a reduce task. */
enum account_bytes {
    ACCOUNT_JOB = 2048,
    ACCOUNT_STAGE = 2048,
    ACCOUNT_EDGE = 256,
    ACCOUNT_TASK = 512,
    ACCOUNT_CELL = 8,
    ACCOUNT_ATTEMPT = 1024,
};

struct account {
    enum account_level level;
    uint64_t id;
    struct account *above[2]; /* of an application: its user and its key; NULL: not told */
    uint64_t bytes, jobs, shapes;
    uint64_t refused; /* facts and requests, for people */
    /* Of applications, users and keys: lapse.h. */
    uint32_t allowed; /* index: allows in force; of a user: of those that are bounded */
    uint32_t limit;   /* so many may be; 0: any number */
    uint32_t spare;   /* that were used, and make up for as many that lapse */
    uint64_t lapsed;  /* for people */
    bool away;        /* its framework has no session */
    uint32_t held;    /* by jobs, accounts and words of its framework; 0: it goes */
    struct sorted_node by_id;
};

/* Events. */
void account_owner(struct engine *engine, const struct event *event);
void account_submitter(struct engine *engine, const struct event *event);

/* The account of a job that is about to be made; NULL: accounts are not kept. False: the job is
 * over its share. account_join counts it, account_leave gives back all that was counted for it. */
struct account *account_of_submitter(struct engine *engine, uint64_t submitter);
struct account *account_of_application(struct engine *engine, uint64_t application);
/* NULL: none is kept of it. O(log n). */
const struct account *account_known(const struct engine *engine, uint64_t application);
struct account *account_loaded(struct engine *engine, uint32_t level, uint64_t id);
bool account_admits_job(struct engine *engine, struct account *account);
void account_join(struct engine *engine, struct job *job, struct account *account);
void account_leave(struct engine *engine, struct job *job);

/* So many bytes more for the job; false: over the share, then nothing is counted. */
bool account_take(struct engine *engine, struct job *job, uint64_t bytes);
/* Whether account_take would. */
bool account_admits(struct engine *engine, const struct job *job, uint64_t bytes);
/* So many bytes more, whether or not they are a share: account_admits was asked before. */
void account_add(struct engine *engine, struct job *job, uint64_t bytes);
/* An attempt that a framework tells of, which may have no job, or outlive it. */
bool account_admits_attempt(struct engine *engine, uint64_t job);
void account_join_attempt(struct engine *engine, struct attempt *attempt);
void account_leave_attempt(struct engine *engine, struct attempt *attempt);

/* Tasks of its pool. */
bool account_admits_tasks(const struct engine *engine, const struct job *job, uint64_t more);
/* A shape counts for whom it was made, also while others use it. False: over the share. */
bool account_take_shape(struct engine *engine, struct shape *shape, struct account *account);
void account_give_shape(struct engine *engine, struct shape *shape);

void account_done(struct engine *engine);
