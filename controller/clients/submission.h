/* Jobs that arrive in parts from one client: wire parts become the engine's requests, one by one.
 *
 * Parts come in the order begin, stages, tasks and bytes, end; each is answered once, by
 * SubmitCredit or Refused. If one is refused, the job so far is cancelled, and the client may begin
 * another. For a job that exists already (same name, same content) all parts are accepted without a
 * check, and the end returns that job's number and state.
 *
 * Several jobs as one: each ends with SubmitPrepare, which makes the checks of SubmitEnd, and waits
 * in the engine as arriving. SubmitCommit then begins the oldest of them, at most
 * SUBMISSION_COMMIT, all or none; not while a job is open. Jobs that have not begun when the client
 * goes are cancelled. As many may wait as the engine has room for.
 *
 * A dry run takes parts as if they began a job, and is answered like it; but what would begin is
 * dropped, and nothing of it is written. A client does not mix it with a real submission.
 *
 * Replicas refer to hosts in the natural order of their names, folded onto the hosts that are known
 * now. Between parts only this structure is kept; a part is in the engine when it is answered. */
#pragma once

#include "controller/conductor.h"

/* Jobs that one message begins at most, so that a turn of the loop stays short. */
#define SUBMISSION_COMMIT 64
/* Time for that, if the client does not give a number. */
#define SUBMISSION_COMMIT_NS INT64_C(2000000)

struct submission {
    bool open;
    bool known;         /* the job exists already: `job` is its number */
    bool dry_run;       /* of what is open, prepared, or was so last */
    uint64_t submitter; /* the account of what it begins, as a number; its owner sets it */
    uint64_t job;
    char name[64];
    uint32_t last;       /* jobs that began, as of the last answer */
    uint32_t parts;      /* accepted so far */
    uint64_t *prepared;  /* jobs, in order; owned */
    uint32_t begun, end; /* those before `begun` run */
    uint32_t room;
};

/* Takes one part and fills `answer` (SubmitCredit, Accepted or Refused). */
void submission_part(struct submission *submission, struct conductor *conductor,
                     const duopoly_Envelope *part, duopoly_Envelope *answer);

/* Begins prepared jobs (`most` 0: as many as allowed, at least one) and fills `answer` (Accepted or
 * Refused). */
void submission_commit(struct submission *submission, struct conductor *conductor,
                       const duopoly_Envelope *commit, duopoly_Envelope *answer);

/* The last answer cannot be kept and was not sent: cancels the jobs that it began. */
void submission_undo(struct submission *submission, struct conductor *conductor);

/* Does a portion of the work of the open job's end (engine_prepare). True: there is more. */
bool submission_prepare(const struct submission *submission, struct conductor *conductor);

/* The client is gone: cancels one of the jobs that have not begun. True: there are more. */
bool submission_close(struct submission *submission, struct conductor *conductor);
/* Only frees what it owns. */
void submission_free(struct submission *submission);
