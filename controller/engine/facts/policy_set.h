/* EVENT_POLICY_SET. Private to controller/engine. */
#pragma once

#include "controller/engine/base/ground.h"

/* EVENT_POLICY_SET. Running attempts keep the levels that they have; ready queues follow the new
 * policy at once, and its state is made from facts. Setting the policy in force changes nothing. */
void policy_set(struct engine *engine, const struct event *event);
struct obstacle policy_set_obstacle(const struct engine *engine, const struct event *event);
/* Sets a parameter, also of policies that are not in force; if the one in force has it, as
 * policy_set. */
void policy_parameter(struct engine *engine, const struct event *event);
struct obstacle policy_parameter_obstacle(const struct engine *engine, const struct event *event);
