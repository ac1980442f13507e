/* Learns from tasks that are done (learnt.h): what the engine knows of the attempt and what its
 * agent counted of it. And says for people what was learnt of a job's stages. */
#pragma once

#include "controller/engine/engine.h"
#include "controller/learnt.h"
#include "schemas/duopoly.pb.h"

/* An attempt is done, before the engine has taken that. False: nothing is learnt from it, as where
 * its stage has no history, or its begin was not seen. O(log n). */
bool learning_see(struct learnt *learnt, const struct engine *engine, int64_t now_ns,
                  const duopoly_AttemptState *state, uint64_t *ret_history, uint32_t *ret_variant);

/* Whether the attempt read more, or faster, than the profile of its stage says, by over an eighth:
 * then the event that corrects it. O(log n). */
bool learning_corrects(const struct engine *engine, const duopoly_AttemptState *state,
                       struct event *ret_event);

/* Clauses without a full stop; "" where nothing is known. O(stages). */
void learning_say(const struct learnt *learnt, const struct engine *engine, uint64_t job,
                  char *text, size_t size);
