/* Users: the tenants that jobs belong to. Private to controller/engine.
 *
 * A user is a number on each job, and where it was told of (EVENT_USER_SET) a name and a share
 * beside it. User 0 is always known: it has what is nobody's in particular. A job of an unknown
 * user counts as user 0's and keeps its number, so that it is that user's once it is told of; where
 * the configuration refuses unknown users (refuse_unknown_users) it is rejected, unless nobody but
 * user 0 is known. Facts of frameworks are never rejected.
 *
 * A user that leaves is known until its last job is over, and its new jobs are rejected. What is
 * decided by shares is the policies' affair. */
#pragma once

#include "controller/engine/base/state.h"

/* Makes user 0. −ENOMEM. */
int users_begin(struct engine *engine);
void users_done(struct engine *engine);

/* NULL: it is not known. O(log users). */
struct user *users_find(const struct engine *engine, uint32_t number);
/* The first with a number ≥ `number`; NULL: there is none. O(log users). */
struct user *users_from(const struct engine *engine, uint64_t number);
/* NULL: nobody has this name. O(users). */
struct user *users_named(const struct engine *engine, const char *name);
/* Whether a job of this user may begin; each may that a dump has. O(log users). */
bool users_admit(const struct engine *engine, uint32_t number);

/* The job is this user's from now on. O(log users). */
void users_join(struct engine *engine, struct job *job, uint32_t number);
/* The job is over. O(log users). */
void users_part(struct engine *engine, struct job *job);

/* A new one, with no job yet: those of its number are its own. O(jobs). */
struct user *users_add(struct engine *engine, uint32_t number);
/* It goes at once if it has no job, else with its last one. O(log users). */
void users_leave(struct engine *engine, struct user *user);
