/* Fills refusals, with a reason for programs and a sentence for people; and acceptances. */
#pragma once

#include "controller/conductor.h"

/* Fills a Refused. */
__attribute__((format(printf, 3, 4))) void
refused_answer(duopoly_Envelope *answer, duopoly_Reason reason, const char *format, ...);

/* Fills a Refused for the engine's rejection of a request about `job` (0: none). If the job has
 * ended, it says how. */
void rejection_answer(const struct conductor_parts *parts, const struct decision *rejection,
                      uint64_t job, duopoly_Envelope *answer);

/* Fills a Refused for a job that has ended, saying how, or that is not known any more. */
void absent_job_answer(const struct conductor_parts *parts, uint64_t job, duopoly_Envelope *answer);

/* Maps the engine's reason to those of the wire, which are fewer. */
duopoly_Reason reason_on_wire(enum reason reason);

/* Fills an Accepted. */
__attribute__((format(printf, 2, 3))) void accepted_answer(duopoly_Envelope *answer,
                                                           const char *format, ...);
