/* What duopolyd's log says of jobs, attempts and what was decided for frameworks: in the words that
 * people know them by, which for a framework's are its own (frameworks.h). One line each. */
#pragma once

#include "controller/engine/engine.h"
#include "controller/frameworks/frameworks.h"
#include "controller/history.h"
#include "controller/store/recovery.h"

/* A job that failed or was cancelled; others end without a line. */
void conductor_log_job(const struct job_ending *ending, const char *name);

/* An attempt that its agent refused, or a framework's that failed, as the history has it. */
void conductor_log_attempt(const struct history *history, uint64_t attempt);

/* What became of frameworks' stages and tasks: one that is left to its framework since it was held for
 * too long, or its allows are not used; to those who want to know more, each allow and how it ended. */
void conductor_log_framework(const struct frameworks *frameworks, const struct engine *engine,
                             const struct decision *decision);

/* One line for what the inventories of one step brought; more of the same jobs are counted only. */
void conductor_log_orphans(uint64_t attempts, uint32_t jobs);

/* What the store had at the start. */
void conductor_log_recovered(const struct recovered *recovered);
