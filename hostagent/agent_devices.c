/* The host's devices: what is found of them becomes what units have, what runs, and what is said.
 */
#include "hostagent/agent_parts.h"
#include "hostagent/uplink/uplink_zmq.h"
#include "lib/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What the configuration does not say of a device's memory, its driver does. */
static void take_memory(const struct agent_settings *settings, struct settings_resolved *resolved,
                        const struct device_watch *devices)
{
    const struct device_look *looks = device_watch_looks(devices);
    for (uint32_t d = 0; d < settings->devices_n; d++)
        if (!settings->devices[d].mem_bytes && looks[d].mem_bytes)
            resolved->devices[d].mem_bytes = looks[d].mem_bytes;
    settings_resolve_units(settings, resolved);
}

/* What a unit or the configuration promises of a device, it has. */
static int check_memory(const struct agent_settings *settings,
                        const struct settings_resolved *resolved,
                        const struct device_watch *devices, struct err *err)
{
    const struct device_look *looks = device_watch_looks(devices);
    for (uint32_t i = 0; i < settings->units_n; i++) {
        const uint32_t mask = resolved->unit_devices[i];
        const uint32_t d = mask ? (uint32_t)__builtin_ctz(mask) : 0;
        if (mask && looks[d].mem_bytes && resolved->units[i].gpu_mem_bytes > looks[d].mem_bytes)
            return err_set(err, EINVAL,
                           "%s:%u:%u: unit %u has %" PRId64
                           " B of gpu_memory, but device %s has %" PRId64 " B (devices, units)",
                           resolved->file, settings->units[i].place.line,
                           settings->units[i].place.column, i, resolved->units[i].gpu_mem_bytes,
                           settings->devices[d].name, looks[d].mem_bytes);
    }
    return 0;
}

static struct device_watch_config config_of(const struct agent_settings *settings,
                                            const struct settings_resolved *resolved)
{
    return (struct device_watch_config){.devices = resolved->devices,
                                        .devices_n = settings->devices_n};
}

int agent_check_devices(const struct agent_settings *settings, struct settings_resolved *resolved,
                        struct err *err)
{
    const struct device_watch_config config = config_of(settings, resolved);
    struct devices_state state;
    struct device_watch *devices;
    int r = device_watch_open(&config, NULL, &devices, err);
    if (r < 0)
        return r;
    take_memory(settings, resolved, devices);
    device_watch_judge(devices, &state);
    r = check_memory(settings, resolved, devices, err);
    if (r == 0 && state.closed)
        r = err_set(err, ENODEV, "%s", state.why[__builtin_ctz(state.closed)]);
    device_watch_close(devices);
    return r;
}

static void say_devices(struct agent_parts *agent, const struct devices_state *before)
{
    const struct devices_state *now = &agent->devices_state;
    agent->devices_words[0] = 0;
    for (uint32_t d = 0; d < agent->settings->devices_n; d++) {
        size_t said = strlen(agent->devices_words);
        bool closed = now->closed >> d & 1, was = before->closed >> d & 1;
        if (closed)
            snprintf(agent->devices_words + said, sizeof(agent->devices_words) - said, "%s%s",
                     said ? "; " : "", now->why[d]);
        if (closed && (!was || strcmp(now->why[d], before->why[d]) != 0))
            log_warning(LOG_FAULT_CONFIGURATION, "%s; its unit takes no attempts", now->why[d]);
        if (!closed && was)
            log_note("device %s is there again", agent->settings->devices[d].name);
    }
}

void agent_fill_units(const struct agent_parts *agent, duopoly_Hello *hello)
{
    const struct settings_resolved *resolved = agent->resolved;
    hello->units_count = (pb_size_t)agent->settings->units_n;
    for (uint32_t i = 0; i < agent->settings->units_n; i++)
        hello->units[i] = resolved->unit_devices[i] & agent->devices_state.closed
                              ? (duopoly_Resources){0}
                              : resolved->units[i];
}

/* "shared gpu0", "whole gpu1 gpu2 (gpu2 is not usable)". */
static void say_unit(const struct agent_parts *agent, uint32_t devices, char *text, size_t size)
{
    const uint32_t closed = devices & agent->devices_state.closed;
    size_t used = (size_t)snprintf(text, size, devices & (devices - 1) ? "whole" : "shared");
    for (uint32_t d = 0; d < agent->settings->devices_n && used < size; d++)
        if (devices >> d & 1)
            used +=
                (size_t)snprintf(text + used, size - used, " %s", agent->settings->devices[d].name);
    if (closed && used < size)
        snprintf(text + used, size - used, " (%s is not usable)",
                 agent->settings->devices[__builtin_ctz(closed)].name);
}

void agent_say_units(const struct agent_parts *agent, duopoly_HostState *state)
{
    for (uint32_t i = 0; i < agent->settings->units_n; i++) {
        const uint32_t devices = agent->resolved->unit_devices[i];
        if (!devices)
            continue;
        state->devices_count = (pb_size_t)agent->settings->units_n;
        say_unit(agent, devices, state->devices[i], sizeof(state->devices[i]));
    }
}

static void on_devices(void *user)
{
    struct agent_parts *agent = user;
    const struct devices_state before = agent->devices_state;
    duopoly_Hello hello = {0};
    take_memory(agent->settings, agent->resolved, agent->devices);
    device_watch_judge(agent->devices, &agent->devices_state);
    say_devices(agent, &before);
    if (agent->tasks)
        tasks_set_devices(agent->tasks, &agent->devices_state);
    agent_fill_units(agent, &hello);
    if (agent->uplink)
        uplink_set_units(agent->uplink, hello.units, hello.units_count);
    agent_say_host(agent);
}

int agent_open_devices(struct agent_parts *agent, struct err *err)
{
    const struct devices_state nothing = {0};
    struct device_watch_config config = config_of(agent->settings, agent->resolved);
    config.on_change = on_devices;
    config.user = agent;
    int r = device_watch_open(&config, agent->event, &agent->devices, err);
    if (r < 0)
        return r;
    take_memory(agent->settings, agent->resolved, agent->devices);
    device_watch_judge(agent->devices, &agent->devices_state);
    say_devices(agent, &nothing);
    return check_memory(agent->settings, agent->resolved, agent->devices, err);
}
