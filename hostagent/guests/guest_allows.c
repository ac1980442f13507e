#include "hostagent/guests/guest_allows.h"

#include <stddef.h>

static struct guest_allow *find(struct guest_allows *allows, uint64_t number)
{
    for (uint32_t i = 0; i < GUEST_ALLOWS; i++)
        if (allows->all[i].allow == number)
            return &allows->all[i];
    return NULL;
}

void guest_allows_add(struct guest_allows *allows, const duopoly_Allow *allow, uint64_t now_ns)
{
    struct guest_allow *place = find(allows, allow->allow);
    if (!place)
        place = &allows->all[allows->next++ % GUEST_ALLOWS];
    *place = (struct guest_allow){.allow = allow->allow,
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

static struct guest_awaited *find_awaited(struct guest_allows *allows, uint32_t attempt)
{
    for (uint32_t i = 0; i < GUEST_ALLOWS; i++)
        if (allows->awaited[i].until_ns && allows->awaited[i].attempt == attempt)
            return &allows->awaited[i];
    return NULL;
}

void guest_allows_await(struct guest_allows *allows, const duopoly_TaskLevels *levels,
                        uint64_t now_ns)
{
    struct guest_awaited *place = find_awaited(allows, levels->attempt);
    if (!place)
        place = &allows->awaited[allows->next_awaited++ % GUEST_ALLOWS];
    *place = (struct guest_awaited){.attempt = levels->attempt,
                                    .coflow = (uint8_t)levels->coflow_level,
                                    .macroflow = (uint8_t)levels->macroflow_level,
                                    .until_ns = now_ns + GUEST_AWAIT_NS};
}

bool guest_allows_awaited(struct guest_allows *allows, uint32_t attempt, uint64_t now_ns,
                          uint8_t *ret_coflow, uint8_t *ret_macroflow)
{
    struct guest_awaited *awaited = find_awaited(allows, attempt);
    if (!awaited)
        return false;
    const bool in_force = awaited->until_ns > now_ns;
    awaited->until_ns = 0;
    if (in_force) {
        *ret_coflow = awaited->coflow;
        *ret_macroflow = awaited->macroflow;
    }
    return in_force;
}
