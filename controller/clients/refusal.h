/* Why a client does not get what it asked for: a reason for programs, a sentence for people; and that it
 * does. */
#pragma once

#include "controller/conductor.h"

/* Fills a Refused. */
__attribute__((format(printf, 3, 4))) void
refused_answer(duopoly_Envelope *answer, duopoly_Reason reason, const char *format, ...);

/* Fills a Refused for the engine's rejection of a request that was about `job` (0: about none). Of
 * one that has ended it says how. */
void rejection_answer(const struct conductor_parts *parts, const struct decision *rejection,
                      uint64_t job, duopoly_Envelope *answer);

/* Fills a Refused for a job that has ended, with how it did, or that nobody knows any more. */
void absent_job_answer(const struct conductor_parts *parts, uint64_t job, duopoly_Envelope *answer);

/* The engine's reason in the wire's few. */
duopoly_Reason reason_on_wire(enum reason reason);

/* Fills an Accepted. */
__attribute__((format(printf, 2, 3))) void accepted_answer(duopoly_Envelope *answer,
                                                           const char *format, ...);
