/* How many allows an account may have in force; lapse.h has the rule. Private to controller/engine.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* Sets the account's limit (0: none). */
void limit_set(struct account *account, uint32_t limit);
/* For an application whose user was reported: it begins with its user's limit, and a new user with
 * its key's. */
void limit_begin(struct account *account);
/* Adds `by` to the job's allows in force. */
void limit_count(const struct job *job, int by);
/* The account has a limit, or may have no allow at all. */
bool limit_binds(const struct account *account);
/* It has as many allows as it may. */
bool limit_is_reached(const struct account *account);
/* The application whose allows limit the stage's shape when it is set apart; 0: none. */
uint64_t limit_of_shape(const struct engine *engine, const struct job *job, bool apart);
/* Its application may have become unbounded: the job's turn is by its policy again. */
void limit_come_back(struct job *job);
/* NULL: the account is a user's. */
struct account *limit_user_of(const struct account *account);
/* Only of an application. */
struct account *limit_key_of(const struct account *account);
