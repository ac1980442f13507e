/* Devices of units: which of them an attempt has, and what becomes of it when one is gone. */
#include "hostagent/tasks/cgroup.h"
#include "hostagent/tasks/tasks_attempt.h"
#include "lib/log.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

const char *tasks_unit_closed(const struct tasks *tasks, uint32_t unit)
{
    uint32_t closed = unit < tasks->slots.units_n ? tasks->slots.devices[unit] : 0;
    closed &= tasks->devices.closed;
    return closed ? tasks->devices.why[__builtin_ctz(closed)] : NULL;
}

/* Its parent dies with it, so what has become of it is written here, before a new agent could
 * look. */
void attempt_lose(struct agent_attempt *attempt, const char *why)
{
    struct tasks *tasks = attempt->tasks;
    uint64_t id = attempt->start.attempt;
    if (attempt_ended(attempt) || attempt->host_fault)
        return;
    attempt->host_fault = true;
    attempt->status.exit_status = -SIGKILL;
    snprintf(attempt->status.last_line, sizeof(attempt->status.last_line), "%s", why);
    log_warning(LOG_FAULT_CONFIGURATION, "attempt %016" PRIx64 " of job %" PRIu64 " %s: %s", id,
                attempt->start.job, attempt->begun ? "is ended" : "is not begun", why);
    if (!attempt->begun) {
        attempt_refuse(attempt, attempt->status.last_line);
        return;
    }
    attempt_store_set_stopped(&tasks->store, id, ATTEMPT_STOPPED_BY_HOST);
    cgroup_kill(tasks->cgroup, id);
}

/* The first device of those that is gone, by its reason; NULL: none is. */
static const char *gone_of(const struct tasks *tasks, uint32_t devices)
{
    devices &= tasks->devices.gone;
    return devices ? tasks->devices.why[__builtin_ctz(devices)] : NULL;
}

/* Why it cannot go on, or begin; NULL: it can. */
static const char *why_lost(const struct agent_attempt *attempt)
{
    const struct tasks *tasks = attempt->tasks;
    const char *gone = gone_of(tasks, attempt->holds_slot ? attempt->devices : 0);
    return gone || attempt->begun ? gone : tasks_unit_closed(tasks, attempt->start.unit);
}

/* WHY by numbers: one that is dropped lets others begin, or be refused, anywhere in the table. */
void tasks_set_devices(struct tasks *tasks, const struct devices_state *state)
{
    struct agent_attempt key = {0}, *attempt;
    tasks->devices = *state;
    while ((attempt = RB_NFIND(attempt_tree, &tasks->attempts, &key))) {
        const char *why = attempt_ended(attempt) ? NULL : why_lost(attempt);
        key.start.attempt = attempt->start.attempt + 1;
        if (why)
            attempt_lose(attempt, why);
        if (key.start.attempt == 0)
            break;
    }
}

void attempt_place(const struct agent_attempt *attempt, struct attempt_place *ret_place)
{
    const struct tasks_config *config = &attempt->tasks->config;
    *ret_place = (struct attempt_place){0};
    snprintf(ret_place->unit, sizeof(ret_place->unit), "%s",
             config->unit_names[attempt->start.unit]);
    for (uint32_t d = 0; d < config->devices_n; d++)
        if (attempt->devices >> d & 1)
            ret_place->devices[ret_place->devices_n++] = config->devices[d];
}

static uint32_t unit_named(const struct tasks_config *config, const char *name)
{
    uint32_t unit = 0;
    while (unit < config->units_n && strcmp(config->unit_names[unit], name) != 0)
        unit++;
    return unit;
}

static uint32_t find_device(const struct tasks_config *config, const struct device *device)
{
    for (uint32_t d = 0; d < config->devices_n; d++)
        if (strcmp(config->devices[d].name, device->name) == 0 &&
            strcmp(config->devices[d].at, device->at) == 0)
            return d;
    return DEVICES_MAX;
}

void attempt_find_place(struct agent_attempt *attempt, const struct attempt_place *place,
                        const struct device **ret_missing)
{
    const struct tasks_config *config = &attempt->tasks->config;
    *ret_missing = NULL;
    if (*place->unit)
        attempt->start.unit = unit_named(config, place->unit);
    for (uint32_t i = 0; i < place->devices_n; i++) {
        uint32_t d = find_device(config, &place->devices[i]);
        if (d < DEVICES_MAX)
            attempt->devices |= 1u << d;
        else
            *ret_missing = &place->devices[i];
    }
}
