#include "controller/agents/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *no_room_of(const struct agent *agent)
{
    const char *own = agent_no_room(agent);
    bool waits = !*own && agent_who(agent)->silent && agent_is_behind(agent);
    return waits ? "the controller's disk has not kept what it said yet" : own;
}

static enum agent_state state_of(const struct agent *agent)
{
    if (agent_who(agent)->unmarked)
        return AGENT_UNMARKED;
    if (agent_who(agent)->lost)
        return AGENT_LOST;
    if (!agent_who(agent)->joined)
        return agent_is_open(agent) ? AGENT_JOINING : AGENT_SILENT;
    if (agent_is_open(agent) && *no_room_of(agent))
        return AGENT_FULL;
    return agent_who(agent)->silent ? AGENT_SILENT : AGENT_UP;
}

static int view_fill(const struct agent *agent, struct agent_view *ret_view)
{
    if (!agent)
        return -ENOENT;
    *ret_view = (struct agent_view){
        .name = agent_who(agent)->name,
        .rack = agent_who(agent)->rack,
        .no_room = no_room_of(agent),
        .cut = agent_who(agent)->cut,
        .state = state_of(agent),
        .is_switch = agent_who(agent)->is_switch,
        .host = agent_who(agent)->host,
        .boot = agent_who(agent)->boot,
        .stance = agent->state.stance,
        .trouble = agent->state.text,
        .queues = agent->state.queues,
        .marks = agent->state.marks,
        .said = &agent->state,
        .refused_words = agent->words.refused,
        .refused_about = agent->words.about,
        .claims_cut = agent->claims.cut,
        .spent_ns = agent->time.account.spent_ns,
        .times_over = agent->time.over,
        .cut_about = agent->claims.about,
        .heard_ns = agent_heard_ns(agent),
        .lost_ns = agent_who(agent)->lost_ns,
        .disk_read_bytes_s = agent->disk_read_bytes_s,
        .counters = &agent->counters,
        .links = &agent->links,
        .guests = &agent->guests,
    };
    memcpy(ret_view->address, agent_who(agent)->address, sizeof(ret_view->address));
    return 0;
}

int agents_at(const struct agents *agents, uint32_t place, struct agent_view *ret_view)
{
    return view_fill(agent_at(agents, place), ret_view);
}

int agents_of_host(const struct agents *agents, uint32_t host, struct agent_view *ret_view)
{
    return view_fill(agent_of_index(agents, host), ret_view);
}

const uint8_t *agents_host_address(const struct agents *agents, uint32_t host)
{
    const struct agent *agent = agent_of_index(agents, host);
    return agent ? agent_who(agent)->address : NULL;
}

int agents_named(const struct agents *agents, const char *name, struct agent_view *ret_view)
{
    return view_fill(agent_find(agents, name), ret_view);
}

int agents_addressed(const struct agents *agents, const uint8_t address[16],
                     struct agent_view *ret_view)
{
    return view_fill(agent_at_address(agents, address), ret_view);
}

bool agents_resyncing(const struct agents *agents)
{
    return agents->attempts.resyncing;
}

const struct agents_counters *agents_counters(const struct agents *agents)
{
    return &agents->counters;
}

const struct agents_times *agents_times(const struct agents *agents)
{
    return &agents->times;
}

/* Its session is over: nothing of it is acknowledged or sent any more, and its host is silent. */
static void session_over(struct agent *agent)
{
    agent_levels_end(agent);
    agent_mode_end(agent);
    agent_inventory_drop(agent);
    agent_settle_drop(agent);
    timers_disarm(agent->agents->timers, &agent->beat);
    if (agent_who(agent)->joined && !agent_who(agent)->silent && !agent_who(agent)->lost)
        agent_tell_host(agent, EVENT_HOST_SILENT);
}

int agents_create(const struct agents_config *config, const struct agents_hooks *hooks,
                  struct timers *timers, struct agents **ret_agents)
{
    struct agents *agents = calloc(1, sizeof(*agents));
    if (!agents)
        return -ENOMEM;
    agents->config = *config;
    agents->guest_levels.table = config->guests;
    agents->hooks = *hooks;
    agents->timers = timers;
    agents_sessions_begin(&agents->sessions);
    if (agents_table_begin(&agents->table, config->hosts_max) < 0 ||
        agents_indexes_begin(&agents->indexes, config->hosts_max) < 0) {
        agents_destroy(agents);
        return -ENOMEM;
    }
    agents->upward = (struct agents_upward){session_over, agent_watch_fire, agent_beat_fire};
    agents_attempts_begin(&agents->attempts);
    levels_round_begin(&agents->levels);
    *ret_agents = agents;
    return 0;
}

void agents_take_times(struct agents *agents, const struct agents_config *config)
{
    agents->config.start_timeout_ns = config->start_timeout_ns;
    agents->config.forget_ns = config->forget_ns;
    agents->config.fetch_stall_ns = config->fetch_stall_ns;
}

void agents_destroy(struct agents *agents)
{
    if (!agents)
        return;
    agents_sessions_done(&agents->sessions);
    while (agents_count(agents))
        agent_remove(agent_at(agents, agents_count(agents) - 1));
    agents_attempts_end(agents);
    levels_round_end(agents);
    agents_table_done(&agents->table);
    agents_indexes_done(&agents->indexes);
    free(agents);
}
