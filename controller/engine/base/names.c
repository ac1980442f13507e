/* The field's words for enumerations. */
#include "controller/engine/engine.h"

static const char *const reasons[REASONS] = {
    [REASON_NONE] = "none",
    [REASON_LOCAL_BLOCK] = "local-block",
    [REASON_NO_LOCAL_SLOT] = "no-local-slot",
    [REASON_NO_BLOCK] = "no-block",
    [REASON_LINK_UNUSED] = "link-unused",
    [REASON_FIRST_ON_LINK] = "first-on-link",
    [REASON_HOLD_EXPIRED] = "hold-expired",
    [REASON_IDLE_CLUSTER] = "idle-cluster",
    [REASON_GREEDY] = "greedy",
    [REASON_RANDOM] = "random",
    [REASON_ENDS_FIRST] = "ends-first",
    [REASON_CLAIMED] = "claimed",
    [REASON_WOULD_STALL] = "would-stall",
    [REASON_CONGESTED] = "congested",
    [REASON_NOT_FIRST] = "not-first",
    [REASON_FIRST_BLOCKED] = "first-blocked",
    [REASON_FIRST_FITS] = "first-fits",
    [REASON_ALL_BLOCKED] = "all-blocked",
    [REASON_ALL_FIT] = "all-fit",
    [REASON_SIZE] = "size",
    [REASON_RECEIVED] = "received",
    [REASON_ONE_LEVEL] = "one-level",
    [REASON_ADOPTED] = "adopted",
    [REASON_CANCELLED] = "cancelled",
    [REASON_REPLACED] = "replaced",
    [REASON_INPUT_LOST] = "input-lost",
    [REASON_ORPHAN] = "orphan",
    [REASON_JOB_FAILED] = "job-failed",
    [REASON_TOO_MANY_FAILURES] = "too-many-failures",
    [REASON_UNKNOWN_JOB] = "unknown-job",
    [REASON_UNKNOWN_STAGE] = "unknown-stage",
    [REASON_UNKNOWN_TASK] = "unknown-task",
    [REASON_UNKNOWN_HOST] = "unknown-host",
    [REASON_NAME_TAKEN] = "name-taken",
    [REASON_SAME_JOB] = "same-job",
    [REASON_NUMBER_TAKEN] = "number-taken",
    [REASON_BAD_VALUE] = "bad-value",
    [REASON_INCOMPLETE] = "incomplete",
    [REASON_BAD_STATE] = "bad-state",
    [REASON_TABLE_FULL] = "table-full",
    [REASON_UNSUPPORTED] = "unsupported",
    [REASON_NEVER_FITS] = "never-fits",
    [REASON_SOURCE_LOST] = "source-lost",
    [REASON_RANK] = "rank",
    [REASON_ONE_DEEP] = "one-deep",
    [REASON_OWN_RECEIVER] = "own-receiver",
    [REASON_EARLIER_RECEIVER] = "earlier-receiver",
    [REASON_KEPT_SLOT] = "kept-slot",
    [REASON_FAR] = "far",
    [REASON_USED] = "used",
    [REASON_UNUSED] = "unused",
    [REASON_ELSEWHERE] = "elsewhere",
    [REASON_ROOM_GONE] = "room-gone",
    [REASON_NO_BLOCK_THERE] = "no-block-there",
    [REASON_RETRY] = "retry",
    [REASON_PROBE] = "probe",
    [REASON_TOO_MANY_RERUNS] = "too-many-reruns",
    [REASON_TOO_MANY_LOSSES] = "too-many-losses",
};
static const char *const modes[] = {"slot-rich", "slot-starved"};
static const char *const job_states[] = {"arriving", "active", "done", "failed", "cancelled"};
static const char *const task_states[] = {"blocked", "ready", "running", "done"};
static const char *const attempt_states[] = {"sent", "queued", "started", "receiving", "computing",
                                             "done", "failed", "killed",  "lost"};

#define NAME(table, value)                                                                         \
    ((unsigned)(value) < sizeof(table) / sizeof((table)[0]) ? (table)[value] : "?")

const char *reason_name(enum reason reason)
{
    return NAME(reasons, reason);
}

const char *mode_name(enum mode mode)
{
    return NAME(modes, mode);
}

const char *job_state_name(enum job_state state)
{
    return NAME(job_states, state);
}

const char *task_state_name(enum task_state state)
{
    return NAME(task_states, state);
}

const char *attempt_state_name(enum attempt_state state)
{
    return NAME(attempt_states, state);
}
