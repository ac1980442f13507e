#include "controller/clients/listing_counters.h"

#include "controller/clients/listing_place.h"

#include <stdio.h>
#include <string.h>

#define MOST(rows) (sizeof(rows) / sizeof((rows)[0]))

/* A source reports its counters one by one; those before the cursor are skipped, and the first that
 * does not fit ends the page. */
struct telling {
    duopoly_Page *page;
    const char *source;
    uint32_t index,
        first; /* includes those that are 0 and not reported: a counter's place never changes */
    bool full;
    uint32_t stopped; /* full: at this counter */
};

static void tell(struct telling *telling, const char *name, uint64_t value)
{
    duopoly_Page *page = telling->page;
    uint32_t index = telling->index++;
    if (index < telling->first || telling->full)
        return;
    if (page->counters_count == MOST(page->counters)) {
        telling->stopped = index;
        telling->full = true;
        return;
    }
    duopoly_CounterRow *row = &page->counters[page->counters_count++];
    wire_copy(row->source, sizeof(row->source), telling->source);
    wire_copy(row->name, sizeof(row->name), name);
    row->value = value;
}

static void tell_kinds(struct telling *telling, const char *what, const uint64_t *by_kind)
{
    char name[64];
    for (pb_size_t kind = 0; kind < WIRE_KINDS; kind++) {
        if (!by_kind[kind]) {
            telling->index++;
            continue;
        }
        snprintf(name, sizeof(name), "%s.%s", what, wire_kind_name(kind));
        tell(telling, name, by_kind[kind]);
    }
}

static void engine_tell(struct telling *telling, const struct engine *engine)
{
    struct engine_counters c;
    engine_counters(engine, &c);
    tell(telling, "engine.steps", c.steps);
    tell(telling, "engine.events", c.events);
    tell(telling, "engine.decisions", c.decisions);
    tell(telling, "engine.starts", c.starts);
    tell(telling, "engine.stops", c.stops);
    tell(telling, "engine.level_changes", c.level_changes);
    tell(telling, "engine.rejects", c.rejects);
    tell(telling, "engine.ignored_facts", c.ignored_facts);
    tell(telling, "engine.counted_bytes", engine_counted_bytes(engine));
    tell(telling, "engine.mode_switches", c.mode_switches);
    tell(telling, "engine.holds", c.holds);
    tell(telling, "engine.holds_expired", c.holds_expired);
    tell(telling, "engine.held_slot_ns", (uint64_t)c.held_slot_ns);
    tell(telling, "engine.starved_ns", (uint64_t)c.starved_ns);
    tell(telling, "engine.jobs_done", c.jobs_done);
    tell(telling, "engine.jobs_failed", c.jobs_failed);
    tell(telling, "engine.stalls", c.stalls);
    tell(telling, "engine.suspicions", c.suspicions);
    tell(telling, "engine.sources_replaced", c.sources_replaced);
    tell(telling, "engine.allows", c.allows);
    tell(telling, "engine.allows_used", c.allows_used);
    tell(telling, "engine.allows_unused", c.allows_unused);
    tell(telling, "engine.granted_unasked", c.granted_unasked);
    tell(telling, "engine.opens", c.opens);
    tell(telling, "engine.binds", c.binds);
    tell(telling, "engine.visits", c.visits);
}

static void sessions_tell(struct telling *telling, const struct agents_counters *c)
{
    tell(telling, "sessions.begun", c->sessions);
    tell(telling, "sessions.replaced", c->replaced);
    tell(telling, "sessions.ended", c->ended);
    tell(telling, "sessions.slow", c->slow);
    tell(telling, "messages.unanswered_strangers", c->unanswered_strangers);
    tell(telling, "messages.duplicates", c->duplicates);
    tell(telling, "messages.gaps", c->gaps);
    tell(telling, "messages.old_epochs", c->old_epochs);
    tell(telling, "messages.nonsense", c->nonsense);
    tell(telling, "messages.malformed", c->malformed);
    tell(telling, "messages.ignored_kinds", c->ignored_kinds);
    tell(telling, "starts.asked", c->starts_asked);
    tell(telling, "starts.lost", c->starts_lost);
    tell(telling, "levels.rounds", c->levels_rounds);
    tell(telling, "levels.told", c->levels_told);
    tell(telling, "levels.merged", c->levels_merged);
    tell(telling, "levels.late", c->levels_late);
    tell(telling, "hosts.forgotten", c->forgotten);
    tell(telling, "sources.unknown", c->sources_unknown);
    tell_kinds(telling, "refused", c->refused);
}

static void frameworks_tell(struct telling *telling, const struct frameworks_counters *c)
{
    tell(telling, "frameworks.sessions", c->sessions);
    tell(telling, "frameworks.replaced", c->replaced);
    tell(telling, "frameworks.ended", c->ended);
    tell(telling, "frameworks.forgotten", c->forgotten);
    tell(telling, "frameworks.snapshots", c->snapshots);
    tell(telling, "frameworks.refused", c->refused);
    tell(telling, "frameworks.unknown_hosts", c->unknown_hosts);
    tell(telling, "frameworks.over_share", c->over);
    tell(telling, "frameworks.over_time", c->slow);
}

static void turns_tell(struct telling *telling, const struct cost_turns *turns)
{
    tell(telling, "loop.turns", turns->turns);
    tell(telling, "loop.over_5_ms", turns->slow);
    tell(telling, "loop.longest_us", (uint64_t)turns->longest_ns / 1000);
}

static void controller_tell(struct telling *telling, const struct listing_sources *sources)
{
    const struct recording *recording = sources->parts->recording;
    const struct wire_zmq_counters *agents = agents_zmq_counters(sources->door);
    engine_tell(telling, sources->parts->engine);
    sessions_tell(telling, agents_counters(sources->parts->agents));
    frameworks_tell(telling, frameworks_counters(sources->parts->frameworks));
    turns_tell(telling, &sources->parts->turns);
    tell_kinds(telling, "refused", sources->refused_requests);
    tell(telling, "agents.received", agents->received);
    tell(telling, "agents.sent", agents->sent);
    tell(telling, "agents.unreachable", agents->unreachable);
    tell(telling, "agents.connections", agents_zmq_connections(sources->door)->connections);
    tell(telling, "agents.idle", agents_zmq_connections(sources->door)->idle);
    tell(telling, "agents.refused", agents_zmq_connections(sources->door)->refused);
    tell(telling, "agents.pauses", agents_zmq_connections(sources->door)->pauses);
    tell(telling, "agents.floods", agents_zmq_connections(sources->door)->floods);
    tell(telling, "agents.endless", agents_zmq_connections(sources->door)->endless);
    tell(telling, "agents.shut_out", agents_zmq_connections(sources->door)->shut_out);
    tell(telling, "agents.cut", agents_zmq_connections(sources->door)->cut);
    tell(telling, "agents.hasty", agents_zmq_connections(sources->door)->hasty);
    tell(telling, "agents.crowded", agents_zmq_connections(sources->door)->crowded);
    const struct agents_zmq_refusals *refusals = agents_zmq_refusals(sources->door);
    tell(telling, "keys.unknown", refusals->unknown_keys);
    tell(telling, "keys.not_shown", refusals->unasked);
    tell(telling, "keys.late", refusals->late + agents->nameless);
    tell(telling, "keys.forbidden", refusals->forbidden);
    tell(telling, "clients.received", sources->clients->received);
    tell(telling, "clients.sent", sources->clients->sent);
    tell(telling, "clients.malformed", sources->clients->malformed);
    tell(telling, "clients.refused", sources->clients->refused_clients);
    tell(telling, "clients.slow", sources->clients->slow_clients);
    tell(telling, "clients.idle", sources->clients->idle_clients);
    tell(telling, "clients.pauses", sources->clients->pauses);
    struct store_writer_counters store;
    store_counters(sources->parts->store, &store);
    tell(telling, "store.commits", store.commits);
    tell(telling, "store.bytes", store.bytes);
    tell(telling, "store.failures", store.failures);
    tell(telling, "store.pruned", store.pruned);
    if (!recording)
        return;
    struct recording_counters written;
    recording_counters(recording, &written);
    tell(telling, "recording.bytes", written.bytes);
    tell(telling, "recording.steps", written.steps);
    tell(telling, "recording.files", written.files);
    tell(telling, "recording.idle", written.idle);
    tell(telling, "recording.dropped", written.dropped);
}

static void guests_tell(struct telling *telling, const struct agent_guests *guests)
{
    uint64_t tasks = 0, unknown = 0, shared_bytes = 0;
    for (uint32_t i = 0; i < guests->n; i++) {
        tasks += guests->rows[i].tasks;
        unknown += guests->rows[i].tasks_unknown;
        shared_bytes += guests->rows[i].shared_bytes;
    }
    tell(telling, "guests.refused", guests->refused);
    tell(telling, "guests.left_out", guests->left_out);
    tell(telling, "guests.tasks", tasks);
    tell(telling, "guests.tasks_unknown", unknown);
    tell(telling, "guests.shared_bytes", shared_bytes);
}

static void agent_tell(struct telling *telling, const duopoly_AgentCounters *c)
{
    char name[32];
    for (pb_size_t i = 0; i < c->marked_bytes_count; i++) {
        snprintf(name, sizeof(name), "marked_bytes.%u", i);
        tell(telling, name, c->marked_bytes[i]);
    }
    tell(telling, "unmarked_bytes", c->unmarked_bytes);
    tell(telling, "followed_flows", c->followed_flows);
    tell(telling, "evictions", c->evictions);
    tell(telling, "refused_messages", c->refused_messages);
    tell(telling, "ignored_messages", c->ignored_messages);
    tell(telling, "dropped_reports", c->dropped_reports);
    tell(telling, "shared_connections", c->shared_connections);
    tell(telling, "lease_expiries", c->lease_expiries);
    tell(telling, "nudged_connections", c->nudged_connections);
    tell(telling, "nudge_acknowledgements", c->nudge_acknowledgements);
    tell(telling, "nudge_unreachables", c->nudge_unreachables);
    tell(telling, "nudge_left_out", c->nudge_left_out);
    tell(telling, "nudge_failures", c->nudge_failures);
    for (pb_size_t i = 0; i < c->queue_drops_count; i++) {
        snprintf(name, sizeof(name), "queue_drops.%u", i);
        tell(telling, name, c->queue_drops[i]);
    }
}

/* The controller, then agents. */
static bool source_at(const void *list, uint32_t place, uint64_t *ret_identity)
{
    const struct listing_order agents = listing_agents(list);
    *ret_identity = 0;
    return place == 0 || agents.at(agents.list, place - 1, ret_identity);
}

void counters_page(const struct listing_sources *sources, const duopoly_List *list,
                   duopoly_Page *page)
{
    const struct agents *agents = sources->parts->agents;
    const struct listing_order order = {source_at, agents};
    uint32_t first, source = listing_resume(&order, list->cursor, &first);
    struct agent_view agent;
    if (source == 0) {
        struct telling telling = {.page = page, .source = "controller", .first = first};
        controller_tell(&telling, sources);
        if (telling.full) {
            page->cursor = listing_cursor(&order, 0, telling.stopped);
            return;
        }
        source = 1;
        first = 0;
    }
    for (; agents_at(agents, source - 1, &agent) == 0; source++, first = 0) {
        struct telling telling = {.page = page, .source = agent.name, .first = first};
        agent_tell(&telling, agent.counters);
        if (agent.state != AGENT_LOST &&
            (agent.guests->n || agent.guests->refused || agent.guests->left_out))
            guests_tell(&telling, agent.guests);
        if (telling.full) {
            page->cursor = listing_cursor(&order, source, telling.stopped);
            return;
        }
    }
}
