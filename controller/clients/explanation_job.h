/* Explains where a job's time went, until now or until its end (engine_split). */
#pragma once

#include "controller/conductor.h"

/* Fills `answer` with an Explanation; false: there is no such job. O(its stages). */
bool explanation_job(const struct conductor_parts *parts, uint64_t job, duopoly_Envelope *answer);
