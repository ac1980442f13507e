/* A job that arrives in parts from one client: wire parts become the engine's requests, one by one.
 *
 * Parts come in the order begin, stages, tasks and bytes, end; each is answered once, by
 * SubmitCredit or Refused. When one is refused what came of the job is cancelled, and the client
 * may begin another. A job that is there already (same name, same content) takes all its parts
 * without looking and ends with that job's number.
 *
 * Replicas speak of hosts in the natural order of their names; they are folded onto the hosts that
 * are known now. What stays in memory between parts is this structure; parts are in the engine as
 * soon as they are answered. */
#pragma once

#include "controller/conductor.h"

struct submission {
    bool open;
    bool known; /* the job is there already: `job` is its number */
    uint64_t job;
    uint32_t parts; /* taken so far */
};

/* Takes one part and fills `answer` (SubmitCredit, Accepted or Refused). */
void submission_part(struct submission *submission, struct conductor *conductor,
                     const duopoly_Envelope *part, duopoly_Envelope *answer);

/* The client is gone: cancels what came of a job that has not ended. */
void submission_drop(struct submission *submission, struct conductor *conductor);

/* Fills a Refused for the engine's rejection of a request. */
void rejection_answer(const struct decision *rejection, duopoly_Envelope *answer);
/* Fills a Refused. */
__attribute__((format(printf, 3, 4))) void
refused_answer(duopoly_Envelope *answer, duopoly_Reason reason, const char *format, ...);
