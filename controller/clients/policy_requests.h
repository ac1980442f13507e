/* Handles requests that set a policy and its parameters, or return to the configured ones, or show
 * them. */
#pragma once

#include "controller/conductor.h"

/* Fills an Accepted or a Refused. */
/* A question's policy by this configuration; NULL: no such question. */
const char *policy_of_config(const struct engine_config *config, const char *question);

void policy_set_answer(struct conductor *conductor, const duopoly_SetPolicy *set,
                       duopoly_Envelope *answer);
/* The policies in force, with their parameters. */
void policies_fill(const struct engine *engine, duopoly_Status *out);
