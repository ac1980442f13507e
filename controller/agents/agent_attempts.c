/* The attempts for which an agent is responsible, and its reports on them.
 *
 * An attempt is placed when its start is sent or when the agent names it first, until its end is
 * reported, by the agent or here: a start that is not answered, an inventory that lacks it, a boot
 * that wiped it, a host that is lost. So the engine gets the end of each start exactly once, and no
 * end without a start.
 *
 * An inventory is gathered whole before any of it is passed on: after a restart it waits (is
 * parked) until the other hosts that were known before have sent theirs. */
#include "controller/agents/agent.h"
#include "controller/resource_bounds.h"
#include "controller/resources_wire.h"

#include "lib/container_of.h"
#include "lib/invariant.h"
#include "lib/log.h"
#include "lib/plural.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void event_tell(struct agent *agent, const struct event *event)
{
    agent->agents->hooks.event(agent->agents->hooks.user, event);
}

static void attempt_tell(struct agent *agent, enum event_kind kind, uint64_t attempt,
                         uint64_t received_bytes, int64_t exit_status)
{
    struct event event = {.kind = kind};
    event.attempt.attempt = attempt;
    event.attempt.received_bytes = received_bytes;
    event.attempt.exit_status = exit_status;
    event_tell(agent, &event);
}

/* NULL: the agent is not responsible for it. */
static struct placed_attempt *agent_placed(const struct agent *agent, uint64_t attempt)
{
    struct placed_attempt *placed;
    HASH_FIND(hh, agent->attempts.placed, &attempt, sizeof(attempt), placed);
    return placed;
}

static void placed_remove(struct agent *agent, struct placed_attempt *placed)
{
    timers_disarm(agent->agents->timers, &placed->timer);
    agent_inputs_drop(agent->agents, placed);
    agent_levels_drop(agent, &placed->levels);
    if (placed->claimed)
        agent_claim_back(agent, AGENT_CLAIMED_ATTEMPT);
    HASH_DEL(agent->attempts.placed, placed);
    HASH_DELETE(by_number, agent->agents->attempts.placed, placed);
    free(placed);
}

void agent_attempts_drop(struct agent *agent)
{
    struct placed_attempt *placed, *next;
    HASH_ITER (hh, agent->attempts.placed, placed, next) {
        agent_words_had(agent, placed->attempt);
        placed_remove(agent, placed);
    }
}

static void placed_lose(struct agent *agent, struct placed_attempt *placed)
{
    uint64_t attempt = placed->attempt;
    agent_words_had(agent, attempt);
    placed_remove(agent, placed);
    attempt_tell(agent, EVENT_ATTEMPT_LOST, attempt, 0, 0);
}

/* A start without an answer is queried once, then lost. Without a session, the next inventory or
 * the host's loss decides. */
static void answer_fire(struct timer *timer, int64_t now_ns)
{
    struct placed_attempt *placed = container_of(timer, struct placed_attempt, timer);
    struct agent *agent = placed->agent;
    struct agents *agents = agent->agents;
    uint64_t attempt = placed->attempt;
    if (!agent_is_open(agent))
        return;
    if (placed->asked) {
        agents->counters.starts_lost++;
        placed_lose(agent, placed);
        agents_stop(agents, agent_who(agent)->host, attempt, "its start was not answered", 0, true);
        return;
    }
    placed->asked = true;
    agents->counters.starts_asked++;
    timers_arm(agents->timers, timer, now_ns + agents->config.start_timeout_ns);
    wire_begin(&agents->out, duopoly_Envelope_ask_attempt_tag)->body.ask_attempt.attempt = attempt;
    agent_send(agent, &agents->out, true);
}

static struct placed_attempt *placed_add(struct agent *agent, uint64_t attempt)
{
    struct placed_attempt *placed = agent_placed(agent, attempt);
    if (placed)
        return placed;
    placed = calloc(1, sizeof(*placed));
    if (!placed)
        return NULL;
    placed->attempt = placed->levels.attempt = attempt;
    placed->agent = agent;
    placed->timer.fire = answer_fire;
    HASH_ADD(hh, agent->attempts.placed, attempt, sizeof(placed->attempt), placed);
    HASH_ADD(by_number, agent->agents->attempts.placed, attempt, sizeof(placed->attempt), placed);
    return placed;
}

void agents_start(struct agents *agents, int64_t now_ns, uint32_t host, const duopoly_Start *start,
                  const duopoly_Input *inputs, uint32_t n_inputs)
{
    struct agent *agent = agent_of_index(agents, host);
    agent->attempts.used = true;
    struct placed_attempt *placed = placed_add(agent, start->attempt);
    int r = placed ? 0 : -ENOMEM;
    if (r == 0) {
        agent_levels_told(&placed->levels, start->coflow_level, start->macroflow_level);
        wire_begin(&agents->out, duopoly_Envelope_start_tag)->body.start = *start;
        agents->out.body.start.proof =
            agents->hooks.knows.proof(agents->hooks.knows.user, agent_who(agent)->name,
                                      start->attempt, start->job, start->stage, start->task);
        agents->out.body.start.inputs = n_inputs;
        agents->out.body.start.stall_ms = (uint32_t)(agents->config.fetch_stall_ns / 1000000);
        r = agent_send(agent, &agents->out, true);
    }
    if (r == 0)
        r = agent_inputs_send(agent, placed, now_ns, inputs, n_inputs);
    if (r < 0 && placed)
        placed_lose(agent, placed);
    else if (r < 0)
        attempt_tell(agent, EVENT_ATTEMPT_LOST, start->attempt, 0, 0);
}

void agents_level(struct agents *agents, uint32_t host, uint64_t attempt, uint32_t coflow_level,
                  uint32_t macroflow_level)
{
    struct agent *agent = agent_of_index(agents, host);
    struct placed_attempt *placed =
        agent && agent_is_open(agent) ? agent_placed(agent, attempt) : NULL;
    if (placed)
        agent_levels_want(agent, &placed->levels, coflow_level, macroflow_level);
}

static struct placed_attempt *seen_add(struct agent *agent, const duopoly_AttemptState *state)
{
    bool claimed = !agent_placed(agent, state->attempt);
    struct placed_attempt *placed = placed_add(agent, state->attempt);
    if (placed)
        agent_levels_told(&placed->levels, state->coflow_level, state->macroflow_level);
    if (placed && claimed) {
        placed->claimed = true;
        agent_claim_add(agent, AGENT_CLAIMED_ATTEMPT);
    }
    return placed;
}

static bool is_running(duopoly_AttemptPhase phase)
{
    return phase <= duopoly_AttemptPhase_PHASE_COMPUTING;
}

static void seen_tell(struct agent *agent, const duopoly_AttemptState *state,
                      enum attempt_state phase)
{
    struct event event = {.kind = EVENT_ATTEMPT_SEEN};
    char text[96];
    event.attempt_seen.attempt = state->attempt;
    event.attempt_seen.job = state->job;
    event.attempt_seen.stage = state->stage;
    event.attempt_seen.task = state->task;
    event.attempt_seen.host = agent_who(agent)->host;
    event.attempt_seen.unit = state->unit;
    event.attempt_seen.variant = state->variant;
    event.attempt_seen.phase = phase;
    event.attempt_seen.received_bytes = state->received_bytes;
    struct resources *resources = &event.attempt_seen.resources;
    *resources = resources_from_wire(&state->resources);
    for (int i = 0; i < ENGINE_RESOURCES; i++)
        if (resources->amount[i] < 0)
            resources->amount[i] = 0;
    resource_bounds_cut(resources, agent->agents->config.unit_slots_max, text, sizeof(text));
    event_tell(agent, &event);
}

static void running_tell(struct agent *agent, const duopoly_AttemptState *state)
{
    static const enum attempt_state phases[] = {
        [duopoly_AttemptPhase_PHASE_SENT] = ATTEMPT_QUEUED,
        [duopoly_AttemptPhase_PHASE_QUEUED] = ATTEMPT_QUEUED,
        [duopoly_AttemptPhase_PHASE_STARTED] = ATTEMPT_STARTED,
        [duopoly_AttemptPhase_PHASE_RECEIVING] = ATTEMPT_RECEIVING,
        [duopoly_AttemptPhase_PHASE_COMPUTING] = ATTEMPT_COMPUTING,
    };
    seen_tell(agent, state, phases[state->phase]);
}

static void end_tell(struct agent *agent, const duopoly_AttemptState *state)
{
    static const enum event_kind kinds[] = {
        [duopoly_AttemptPhase_PHASE_DONE] = EVENT_ATTEMPT_DONE,
        [duopoly_AttemptPhase_PHASE_FAILED] = EVENT_ATTEMPT_FAILED,
        [duopoly_AttemptPhase_PHASE_KILLED] = EVENT_ATTEMPT_KILLED,
        [duopoly_AttemptPhase_PHASE_REFUSED] = EVENT_ATTEMPT_REFUSED,
        [duopoly_AttemptPhase_PHASE_LOST] = EVENT_ATTEMPT_LOST,
    };
    struct placed_attempt *placed = agent_placed(agent, state->attempt);
    if (!placed && agent->agents->hooks.knows.end_wanted(agent->agents->hooks.knows.user, state))
        seen_tell(agent, state, ATTEMPT_COMPUTING);
    if (placed && state->phase == duopoly_AttemptPhase_PHASE_DONE)
        agent->agents->hooks.attempt_done(agent->agents->hooks.user, state);
    if (placed)
        placed_remove(agent, placed);
    bool refused = state->phase == duopoly_AttemptPhase_PHASE_REFUSED;
    /* It is its host's fault, not its task's: another host gets it, and no failure is counted. */
    enum event_kind kind =
        refused && *agent->attempts.no_room ? EVENT_ATTEMPT_LOST : kinds[state->phase];
    bool says_why = refused || state->phase == duopoly_AttemptPhase_PHASE_FAILED ||
                    state->phase == duopoly_AttemptPhase_PHASE_LOST;
    if (says_why && *state->text)
        agent->agents->hooks.failed(agent->agents->hooks.user, state->attempt, state->text);
    attempt_tell(agent, kind, state->attempt, state->received_bytes, state->exit_status);
}

/* A state of a known attempt that is not over. */
static void progress_tell(struct agent *agent, const duopoly_AttemptState *state)
{
    static const enum event_kind kinds[] = {
        [duopoly_AttemptPhase_PHASE_QUEUED] = EVENT_ATTEMPT_QUEUED,
        [duopoly_AttemptPhase_PHASE_STARTED] = EVENT_ATTEMPT_STARTED,
        [duopoly_AttemptPhase_PHASE_RECEIVING] = EVENT_ATTEMPT_PROGRESS,
        [duopoly_AttemptPhase_PHASE_COMPUTING] = EVENT_ATTEMPT_RECEIVED,
    };
    attempt_tell(agent, kinds[state->phase], state->attempt, state->received_bytes, 0);
}

/* Its next inventory lists them. */
static void too_many_end(struct agent *agent)
{
    static const char text[] = "more attempts than one agent may have";
    agent->agents->counters.ended++;
    log_of(agent_who(agent)->name, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
           "the session with agent %s ends: %s", agent_who(agent)->name, text);
    agent_end(agent, duopoly_Reason_REASON_LIMIT, text);
}

/* Whether it counts. An agent that runs what it was not given is told to end it. */
static bool state_counts(struct agent *agent, const duopoly_AttemptState *state)
{
    enum agent_word word = agent_word_of_state(agent, agent_heard_ns(agent), state);
    if (word == WORD_REFUSED && is_running(state->phase))
        agents_stop(agent->agents, agent_who(agent)->host, state->attempt,
                    "it was not given to this host", 0, false);
    return word == WORD_COUNTS;
}

/* Its start is answered, or was before. */
static void answer_take(struct agent *agent, struct placed_attempt *placed)
{
    struct agents *agents = agent->agents;
    if (placed->timer.armed)
        histogram_add(&agents->times.starts, agent_heard_ns(agent) - placed->sent_ns);
    timers_disarm(agents->timers, &placed->timer);
}

void agent_attempt_state(struct agent *agent, const duopoly_Envelope *envelope)
{
    const duopoly_AttemptState *state = &envelope->body.attempt_state;
    struct placed_attempt *placed = agent_placed(agent, state->attempt);
    if (state->phase > duopoly_AttemptPhase_PHASE_LOST || agent_who(agent)->is_switch ||
        !state_counts(agent, state))
        return;
    agent->attempts.used = true;
    if (!is_running(state->phase)) {
        end_tell(agent, state);
        return;
    }
    /* "Sent" is what an agent says that has taken the start and waits for its inputs: an answer,
     * but no progress. */
    if (placed) {
        answer_take(agent, placed);
        if (state->phase != duopoly_AttemptPhase_PHASE_SENT)
            progress_tell(agent, state);
        return;
    }
    if (HASH_COUNT(agent->attempts.placed) >= AGENT_ATTEMPTS_MAX)
        too_many_end(agent);
    else if (seen_add(agent, state))
        running_tell(agent, state);
}

static void seen_drop(struct agent *agent)
{
    free(agent->attempts.seen);
    agent->attempts.seen = NULL;
    agent->attempts.n_seen = agent->attempts.seen_size = 0;
    agent_claim_back(agent, (uint64_t)AGENT_CLAIMED_ATTEMPT * agent->claims.parked);
    agent->claims.parked = 0;
}

void agent_inventory_drop(struct agent *agent)
{
    agent->attempts.inventory = INVENTORY_NONE;
    agent_inputs_cut(agent);
    seen_drop(agent);
}

void agent_inventory_begin(struct agent *agent)
{
    agent->attempts.inventory = INVENTORY_COMING;
    agent->attempts.parts = 0;
    agent->claims.strange = 0;
    seen_drop(agent);
}

static void inventory_refuse(struct agent *agent, const duopoly_Envelope *envelope,
                             duopoly_Reason reason, const char *text)
{
    agent->agents->counters.refused[envelope->which_body]++;
    agent->agents->counters.ended++;
    log_of(agent_who(agent)->name, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
           "the inventory of agent %s is refused: %s", agent_who(agent)->name, text);
    agent_end(agent, reason, text);
}

/* False: beyond the bounds of what it may claim. */
static bool seen_claim(struct agent *agent, const duopoly_AttemptState *state)
{
    if (agent_placed(agent, state->attempt))
        return true;
    if (agent_claim(agent, AGENT_CLAIMED_ATTEMPT)) {
        agent->claims.parked++;
        return true;
    }
    agent_claim_cut(agent, 1, "attempts that it was not given");
    if (is_running(state->phase))
        agents_stop(agent->agents, agent_who(agent)->host, state->attempt,
                    "more attempts are claimed than may be kept", 0, false);
    return false;
}

static int seen_append(struct agent *agent, const duopoly_AttemptState *states, uint32_t n)
{
    if (n == 0)
        return 0;
    if (agent->attempts.n_seen + n > AGENT_ATTEMPTS_MAX)
        return -E2BIG;
    if (agent->attempts.n_seen + n > agent->attempts.seen_size) {
        uint32_t size = 2 * (agent->attempts.n_seen + n);
        duopoly_AttemptState *seen = reallocarray(agent->attempts.seen, size, sizeof(*seen));
        if (!seen)
            return -ENOMEM;
        agent->attempts.seen = seen;
        agent->attempts.seen_size = size;
    }
    for (uint32_t i = 0; i < n; i++)
        if (seen_claim(agent, &states[i]))
            agent->attempts.seen[agent->attempts.n_seen++] = states[i];
    return 0;
}

/* Outputs are mostly grouped by job: one question for each run of equal jobs. */
static void outputs_check(struct agent *agent, const duopoly_InventoryPart *part)
{
    struct agents *agents = agent->agents;
    uint64_t asked = 0;
    for (pb_size_t i = 0; i < part->outputs_count; i++) {
        uint64_t job = part->outputs[i].job;
        if (job == asked)
            continue;
        asked = job;
        if (agents->hooks.job_wanted(agents->hooks.user, job))
            continue;
        if (agent->claims.strange++ < AGENT_STRANGE_JOBS)
            agents_forget(agents, agent_who(agent)->host, job);
        else
            agent_claim_cut(agent, 1, "outputs of unknown jobs");
    }
}

void agent_inventory_part(struct agent *agent, const duopoly_Envelope *envelope)
{
    const duopoly_InventoryPart *part = &envelope->body.inventory_part;
    agent->attempts.used |= part->attempts_count || part->outputs_count;
    if (agent->attempts.inventory != INVENTORY_COMING || part->part != agent->attempts.parts) {
        inventory_refuse(agent, envelope, duopoly_Reason_REASON_STATE,
                         "an inventory part is out of turn");
        return;
    }
    agent->attempts.parts++;
    if (seen_append(agent, part->attempts, part->attempts_count) < 0)
        inventory_refuse(agent, envelope, duopoly_Reason_REASON_LIMIT,
                         "an inventory has too many attempts");
    else
        outputs_check(agent, part);
}

/* Levels that were decided while the agent could not be reached. */
static void levels_correct(struct agent *agent, uint64_t attempt)
{
    struct agents *agents = agent->agents;
    uint32_t coflow_level, macroflow_level;
    if (agents->hooks.levels(agents->hooks.user, attempt, &coflow_level, &macroflow_level))
        agents_level(agents, agent_who(agent)->host, attempt, coflow_level, macroflow_level);
}

/* It waits for inputs that the session before did not bring. */
static void inputs_lack(struct agent *agent, struct placed_attempt *placed)
{
    const uint64_t attempt = placed->attempt;
    placed_lose(agent, placed);
    agents_stop(agent->agents, agent_who(agent)->host, attempt, "its inputs did not come whole", 0,
                true);
}

static void seen_admit(struct agent *agent, const duopoly_AttemptState *state)
{
    struct placed_attempt *placed;
    if (state->phase > duopoly_AttemptPhase_PHASE_LOST || !state_counts(agent, state))
        return;
    if (!is_running(state->phase)) {
        end_tell(agent, state);
        return;
    }
    if (!(placed = seen_add(agent, state)))
        return;
    if (placed->cut && state->phase == duopoly_AttemptPhase_PHASE_SENT) {
        inputs_lack(agent, placed);
        return;
    }
    placed->listed = true;
    timers_disarm(agent->agents->timers, &placed->timer);
    levels_correct(agent, state->attempt);
    running_tell(agent, state);
}

/* Passes host and inventory to the engine. */
static void agent_admit(struct agent *agent)
{
    struct placed_attempt *placed, *next;
    if (agent_who(agent)->joined && agent_who(agent)->joined_boot != agent_who(agent)->boot)
        agent_attempts_drop(
            agent); /* a new boot: the engine knows that nothing of the old one runs */
    agent_tell_join(agent);
    agent->attempts.inventory = INVENTORY_IN;
    for (uint32_t i = 0; !agent_who(agent)->is_switch && i < agent->attempts.n_seen; i++)
        seen_admit(agent, &agent->attempts.seen[i]);
    HASH_ITER (hh, agent->attempts.placed, placed, next) {
        if (!placed->listed)
            placed_lose(agent, placed);
        else
            placed->listed = false;
    }
    seen_drop(agent);
    agent->words.admitted = true;
    if (*agent->attempts.no_room && !agent_who(agent)->silent)
        agent_tell_host(agent, EVENT_HOST_SILENT);
    agent_settle_later(agent, agent->attempts.sequence);
}

static void resync_end(struct agents *agents)
{
    agents->attempts.resyncing = false;
    timers_disarm(agents->timers, &agents->attempts.resync);
    for (uint32_t i = 0; i < agents_count(agents); i++)
        if (agent_at(agents, i)->attempts.inventory == INVENTORY_PARKED)
            agent_admit(agent_at(agents, i));
}

static void resync_fire(struct timer *timer, int64_t now_ns)
{
    struct agents *agents = container_of(timer, struct agents, attempts.resync);
    (void)now_ns;
    log_note("%" PRIu32 " host%s known before did not come back: going on without",
             agents->attempts.awaited, plural(agents->attempts.awaited));
    resync_end(agents);
}

void agents_attempts_begin(struct agents_attempts *attempts)
{
    attempts->resync.fire = resync_fire;
    agents_inputs_begin(attempts);
}

void agents_attempts_end(struct agents *agents)
{
    timers_disarm(agents->timers, &agents->attempts.resync);
}

void agent_await(struct agent *agent)
{
    agent->attempts.awaited = true;
    agent->agents->attempts.awaited++;
}

void agents_resync_begin(struct agents *agents, int64_t now_ns)
{
    agents->attempts.resyncing = agents->attempts.awaited > 0 && agents->config.resync_wait_ns > 0;
    if (agents->attempts.resyncing)
        timers_arm(agents->timers, &agents->attempts.resync,
                   now_ns + agents->config.resync_wait_ns);
}

void agent_await_no_more(struct agent *agent)
{
    assert(agent->agents->attempts.awaited >= agent->attempts.awaited);
    agent->agents->attempts.awaited -= agent->attempts.awaited;
    agent->attempts.awaited = false;
}

void agents_resync_done(struct agents *agents)
{
    if (agents->attempts.resyncing && agents->attempts.awaited == 0)
        resync_end(agents);
}

void agent_inventory_end(struct agent *agent, const duopoly_Envelope *envelope)
{
    struct agents *agents = agent->agents;
    if (agent->attempts.inventory != INVENTORY_COMING ||
        envelope->body.inventory_end.parts != agent->attempts.parts) {
        inventory_refuse(agent, envelope, duopoly_Reason_REASON_STATE,
                         "an inventory ends with another number of parts");
        return;
    }
    agent->attempts.sequence = envelope->sequence;
    agent->attempts.inventory = INVENTORY_PARKED;
    agent_await_no_more(agent);
    if (agents->attempts.resyncing)
        agents_resync_done(agents);
    else
        agent_admit(agent);
}

/* WHY two bounds: with one it would flip with each message. */
bool agent_is_behind(const struct agent *agent)
{
    return agent_unacknowledged(agent) >
           (agent_who(agent)->silent ? WIRE_WINDOW / 4 : WIRE_WINDOW / 2);
}

bool agent_serves(const struct agent *agent)
{
    return agent_who(agent)->joined && agent->attempts.inventory == INVENTORY_IN &&
           !*agent->attempts.no_room && !agent_is_behind(agent);
}
