/* Why a task runs where it runs, why it waits, or what became of it: the engine's explanation while
 * it knows the task, the history's words before and after.
 *
 * Of a job that has ended it tells what history.h keeps: how this task ended and why the job
 * did. */
#pragma once

#include "controller/conductor.h"

/* Fills `answer` with an Explanation, or Refused. */
void explanation_answer(const struct conductor_parts *parts, const duopoly_Explain *explain,
                        duopoly_Envelope *answer);
