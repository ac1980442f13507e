#include "hostagent/guests/guest_allows.h"

#include <stddef.h>

void guest_allows_add(struct guest_allows *allows, const duopoly_Allow *allow, uint64_t now_ns)
{
    allows->all[allows->next++ % GUEST_ALLOWS] =
        (struct guest_allow){.allow = allow->allow,
                             .job = allow->job,
                             .stage = allow->stage,
                             .task = allow->task,
                             .coflow = (uint8_t)allow->coflow_level,
                             .macroflow = (uint8_t)allow->macroflow_level,
                             .until_ns = now_ns + allow->until_ms * UINT64_C(1000000)};
}

/* How well it fits: 0 not at all. */
static int fit(const struct guest_allow *allow, const duopoly_GuestTask *task)
{
    if (task->allow && allow->allow == task->allow)
        return 3;
    if (allow->job != task->job || allow->stage != task->stage)
        return 0;
    return allow->task == task->task ? 2 : 1;
}

bool guest_allows_use(struct guest_allows *allows, const duopoly_GuestTask *task, uint64_t now_ns,
                      struct guest_allow *ret_allow)
{
    struct guest_allow *best = NULL;
    int most = 0;
    for (uint32_t i = 0; i < GUEST_ALLOWS; i++) {
        struct guest_allow *allow = &allows->all[i];
        int fits = allow->allow && allow->until_ns > now_ns ? fit(allow, task) : 0;
        if (fits > most) {
            most = fits;
            best = allow;
        }
    }
    if (!best)
        return false;
    *ret_allow = *best;
    best->allow = 0;
    return true;
}
