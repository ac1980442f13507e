#include "controller/clients/link_transfers.h"

#include "controller/agents/dispatch.h"
#include "controller/clients/listing_transfers.h"

#include <string.h>

enum { JOBS_LOOKED = 64, ATTEMPTS_LOOKED = 1024, INPUTS_LOOKED = 16384 };

struct search {
    const struct engine *engine;
    uint32_t host;
    uint32_t attempts; /* that may still be looked at, */
    uint64_t inputs;   /* and inputs of these */
    struct link_transfers *found;
};

static bool is_before(const struct link_transfer *one, const struct link_transfer *than)
{
    if (one->level != than->level)
        return one->level < than->level;
    if (one->place != than->place)
        return one->place < than->place;
    return one->attempt.attempt < than->attempt.attempt;
}

static void add(struct search *search, const struct attempt_view *attempt)
{
    struct link_transfers *found = search->found;
    struct link_transfer new = {
        .attempt = *attempt,
        .level = level_on_wire(found->starved ? attempt->macroflow_level : attempt->coflow_level),
        .place = engine_job_place(search->engine, attempt->job)};
    uint32_t at = found->told;
    if (!found->n++ || new.place < found->first.place)
        found->first = new;
    while (at && is_before(&new, &found->at[at - 1]))
        at--;
    if (at == LINK_TRANSFERS_TOLD)
        return;
    found->told += found->told < LINK_TRANSFERS_TOLD;
    memmove(&found->at[at + 1], &found->at[at], (found->told - 1 - at) * sizeof(found->at[0]));
    found->at[at] = new;
}

static void on_arriving(void *context, const struct attempt_view *attempt)
{
    if (listing_receives(attempt))
        add(context, attempt);
}

/* Of a block its size is unknown. */
static void on_block(void *context, const struct attempt_view *attempt)
{
    if (attempt->state <= ATTEMPT_RECEIVING && !attempt->allow && !attempt->orphan)
        add(context, attempt);
}

/* So many outputs it reads, at most. */
static uint64_t inputs_of(const struct engine *engine, const struct attempt_view *attempt)
{
    struct edge_view edge;
    struct stage_view parent;
    uint64_t n = 0;
    for (uint32_t i = 0; engine_edge(engine, attempt->job, attempt->stage, i, &edge) == 0; i++)
        if (engine_stage(engine, attempt->job, edge.parent, &parent) == 0)
            n += parent.tasks;
    return n;
}

static void on_reader(void *context, const struct attempt_view *attempt)
{
    struct search *search = context;
    if (!search->attempts)
        return;
    search->attempts--;
    if (!listing_receives(attempt) || attempt->host == search->host)
        return;
    const uint64_t inputs = inputs_of(search->engine, attempt);
    if (inputs > search->inputs) {
        search->found->unsure = true;
        add(search, attempt);
        return;
    }
    search->inputs -= inputs;
    if (inputs && engine_reads_from(search->engine, attempt->attempt, search->host) == READING_NOW)
        add(search, attempt);
}

/* The stages of a job with outputs there that may read them. */
static void on_outputs(void *context, uint64_t job, uint32_t outputs)
{
    struct search *search = context;
    struct stage_view stage;
    uint32_t from = 0;
    (void)outputs;
    while (search->attempts && engine_stage_from(search->engine, job, from, &stage) == 0) {
        from = stage.stage + 1;
        search->attempts--;
        if (!stage.running)
            continue;
        if (stage.running <= search->attempts) {
            engine_stage_attempts(search->engine, job, stage.stage, on_reader, search);
            continue;
        }
        engine_stage_attempts_from(search->engine, job, stage.stage, 0, search->attempts, on_reader,
                                   search);
        search->attempts = 0;
    }
}

void link_transfers_find(const struct conductor_parts *parts, uint32_t host, bool uplink,
                         struct link_transfers *ret_transfers)
{
    struct search search = {
        .engine = parts->engine,
        .host = host,
        .attempts = ATTEMPTS_LOOKED,
        .inputs = INPUTS_LOOKED,
        .found = ret_transfers,
    };
    struct mode_view mode;
    engine_mode(parts->engine, &mode);
    *ret_transfers = (struct link_transfers){.starved = mode.mode == MODE_SLOT_STARVED};
    if (!uplink) {
        engine_host_attempts(parts->engine, host, on_arriving, &search);
        return;
    }
    engine_block_readers(parts->engine, host, ATTEMPTS_LOOKED, on_block, &search);
    const uint32_t jobs =
        engine_host_outputs(parts->engine, host, JOBS_LOOKED, on_outputs, &search);
    ret_transfers->more = jobs > JOBS_LOOKED || !search.attempts;
}
