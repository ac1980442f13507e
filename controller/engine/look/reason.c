#include "controller/engine/look/reason.h"

#include "controller/engine/policy/policy.h"
#include "controller/engine/watch/failing.h"

#include <errno.h>
#include <string.h>

/* The engine's own reasons. */
static const char *const words[] = {
    [REASON_NONE] = "none",
    [REASON_HOLD_EXPIRED] = "hold-expired",
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
    [REASON_USED] = "used",
    [REASON_UNUSED] = "unused",
    [REASON_ELSEWHERE] = "elsewhere",
    [REASON_ROOM_GONE] = "room-gone",
    [REASON_NO_BLOCK_THERE] = "no-block-there",
    [REASON_RETRY] = "retry",
    [REASON_PROBE] = "probe",
    [REASON_TOO_MANY_RERUNS] = "too-many-reruns",
    [REASON_TOO_MANY_LOSSES] = "too-many-losses",
    [REASON_UNKNOWN_USER] = "unknown-user",
    [REASON_TURN_TOO_LONG] = "turn-too-long",
    [REASON_NOT_KEPT] = "not-kept",
    [REASON_REQUEUED] = "requeued",
};
#define WORDS (sizeof(words) / sizeof(*words))

static const struct policy_reason own_reasons[] = {
    {DECISION_STOP, REASON_REQUEUED, NULL, "attempts of its job that ran", NULL,
     "an operator had the {left} running tasks of its job run again."},
    {0}};

const char *reason_name(enum reason reason)
{
    struct policy_reason_at at = {0};
    if (reason < WORDS && words[reason])
        return words[reason];
    while (policy_next_reason(&at))
        if (at.entry->reason == reason && at.entry->word)
            return at.entry->word;
    return "?";
}

static bool is_word(const char *word, const char *text, size_t length)
{
    return word && strlen(word) == length && memcmp(word, text, length) == 0;
}

int reason_find(const char *word, size_t length, enum reason *ret_reason)
{
    struct policy_reason_at at = {0};
    size_t own = 0;
    while (own < WORDS && !is_word(words[own], word, length))
        own++;
    while (own == WORDS && policy_next_reason(&at) && !is_word(at.entry->word, word, length))
        ;
    if (own == WORDS && !at.entry)
        return -EINVAL;
    *ret_reason = at.entry ? at.entry->reason : (enum reason)own;
    return 0;
}

static const struct policy_reason *reason_of(const struct policy_reason *entry,
                                             enum decision_kind kind, enum reason reason)
{
    while (entry && entry->reason && (entry->kind != kind || entry->reason != reason))
        entry++;
    return entry && entry->reason ? entry : NULL;
}

const struct policy_reason *policy_reason(const struct engine *engine, enum decision_kind kind,
                                          enum reason reason)
{
    struct policy_reason_at at = {0};
    const struct policy_reason *entry = reason_of(failing_reasons, kind, reason);
    entry = entry ? entry : reason_of(own_reasons, kind, reason);
    for (enum question q = 0; q < QUESTIONS && !entry; q++)
        entry = reason_of(engine->policies[q]->reasons, kind, reason);
    while (!entry && policy_next_reason(&at))
        entry = at.entry->kind == kind && at.entry->reason == reason ? at.entry : NULL;
    return entry;
}
