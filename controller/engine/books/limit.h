/* How many allows an account may have in force: lapse.h says by what rule. Private to
 * controller/engine.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* The account has another limit (0: none). */
void limit_set(struct account *account, uint32_t limit);
/* Of an application whose user is told: it begins as that may, and a new user as its key. */
void limit_begin(struct account *account);
/* So many allows more of the job are in force. */
void limit_count(const struct job *job, int by);
/* It may have so many in force and no more, or none at all. */
bool limit_binds(const struct account *account);
/* It has as many as it may. */
bool limit_is_reached(const struct account *account);
/* The application that the stage's shape is bounded by, where it is set apart; 0: by none. */
uint64_t limit_of_shape(const struct engine *engine, const struct job *job, bool apart);
/* Its application may be bounded no more: its turn is by its policy again. */
void limit_come_back(struct job *job);
/* NULL: it is one. */
struct account *limit_user_of(const struct account *account);
/* Only of an application. */
struct account *limit_key_of(const struct account *account);
