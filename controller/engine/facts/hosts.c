#include "controller/engine/facts/hosts.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/resources.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/at_most.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/facts/outcome.h"
#include "controller/engine/watch/congestion.h"
#include "controller/engine/watch/failing.h"
#include "controller/engine/watch/source.h"

#include <stdlib.h>
#include <string.h>

static void name_units(struct engine *engine, struct host *host, const char *names)
{
    size_t size = names && *names ? strlen(names) + 1 : 0;
    free(host->unit_names);
    host->unit_names = NULL;
    if (!size)
        return;
    host->unit_names = engine_allocate(engine, 1, size);
    memcpy(host->unit_names, names, size);
}

static void describe(struct engine *engine, struct host *host, const struct event *event)
{
    name_units(engine, host, event->host_join.unit_names);
    engine_copy_word(host->name, sizeof(host->name), event->host_join.name);
    at_most_recount(engine, host, -1);
    engine_copy_word(host->rack, sizeof(host->rack), event->host_join.rack);
    at_most_recount(engine, host, 1);
    engine_copy_word(host->labels, sizeof(host->labels), event->host_join.labels);
    host->uplink_bps = event->host_join.uplink_bps;
    host->downlink_bps = event->host_join.downlink_bps;
    host->rack_bps = event->host_join.rack_bps;
    host->disk_bytes_s = event->host_join.disk_bytes_s;
    host_follow_words(engine, host);
    host_replace_units(engine, host, &event->host_join.units);
}

/* Attempts and outputs there are gone. */
static void forget_generation(struct engine *engine, struct host *host)
{
    uint32_t before = host->failing.in_a_row;
    host->disk_permille = host->disk_readers = 0;
    host->disk_hangs = false;
    attempts_of_host_lost(engine, host);
    failing_gone(engine, host, host->failing.in_a_row > before);
    source_host_lost(engine, host);
}

/* WHY: a host without units exists by its rooms only (no agent has reported it). When an agent
 * comes, attempts there run on. */
static bool has_units(const struct host *host)
{
    static const struct resources nothing;
    for (uint32_t i = 0; i < host->n_units; i++)
        if (!resources_equal(&host->units[i].total, &nothing))
            return true;
    return false;
}

void cluster_join(struct engine *engine, const struct event *event)
{
    struct host *host = cluster_adopt(engine, event->host_join.host);
    if (!host)
        return;
    if (host->joined && host->generation != event->host_join.generation && has_units(host))
        forget_generation(engine, host);
    host_leave_sums(engine, host);
    engine->joined += !host->joined;
    host->joined = true;
    host->silent = host->lost = false;
    host->generation = event->host_join.generation;
    congestion_follow_hosts(engine);
    describe(engine, host, event);
    host_enter_sums(engine, host);
    host_touch(engine, host);
    tell_cluster_changed(engine);
}

void cluster_change(struct engine *engine, const struct event *event)
{
    struct host *host = cluster_host(engine, event->host_join.host);
    if (!host || !host->joined) {
        cluster_join(engine, event);
        return;
    }
    host_leave_sums(engine, host);
    describe(engine, host, event);
    host_enter_sums(engine, host);
    host_touch(engine, host);
    tell_cluster_changed(engine);
}

void cluster_silent(struct engine *engine, const struct event *event)
{
    struct host *host = cluster_adopt(engine, event->host.host);
    if (!host)
        return;
    host_leave_sums(engine, host);
    host->silent = true;
    host_enter_sums(engine, host);
    congestion_report(engine, host, 0);
    host_touch(engine, host);
    tell_cluster_changed(engine);
}

void cluster_lost(struct engine *engine, const struct event *event)
{
    struct host *host = cluster_adopt(engine, event->host.host);
    if (!host)
        return;
    host_leave_sums(engine, host);
    host->silent = host->lost = true;
    host_enter_sums(engine, host);
    congestion_report(engine, host, 0);
    forget_generation(engine, host);
    host_touch(engine, host);
    tell_cluster_changed(engine);
}

void cluster_forget(struct engine *engine, const struct event *event)
{
    static const uint64_t nothing[ENGINE_RESOURCES];
    struct host *host = cluster_host(engine, event->host.host);
    if (!host || (host->joined && !host->silent)) {
        engine_reject(engine, event, host ? REASON_BAD_STATE : REASON_UNKNOWN_HOST,
                      event->host.host, 0);
        return;
    }
    struct event gone = {.kind = EVENT_HOST_CHANGE};
    gone.host_join.units = (struct u64s){nothing, ENGINE_RESOURCES};
    cluster_lost(engine, event);
    failing_forget(engine, host);
    engine->joined -= host->joined;
    host->joined = host->silent = host->lost = host->draining = false;
    host->generation = 0;
    host->downlink_permille = host->foreign_permille = 0;
    host->downlink_ours = false;
    describe(engine, host, &gone);
    congestion_follow_hosts(engine);
    host_touch(engine, host);
    tell_cluster_changed(engine);
}

void cluster_back(struct engine *engine, const struct event *event)
{
    struct host *host = cluster_adopt(engine, event->host.host);
    if (!host)
        return;
    host_leave_sums(engine, host);
    host->silent = host->lost = false;
    host_enter_sums(engine, host);
    host_touch(engine, host);
    tell_cluster_changed(engine);
}

struct obstacle cluster_drain_obstacle(const struct engine *engine, const struct event *event)
{
    const uint32_t host = event->host_drain.host;
    return cluster_host(engine, host) ? (struct obstacle){REASON_NONE, 0, 0}
                                      : (struct obstacle){REASON_UNKNOWN_HOST, host, 0};
}

void cluster_drain(struct engine *engine, const struct event *event)
{
    struct host *host = cluster_host(engine, event->host_drain.host);
    host_leave_sums(engine, host);
    host->draining = !event->host_drain.undo;
    host_enter_sums(engine, host);
    host_touch(engine, host);
    tell_cluster_changed(engine);
}

static void report_downlink(struct host *host, uint32_t permille)
{
    host->downlink_permille = permille;
    if (!host->downlink_ours || permille < host->foreign_permille)
        host->foreign_permille = permille;
    host->downlink_ours = host->receiving[ORDER_COFLOW].n > 0;
}

static uint32_t cut(struct engine *engine, uint32_t number, uint32_t most)
{
    engine->counters.cut_facts += number > most;
    return number > most ? most : number;
}

static void report_disk(struct engine *engine, struct host *host, const struct event *event)
{
    host->disk_permille = cut(engine, event->host_load.permille, ENGINE_DISK_PERMILLE_MAX);
    host->disk_readers = cut(engine, event->host_load.users, ENGINE_DISK_READERS_MAX);
    bool hangs = event->host_load.hangs != 0, changed = hangs != host->disk_hangs;
    host->disk_hangs = hangs;
    if (changed)
        host_touch(engine, host);
    tell_disk_reported(engine, host);
}

void cluster_load(struct engine *engine, const struct event *event)
{
    struct host *host = cluster_host(engine, event->host_load.host);
    if (!host) {
        engine->counters.ignored_facts++;
        return;
    }
    if (event->host_load.resource == LOAD_UPLINK)
        congestion_report(engine, host, event->host_load.permille);
    else if (event->host_load.resource == LOAD_DOWNLINK)
        report_downlink(host, event->host_load.permille);
    else if (event->host_load.resource == LOAD_DISK)
        report_disk(engine, host, event);
}

void cluster_restore(struct engine *engine, struct host *host, bool silent, bool lost,
                     bool draining, uint32_t uplink_permille)
{
    host_leave_sums(engine, host);
    host->silent = silent;
    host->lost = lost;
    host->draining = draining;
    host_enter_sums(engine, host);
    congestion_report(engine, host, uplink_permille);
}
