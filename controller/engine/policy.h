/* Policies: who answers which question, by name and at run time. Private to controller/engine.
 *
 * Each question has one table of policies (policies.c) and one that is in force. Every table of a
 * policy begins with its struct policy, which says what is common to all questions. */
#pragma once

#include "controller/engine/state.h"

struct policy {
    const char *name; /* a word that fits the configuration, unlike all others of the question */
};

/* Names the policies of a default configuration. */
void policy_config_default(struct engine_config *config);
/* Puts those that the configuration names in force; −EINVAL with a sentence that names the choices.
 */
int policy_choose(struct engine *engine, struct err *err);
/* EVENT_POLICY_SET. Running attempts keep the levels that they have; ready queues follow the new
 * policy at once. */
void policy_set(struct engine *engine, const struct event *event);
