/* Judges a HELLO and begins its session.
 *
 * Checked in this order: a version that both support, a valid description, a name that the
 * connection may use, no older controller than the agent knew, room for one more, time left of its
 * share, the role that the name had, no other live agent of that name, and an address of its own
 * that others can use. A refusal has one sentence and changes nothing; an accepted HELLO replaces
 * an older session of the same boot. */
#include "controller/agents/agent.h"

#include "lib/fnv1a.h"
#include "lib/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool resources_valid(const duopoly_Resources *r)
{
    return r->slots >= 0 && r->cpu_milli >= 0 && r->mem_bytes >= 0 && r->gpu_milli >= 0 &&
           r->gpu_mem_bytes >= 0 && r->io_bytes_s >= 0;
}

static const char *description_fault(const duopoly_Hello *hello)
{
    if (!wire_name_valid(hello->name))
        return "a name has 1 to 63 printable characters without space, slash and quotes";
    if (hello->role == duopoly_Role_ROLE_HOST && hello->units_count == 0)
        return "a host must offer at least one unit";
    for (pb_size_t i = 0; i < hello->units_count; i++)
        if (!resources_valid(&hello->units[i]))
            return "a unit's resources must not be negative";
    for (pb_size_t i = 0; i < hello->labels_count; i++)
        if (!wire_name_valid(hello->labels[i]) || strchr(hello->labels[i], ','))
            return "a label is a name without a comma";
    if (hello->unit_names_count && hello->unit_names_count != hello->units_count)
        return "either each unit has a name, which may be empty, or none has";
    for (pb_size_t i = 0; i < hello->unit_names_count; i++)
        if (*hello->unit_names[i] &&
            (!wire_name_valid(hello->unit_names[i]) || strchr(hello->unit_names[i], ',')))
            return "a unit's name is one without a comma";
    if (*hello->rack && !wire_name_valid(hello->rack))
        return "a rack is a name";
    return NULL;
}

/* WHY: of two boots it is unknown which is newer. Two hosts with one name would displace each other
 * for ever, and each time the engine would count all attempts as lost; a rebooted host waits until
 * its old session is silent. */
static bool rival_is_alive(const struct agent *agent, int64_t now_ns, const duopoly_Hello *hello)
{
    return agent_who(agent)->boot != hello->boot &&
           now_ns - agent_heard_ns(agent) < agent->agents->config.silent_ns;
}

static struct agent_refusal session_refusal(const struct agent *agent, int64_t now_ns,
                                            const duopoly_Hello *hello)
{
    if (agent_is_open(agent) && rival_is_alive(agent, now_ns, hello))
        return (struct agent_refusal){
            duopoly_Reason_REASON_IDENTITY,
            "another host of this name is alive: each host needs a name of its own"};
    if (agent_is_open(agent) &&
        !wire_hello_newer(agent_who(agent)->boot, agent_who(agent)->hello_sequence, hello->boot,
                          hello->hello_sequence))
        return (struct agent_refusal){duopoly_Reason_REASON_IDENTITY,
                                      "a newer session of that name exists"};
    return (struct agent_refusal){duopoly_Reason_REASON_NONE, NULL};
}

static struct agent_refusal name_refusal(const struct agents *agents, int64_t now_ns,
                                         const char *identity, const duopoly_Envelope *envelope)
{
    const duopoly_Hello *hello = &envelope->body.hello;
    const char *fault = description_fault(hello);
    struct agent *agent;
    if (!wire_version_agree(hello->version_min, hello->version_max))
        return (struct agent_refusal){duopoly_Reason_REASON_VERSION,
                                      "this controller speaks version 1 only"};
    if (fault)
        return (struct agent_refusal){duopoly_Reason_REASON_MALFORMED, fault};
    if (identity && strcmp(identity, hello->name) != 0)
        return (struct agent_refusal){duopoly_Reason_REASON_IDENTITY,
                                      "that name belongs to another key"};
    if (envelope->epoch > agents->config.epoch)
        return (struct agent_refusal){
            duopoly_Reason_REASON_EPOCH,
            agents->hooks.epoch_seen(agents->hooks.user, hello->name, envelope->epoch)
                ? "this controller begins again above the epoch that you knew; say HELLO again"
                : "this controller is older than one you knew: a newer one runs, or its state was "
                  "lost; then start it once with --restore"};
    agent = agent_find(agents, hello->name);
    if (!agent) {
        bool is_switch = hello->role == duopoly_Role_ROLE_SWITCH;
        if (!agents_room_for(agents, is_switch ? AGENT_IS_SWITCH : AGENT_IS_HOST))
            return (struct agent_refusal){duopoly_Reason_REASON_LIMIT,
                                          "the controller's bound on hosts is reached"};
        return (struct agent_refusal){duopoly_Reason_REASON_NONE, NULL};
    }
    if (!agent_has_time(agent, now_ns))
        return (struct agent_refusal){
            duopoly_Reason_REASON_LIMIT,
            "it took more of the controller's time than its share; say HELLO later"};
    if (agent_who(agent)->is_switch != (hello->role == duopoly_Role_ROLE_SWITCH))
        return (struct agent_refusal){duopoly_Reason_REASON_CONFLICT,
                                      "that name is known in the other role"};
    return session_refusal(agent, now_ns, hello);
}

static struct agent_refusal hello_refusal(struct agents *agents, int64_t now_ns, uint64_t peer,
                                          const char *identity, const duopoly_Envelope *envelope)
{
    struct agent_refusal refusal = name_refusal(agents, now_ns, identity, envelope);
    return refusal.reason != duopoly_Reason_REASON_NONE
               ? refusal
               : agent_address_refusal(agents, now_ns, peer, &envelope->body.hello);
}

static void welcome_send(struct agent *agent, uint32_t version)
{
    struct agents *agents = agent->agents;
    duopoly_Welcome *welcome =
        &wire_begin(&agents->out, duopoly_Envelope_welcome_tag)->body.welcome;
    welcome->version = version;
    welcome->epoch = agents->config.epoch;
    welcome->heartbeat_ms = (uint32_t)(agents->config.heartbeat_ns / 1000000);
    welcome->silent_ms = (uint32_t)(agents->config.silent_ns / 1000000);
    welcome->controller_lease_ms = (uint32_t)(agents->config.lease_ns / 1000000);
    welcome->mode = agents->mode.mode;
    welcome->mode_sequence = agents->mode.sequence;
    welcome->congested_permille = agents->config.congested_permille;
    welcome->cleared_permille = agents->config.cleared_permille;
    agent->stance_told =
        stances_of(&agents->stances, agent_who(agent)->name, agent_who(agent)->rack);
    welcome->stance = agent->stance_told;
    log_debug("agent %s: lease of %" PRIu32 " ms, mode %" PRIu32 ", stance %s",
              agent_who(agent)->name, welcome->controller_lease_ms, welcome->mode,
              stances_word(agent->stance_told));
    agent_send(agent, &agents->out, false);
}

static void session_begin(struct agent *agent, int64_t now_ns, uint64_t peer,
                          const duopoly_Hello *hello)
{
    struct agents *agents = agent->agents;
    const uint32_t version = wire_version_agree(hello->version_min, hello->version_max);
    agent_find_executors(agent, now_ns, hello->address);
    agent_describe(agent, hello);
    rarely_right(&agents->refused[fnv1a(FNV1A_NOTHING, agent_who(agent)->name,
                                        strlen(agent_who(agent)->name)) %
                                  AGENTS_REFUSED]);
    agent_say_room(agent, "");
    agent_session_begin(agent, now_ns, peer, version);
    agent_inventory_begin(agent);
    timers_arm(agents->timers, &agent->watch, now_ns + agents->config.silent_ns);
    timers_arm(agents->timers, &agent->beat, now_ns + agents->config.heartbeat_ns);
    agents->counters.sessions++;
    welcome_send(agent, version);
    agent_tell_keys(agent);
}

/* A refused peer repeats its HELLO: one log line is enough. */
static bool refusal_is_news(struct agents *agents, int64_t now_ns, const char *name,
                            const char *identity, const char *text)
{
    char words[512];
    uint64_t hash = fnv1a(FNV1A_NOTHING, name, strlen(name));
    snprintf(words, sizeof(words), "%.80s %.80s %s", name, identity ? identity : "", text);
    return rarely_say(&agents->refused[hash % AGENTS_REFUSED], words, (uint64_t)now_ns / 1000);
}

static void refusal_log(struct agents *agents, int64_t now_ns, const duopoly_Hello *hello,
                        const char *identity, const struct agent_refusal *refusal)
{
    const struct agent *agent = agent_find(agents, hello->name);
    bool impostor = identity && strcmp(identity, hello->name) != 0;
    bool rival = agent && !impostor && refusal->reason == duopoly_Reason_REASON_IDENTITY;
    bool ours =
        refusal->reason == duopoly_Reason_REASON_EPOCH || rival || refusal->text == agents->why;
    if (!refusal_is_news(agents, now_ns, hello->name, identity, refusal->text))
        return;
    log_of(hello->name, LOG_LEVEL_WARNING, ours ? LOG_FAULT_CONFIGURATION : LOG_FAULT_PEER,
           "agent %s%s%s is refused: %s", hello->name, identity ? " with the key of " : "",
           identity ? identity : "", refusal->text);
}

void agent_hello(struct agents *agents, int64_t now_ns, uint64_t peer, const char *identity,
                 const duopoly_Envelope *envelope)
{
    const duopoly_Hello *hello = &envelope->body.hello;
    struct agent_refusal refusal = hello_refusal(agents, now_ns, peer, identity, envelope);
    struct agent *agent = NULL, *other;
    if (refusal.reason == duopoly_Reason_REASON_NONE &&
        !(agent = agent_find(agents, hello->name)) &&
        !(agent = agent_add(agents, hello->name, hello->role == duopoly_Role_ROLE_SWITCH)))
        refusal =
            (struct agent_refusal){duopoly_Reason_REASON_LIMIT, "the controller is out of memory"};
    if (refusal.reason != duopoly_Reason_REASON_NONE) {
        log_debug("HELLO of agent %s is refused: %s", hello->name, refusal.text);
        refusal_log(agents, now_ns, hello, identity, &refusal);
        agent_refuse_stranger(agents, now_ns, peer, envelope, refusal.reason, refusal.text);
        return;
    }
    other = agent_of_peer(agents, peer);
    if (other && other != agent)
        agent_end(other, duopoly_Reason_REASON_NONE, NULL);
    if (agent_is_open(agent)) {
        agents->counters.replaced++;
        agent_end(agent,
                  other == agent ? duopoly_Reason_REASON_NONE : duopoly_Reason_REASON_IDENTITY,
                  "a newer session of this name has begun");
    }
    session_begin(agent, now_ns, peer, hello);
}
