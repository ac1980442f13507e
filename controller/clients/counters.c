#include "controller/clients/counters.h"

#include "lib/invariant.h"

#include <string.h>

struct row {
    size_t offset; /* of a 64-bit number that is not negative */
    const char *name, *what;
    bool now;
};
#define ROW(s, member, name, what)                                                                 \
    {                                                                                              \
        offsetof(struct s, member), name, what, false                                              \
    }
#define NOW(s, member, name, what)                                                                 \
    {                                                                                              \
        offsetof(struct s, member), name, what, true                                               \
    }
#define END                                                                                        \
    {                                                                                              \
        0, NULL, NULL, false                                                                       \
    }

static const struct row engine_rows[] = {
    ROW(engine_counters, steps, "engine.steps", "Steps of the engine"),
    ROW(engine_counters, events, "engine.events", "Events that the engine took"),
    ROW(engine_counters, decisions, "engine.decisions", "Decisions of the engine"),
    ROW(engine_counters, starts, "engine.starts", "Attempts that were started"),
    ROW(engine_counters, stops, "engine.stops", "Attempts that were stopped"),
    ROW(engine_counters, level_changes, "engine.level_changes",
        "Changes of a running attempt's levels"),
    ROW(engine_counters, rejects, "engine.rejects", "Requests that the engine rejected"),
    ROW(engine_counters, ignored_facts, "engine.ignored_facts",
        "Facts that the engine ignored: about nothing that it knows, or beyond a bound"),
    ROW(engine_counters, cut_facts, "engine.cut_facts",
        "Facts that the engine cut to what is possible"),
    ROW(engine_counters, mode_switches, "engine.mode_switches", "Changes of the mode"),
    ROW(engine_counters, holds, "engine.holds", "Stages that began to wait for a better slot"),
    ROW(engine_counters, holds_expired, "engine.holds_expired",
        "Such waits that ended by hold_max"),
    ROW(engine_counters, held_slot_ns, "engine.held_slot_ns",
        "Free slots times the time for which a stage was held"),
    ROW(engine_counters, starved_ns, "engine.starved_ns", "Time in the slot-starved mode"),
    ROW(engine_counters, jobs_done, "engine.jobs_done", "Jobs that are done"),
    ROW(engine_counters, jobs_failed, "engine.jobs_failed", "Jobs that failed"),
    ROW(engine_counters, stalls, "engine.stalls", "Sources that sent an attempt nothing for long"),
    ROW(engine_counters, suspicions, "engine.suspicions", "Times that a host became suspect"),
    ROW(engine_counters, sources_replaced, "engine.sources_replaced",
        "Attempts that run again because of their source"),
    ROW(engine_counters, allows, "engine.allows", "Tasks that a framework was allowed to start"),
    ROW(engine_counters, allows_used, "engine.allows_used", "Such tasks that it started"),
    ROW(engine_counters, allows_unused, "engine.allows_unused",
        "Such tasks that it did not start in time"),
    ROW(engine_counters, granted_unasked, "engine.granted_unasked",
        "Tasks that a framework started without being allowed to"),
    ROW(engine_counters, opens, "engine.opens", "Stages that frameworks opened"),
    ROW(engine_counters, binds, "engine.binds", "Tasks that were bound to executors"),
    ROW(engine_counters, visits, "engine.visits", "Objects that the engine looked at"),
    END,
};

static const struct row session_rows[] = {
    ROW(agents_counters, sessions, "sessions.begun", "Sessions with agents that began"),
    ROW(agents_counters, replaced, "sessions.replaced", "Sessions that a newer one replaced"),
    ROW(agents_counters, ended, "sessions.ended", "Sessions that ended for a fault"),
    ROW(agents_counters, slow, "sessions.slow", "Sessions that ended with too much unanswered"),
    ROW(agents_counters, unanswered_strangers, "messages.unanswered_strangers",
        "Messages without a session that were too many to be answered"),
    ROW(agents_counters, duplicates, "messages.duplicates", "Messages that came twice"),
    ROW(agents_counters, gaps, "messages.gaps", "Messages before which others were lost"),
    ROW(agents_counters, old_epochs, "messages.old_epochs", "Messages of an older epoch"),
    ROW(agents_counters, nonsense, "messages.nonsense", "Messages whose numbers cannot be"),
    ROW(agents_counters, malformed, "messages.malformed", "Messages that cannot be decoded"),
    ROW(agents_counters, ignored_kinds, "messages.ignored_kinds",
        "Messages of kinds that this version does not know"),
    ROW(agents_counters, starts_asked, "starts.asked", "Starts without an answer that were asked"),
    ROW(agents_counters, starts_lost, "starts.lost", "Starts that were never answered"),
    ROW(agents_counters, levels_rounds, "levels.rounds", "Rounds of changed levels"),
    ROW(agents_counters, levels_told, "levels.told", "Changed levels that were sent"),
    ROW(agents_counters, levels_merged, "levels.merged",
        "Changed levels that changed again before they were sent"),
    ROW(agents_counters, levels_late, "levels.late", "Hosts that were late to apply levels"),
    ROW(agents_counters, forgotten, "hosts.forgotten", "Names of hosts that were forgotten"),
    ROW(agents_counters, sources_unknown, "sources.unknown",
        "Reports on sources whose address is no host's"),
    ROW(agents_counters, loads_cut, "loads.cut",
        "Reported numbers of load that were cut to what is possible"),
    ROW(agents_counters, spent_ns, "agents.spent_ns",
        "Processor time of the controller that agents are charged for"),
    ROW(agents_counters, times_over, "agents.over_time",
        "Sessions with agents that ended for the time that they took"),
    END,
};

static const struct row framework_rows[] = {
    ROW(frameworks_counters, sessions, "frameworks.sessions", "Sessions with applications"),
    ROW(frameworks_counters, replaced, "frameworks.replaced",
        "Sessions with applications that a newer one replaced"),
    ROW(frameworks_counters, ended, "frameworks.ended",
        "Sessions with applications that ended for a fault"),
    ROW(frameworks_counters, forgotten, "frameworks.forgotten",
        "Applications that were forgotten, with their jobs"),
    ROW(frameworks_counters, snapshots, "frameworks.snapshots", "Snapshots of applications"),
    ROW(frameworks_counters, refused, "frameworks.refused", "Messages that were refused"),
    ROW(frameworks_counters, unknown_hosts, "frameworks.unknown_hosts",
        "Messages about hosts without agent and executor"),
    ROW(frameworks_counters, over, "frameworks.over_share", "Facts beyond an application's share"),
    ROW(frameworks_counters, waited, "frameworks.waited",
        "Messages that waited until tasks of a large stage were made"),
    ROW(frameworks_counters, slow, "frameworks.over_time",
        "Sessions that ended for the time that they took"),
    ROW(frameworks_counters, spent_ns, "frameworks.spent_ns",
        "Processor time of the controller that applications are charged for"),
    END,
};

static const struct row turn_rows[] = {
    ROW(cost_turns, turns, "loop.turns", "Turns of the controller's loop"),
    ROW(cost_turns, slow, "loop.slow", "Turns that took the processor for over 5 ms"),
    ROW(cost_turns, returns, "loop.memory_returns", "Times that freed memory was returned"),
    END,
};

static const struct row message_rows[] = {
    ROW(wire_zmq_counters, received, "agents.received", "Messages over TCP that came"),
    ROW(wire_zmq_counters, sent, "agents.sent", "Messages over TCP that were sent"),
    ROW(wire_zmq_counters, unreachable, "agents.unreachable",
        "Messages that could not be sent: the peer is gone, or does not read"),
    END,
};

static const struct row connection_rows[] = {
    NOW(wire_zmq_door_counters, connections, "agents.connections", "Connections over TCP"),
    ROW(wire_zmq_door_counters, idle, "agents.idle", "Connections that ended silent"),
    ROW(wire_zmq_door_counters, refused, "agents.refused", "Connections that were too many"),
    ROW(wire_zmq_door_counters, pauses, "agents.pauses",
        "Times that no more connections were taken"),
    ROW(wire_zmq_door_counters, floods, "agents.floods", "Connections that sent too much"),
    ROW(wire_zmq_door_counters, endless, "agents.endless", "Connections whose message did not end"),
    ROW(wire_zmq_door_counters, shut_out, "agents.shut_out",
        "Connections from an address that had just sent too much"),
    ROW(wire_zmq_door_counters, cut, "agents.cut", "Connections whose right to it ended"),
    ROW(wire_zmq_door_counters, hasty, "agents.hasty",
        "Connections that came too fast from their address"),
    ROW(wire_zmq_door_counters, crowded, "agents.crowded",
        "Connections that were too many of their key"),
    END,
};

static const struct row key_rows[] = {
    ROW(agents_zmq_refusals, unknown_keys, "keys.unknown",
        "Connections with a key that is not known, or has ended"),
    ROW(agents_zmq_refusals, unasked, "keys.not_shown",
        "Connections without a key, or for another controller"),
    ROW(agents_zmq_refusals, forbidden, "keys.forbidden",
        "Messages that the key's role does not allow"),
    END,
};

static const struct row client_rows[] = {
    ROW(wire_unix_counters, received, "clients.received", "Requests on the Unix socket"),
    ROW(wire_unix_counters, sent, "clients.sent", "Answers on the Unix socket"),
    ROW(wire_unix_counters, malformed, "clients.malformed", "Requests that cannot be decoded"),
    ROW(wire_unix_counters, refused_clients, "clients.refused",
        "Clients without a right to the socket, or too many"),
    ROW(wire_unix_counters, slow_clients, "clients.slow", "Clients that did not read"),
    ROW(wire_unix_counters, idle_clients, "clients.idle", "Clients that asked nothing for long"),
    ROW(wire_unix_counters, pauses, "clients.pauses",
        "Times without a descriptor for the next client"),
    END,
};

static const struct row share_rows[] = {
    ROW(loop_shares, spent_ns, "clients.spent_ns",
        "Processor time of the controller that clients are charged for"),
    ROW(loop_shares, put_off, "clients.put_off",
        "Requests that waited since their user or key was over its share of the time"),
    END,
};

static const struct row owner_rows[] = {
    ROW(loop_owner, account.spent_ns, "spent_ns",
        "Processor time of the controller that it is charged for"),
    ROW(loop_owner, put_off, "put_off", "Requests that waited since it was over its share"),
    END,
};

static const struct row store_rows[] = {
    ROW(store_writer_counters, commits, "store.commits", "Commits of the store"),
    ROW(store_writer_counters, bytes, "store.bytes", "Bytes of rows that were committed"),
    ROW(store_writer_counters, failures, "store.failures", "Commits that the disk refused"),
    ROW(store_writer_counters, pruned, "store.pruned", "Rows that were removed for their age"),
    END,
};

static const struct row recording_rows[] = {
    ROW(recording_counters, bytes, "recording.bytes", "Bytes of the recording"),
    ROW(recording_counters, steps, "recording.steps", "Steps in the recording"),
    ROW(recording_counters, files, "recording.files", "Files of the recording that were begun"),
    ROW(recording_counters, idle, "recording.idle", "Steps left out in which nothing happened"),
    ROW(recording_counters, dropped, "recording.dropped",
        "Steps that the disk was too slow to record"),
    END,
};

static const struct row agent_rows[] = {
    ROW(_duopoly_AgentCounters, unmarked_bytes, "unmarked_bytes", "Bytes sent without a level"),
    ROW(_duopoly_AgentCounters, followed_flows, "followed_flows",
        "Connections whose level follows the one that arrives"),
    ROW(_duopoly_AgentCounters, evictions, "evictions",
        "Connections that the kernel's table dropped for newer ones"),
    ROW(_duopoly_AgentCounters, refused_messages, "refused_messages",
        "Messages of the controller that the agent refused"),
    ROW(_duopoly_AgentCounters, ignored_messages, "ignored_messages",
        "Messages of the controller of kinds that the agent does not know"),
    ROW(_duopoly_AgentCounters, dropped_reports, "dropped_reports",
        "Reports that the agent dropped: the controller was too slow"),
    ROW(_duopoly_AgentCounters, shared_connections, "shared_connections",
        "Connections with levels of several tasks"),
    ROW(_duopoly_AgentCounters, lease_expiries, "lease_expiries",
        "Times that marks lapsed without the controller"),
    ROW(_duopoly_AgentCounters, nudged_connections, "nudged_connections",
        "Connections that were woken after a promotion"),
    ROW(_duopoly_AgentCounters, nudge_acknowledgements, "nudge_acknowledgements",
        "Packets that woke them"),
    ROW(_duopoly_AgentCounters, nudge_unreachables, "nudge_unreachables",
        "Connections whose other end could not be reached to wake them"),
    ROW(_duopoly_AgentCounters, nudge_left_out, "nudge_left_out",
        "Connections that were too many to wake at once"),
    ROW(_duopoly_AgentCounters, nudge_failures, "nudge_failures",
        "Times that connections could not be woken"),
    END,
};

struct telling {
    counter_told *told;
    void *user;
};

static void rows_tell(const struct telling *telling, const struct row *rows, const void *of)
{
    for (; rows->name; rows++) {
        struct counter counter = {.name = rows->name, .what = rows->what, .now = rows->now};
        memcpy(&counter.value, (const char *)of + rows->offset, sizeof(counter.value));
        telling->told(telling->user, &counter);
    }
}

static void one_tell(const struct telling *telling, const char *name, const char *what, bool now,
                     uint64_t value)
{
    const struct counter counter = {.name = name, .what = what, .now = now, .value = value};
    telling->told(telling->user, &counter);
}

static void refused_tell(const struct telling *telling, const char *whose, const uint64_t *by_kind)
{
    for (pb_size_t kind = 0; kind < WIRE_KINDS; kind++) {
        const struct counter counter = {
            .name = "refused",
            .label = "kind",
            .part = by_kind[kind] ? wire_kind_name(kind) : "",
            .whose = whose,
            .what = "Messages that were refused, by kind",
            .rare = true,
            .value = by_kind[kind],
        };
        telling->told(telling->user, &counter);
    }
}

static void parts_tell(const struct telling *telling, struct counter *counter,
                       const uint64_t *values, pb_size_t n)
{
    static const char *const parts[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    assert(n <= sizeof(parts) / sizeof(parts[0]));
    for (pb_size_t i = 0; i < n; i++) {
        counter->part = parts[i];
        counter->value = values[i];
        telling->told(telling->user, counter);
    }
}

static void peers_tell(const struct telling *telling, const struct listing_sources *sources)
{
    const struct agents_counters *agents = agents_counters(sources->parts->agents);
    const struct wire_zmq_counters *messages = agents_zmq_counters(sources->door);
    const struct agents_zmq_refusals *refusals = agents_zmq_refusals(sources->door);
    rows_tell(telling, session_rows, agents);
    refused_tell(telling, "agents", agents->refused);
    rows_tell(telling, framework_rows, frameworks_counters(sources->parts->frameworks));
    rows_tell(telling, message_rows, messages);
    rows_tell(telling, connection_rows, agents_zmq_connections(sources->door));
    rows_tell(telling, key_rows, refusals);
    one_tell(telling, "keys.late", "Messages of keys that had ended when they came", false,
             refusals->late + messages->nameless);
    refused_tell(telling, "clients", sources->refused_requests);
    rows_tell(telling, client_rows, sources->clients);
    rows_tell(telling, share_rows, sources->shares);
}

void counters_of_controller(const struct listing_sources *sources, counter_told *told, void *user)
{
    const struct telling telling = {told, user};
    const struct conductor_parts *parts = sources->parts;
    struct engine_counters engine;
    struct store_writer_counters store;
    struct recording_counters recording;
    engine_counters(parts->engine, &engine);
    rows_tell(&telling, engine_rows, &engine);
    one_tell(&telling, "engine.counted_bytes", "Bytes that jobs are counted for", true,
             engine_counted_bytes(parts->engine));
    rows_tell(&telling, turn_rows, &parts->turns);
    one_tell(&telling, "loop.longest_us", "Processor time of the longest turn", true,
             (uint64_t)parts->turns.longest_ns / 1000);
    peers_tell(&telling, sources);
    store_counters(parts->store, &store);
    rows_tell(&telling, store_rows, &store);
    if (!parts->recording)
        return;
    recording_counters(parts->recording, &recording);
    rows_tell(&telling, recording_rows, &recording);
}

static void guests_tell(const struct telling *telling, const struct agent_guests *guests)
{
    uint64_t tasks = 0, unknown = 0, shared_bytes = 0;
    for (uint32_t i = 0; i < guests->n; i++) {
        tasks += guests->rows[i].tasks;
        unknown += guests->rows[i].tasks_unknown;
        shared_bytes += guests->rows[i].shared_bytes;
    }
    one_tell(telling, "guests.refused", "Applications of guests that were refused", true,
             guests->refused);
    one_tell(telling, "guests.left_out", "Guests that were too many to be reported", true,
             guests->left_out);
    one_tell(telling, "guests.tasks", "Tasks that guests' executors reported", true, tasks);
    one_tell(telling, "guests.tasks_unknown", "Of these, tasks that the controller does not know",
             true, unknown);
    one_tell(telling, "guests.shared_bytes", "Bytes of guests that share a cgroup", true,
             shared_bytes);
}

void counters_of_owner(const struct loop_owner *owner, counter_told *told, void *user)
{
    rows_tell(&(struct telling){told, user}, owner_rows, owner);
}

void counters_of_agent(const struct agent_view *agent, counter_told *told, void *user)
{
    const struct telling telling = {told, user};
    const duopoly_AgentCounters *c = agent->counters;
    const struct agent_guests *guests = agent->guests;
    struct counter marked = {
        .name = "marked_bytes", .label = "level", .what = "Bytes sent with a mark, by level"};
    struct counter drops = {.name = "queue_drops",
                            .label = "queue",
                            .what = "Packets that the queues of its ports dropped: 0 of control, "
                                    "1 to 8 of the levels, 9 of the rest"};
    parts_tell(&telling, &marked, c->marked_bytes, c->marked_bytes_count);
    rows_tell(&telling, agent_rows, c);
    one_tell(&telling, "spent_ns", "Processor time of the controller that it is charged for", false,
             agent->spent_ns);
    parts_tell(&telling, &drops, c->queue_drops, c->queue_drops_count);
    if (agent->state != AGENT_LOST && (guests->n || guests->refused || guests->left_out))
        guests_tell(&telling, guests);
}
