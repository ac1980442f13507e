/* Users: the tenants that jobs belong to. Private to controller/engine.
 *
 * A user is a number on each job, and where it was told of (EVENT_USER_SET) a name and a share
 * beside it. User 0 is always known: it has what is nobody's in particular. A job of an unknown
 * user counts as user 0's and keeps its number, so that it is that user's once it is told of; where
 * the configuration refuses unknown users (refuse_unknown_users) it is rejected, unless nobody but
 * user 0 is known. Facts of frameworks are never rejected.
 *
 * A user that leaves is known until its last job is over, and its new jobs are rejected; where
 * somebody divides by shares (the question "users") it also pays back first what it owes.
 *
 * What divides is the policies' affair. What outlives a change of policy is kept here: how much of
 * a turn is used, and who owes whom. Where a policy divides, all that a shape orders by turn is
 * kept for each user (struct queues), so that a placement can be asked for one of them.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"
#include "controller/engine/share/debts.h"

/* Makes user 0. −ENOMEM. */
int users_begin(struct engine *engine);
void users_done(struct engine *engine);

/* NULL: it is not known. O(log users). */
struct user *users_find(const struct engine *engine, uint32_t number);
/* The first with a number ≥ `number`; NULL: there is none. O(log users). */
struct user *users_from(const struct engine *engine, uint64_t number);
/* NULL: nobody has this name. O(users). */
struct user *users_named(const struct engine *engine, const char *name);
/* Whether there is a turn (sequence.h) of all shares with this one of user `number`, known or not:
 * 0, or −E2BIG with a sentence that names them. −ENOMEM. O(users). */
int users_fit(const struct engine *engine, uint32_t number, uint32_t share, struct err *err);
/* As engine_users_drift. */
int users_drift(const struct engine *engine, struct users_drift *ret_drift);
/* Whether a job of this user may begin; each may that a dump has. O(log users). */
bool users_admit(const struct engine *engine, uint32_t number);

/* The job is this user's from now on. O(log users). */
void users_join(struct engine *engine, struct job *job, uint32_t number);
/* The job is over. O(log users). */
void users_part(struct engine *engine, struct job *job);

/* The attempt has a task and is made; is about to leave it. O(1). */
void users_hold(const struct engine *engine, const struct attempt *attempt, bool holds);
/* What it had until then, which is not before the engine's time. O(1). */
struct user_use users_use(const struct user *user, int64_t at_ns);

/* A new one, with no job yet: those of its number are its own. O(jobs). */
struct user *users_add(struct engine *engine, uint32_t number);
/* Its share is another one; the part of the present turn that is used follows (sequence.h). */
void users_share(struct engine *engine, struct user *user, uint32_t share);
/* It goes at once if nothing keeps it, else with its last job, or debt. O(users). */
void users_leave(struct engine *engine, struct user *user);
/* Those that leave and are kept by nothing any more go. O(users). */
void users_let_go(struct engine *engine);

/* Whether somebody divides: the placement is asked for one user at a time. */
bool users_divided(const struct engine *engine);
/* The queues of the user's buckets of the shape; where nobody divides, the shape's. O(1). */
struct queues *users_queues(struct engine *engine, struct user *user, struct shape *shape);
/* Those that a placement looks at: of the user that it is asked for, or of everybody. */
struct queues *users_asked(struct engine *engine, struct shape *shape);
/* The user's, where a task of its buckets of the shape is ready; else NULL. */
const struct queues *users_ready(const struct user *user, const struct shape *shape);
/* Whether the bucket has maps ready, and reduce tasks. O(1), and O(log users) for the first and the
 * last reduce task of a user. */
void users_count(struct engine *engine, struct bucket *bucket, bool maps, bool reduces);
/* Something changed of the job by which one of its user's tasks may start that could not. O(1). */
static inline void users_moved(const struct job *job)
{
    if (job->tenant)
        job->tenant->moves++;
}
/* Another policy answers the question: it divides where the one before did not, or the other way
 * round. O(jobs, and the hosts of their ready maps). */
void users_follow_division(struct engine *engine);
/* The shape of this index goes, later ones move up; nothing of it is ready. O(users · shapes). */
void users_drop_shape(struct engine *engine, uint32_t index);
