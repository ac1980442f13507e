/* Orders about a submitted job as a whole: its priority, hold, release, requeue. Priority and hold
 * are kept in the store until the job ends. */
#pragma once

#include "controller/conductor.h"

/* Fills `answer`, Accepted or Refused, and `what` for the log. `asker`: its name, for people, kept
 * with a hold. O(the job's ready tasks and attempts · log n). */
void order_job_answer(struct conductor *conductor, const duopoly_OrderJob *order, const char *asker,
                      char *what, size_t size, duopoly_Envelope *answer);
