/* Which of an agent's reports count. agent_kinds.c lists what each kind of message is about; here
 * are the checks of reports about attempts and about other hosts.
 *
 * An attempt belongs to the agent that it is placed with (agent_attempts.h). Beyond those an agent
 * may report attempts that it had when it was lost (a start without an answer, a host that was
 * away), and, in its first inventory under this controller, those of older epochs. No store has
 * where they run, so the agent shows the number that came with the start
 * (controller/attempt_proof.h); without such a number its report alone decides. Any other number
 * belongs to another host, a framework, or none.
 *
 * A host knows of others what it reads now. The engine weighs reports of sources that send nothing
 * (engine/watch/source.h). A report that an output is gone counts if its sender reads the output.
 * For the outputs of one host at a time its report alone is enough, once for each task; further
 * reports count as soon as another host reports the same holder, within `host_lost`. */
#include "controller/agents/agent.h"

#include "lib/fnv1a.h"
#include "lib/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LOOKS 256 /* a second: one may take as long as its attempt has inputs */

static bool is_over(duopoly_AttemptPhase phase)
{
    return phase > duopoly_AttemptPhase_PHASE_COMPUTING;
}

__attribute__((format(printf, 4, 5))) static enum agent_word
refuse(struct agent *agent, int64_t now_ns, pb_size_t kind, const char *format, ...)
{
    struct agent_words *words = &agent->words;
    va_list ap;
    agent->agents->counters.refused[kind % WIRE_KINDS]++;
    words->refused++;
    va_start(ap, format);
    vsnprintf(words->about, sizeof(words->about), format, ap);
    va_end(ap);
    /* WHY not `about`: an agent that alternates would fill the log. */
    if (rarely_say(&words->said, agent_who(agent)->name, (uint64_t)now_ns / 1000))
        log_of(agent_who(agent)->name, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
               "agent %s speaks of what it cannot know, and is not believed: %s (%s; such "
               "words so far: %" PRIu64 ")",
               agent_who(agent)->name, words->about, wire_kind_name(kind), words->refused);
    return WORD_REFUSED;
}

static bool may_look(struct agent *agent, int64_t now_ns)
{
    struct agent_words *words = &agent->words;
    if (now_ns - words->looks_since_ns >= 1000000000) {
        words->looks_since_ns = now_ns;
        words->looks = 0;
    }
    return ++words->looks <= LOOKS;
}

/* WHY silently if memory is short: a former attempt that is not remembered counts as never
 * given. */
void agent_words_had(struct agent *agent, uint64_t attempt)
{
    struct agent_words *words = &agent->words;
    if (words->n_had == words->had_size && words->had_size < AGENT_HAD_MAX) {
        uint32_t size = words->had_size ? 2 * words->had_size : 16;
        uint64_t *had = reallocarray(words->had, size, sizeof(*had));
        if (!had)
            return;
        words->had = had;
        words->had_size = size;
        words->next_had = words->n_had;
    }
    words->had[words->next_had] = attempt;
    words->next_had = (words->next_had + 1) % words->had_size;
    words->n_had += words->n_had < words->had_size;
}

void agent_words_done(struct agent *agent)
{
    free(agent->words.had);
}

static bool had(const struct agent *agent, uint64_t attempt)
{
    for (uint32_t i = 0; i < agent->words.n_had; i++)
        if (agent->words.had[i] == attempt)
            return true;
    return false;
}

static bool is_proved(const struct agent *agent, const duopoly_AttemptState *state)
{
    const struct agents_knowledge *knows = &agent->agents->hooks.knows;
    return state->proof &&
           state->proof == knows->proof(knows->user, agent_who(agent)->name, state->attempt,
                                        state->job, state->stage, state->task);
}

/* It shows a proof; from now on it must. */
static void proof_note(struct agent *agent, const duopoly_AttemptState *state)
{
    const struct agents_knowledge *knows = &agent->agents->hooks.knows;
    if (agent->words.proves || !is_proved(agent, state))
        return;
    agent->words.proves = true;
    if (!knows->proof_since(knows->user, agent_who(agent)->name))
        knows->proof_shown(knows->user, agent_who(agent)->name);
}

/* WHY in its first inventory only: it names all that it has. */
static bool may_bring_older(const struct agent *agent, const duopoly_AttemptState *state)
{
    const struct agents_knowledge *knows = &agent->agents->hooks.knows;
    uint64_t epoch = state->attempt >> 32;
    if (epoch >= agent->agents->config.epoch || agent->words.admitted)
        return false;
    uint32_t since = knows->proof_since(knows->user, agent_who(agent)->name);
    return !since || epoch < since || is_proved(agent, state);
}

static enum agent_word refuse_attempt(struct agent *agent, int64_t now_ns, pb_size_t kind,
                                      uint64_t attempt, const struct agent *owner)
{
    return refuse(agent, now_ns, kind, "attempt %016" PRIx64 " is %s%s", attempt,
                  owner ? "on " : "none that it was given", owner ? agent_who(owner)->name : "");
}

enum agent_word agent_word_of_attempt(struct agent *agent, int64_t now_ns, pb_size_t kind,
                                      uint64_t attempt)
{
    struct agents *agents = agent->agents;
    const struct agent *owner = agent_of_attempt(agents, attempt);
    if (owner == agent)
        return WORD_COUNTS;
    if (owner || agents->hooks.knows.lives(agents->hooks.knows.user, attempt))
        return refuse_attempt(agent, now_ns, kind, attempt, owner);
    return WORD_SAYS_NOTHING;
}

enum agent_word agent_word_of_state(struct agent *agent, int64_t now_ns,
                                    const duopoly_AttemptState *state)
{
    const pb_size_t kind = duopoly_Envelope_attempt_state_tag;
    struct agents *agents = agent->agents;
    enum agent_word word = agent_word_of_attempt(agent, now_ns, kind, state->attempt);
    if (word == WORD_COUNTS)
        proof_note(agent, state);
    if (word != WORD_SAYS_NOTHING)
        return word;
    /* WHY: an end is repeated until its agent knows that it was accepted. */
    if (is_over(state->phase) && !agents->hooks.knows.end_wanted(agents->hooks.knows.user, state))
        return WORD_SAYS_NOTHING;
    return may_bring_older(agent, state) || had(agent, state->attempt)
               ? WORD_COUNTS
               : refuse_attempt(agent, now_ns, kind, state->attempt, NULL);
}

/* One more voice against a host from which the agent reads. */
static bool is_another_voice(const struct agent *agent, struct agent *holder, int64_t now_ns)
{
    struct agent_words *words = &holder->words;
    bool another = now_ns < words->accuser_until_ns && words->accuser != agent_who(agent)->host;
    words->accuser = agent_who(agent)->host;
    words->accuser_until_ns = now_ns + agent->agents->config.host_lost_ns;
    return another;
}

static bool was_said(struct agent *agent, const duopoly_OutputLost *lost)
{
    const uint64_t task[] = {lost->job, lost->stage, lost->task};
    const uint64_t hash = fnv1a(FNV1A_NOTHING, task, sizeof(task));
    for (uint32_t i = 0; i < AGENT_LOST_SAID; i++)
        if (agent->words.lost[i] == hash)
            return true;
    agent->words.lost[agent->words.next_lost] = hash;
    agent->words.next_lost = (agent->words.next_lost + 1) % AGENT_LOST_SAID;
    return false;
}

static enum agent_word weigh_output(struct agent *agent, struct agent *holder, int64_t now_ns,
                                    const duopoly_OutputLost *lost)
{
    const pb_size_t kind = duopoly_Envelope_output_lost_tag;
    struct agent_words *words = &agent->words;
    if (is_another_voice(agent, holder, now_ns))
        return WORD_COUNTS;
    if (now_ns < words->accused_until_ns && words->accused != agent_who(holder)->host)
        return refuse(agent, now_ns, kind, "no other host misses outputs of %s",
                      agent_who(holder)->name);
    if (was_said(agent, lost))
        return refuse(agent, now_ns, kind,
                      "no other host misses an output that it missed before, on %s",
                      agent_who(holder)->name);
    words->accused = agent_who(holder)->host;
    words->accused_until_ns = now_ns + agent->agents->config.host_lost_ns;
    return WORD_COUNTS;
}

enum agent_word agent_word_of_output(struct agent *agent, int64_t now_ns,
                                     const duopoly_OutputLost *lost)
{
    const pb_size_t kind = duopoly_Envelope_output_lost_tag;
    struct agents *agents = agent->agents;
    enum engine_reading reads =
        agents->hooks.knows.reads_output(agents->hooks.knows.user, agent_who(agent)->host, lost);
    if (reads == READING_OVER)
        return WORD_SAYS_NOTHING;
    /* WHY: the engine has nothing yet of a parked inventory. */
    if (reads == READING_NOT && !agent_brings_task_of(agent, lost->job))
        return refuse(agent, now_ns, kind,
                      "nothing there reads the output of task %" PRIu64 "/%" PRIu32 "/%" PRIu32,
                      lost->job, lost->stage, lost->task);
    uint32_t host = agents->hooks.knows.holder(agents->hooks.knows.user, lost);
    struct agent *holder = agent_of_index(agents, host);
    return !holder || holder == agent ? WORD_COUNTS : weigh_output(agent, holder, now_ns, lost);
}

enum agent_word agent_word_of_source(struct agent *agent, int64_t now_ns, uint64_t attempt,
                                     const struct agent *source)
{
    const pb_size_t kind = duopoly_Envelope_source_state_tag;
    struct agents *agents = agent->agents;
    enum agent_word word = agent_word_of_attempt(agent, now_ns, kind, attempt);
    /* A report that is not examined now is sent again. */
    if (word != WORD_COUNTS || !may_look(agent, now_ns))
        return word == WORD_COUNTS ? WORD_SAYS_NOTHING : word;
    switch (agents->hooks.knows.reads_from(agents->hooks.knows.user, attempt,
                                           agent_who(source)->host)) {
    case READING_NOW:
        return WORD_COUNTS;
    case READING_OVER:
        return WORD_SAYS_NOTHING;
    default:
        return refuse(agent, now_ns, kind, "its attempt %016" PRIx64 " reads nothing from %s",
                      attempt, agent_who(source)->name);
    }
}
