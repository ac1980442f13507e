/* EVENT_POLICY_SET. Private to controller/engine. */
#pragma once

#include "controller/engine/base/state.h"

/* EVENT_POLICY_SET. Running attempts keep the levels that they have; ready queues follow the new
 * policy at once, and its state is made from facts. Setting what is in force changes nothing. */
void policy_set(struct engine *engine, const struct event *event);
/* A parameter has a value from now on; of policies that are not in force, too. As policy_set where
 * one in force has it. */
void policy_parameter(struct engine *engine, const struct event *event);
