/* Jobs that arrive in parts from one client: wire parts become the engine's requests, one by one.
 *
 * Parts come in the order begin, stages, tasks and bytes, end; each is answered once, by
 * SubmitCredit or Refused. When one is refused what came of that job is cancelled, and the client
 * may begin another. A job that is there already (same name, same content) takes all its parts
 * without looking and ends with that job's number and how it stands.
 *
 * Several jobs as one: each ends with SubmitPrepare, which checks all that SubmitEnd would be
 * refused for, and waits in the engine as arriving. SubmitCommit then begins the oldest of them,
 * all of its at most SUBMISSION_COMMIT or none; not while a job is open. What has not begun
 * when the client goes is cancelled. As many may wait as the engine has room for jobs.
 *
 * Replicas speak of hosts in the natural order of their names; they are folded onto the hosts that
 * are known now. What stays in memory between parts is this structure; parts are in the engine as
 * soon as they are answered. */
#pragma once

#include "controller/conductor.h"

/* Jobs that one message begins at most: a turn of the loop is to be short. */
#define SUBMISSION_COMMIT 64
/* So long, where the client does not say how many. */
#define SUBMISSION_COMMIT_NS INT64_C(2000000)

struct submission {
    bool open;
    bool known;         /* the job is there already: `job` is its number */
    uint64_t submitter; /* who pays for what it begins, as some number; set by its owner */
    uint64_t job;
    char name[64];
    uint32_t last;       /* jobs that the last answer said to have begun */
    uint32_t parts;      /* taken so far */
    uint64_t *prepared;  /* jobs, in order; owned */
    uint32_t begun, end; /* those before `begun` run */
    uint32_t room;
};

/* Takes one part and fills `answer` (SubmitCredit, Accepted or Refused). */
void submission_part(struct submission *submission, struct conductor *conductor,
                     const duopoly_Envelope *part, duopoly_Envelope *answer);

/* Begins prepared jobs (0: as many as may be, at least one) and fills `answer` (Accepted or Refused). */
void submission_commit(struct submission *submission, struct conductor *conductor, uint32_t most,
                       duopoly_Envelope *answer);

/* What the last answer was to say cannot be kept, and was not said: cancels the jobs that it began. */
void submission_undo(struct submission *submission, struct conductor *conductor);

/* Does a portion of what the end of the open job would do at once (engine_prepare). True: there is more. */
bool submission_prepare(const struct submission *submission, struct conductor *conductor);

/* The client is gone: cancels one of the jobs that have not begun. True: there are more. */
bool submission_close(struct submission *submission, struct conductor *conductor);
/* Only frees what it owns. */
void submission_free(struct submission *submission);
