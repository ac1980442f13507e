#include "controller/engine/watch/source.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/losing.h"
#include "controller/engine/books/stage.h"
#include "lib/invariant.h"

#include <stdlib.h>

static struct blind *first_of_source(const struct engine *engine, const struct host *source)
{
    struct sorted_key from = {source->index, 0, 0};
    struct sorted_node *node = sorted_from(&engine->blind, from);
    return node && node->key.a == source->index ? container_of(node, struct blind, by_source)
                                                : NULL;
}

static struct blind *next_of_source(const struct blind *blind)
{
    struct sorted_node *node = sorted_next(&blind->by_source);
    return node && node->key.a == blind->source->index ? container_of(node, struct blind, by_source)
                                                       : NULL;
}

static struct blind *first_of_reader(const struct engine *engine, const struct host *reader)
{
    struct sorted_key from = {reader->index, 0, 0};
    struct sorted_node *node = sorted_from(&engine->blind_of_reader, from);
    return node && node->key.a == reader->index ? container_of(node, struct blind, by_reader)
                                                : NULL;
}

static struct blind *next_of_reader(const struct blind *blind)
{
    struct sorted_node *node = sorted_next(&blind->by_reader);
    return node && node->key.a == blind->reader->index ? container_of(node, struct blind, by_reader)
                                                       : NULL;
}

static struct blind *find(const struct engine *engine, const struct host *reader,
                          const struct host *source)
{
    struct sorted_key key = {source->index, reader->index, 0};
    struct sorted_node *node = sorted_find(&engine->blind, key);
    return node ? container_of(node, struct blind, by_source) : NULL;
}

static int64_t later(int64_t now_ns, int64_t by_ns, uint32_t doublings)
{
    int64_t most = (INT64_MAX - 1) >> doublings;
    by_ns = by_ns < most ? by_ns << doublings : most;
    return now_ns > INT64_MAX - 1 - by_ns ? INT64_MAX - 1 : now_ns + by_ns;
}

static void set_due(struct engine *engine, struct blind *blind, int64_t due_ns)
{
    blind->due_ns = due_ns;
    if (due_ns == INT64_MAX) {
        sorted_remove(&engine->blind_timers, &blind->timer);
        return;
    }
    struct sorted_key key = {(uint64_t)due_ns, blind->source->index, blind->reader->index};
    sorted_place(&engine->blind_timers, &blind->timer, key, 0);
}

static struct blind *add_pair(struct engine *engine, struct host *reader, struct host *source)
{
    struct blind *blind = engine_allocate(engine, 1, sizeof(*blind));
    struct sorted_key by_source = {source->index, reader->index, 0},
                      by_reader = {reader->index, source->index, 0};
    blind->reader = reader;
    blind->source = source;
    blind->since_ns = engine->now_ns;
    TAILQ_INIT(&blind->stalls);
    sorted_insert(&engine->blind, &blind->by_source, by_source, 0);
    sorted_insert(&engine->blind_of_reader, &blind->by_reader, by_reader, 0);
    source->reach.readers++;
    reader->reach.sources++;
    return blind;
}

static void free_stall(struct stall *stall)
{
    TAILQ_REMOVE(&stall->attempt->stalls, stall, of_attempt);
    TAILQ_REMOVE(&stall->blind->stalls, stall, of_blind);
    stall->attempt->n_stalls--;
    stall->blind->n_stalls--;
    free(stall);
}

static void remove_pair(struct engine *engine, struct blind *blind)
{
    while (!TAILQ_EMPTY(&blind->stalls))
        free_stall(TAILQ_FIRST(&blind->stalls));
    set_due(engine, blind, INT64_MAX);
    sorted_remove(&engine->blind, &blind->by_source);
    sorted_remove(&engine->blind_of_reader, &blind->by_reader);
    blind->source->reach.readers--;
    if (!--blind->reader->reach.sources)
        blind->reader->reach.reached = false;
    free(blind);
}

/* In order of attempts, not of reports. */
static void add_stall(struct engine *engine, struct blind *blind, struct attempt *attempt)
{
    struct stall *stall = engine_allocate(engine, 1, sizeof(*stall)), *before, *of_attempt;
    stall->attempt = attempt;
    stall->blind = blind;
    before = TAILQ_LAST(&blind->stalls, stalls);
    while (before && before->attempt->number > attempt->number)
        before = TAILQ_PREV(before, stalls, of_blind);
    if (before)
        TAILQ_INSERT_AFTER(&blind->stalls, before, stall, of_blind);
    else
        TAILQ_INSERT_HEAD(&blind->stalls, stall, of_blind);
    of_attempt = TAILQ_LAST(&attempt->stalls, stalls);
    while (of_attempt && of_attempt->blind->source->index > blind->source->index)
        of_attempt = TAILQ_PREV(of_attempt, stalls, of_attempt);
    if (of_attempt)
        TAILQ_INSERT_AFTER(&attempt->stalls, of_attempt, stall, of_attempt);
    else
        TAILQ_INSERT_HEAD(&attempt->stalls, stall, of_attempt);
    blind->n_stalls++;
    attempt->n_stalls++;
}

static struct stall *find_stall(const struct attempt *attempt, const struct host *source)
{
    struct stall *stall;
    TAILQ_FOREACH (stall, &attempt->stalls, of_attempt)
        if (stall->blind->source == source)
            return stall;
    return NULL;
}

bool source_is_waited_for(const struct attempt *attempt, const struct host *source)
{
    return find_stall(attempt, source) != NULL;
}

/* Counts the sources that only this reader cannot read from, and of these the `overdue` ones. */
static bool reader_is_blind(struct engine *engine, const struct host *reader)
{
    const uint32_t most = engine->config.lone_sources_max;
    uint32_t alone = 0, overdue = 0;
    if (reader->reach.sources < 2 || (reader->reach.reached && !most))
        return false;
    for (const struct blind *b = first_of_reader(engine, reader); b; b = next_of_reader(b)) {
        engine->counters.visits++;
        if (b->source == reader || b->source->reach.readers != 1)
            continue;
        overdue += b->overdue;
        if ((++alone >= 2 && !reader->reach.reached) || (most && overdue > most))
            return true;
    }
    return false;
}

static bool source_is_mute(struct engine *engine, const struct host *source)
{
    uint32_t need = source->reach.strikes ? 1 : SOURCE_READERS, n = 0;
    for (const struct blind *b = first_of_source(engine, source); b; b = next_of_source(b)) {
        engine->counters.visits++;
        if (b->reader == source)
            return true;
        if (!b->reader->reach.blind && (b->overdue || ++n >= need))
            return true;
    }
    return false;
}

static bool may_be_suspect(const struct engine *engine, const struct host *host)
{
    return host->reach.suspect || !host_up(host) || engine->suspects + 1 < engine->up;
}

static void move_block_readers(struct engine *engine, struct host *host);

/* Updates `suspect` from what is known of the host as a source and as a reader. */
static void judge(struct engine *engine, struct host *host)
{
    struct reach *reach = &host->reach;
    bool mute = source_is_mute(engine, host), suspect = mute || reach->blind;
    suspect = suspect && may_be_suspect(engine, host);
    reach->mute = mute && suspect;
    reach->cut &= reach->mute;
    if (suspect == reach->suspect)
        return;
    reach->suspect_since_ns = suspect ? engine->now_ns : 0;
    if (suspect) {
        engine->struck += !reach->strikes;
        reach->strikes += reach->strikes < SOURCE_STRIKES_MAX;
        engine->counters.suspicions++;
    }
    cluster_set_suspect(engine, host, &reach->suspect, suspect);
    if (reach->mute)
        move_block_readers(engine, host);
}

static void judge_reader(struct engine *engine, struct host *reader)
{
    bool blind = reader_is_blind(engine, reader);
    if (blind == reader->reach.blind)
        return;
    reader->reach.blind = blind;
    judge(engine, reader);
    for (struct blind *b = first_of_reader(engine, reader); b; b = next_of_reader(b)) {
        engine->counters.visits++;
        judge(engine, b->source);
    }
}

/* Call after a pair of the two came, went or became overdue. */
static void judge_both(struct engine *engine, struct host *reader, struct host *source)
{
    struct blind *only = source->reach.readers ? first_of_source(engine, source) : NULL;
    judge_reader(engine, reader);
    /* Whether a reader is a source's only one decides about that reader. */
    for (uint32_t n = 0; only && n < 2; n++, only = next_of_source(only))
        judge_reader(engine, only->reader);
    judge(engine, source);
}

static void clear_strikes(struct engine *engine, struct host *host)
{
    assert(engine->struck >= (host->reach.strikes > 0));
    engine->struck -= host->reach.strikes > 0;
    host->reach.strikes = 0;
}

/* The attempt waits for no source any more. Call before it leaves its task. */
static void source_release(struct engine *engine, struct attempt *attempt)
{
    while (!TAILQ_EMPTY(&attempt->stalls)) {
        struct blind *blind = TAILQ_FIRST(&attempt->stalls)->blind;
        free_stall(TAILQ_FIRST(&attempt->stalls));
        uint32_t of_reader = blind->reader->reach.strikes, of_source = blind->source->reach.strikes;
        if (!blind->n_stalls)
            set_due(engine, blind,
                    later(engine->now_ns, engine->config.source_lost_ns,
                          of_reader > of_source ? of_reader : of_source));
    }
    if (attempt->block_of)
        TAILQ_REMOVE(&attempt->block_of->block_readers, attempt, of_block);
    attempt->block_of = NULL;
}

/* Not counted as a failure: an orphan's end does not count for its task. */
static void read_again(struct engine *engine, struct attempt *attempt)
{
    struct task *task = attempt->task;
    /* A framework runs again what it wants to. */
    if (attempt->foreign && !attempt->allowed_until_ns) {
        source_release(engine, attempt);
        return;
    }
    engine->counters.sources_replaced++;
    attempt_stop(engine, attempt, REASON_SOURCE_LOST, true);
    attempt_orphan(engine, attempt);
    if (!task->attempts)
        task_requeue(engine, task);
}

static bool is_good(const struct engine *engine, uint32_t index)
{
    const struct host *host = cluster_host(engine, index);
    return host && host->joined && !host->silent && !host->lost && !host->reach.suspect &&
           !host->reach.readers;
}

static bool is_there(const struct engine *engine, uint32_t index)
{
    const struct host *host = cluster_host(engine, index);
    return host && host->joined && !host->lost;
}

static bool other_replica(const struct engine *engine, const struct attempt *attempt)
{
    const uint32_t *replicas = task_replicas(attempt->task);
    uint32_t n = task_n_replicas(attempt->task);
    for (uint32_t i = 0; i < n; i++)
        if (replicas[i] != attempt->block_host && is_good(engine, replicas[i]))
            return true;
    return false;
}

/* Readers of a block there read it elsewhere if they can; from a lost host in any case. */
static void move_block_readers(struct engine *engine, struct host *host)
{
    struct attempt *attempt, *next;
    TAILQ_FOREACH_SAFE (attempt, &host->block_readers, of_block, next) {
        engine->counters.visits++;
        if (attempt->state != ATTEMPT_COMPUTING &&
            (host->lost || !host->joined || other_replica(engine, attempt)))
            read_again(engine, attempt);
    }
}

uint32_t source_choose(struct engine *engine, const struct task *task, const struct host *here,
                       uint64_t attempt)
{
    const uint32_t *replicas = task_replicas(task);
    uint32_t n = task->stage->replicas_per_task;
    if (!replicas || !task->input_bytes)
        return ENGINE_NONE;
    for (uint32_t i = 0; i < n; i++)
        if (replicas[i] == here->index)
            return ENGINE_NONE;
    uint64_t first = engine_mix(engine->config.seed, attempt, 1) % n;
    for (uint32_t i = 0; engine->config.source_lost_ns && i < n; i++)
        if (is_good(engine, replicas[(first + i) % n]))
            return replicas[(first + i) % n];
    for (uint32_t i = 0; i < n; i++)
        if (is_there(engine, replicas[(first + i) % n]))
            return replicas[(first + i) % n];
    return ENGINE_NONE;
}

void source_set_block(struct engine *engine, struct attempt *attempt, uint32_t index)
{
    struct host *host = cluster_host(engine, index);
    attempt->block_host = index;
    if (!host)
        return;
    struct attempt *before = TAILQ_LAST(&host->block_readers, attempts);
    while (before && before->number > attempt->number)
        before = TAILQ_PREV(before, attempts, of_block);
    if (before)
        TAILQ_INSERT_AFTER(&host->block_readers, before, attempt, of_block);
    else
        TAILQ_INSERT_HEAD(&host->block_readers, attempt, of_block);
    attempt->block_of = host;
}

/* The reader has read from the source. */
static void reached(struct engine *engine, struct host *reader, struct host *source)
{
    struct blind *blind = find(engine, reader, source);
    if (reader != source) {
        reader->reach.reached = reader->reach.sources > 0;
        clear_strikes(engine, source);
    }
    if (blind)
        remove_pair(engine, blind);
    judge_both(engine, reader, source);
}

/* Ends the waiting of a pair after source_lost_ns. */
static void give_up(struct engine *engine, struct blind *blind)
{
    struct host *source = blind->source, *reader = blind->reader;
    blind->overdue = true;
    set_due(engine, blind, INT64_MAX);
    judge_both(engine, reader, source);
    if (source->reach.mute) {
        source->reach.cut = true;
        job_outputs_out_of_reach(engine, source);
    }
    while (!TAILQ_EMPTY(&blind->stalls))
        read_again(engine, TAILQ_FIRST(&blind->stalls)->attempt);
}

static void expire(struct engine *engine)
{
    for (struct sorted_node *node = sorted_first(&engine->blind_timers); node;
         node = sorted_first(&engine->blind_timers)) {
        struct blind *blind = container_of(node, struct blind, timer);
        struct host *reader = blind->reader, *source = blind->source;
        if (blind->due_ns > engine->now_ns)
            return;
        engine->counters.visits++;
        if (blind->n_stalls) {
            give_up(engine, blind);
            continue;
        }
        remove_pair(engine, blind);
        judge_both(engine, reader, source);
    }
}

static int64_t deadline_ns(const struct engine *engine)
{
    const struct sorted_node *node = sorted_first(&engine->blind_timers);
    return node ? container_of(node, const struct blind, timer)->due_ns : INT64_MAX;
}

void source_host_lost(struct engine *engine, struct host *host)
{
    struct blind *blind;
    if (!engine->config.source_lost_ns)
        return;
    while ((blind = first_of_source(engine, host))) {
        struct host *reader = blind->reader;
        remove_pair(engine, blind);
        judge_reader(engine, reader);
    }
    while ((blind = first_of_reader(engine, host))) {
        struct host *source = blind->source;
        remove_pair(engine, blind);
        judge_both(engine, host, source);
    }
    clear_strikes(engine, host);
    host->reach.blind = false;
    judge(engine, host);
    move_block_readers(engine, host);
}

/* The attempt that waits, or waited; NULL when it reads nothing there. */
static struct attempt *reading(struct engine *engine, const struct event *event,
                               struct host **ret_source)
{
    struct attempt *attempt = attempt_find(engine, event->source.attempt);
    *ret_source = cluster_host(engine, event->source.host);
    if (attempt && attempt->task && attempt->state != ATTEMPT_COMPUTING && *ret_source &&
        engine->config.source_lost_ns)
        return attempt;
    engine->counters.ignored_facts++;
    return NULL;
}

void source_stalled(struct engine *engine, const struct event *event)
{
    struct host *source;
    struct attempt *attempt = reading(engine, event, &source);
    if (!attempt)
        return;
    struct host *reader = attempt->host;
    if (!source->joined || source->lost) {
        job_outputs_of_host_lost(engine, source);
        if (attempt->task)
            read_again(engine, attempt);
        return;
    }
    struct blind *blind = find(engine, reader, source);
    bool heard = find_stall(attempt, source) != NULL;
    if (!heard && attempt->n_stalls == SOURCE_STALLS_MAX) {
        engine->counters.ignored_facts++;
        return;
    }
    engine->counters.stalls += !heard;
    blind = blind ? blind : add_pair(engine, reader, source);
    if (!heard)
        add_stall(engine, blind, attempt);
    if (blind->n_stalls == 1 && !heard) {
        blind->since_ns = blind->overdue ? blind->since_ns : engine->now_ns;
        set_due(engine, blind, later(blind->since_ns, engine->config.source_lost_ns, 0));
    }
    reader->reach.reached |= event->source.others > 0;
    judge_both(engine, reader, source);
    if (source->reach.cut)
        give_up(engine, blind);
    else if (attempt->task && attempt->block_host == source->index &&
             other_replica(engine, attempt))
        read_again(engine, attempt);
}

void source_flows(struct engine *engine, const struct event *event)
{
    struct host *source;
    struct attempt *attempt = reading(engine, event, &source);
    if (attempt)
        reached(engine, attempt->host, source);
}

struct reading {
    struct engine *engine;
    struct host *reader;
};

static void input_reached(void *context, const struct engine_input *input)
{
    struct reading *reading = context;
    struct host *source = cluster_host(reading->engine, input->host);
    reading->engine->counters.visits++;
    if (source && (source->reach.strikes || reading->reader->reach.sources))
        reached(reading->engine, reading->reader, source);
}

void source_received(struct engine *engine, struct attempt *attempt)
{
    struct reading reading = {engine, attempt->host};
    bool wary = engine->blind.n || engine->struck;
    if (wary && attempt->task)
        engine_inputs(engine, attempt->number, input_reached, &reading);
    source_release(engine, attempt);
}

struct blind *source_find(const struct engine *engine, uint32_t reader, uint32_t source)
{
    struct host *of = cluster_host(engine, reader), *from = cluster_host(engine, source);
    return of && from ? find(engine, of, from) : NULL;
}

struct blind *source_restore(struct engine *engine, struct host *reader, struct host *source,
                             int64_t since_ns, int64_t due_ns, bool overdue)
{
    if (find(engine, reader, source))
        return NULL;
    struct blind *blind = add_pair(engine, reader, source);
    blind->since_ns = since_ns;
    blind->overdue = overdue;
    set_due(engine, blind, due_ns);
    return blind;
}

void source_restore_stall(struct engine *engine, struct blind *blind, struct attempt *attempt)
{
    add_stall(engine, blind, attempt);
}

void source_done(struct engine *engine)
{
    struct sorted_node *node;
    while ((node = sorted_first(&engine->blind)))
        remove_pair(engine, container_of(node, struct blind, by_source));
}

const struct listener source_hears = {
    .attempt_leaves = source_release, .expire = expire, .deadline_ns = deadline_ns};
