/* An agent's identity: its entries in the tables of names, indexes and addresses, and what the
 * engine knows of it. */
#include "controller/agents/agent.h"
#include "controller/resource_bounds.h"
#include "controller/resources_wire.h"

#include "lib/join.h"
#include "lib/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int agents_table_begin(struct agents_table *table, uint32_t hosts_max)
{
    /* Allocated in full at the start, so that the table of agents never fails to grow. */
    table->order = calloc(2 * (size_t)hosts_max, sizeof(table->order[0]));
    table->hosts = calloc(hosts_max, sizeof(table->hosts[0]));
    table->host_order = calloc(hosts_max, sizeof(table->host_order[0]));
    return table->order && table->hosts && table->host_order ? 0 : -ENOMEM;
}

void agents_table_done(struct agents_table *table)
{
    free(table->order);
    free(table->hosts);
    free(table->host_order);
}

void agent_identity_begin(struct agent *agent, const char *name, enum agent_is is)
{
    struct agent_identity *who = &agent->identity;
    wire_copy(who->name, sizeof(who->name), name);
    who->host = ENGINE_NONE;
    who->is_switch = is == AGENT_IS_SWITCH;
    who->unmarked = is == AGENT_IS_NONE;
    who->n_units = is == AGENT_IS_NONE;
}

const struct agent_identity *agent_who(const struct agent *agent)
{
    return &agent->identity;
}

bool agents_room_for(const struct agents *agents, enum agent_is is)
{
    if (is == AGENT_IS_SWITCH)
        return agents->table.n_switches < agents->config.hosts_max;
    return agent_index_left(agents) &&
           (is == AGENT_IS_HOST || agents->table.n_unmarked < agents->config.hosts_max / 2);
}

/* The place of `name`, present or future, in agents->table.order. */
static uint32_t order_place(const struct agents *agents, const char *name)
{
    uint32_t low = 0, high = agents->table.n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strverscmp(agents->table.order[middle]->identity.name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t host_place(const struct agents *agents, const char *name)
{
    uint32_t low = 0, high = agents->table.n_hosts;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strverscmp(agents->table.hosts[agents->table.host_order[middle]]->identity.name, name) <
            0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void host_order_add(struct agents *agents, const struct agent *agent)
{
    uint32_t place = host_place(agents, agent->identity.name);
    memmove(&agents->table.host_order[place + 1], &agents->table.host_order[place],
            (agents->table.n_hosts - place) * sizeof(agents->table.host_order[0]));
    agents->table.host_order[place] = agent->identity.host;
    agents->table.n_hosts++;
}

static void host_order_remove(struct agents *agents, const struct agent *agent)
{
    uint32_t place = host_place(agents, agent->identity.name);
    memmove(&agents->table.host_order[place], &agents->table.host_order[place + 1],
            (--agents->table.n_hosts - place) * sizeof(agents->table.host_order[0]));
}

void agent_table_insert(struct agents *agents, struct agent *agent, uint32_t host)
{
    uint32_t place = order_place(agents, agent->identity.name);
    memmove(&agents->table.order[place + 1], &agents->table.order[place],
            (agents->table.n - place) * sizeof(agents->table.order[0]));
    agents->table.order[place] = agent;
    agents->table.n++;
    HASH_ADD(identity.by_name, agents->table.names, identity.name, strlen(agent->identity.name),
             agent);
    agent->identity.host = host;
    if (agent->identity.is_switch) {
        agents->table.n_switches++;
        return;
    }
    agents->table.hosts[host] = agent;
    if (agent->identity.unmarked)
        agents->table.n_unmarked++;
    else
        host_order_add(agents, agent);
}

void agent_enter(struct agent *agent)
{
    struct agents *agents = agent->agents;
    agent->identity.newest_job = agents->hooks.newest_job(agents->hooks.user);
    agent_table_insert(agents, agent,
                       agent->identity.is_switch ? ENGINE_NONE : agent_index_take(agents));
    if (!agent->identity.is_switch)
        agents->hooks.host_moved(agents->hooks.user, agent->identity.host);
}

static void address_drop(struct agent *agent)
{
    if (agent->identity.addressed)
        HASH_DELETE(identity.by_address, agent->agents->table.addresses, agent);
    agent->identity.addressed = false;
}

void agent_table_remove(struct agent *agent)
{
    struct agents *agents = agent->agents;
    address_drop(agent);
    uint32_t place = order_place(agents, agent->identity.name);
    memmove(&agents->table.order[place], &agents->table.order[place + 1],
            (--agents->table.n - place) * sizeof(agents->table.order[0]));
    HASH_DELETE(identity.by_name, agents->table.names, agent);
    if (agent->identity.is_switch) {
        agents->table.n_switches--;
        return;
    }
    if (agent->identity.unmarked)
        agents->table.n_unmarked--;
    else
        host_order_remove(agents, agent);
    agents->table.hosts[agent->identity.host] = NULL;
}

struct agent *agent_of_index(const struct agents *agents, uint32_t host)
{
    return host < agents->indexes.n ? agents->table.hosts[host] : NULL;
}

struct agent *agent_at(const struct agents *agents, uint32_t place)
{
    return place < agents->table.n ? agents->table.order[place] : NULL;
}

uint32_t agents_after(const struct agents *agents, const char *name)
{
    const uint32_t place = order_place(agents, name);
    const struct agent *agent = agent_at(agents, place);
    return place + (agent && strcmp(agent->identity.name, name) == 0);
}

uint32_t agents_count(const struct agents *agents)
{
    return agents->table.n;
}

uint32_t agents_hosts(const struct agents *agents)
{
    return agents->table.n_hosts;
}

uint32_t agents_host_at(const struct agents *agents, uint32_t place)
{
    return agents->table.host_order[place];
}

struct agent *agent_find(const struct agents *agents, const char *name)
{
    struct agent *agent;
    HASH_FIND(identity.by_name, agents->table.names, name, strlen(name), agent);
    return agent;
}

struct agent *agent_at_address(const struct agents *agents, const uint8_t *address)
{
    struct agent *agent;
    HASH_FIND(identity.by_address, agents->table.addresses, address,
              sizeof(agent->identity.address), agent);
    return agent;
}

void agent_set_address(struct agent *agent, const uint8_t *address)
{
    static const uint8_t none[sizeof(agent->identity.address)];
    struct agents *agents = agent->agents;
    struct agent *other = agent_at_address(agents, address);
    address_drop(agent);
    memcpy(agent->identity.address, address, sizeof(agent->identity.address));
    if (agent->identity.is_switch || memcmp(address, none, sizeof(none)) == 0)
        return;
    if (other && other != agent)
        address_drop(other);
    HASH_ADD(identity.by_address, agents->table.addresses, identity.address,
             sizeof(agent->identity.address), agent);
    agent->identity.addressed = true;
}

void agent_marked(struct agent *agent)
{
    struct agents *agents = agent->agents;
    agent->identity.unmarked = false;
    agents->table.n_unmarked--;
    host_order_add(agents, agent);
    agent->identity.newest_job = agents->hooks.newest_job(agents->hooks.user);
    agents->hooks.host_moved(agents->hooks.user, agent->identity.host);
}

void agent_tell_host(struct agent *agent, enum event_kind kind)
{
    struct event event = {.kind = kind};
    agent->identity.silent = kind != EVENT_HOST_BACK;
    agent->identity.lost |= kind == EVENT_HOST_LOST;
    if (agent->identity.is_switch)
        return;
    event.host.host = agent->identity.host;
    agent->agents->hooks.event(agent->agents->hooks.user, &event);
    if (kind == EVENT_HOST_LOST)
        agent->agents->hooks.host_moved(agent->agents->hooks.user, agent->identity.host);
}

void agent_tell_lost(struct agent *agent, int64_t now_ns)
{
    if (agent->identity.joined)
        agent_tell_host(agent, EVENT_HOST_LOST);
    agent->identity.lost = true;
    agent->identity.lost_ns = now_ns;
}

static void join_tell(struct agent *agent, enum event_kind kind)
{
    struct agent_identity *who = &agent->identity;
    struct event event = {.kind = kind};
    who->joined = true;
    who->joined_boot = who->boot;
    who->changed = false;
    if (who->is_switch)
        return;
    event.host_join.host = who->host;
    event.host_join.generation = who->boot;
    event.host_join.name = who->name;
    event.host_join.rack = who->rack;
    event.host_join.labels = who->labels;
    event.host_join.uplink_bps = who->uplink_bps;
    event.host_join.downlink_bps = who->downlink_bps;
    event.host_join.rack_bps = who->rack_bps;
    event.host_join.disk_bytes_s = who->disk_bytes_s;
    event.host_join.units.at = who->units;
    event.host_join.units.n = who->n_units * ENGINE_RESOURCES;
    event.host_join.unit_names = who->unit_names;
    agent->agents->hooks.event(agent->agents->hooks.user, &event);
    agent->agents->hooks.host_moved(agent->agents->hooks.user, who->host);
}

void agent_tell_join(struct agent *agent)
{
    struct agent_identity *who = &agent->identity;
    if (!who->joined || who->lost || who->joined_boot != who->boot) {
        join_tell(agent, EVENT_HOST_JOIN);
        who->silent = who->lost = false;
        return;
    }
    if (who->changed)
        join_tell(agent, EVENT_HOST_CHANGE);
    if (who->silent)
        agent_tell_host(agent, EVENT_HOST_BACK);
}

static void units_fill(struct agent *agent, const duopoly_Hello *hello, uint64_t *ret_units)
{
    struct agent_identity *who = &agent->identity;
    char before[sizeof(who->cut)];
    strcpy(before, who->cut);
    *who->cut = '\0';
    for (pb_size_t i = 0; i < hello->units_count; i++) {
        struct resources unit = resources_from_wire(&hello->units[i]);
        /* WHY cut and not refused: it is a host all the same, and what it runs must be known. */
        char text[sizeof(who->cut)];
        if (resource_bounds_cut(&unit, agent->agents->config.unit_slots_max, text, sizeof(text)))
            strcpy(who->cut, text);
        for (int r = 0; r < ENGINE_RESOURCES; r++)
            ret_units[i * ENGINE_RESOURCES + r] = (uint64_t)unit.amount[r];
    }
    if (*who->cut && strcmp(before, who->cut) != 0)
        log_warning(LOG_FAULT_PEER, "host %s %s", who->name, who->cut);
}

static void labels_fill(const duopoly_Hello *hello, char *ret_labels, size_t size)
{
    _Static_assert(sizeof(hello->labels) <= ENGINE_LABELS_MAX, "all labels are kept, whole");
    *ret_labels = '\0';
    for (pb_size_t i = 0; i < hello->labels_count; i++)
        join_word(ret_labels, size, ",", hello->labels[i]);
}

/* "": none has a name. */
static void unit_names_fill(const duopoly_Hello *hello, char *ret_names, size_t size)
{
    bool any = false;
    _Static_assert(sizeof(hello->unit_names) <= AGENT_UNITS_MAX * ENGINE_UNIT_NAME_MAX,
                   "all names are kept, whole");
    *ret_names = '\0';
    for (pb_size_t i = 0; i < hello->unit_names_count; i++)
        any |= *hello->unit_names[i] != '\0';
    for (pb_size_t i = 0; any && i < hello->unit_names_count; i++) {
        size_t used = strlen(ret_names);
        snprintf(ret_names + used, size - used, "%s%s", i ? "," : "", hello->unit_names[i]);
    }
}

void agent_describe(struct agent *agent, const duopoly_Hello *hello)
{
    struct agent_identity *who = &agent->identity;
    uint64_t units[AGENT_UNITS_MAX * ENGINE_RESOURCES] = {0};
    char labels[ENGINE_LABELS_MAX], unit_names[sizeof(who->unit_names)];
    who->boot = hello->boot;
    who->hello_sequence = hello->hello_sequence;
    units_fill(agent, hello, units);
    labels_fill(hello, labels, sizeof(labels));
    unit_names_fill(hello, unit_names, sizeof(unit_names));
    who->changed |= strcmp(unit_names, who->unit_names) != 0 ||
                    memcmp(units, who->units, sizeof(units)) != 0 ||
                    strcmp(labels, who->labels) != 0 || strcmp(who->rack, hello->rack) != 0 ||
                    who->n_units != hello->units_count || who->uplink_bps != hello->uplink_bps ||
                    who->downlink_bps != hello->downlink_bps || who->rack_bps != hello->rack_bps ||
                    who->disk_bytes_s != hello->disk_bytes_s;
    memcpy(who->units, units, sizeof(units));
    who->n_units = hello->units_count;
    strcpy(who->labels, labels);
    strcpy(who->unit_names, unit_names);
    wire_copy(who->rack, sizeof(who->rack), hello->rack);
    agent_set_address(agent, hello->address);
    who->uplink_bps = hello->uplink_bps;
    who->downlink_bps = hello->downlink_bps;
    who->rack_bps = hello->rack_bps;
    who->disk_bytes_s = hello->disk_bytes_s;
    who->asks = hello->asks;
}

void agent_identity_restore(struct agent *agent, const struct agent_kept *kept)
{
    struct agent_identity *who = &agent->identity;
    who->boot = who->joined_boot = kept->boot;
    who->joined = kept->boot != 0;
    who->silent = who->joined;
    who->lost = kept->lost;
    who->newest_job = kept->after;
    who->n_units = kept->n_units;
    who->uplink_bps = kept->uplink_bps;
    who->downlink_bps = kept->downlink_bps;
    strcpy(who->rack, kept->rack);
    strcpy(who->labels, kept->labels);
    memcpy(who->units, kept->units, sizeof(who->units));
    agent_set_address(agent, kept->address);
}
