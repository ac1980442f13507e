/* Accounts: what each owner makes the engine hold, and how much it may. Private to
 * controller/engine.
 *
 * Owners: an application of a framework, the user whose driver it is, and the key that it came with
 * (EVENT_FRAMEWORK_OWNER); the submitter of a job. What a fact or request makes is counted before
 * it is made, against all its owners, until its job is gone. Counted are bytes (a table says how
 * many a thing takes at most), jobs, shapes and ways (of which there are as many as shapes). There
 * are two pools, so that neither can fill the other: what is submitted (memory_max, jobs_max,
 * tasks_max) and what frameworks report (framework_memory_max, framework_jobs_max, half of
 * tasks_max and of shapes_max).
 *
 * Share: an owner may hold a multiple of what its pool has left: an application once, a user twice,
 * a key four times, a submitter eight times. So one application alone gets half of the pool, one
 * submitter alone eight ninths, and a new owner always finds something, without a bound per owner
 * that would have to be guessed. (Choudhury, Hahne: Dynamic queue length thresholds for
 * shared-memory packet switches, IEEE/ACM ToN 6(2), 1998.)
 *
 * Beyond its share a request is rejected (REASON_TABLE_FULL); a fact is counted and not kept, and
 * its stage is opened (gate.h), so that its framework places it as it would without us.
 *
 * With memory_max = 0 nothing is counted, as in older logs. WHY a table and not sizeof: programs
 * whose structures have grown must decide an old log alike. O(owners of one thing).
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

enum account_level { ACCOUNT_APPLICATION, ACCOUNT_USER, ACCOUNT_KEY, ACCOUNT_SUBMITTER };

/* Bytes that a thing takes, with its part of indexes and of policies' state. A cell is one of a
 * matrix, or the sum of a reduce task. */
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
    struct account *above[2]; /* of an application: its user and its key; NULL: not reported */
    uint64_t bytes, jobs, shapes, ways;
    uint64_t refused; /* facts and requests, for people */
    /* Of applications, users and keys: lapse.h. */
    uint32_t allowed; /* index: allows in force; of a user: those of its bounded applications */
    uint32_t limit;   /* the most that may be in force; 0: any number */
    uint32_t spare;   /* used ones, each makes up for one that lapses */
    uint64_t lapsed;  /* for people */
    bool away;        /* its framework has no session */
    uint32_t held;    /* by jobs, accounts and facts of its framework; freed at 0 */
    struct sorted_node by_id;
};

void account_owner(struct engine *engine, const struct event *event);
void account_submitter(struct engine *engine, const struct event *event);

/* The account for a job that is about to be made; NULL: accounts are not kept. account_admits_job
 * is false when the owner is over its share. account_join counts the job, account_leave uncounts it
 * and all that it took. */
struct account *account_of_submitter(struct engine *engine, uint64_t submitter);
struct account *account_of_application(struct engine *engine, uint64_t application);
/* NULL: none is kept for it. O(log n). */
const struct account *account_known(const struct engine *engine, uint64_t application);
struct account *account_loaded(struct engine *engine, uint32_t level, uint64_t id);
/* While a dump is loaded: the account that a thing of it counts for, made where nothing else has
 * made it yet; NULL: there is no such level, or accounts are not kept. */
struct account *account_restore(struct engine *engine, uint32_t level, uint64_t id);
bool account_admits_job(struct engine *engine, struct account *account);
void account_join(struct engine *engine, struct job *job, struct account *account);
void account_leave(struct engine *engine, struct job *job);

/* Counts more bytes for the job; false: over the share, nothing is counted. */
bool account_take(struct engine *engine, struct job *job, uint64_t bytes);
/* Whether account_take would. */
bool account_admits(struct engine *engine, const struct job *job, uint64_t bytes);
/* Counts more bytes without a check: account_admits was asked before. */
void account_add(struct engine *engine, struct job *job, uint64_t bytes);
/* An attempt that a framework reported; it may have no job, or outlive it. */
bool account_admits_attempt(struct engine *engine, uint64_t job);
void account_join_attempt(struct engine *engine, struct attempt *attempt);
void account_leave_attempt(struct engine *engine, struct attempt *attempt);

/* Whether the job's pool has room for more tasks. */
bool account_admits_tasks(const struct engine *engine, const struct job *job, uint64_t more);
/* Counts the shape for the account, as long as it exists, also when other owners' jobs alone use
 * it. False: over the share. */
bool account_take_shape(struct engine *engine, struct shape *shape, struct account *account);
void account_give_shape(struct engine *engine, struct shape *shape);
/* Whether more ways may be made for the account. account_join_ways counts these for it, as long as
 * they exist. */
bool account_admits_ways(struct engine *engine, struct account *account);
void account_join_ways(struct engine *engine, struct ways *ways, struct account *account);
void account_leave_ways(struct engine *engine, struct ways *ways);
/* They count for that account from now on. */
void account_move_ways(struct engine *engine, struct ways *ways, struct account *account);

void account_done(struct engine *engine);
