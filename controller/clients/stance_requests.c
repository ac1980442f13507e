#include "controller/clients/stance_requests.h"

#include "controller/clients/absent_host.h"
#include "controller/clients/refusal.h"
#include "controller/stances_kept.h"

#include <errno.h>
#include <stdio.h>

#define TRIAL_MOST_S 3600

static int trial_set(const struct conductor_parts *parts, const duopoly_SetStance *set)
{
    const int64_t now_ns = clock_now_ns(parts->clock);
    if (!*set->host || *set->rack || set->confirm_s > TRIAL_MOST_S)
        return -EINVAL;
    return parts->judging
               ? agents_may_try_stance(parts->agents, now_ns, set->host)
               : agents_try_stance(parts->agents, now_ns, set->host, set->stance, set->confirm_s);
}

/* For this time only, unless it is set again without a time. */
static void trial_answer(const struct conductor_parts *parts, const duopoly_SetStance *set,
                         duopoly_Envelope *answer)
{
    int r = trial_set(parts, set);
    if (r == -EINVAL)
        refused_answer(answer, duopoly_Reason_REASON_MALFORMED,
                       "what has to be confirmed within %d s at most is of one host or switch",
                       TRIAL_MOST_S);
    else if (r == -ENOENT)
        absent_host_answer(parts->agents, ABSENT_EITHER, set->host, answer);
    else if (r == -EBUSY)
        refused_answer(answer, duopoly_Reason_REASON_STATE,
                       "%s waits for a confirmation already: confirm, or restore, first",
                       set->host);
    else if (r < 0)
        refused_answer(answer, duopoly_Reason_REASON_STATE, "%s has no session now", set->host);
    else
        accepted_answer(answer, "%s goes back by itself after %u s without confirmation", set->host,
                        set->confirm_s);
}

static int lasting_set(const struct conductor_parts *parts, const duopoly_SetStance *set,
                       const char *name)
{
    enum stance_scope scope = *set->host   ? STANCE_OF_HOST
                              : *set->rack ? STANCE_OF_RACK
                                           : STANCE_OF_ALL;
    if (*set->host && *set->rack)
        return -EINVAL;
    return parts->judging ? stances_kept_may_set(parts->agents, scope, name, set->stance)
                          : stances_kept_set(parts->store, parts->agents, scope, name, set->stance);
}

static void lasting_answer(const struct conductor_parts *parts, const duopoly_SetStance *set,
                           const char *whose, duopoly_Envelope *answer)
{
    static const char *const words[] = {"unsaid", "observe", "mark", "enforce"};
    const char *name = *set->host ? set->host : set->rack;
    int r = lasting_set(parts, set, name);
    if (r == -ENOENT && *set->host)
        absent_host_answer(parts->agents, ABSENT_EITHER, name, answer);
    else if (r == -ENOENT)
        refused_answer(answer, duopoly_Reason_REASON_UNKNOWN, "there is no %s %s", whose, name);
    else if (r == -E2BIG)
        refused_answer(answer, duopoly_Reason_REASON_LIMIT,
                       "%d hosts and racks have a stance of their own already: set --all first",
                       STANCE_RULES);
    else if (r < 0)
        refused_answer(answer, duopoly_Reason_REASON_MALFORMED,
                       "a stance is observe, mark or enforce, of all, one host or one rack");
    else if (parts->judging)
        accepted_answer(answer, "%s %s: %s", whose, name, words[set->stance]);
    else
        accepted_answer(answer, "%s %s: %s, %d told", whose, name, words[set->stance], r);
}

void stance_set_answer(const struct conductor_parts *parts, const duopoly_SetStance *set,
                       char *what, size_t size, duopoly_Envelope *answer)
{
    const char *whose = *set->host ? "host" : *set->rack ? "rack" : "all";
    if (set->confirm_s) {
        snprintf(what, size, "stance host %s, to be confirmed within %u s", set->host,
                 set->confirm_s);
        trial_answer(parts, set, answer);
        return;
    }
    snprintf(what, size, "stance %s %s", whose, *set->host ? set->host : set->rack);
    lasting_answer(parts, set, whose, answer);
}
