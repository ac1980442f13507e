/* Whether the cluster works as it should, in a few clauses for who is to mend it. */
#pragma once

#include "controller/conductor.h"

/* Fills status->wrong: what keeps hosts from working, and the controller from taking work. Drains,
 * stances and whatever else an operator asked for are not wrong; nor is what is over.
 *
 * And status->worst_host and worst_why: of the hosts and switches in trouble the one in the worst;
 * without one a host with a link that carries less than half of its rate, by its reports; else the
 * host with the fullest link, if any carries something. O(hosts). */
void verdict_fill(const struct conductor_parts *parts, const struct engine_status *engine,
                  duopoly_Status *status);
