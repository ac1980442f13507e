/* What commands say of others, on its way to the controller: outputs that they miss, sources that
 * give nothing.
 *
 * Commands may say what they like, as often as they like. So each attempt has an allowance of
 * words, and one that says more is ended and has failed, with that as its reason: a host must not
 * fall silent, nor its session end, for what one task says. What an attempt says of one output or
 * source is one entry, however often it says it; the newest word counts. Entries are told in
 * portions: all of a host at most TASKS_TELL in a tick, shared evenly by the attempts that run;
 * also what a new session must hear again. */
#include "hostagent/tasks/cgroup.h"
#include "hostagent/tasks/tasks_attempt.h"
#include "lib/address.h"
#include "lib/log.h"
#include "lib/now.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words that it may say at once: it may open a connection for each input, and miss each. */
static uint64_t most_words(const struct agent_attempt *attempt)
{
    return WORDS_AT_ONCE + WORDS_AN_INPUT * (uint64_t)attempt->start.inputs;
}

/* Its parent dies with it, so what has become of it is written here, before a new agent could
 * look. */
static void end_flood(struct agent_attempt *attempt)
{
    struct tasks *tasks = attempt->tasks;
    struct words *words = &attempt->words;
    uint64_t id = attempt->start.attempt;
    words->flood = true;
    attempt->status.exit_status = -SIGKILL;
    snprintf(attempt->status.last_line, sizeof(attempt->status.last_line),
             "it said more than %" PRIu64 " words on its socket, and more than %d a second since",
             most_words(attempt), WORDS_A_SECOND);
    log_warning(LOG_FAULT_PEER, "attempt %016" PRIx64 " of job %" PRIu64 " is ended: %s", id,
                attempt->start.job, attempt->status.last_line);
    cgroup_kill(tasks->cgroup, id);
}

bool attempt_may_say(struct agent_attempt *attempt)
{
    struct words *words = &attempt->words;
    const uint64_t word_ns = 1000000000 / WORDS_A_SECOND;
    uint64_t now = now_ns(CLOCK_MONOTONIC), room_ns = most_words(attempt) * word_ns;
    if (words->flood)
        return false;
    if (words->spent_until_ns < now)
        words->spent_until_ns = now;
    words->spent_until_ns += word_ns;
    if (words->spent_until_ns - now <= room_ns)
        return true;
    end_flood(attempt);
    return false;
}

void attempt_free_words(struct agent_attempt *attempt)
{
    free(attempt->words.entries);
    attempt->words = (struct words){.flood = attempt->words.flood};
}

static bool same(const struct words_entry *a, const struct words_entry *b)
{
    return a->is_source == b->is_source &&
           (a->is_source
                ? memcmp(a->source.address, b->source.address, sizeof(a->source.address)) == 0
                : a->lost.stage == b->lost.stage && a->lost.task == b->lost.task &&
                      a->lost.attempt == b->lost.attempt);
}

static void tell(struct agent_attempt *attempt, struct words_entry *entry)
{
    const struct tasks_handler *handler = &attempt->tasks->handler;
    entry->told = true;
    attempt->words.untold--;
    attempt->words.told_now++;
    if (entry->is_source)
        handler->on_source(handler->user, &entry->source);
    else
        handler->on_output_lost(handler->user, &entry->lost);
}

static struct words_entry *find(struct words *words, const struct words_entry *wanted)
{
    for (uint32_t i = 0; i < words->n; i++)
        if (same(&words->entries[i], wanted))
            return &words->entries[i];
    return NULL;
}

/* NULL: no memory, or there are WORDS_ENTRIES. */
static struct words_entry *add(struct words *words)
{
    if (words->n == words->allocated) {
        uint32_t allocated = words->allocated ? 2 * words->allocated : 8;
        struct words_entry *more = allocated <= WORDS_ENTRIES
                                       ? reallocarray(words->entries, allocated, sizeof(*more))
                                       : NULL;
        if (!more)
            return NULL;
        words->entries = more;
        words->allocated = allocated;
    }
    return &words->entries[words->n++];
}

/* An output that is missing is so once; of a source each word is news. */
static void take(struct agent_attempt *attempt, const struct words_entry *said)
{
    struct words *words = &attempt->words;
    struct words_entry *entry = find(words, said);
    if (entry && !said->is_source)
        return;
    bool waits = entry && !entry->told;
    if (!entry)
        entry = add(words);
    if (!entry) {
        attempt->tasks->counters.ignored_words++;
        return;
    }
    *entry = *said;
    words->untold += !waits;
    if (words->told_now < attempt->tasks->tell_share)
        tell(attempt, entry);
}

void attempt_misses(struct agent_attempt *attempt, const struct attempt_said *said)
{
    const struct words_entry entry = {.lost = {.job = attempt->start.job,
                                               .stage = said->stage,
                                               .task = said->task,
                                               .attempt = said->attempt}};
    take(attempt, &entry);
}

void attempt_speaks_of_source(struct agent_attempt *attempt, const struct attempt_said *said)
{
    struct words_entry entry = {.is_source = true,
                                .source = {.attempt = attempt->start.attempt,
                                           .flows = said->word == ATTEMPT_FLOWS,
                                           .others = said->others}};
    if (address_parse(said->addresses, entry.source.address) < 0)
        attempt->tasks->counters.ignored_words++;
    else if (attempt->phase == duopoly_AttemptPhase_PHASE_STARTED)
        take(attempt, &entry);
}

static void tell_some(struct agent_attempt *attempt, uint32_t most)
{
    struct words *words = &attempt->words;
    words->told_now = 0;
    for (uint32_t i = 0; words->untold && words->told_now < most && i < words->n; i++)
        if (!words->entries[i].told)
            tell(attempt, &words->entries[i]);
}

void tasks_tell_words(struct tasks *tasks)
{
    struct agent_attempt *attempt;
    uint32_t running = 0;
    RB_FOREACH (attempt, attempt_tree, &tasks->attempts)
        running += attempt_runs(attempt);
    tasks->tell_share = running < TASKS_TELL ? TASKS_TELL / (running ? running : 1) : 1;
    RB_FOREACH (attempt, attempt_tree, &tasks->attempts)
        if (attempt_runs(attempt))
            tell_some(attempt, tasks->tell_share);
}

void tasks_tell_again(struct tasks *tasks)
{
    struct agent_attempt *attempt;
    RB_FOREACH (attempt, attempt_tree, &tasks->attempts) {
        struct words *words = &attempt->words;
        for (uint32_t i = 0; attempt_runs(attempt) && i < words->n; i++) {
            struct words_entry *entry = &words->entries[i];
            bool again = entry->told && !(entry->is_source && entry->source.flows);
            entry->told = entry->told && !again;
            words->untold += again;
        }
    }
}
