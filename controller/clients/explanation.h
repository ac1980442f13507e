/* Explains why a task runs where it runs, why it waits, or how it ended: from the engine while it
 * knows the task, else from the history.
 *
 * For a job that has ended it says what history.h keeps: how this task ended, and why the job did.
 * A number that is no attempt's is a job's: where its time went (explanation_job.h). */
#pragma once

#include "controller/conductor.h"

/* Fills `answer` with an Explanation, or Refused. */
void explanation_answer(const struct conductor_parts *parts, const duopoly_Explain *explain,
                        duopoly_Envelope *answer);
