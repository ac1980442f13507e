#include "controller/agents/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static enum agent_state state_of(const struct agent *agent)
{
    if (agent->unmarked)
        return AGENT_UNMARKED;
    if (agent->lost)
        return AGENT_LOST;
    if (!agent->joined)
        return agent_is_open(agent) ? AGENT_JOINING : AGENT_SILENT;
    if (agent_is_open(agent) && *agent_no_room(agent))
        return AGENT_FULL;
    return agent->silent ? AGENT_SILENT : AGENT_UP;
}

static int view_fill(const struct agent *agent, struct agent_view *ret_view)
{
    if (!agent)
        return -ENOENT;
    *ret_view = (struct agent_view){
        .name = agent->name,
        .rack = agent->rack,
        .no_room = agent_no_room(agent),
        .cut = agent->cut,
        .state = state_of(agent),
        .is_switch = agent->is_switch,
        .host = agent->host,
        .boot = agent->boot,
        .stance = agent->state.stance,
        .trouble = agent->state.text,
        .queues = agent->state.queues,
        .marks = agent->state.marks,
        .refused_words = agent->words.refused,
        .refused_about = agent->words.about,
        .claims_cut = agent->claims.cut,
        .cut_about = agent->claims.about,
        .heard_ns = agent_heard_ns(agent),
        .lost_ns = agent->lost_ns,
        .counters = &agent->counters,
        .links = &agent->links,
        .guests = &agent->guests,
    };
    memcpy(ret_view->address, agent->address, sizeof(ret_view->address));
    return 0;
}

uint32_t agents_count(const struct agents *agents)
{
    return agents->n;
}

int agents_at(const struct agents *agents, uint32_t place, struct agent_view *ret_view)
{
    return view_fill(place < agents->n ? agents->order[place] : NULL, ret_view);
}

int agents_of_host(const struct agents *agents, uint32_t host, struct agent_view *ret_view)
{
    return view_fill(host < agents->n_indexes ? agents->hosts[host] : NULL, ret_view);
}

int agents_named(const struct agents *agents, const char *name, struct agent_view *ret_view)
{
    return view_fill(agent_find(agents, name), ret_view);
}

uint32_t agents_hosts(const struct agents *agents)
{
    return agents->n_hosts;
}

uint32_t agents_host_at(const struct agents *agents, uint32_t place)
{
    return agents->host_order[place];
}

bool agents_resyncing(const struct agents *agents)
{
    return agents->attempts.resyncing;
}

const struct agents_counters *agents_counters(const struct agents *agents)
{
    return &agents->counters;
}

/* Its session is over: nothing of it is acknowledged or told any more, and its host is silent. */
static void session_over(struct agent *agent)
{
    agent_levels_end(agent);
    agent_inventory_drop(agent);
    agent_settle_drop(agent);
    timers_disarm(agent->agents->timers, &agent->beat);
    if (agent->joined && !agent->silent && !agent->lost)
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
    /* Whole at the start, so that a table of agents never fails to grow. */
    agents->order = calloc(2 * (size_t)config->hosts_max, sizeof(agents->order[0]));
    agents->hosts = calloc(config->hosts_max, sizeof(agents->hosts[0]));
    agents->host_order = calloc(config->hosts_max, sizeof(agents->host_order[0]));
    agents->free = calloc(config->hosts_max, sizeof(agents->free[0]));
    agents->resting = calloc(config->hosts_max, sizeof(agents->resting[0]));
    if (!agents->order || !agents->hosts || !agents->host_order || !agents->free ||
        !agents->resting) {
        agents_destroy(agents);
        return -ENOMEM;
    }
    agents->upward = (struct agents_upward){session_over, agent_watch_fire, agent_beat_fire};
    agents_attempts_begin(&agents->attempts);
    levels_round_begin(&agents->levels);
    *ret_agents = agents;
    return 0;
}

void agents_destroy(struct agents *agents)
{
    if (!agents)
        return;
    agents_sessions_done(&agents->sessions);
    HASH_CLEAR(by_address, agents->addresses);
    HASH_CLEAR(by_name, agents->names);
    for (uint32_t i = 0; i < agents->n; i++)
        agent_free(agents->order[i]);
    agents_attempts_end(agents);
    levels_round_end(agents);
    free(agents->order);
    free(agents->hosts);
    free(agents->host_order);
    free(agents->free);
    free(agents->resting);
    free(agents);
}
