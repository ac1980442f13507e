/* Kinds of messages that an agent may send in a session, and their handlers: one table.
 *
 * Messages about attempts count if the sender has the attempt; messages about others' outputs and
 * hosts if it can know of them. agent_words.c judges both for the handlers here. */
#include "controller/agents/agent.h"

#include "lib/log.h"

/* What a peer cannot mean is cut before the engine, the recording or a list has it. */
static uint32_t load_cut(struct agent *agent, uint32_t number, uint32_t most)
{
    agent->agents->counters.loads_cut += number > most;
    return number > most ? most : number;
}

static void disk_load_take(struct agent *agent, const duopoly_Load *load)
{
    struct event event = {.kind = EVENT_HOST_LOAD};
    if (!load->has_disk_permille || !agent_who(agent)->disk_bytes_s)
        return;
    agent->disk_read_bytes_s = load->disk_read_bytes_s;
    event.host_load.host = agent_who(agent)->host;
    event.host_load.resource = LOAD_DISK;
    event.host_load.permille = load_cut(agent, load->disk_permille, ENGINE_DISK_PERMILLE_MAX);
    event.host_load.users = load_cut(agent, load->disk_readers, ENGINE_DISK_READERS_MAX);
    event.host_load.hangs = load->disk_hangs;
    agent->agents->hooks.event(agent->agents->hooks.user, &event);
}

static void load_take(struct agent *agent, const duopoly_Envelope *envelope)
{
    const duopoly_Load *load = &envelope->body.load;
    const uint32_t permille[] = {load->uplink_permille, load->downlink_permille};
    const uint32_t users[] = {load->uplink_users, load->downlink_users};
    if (agent_who(agent)->is_switch)
        return;
    for (uint32_t i = 0; i < 2; i++) {
        struct event event = {.kind = EVENT_HOST_LOAD};
        event.host_load.host = agent_who(agent)->host;
        event.host_load.resource = i == 0 ? LOAD_UPLINK : LOAD_DOWNLINK;
        event.host_load.permille = load_cut(agent, permille[i], 1000);
        event.host_load.users = users[i];
        agent->agents->hooks.event(agent->agents->hooks.user, &event);
    }
    disk_load_take(agent, load);
}

static void progress_take(struct agent *agent, const duopoly_Envelope *envelope)
{
    const duopoly_Progress *progress = &envelope->body.progress;
    for (pb_size_t i = 0; i < progress->attempts_count; i++) {
        struct event event = {.kind = EVENT_ATTEMPT_PROGRESS};
        if (agent_word_of_attempt(agent, agent_heard_ns(agent), duopoly_Envelope_progress_tag,
                                  progress->attempts[i].attempt) != WORD_COUNTS)
            continue;
        event.attempt.attempt = progress->attempts[i].attempt;
        event.attempt.received_bytes = progress->attempts[i].received_bytes;
        agent_attempt_received(agent, agent_heard_ns(agent), event.attempt.attempt,
                               event.attempt.received_bytes);
        agent->agents->hooks.event(agent->agents->hooks.user, &event);
    }
}

static void output_lost_take(struct agent *agent, const duopoly_Envelope *envelope)
{
    const duopoly_OutputLost *lost = &envelope->body.output_lost;
    struct event event = {.kind = EVENT_OUTPUT_LOST};
    if (agent_who(agent)->is_switch ||
        agent_word_of_output(agent, agent_heard_ns(agent), lost) != WORD_COUNTS)
        return;
    event.output_lost.job = lost->job;
    event.output_lost.stage = lost->stage;
    event.output_lost.task = lost->task;
    event.output_lost.attempt = lost->attempt;
    agent->agents->hooks.event(agent->agents->hooks.user, &event);
}

static void room_take(struct agent *agent, const duopoly_Envelope *envelope)
{
    const duopoly_HostRoom *room = &envelope->body.host_room;
    if (agent_who(agent)->is_switch)
        return;
    if (*room->text && !*agent_no_room(agent))
        log_of(agent_who(agent)->name, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
               "agent %s starts nothing: %s", agent_who(agent)->name, room->text);
    if (!*room->text && *agent_no_room(agent))
        log_of(agent_who(agent)->name, LOG_LEVEL_NOTE, LOG_FAULT_NONE,
               "agent %s has room for attempts again", agent_who(agent)->name);
    agent_say_room(agent, room->text);
    if (agent_who(agent)->silent && agent_serves(agent))
        agent_tell_host(agent, EVENT_HOST_BACK);
    else if (*agent_no_room(agent) && agent_who(agent)->joined && !agent_who(agent)->silent)
        agent_tell_host(agent, EVENT_HOST_SILENT);
}

static void source_state_take(struct agent *agent, const duopoly_Envelope *envelope)
{
    const duopoly_SourceState *state = &envelope->body.source_state;
    const struct agent *source = agent_at_address(agent->agents, state->address);
    struct event event = {.kind = state->flows ? EVENT_SOURCE_FLOWS : EVENT_SOURCE_STALLED};
    if (!source || agent_who(agent)->is_switch) {
        agent->agents->counters.sources_unknown++;
        return;
    }
    if (agent_word_of_source(agent, agent_heard_ns(agent), state->attempt, source) != WORD_COUNTS)
        return;
    event.source.attempt = state->attempt;
    event.source.host = agent_who(source)->host;
    event.source.others = state->others;
    agent->agents->hooks.event(agent->agents->hooks.user, &event);
}

static bool is_vouched(void *user, const duopoly_GuestApplication *row)
{
    const struct agents *agents = user;
    return agents->hooks.framework_user(agents->hooks.user, row->name) == (int64_t)row->user;
}

/* How many of them are within the bounds. */
static uint32_t guests_claim(struct agent *agent, uint32_t n)
{
    const uint32_t told = n;
    agent_claim_back(agent, (uint64_t)AGENT_CLAIMED_GUEST * agent->claims.guests);
    while (n && !agent_claim(agent, (uint64_t)AGENT_CLAIMED_GUEST * n))
        n--;
    agent->claims.guests = n;
    if (n < told)
        agent_claim_cut(agent, told - n, "applications of guests");
    return n;
}

static void guests_take(struct agent *agent, const duopoly_Envelope *envelope)
{
    const duopoly_GuestsPart *part = &envelope->body.guests_part;
    struct agents *agents = agent->agents;
    duopoly_GuestLevels *levels =
        &wire_begin(&agents->out, duopoly_Envelope_guest_levels_tag)->body.guest_levels;
    agent_guests_take(&agents->guest_levels, &agent->guests, part,
                      guests_claim(agent, part->applications_count), is_vouched, agents, levels);
    if (levels->levels_count)
        agent_send(agent, &agents->out, true);
}

static void counters_take(struct agent *agent, const duopoly_Envelope *envelope)
{
    agent->counters = envelope->body.agent_counters;
}

static void state_take(struct agent *agent, const duopoly_Envelope *envelope)
{
    agent->state = envelope->body.host_state;
}

static void switch_part_take(struct agent *agent, const duopoly_Envelope *envelope)
{
    if (agent_who(agent)->is_switch)
        agent->agents->hooks.switch_part(agent->agents->hooks.user, agent_who(agent)->name,
                                         agent_heard_ns(agent), &envelope->body.switch_part);
}

static void links_take(struct agent *agent, const duopoly_Envelope *envelope)
{
    agent_links_take(&agent->links, agent_heard_ns(agent),
                     agent_who(agent)->is_switch ? AGENT_LINKS : AGENT_HOST_LINKS,
                     &envelope->body.links_part);
}

/* A late answer is no fault, but neither is it wanted. */
static void asked_part_take(struct agent *agent, const duopoly_Envelope *envelope)
{
    const struct agents_hooks *hooks = &agent->agents->hooks;
    if (!hooks->asked(hooks->user, agent_who(agent)->name, &envelope->body.asked_part))
        agent->agents->counters.refused[duopoly_Envelope_asked_part_tag]++;
}

/* Nothing to do but to note that it came. */
static void nothing_take(struct agent *agent, const duopoly_Envelope *envelope)
{
    (void)agent, (void)envelope;
}

/* A kind of a later version. */
static void unknown_take(struct agent *agent, const duopoly_Envelope *envelope)
{
    (void)envelope;
    agent->agents->counters.ignored_kinds++;
}

static const struct {
    void (*take)(struct agent *agent, const duopoly_Envelope *envelope); /* NULL: not an agent's */
    /* When a numbered message is acknowledged: when the engine has it; when the disk has it; its
     * handler decides. */
    enum { SOON, LASTING, BY_TAKER } settles;
} kinds[WIRE_KINDS] = {
    [0] = {.take = unknown_take},
    /* About itself. */
    [WIRE_KIND(acknowledge)] = {.take = nothing_take},
    [WIRE_KIND(agent_heartbeat)] = {.take = nothing_take},
    [WIRE_KIND(agent_counters)] = {.take = counters_take},
    [WIRE_KIND(asked_part)] = {.take = asked_part_take},
    [WIRE_KIND(guests_part)] = {.take = guests_take},
    [WIRE_KIND(hello)] = {.take = nothing_take}, /* begins a session: agent_hello.c */
    [WIRE_KIND(host_room)] = {.take = room_take},
    [WIRE_KIND(host_state)] = {.take = state_take},
    [WIRE_KIND(inventory_end)] = {.take = agent_inventory_end, .settles = BY_TAKER},
    [WIRE_KIND(links_part)] = {.take = links_take},
    [WIRE_KIND(load)] = {.take = load_take},
    [WIRE_KIND(switch_part)] = {.take = switch_part_take},
    /* About its attempts. */
    [WIRE_KIND(attempt_state)] = {.take = agent_attempt_state, .settles = LASTING},
    [WIRE_KIND(inventory_part)] = {.take = agent_inventory_part},
    [WIRE_KIND(progress)] = {.take = progress_take},
    /* About others. */
    [WIRE_KIND(output_lost)] = {.take = output_lost_take, .settles = LASTING},
    [WIRE_KIND(source_state)] = {.take = source_state_take},
};

bool agents_take(pb_size_t kind)
{
    return kinds[kind].take != NULL;
}

void agent_take(struct agent *agent, const duopoly_Envelope *envelope)
{
    const pb_size_t kind = envelope->which_body;
    if (envelope->sequence && kinds[kind].settles == LASTING)
        agent_settle_later(agent, envelope->sequence);
    else if (envelope->sequence && kinds[kind].settles == SOON)
        agent_settle_soon(agent, envelope->sequence);
    if (agents_take(kind))
        kinds[kind].take(agent, envelope);
    else
        agent_refuse(agent->agents, agent_peer(agent), envelope, duopoly_Reason_REASON_UNSUPPORTED,
                     "agents do not send messages of this kind");
}
