/* Whether the cluster works as it should, in a few clauses for who is to mend it. */
#pragma once

#include "controller/conductor.h"

/* Fills status->wrong: what keeps hosts from working, and the controller from taking work. Drains,
 * stances and whatever else an operator asked for are not wrong; nor is what is over. O(hosts). */
void verdict_fill(const struct conductor_parts *parts, const struct engine_status *engine,
                  duopoly_Status *status);
