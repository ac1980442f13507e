#include "controller/agents/agent.h"
#include "lib/container_of.h"
#include "lib/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Where `name` stands, or belongs, in agents->order. */
static uint32_t order_place(const struct agents *agents, const char *name)
{
    uint32_t low = 0, high = agents->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strverscmp(agents->order[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t host_place(const struct agents *agents, const char *name)
{
    uint32_t low = 0, high = agents->n_hosts;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strverscmp(agents->hosts[agents->host_order[middle]]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void host_order_add(struct agents *agents, const struct agent *agent)
{
    uint32_t place = host_place(agents, agent->name);
    memmove(&agents->host_order[place + 1], &agents->host_order[place],
            (agents->n_hosts - place) * sizeof(agents->host_order[0]));
    agents->host_order[place] = agent->host;
    agents->n_hosts++;
}

static void host_order_remove(struct agents *agents, const struct agent *agent)
{
    uint32_t place = host_place(agents, agent->name);
    memmove(&agents->host_order[place], &agents->host_order[place + 1],
            (--agents->n_hosts - place) * sizeof(agents->host_order[0]));
}

/* `host`: its index; ENGINE_NONE for a switch. */
static void table_insert(struct agents *agents, struct agent *agent, uint32_t host)
{
    uint32_t place = order_place(agents, agent->name);
    memmove(&agents->order[place + 1], &agents->order[place],
            (agents->n - place) * sizeof(agents->order[0]));
    agents->order[place] = agent;
    agents->n++;
    HASH_ADD(by_name, agents->names, name, strlen(agent->name), agent);
    agent->host = host;
    if (agent->is_switch) {
        agents->n_switches++;
        return;
    }
    agents->hosts[host] = agent;
    if (agent->unmarked)
        agents->n_unmarked++;
    else
        host_order_add(agents, agent);
}

static void table_remove(struct agent *agent)
{
    struct agents *agents = agent->agents;
    uint32_t place = order_place(agents, agent->name);
    memmove(&agents->order[place], &agents->order[place + 1],
            (--agents->n - place) * sizeof(agents->order[0]));
    HASH_DELETE(by_name, agents->names, agent);
    if (agent->is_switch) {
        agents->n_switches--;
        return;
    }
    if (agent->unmarked)
        agents->n_unmarked--;
    else
        host_order_remove(agents, agent);
    agents->hosts[agent->host] = NULL;
}

struct agent *agent_find(const struct agents *agents, const char *name)
{
    struct agent *agent;
    HASH_FIND(by_name, agents->names, name, strlen(name), agent);
    return agent;
}

struct agent *agent_at_address(const struct agents *agents, const uint8_t *address)
{
    struct agent *agent;
    HASH_FIND(by_address, agents->addresses, address, sizeof(agent->address), agent);
    return agent;
}

static void address_drop(struct agent *agent)
{
    if (agent->addressed)
        HASH_DELETE(by_address, agent->agents->addresses, agent);
    agent->addressed = false;
}

void agent_set_address(struct agent *agent, const uint8_t *address)
{
    static const uint8_t none[sizeof(agent->address)];
    struct agents *agents = agent->agents;
    struct agent *other = agent_at_address(agents, address);
    address_drop(agent);
    memcpy(agent->address, address, sizeof(agent->address));
    if (agent->is_switch || memcmp(address, none, sizeof(none)) == 0)
        return;
    if (other && other != agent)
        address_drop(other);
    HASH_ADD(by_address, agents->addresses, address, sizeof(agent->address), agent);
    agent->addressed = true;
}

static struct agent *agent_make(struct agents *agents, const char *name)
{
    struct agent *agent = calloc(1, sizeof(*agent));
    if (!agent)
        return NULL;
    agent->agents = agents;
    wire_copy(agent->name, sizeof(agent->name), name);
    agent->host = ENGINE_NONE;
    STAILQ_INIT(&agent->relabelled);
    agent->watch.fire = agent_watch_fire;
    agent->beat.fire = agent_beat_fire;
    return agent;
}

struct agent *agent_add(struct agents *agents, const char *name, bool is_switch)
{
    struct agent *agent = agent_make(agents, name);
    if (!agent)
        return NULL;
    agent->is_switch = is_switch;
    agent->newest_job = agents->hooks.newest_job(agents->hooks.user);
    table_insert(agents, agent, is_switch ? ENGINE_NONE : agent_index_take(agents));
    if (!is_switch)
        agents->hooks.host_moved(agents->hooks.user, agent->host);
    return agent;
}

struct agent *agent_add_kept(struct agents *agents, const char *name, uint32_t host)
{
    struct agent *agent = agent_make(agents, name);
    if (agent)
        table_insert(agents, agent, host);
    return agent;
}

struct agent *agent_add_unmarked(struct agents *agents, const char *name, uint32_t host)
{
    struct agent *agent = agent_make(agents, name);
    if (!agent)
        return NULL;
    agent->unmarked = true;
    agent->n_units = 1;
    table_insert(agents, agent, host);
    return agent;
}

void agent_marked(struct agent *agent)
{
    struct agents *agents = agent->agents;
    agent->unmarked = false;
    agents->n_unmarked--;
    host_order_add(agents, agent);
    agent->newest_job = agents->hooks.newest_job(agents->hooks.user);
    agents->hooks.host_moved(agents->hooks.user, agent->host);
}

static void resync_end(struct agents *agents)
{
    agents->resyncing = false;
    timers_disarm(agents->timers, &agents->resync);
    for (uint32_t i = 0; i < agents->n; i++)
        if (agents->order[i]->inventory == INVENTORY_PARKED)
            agent_admit(agents->order[i]);
}

static void resync_fire(struct timer *timer, int64_t now_ns)
{
    struct agents *agents = container_of(timer, struct agents, resync);
    (void)now_ns;
    log_note("%" PRIu32 " hosts known before have not come back: going on without them",
             agents->awaited);
    resync_end(agents);
}

static struct agent *agent_of_host(const struct agents *agents, uint32_t host)
{
    struct agent *agent = host < agents->n_indexes ? agents->hosts[host] : NULL;
    return agent && agent->open ? agent : NULL;
}

void agents_stop(struct agents *agents, uint32_t host, uint64_t attempt, const char *why,
                 uint32_t grace_ms, bool requeue)
{
    struct agent *agent = agent_of_host(agents, host);
    if (!agent)
        return;
    duopoly_Stop *stop = &wire_begin(&agents->out, duopoly_Envelope_stop_tag)->body.stop;
    stop->attempt = attempt;
    stop->grace_ms = grace_ms;
    stop->requeue = requeue;
    wire_copy(stop->why, sizeof(stop->why), why);
    agent_send(agent, &agents->out, true);
}

void agents_mode(struct agents *agents, uint32_t mode, uint64_t sequence)
{
    struct agent *agent, *next;
    agents->mode = mode;
    agents->mode_sequence = sequence;
    HASH_ITER (by_peer, agents->peers, agent, next) {
        wire_begin(&agents->out, duopoly_Envelope_mode_tag)->body.mode =
            (duopoly_Mode){.mode = mode, .mode_sequence = sequence};
        agent_send(agent, &agents->out, true);
    }
}

const struct stances *agents_stances(const struct agents *agents)
{
    return &agents->stances;
}

int agents_set_stance(struct agents *agents, enum stance_scope scope, const char *name,
                      duopoly_Stance stance)
{
    struct agent *agent, *next;
    int told = 0, r = stances_set(&agents->stances, scope, name, stance);
    if (r < 0)
        return r;
    HASH_ITER (by_peer, agents->peers, agent, next) {
        duopoly_Stance wanted = stances_of(&agents->stances, agent->name, agent->rack);
        if (wanted == agent->stance_told)
            continue;
        agent->stance_told = wanted;
        agent->trial_until_ns = 0;
        wire_begin(&agents->out, duopoly_Envelope_take_stance_tag)->body.take_stance.stance =
            wanted;
        told += agent_send(agent, &agents->out, true) == 0;
    }
    return told;
}

int agents_try_stance(struct agents *agents, int64_t now_ns, const char *name,
                      duopoly_Stance stance, uint32_t confirm_s)
{
    struct agent *agent = agent_find(agents, name);
    if (!agent)
        return -ENOENT;
    if (!agent->open)
        return -ENOTCONN;
    if (now_ns < agent->trial_until_ns)
        return -EBUSY;
    agent->trial_until_ns = now_ns + (int64_t)confirm_s * 1000000000;
    agent->stance_told = duopoly_Stance_STANCE_UNSAID; /* whatever is said next is told */
    duopoly_TakeStance *take =
        &wire_begin(&agents->out, duopoly_Envelope_take_stance_tag)->body.take_stance;
    take->stance = stance;
    take->confirm_s = confirm_s;
    return agent_send(agent, &agents->out, true);
}

void agents_tell_guests(struct agents *agents, uint32_t host, const duopoly_GuestAllows *said)
{
    struct agent *agent = host < agents->n_indexes ? agents->hosts[host] : NULL;
    if (!agent || !agent->open || !agent_guests_has(&agent->guests, said->name))
        return;
    wire_begin(&agents->out, duopoly_Envelope_guest_allows_tag)->body.guest_allows = *said;
    agent_send(agent, &agents->out, false);
}

void agents_forget(struct agents *agents, uint32_t host, uint64_t job)
{
    struct agent *agent = agent_of_host(agents, host);
    if (!agent)
        return;
    wire_begin(&agents->out, duopoly_Envelope_forget_tag)->body.forget.job = job;
    agent_send(agent, &agents->out, true);
}

static enum agent_state state_of(const struct agent *agent)
{
    if (agent->unmarked)
        return AGENT_UNMARKED;
    if (agent->lost)
        return AGENT_LOST;
    if (!agent->joined)
        return agent->open ? AGENT_JOINING : AGENT_SILENT;
    if (agent->open && *agent->no_room)
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
        .no_room = agent->no_room,
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
        .heard_ns = agent->heard_ns,
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
    return agents->resyncing;
}

const struct agents_counters *agents_counters(const struct agents *agents)
{
    return &agents->counters;
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
    STAILQ_INIT(&agents->settle);
    STAILQ_INIT(&agents->commit);
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
    agents->resync.fire = resync_fire;
    agents->levels_wait.fire = agents_levels_wait_fire;
    STAILQ_INIT(&agents->relabelled);
    *ret_agents = agents;
    return 0;
}

void agent_await_no_more(struct agent *agent)
{
    agent->agents->awaited -= agent->awaited;
    agent->awaited = false;
}

void agents_resync_done(struct agents *agents)
{
    if (agents->resyncing && agents->awaited == 0)
        resync_end(agents);
}

static void agent_free(struct agent *agent)
{
    struct agents *agents = agent->agents;
    agent_attempts_drop(agent);
    timers_disarm(agents->timers, &agent->watch);
    timers_disarm(agents->timers, &agent->beat);
    agent_seen_drop(agent);
    free(agent->uncommitted);
    agent_links_done(&agent->links);
    agent_guests_done(&agents->guest_levels, &agent->guests);
    agent_words_done(agent);
    agent_claim_back(agent, agent->claims.bytes);
    free(agent);
}

void agent_remove(struct agent *agent)
{
    struct agents *agents = agent->agents;
    address_drop(agent);
    table_remove(agent);
    if (agent->settling)
        STAILQ_REMOVE(&agents->settle, agent, agent, settle_link);
    if (agent->committing)
        STAILQ_REMOVE(&agents->commit, agent, agent, commit_link);
    if (agent->in_relabelled)
        STAILQ_REMOVE(&agents->relabelled, agent, agent, relabelled_link);
    agent_free(agent);
}

void agents_destroy(struct agents *agents)
{
    if (!agents)
        return;
    HASH_CLEAR(by_peer, agents->peers);
    HASH_CLEAR(by_address, agents->addresses);
    HASH_CLEAR(by_name, agents->names);
    for (uint32_t i = 0; i < agents->n; i++)
        agent_free(agents->order[i]);
    timers_disarm(agents->timers, &agents->resync);
    timers_disarm(agents->timers, &agents->levels_wait);
    free(agents->order);
    free(agents->hosts);
    free(agents->host_order);
    free(agents->free);
    free(agents->resting);
    free(agents);
}
