#include "controller/host_times.h"

#include <stdlib.h>
#include <string.h>

struct host_time host_time_of(const struct host_times *times, uint32_t host)
{
    return host < times->n ? times->at[host] : (struct host_time){0};
}

void host_times_done(struct host_times *times)
{
    free(times->at);
    times->at = NULL;
    times->n = 0;
}

/* NULL: out of memory, or there is no such host. */
static struct host_time *time_of(struct host_times *times, uint32_t host)
{
    if (host >= times->n) {
        const uint32_t most = engine_configuration(times->engine)->hosts_max;
        const uint32_t n = host < most / 2 ? 2 * host + 16 : most;
        struct host_time *grown = host < most ? reallocarray(times->at, n, sizeof(*grown)) : NULL;
        if (!grown)
            return NULL;
        memset(grown + times->n, 0, (n - times->n) * sizeof(*grown));
        times->at = grown;
        times->n = n;
    }
    return &times->at[host];
}

/* A load that was high stays so until it is below `cleared`. */
static void load_follow(struct load_time *load, int64_t now_ns, uint32_t permille, uint32_t over,
                        uint32_t cleared)
{
    load->told_ns = now_ns;
    if (permille > over && !load->since_ns)
        load->since_ns = now_ns;
    else if (permille < cleared || !permille)
        load->since_ns = 0;
}

static void load_take(struct host_times *times, int64_t now_ns, const struct event *event)
{
    const struct engine_config *config = engine_configuration(times->engine);
    const uint32_t resource = event->host_load.resource, permille = event->host_load.permille;
    struct host_time *host = time_of(times, event->host_load.host);
    if (!host || resource > LOAD_DISK)
        return;
    if (resource == LOAD_DISK)
        load_follow(&host->load[resource], now_ns, permille, 1000, 1001);
    else
        load_follow(&host->load[resource], now_ns, permille, config->congested_permille,
                    config->cleared_permille);
}

/* Of one that goes no load is known. */
static void came(struct host_times *times, int64_t now_ns, uint32_t index, enum event_kind how)
{
    struct host_time *host = time_of(times, index);
    const bool lasts = how == EVENT_HOST_SILENT || how == EVENT_HOST_LOST || how == EVENT_HOST_BACK;
    if (!host || (lasts && host->came == how))
        return;
    host->came = how;
    host->came_ns = now_ns;
    if (how == EVENT_HOST_SILENT || how == EVENT_HOST_LOST)
        memset(host->load, 0, sizeof(host->load));
}

static void drain(struct host_times *times, int64_t now_ns, uint32_t index)
{
    struct host_view view;
    struct host_time *host = time_of(times, index);
    if (!host || engine_host(times->engine, index, &view) < 0)
        return;
    if (!view.draining && host->drained_ns)
        came(times, now_ns, index, EVENT_HOST_DRAIN);
    host->drained_ns = !view.draining ? 0 : host->drained_ns ? host->drained_ns : now_ns;
}

/* Unless that was rejected. */
static void forget(struct host_times *times, uint32_t index)
{
    struct host_view view;
    struct host_time *host = time_of(times, index);
    if (host && engine_host(times->engine, index, &view) == 0 && !view.joined)
        *host = (struct host_time){0};
}

static void take(struct host_times *times, int64_t now_ns, const struct event *event)
{
    switch (event->kind) {
    case EVENT_HOST_JOIN:
        came(times, now_ns, event->host_join.host, event->kind);
        break;
    case EVENT_HOST_SILENT:
    case EVENT_HOST_LOST:
    case EVENT_HOST_BACK:
        came(times, now_ns, event->host.host, event->kind);
        break;
    case EVENT_HOST_DRAIN:
        drain(times, now_ns, event->host_drain.host);
        break;
    case EVENT_HOST_LOAD:
        load_take(times, now_ns, event);
        break;
    case EVENT_HOST_FORGET:
        forget(times, event->host.host);
        break;
    default:
        break;
    }
}

static void on_stepped(void *user, const struct step *step)
{
    struct host_times *times = user;
    struct congestion_view congestion;
    for (size_t i = 0; i < step->n; i++)
        take(times, step->now_ns, &step->events[i]);
    engine_congestion(times->engine, &congestion);
    if (congestion.congested != times->congested)
        times->congested_ns = step->now_ns;
    times->congested = congestion.congested;
}

const struct listener host_times_listener = {.stepped = on_stepped};
