#include "controller/engine/look/reason.h"

#include "controller/engine/policy/policy.h"
#include "controller/engine/watch/failing.h"

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
    const struct policy_reason *entry = reason_of(failing_reasons, kind, reason);
    for (enum question q = 0; q < QUESTIONS && !entry; q++)
        entry = reason_of(engine->policies[q]->reasons, kind, reason);
    for (enum question q = 0; q < QUESTIONS; q++)
        for (unsigned i = 0; policy_listed(q, i) && !entry; i++)
            entry = reason_of(policy_listed(q, i)->reasons, kind, reason);
    return entry;
}
