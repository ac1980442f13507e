/* Clauses that explanations of tasks, jobs, hosts and the mode have in common: a policy's sentence
 * with its numbers, what holds a stage, how a user stands. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* Its name; "?": none is known. */
const char *said_host(const struct host *host);
/* "slots 4, mem_bytes 1000": amounts of the demanded resources. */
void say_resources(const struct resources *demand, const struct resources *amounts, char *text,
                   size_t size);
/* Adds a policy's sentence (policy_reason.sentence). `host` may be NULL where it has none. */
void say_sentence(const struct engine *engine, struct engine_explanation *e, const char *sentence,
                  const struct host *host, int64_t left, int64_t right);
/* "Held back: …": the rule that holds the task now, with its present numbers. */
void say_hold(const struct engine *engine, struct engine_explanation *e, const struct task *task);
/* How a user stands, where somebody divides. */
void say_user(const struct engine *engine, struct engine_explanation *e, const struct user *user);
