#include "controller/clients/listing_transfers.h"

#include "controller/agents/dispatch.h"
#include "controller/clients/listing.h"
#include "lib/join.h"

#include <stdio.h>

#define MOST(rows)  (sizeof(rows) / sizeof((rows)[0]))
#define HOSTS_NAMED 4

bool listing_receives(const struct attempt_view *attempt)
{
    return attempt->state <= ATTEMPT_RECEIVING && !attempt->allow && !attempt->orphan &&
           (attempt->macroflow_bytes || attempt->received_bytes);
}

/* The first that was reported. */
static void port_say(const struct agent_links *links, char *text, size_t size)
{
    const duopoly_Link *first = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < links->n; i++) {
        if (!links->rows[i].told_ns)
            continue;
        first = n++ ? first : &links->rows[i].link;
    }
    if (first)
        snprintf(text, size, "%.16s%s", first->port, n > 1 ? " and others" : "");
}

static void macroflow_fill(const struct conductor_parts *parts, const struct attempt_view *attempt,
                           bool starved, duopoly_MacroflowRow *row)
{
    const int64_t now_ns = clock_now_ns(parts->clock);
    const int64_t bps = agents_attempt_bps(parts->agents, attempt->attempt, now_ns);
    struct agent_view agent;
    row->job = attempt->job;
    row->stage = attempt->stage;
    row->task = attempt->task;
    row->attempt = attempt->attempt;
    row->bytes = attempt->macroflow_bytes;
    row->received_bytes = attempt->received_bytes;
    row->coflow_level = (int32_t)level_on_wire(attempt->coflow_level);
    row->macroflow_level = (int32_t)level_on_wire(attempt->macroflow_level);
    row->level = starved ? row->macroflow_level : row->coflow_level;
    row->age_ns = now_ns - attempt->started_ns;
    row->has_rate_bps = bps >= 0;
    row->rate_bps = bps >= 0 ? (uint64_t)bps : 0;
    if (agents_of_host(parts->agents, attempt->host, &agent) < 0)
        return;
    wire_copy(row->host, sizeof(row->host), agent.name);
    port_say(agent.links, row->port, sizeof(row->port));
}

static bool is_starved(const struct conductor_parts *parts)
{
    struct engine_status status;
    engine_status(parts->engine, &status);
    return status.mode == MODE_SLOT_STARVED;
}

/* The cursor is the last attempt's number. */
void listing_macroflows(const struct conductor_parts *parts, const duopoly_List *list,
                        struct sieve *sieve, duopoly_Envelope *answer)
{
    duopoly_MacroflowPage *page =
        &wire_begin(answer, duopoly_Envelope_macroflow_page_tag)->body.macroflow_page;
    const bool starved = is_starved(parts);
    uint64_t after = list->cursor;
    struct attempt_view attempt;
    for (int looks = 0; engine_attempt_after(parts->engine, after, &attempt) == 0; looks++) {
        if (page->rows_count == MOST(page->rows) || looks == LISTING_LOOKS ||
            sieve_is_worn(sieve)) {
            page->cursor = after;
            return;
        }
        after = attempt.attempt;
        if (!listing_receives(&attempt))
            continue;
        macroflow_fill(parts, &attempt, starved, &page->rows[page->rows_count]);
        page->rows_count += sieve_keeps(sieve, &page->rows[page->rows_count]);
    }
}

/* The receiving tasks of a stage, as far as they were looked at: all before `task`. */
struct coflow {
    uint32_t task;
    uint32_t receiving, hosts;
    uint32_t named[HOSTS_NAMED];
    uint64_t level, bps;
    bool timed; /* the rate of one of them is known */
};
_Static_assert(MOST(((duopoly_CoflowPart *)0)->named) == HOSTS_NAMED, "they go with the cursor");

static void host_count(struct coflow *coflow, uint32_t host)
{
    for (uint32_t i = 0; i < coflow->hosts && i < HOSTS_NAMED; i++)
        if (coflow->named[i] == host)
            return;
    if (coflow->hosts < HOSTS_NAMED)
        coflow->named[coflow->hosts] = host;
    coflow->hosts += coflow->hosts <= HOSTS_NAMED;
}

struct count {
    const struct agents *agents;
    int64_t now_ns;
    struct coflow *coflow;
};

static void attempt_count(void *context, const struct attempt_view *attempt)
{
    const struct count *count = context;
    struct coflow *coflow = count->coflow;
    if (!listing_receives(attempt))
        return;
    const int64_t bps = agents_attempt_bps(count->agents, attempt->attempt, count->now_ns);
    coflow->receiving++;
    coflow->timed |= bps >= 0;
    coflow->bps += bps >= 0 ? (uint64_t)bps : 0;
    coflow->level = attempt->coflow_level;
    host_count(coflow, attempt->host);
}

/* A few by name. WHY not how many more: one that was not named may come again. */
static void hosts_say(const struct agents *agents, const struct coflow *coflow, char *text,
                      size_t size)
{
    struct agent_view agent;
    for (uint32_t i = 0; i < coflow->hosts && i < HOSTS_NAMED; i++)
        if (agents_of_host(agents, coflow->named[i], &agent) == 0)
            join_word(text, size, ", ", agent.name);
    if (coflow->hosts > HOSTS_NAMED)
        join_word(text, size, " ", "and others");
}

static void coflow_fill(const struct conductor_parts *parts, const struct stage_view *stage,
                        const struct coflow *coflow, bool starved, duopoly_CoflowRow *row)
{
    struct job_view job;
    row->job = stage->job;
    row->stage = stage->stage;
    if (engine_job(parts->engine, stage->job, &job) == 0) {
        wire_copy(row->name, sizeof(row->name), job.name);
        row->user = job.user;
        row->priority = job.priority;
    }
    row->tasks = stage->tasks;
    row->done = stage->done;
    row->receiving = coflow->receiving;
    row->bytes = stage->coflow_bytes;
    row->received_bytes = stage->received_bytes;
    row->coflow_level = (int32_t)level_on_wire(coflow->level);
    row->on_wire = !starved;
    row->has_rate_bps = coflow->timed;
    row->rate_bps = coflow->bps;
    hosts_say(parts->agents, coflow, row->hosts, sizeof(row->hosts));
}

/* WHY with the cursor, not kept here: a client may never ask for the rest. */
static void part_take(const duopoly_CoflowPart *part, struct coflow *coflow)
{
    *coflow = (struct coflow){.task = part->task,
                              .receiving = part->receiving,
                              .level = part->level,
                              .bps = part->rate_bps,
                              .timed = part->has_rate_bps};
    coflow->hosts = part->named_count;
    for (pb_size_t i = 0; i < part->named_count; i++)
        coflow->named[i] = part->named[i];
    coflow->hosts += part->hosts > part->named_count;
}

static void part_give(const struct coflow *coflow, duopoly_CoflowPage *page)
{
    duopoly_CoflowPart *part = &page->so_far;
    page->has_so_far = true;
    *part = (duopoly_CoflowPart){.task = coflow->task,
                                 .receiving = coflow->receiving,
                                 .level = coflow->level,
                                 .has_rate_bps = coflow->timed,
                                 .rate_bps = coflow->bps,
                                 .hosts = coflow->hosts};
    for (uint32_t i = 0; i < coflow->hosts && i < HOSTS_NAMED; i++)
        part->named[part->named_count++] = coflow->named[i];
}

/* Goes on with what runs of the stage; returns how many things were looked at. Of few attempts all;
 * of many those of the next tasks, since these have numbers to go on with. */
static uint32_t stage_count(const struct conductor_parts *parts, const struct stage_view *stage,
                            struct coflow *coflow)
{
    struct count count = {parts->agents, clock_now_ns(parts->clock), coflow};
    if (!stage->running) {
        *coflow = (struct coflow){.task = stage->tasks};
        return 0;
    }
    if (!coflow->task && stage->running <= LISTING_LOOKS) {
        engine_stage_attempts(parts->engine, stage->job, stage->stage, attempt_count, &count);
        coflow->task = stage->tasks;
        return stage->running;
    }
    coflow->task = engine_stage_attempts_from(parts->engine, stage->job, stage->stage, coflow->task,
                                              LISTING_LOOKS, attempt_count, &count);
    return LISTING_LOOKS;
}

/* The stage's Coflow, if it is live and wanted. */
static void stage_add(const struct conductor_parts *parts, const struct stage_view *stage,
                      const struct coflow *coflow, bool starved, struct sieve *sieve,
                      duopoly_CoflowPage *page)
{
    if (!coflow->receiving)
        return;
    coflow_fill(parts, stage, coflow, starved, &page->rows[page->rows_count]);
    page->rows_count += sieve_keeps(sieve, &page->rows[page->rows_count]);
}

/* The cursor is a job's number, and with it the stage from which on to go on, and what was counted
 * of it. Who does not give that back gets what the first portion has. */
void listing_coflows(const struct conductor_parts *parts, const duopoly_List *list,
                     struct sieve *sieve, duopoly_Envelope *answer)
{
    duopoly_CoflowPage *page =
        &wire_begin(answer, duopoly_Envelope_coflow_page_tag)->body.coflow_page;
    const bool starved = is_starved(parts);
    uint64_t number = list->cursor;
    uint32_t from = list->stage, looks = 0;
    struct coflow coflow;
    struct stage_view stage;
    struct job_view job;
    part_take(&list->so_far, &coflow);
    while (page->rows_count < MOST(page->rows) && looks < LISTING_LOOKS && !sieve_is_worn(sieve)) {
        looks++;
        if (number && engine_stage_from(parts->engine, number, from, &stage) == 0) {
            if (stage.stage != from)
                coflow = (struct coflow){0};
            from = stage.stage;
            looks += stage_count(parts, &stage, &coflow);
            if (coflow.task < stage.tasks && list->has_so_far)
                break;
            stage_add(parts, &stage, &coflow, starved, sieve, page);
            coflow = (struct coflow){0};
            from++;
            continue;
        }
        if (engine_job_after(parts->engine, number, &job) < 0)
            return;
        number = job.job;
        from = 0;
        coflow = (struct coflow){0};
    }
    page->cursor = number;
    page->stage = from;
    part_give(&coflow, page);
}
